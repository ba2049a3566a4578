"""Push-relabel kernels."""
