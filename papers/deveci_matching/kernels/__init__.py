"""The kernels of [D13 sec.3], one a function of the paper."""
