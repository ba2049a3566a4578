"""A model of two GPUs and two hosts that can fail: do their prices explain what print has not?

`work` counts what the steps of each code ask for, `prices` has the prices of print's machine and of
a record's, `expected` the figures of the report's tables that follow, `causes` the causes that
these are, and `experiment` the verdicts on the model.
"""
