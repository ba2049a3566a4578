"""One core's way with a graph as its caller stores it, by lines, before a solver gets it."""
