"""Cuts of a caller's images: `choosing` a solver, and the way to the device that `there` leads.

`layout` checks and lays out, `pooled` keeps memory; `papers.synthesis.calls.flow` has the call.
"""
