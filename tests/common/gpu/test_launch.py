"""Bound launches."""

import ctypes
import gc
import weakref
from typing import NamedTuple

import numpy as np
import pytest
from numba import cuda

from papers.common.gpu import clocks, device, launch

driver = pytest.importorskip("cuda.bindings.driver")
typing = pytest.importorskip("numba.cuda.typing.typeof")
typeof, Purpose = typing.typeof, typing.Purpose


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

    shared_mem_per_block = 1024

    def __init__(self, types, cooperative=True):
        self.argument_types = types
        self.cooperative = cooperative
        self.flattened = []
        self._codelibrary = self
        self.kernel = self

    handle = 4096

    def get_cufunc(self):
        return self

    def _prepare_args(self, kind, value, stream, write_back, flat):
        from numba.cuda.dispatcher import _Kernel

        self.flattened.append(value)
        self.extensions = ()
        _Kernel._prepare_args(self, kind, value, stream, write_back, flat)


class Kernel:
    """A dispatcher that counts how often it was asked to compile, and to type a value."""

    def __init__(self, cooperative=True):
        self.compiled, self.typed = [], []
        self.py_func = add_one.py_func
        self.cooperative = cooperative

    def typeof_pyval(self, value):
        self.typed.append(value)
        return typeof(value, Purpose.argument)

    def compile(self, types):
        self.compiled.append(types)
        self.made = Compiled(types, self.cooperative)
        return self.made


class Order(NamedTuple):
    n: int
    lines: int


class Reversed(NamedTuple):
    n: int
    lines: int


def order(n, lines):
    return Order(np.int32(n), np.int64(lines))


class Driver:
    """The driver's one function: it notes the configuration and reads the parameters back."""

    def __init__(self):
        self.seen = []
        self.error = driver.CUresult.CUDA_SUCCESS
        self.count = 0

    def __call__(self, config, function, pointers, extra):
        assert extra == 0
        grid = (config.gridDimX, config.gridDimY, config.gridDimZ)
        block = (config.blockDimX, config.blockDimY, config.blockDimZ)
        attributes = [(one.id.name, one.value.cooperative) for one in config.attrs]
        assert len(attributes) == config.numAttrs
        self.config = (grid, block, config.sharedMemBytes, int(config.hStream), attributes)
        self.function = int(function)
        cells = (ctypes.c_void_p * self.count).from_address(pointers)
        self.seen.append([ctypes.c_int64.from_address(cell).value for cell in cells])
        return (self.error,)


@pytest.fixture
def enqueued(monkeypatch):
    """A card that notes what is launched on it; its `count` says how many parameters it reads."""
    card = device.Device("card", True, 132, 1 << 36, (9, 0))
    monkeypatch.setattr(device, "describe", lambda: card)
    stub = Driver()
    monkeypatch.setattr(driver, "cuLaunchKernelEx", stub)
    return stub


def test_a_launch_on_a_gpu_packs_its_arguments_once(enqueued):
    kernel = Kernel()
    bound = launch.bind(kernel, 3, 64, order(5, 2), np.int32(-7), shared_bytes=16)
    flattened = len(kernel.made.flattened)
    enqueued.count = 3
    bound()
    bound()
    assert enqueued.seen == [[5, 2, (-7) % 2**32]] * 2
    together = [("CU_LAUNCH_ATTRIBUTE_COOPERATIVE", 1)]
    assert enqueued.config == ((3, 1, 1), (64, 1, 1), 16, 0, together)
    assert enqueued.function == 4096
    assert len(kernel.made.flattened) == flattened
    assert len(kernel.compiled) == 1
    assert bound.arguments == (order(5, 2), -7)
    assert bound.count == 2


def test_only_a_cooperative_kernel_is_launched_as_one(enqueued):
    launch.bind(Kernel(cooperative=False), 1, 32, np.int32(1))()
    assert enqueued.config == ((1, 1, 1), (32, 1, 1), 0, 0, [])


def test_a_launch_goes_to_the_stream_that_was_set_last(enqueued):
    bound = launch.bind(Kernel(), 3, 64, np.int32(1), shared_bytes=16)
    other = launch.bind(Kernel(), 1, 32, np.int32(1))
    together = [("CU_LAUNCH_ATTRIBUTE_COOPERATIVE", 1)]
    for handle in (0, 1, 2, 0x7F00DEADBEE0, 0x7F00DEADBEE0, 0):
        bound.stream = handle
        for _ in range(2):
            bound()
            assert enqueued.config == ((3, 1, 1), (64, 1, 1), 16, handle, together)
        assert bound.stream == handle
        other()
        assert enqueued.config == ((1, 1, 1), (32, 1, 1), 0, 0, together)


