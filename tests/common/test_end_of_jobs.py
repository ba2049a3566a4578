"""A rank's last line is out, and heard, before the job is ended."""

import os
import sys
import threading
import time
import types

import pytest

from papers.common.mpi import watch


class Ended(Exception):
    """In place of the end of the process."""


@pytest.fixture
def spoken(monkeypatch):
    """Times and words of the line and of the abort, in their order."""
    events = []

    class Error:
        def write(self, text):
            events.append((time.monotonic(), text))

        def flush(self):
            events.append((time.monotonic(), "flush"))

    class World:
        def Abort(self, code):
            events.append((time.monotonic(), f"abort {code}"))

    def ended(code):
        raise Ended(code)

    class Timer:
        def __init__(self, seconds, action, arguments):
            pass

        def start(self):
            pass

    mpi = types.ModuleType("mpi4py")
    mpi.MPI = types.SimpleNamespace(COMM_WORLD=World())
    monkeypatch.setitem(sys.modules, "mpi4py", mpi)
    monkeypatch.setattr(watch, "sys", types.SimpleNamespace(stderr=Error()))
    monkeypatch.setattr(threading, "Timer", Timer)
    monkeypatch.setattr(os, "_exit", ended)
    return events


def test_the_launcher_has_time_to_read_the_line(spoken):
    with pytest.raises(Ended, match="70"):
        watch.end_job("the driver\nis gone")
    words = [text for _, text in spoken]
    assert words == ["rank 0: the driver is gone\n", "flush", "abort 70"]
    assert spoken[2][0] - spoken[1][0] >= watch.HEARD_S


def test_the_lowest_of_several_ranks_has_ended_the_job_before_another_speaks(spoken, monkeypatch):
    monkeypatch.setattr(watch, "rank_of_job", lambda: 1)
    begun = time.monotonic()
    with pytest.raises(Ended):
        watch.end_job("the driver is gone")
    assert spoken[0][1].startswith("rank 1: ")
    assert spoken[0][0] - begun > watch.HEARD_S  # rank 0 aborts `HEARD_S` after its line
