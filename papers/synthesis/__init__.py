"""The calls of someone who only wants the answer: the five papers' ideas put together.

This is the one room that may import every paper, and it is no paper: it has no card.
So far it holds the core of the assignment solver, `papers.synthesis.assignment`; read its
`reference` first.
"""
