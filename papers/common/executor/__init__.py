"""The CPU executor of kernels, with seeded interleavings."""
