"""``reproduce trace``: a paper's kernels, step by step, as a trace, a page and text."""
