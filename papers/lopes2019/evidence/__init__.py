"""Experiments, tables, verdicts and plots of [L19]."""
