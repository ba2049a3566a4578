"""What a run measures, and how long it may take."""
