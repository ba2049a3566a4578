"""Arrays that travel in chunks arrive whole, whatever the sizes; faults of a thread are raised."""

import os
import signal
import threading
import time
import warnings

import numpy as np
import pytest

from papers.common.gpu import copying, device


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch):
    device.select("cpu")
    monkeypatch.setattr(copying, "CHUNK_BYTES", 40)
    monkeypatch.setattr(copying, "_buffers", {})
    copying._streams.cache_clear()
    yield
    copying._streams.cache_clear()


@pytest.mark.parametrize("shape", [(0,), (1,), (10,), (11, 7), (40,), (41,), (5, 9, 2)])
@pytest.mark.parametrize("dtype", ["int32", "float64", "uint8"])
def test_every_entry_arrives(shape, dtype):
    array = np.arange(np.prod(shape), dtype=dtype).reshape(shape)
    there = copying.to_device_by_chunks(array)
    assert there.shape == array.shape
    assert there.dtype == array.dtype
    assert np.array_equal(there, array)
    assert not np.shares_memory(there, array)


def test_a_buffer_is_not_filled_before_its_chunk_has_left(monkeypatch):
    """Planted: without the wait a chunk would be overwritten on its way."""

    class Late:
        def __init__(self):
            self.waiting = []

        def synchronize(self):
            for go in self.waiting:
                go()
            self.waiting.clear()

    def later(target, array, stream=None):
        stream.waiting.append(lambda: target.__setitem__(slice(None), array))

    monkeypatch.setattr(device, "stream", Late)
    monkeypatch.setattr(device, "overwrite", later)
    array = np.arange(997, dtype=np.int32)
    assert np.array_equal(copying.to_device_by_chunks(array), array)


def test_all_threads_have_chunks_of_an_array_that_is_large_enough(monkeypatch):
    """Two each at least, as long as no chunk is too small: 36 MB were five chunks before."""
    sizes = []
    real = device.overwrite
    monkeypatch.setattr(copying, "CHUNK_BYTES", 4000)
    monkeypatch.setattr(copying, "LEAST_CHUNK_BYTES", 80)
    monkeypatch.setattr(
        device, "overwrite", lambda there, room, stream=None: sizes.append(room.nbytes)
        or real(there, room, stream),
    )  # fmt: skip
    for size, chunks in ((10, 1), (21, 2), (160, 8), (9000, 12), (16_004, 20), (24_004, 28)):
        sizes.clear()
        array = np.arange(size, dtype=np.int32)
        assert np.array_equal(copying.to_device_by_chunks(array), array)
        assert len(sizes) == chunks
        assert sum(sizes) == array.nbytes


def test_a_fault_is_raised_when_all_threads_are_done(monkeypatch):
    """Planted: whoever raises at once leaves threads behind that read the caller's array."""
    done = []

    def slow(there, room, stream=None):
        if room[0] == 0:
            raise OSError("the bus is gone")
        time.sleep(0.05)
        done.append(room[0])

    monkeypatch.setattr(device, "overwrite", slow)
    with pytest.raises(OSError, match="the bus is gone"):
        copying.to_device_by_chunks(np.arange(40, dtype=np.int32))
    assert sorted(done) == [10, 20, 30]


def test_what_fails_in_a_thread_is_raised(monkeypatch):
    def fail(*given):
        raise OSError("the bus is gone")

    monkeypatch.setattr(device, "overwrite", fail)
    with pytest.raises(OSError, match="the bus is gone"):
        copying.to_device_by_chunks(np.zeros(100, np.int32))
    with pytest.raises(ValueError, match="C-contiguous"):
        copying.to_device_by_chunks(np.zeros((9, 9), np.int32)[:, ::2])


def test_every_thread_works_on_the_caller_s_gpu(monkeypatch):
    """Once, as long as it stays that GPU: the driver keeps a stack of them for each thread."""
    attached = []
    monkeypatch.setattr(device, "attach", lambda gpu: attached.append((threading.get_ident(), gpu)))
    for gpu in (3, 3, 4, 3):
        monkeypatch.setattr(device, "number", lambda gpu=gpu: gpu)
        before = len(attached)
        copying.to_device_by_chunks(np.zeros(100, np.int32))
        new = attached[before:]
        assert {number for _, number in new} <= {gpu}
        assert len(new) == len(set(new)) <= copying.THREADS
    assert {number for _, number in attached} == {3, 4}


def test_an_interruption_waits_for_the_threads_and_the_next_copy_is_whole(monkeypatch):
    """Planted: threads that go on after it fill the buffers of the next copy."""
    real, slow = device.overwrite, threading.Event()

    def later(there, room, stream=None):
        if not slow.is_set():
            time.sleep(0.02)
        real(there, room, stream)

    monkeypatch.setattr(device, "overwrite", later)
    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.03)
    with pytest.raises(KeyboardInterrupt):
        copying.to_device_by_chunks(np.full(800, 7, np.int32))
    signal.signal(signal.SIGALRM, before)
    slow.set()
    array = np.arange(800, dtype=np.int32)
    assert np.array_equal(copying.to_device_by_chunks(array), array)


def interrupt(*_):
    raise KeyboardInterrupt


def test_an_array_of_another_size_or_type_is_refused():
    for there in (np.zeros(99, np.int32), np.zeros(101, np.int32), np.zeros(100, np.int64)):
        with pytest.raises(ValueError, match="100 entries of int32"):
            copying.overwrite_by_chunks(there, np.zeros(100, np.int32))


def test_a_child_copies_while_its_parent_does(monkeypatch):
    """A lock that a thread of the parent holds would be held in the child for ever."""
    copying.to_device_by_chunks(np.zeros(100, np.int32))
    with copying._turn, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of threads, which the child does not use
        child = os.fork()
        if child == 0:
            array = np.arange(100, dtype=np.int32)
            os._exit(0 if np.array_equal(copying.to_device_by_chunks(array), array) else 1)
    for _ in range(500):
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            break
        time.sleep(0.01)
    else:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert (pid, status) == (child, 0)


def test_two_callers_take_turns_at_the_buffers(monkeypatch):
    inside, most = [], []

    def slow(flat, source):
        inside.append(1)
        most.append(len(inside))
        time.sleep(0.005)
        inside.pop()

    monkeypatch.setattr(copying, "_overwrite", slow)
    array = np.zeros(3, np.int32)
    callers = [threading.Thread(target=copying.to_device_by_chunks, args=(array,)) for _ in "abcd"]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert most == [1, 1, 1, 1]
