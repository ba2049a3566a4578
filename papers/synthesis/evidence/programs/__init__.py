"""Programs that measure what is no run of a solver; their tables stand one folder up."""
