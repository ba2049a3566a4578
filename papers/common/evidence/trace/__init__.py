"""Runs of real kernels, recorded in the CPU executor and told in a paper's words, step by step.

`story` is the vocabulary, `runs` makes a `Trace` of a paper's `Story`, `panels` are its pictures. A
paper that can be stepped through has a module `evidence.trace` with two names: ``STORIES``, its
stories in order, and ``story_of(data)``, the story of someone's own instance.
`papers.reproduce.trace` makes the page.
"""
