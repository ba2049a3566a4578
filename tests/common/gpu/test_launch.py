"""Bound launches."""

from typing import NamedTuple

import numpy as np
import pytest
from numba import cuda

from papers.common.gpu import clocks, device, launch


@cuda.jit
def add_one(values):
    i = cuda.grid(1)
    if i < values.size:
        values[i] += 1


def test_a_bound_launch_runs_again_and_counts():
    device.select("cpu")
    values = device.to_device(np.arange(5))
    bound = launch.bind(add_one, 2, 4, values)
    bound()
    bound()
    assert bound.name == "add_one"
    assert bound.count == 2
    assert device.to_host(values).tolist() == [2, 3, 4, 5, 6]
    bound.reset()
    assert bound.count == 0


def test_a_launch_names_its_arguments():
    device.select("cpu")
    values = device.to_device(np.arange(5))
    bound = launch.bind(add_one, 2, 4, values)
    assert len(bound.arguments) == 1
    assert bound.arguments[0] is values


def test_a_hook_stands_around_a_launch_or_in_its_place():
    device.select("cpu")
    values = device.to_device(np.arange(3))
    bound = launch.bind(add_one, 1, 4, values)
    seen = []

    def watch(enqueue):
        before = values.tolist()
        enqueue()
        seen.append((before, values.tolist()))

    bound.on_enqueue = watch
    assert bound.on_enqueue is watch
    bound()
    assert seen == [([0, 1, 2], [1, 2, 3])]
    bound.on_enqueue = lambda enqueue: None
    bound()
    assert values.tolist() == [1, 2, 3]
    bound.on_enqueue = None
    bound()
    assert values.tolist() == [2, 3, 4]
    assert bound.count == 3
    assert len(seen) == 1


def test_an_argument_is_replaced():
    device.select("cpu")
    first, second = np.arange(3), np.arange(3)
    bound = launch.bind(add_one, 1, 4, first)
    bound.replace(0, second)
    bound()
    assert (first.tolist(), second.tolist()) == ([0, 1, 2], [1, 2, 3])
    assert bound.arguments[0] is second
    with pytest.raises(TypeError, match="argument 0 is a ndarray"):
        bound.replace(0, 7)
    bound.release(0)
    assert bound.arguments == (None,)
    bound.replace(0, first)
    bound()
    assert first.tolist() == [1, 2, 3]


class Compiled:
    """A compiled kernel, as `Launch` uses numba-cuda's: it flattens named tuples and numbers."""

    cooperative = True

    def __init__(self, types):
        self.argument_types = types
        self._codelibrary = self
        self.kernel = "handle"

    def get_cufunc(self):
        return self

    def _prepare_args(self, kind, value, stream, write_back, flat):
        assert kind is type(value)
        if isinstance(value, tuple):
            for part in value:
                self._prepare_args(type(part), part, stream, write_back, flat)
        else:
            flat.append(value)


class Kernel:
    """A dispatcher that counts how often it was asked to compile."""

    def __init__(self):
        self.compiled = []
        self.py_func = add_one.py_func

    def typeof_pyval(self, value):
        return type(value)

    def compile(self, types):
        self.compiled.append(types)
        return Compiled(types)


class Order(NamedTuple):
    n: int
    lines: int


@pytest.fixture
def enqueued(monkeypatch):
    """A card that notes what is launched on it."""
    core = pytest.importorskip("cuda.core")
    from numba.cuda.cudadrv import driver

    card = device.Device("card", True, 132, 1 << 36, (9, 0))
    monkeypatch.setattr(device, "describe", lambda: card)
    monkeypatch.setattr(driver, "_to_core_stream", lambda stream: "stream")
    monkeypatch.setattr(core, "LaunchConfig", lambda **config: config)
    seen = []
    monkeypatch.setattr(core, "launch", lambda *given: seen.append(given))
    return seen


def test_a_launch_on_a_gpu_flattens_its_arguments_once(enqueued):
    kernel = Kernel()
    bound = launch.bind(kernel, 3, 64, Order(5, 2), 7, shared_bytes=16)
    bound()
    bound()
    config = {"grid": 3, "block": 64, "shmem_size": 16, "is_cooperative": True}
    assert enqueued == [("stream", config, "handle", 5, 2, 7)] * 2
    assert kernel.compiled == [(Order, int)]
    assert bound.arguments == (Order(5, 2), 7)
    assert bound.count == 2


def test_a_replaced_argument_alone_is_flattened_anew(enqueued, monkeypatch):
    bound = launch.bind(Kernel(), 3, 64, Order(5, 2), 7, Order(1, 3))
    flattened = []
    whole = Compiled._prepare_args

    def watch(self, kind, value, *rest):
        flattened.append(value)
        whole(self, kind, value, *rest)

    monkeypatch.setattr(Compiled, "_prepare_args", watch)
    bound.replace(0, Order(8, 9))
    bound.release(2)
    bound.replace(2, Order(4, 6))
    assert flattened == [Order(8, 9), 8, 9, Order(4, 6), 4, 6]
    bound()
    assert enqueued[-1][3:] == (8, 9, 7, 4, 6)
    assert bound.arguments == (Order(8, 9), 7, Order(4, 6))
    with pytest.raises(TypeError, match="argument 1"):
        bound.replace(1, 2.5)


def test_a_hook_stands_around_a_launch_on_a_gpu(enqueued):
    bound = launch.bind(Kernel(), 1, 32, 7)
    seen = []
    bound.on_enqueue = lambda enqueue: (enqueue(), seen.append(len(enqueued)))
    bound()
    bound.on_enqueue = lambda enqueue: None
    bound()
    bound.on_enqueue = None
    bound()
    assert seen == [1]
    assert len(enqueued) == 2


def test_the_kernel_clock_brackets_each_launch(enqueued, monkeypatch):
    class Event:
        def record(self):
            enqueued.append("event")

        def elapsed_time(self, end):
            return 0.25

    monkeypatch.setattr(cuda, "event", Event)
    monkeypatch.setattr(device, "synchronize", lambda: None)
    bound = launch.bind(Kernel(), 1, 32, 7)
    with clocks.KernelClock() as clock:
        bound()
        bound()
    bound()
    assert [entry == "event" for entry in enqueued] == [True, False, True] * 2 + [False]
    assert clock.by_kernel == {"add_one": (2, 0.5)}
    assert clock.total_ms == 0.5


def test_a_host_array_is_refused_on_a_gpu(enqueued, monkeypatch):
    def copies_back(self, kind, value, stream, write_back, flat):
        write_back.append(lambda: None)

    monkeypatch.setattr(Compiled, "_prepare_args", copies_back)
    with pytest.raises(TypeError, match="add_one: a host array"):
        launch.bind(Kernel(), 1, 32, np.zeros(3))
