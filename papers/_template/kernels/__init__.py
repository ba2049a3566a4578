"""The kernels of [T00], one a step of the paper."""
