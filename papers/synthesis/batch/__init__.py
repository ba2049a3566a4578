"""Many dense problems in one launch: a block a problem.

Reading order: `reference` (the steps of a small problem, row by row), `kernels.solve` (the same by
a block), `kernels.each` (larger ones, all free rows at once, by the steps of
`papers.synthesis.assignment.kernels`), `costs` (the caller's matrices and the solver's), `launches`
(which of the two kernels, and its memory), `solver`.
"""
