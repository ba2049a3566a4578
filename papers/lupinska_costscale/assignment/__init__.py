"""Cost scaling for the assignment problem [LU11 sec.5]."""
