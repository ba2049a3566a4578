"""The kernels of [DN16 sec.4], one a step of the paper."""
