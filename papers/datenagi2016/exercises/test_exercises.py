"""The exercises' checks, red until `exercise_1` to `exercise_5` are solved."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np

from papers.common.executor.recorder import Recorder
from papers.common.executor.scheduler import Executor
from papers.common.executor.variants import changed
from papers.common.gpu import device
from papers.common.instances.matrices import uniform
from papers.datenagi2016 import reference, solver
from papers.datenagi2016.evidence.trace import RACE, SHAPES
from papers.datenagi2016.exercises import (
    exercise_1,
    exercise_2,
    exercise_3,
    exercise_4,
    exercise_5,
)
from papers.datenagi2016.kernels import classical

SWITCH = 0.3


def test_exercise_1() -> None:
    """Your numbers are those of the sequential algorithm."""
    cost = np.array([[5, 4, 6, 9], [3, 1, 4, 6], [4, 3, 3, 2], [7, 6, 9, 8]])
    t = reference.tableau(cost)
    reference.initial_reduction(t)
    while (reference.optimality_check(t), j := reference.search(t))[1] >= 0:
        reference.augment(t, j)
    rows, before = np.flatnonzero(~t.V_r).tolist(), t.D_r.copy()
    reference.update(t)
    end = reference.classical_hungarian(cost)
    truth = {
        "THETA": abs(t.D_r - before)[0],  # doubled, and a half of theta
        "UNCOVERED_ROWS": rows,
        "ROW_DUALS": (end.D_r / 2).tolist(),
        "COLUMN_DUALS": (end.D_c / 2).tolist(),
    }
    assert [name for name, value in truth.items() if getattr(exercise_1, name) != value] == []


CROWD = ((1, 1, 2, 3, 4), (1, 1, 5, 4, 3), (1, 1, 4, 5, 6), (1, 1, 6, 6, 7), (2, 3, 1, 1, 9))
"""Four rows that want the same two columns."""


def solve(cost: Any, seed: int, changes: list[tuple[str, str]], note: Any = None) -> Any:
    """Solve a matrix under an interleaving, with these changes of `classical.expansion`."""
    expansion = changed(classical.expansion, *changes) if changes else classical.expansion
    executor: Executor = Executor(
        seed, SWITCH, on_access=note and (lambda *event: note(executor, *event))
    )
    with patch.object(classical, "expansion", expansion), device.executing(executor):
        return solver.solve(np.array(cost), variant="classical", geometry=SHAPES)


def gathered_twice(seed: int, *changes: tuple[str, str]) -> bool:
    """Whether a forward pass on `CROWD` gathers a row twice, with these changes."""
    gathered: list[tuple[int, int]] = []

    def note(executor: Executor, kind: str, array: str, index: Any, value: Any) -> None:
        if kind == "store" and array == "frontiers.f_out":
            gathered.append((executor.count["launches"], int(value)))

    answer = solve(CROWD, seed, list(changes), note)
    assert np.array(CROWD)[range(5), answer.col_ind].sum() == 8, "not optimal"
    return len(set(gathered)) < len(gathered)


def test_exercise_2() -> None:
    """Under your seed a row is gathered twice; with the exchange none is."""
    changes, seed = exercise_2.CHANGES, exercise_2.SEED
    assert changes is not None, "CHANGES is still to be written"
    assert seed is not None, "SEED is still to be found"
    assert gathered_twice(seed, *changes)
    assert not any(gathered_twice(other) for other in (seed, *range(5)))


def passes(seed: int) -> tuple[int, int]:
    """Return the forward passes and the dual updates of the classical variant on `RACE`."""
    counted = solve(RACE, seed, []).counters
    return counted["forward_passes"], counted["dual_updates"]


def test_exercise_3() -> None:
    """Your unlucky seed needs more passes, and as many dual updates."""
    lucky, unlucky = exercise_3.LUCKY, exercise_3.UNLUCKY
    assert lucky is not None, "LUCKY is still to be found"
    assert unlucky is not None, "UNLUCKY is still to be found"
    few, many = passes(lucky), passes(unlucky)
    assert few[0] < many[0]
    assert few[1] == many[1]
    assert exercise_3.DUAL_UPDATES in few[1:], "DUAL_UPDATES is not right"


def test_exercise_4() -> None:
    """Yours holds at every dual update, and notices duals that are off."""
    draw, updates = np.random.default_rng(1), 0
    for seed in range(50):
        t = reference.tableau(uniform(3 + seed % 4, seed, cost_range=12))
        reference.initial_reduction(t)
        while reference.optimality_check(t) < len(t.C):
            while (j := reference.search(t)) < 0:
                reference.update(t)
                updates += 1
                assert exercise_4.holds(t.D_r, t.D_c), (t.D_r, t.D_c)
                off = 2 * draw.permutation(len(t.C)) + 1
                assert not exercise_4.holds(t.D_r, t.D_c + np.where(off < 2, off, 0))
                assert not exercise_4.holds(t.D_r + np.where(off < 4, off, 0), t.D_c)
            reference.augment(t, j)
    assert updates > 20


def test_exercise_5() -> None:
    """Your number is that of the loads which the executor has seen."""
    updates = 0
    for n in (5, 7, 9):
        recorder = Recorder(seed=n, loads=["cost"])
        with device.executing(recorder.executor):
            cost = uniform(n, n, cost_range=6 * n)
            state = solver.upload(cost, variant="classical", geometry=SHAPES)
            names = ("cost", "row_cover", "column_cover")
            recorder.watch({name: state.arrays[name] for name in names})
            solver.run(state)
        counted: dict[tuple[int, str], int] = {}
        predicted: list[tuple[int, int]] = []
        for event, now in recorder.stop().replay():
            if event.kind == "load":
                key = event.launch, event.kernel
                counted[key] = counted.get(key, 0) + 1
            elif event.kind == "launch" and event.kernel == "dual_update_stage_1":
                rows, columns = ((now[name] == 0).sum() for name in names[1:])
                predicted.append((event.launch, exercise_5.loads(n, int(rows), int(columns))))
        compressed = [k for k, kernel in counted if kernel == "compression_predicate"]
        for launch, told in predicted:
            behind = min(k for k in compressed if k > launch)
            kernels = (launch, "dual_update_stage_1"), (behind, "compression_predicate")
            assert told == sum(counted[key] for key in kernels)
            updates += 1
    assert updates >= 4
