"""Flow networks and grids: from files, from pictures, random."""
