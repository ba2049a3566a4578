"""Limits of a run, and the checks of options."""

import numpy as np
import pytest

from papers.common.model import GivenUpError
from papers.lupinska_costscale import limits


@pytest.fixture
def clock(monkeypatch):
    """A clock that goes on when it is told to."""
    now = [100.0]
    monkeypatch.setattr(limits.time, "perf_counter", lambda: now[0])
    return now


def test_a_deadline_gives_up_once_its_time_is_over(clock):
    deadline = limits.Deadline(2.5)
    clock[0] += 2.5
    deadline.check("3 operations")
    clock[0] += 0.5
    with pytest.raises(GivenUpError, match=r"gave up after 3\.0 s and 3 operations") as told:
        deadline.check("3 operations")
    assert told.value.after_ms == 3000


def test_no_deadline_never_does(clock):
    deadline = limits.Deadline(None)
    clock[0] += 1e9
    deadline.check("nothing")


@pytest.mark.parametrize("seconds", [0, -1, True, "1", float("nan")])
def test_what_is_no_time(seconds):
    with pytest.raises(ValueError, match="seconds="):
        limits.check_seconds(seconds)


@pytest.mark.parametrize("seconds", [None, 1, 0.25])
def test_what_is_a_time(seconds):
    limits.check_seconds(seconds)


@pytest.mark.parametrize("value", [0, 2**31, True, 1.0, "1", None])
def test_what_is_no_count(value):
    with pytest.raises(ValueError, match="cycle="):
        limits.check_count("cycle", value)


def test_what_is_a_count():
    limits.check_count("cycle", 1)
    limits.check_count("cycle", np.int64(2**31 - 1))
    limits.check_count("redraw_every", 0, least=0)
