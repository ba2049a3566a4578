"""The exercises' checks, red until `exercise_1` to `exercise_6` are solved."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np
from numba import cuda

from papers.common.executor.recorder import Recorder, Recording
from papers.common.executor.scheduler import Executor
from papers.common.executor.variants import changed
from papers.common.gpu import device
from papers.common.instances.matrices import uniform
from papers.kawtikwar_opts import solver
from papers.kawtikwar_opts.evidence import sass
from papers.kawtikwar_opts.exercises import (
    exercise_1,
    exercise_2,
    exercise_3,
    exercise_4,
    exercise_5,
    exercise_6,
)
from papers.kawtikwar_opts.kernels import baseline, opt0, opt1
from papers.kawtikwar_opts.kernels.arguments import FLAGS, Duals
from papers.kawtikwar_opts.kernels.printed import listings
from papers.kawtikwar_opts.kernels.step_4 import agree
from papers.lopes2019.kernels.arguments import Covers, Order, Zeros

ONE = np.int32(1)


def listed_by_listing_3(order, eps, slack, covers, least, zeros, duals):
    """[K21 Listing 3] for every entry, a thread each; `listings` holds what it calls."""
    for i in range(order.n * order.n):
        listings.add_sub_compress(i, order, eps, slack, covers, least, zeros)


def dual_update(version, matrix, rows, columns, lines, change=None):
    """Do a dual update; rows of `matrix` go down.

    Parameters
    ----------
    version : str
        "baseline", "opt0" to "opt4", or "listing 3".
    matrix : array_like[n, n]
    rows, columns : array_like[n]
        1 where covered.
    lines : int
        Columns a bin.
    change : list of (str, str), optional
        Changes of `listings.add_sub_compress`.

    Returns
    -------
    after : ndarray[n, n]
    bins : list of list of (row, column)
        The zeros as they are listed.
    recording : Recording
        Loads and stores of "slack".
    """
    slack = np.array(matrix, np.int32).T.reshape(-1).copy()
    n, covers = len(matrix), Covers(np.array(rows, np.int32), np.array(columns, np.int32))
    least = least_of(matrix, rows, columns)
    order = Order(np.int32(n), np.int32(lines))
    zeros = Zeros(np.zeros(n * n, np.int32), np.zeros(-(-n // lines), np.int32))
    duals = Duals(np.zeros(n, np.int64), np.zeros(n, np.int64))
    recorder = Recorder(seed=1, loads=["slack"])
    recorder.watch({"slack": slack})
    run = recorder.executor.launch
    kept, given = np.full(1, least, np.int32), (order, ONE, slack, covers)
    if version in ("baseline", "opt0"):
        counted = (np.zeros(1, np.int32),) if version == "baseline" else ()
        kernels: Any = baseline if version == "baseline" else opt0
        run(kernels.step_6_add_sub, 1, 32, (order.n, slack, covers, kept, duals))
        bins = slack, zeros.positions, *counted, zeros.sizes
        run(kernels.compress_matrix, 1, 32, (*order, ONE, *bins))
    elif version == "opt1":
        run(opt1.add_sub_compress_matrix, 1, 32, (*given, kept, zeros, duals))
    elif version == "listing 3":
        inner = changed(listings.add_sub_compress, *change) if change else listings.add_sub_compress
        with patch.object(listings, "add_sub_compress", inner):
            run(listed_by_listing_3, 1, 1, (*given, least, zeros, duals))
    else:
        run(sass.probe(version), 1, 32, (*given, least, zeros, duals))
    lists = [
        sorted(
            divmod(int(i), n)[::-1] for i in zeros.positions[b * lines * n : b * lines * n + size]
        )
        for b, size in enumerate(zeros.sizes)
    ]
    return slack.reshape(n, n).T, lists, recorder.stop()


def least_of(matrix, rows, columns):
    """Return the least uncovered slack as int32."""
    open_ones = np.ix_(np.array(rows) == 0, np.array(columns) == 0)
    return np.int32(np.array(matrix)[open_ones].min())


def count(recording: Recording, kind: str) -> int:
    """Return how many events of a kind a recording holds."""
    return sum(event.kind == kind for event in recording.events)


# ------------------------------------------------------------------------------- the checks


def test_exercise_1() -> None:
    """Your numbers are those of Opt 3's kernel."""
    matrix = [[0, 2, 5, 0], [3, 0, 4, 2], [4, 6, 0, 3], [5, 0, 1, 4]]
    rows, columns = [1, 0, 0, 0], [0, 1, 1, 0]
    after, bins, recording = dual_update("opt3", matrix, rows, columns, 2)
    truth = {
        "LEAST": least_of(matrix, rows, columns),
        "AFTER": after.tolist(),
        "WRITTEN": count(recording, "store"),
        "BINS": [len(zeros) for zeros in bins],
    }
    assert [name for name, value in truth.items() if getattr(exercise_1, name) != value] == []


