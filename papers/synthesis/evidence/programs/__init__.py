"""Programs that measure beside the experiments; their tables stand one folder up."""
