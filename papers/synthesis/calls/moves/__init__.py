"""Expansion moves whose capacities are made on the device: `kernels`, and `resident` for the host.

`papers.synthesis.calls.expansion` has the moves themselves, `papers.synthesis.calls.recycling` the
same arithmetic on the host.
"""
