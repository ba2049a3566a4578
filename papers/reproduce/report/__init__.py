"""Makes the report of a run: tables, plots, comparisons, the pages of recorded results."""
