"""A model of the card that can fail: does the card alone explain the differences from print?

`model` has the work of each step and what a card asks for it, `expected` the figures of the paper's
tables that follow on the card of a record, `causes` the causes that these are, and `experiment` the
verdicts on the model itself.
"""
