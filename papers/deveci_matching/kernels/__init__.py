"""The kernels of [D13 sec.3], one a function of the paper and named after it.

Reading order: `notation` (the paper's symbols, and the facts behind all race arguments),
`arguments` (arrays that go together), `bfs` (the search), `fix_matching` (the augmentation and its
repair).
"""
