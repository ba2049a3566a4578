"""Expansion moves: what a move weighs, and how the next move goes on from the last one.

`energies` checks an energy and makes the network of a move, `recycling` carries residual capacities
over to the next one. Both are of the host; on a device `kernels` have the same arithmetic, and
`resident` launches them. `papers.synthesis.calls.expansion` has the moves themselves.
"""
