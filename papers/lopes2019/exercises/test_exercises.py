"""The exercises' checks, red until `exercise_1` to `exercise_6` are solved."""

from __future__ import annotations

from itertools import pairwise
from unittest.mock import patch

import numpy as np

from papers.common.executor.scheduler import Executor
from papers.common.executor.variants import changed
from papers.common.executor.weak_memory import WeakMemory
from papers.common.gpu import device
from papers.common.instances.matrices import uniform
from papers.lopes2019 import solver
from papers.lopes2019.evidence import examples, litmus
from papers.lopes2019.exercises import (
    exercise_1,
    exercise_2,
    exercise_3,
    exercise_4,
    exercise_5,
    exercise_6,
)
from papers.lopes2019.kernels import search
from papers.lopes2019.kernels.arguments import Covers, Marks

COST = np.array([[5, 4, 6, 9], [3, 1, 4, 6], [4, 3, 3, 2], [7, 6, 9, 8]])


def test_exercise_1() -> None:
    """Your duals exceed no cost, and add up to the cost of your assignment."""
    columns, u, v = exercise_1.COLUMN_OF_ROW, exercise_1.U, exercise_1.V
    assert columns is not None, "COLUMN_OF_ROW is still to be found"
    assert u is not None, "U is still to be found"
    assert v is not None, "V is still to be found"
    assert sorted(columns) == [0, 1, 2, 3], "a column is taken twice"
    assert np.add.outer(u, v).shape == COST.shape
    assert (np.add.outer(u, v) <= COST).all(), "a pair of duals exceeds its cost"
    assert sum(u) + sum(v) == COST[range(4), columns].sum(), "the duals do not prove the answer"


def leads_to_itself(seed: int, *changes: tuple[str, str]) -> bool:
    """Whether a row of `OWN_STAR` primes its own star, with these changes of `search.process`."""
    process = changed(search.process, *changes) if changes else search.process
    (story,) = examples.OWN_STAR.stories.values()
    with patch.object(search, "process", process):
        run = examples.run_under(examples.OWN_STAR, seed)
    assert np.array(examples.OWN_STAR.cost)[range(3), run.columns].sum() == 4, "not optimal"
    return story(run.moments)


def test_exercise_2() -> None:
    """Under your seed a row leads to itself; in the right order none does."""
    changes, seed = exercise_2.CHANGES, exercise_2.SEED
    assert changes is not None, "CHANGES is still to be written"
    assert seed is not None, "SEED is still to be found"
    assert leads_to_itself(seed, *changes)
    assert not any(leads_to_itself(other) for other in (seed, *range(8)))


def stars(seed: int, *changes: tuple[str, str]) -> int:
    """Run step 2 on a 2x2 matrix of zeros, with these changes; return how many it has starred."""
    kernel = changed(search.step_2, *changes) if changes else search.step_2
    columns, rows = np.full(2, -1, np.int32), np.full(2, -1, np.int32)
    zeros, sizes = np.arange(4, dtype=np.int32), np.full(1, 4, np.int32)
    covers, flags = np.zeros((2, 2), np.int32), np.zeros(search.FLAGS, np.int32)
    given = np.int32(2), np.int32(2), zeros, sizes, covers[0], covers[1], columns, rows, flags
    Executor(seed, 0.3).launch(kernel, 1, 4, given)
    starred = [(column, row) for column, row in enumerate(columns.tolist()) if row >= 0]
    assert sorted((int(c), r) for r, c in enumerate(rows) if c >= 0) == starred
    return len(starred)


def test_exercise_3() -> None:
    """Under your seed a zero is left that could be starred; with the undo none is."""
    changes, seed = exercise_3.CHANGES, exercise_3.SEED
    assert changes is not None, "CHANGES is still to be written"
    assert seed is not None, "SEED is still to be found"
    assert stars(seed, *changes) == 1
    assert {stars(other) for other in (seed, *range(30))} == {2}
    assert 2 in {stars(other, *changes) for other in range(30)}, "it never works"


def forbidden(seed: int, weak: bool, *changes: tuple[str, str]) -> bool:
    """Whether zeros A and D of Table A.5 are both processed, with these changes of `uncovered`."""
    check = changed(search.uncovered, *changes) if changes else search.uncovered
    covers = Covers(np.zeros(2, np.int32), np.array([1, 0, 0, 1], np.int32))
    marks = Marks(np.array(litmus.STAR_AT_ROW, np.int32), np.full(2, -1, np.int32))
    zeros = np.array([*litmus.ZEROS.values()], np.int32).reshape(-1)
    flags, processed = np.zeros(8, np.int32), np.zeros(4, np.int32)
    executor = Executor(seed, 0.3, memory=WeakMemory(seed, 0.5, 0.25) if weak else None)
    kernel = litmus.kernel_of(check, search.process)
    executor.launch(kernel, 4, 1, (zeros, covers, marks, flags, processed))
    found = dict(zip(litmus.ZEROS, processed, strict=True))
    return bool(found["A"] and found["D"])


def test_exercise_4() -> None:
    """Your seed shows a circle on a weak memory, and only there."""
    changes, seed = exercise_4.CHANGES, exercise_4.SEED
    assert changes is not None, "CHANGES is still to be written"
    assert seed is not None, "SEED is still to be found"
    assert forbidden(seed, True, *changes)
    assert not any(forbidden(other, False, *changes) for other in range(100)), "not the fence's"
    assert not any(forbidden(other, True) for other in (seed, *range(40)))


def test_exercise_5() -> None:
    """Your covers are those of the kernels, whenever a search has run dry."""
    dry = 0
    for seed in range(12):
        cost = uniform(4 + seed % 3, seed, cost_range=5)
        example = examples.Example(tuple(map(tuple, cost.tolist())), 2, {})
        moments = examples.run_under(example, seed).moments
        for before, after in pairwise(moments):
            if (before.step, after.step) == ("step_4", "step_6"):
                covers = tuple(
                    [bool(covered) for covered in line]
                    for line in (before.covered_row, before.covered_column)
                )
                assert exercise_5.dry_covers(before.slack == 0) == covers
                dry += 1
    assert dry > 5


def test_exercise_6() -> None:
    """Your number is that of the launches that the host has made."""
    for n in (3, 5, 6):
        with device.executing(Executor(n, 0.3)):
            counted = solver.solve(uniform(n, n, cost_range=9)).counters
        steps = [counted[f"iterations_step_{step}"] for step in (3, 4, 5, 6)]
        assert exercise_6.launches(*steps) == counted["kernel_launches"], (n, steps)
