"""What is made of a run: tables, reports, comparisons."""
