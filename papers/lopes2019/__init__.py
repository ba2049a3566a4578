"""Lopes, Yadav, Ilic, Patra 2019: the Hungarian algorithm distributed over blocks [L19]."""
from papers.lopes2019.solver import solve
