"""Experiments of the synthesis: no print, but others' programs on the same card, and our goals."""
