"""Clocks, on a clock of their own."""

import numpy as np
import pytest

from papers.common.gpu import clocks, device
from papers.common.gpu.clocks import (
    KernelClock,
    StepClock,
    Stopwatch,
    quartiles,
    quartiles_of_rows,
)


@pytest.fixture
def now(monkeypatch):
    """Milliseconds that pass only when a test says so."""
    clock = {"ms": 0.0}
    monkeypatch.setattr(clocks.time, "perf_counter_ns", lambda: int(clock["ms"] * 1e6))

    def pass_by(ms):
        clock["ms"] += ms

    return pass_by


def test_quartiles():
    assert quartiles([4, 1, 3, 2, 5]) == (2, 3, 4)
    assert quartiles([7]) == (7, 7, 7)
    assert quartiles([1, 2]) == (1.25, 1.5, 1.75)
    with pytest.raises(ValueError, match="nothing"):
        quartiles([])


@pytest.mark.parametrize("count", range(1, 9))
def test_quartiles_of_rows_are_those_of_each_row_to_the_last_bit(count):
    rows = np.random.default_rng(count).lognormal(size=(50, count))
    low, middle, high = quartiles_of_rows(rows)
    assert list(zip(low, middle, high, strict=True)) == [quartiles(row) for row in rows]


def test_the_stopwatch_leaves_out_what_was_pending_and_waits_for_what_it_started(now):
    pending = [100.0]

    def synchronize():
        while pending:
            now(pending.pop())

    with Stopwatch(synchronize) as lap:
        pending.append(7.0)  # A launch that returns at once.
        now(1.0)
    assert lap.ms == 8.0


def test_time_belongs_to_the_step_that_was_named_last(now):
    clock = StepClock(lambda: None, ("one", "two", "never"))
    now(5)
    clock("one")
    now(1)
    clock("two")
    now(2)
    clock("one")
    now(4)
    clock.stop()
    now(8)
    clock.stop()
    assert clock.totals == {"one": 5.0, "two": 2.0, "never": 0.0}
    assert clock.visits == {"one": 2, "two": 1, "never": 0}


def test_asynchronous_work_is_charged_to_its_own_step(now):
    pending = []

    def synchronize():
        while pending:
            now(pending.pop())

    clock = StepClock(synchronize)
    clock("launches")
    pending.append(9.0)
    clock("next")
    now(1.0)
    clock.stop()
    assert clock.totals == {"launches": 9.0, "next": 1.0}


def test_device_time_needs_a_gpu():
    device.select("cpu")
    with pytest.raises(RuntimeError, match="CUDA GPU"), KernelClock():
        pass
