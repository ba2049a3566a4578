"""The exercises' checks, red until `exercise_1` is solved."""

from __future__ import annotations

from typing import Any

import numpy as np

from papers._template import reference
from papers._template.exercises import exercise_1


def columns(t: reference.Tableau) -> list[int]:
    """Return the column of each row that has one."""
    rows = t.row_of_column.tolist()
    return [rows.index(row) for row in sorted(rows) if row >= 0]


def test_exercise_1() -> None:
    """Your columns are those of the sequential algorithm."""
    t = reference.Tableau(np.array([[1, 2, 4], [1, 3, 5], [1, 2, 8]]))
    truth: dict[str, Any] = {}
    for row in range(3):
        truth["BEFORE"] = columns(t)
        truth["END"], before = reference.search(t, row)
        reference.augment(t, row, truth["END"], before)
    truth["AFTER"] = columns(t)
    assert [name for name, value in truth.items() if getattr(exercise_1, name) != value] == []
