"""The ``reproduce`` command: plans, measures, certifies, compares with print and reports."""
