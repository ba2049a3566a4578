"""The cells that a row is made of, found by what happens to it when their values change.

A table's function is code, and says nowhere which measurements a row has read. So the values of
cells are scaled, each by a factor of its own (equal ones would cancel in a ratio), and the row is
made anew: where it changes, one of them is part of it. Halving the cells finds which.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from zlib import crc32

import pandas as pd

from papers.common.model import Cell, Comparison
from papers.reproduce.explain.basis import Basis
from papers.reproduce.run.measurements import VALUES

KEPT = ("cost", "cardinality", "value", "done", "cold")
"""Metrics that are not scaled: a table may ask them for a right answer, or for a cell's end."""

Changes = Callable[[Sequence[str]], bool]


def made_of(basis: Basis, item: Comparison, cells: Sequence[Cell]) -> list[str]:
    """Return the cells that a row is made of.

    Parameters
    ----------
    basis : Basis
    item : Comparison
        One of its rows.
    cells : sequence of Cell
        Those of the experiment. Where the row reads others as well, all of the run are tried.

    Returns
    -------
    list of str
        Their keys, by solver.
    """
    order = sorted(cells, key=lambda c: (c.instance.n, c.instance.label, c.instance.key))
    own = {cell.key: f"{cell.solver}{cell.options}" for cell in order}
    seen = basis.seen[basis.seen["cell"].isin(own)]
    before = _figure(basis, item, seen)
    if before != (whole := _figure(basis, item, basis.seen)):
        seen, before = basis.seen, whole
        others = seen.drop_duplicates("cell")
        names = others["solver"] + others["options"]
        own = {**dict(zip(others["cell"], names, strict=True)), **own}

    def changes(names: Sequence[str]) -> bool:
        # Up, then down: the median of three does not move with its largest when that grows.
        return any(_figure(basis, item, _scaled(seen, names, up)) != before for up in (True, False))

    there = set(seen["cell"])
    groups: dict[str, list[str]] = {}
    for cell, solver in own.items():
        if cell in there:
            groups.setdefault(solver, []).append(cell)
    return [cell for group in groups.values() for cell in _halved(group, changes)]


def _halved(cells: Sequence[str], changes: Changes) -> list[str]:
    """Return the cells that make a change by themselves.

    All are of one solver: scaled together, two solvers could leave the median of their ratio.
    """
    if not cells or not changes(cells):
        return []
    if len(cells) == 1:
        return list(cells)
    middle = len(cells) // 2
    return [*_halved(cells[:middle], changes), *_halved(cells[middle:], changes)]


def _scaled(seen: pd.DataFrame, names: Sequence[str], up: bool) -> pd.DataFrame:
    """Return the rows with the values of some cells scaled, each cell's by its own factor."""
    chosen = seen["cell"].isin(set(names)) & ~seen["metric"].isin(KEPT)
    factors = seen["cell"].map({name: _factor(name, up) for name in names}).where(chosen, 1.0)
    changed = {name: seen[name].astype(float) * factors for name in ("median", "q1", "q3")}
    lists = zip(seen[VALUES], factors, strict=True)
    changed[VALUES] = pd.Series([tuple(v * f for v in vs) for vs, f in lists], seen.index)
    return seen.assign(**changed)


def _factor(name: str, up: bool) -> float:
    """Return a factor from 8 to 72, or its inverse; the same name has the same one always."""
    factor = 8 + 64 * crc32(name.encode()) / 2**32
    return factor if up else 1 / factor


def _figure(basis: Basis, item: Comparison, seen: pd.DataFrame) -> Any:
    """Return what the row shows of some rows: its figure, or the error that it meets."""
    try:
        found = [c for c in basis.compared(seen) if c.quantity == item.quantity]
    except Exception as error:
        return type(error).__name__
    return [(_plain(one.measured), one.holds) for one in found]


def _plain(value: Any) -> Any:
    """Return a figure that equals itself after being computed again; NaN does not."""
    return f"{value:.9g}" if isinstance(value, float) else str(value)
