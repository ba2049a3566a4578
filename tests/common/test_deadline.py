"""Limits of a run, and the checks of options."""

import numpy as np
import pytest

from papers.common import deadline
from papers.common.model import GivenUpError


@pytest.fixture
def clock(monkeypatch):
    """A clock that goes on when it is told to."""
    now = [100.0]
    monkeypatch.setattr(deadline.time, "perf_counter", lambda: now[0])
    return now


def test_a_deadline_gives_up_once_its_time_is_over(clock):
    limit = deadline.Deadline(2.5)
    clock[0] += 2.5
    limit.check("3 operations")
    clock[0] += 0.5
    with pytest.raises(GivenUpError, match=r"gave up after 3\.0 s and 3 operations") as told:
        limit.check("3 operations")
    assert told.value.after_ms == 3000


def test_no_deadline_never_does(clock):
    limit = deadline.Deadline(None)
    clock[0] += 1e9
    limit.check("nothing")


@pytest.mark.parametrize("seconds", [0, -1, True, np.True_, "1", float("nan"), 1j])
def test_what_is_no_time(seconds):
    with pytest.raises(ValueError, match="seconds="):
        deadline.check_seconds(seconds)


@pytest.mark.parametrize("seconds", [None, 1, 0.25, np.int64(2), np.float32(0.5)])
def test_what_is_a_time(seconds):
    deadline.check_seconds(seconds)


@pytest.mark.parametrize("value", [0, 2**31, True, 1.0, "1", None])
def test_what_is_no_count(value):
    with pytest.raises(ValueError, match="cycle="):
        deadline.check_count("cycle", value)


def test_what_is_a_count():
    deadline.check_count("cycle", 1)
    deadline.check_count("cycle", np.int64(2**31 - 1))
    deadline.check_count("redraw_every", 0, least=0)


def test_a_bound_on_the_work_ends_a_run_with_the_counts_it_reached():
    limit = deadline.Deadline(None, bound=10, unit="dual updates")
    limit.check("3 rows matched", done=10)
    with pytest.raises(GivenUpError, match="11 dual updates, the bound is 10") as caught:
        limit.check("3 rows matched", done=11, reached={"matched": 3})
    assert caught.value.reached == {"matched": 3}
    assert caught.value.after_ms is None


def test_a_limit_of_time_tells_the_time_and_the_counts():
    limit = deadline.Deadline(1e-9)
    with pytest.raises(GivenUpError, match="gave up after") as caught:
        limit.check("3 rows matched", reached={"matched": 3})
    assert caught.value.reached == {"matched": 3}
    assert caught.value.after_ms > 0


def test_counts_in_words():
    assert deadline.in_words({"matched": 3, "dual_updates": 40}) == "3 matched, 40 dual updates"
