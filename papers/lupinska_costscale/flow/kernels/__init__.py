"""Push-relabel kernels [LU11 sec.4]."""