def test_exercise_2() -> None:
    """Your numbers of loads are counted in the executor."""
    for version in ("baseline", "opt0", "opt1", "opt2", "opt3", "opt4"):
        for n, rows, columns in ((4, 1, 2), (5, 3, 1), (6, 0, 5)):
            down, across = ([1] * k + [0] * (n - k) for k in (rows, columns))
            _, _, recording = dual_update(version, uniform(n, 1, cost_range=9), down, across, n)
            told = exercise_2.loads(version, n, rows, columns)
            assert told == count(recording, "load"), (version, n, rows, columns)


def test_exercise_3() -> None:
    """With the halves swapped as many zeros are listed as there are, but others."""
    matrix, change = exercise_3.SLACK, exercise_3.CHANGES
    rows, columns = exercise_3.COVERED_ROWS, exercise_3.COVERED_COLUMNS
    assert matrix is not None, "SLACK is still to be found"
    assert change is not None, "CHANGES is still to be written"
    assert rows is not None, "COVERED_ROWS is still to be found"
    assert columns is not None, "COVERED_COLUMNS is still to be found"
    assert np.shape(matrix) == (3, 3)
    assert np.min(matrix) >= 0
    assert least_of(matrix, rows, columns) > 0, "a zero is uncovered"
    right, (zeros,), _ = dual_update("listing 3", matrix, rows, columns, 3)
    after, (listed,), _ = dual_update("listing 3", matrix, rows, columns, 3, change)
    assert np.array_equal(after, right), "the slacks are updated all the same"
    assert zeros == [tuple(place) for place in np.argwhere(after == 0)]
    assert len(listed) == len(zeros)
    assert listed != zeros


def meet_again_and_again(said, heard, flags):
    """Blocks say in turn whether they moved, and note what they hear of all of them."""
    for run in range(said.shape[0]):
        moved, _ = agree(said[run, cuda.blockIdx.x] != 0, False, run, flags)
        heard[run, cuda.grid(1)] = moved


def heard(seed: int, *changes: tuple[str, str]) -> bool:
    """Whether all threads hear in all runs what was said, with these changes of `agree`."""
    said = np.random.default_rng(7).integers(0, 2, (8, 2)).astype(np.int32)
    noted, flags = np.zeros((8, 6), np.int32), np.zeros(FLAGS, np.int32)
    inner = changed(agree, *changes) if changes else agree
    with patch.dict(globals(), agree=inner):
        Executor(seed, 0.3).launch(meet_again_and_again, 2, 3, (said, noted, flags))
    return bool((noted == said.any(axis=1, keepdims=True)).all())


def test_exercise_4() -> None:
    """Under your seed somebody misses what was said; with three slots nobody does."""
    seed, lucky, changes = exercise_4.SEED, exercise_4.LUCKY, exercise_4.CHANGES
    assert changes is not None, "CHANGES is still to be written"
    assert seed is not None, "SEED is still to be found"
    assert lucky is not None, "LUCKY is still to be found"
    assert all(heard(other) for other in (seed, lucky, *range(8))), "three slots are enough"
    assert not heard(seed, *changes)
    assert heard(lucky, *changes)


def test_exercise_5() -> None:
    """Your number is that of the barriers of the grid that the executor has seen."""
    for n, lines in ((5, 5), (5, 2), (4, 4), (4, 1)):
        recorder = Recorder(seed=n)
        with device.executing(recorder.executor):
            cost = uniform(n, 3, cost_range=5 * n)
            state = solver.upload(cost, version="opt2", lines_a_bin=lines, threads=32, blocks=4)
            recorder.watch({"slack": state.arrays["slack"]})
            solver.run(state)
            counted = solver.download(state).counters
        steps = [counted[f"iterations_step_{step}"] for step in (6, 5, 4)]
        met = [e for e in recorder.stop().events if e.kind == "barrier" and e.block < 0]
        assert exercise_5.barriers(lines < n, *steps) == len(met), (n, lines, steps)


def test_exercise_6() -> None:
    """Your kernel finds the minimum under any interleaving, and loads what you predict."""
    draw = np.random.default_rng(3)
    for seed in range(12):
        n = 4 + seed % 3
        matrix = draw.integers(1, 50, (n, n))
        rows, columns = (draw.permutation(np.arange(n) < 1 + seed % 2) for _ in range(2))
        slack, minimum = matrix.T.reshape(-1).astype(np.int32), np.full(1, 99, np.int32)
        recorder = Recorder(seed, 0.3, loads=["slack"])
        recorder.watch({"slack": slack})
        covers = rows.astype(np.int32), columns.astype(np.int32)
        given = np.int32(n), slack, *covers, minimum
        recorder.executor.launch(exercise_6.least_uncovered, 2, 5, given)
        assert minimum[0] == least_of(matrix, rows, columns)
        told = exercise_6.bytes_read(n, int(rows.sum()), int(columns.sum()), slack.itemsize)
        assert count(recorder.stop(), "load") * slack.itemsize == told
