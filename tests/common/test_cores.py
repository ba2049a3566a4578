"""Threads are planned for the cores that are here, or for those of another machine."""

import os

from papers.common import cores


def test_threads_are_as_wanted_or_as_many_as_there_are_cores(monkeypatch):
    monkeypatch.delenv("NUMBA_NUM_THREADS", raising=False)
    assert 1 <= cores.allowed() <= (os.cpu_count() or 1)
    assert cores.threads(1) == 1
    assert cores.threads(10_000) == cores.planned() == cores.allowed()
    monkeypatch.setenv("NUMBA_NUM_THREADS", "3")
    assert cores.threads(10_000) == 3


def test_another_machine_counts_within_its_block_alone():
    before = cores.planned()
    with cores.taken_as(12):
        assert cores.threads(16) == 12
        with cores.taken_as(2):
            assert cores.threads(16) == 2
        assert cores.threads(8) == 8
    assert cores.planned() == before
