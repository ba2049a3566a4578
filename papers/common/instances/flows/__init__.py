"""Flow networks and grids: from files, from photos, random."""
