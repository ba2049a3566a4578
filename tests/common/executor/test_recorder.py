"""A recording: who changed what, where; what the host did; and nothing that is not so."""

from pathlib import Path

import numpy as np
import pytest
from numba import cuda

from papers.common.executor import recorder as recorder_module
from papers.common.executor.errors import ExecutorError
from papers.common.executor.recorder import Recorder


@cuda.jit(device=True)
def _take(words, i):
    return cuda.atomic.exch(words, i, 7)


@cuda.jit
def _kernel(words, others):
    i = cuda.grid(1)
    old = _take(words, i)
    cuda.syncthreads()
    others[i] = words[i] + old


def recorded(loads=(), seed=None):
    words, others = np.arange(4, dtype=np.int32), np.zeros(4, np.int64)
    recorder = Recorder(seed, loads=loads)
    recorder.watch({"words": words, "others": others})
    recorder.executor.launch(_kernel, 2, 2, (words, others))
    words[3] = -1  # the host
    recorder.executor.launch(_kernel, 2, 2, (words, others))
    return recorder.stop()


def test_each_change_has_its_value_before_and_after_its_thread_and_its_line():
    events = recorded().events
    assert [e.kind for e in events if e.launch == 1] == (
        ["launch"] + ["atomic"] * 2 + ["barrier"] + ["store"] * 2 + ["block_ends"]
        + ["atomic"] * 2 + ["barrier"] + ["store"] * 2 + ["block_ends", "host"]
    )  # fmt: skip
    taken = [e for e in events if e.kind == "atomic" and e.launch == 1]
    assert [(e.array, e.index, e.old, e.new, e.block, e.thread) for e in taken] == [
        ("words", k, k, 7, k // 2, k % 2) for k in range(4)
    ]
    assert {(e.kernel, e.site.function) for e in taken} == {("_kernel", "_take")}
    assert __file__ == taken[0].site.file
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    assert "cuda.atomic.exch" in lines[taken[0].site.line - 1]
    launch = events[0]
    assert (launch.old, launch.new) == (2, 2)


def test_the_host_is_told_from_the_kernels():
    (host,) = [e for e in recorded().events if e.kind == "host"]
    assert (host.array, host.index, host.old, host.new) == ("words", 3, 7, -1)


def test_loads_are_noted_of_the_arrays_that_are_asked_for():
    assert [e for e in recorded().events if e.kind == "load"] == []
    loads = [e for e in recorded(loads=("words",)).events if e.kind == "load"]
    assert len(loads) == 8
    assert {e.array for e in loads} == {"words"}


def test_a_recorder_does_not_change_the_interleaving():
    with_loads = [e for e in recorded(("words", "others"), seed=3).events if e.kind != "load"]
    assert with_loads == recorded(seed=3).events
    assert recorded(seed=3).events != recorded(seed=4).events


def test_a_replay_ends_where_the_run_has_ended_and_misses_a_dropped_event():
    recording = recorded()
    *_, (_, now) = recording.replay()
    assert all((now[name] == recording.final[name]).all() for name in recording.final)
    del recording.events[1]
    with pytest.raises(ValueError, match="event"):
        list(recording.replay())


def test_a_part_of_a_watched_array_is_watched():
    memory = np.zeros((2, 3), np.int32)
    recorder = Recorder()
    recorder.watch({"memory": memory})

    def kernel(row, whole):
        row[1] = 5
        whole[0, 2] = row[1]

    recorder.executor.launch(kernel, 1, 1, (memory[1], memory))
    changes = [(e.index, e.new) for e in recorder.stop().events if e.changes]
    assert changes == [(4, 5), (2, 5)]


def test_a_change_that_is_not_recorded_ends_the_launch(monkeypatch):
    """Planted: an atomic that its view forgets to tell."""

    def forgetful(view, rule, index, operands):
        view._write("atomic", index, rule(view.array[index], *operands))

    monkeypatch.setattr(recorder_module._Recorded, "update", forgetful)
    recorder, words = Recorder(), np.zeros(2, np.int32)
    recorder.watch({"words": words})

    def kernel(words):
        cuda.atomic.add(words, 0, 1)

    with pytest.raises(ExecutorError, match=r"has changed words\[0\] unrecorded"):
        recorder.executor.launch(kernel, 1, 1, (words,))
