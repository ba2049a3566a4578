"""A run: its folder, its measurements, its recording."""
