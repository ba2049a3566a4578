"""Many small dense problems in one launch: a block a problem, shortest augmenting paths.

Reading order: `reference` (the steps of one problem), `kernels.solve` (the same by a block),
`costs` (the caller's matrices and the solver's), `solver`.
"""
