"""The thread that lets the driver make a context, with a driver that only takes notes."""

import gc
import sys
import threading

import pytest

from papers.common.gpu import device
from papers.common.gpu.compiled import waking


class Driver:
    """A driver without a GPU behind it."""

    def __init__(self, refuses=0, current=None, started=True, starts=True):
        self.refuses, self.current, self.calls = refuses, current, []
        self.started, self.starts = started, starts
        self.goes_on = threading.Event()

    def cuInit(self, flags):
        assert self.started or self.goes_on.wait(10)
        self.started = self.starts
        return 0 if self.starts else 100

    def cuCtxGetCurrent(self, context):
        context._obj.value = self.current
        return 0 if self.started else waking.NOT_STARTED

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
    monkeypatch.setattr(waking, "_asleep", True)

    def start(driver):
        monkeypatch.setattr(waking, "_opened", lambda: driver)
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


def test_a_driver_that_has_not_started_starts_in_the_thread(fresh):
    driver = fresh(Driver(started=False))
    assert not driver.started  # it has returned before
    driver.goes_on.set()
    waking.end()
    assert driver.started
    assert driver.calls == [("retain", 0), ("release", 0)]


def test_a_driver_that_does_not_start_makes_no_context(fresh):
    driver = fresh(Driver(started=False, starts=False))
    driver.goes_on.set()
    waking.end()
    assert driver.calls == []


@pytest.fixture
def imported(monkeypatch):
    """The modules that were imported, and whether the collector was at work."""
    found = []
    monkeypatch.setattr(
        waking.importlib, "import_module", lambda name: found.append((name, gc.isenabled()))
    )
    return found


def test_numba_is_imported_while_the_driver_starts_and_nothing_is_collected(
    fresh, imported, monkeypatch
):
    driver = Driver(started=False)
    monkeypatch.setattr(waking, "_opened", lambda: driver)
    monkeypatch.setattr(waking, "_is_likely", lambda: True)
    assert waking.is_asleep()
    waking.hasten("numba")
    assert imported == [("numba", False)]
    assert gc.isenabled()
    assert not driver.started  # nobody has waited for it
    assert not waking.is_asleep()
    driver.goes_on.set()
    waking.end()
    assert driver.calls == [("retain", 0), ("release", 0)]


def test_without_a_driver_numba_is_not_imported(fresh, imported, monkeypatch):
    monkeypatch.setattr(waking, "_opened", lambda: None)
    waking.hasten()
    assert imported == []
    assert not waking.is_asleep()  # nobody asks again


@pytest.mark.parametrize(
    ("files", "visible", "likely"),
    [
        (["null", "nvidia0", "nvidiactl"], None, True),
        (["null", "nvidiactl"], None, False),
        (["dxg"], "0", True),
        (["nvidia0"], "", False),
        (["nvidia0"], "-1", False),
    ],
)
def test_numba_is_imported_early_only_if_a_gpu_is_likely(
    fresh, imported, monkeypatch, files, visible, likely
):
    monkeypatch.setattr(waking.sys, "platform", "linux")
    monkeypatch.setattr(waking.os, "listdir", lambda place: files)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    driver = Driver()
    driver.goes_on.set()
    monkeypatch.setattr(waking, "_opened", lambda: driver)
    waking.hasten()
    waking.end()
    assert (imported, driver.calls) == (
        ([("numba.cuda", False)], [("retain", 0), ("release", 0)]) if likely else ([], [])
    )


def test_the_collector_stays_off_where_it_was(fresh):
    gc.disable()
    try:
        with waking.uncollected():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.parametrize(("there", "starts"), [(True, True), (True, False), (False, True)])
def test_the_driver_is_told_if_it_starts(monkeypatch, there, starts):
    driver = Driver(starts=starts)
    monkeypatch.setattr(waking, "_opened", lambda: driver if there else None)
    monkeypatch.setattr(waking, "_asleep", True)
    assert waking.driver.__wrapped__() is (driver if there and starts else None)
    assert not waking.is_asleep()


@pytest.mark.skipif(not device.gpu_present(), reason="there is no GPU")
def test_the_driver_makes_the_context_that_numba_finds(fresh):
    fresh(waking.driver())
    assert waking._thread is not None
    waking._thread.join()
    assert waking._holder is not None
    waking.end()
    assert waking._holder is None
