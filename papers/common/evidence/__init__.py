"""Published numbers, tables, comparisons, verdicts and plots."""
