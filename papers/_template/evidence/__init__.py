"""Experiments of [T00]."""
