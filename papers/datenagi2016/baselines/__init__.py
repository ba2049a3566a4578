"""The OpenMP version of [DN16 sec.6]."""
