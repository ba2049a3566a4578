"""Families of instances by formula and from files; one registry, one `draw`."""
