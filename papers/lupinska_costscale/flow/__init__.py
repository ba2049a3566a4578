"""Maximum flow on grids and networks [LU11 sec.4]."""
