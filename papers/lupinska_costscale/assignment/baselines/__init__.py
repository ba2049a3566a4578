"""Cost scaling on the CPU."""
