"""Bipartite graphs: families by formula, stand-ins for published matrices."""
