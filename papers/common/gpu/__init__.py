"""The device: memory, launches, signals, memory order, reductions, clocks."""
