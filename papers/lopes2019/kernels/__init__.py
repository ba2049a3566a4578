"""The kernels of [L19], one a step of the paper."""
