"""Experiments, tables, verdicts and plots of [LU11]."""
