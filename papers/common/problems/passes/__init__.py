"""Compiled passes over the arrays of a problem, where NumPy would sort or search."""
