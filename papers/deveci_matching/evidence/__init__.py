"""Experiments, tables, verdicts and plots of [D13]."""
