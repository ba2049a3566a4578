"""Parallel maximum flow and cost scaling [LU11]."""
