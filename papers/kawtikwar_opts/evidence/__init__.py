"""Experiments, tables, verdicts and plots of [K21]."""
