"""Arrays stay where they are: no copy on either side, and answers go back."""

import contextlib
import importlib.util
import sys
import types

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from synthesis.calls.arrays import ByDlpack, LikeTorch, LikeTorchOnDevice, OnDevice

import papers
from papers.common.executor.scheduler import Executor
from papers.common.gpu import device
from papers.synthesis.calls import places
from papers.synthesis.calls.dlpack import AGREED_STREAM, Capsule


@pytest.fixture(autouse=True)
def _executor():
    device.select("cpu")


TYPES = ("int8", "uint16", "int32", "int64", "float32", "float64", "bool")
VIEWS = (lambda a: a, lambda a: a.T, lambda a: a[::2, 1:])


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("make", [OnDevice, ByDlpack, lambda a: ByDlpack(a, kind=1)])
def test_an_array_is_seen_without_a_copy(make, dtype):
    for view in VIEWS:
        array = view(np.arange(35).reshape(5, 7).astype(dtype))
        placed = places.place(make(array))
        assert placed.array.dtype == array.dtype
        assert np.array_equal(placed.array, array)
        assert np.shares_memory(placed.array, array)


def test_the_place_is_where_the_array_says_it_is():
    array = np.eye(3)
    assert places.place(array).array is array
    found = {
        "device": (OnDevice(array), ByDlpack(array), ByDlpack(array, kind=13)),
        "host": (array, array.tolist(), ByDlpack(array, 1), array.view(LikeTorch), np.float64(1)),
    }
    for where, arrays in found.items():
        assert [places.place(each).place for each in arrays] == [where] * len(arrays)


def test_an_answer_goes_back_to_its_side():
    answer = np.arange(4)
    assert places.place(np.eye(2)).back(answer) is answer
    there = places.place(OnDevice(np.eye(2))).back(answer)  # the executor's memory is another
    assert there is not answer
    assert np.array_equal(there, answer)


def test_dlpack_is_asked_for_the_stream_that_the_solvers_launch_on():
    array = ByDlpack(np.eye(2))
    Capsule(array)
    assert array.streams == [AGREED_STREAM]


def test_the_stream_is_the_one_that_the_array_names():
    """Version 2 of the interface names none: DLPack's library does its part then."""
    array = np.eye(2)
    found = {
        0: [OnDevice(array), OnDevice(array, version=2), array],
        1: [OnDevice(array, 1)],
        2: [OnDevice(array, 2)],
        0x7F00DEADBEE0: [OnDevice(array, 0x7F00DEADBEE0)],
        AGREED_STREAM: [ByDlpack(array), LikeTorchOnDevice(array)],
    }
    for stream, arrays in found.items():
        assert [places.place(each).stream for each in arrays] == [stream] * len(arrays)
    assert found[AGREED_STREAM][1].streams == [AGREED_STREAM]
    with pytest.raises(ValueError, match="must not name stream 0"):
        places.place(OnDevice(array, 0))


def test_what_dlpack_refuses_is_waited_for(monkeypatch):
    class Refused(LikeTorchOnDevice):
        def __dlpack__(self, **options):
            raise BufferError("no such type")

    class RefusedByDlpack(ByDlpack):
        __dlpack__ = Refused.__dlpack__

    waited = []
    monkeypatch.setattr(device, "synchronize", lambda: waited.append("all"))
    array = np.eye(2)
    placed = places.place(Refused(array))
    assert (placed.stream, waited) == (0, ["all"])
    assert np.shares_memory(placed.array, array)
    with pytest.raises(BufferError, match="no such type"):
        places.place(RefusedByDlpack(array))


def test_the_host_waits_for_a_stream_when_it_takes_the_array_and_not_before(monkeypatch):
    waited = []
    monkeypatch.setattr(device, "synchronize", waited.append)
    for take in (places.Placed.on_host, places.Placed.awaited):
        for stream in (2, 77):
            placed = places.place(OnDevice(np.eye(2), stream))
            assert waited == []
            assert take(placed) is placed.array
            assert waited == [stream]
            waited.clear()
    places.place(OnDevice(np.eye(2))).on_host()  # a copy on the default stream waits by itself
    assert waited == []


def test_an_answer_for_no_known_library_names_the_stream_of_the_input(monkeypatch):
    """It has arrived there when the call returns, which lets the host's copy go."""
    cuda, seen = pytest.importorskip("numba.cuda"), []

    class Stream:
        def __init__(self, handle):
            self.handle = handle

        def synchronize(self):
            seen.append(("wait", self.handle))

    def copied(answer, stream=None):
        seen.append((answer, stream and stream.handle))
        return answer, stream and stream.handle

    ways = {stream: places.place(OnDevice(np.eye(2), stream)).back for stream in (None, 2, 77)}
    monkeypatch.setattr(cuda, "external_stream", Stream)
    monkeypatch.setattr(cuda, "to_device", copied)
    monkeypatch.setattr(device, "gpu_present", lambda: True)
    for stream, back in ways.items():
        assert back("the answer") == ("the answer", stream)
        assert seen == [("the answer", stream), *([("wait", stream)] if stream else [])]
        seen.clear()


def test_what_is_no_number_is_refused_by_dlpack():
    with pytest.raises(ValueError, match="holds no numbers"):
        Capsule(ByDlpack(np.eye(2, dtype=complex)))