def test_a_launch_in_the_executor_notes_its_stream():
    device.select("cpu")
    values = device.to_device(np.arange(3))
    bound = launch.bind(add_one, 1, 4, values)
    assert bound.stream == device.DEFAULT_STREAM
    bound.stream = 77
    bound()
    assert (bound.stream, values.tolist()) == (77, [1, 2, 3])


def test_a_replaced_argument_is_packed_in_its_place(enqueued):
    kernel = Kernel()
    bound = launch.bind(kernel, 3, 64, order(5, 2), np.int64(7), order(1, 3))
    typed, flattened = len(kernel.typed), len(kernel.made.flattened)
    bound.replace(0, order(8, 9))
    bound.release(2)
    assert bound.arguments[2] is None
    bound.replace(2, order(4, 6))
    enqueued.count = 5
    bound()
    assert enqueued.seen == [[8, 9, 7, 4, 6]]
    assert bound.arguments == (order(8, 9), 7, order(4, 6))
    assert (len(kernel.typed), len(kernel.made.flattened)) == (typed, flattened)


def test_a_number_is_written_where_every_launch_has_another(enqueued):
    bound = launch.bind(Kernel(), 3, 64, order(5, 2), np.int64(7), np.int64(3))
    enqueued.count = 4
    for number in (8, -1, 2**40):
        bound.write(1, number)
        bound()
    assert enqueued.seen == [[5, 2, 8, 3], [5, 2, -1, 3], [5, 2, 2**40, 3]]


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (0, Order(np.int32(1), np.int32(1))),
        (0, Reversed(np.int32(1), np.int64(1))),
        (0, np.int32(3)),
        (1, 2.5),
        (1, np.int32(2)),
        (1, np.float64(2)),
    ],
)
def test_an_argument_of_another_type_is_refused_and_nothing_is_written(enqueued, place, value):
    bound = launch.bind(Kernel(), 3, 64, order(5, 2), np.int64(7))
    for _ in range(2):
        with pytest.raises(TypeError, match=f"argument {place}"):
            bound.replace(place, value)
    enqueued.count = 3
    bound()
    assert enqueued.seen == [[5, 2, 7]]
    assert bound.arguments == (order(5, 2), 7)


def test_a_refused_launch_says_so(enqueued):
    bound = launch.bind(Kernel(), 1 << 20, 64, np.int32(1))
    enqueued.error = driver.CUresult.CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE
    with pytest.raises(RuntimeError, match=r"add_one: .*COOPERATIVE_LAUNCH_TOO_LARGE"):
        bound()


def test_a_launch_frees_its_arrays_without_the_collector(enqueued):
    """What enqueues must not know the launch: a circle would keep device memory for long."""
    bound = launch.bind(Kernel(), 1, 32, np.int32(1))
    gone = weakref.ref(bound._parameters)
    gc.disable()
    try:
        del bound
        assert gone() is None
    finally:
        gc.enable()


def test_a_hook_stands_around_a_launch_on_a_gpu(enqueued):
    bound = launch.bind(Kernel(), 1, 32, np.int32(7))
    seen = []
    bound.on_enqueue = lambda enqueue: (enqueue(), seen.append(len(enqueued.seen)))
    bound()
    bound.on_enqueue = lambda enqueue: None
    bound()
    bound.on_enqueue = None
    bound()
    assert seen == [1]
    assert len(enqueued.seen) == 2


def test_the_kernel_clock_brackets_each_launch(enqueued, monkeypatch):
    class Event:
        def record(self, stream):
            enqueued.seen.append("event")
            on.append(stream)

        def elapsed_time(self, end):
            return 0.25

    on = []
    monkeypatch.setattr(cuda, "event", Event)
    monkeypatch.setattr(cuda, "external_stream", lambda handle: f"stream {handle}")
    monkeypatch.setattr(device, "synchronize", lambda: None)
    bound = launch.bind(Kernel(), 1, 32, np.int32(7))
    with clocks.KernelClock() as clock:
        bound()
        bound.stream = 77
        bound()
    bound()
    assert on == [0, 0, "stream 77", "stream 77"]
    assert [entry == "event" for entry in enqueued.seen] == [True, False, True] * 2 + [False]
    assert clock.by_kernel == {"add_one": (2, 0.5)}
    assert clock.total_ms == 0.5


