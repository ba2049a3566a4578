"""The assignment solver for one core: what `papers.synthesis.assignment` does on a GPU, in turns.

Reading order: `steps` (the compiled steps), `monge` (a start by sorting), `solver` (what follows
what), `many` (a short way for stacks).
"""
