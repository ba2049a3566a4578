"""Anybody's solver in the tables of the papers, under the same proofs: ``reproduce bench``."""