@pytest.mark.parametrize("library", ["cupy", "torch"])
def test_an_array_of_a_library_comes_back_as_one(library):
    """On a GPU: the input is not copied, and the answer lies on its device."""
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    if not device.gpu_present():
        pytest.skip("there is no GPU")
    device.select("gpu")
    module = importlib.import_module(library)
    costs = np.random.default_rng(1).integers(0, 99, (1200, 1200), dtype=np.int32)
    there = module.asarray(costs) if library == "cupy" else module.as_tensor(costs, device="cuda")
    placed = places.place(there)
    pointer = placed.array.__cuda_array_interface__["data"][0]
    assert pointer == there.__cuda_array_interface__["data"][0]
    for part in papers.linear_sum_assignment(there, return_duals=True):
        assert type(part) is type(there)
        assert part.device == there.device


@pytest.mark.parametrize(("version", "waits"), [(2, 1), (3, 0)])
def test_an_interface_that_names_no_stream_is_waited_for_with_all_work(monkeypatch, version, waits):
    waited = []
    monkeypatch.setattr(device, "synchronize", lambda: waited.append(True))
    places.place(OnDevice(np.eye(3), version=version))
    assert len(waited) == waits


class OfLibrary(OnDevice):
    """An array as CuPy's and PyTorch's, of a library that stands in for them."""

    def __init__(self, array, stream=None):
        super().__init__(array, stream)
        self.device = contextlib.nullcontext()

    def __getitem__(self, which):
        return OfLibrary(self.memory[which])


def stand_in(monkeypatch, library, stream):
    """Put a module in a library's place whose present stream has that handle."""
    module, kind = types.ModuleType(library), type("Array", (OfLibrary,), {"__module__": library})

    def empty(size, dtype=None, device=None):
        module.made.append(size)
        return kind(np.full(size, -7, np.int64))

    module.made, module.empty, module.int64 = [], empty, np.int64
    now = types.SimpleNamespace(ptr=stream, cuda_stream=stream)
    module.cuda = types.SimpleNamespace(
        get_current_stream=lambda: now, current_stream=lambda device: now
    )
    module.asarray = lambda answer: kind(np.array(answer))
    module.as_tensor = lambda answer, device: kind(np.array(answer))
    monkeypatch.setitem(sys.modules, library, module)
    return module, kind


@pytest.mark.parametrize("library", ["cupy", "torch"])
@pytest.mark.parametrize(("its", "now", "room"), [
    (None, 0, True), (1, 0, True), (1, 1, True), (77, 77, True), (77, 0, False), (1, 77, False),
])  # fmt: skip
def test_an_answer_is_written_into_its_library_s_memory_on_its_stream_alone(
    monkeypatch, library, its, now, room
):
    """On another stream the memory may still be in use; the answer is copied there then."""
    module, kind = stand_in(monkeypatch, library, now)
    device.select("cpu")
    costs = np.random.default_rng(3).integers(0, 50, (9, 12), dtype=np.int32)
    monkeypatch.setattr(device, "synchronize", lambda stream=0: None)
    with device.executing(Executor(1)):
        rows, columns = papers.linear_sum_assignment(kind(costs, its), solver="synthesis:dense")
    assert module.made == ([18] if room else [])
    assert isinstance(rows, OfLibrary)
    best_rows, best = linear_sum_assignment(costs)
    assert rows.memory.tolist() == best_rows.tolist()
    assert costs[rows.memory, columns.memory].sum() == costs[best_rows, best].sum()
    assert not np.shares_memory(rows.memory, columns.memory)


class Tensor(OnDevice):
    """A tensor as PyTorch's on a device, whose own property must not be asked."""

    def __init__(self, array, asked, **unusual):
        self.asked, self.dtype, self.shape = [], f"torch.{array.dtype}", array.shape
        super().__init__(array)
        self.asked = asked
        self.is_cuda, self.requires_grad, self.layout, self.device = True, False, "strided", 0
        self.__dict__.update(unusual)

    @property
    def __cuda_array_interface__(self):
        self.asked.append(True)
        return self.told

    @__cuda_array_interface__.setter
    def __cuda_array_interface__(self, told):
        self.told = {**told, "version": 2}

    def stride(self):
        return tuple(step // self.memory.itemsize for step in self.memory.strides)

    def data_ptr(self):
        return self.memory.ctypes.data

    def is_neg(self):
        return False


@pytest.mark.parametrize(("now", "stream"), [(0, 1), (1, 1), (77, 77)])
@pytest.mark.parametrize(("unusual", "asked"), [
    ({}, False), ({"requires_grad": True}, True), ({"layout": "sparse"}, True),
    ({"is_neg": lambda: True}, True), ({"dtype": "torch.bfloat16"}, True),
    ({"is_cuda": False}, True),
])  # fmt: skip
def test_a_plain_tensor_is_taken_on_its_library_s_present_stream(
    monkeypatch, now, stream, unusual, asked
):
    """What is unusual about it is left to the library's own property, with a wait for all work."""
    module, questions = stand_in(monkeypatch, "torch", now)[0], []
    module.Tensor, module.strided = Tensor, "strided"
    monkeypatch.setattr(Tensor, "__module__", "torch")
    for kind in ("int8", "uint8", "int16", "int32", "int64", "float32", "float64", "bool"):
        setattr(module, kind, f"torch.{kind}")
    monkeypatch.setattr(device, "synchronize", lambda stream=0: None)
    for array in (np.arange(12.0).reshape(3, 4)[:, ::2], np.arange(6, dtype=np.int32)):
        placed = places.place(Tensor(array, questions, **unusual))
        assert np.shares_memory(placed.array, array)
        assert placed.array.tolist() == array.tolist()
        assert placed.array.dtype == array.dtype
        assert placed.stream == (0 if asked else stream)
    assert bool(questions) == asked
