"""Measures the way of costs from host memory to the device: one call, threads, as they are."""
