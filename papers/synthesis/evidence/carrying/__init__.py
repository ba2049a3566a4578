"""Measures the way of costs from host memory to the device: by one call, by threads, as they are."""
