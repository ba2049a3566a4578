"""The products of a run: tables, reports, comparisons."""
