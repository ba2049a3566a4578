"""Experiments, tables, verdicts and plots of [DN16]."""