def test_a_launch_joins_a_graph_with_its_arguments_as_they_are(enqueued):
    class Node:
        def launch(self, config, kernel, *flat):
            return (config.grid, config.block, config.is_cooperative), kernel, flat

    pytest.importorskip("cuda.core")
    kernel = Kernel(cooperative=False)
    bound = launch.bind(kernel, 3, 64, order(5, 2), np.int64(7))
    bound.replace(0, order(1, 4))
    config, handle, flat = bound.add_to(Node())
    assert config == ((3, 1, 1), (64, 1, 1), False)
    assert handle is kernel.made
    assert [one.value for one in flat] == [1, 4, 7]


def test_a_cluster_joins_no_graph():
    device.select("cpu")
    bound = launch.bind(add_one, 2, 32, np.zeros(64), cluster=True)
    with pytest.raises(ValueError, match="does not join a graph"):
        bound.add_to(None)


def test_a_host_array_is_refused_on_a_gpu(enqueued, monkeypatch):
    def copies_back(self, kind, value, stream, write_back, flat):
        write_back.append(lambda: None)

    monkeypatch.setattr(Compiled, "_prepare_args", copies_back)
    with pytest.raises(TypeError, match="add_one: a host array"):
        launch.bind(Kernel(), 1, 32, np.zeros(3))


class Shifted(NamedTuple):
    values: object
    by: object


@cuda.jit
def shift(pair):
    i = cuda.grid(1)
    if i < pair.values.size:
        pair.values[i] += pair.by


def test_a_field_is_bound_anew_and_let_go():
    device.select("cpu")
    first, second = np.zeros(3, np.int64), np.zeros(3, np.int64)
    bound = launch.bind(shift, 1, 4, Shifted(first, np.int64(2)))
    bound()
    bound.replace_field(0, 1, np.int64(5))
    bound.point(0, 0, "not asked for", lambda: second)
    bound()
    assert (first.tolist(), second.tolist()) == ([2, 2, 2], [5, 5, 5])
    bound.release_field(0, 0)
    assert bound.arguments == (Shifted(None, np.int64(5)),)
    bound.replace_field(0, 0, first)
    bound()
    assert first.tolist() == [7, 7, 7]


@cuda.jit
def grow(values, by):
    i = cuda.grid(1)
    if i < values.size:
        values[i] += by


def test_an_array_and_a_number_are_bound_anew_without_a_tuple():
    device.select("cpu")
    first, second = np.zeros(3, np.int64), np.zeros(3, np.int64)
    bound = launch.bind(grow, 1, 4, first, np.int64(2))
    bound.point(0, None, second, lambda: second)
    bound.write(1, 9)
    bound()
    assert (first.tolist(), second.tolist()) == ([0, 0, 0], [9, 9, 9])
    assert type(bound.arguments[1]) is np.int64


@pytest.mark.parametrize(("wanted", "asked"), [(0, 0), (47 * 1024, 0), (47 * 1024 + 1, 1)])
def test_much_shared_memory_is_asked_for(wanted, asked, monkeypatch):
    """A block may have 48 KiB unasked, of which the fake kernel's own take one."""
    seen, answer = [], driver.CUresult.CUDA_SUCCESS

    def noted(name, value, kernel, card):
        seen.append((name.name, value, int(kernel), int(card)))
        return (answer,)

    monkeypatch.setattr(driver, "cuKernelSetAttribute", noted)
    monkeypatch.setattr(launch.device, "number", lambda: 3)
    made = Compiled(())
    made.get_cufunc = lambda: made
    launch._allow_shared(made, wanted)
    assert len(seen) == asked
    if asked:
        assert seen == [
            ("CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES", wanted, Compiled.handle, 3)
        ]
        answer, wanted = driver.CUresult.CUDA_ERROR_INVALID_VALUE, wanted + 1
        with pytest.raises(
            launch.SharedMemoryError, match=f"refused {wanted} bytes of shared memory"
        ):
            launch._allow_shared(made, wanted)
        with pytest.raises(launch.SharedMemoryError):  # what was refused was not allowed
            launch._allow_shared(made, wanted)


def test_a_launch_that_wants_less_shared_memory_takes_none_away(monkeypatch):
    """The driver keeps one number a kernel, of whichever launch asked last; here a fake one."""
    success, kept = driver.CUresult.CUDA_SUCCESS, {}

    def put(name, value, kernel, card):
        kept[int(kernel), int(card)] = value
        return (success,)

    monkeypatch.setattr(driver, "cuKernelSetAttribute", put)
    card = 0
    monkeypatch.setattr(launch.device, "number", lambda: card)
    made = Compiled(())
    made.get_cufunc = lambda: made
    for kib in (80, 64, 100, 80):
        launch._allow_shared(made, kib * 1024)
    assert kept == {(Compiled.handle, 0): 100 * 1024}
    card = 1
    launch._allow_shared(made, 64 * 1024)
    assert kept[Compiled.handle, 1] == 64 * 1024
