"""Random problems of all kinds through the calls, each answer proved: does anything go wrong?

``python -m papers.synthesis.trust --solves 1000 --seed 1 --out trust.csv`` draws problems one after
the other (`drawing`), solves each by a call in a process of its own and proves the answer
(`solving`), and writes a line for each class of problems (`running`). Reading order: as named.
"""
