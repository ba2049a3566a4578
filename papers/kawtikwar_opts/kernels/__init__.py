"""The kernels of [K21], one module an optimization."""
