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
    monkeypatch.setattr(copying, "DIRECT_BYTES", 0)
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


def test_a_small_array_goes_by_one_call_without_threads_or_buffers(monkeypatch):
    sent, real = [], device.send
    monkeypatch.setattr(copying, "DIRECT_BYTES", 80)
    monkeypatch.setattr(copying, "_crew", None)
    monkeypatch.setattr(device, "send", lambda *given: sent.append(given) or real(*given))
    array = np.arange(20, dtype=np.int32)
    array.flags.writeable = False
    assert np.array_equal(copying.to_device_by_chunks(array), array)
    assert [given[0].size for given in sent] == [20]
    assert not copying._buffers
    with pytest.raises(TypeError):  # 84 bytes ask for threads
        copying.to_device_by_chunks(np.arange(21, dtype=np.int32))


def test_a_buffer_is_not_filled_before_its_chunk_has_left(monkeypatch):
    """Planted: without the wait a chunk would be overwritten on its way."""

    class Late:
        def __init__(self):
            self.waiting = []

        def synchronize(self):
            for go in self.waiting:
                go()
            self.waiting.clear()

    real = device.send
    monkeypatch.setattr(device, "stream", Late)
    monkeypatch.setattr(
        device, "send", lambda *given: given[3].waiting.append(lambda: real(*given))
    )
    array = np.arange(997, dtype=np.int32)
    assert np.array_equal(copying.to_device_by_chunks(array), array)


def test_chunks_are_enough_for_all_threads(monkeypatch):
    """Two each at least, as long as none is too large."""
    sizes, real = [], device.send
    monkeypatch.setattr(copying, "CHUNK_BYTES", 4000)
    monkeypatch.setattr(
        device, "send", lambda room, *given: sizes.append(room.nbytes) or real(room, *given)
    )
    for size, chunks in ((1, 1), (5, 5), (10, 5), (160, 8), (9000, 12), (16_004, 20), (24_004, 28)):
        sizes.clear()
        array = np.arange(size, dtype=np.int32)
        assert np.array_equal(copying.to_device_by_chunks(array), array)
        assert len(sizes) == chunks
        assert sum(sizes) == array.nbytes


class Asleep:
    """A crew whose threads do not begin before they are woken."""

    def __init__(self):
        self.jobs = []

    def submit(self, job, *given):
        self.jobs.append(lambda: job(*given))

    def wake(self, number):
        thread = threading.Thread(target=self.jobs[number])
        thread.start()
        thread.join(30)
        return not thread.is_alive()


def test_nobody_waits_for_threads_that_have_not_begun(monkeypatch):
    """Planted: whoever waits for all of them never ends here; one that wakes later does nothing."""
    crew = Asleep()
    monkeypatch.setattr(copying, "_crew", lambda: crew)
    array = np.arange(100, dtype=np.int32)
    assert np.array_equal(copying.to_device_by_chunks(array), array)
    assert len(crew.jobs) == copying.THREADS - 1
    monkeypatch.setattr(device, "send", None)
    monkeypatch.setattr(device, "attach", None)
    assert all(crew.wake(k) for k in range(len(crew.jobs)))


def test_threads_that_begin_late_take_chunks_that_nobody_has_taken(monkeypatch):
    """And each chunk is sent once."""
    crew, sent, real = Asleep(), [], device.send

    def send(room, target, start, stream):
        sent.append((start, stream))
        real(room, target, start, stream)
        if len(sent) == 3:
            crew.wake(1)

    monkeypatch.setattr(copying, "_crew", lambda: crew)
    monkeypatch.setattr(device, "send", send)
    array = np.arange(100, dtype=np.int32)
    assert np.array_equal(copying.to_device_by_chunks(array), array)
    assert [start for start, _ in sent] == list(range(0, 400, 36))
    streams = [stream for _, stream in sent]
    assert len(set(map(id, streams[:3]))) == 1
    assert all(stream is not streams[0] for stream in streams[3:])


@pytest.mark.parametrize("who", ["the caller", "a helper"])
def test_a_fault_is_raised_when_all_threads_are_done(who, monkeypatch):
    """Planted: whoever raises at once leaves threads behind that read the caller's array."""
    begun, done, failing, came = threading.Barrier(copying.THREADS, timeout=30), [], [], set()
    caller = threading.get_ident()

    def slow(room, target, start, stream):
        if threading.get_ident() not in came:
            came.add(threading.get_ident())
            begun.wait()
        mine = (threading.get_ident() == caller) == (who == "the caller")
        if mine and not failing:
            failing.append(start)
            raise OSError("the bus is gone")
        time.sleep(0.1)
        done.append(start)

    monkeypatch.setattr(device, "send", slow)
    with pytest.raises(OSError, match="the bus is gone"):
        copying.to_device_by_chunks(np.arange(200, dtype=np.int32))
    assert sorted(done + failing) == [0, 40, 80, 120]  # and none of the others was begun


def test_a_thread_that_does_not_come_is_done_without(monkeypatch):
    def none(job, *given):
        raise RuntimeError("cannot schedule new futures after shutdown")

    crew = Asleep()
    crew.submit = none
    monkeypatch.setattr(copying, "_crew", lambda: crew)
    array = np.arange(100, dtype=np.int32)
    assert np.array_equal(copying.to_device_by_chunks(array), array)


