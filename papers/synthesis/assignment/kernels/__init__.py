"""The kernels of the dense assignment solver: `dense` is the launch, the others its parts."""
