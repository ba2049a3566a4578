"""A model of two cards and two hosts that can fail: do their prices explain what print has not?

`work` counts what a run asks for, `prices` has the price of each on print's card and on that of a
record, where ours are measured a second time, `expected` the figures of the report's
tables that follow, `causes` the causes that these are, and `experiment` the verdicts on the model.
"""
