"""The kernels that work on a strip of the matrix [DN16 sec.5]."""
