"""Deveci et al. 2013 [D13]."""
