"""Arrays that travel in chunks arrive whole, whatever the sizes; faults of a thread are raised."""

import threading
import time

import numpy as np
import pytest

from papers.common.gpu import copying, device


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch):
    device.select("cpu")
    monkeypatch.setattr(copying, "CHUNK_BYTES", 40)
    monkeypatch.setattr(copying, "_buffers", {})


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


def test_what_fails_in_a_thread_is_raised(monkeypatch):
    def fail(*given):
        raise OSError("the bus is gone")

    monkeypatch.setattr(device, "overwrite", fail)
    with pytest.raises(OSError, match="the bus is gone"):
        copying.to_device_by_chunks(np.zeros(100, np.int32))
    with pytest.raises(ValueError, match="C-contiguous"):
        copying.to_device_by_chunks(np.zeros((9, 9), np.int32)[:, ::2])


def test_every_thread_works_on_the_caller_s_gpu(monkeypatch):
    attached = []
    monkeypatch.setattr(device, "number", lambda: 3)
    monkeypatch.setattr(device, "attach", attached.append)
    copying.to_device_by_chunks(np.zeros(100, np.int32))
    assert attached == [3] * copying.THREADS


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
