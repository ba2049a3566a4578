"""Selecting a device, and its memory."""

import ctypes
from types import SimpleNamespace

import numpy as np
import pytest

from papers.common.gpu import device


def test_device_memory_is_poisoned_and_copied():
    device.select("cpu")
    source = np.arange(4)
    copy = device.to_device(source)
    copy[0] = 9
    assert source[0] == 0
    assert (device.empty(3, np.int32) == np.int32(-1515870811)).all()
    host, view = device.mapped(2, np.int64)
    view[1] = 5
    assert host.tolist() == [0, 5]


def test_selecting_a_device():
    assert not device.select("cpu").is_gpu
    assert device.describe().slug == "cpu-executor"
    with pytest.raises(ValueError, match="'tpu'"):
        device.select("tpu")
    if not device.gpu_present():
        with pytest.raises(RuntimeError, match="no CUDA GPU"):
            device.select("gpu")
        assert not device.select("auto").is_gpu


@pytest.fixture
def driver(monkeypatch):
    """A card whose driver notes the calls that copy, clear and wait; `error` is its answer."""
    bindings = pytest.importorskip("cuda.bindings.driver")
    notes = SimpleNamespace(seen=[], error=bindings.CUresult.CUDA_SUCCESS)

    def noting(name):
        return lambda *given: (notes.seen.append((name, *given)), (notes.error,))[1]

    for name in ("MemcpyDtoH", "MemcpyHtoD", "MemcpyDtoHAsync", "MemcpyHtoDAsync",
                 "MemsetD8Async", "StreamSynchronize", "CtxSynchronize"):  # fmt: skip
        monkeypatch.setattr(bindings, f"cu{name}", noting(name))
    card = device.Device("card", True, 132, 1 << 36, (9, 0))
    monkeypatch.setattr(device, "describe", lambda: card)
    notes.refuse = bindings.CUresult.CUDA_ERROR_INVALID_VALUE
    return notes


class There:
    """An array at an address of the device."""

    nbytes = 40

    @property
    def __cuda_array_interface__(self):
        return {"data": (5000, False)}


@pytest.mark.parametrize(("down", "name"), [(True, "DtoH"), (False, "HtoD")])
def test_words_are_copied_on_a_stream_and_waited_for(driver, down, name):
    host = np.zeros(10, np.int32)
    here, there = host.ctypes.data + 8, 5008
    way = (here, there, 12) if down else (there, here, 12)
    device.copy_words(host, There(), 2, 3, down)
    device.copy_words(host, There(), 2, 3, down, stream=77)
    assert driver.seen == [
        (f"Memcpy{name}", *way),  # on the default stream: waits by itself
        (f"Memcpy{name}Async", *way, 77),
        ("StreamSynchronize", 77),
    ]
    driver.error = driver.refuse
    for stream in (0, 77):
        with pytest.raises(RuntimeError, match=r"copying words failed: .*INVALID_VALUE"):
            device.copy_words(host, There(), 2, 3, down, stream)


def test_words_are_sent_and_nobody_waits(driver):
    host = np.zeros(10, np.int32)
    device.send_words(host, There(), 2, 3)
    assert driver.seen == [("MemcpyHtoDAsync", 5008, host.ctypes.data + 8, 12, 0)]
    driver.error = driver.refuse
    with pytest.raises(RuntimeError, match=r"sending words failed: .*INVALID_VALUE"):
        device.send_words(host, There(), 2, 3)


def test_memory_is_cleared_on_a_stream(driver):
    device.clear(There())
    device.clear(There(), 77)
    assert driver.seen == [("MemsetD8Async", 5000, 0, 40, stream) for stream in (0, 77)]
    driver.error = driver.refuse
    with pytest.raises(RuntimeError, match=r"clearing memory failed: .*INVALID_VALUE"):
        device.clear(There())


def test_one_stream_is_waited_for_or_the_whole_device(driver, monkeypatch):
    cuda, waited = pytest.importorskip("numba.cuda"), []
    monkeypatch.setattr(cuda, "synchronize", lambda: waited.append("all"))
    monkeypatch.setattr(cuda, "external_stream", lambda handle: SimpleNamespace(
        synchronize=lambda: waited.append(handle)))  # fmt: skip
    device.synchronize()
    device.synchronize(0)
    device.synchronize(77)
    assert driver.seen == [("CtxSynchronize",)]
    assert waited == [0, 77]
    driver.error = driver.refuse
    device.synchronize()  # Numba's finds a thread's context, and names the error
    assert waited == [0, 77, "all"]


def test_the_executor_clears_memory():
    device.select("cpu")
    array = device.empty(5, np.int32)
    device.clear(array[1:3], 77)
    assert (array == 0).tolist() == [False, True, True, False, False]


