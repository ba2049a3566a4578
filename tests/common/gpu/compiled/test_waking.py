"""The thread that lets the driver make a context, with a driver that only takes notes."""

import sys
import threading

import pytest

from papers.common.gpu import device
from papers.common.gpu.compiled import waking


class Driver:
    """A driver without a GPU behind it."""

    def __init__(self, refuses=0, current=None):
        self.refuses, self.current, self.calls = refuses, current, []
        self.goes_on = threading.Event()

    def cuCtxGetCurrent(self, context):
        context._obj.value = self.current
        return 0

    def cuDevicePrimaryCtxRetain(self, context, place):
        assert self.goes_on.wait(10)
        self.calls.append(("retain", place))
        return self.refuses

    def cuDevicePrimaryCtxRelease_v2(self, place):
        self.calls.append(("release", place))
        return 0


@pytest.fixture
def fresh(monkeypatch):
    """A process that has imported no Numba and has woken nothing."""
    monkeypatch.delitem(sys.modules, "numba.cuda", raising=False)
    monkeypatch.setattr(waking, "_thread", None)
    monkeypatch.setattr(waking, "_holder", None)

    def start(driver):
        monkeypatch.setattr(waking, "driver", lambda: driver)
        waking.begin()
        return driver

    return start


def test_the_caller_does_not_wait_and_the_context_goes_back_at_the_end(fresh):
    driver = fresh(Driver())
    assert driver.calls == []  # it has returned while the driver is at work
    driver.goes_on.set()
    waking.end()
    waking.end()
    assert driver.calls == [("retain", 0), ("release", 0)]


def test_it_begins_once(fresh):
    driver = fresh(Driver())
    waking.begin()
    driver.goes_on.set()
    waking.end()
    waking.begin()
    assert driver.calls == [("retain", 0), ("release", 0)]


def test_a_context_that_was_refused_is_not_given_back(fresh):
    driver = fresh(Driver(refuses=2))
    driver.goes_on.set()
    waking.end()
    assert driver.calls == [("retain", 0)]


def test_a_thread_that_works_with_a_gpu_keeps_it(fresh):
    """Another library may have chosen the second one."""
    fresh(Driver(current=4711))
    assert waking._thread is None


def test_beside_numba_there_is_nothing_to_win(fresh, monkeypatch):
    monkeypatch.setitem(sys.modules, "numba.cuda", object())
    fresh(Driver())
    assert waking._thread is None


def test_without_a_driver_nothing_happens(fresh):
    fresh(None)
    assert waking._thread is None
    waking.end()


@pytest.mark.skipif(not device.gpu_present(), reason="there is no GPU")
def test_the_driver_makes_the_context_that_numba_finds(fresh):
    fresh(waking.driver())
    assert waking._thread is not None
    waking._thread.join()
    assert waking._holder is not None
    waking.end()
    assert waking._holder is None
