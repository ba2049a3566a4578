"""The exercises' checks, red until `exercise_1` to `exercise_6` are solved."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np

from papers.common.executor.recorder import Recorder
from papers.common.executor.scheduler import Executor
from papers.common.executor.variants import changed
from papers.common.gpu import device
from papers.common.model import GivenUpError
from papers.common.problems.graph import bipartite
from papers.deveci_matching import launches, reference, solver
from papers.deveci_matching.evidence import examples
from papers.deveci_matching.exercises import (
    exercise_1,
    exercise_2,
    exercise_3,
    exercise_4,
    exercise_5,
    exercise_6,
)
from papers.deveci_matching.kernels import fix_matching
from papers.deveci_matching.kernels.notation import LEVEL
from papers.deveci_matching.launches import Geometry

FIRST = [[1, 1, 0, 0, 0], [0, 1, 1, 0, 0], [0, 0, 0, 1, 1], [0, 0, 1, 0, 0], [0, 0, 0, 1, 0]]


def test_exercise_1() -> None:
    """Your numbers are those of the sequential algorithm."""
    graph, truth = bipartite(np.array(FIRST)), {}
    for name, shortest in (("APSB_LAUNCHES", True), ("APFB_LAUNCHES", False)):
        rmatch, cmatch = np.array([1, 2, 3, -1, -1]), np.array([-1, 0, 1, 2, -1])
        given = rmatch, cmatch, np.full(5, -1), np.arange(5), shortest, "plain"
        _, truth[name], bfs_array, _ = reference.bfs(graph, *given)
    told: dict[str, Any] = {**truth, "BFS_ARRAY": bfs_array.tolist()}
    told["ENDS"] = np.flatnonzero(rmatch == reference.FOUND).tolist()
    assert [name for name, value in told.items() if getattr(exercise_1, name) != value] == []


def left(seed: int) -> tuple[int, ...]:
    """Return ``rmatch`` of the page's example when the first ALTERNATE has ended."""
    run = examples.run_under(seed)
    return next(moment.rmatch for moment in run.moments if moment.step == "alternate")


def test_exercise_2() -> None:
    """Under your seeds both rows hold the column, and one of them -2."""
    both, one = exercise_2.BOTH_PASS, exercise_2.ONE_STOPS
    assert both is not None, "BOTH_PASS is still to be found"
    assert one is not None, "ONE_STOPS is still to be found"
    assert left(both)[1:3] == (1, 1)
    assert sorted(left(one)[1:3]) == [-2, 1]


def solve(graph: Any, initial: Any, executor: Executor, algorithm: str = "apfb") -> Any:
    """Match a graph by GPUBFS, a block of eight threads."""
    with device.executing(executor):
        shapes = Geometry(1, 8)
        data = bipartite(np.array(graph))
        state = solver.upload(data, algorithm, "plain", initial=initial, geometry=shapes)
        solver.run(state)
        return solver.download(state)


def ends(seed: int, *changes: tuple[str, str]) -> bool:
    """Whether all walks on the page's example end, with these changes of `alternate_path`."""
    kernel = fix_matching.alternate_path
    with patch.object(fix_matching, "alternate_path", changed(kernel, *changes)):
        try:
            answer = solve(examples.GRAPH, examples.START, Executor(seed, examples.SWITCH))
        except GivenUpError as error:
            if "a path has more than" not in str(error):
                raise
            return False
    assert answer.cardinality == 3
    return True


def test_exercise_3() -> None:
    """Your kernel walks for ever under one of your seeds, and not under the other."""
    changes, endless, lucky = exercise_3.CHANGES, exercise_3.ENDLESS, exercise_3.LUCKY
    assert changes is not None, "CHANGES is still to be written"
    assert endless is not None, "ENDLESS is still to be found"
    assert lucky is not None, "LUCKY is still to be found"
    assert not ends(endless, *changes)
    assert ends(lucky, *changes)


def test_exercise_4() -> None:
    """On your graph APFB ends too early if -2 is left standing."""
    graph = exercise_4.GRAPH
    assert graph is not None, "GRAPH is still to be found"
    assert np.shape(graph) == (2, 2)
    careless = changed(fix_matching.fix_matching, ("column == END or ", ""))
    right = solve(graph, "empty", Executor()).cardinality
    with patch.object(launches, "fix_matching", careless):
        assert solve(graph, "empty", Executor()).cardinality < right


def test_exercise_5() -> None:
    """On your graphs APsB gains one pair a phase."""
    for n in (2, 3, 5, 8):
        answer = solve(exercise_5.graph(n), "empty", Executor(), "apsb")
        assert answer.cardinality == n, "not all rows can be matched"
        assert answer.counters["bfs_iterations"] == n + 1


def test_exercise_6() -> None:
    """Your number is that of the loads which the executor has seen."""
    draw, launched = np.random.default_rng(2), 0
    for columns, blocks, threads in ((5, 1, 2), (30, 1, 3), (9, 2, 8)):
        graph = bipartite(np.array(draw.random((columns, columns)) < 1.7 / columns))
        recorder = Recorder(seed=1, loads=["bfs_array"])
        with device.executing(recorder.executor):
            state = solver.upload(graph, "apfb", "plain", geometry=Geometry(blocks, threads))
            recorder.watch({name: state.arrays[name] for name in ("bfs_array", "rmatch", "flags")})
            solver.run(state)
        loaded: dict[int, int] = {}
        told: dict[int, int] = {}
        for event, now in recorder.stop().replay():
            if event.kind == "load":
                loaded[event.launch] = loaded.get(event.launch, 0) + 1
            elif event.kind == "launch" and event.kernel == "gpubfs":
                level = np.flatnonzero(now["bfs_array"] == now["flags"][LEVEL])
                lists = [graph.cadj[graph.cxadj[c] : graph.cxadj[c + 1]] for c in level]
                edges = sum(int((now["rmatch"][rows] >= 0).sum()) for rows in lists)
                told[event.launch] = exercise_6.loads(columns, blocks * threads, edges)
        assert told == loaded, (columns, blocks * threads)
        launched += len(told)
    assert launched > 5
