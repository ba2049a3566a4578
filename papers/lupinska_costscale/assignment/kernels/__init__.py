"""Cost scaling kernels [LU11 sec.5]."""