@pytest.mark.parametrize("order", "CF")
def test_parts_are_on_the_memory_of_the_whole(order):
    device.select("cpu")
    whole = np.array(np.arange(12, dtype=np.int32).reshape(3, 4), order=order)
    addresses = whole.ravel(order="K")
    found = device.part(whole, 8, 5, np.int32)
    assert np.array_equal(found, addresses[2:7])
    assert np.shares_memory(found, whole)
    assert device.part(whole, 8, 2, np.int64).dtype == np.int64
    assert device.part(whole, 8, 0, np.int32).shape == (0,)


class Memory:
    """Memory of Numba's that is not there."""

    context = None

    def __init__(self, address, size):
        self.device_ctypes_pointer = ctypes.c_size_t(address)
        self.device_pointer, self.size = address, size


def assert_is_numbas(found, wanted, address):
    """An array is what Numba's constructor would have made, at an address."""
    assert type(found) is type(wanted)
    names = {name for name in vars(wanted) if name not in ("gpu_data", "_dummy")}
    assert {name for name in vars(found) if name not in ("gpu_data", "_dummy")} == names
    for name in names:
        assert getattr(found, name) == getattr(wanted, name), name
    assert found.flags == wanted.flags
    assert found.nbytes == wanted.nbytes
    assert found.is_c_contiguous() == wanted.is_c_contiguous()
    assert found._dummy.extent == wanted._dummy.extent
    told = wanted.__cuda_array_interface__
    assert found.__cuda_array_interface__ == {**told, "data": (address, False)}
    assert device.address(found) == address


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8, np.float64])
def test_a_part_is_the_array_that_numba_would_have_made(driver, dtype):
    arrays = pytest.importorskip("numba.cuda.cudadrv.devicearray")
    strides = np.empty((6, 8)).strides
    whole = arrays.DeviceNDArray((6, 8), strides, np.float64, gpu_data=Memory(4096, 384))
    size = np.dtype(dtype).itemsize
    for start, count in ((0, 384 // size), (64, 5), (8 * size, 1)):
        found = device.part(whole, start, count, dtype)
        memory = Memory(4096 + start, count * size)
        wanted = arrays.DeviceNDArray((count,), (size,), dtype, gpu_data=memory)
        assert_is_numbas(found, wanted, 4096 + start)
        assert found.gpu_data.owner is whole  # it keeps the memory


@pytest.mark.parametrize(
    ("shape", "strides"),
    [((4, 6), None), ((4, 6), (24, 4)), ((4, 6), (4, 16)), ((4, 6), (48, 8)), ((5,), None),
     ((2, 3, 4), None), ((4, 6), (0, 4)), ((1, 1), None)],
)  # fmt: skip
def test_a_view_of_foreign_memory_is_the_array_that_numba_would_have_made(
    driver, monkeypatch, shape, strides
):
    arrays = pytest.importorskip("numba.cuda.cudadrv.devicearray")
    cuda = pytest.importorskip("numba.cuda")
    monkeypatch.setattr(cuda, "current_context", lambda: None)
    told = {"shape": shape, "strides": strides, "typestr": "<i4", "data": (4096, False),
            "version": 3, "stream": 77}  # fmt: skip
    found = device.foreign(told, told)
    given = strides or np.empty(shape, np.int32).strides
    wanted = arrays.DeviceNDArray(shape, given, np.int32, gpu_data=Memory(4096, 96))
    assert_is_numbas(found, wanted, 4096)
    assert found.gpu_data.owner is told
    assert found.stream == 0


@pytest.mark.parametrize(
    "odd", [{"shape": (0, 3)}, {"mask": object()}, {"shape": (np.int64(2), 3)}]
)
def test_what_is_odd_is_left_to_numba(driver, monkeypatch, odd):
    cuda = pytest.importorskip("numba.cuda")
    made = SimpleNamespace(stream=77)
    monkeypatch.setattr(cuda, "as_cuda_array", lambda owner, sync: made)
    told = {"shape": (2, 3), "strides": None, "typestr": "<i4", "data": (4096, False), **odd}
    assert device.foreign(told, told) is made
    assert made.stream == 0


def test_the_way_up_is_one_copy_that_is_waited_for_where_that_is_asked(driver):
    host = np.zeros(64, np.uint8)
    copy = device.WayUp(host, There(), 8, 16)
    copy(77, False)
    copy(0, True)
    way = (5008, host.ctypes.data + 8, 16)
    assert driver.seen == [
        ("MemcpyHtoDAsync", *way, 77),
        ("MemcpyHtoDAsync", *way, 0),
        ("StreamSynchronize", 0),
    ]
    driver.error = driver.refuse
    with pytest.raises(RuntimeError, match=r"copying words failed: .*INVALID_VALUE"):
        copy(77, True)


def test_the_executor_s_way_up_is_a_copy():
    device.select("cpu")
    host, there = np.arange(9, dtype=np.uint8), np.zeros(9, np.uint8)
    device.WayUp(host, there, 2, 3)(0, True)
    assert there.tolist() == [0, 0, 2, 3, 4, 0, 0, 0, 0]