def test_nothing_is_under_way_behind_a_fault(monkeypatch):
    """Planted: without the wait a transfer would write the target afterwards."""
    streams = []

    class Counted:
        def __init__(self):
            self.under_way = 0
            streams.append(self)

        def synchronize(self):
            self.under_way = 0

    def send(room, target, start, stream):
        if sum(one.under_way for one in streams) > 2:
            raise OSError("the bus is gone")
        stream.under_way += 1
        time.sleep(0.01)  # the others take part

    monkeypatch.setattr(device, "stream", Counted)
    monkeypatch.setattr(device, "send", send)
    with pytest.raises(OSError, match="the bus is gone"):
        copying.to_device_by_chunks(np.arange(2000, dtype=np.int32))
    assert [one.under_way for one in streams] == [0] * copying.THREADS


def test_a_helper_s_fault_is_the_caller_s_too(monkeypatch):
    """Planted: whoever looks only at its own work returns half a copy."""
    caller, failed = threading.get_ident(), threading.Event()

    def fail(room, target, start, stream):
        if threading.get_ident() != caller:
            failed.set()
            raise OSError("the bus is gone")
        failed.wait(30)

    monkeypatch.setattr(device, "send", fail)
    with pytest.raises(OSError, match="the bus is gone"):
        copying.to_device_by_chunks(np.arange(200, dtype=np.int32))


def test_what_fails_in_a_thread_is_raised(monkeypatch):
    def fail(*given):
        raise OSError("the bus is gone")

    monkeypatch.setattr(device, "send", fail)
    with pytest.raises(OSError, match="the bus is gone"):
        copying.to_device_by_chunks(np.zeros(100, np.int32))
    with pytest.raises(ValueError, match="C-contiguous"):
        copying.to_device_by_chunks(np.zeros((9, 9), np.int32)[:, ::2])


def test_every_helper_works_on_the_caller_s_gpu(monkeypatch):
    """Once, as long as it stays that GPU: the driver keeps a stack of them for each thread."""
    attached, real, last = [], device.send, None
    copying._crew.cache_clear()  # threads that are attached to none yet
    monkeypatch.setattr(device, "attach", lambda gpu: attached.append((threading.get_ident(), gpu)))
    for gpu in (3, 3, 4, 3):
        begun = threading.Barrier(copying.THREADS, timeout=30)
        first = set()

        def send(*given, begun=begun, first=first):
            if threading.get_ident() not in first:
                first.add(threading.get_ident())
                begun.wait()  # all threads take part
            real(*given)

        monkeypatch.setattr(device, "send", send)
        monkeypatch.setattr(device, "number", lambda gpu=gpu: gpu)
        before = len(attached)
        copying.to_device_by_chunks(np.zeros(100, np.int32))
        new = attached[before:]
        assert {number for _, number in new} <= {gpu}
        assert len(new) == len(set(new)) == (0 if gpu == last else copying.THREADS - 1)
        last = gpu
        assert threading.get_ident() not in {thread for thread, _ in new}
    assert {number for _, number in attached} == {3, 4}


def test_interruptions_wait_for_the_threads(monkeypatch):
    """Planted: a wait that one of them ends leaves threads that read the source and write on."""
    caller, go, inside, held = threading.get_ident(), threading.Event(), [], []

    def later(room, target, start, stream):
        if threading.get_ident() == caller:
            held.append(start)
            while len(inside) < copying.THREADS - 1:
                time.sleep(0.001)
            return
        inside.append(start)
        go.wait(30)
        inside.remove(start)

    def strike(*_):
        struck.append(1)
        if len(struck) == 3:
            go.set()
        else:
            signal.setitimer(signal.ITIMER_REAL, 0.02)
        raise KeyboardInterrupt

    struck = []
    monkeypatch.setattr(device, "send", later)
    before = signal.signal(signal.SIGALRM, strike)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(KeyboardInterrupt):
            copying.to_device_by_chunks(np.full(50, 7, np.int32))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        go.set()
    assert len(struck) == 3
    assert not inside


def test_a_wait_that_fails_each_time_ends(monkeypatch):
    class Broken:
        def synchronize(self):
            raise OSError("the GPU is gone")

    monkeypatch.setattr(device, "stream", Broken)
    with pytest.raises(OSError, match="the GPU is gone"):
        copying.to_device_by_chunks(np.zeros(100, np.int32))
    assert not copying._buffers  # somebody may still be at work on them


def test_an_array_of_another_size_or_type_is_refused():
    for there in (np.zeros(99, np.int32), np.zeros(101, np.int32), np.zeros(100, np.int64)):
        with pytest.raises(ValueError, match="100 entries of int32"):
            copying.overwrite_by_chunks(there, np.zeros(100, np.int32))


@pytest.mark.parametrize("direct", [0, 1 << 20])
def test_an_array_with_gaps_is_refused(direct, monkeypatch):
    """One call of the driver would take the bytes between its entries."""
    monkeypatch.setattr(copying, "DIRECT_BYTES", direct)
    with pytest.raises(ValueError, match="C-contiguous"):
        copying.overwrite_by_chunks(np.zeros(10, np.int32), np.arange(20, dtype=np.int32)[::2])


def test_buffers_grow_with_the_chunks(monkeypatch):
    for size in (40, 400):
        monkeypatch.setattr(copying, "CHUNK_BYTES", size)
        array = np.arange(1000, dtype=np.int32)
        assert np.array_equal(copying.to_device_by_chunks(array), array)


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

    def slow(flat, source, gpu):
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
