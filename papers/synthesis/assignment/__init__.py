"""The assignment solver: one cooperative launch on dense costs, for few columns with a second one.

Reading order: `reference` (the algorithm in plain NumPy), `settings`, `costs` (the caller's matrix
and the solver's), `kernels` (`team`, `rows`, `rounds`, `columns`, `search`, `grid`, then
`dense`, which is the launch), `launches`, `solver`, `pairs` (a shorter way out for a caller who
wants nothing but the assignment).
"""
