"""Maximum flow on grids and networks."""
