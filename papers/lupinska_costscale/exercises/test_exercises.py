"""The exercises' checks, red until `exercise_1` to `exercise_6` are solved."""

from __future__ import annotations

from fractions import Fraction
from typing import Any
from unittest.mock import patch

import numpy as np

from papers.common.evidence.trace import runs
from papers.common.executor.scheduler import Executor
from papers.common.executor.variants import changed
from papers.common.gpu import device
from papers.common.instances.matrices import uniform
from papers.lupinska_costscale.assignment import costs, reference
from papers.lupinska_costscale.evidence.trace import STORIES, grid
from papers.lupinska_costscale.exercises import (
    exercise_1,
    exercise_2,
    exercise_3,
    exercise_4,
    exercise_5,
    exercise_6,
)
from papers.lupinska_costscale.flow import solver, upload
from papers.lupinska_costscale.flow.kernels import lock_free

STORY = {story.name: story for story in STORIES}

SOURCE, SINK, BETWEEN = {0: 6, 2: 3}, {1: 2, 3: 1, 4: 4}, (5, 2, 3, 2)


def row_of(source: dict[int, int], sink: dict[int, int], between: tuple[int, ...]) -> Any:
    """Return a row of pixels as a grid."""
    near, far = ({(0, k): c for k, c in side.items()} for side in (source, sink))
    return grid(near, far, [between])


def flow(instance: Any, seed: int | None = None) -> Any:
    """Run Hong's algorithm under an interleaving."""
    with device.executing(Executor(seed, 0.3)):
        state = upload.upload_lock_free(instance, cycle=50)
        solver.run_lock_free(state)
        return solver.download(state)


def test_exercise_1() -> None:
    """Your cut lets through as much as the flow that the kernels find."""
    side = exercise_1.SOURCE_SIDE
    assert side is not None, "SOURCE_SIDE is still to be found"
    cut = sum(capacity for pixel, capacity in SOURCE.items() if pixel not in side)
    cut += sum(capacity for pixel, capacity in SINK.items() if pixel in side)
    cut += sum(c for k, c in enumerate(BETWEEN) if (k in side) != (k + 1 in side))
    value = flow(row_of(SOURCE, SINK, BETWEEN)).value
    truth = {"VALUE": value, "GO_HOME": sum(SOURCE.values()) - value}
    assert [name for name, right in truth.items() if getattr(exercise_1, name) != right] == []
    assert cut == value, "the cut is not a least one"


def operations(seed: int | None) -> tuple[int, int]:
    """Return the pushes on the page's row of four under an interleaving, and the value."""
    answer = flow(row_of({0: 8, 1: 2}, {1: 1, 2: 3, 3: 6}, (5, 4, 3)), seed)
    return answer.counters["pushes"], answer.value


def test_exercise_2() -> None:
    """One of your seeds takes as many pushes as natural order does, the other more."""
    few, many = exercise_2.FEW, exercise_2.MANY
    assert few is not None, "FEW is still to be found"
    assert many is not None, "MANY is still to be found"
    assert operations(few)[0] == operations(None)[0] < operations(many)[0]
    assert operations(few)[1] == operations(many)[1]
    assert exercise_2.VALUE in operations(many)[1:], "VALUE is not right"


def uphill(seed: int) -> tuple[int, int]:
    """Return the pushes uphill in the story, and the units that the host takes back."""
    trace = runs.trace(STORY["uphill"], seed)
    by_host = [e for e in trace.recording.events if (e.kind, e.array) == ("host", "residual")]
    back = sum(max(0, event.new - event.old) for event in by_host)
    return len(trace.of_kind("uphill")), back


def test_exercise_3() -> None:
    """Under your seed a push goes uphill, and the host takes back as much as you say."""
    seed = exercise_3.SEED
    assert seed is not None, "SEED is still to be found"
    pushes, units = uphill(seed)
    assert pushes > 0
    assert [units] == [exercise_3.UNITS], "UNITS is not right"


def total(seed: int, *changes: tuple[str, str]) -> int:
    """Return the units of excess after a launch in which four nodes push at once; 12 were there."""
    kernel = changed(lock_free.push, *changes) if changes else lock_free.push
    with patch.object(lock_free, "push", kernel), device.executing(Executor(seed, 0.3)):
        instance = row_of({0: 4, 1: 2, 3: 2, 4: 4}, {2: 9}, (4, 4, 4, 4))
        state = upload.upload_lock_free(instance, cycle=50)
        for name in ("restore", "kernel"):
            state.launches[name]()
        return int(device.to_host(state.arrays["excess"]).sum())


def test_exercise_4() -> None:
    """Under your seed units are lost or made; with the atomic they never are."""
    changes, seed, lucky = exercise_4.CHANGES, exercise_4.SEED, exercise_4.LUCKY
    assert changes is not None, "CHANGES is still to be written"
    assert seed is not None, "SEED is still to be found"
    assert lucky is not None, "LUCKY is still to be found"
    assert total(seed, *changes) != 12
    assert total(lucky, *changes) == 12
    assert {total(other) for other in (seed, lucky, *range(8))} == {12}


def violations(seed: int) -> int:
    """Return how many stores open an arc below minus epsilon, on `STALE`."""
    trace = runs.trace(STORY["stale"], seed)
    assert trace.answer.cost == 27, "not optimal"
    return len(trace.of_kind("violated"))


def test_exercise_5() -> None:
    """Under your seed an arc lies below minus epsilon, and the answer is optimal all the same."""
    seed = exercise_5.SEED
    assert seed is not None, "SEED is still to be found"
    assert violations(seed) > 0


def way_round(n: int, dearer: int) -> list[list[int]]:
    """Return costs of which the identity's are so much more than those of the way round."""
    near = [[0 if (y - x) % n in (0, 1) else 9 for y in range(n)] for x in range(n)]
    near[0][0] = dearer
    return near


def test_exercise_6() -> None:
    """Yours accepts what cost scaling ends with, and refuses a proof of a dearer assignment."""
    for n in range(1, 6):
        cost = uniform(n, n, cost_range=20)
        run = reference.Run(costs.read(cost, False), "5.2")
        reference.min_cost(run)
        prices = [Fraction(price, run.costs.factor) for price in run.p]
        rows = [price - int(cost.min()) for price in prices[:n]]  # the costs are shifted
        columns = np.array(run.f).reshape(n, n).argmax(axis=1).tolist()
        assert exercise_6.proves(cost.tolist(), columns, rows, prices[n:])
    for n in (2, 3, 4):
        identity, share = list(range(n)), Fraction(1, 2 * n)
        # Each arc of the cycle that makes the identity cheaper has -1 / (2 n).
        rows, lines = [2 * share * x for x in range(n)], [(2 * x - 1) * share for x in range(n)]
        lines[0] = 1 - share
        assert not exercise_6.proves(way_round(n, 1), identity, rows, lines)
        nearly = [share - Fraction(1, 100)] * n
        assert exercise_6.proves(way_round(n, 0), identity, [Fraction(0)] * n, nearly)
