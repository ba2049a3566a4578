"""The plan of a run, and an estimate of its time."""
