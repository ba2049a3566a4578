"""A model of two cards and two hosts that can fail: do their prices explain what print has not?

`work` counts what a run asks for, `prices` turns prices into times, `printed` has those of print's
machine and `measured` those of a record, each measured twice, `expected` the figures of the
report's tables that follow, `causes` the causes that these are, and `experiment` the verdicts on
the model.
"""
