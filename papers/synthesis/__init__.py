"""The calls of someone who only wants the answer: the five papers' ideas put together.

This is the one room that may import every paper, and it is no paper: it has no card. Reading order:
`calls` (what `papers` exports, and the table that chooses a solver), then `assignment`, a solver
of its own; read its `reference` first. ``README.md`` beside this file tells how to use them.
"""
