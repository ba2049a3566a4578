"""The CPU rivals of [T00]."""
