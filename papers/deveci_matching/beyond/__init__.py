"""Ours, past the paper: a maximum matching in one launch."""

from __future__ import annotations

from typing import Any


def solve(*args: Any, **options: Any) -> Any:
    """Find a maximum matching in one launch; see `papers.deveci_matching.beyond.solver.solve`."""
    from papers.deveci_matching.beyond import solver

    return solver.solve(*args, **options)
