"""The machine: the one place that knows a GPU from the CPU executor.

Kernels are written once. On a CUDA GPU `papers.common.gpu.launch` compiles and enqueues them;
without one it hands the same functions to `papers.common.executor.scheduler`. Nothing else in the
package asks which of the two it is.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import re
import sys
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from papers.common.gpu.compiled import waking

Kind = Literal["auto", "gpu", "cpu"]

EXECUTOR_NAME = "CPU executor"


@dataclass(frozen=True)
class Device:
    """The machine that kernels run on.

    Attributes
    ----------
    name : str
        The GPU's product name, or ``"CPU executor"``.
    is_gpu : bool
        Whether it is a CUDA GPU.
    multiprocessors : int
        Streaming multiprocessors (1 for the executor).
    memory_bytes : int
        Device memory (host memory is not limited here: 2**40 for the executor).
    compute_capability : tuple of int
        ``(0, 0)`` for the executor.
    """

    name: str
    is_gpu: bool
    multiprocessors: int
    memory_bytes: int
    compute_capability: tuple[int, int]

    @property
    def slug(self) -> str:
        """`name` as a folder name, e.g. ``nvidia-h100-80gb-hbm3``."""
        return re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")


_EXECUTOR_DEVICE = Device(EXECUTOR_NAME, False, 1, 1 << 40, (0, 0))
_selected: Device | None = None
_executor: Any = None


@functools.cache
def gpu_present() -> bool:
    """True if the CUDA driver is there and sees a GPU (asked once, without importing Numba)."""
    count, driver = ctypes.c_int(0), waking.driver()
    return (
        driver is not None and driver.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0
    )


def select(kind: Kind = "auto", place: int | None = None) -> Device:
    """Choose the machine that kernels run on, for the rest of the process.

    Parameters
    ----------
    kind : {"auto", "gpu", "cpu"}
    place : int, optional
        This process's number on its host: the GPUs are taken in turn. Before any kernel runs.

    Raises
    ------
    RuntimeError
        For ``"gpu"`` where there is none.
    ValueError
        For anything but ``"auto"``, ``"gpu"``, ``"cpu"``.
    """
    global _selected
    if kind not in ("auto", "gpu", "cpu"):
        raise ValueError(f"device {kind!r} is not one of 'auto', 'gpu', 'cpu'")
    wanted = gpu_present() if kind == "auto" else kind == "gpu"
    if kind == "gpu" and not gpu_present():
        raise RuntimeError("no CUDA GPU was found; use device 'cpu' or 'auto'")
    if wanted and place is not None:
        from numba import cuda

        cuda.select_device(place % len(cuda.gpus))
    _selected = _describe_gpu() if wanted else _EXECUTOR_DEVICE
    return _selected


def is_settled() -> bool:
    """True once a device was selected, or has been used."""
    return _selected is not None


def identity() -> str:
    """The selected GPU's uuid: two processes that each see one GPU, as number 0, may differ.

    Empty for the executor.
    """
    if not describe().is_gpu:
        return ""
    from numba import cuda

    return str(cuda.get_current_device().uuid)


def describe() -> Device:
    """The selected device; selects ``"auto"`` on first use."""
    return _selected if _selected is not None else select()


def _describe_gpu() -> Device:
    from numba import cuda

    gpu = cuda.get_current_device()
    name = gpu.name.decode() if isinstance(gpu.name, bytes) else str(gpu.name)
    memory = cuda.current_context().get_memory_info().total
    waking.end()
    capability = gpu.compute_capability
    return Device(
        name, True, gpu.MULTIPROCESSOR_COUNT, memory, (int(capability[0]), int(capability[1]))
    )


# ------------------------------------------------------------------------------- the executor


def executor() -> Any:
    """The executor that launches go to when no GPU is selected."""
    global _executor
    if _executor is None:
        from papers.common.executor.scheduler import Executor

        _executor = Executor()
    return _executor


@contextlib.contextmanager
def executing(instance: Any) -> Iterator[Any]:
    """Send every launch in the block to this executor, GPU or not."""
    global _executor, _selected
    before = _executor, _selected
    _executor, _selected = instance, _EXECUTOR_DEVICE
    try:
        yield instance
    finally:
        _executor, _selected = before


# ------------------------------------------------------------------------------- memory


POISON = b"\xa5"
"""The byte that the executor fills memory with that nobody has written."""

DEFAULT_STREAM = 0
"""The handle of the stream that work goes to unless another is named. A stream is named by its
handle, as in ``__cuda_array_interface__``: 1 is the legacy default stream, 2 the default stream of
the calling thread, any other one a ``CUstream``. The executor does everything at once."""


def empty(shape: int | tuple[int, ...], dtype: Any) -> Any:
    """Uninitialised device memory (on the executor: NumPy memory, filled with a poison value)."""
    if describe().is_gpu:
        from numba import cuda

        return cuda.device_array(shape, dtype)
    poisoned = np.empty(shape, dtype)
    poisoned.view(np.uint8)[...] = POISON[0]
    return poisoned


def part(array: Any, start: int, size: int, dtype: Any) -> Any:
    """Return entries of a device array without gaps, as an array of one dimension on its memory.

    In the order of their addresses; Numba's slices and views of the same take several times as
    long. The part keeps the array.

    Parameters
    ----------
    array : device array
        In C's or in Fortran's order.
    start : int
        Bytes before the first entry.
    size : int
        Number of entries.
    dtype : dtype
        Their type.
    """
    kind = np.dtype(dtype)
    stop = start + size * kind.itemsize
    if not describe().is_gpu:
        flat = array if array.flags.c_contiguous else array.T
        return flat.reshape(-1).view(np.uint8)[start:stop].view(kind)
    if not size:
        return _numbas().Array((0,), (kind.itemsize,), kind)
    context = array.gpu_data.context
    return _array_at(address(array) + start, (size,), (kind.itemsize,), kind, array, context)


def address(array: Any) -> int:
    """The address of a device array with entries; of Numba's without the dear interface."""
    memory = getattr(array, "gpu_data", None)
    if memory is None:
        return int(array.__cuda_array_interface__["data"][0])
    return int(memory.device_pointer)


def is_numbas(array: Any) -> bool:
    """Whether an array is one of Numba's on a GPU."""
    module = sys.modules.get("numba.cuda.cudadrv.devicearray")  # else nothing is of its class
    return module is not None and type(array) is getattr(module, "DeviceNDArray", None)


def foreign(owner: Any, told: dict[str, Any]) -> Any:
    """Return an array of Numba's on another library's memory, whatever stream that names.

    As Numba's `as_cuda_array`, in a quarter of its time.

    Parameters
    ----------
    owner : object
        It is kept with the array.
    told : dict
        Its ``__cuda_array_interface__``.
    """
    from numba import cuda

    kind, shape, strides = np.dtype(told["typestr"]), tuple(told["shape"]), told.get("strides")
    if told.get("mask") is not None or 0 in shape or not all(type(one) is int for one in shape):
        view = cuda.as_cuda_array(owner, sync=False)
        view.stream = 0  # Numba's copies are on the default stream, and awaited
        return view
    strides = _without_gaps(shape, kind.itemsize) if strides is None else tuple(strides)
    return _array_at(told["data"][0], shape, strides, kind, owner, cuda.current_context())


def _without_gaps(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    """The strides of an array in C's order, with entries of so many bytes."""
    found: list[int] = []
    for length in reversed(shape):
        found.insert(0, size)
        size *= length
    return tuple(found)


class _Numbas(NamedTuple):
    """Names of Numba's that `_array_at` needs."""

    Array: Any
    Memory: Any
    Pointer: Any


@functools.cache
def _numbas() -> _Numbas:
    from cuda.bindings.driver import CUdeviceptr
    from numba.cuda.cudadrv.devicearray import DeviceNDArray
    from numba.cuda.cudadrv.driver import MemoryPointer

    return _Numbas(DeviceNDArray, MemoryPointer, CUdeviceptr)


@functools.lru_cache(maxsize=1024)
def _form(shape: tuple[int, ...], strides: tuple[int, ...], size: int) -> tuple[Any, int]:
    """Numba's description of an array's form, and the bytes that it spans."""
    from numba.cuda.cudadrv import driver, dummyarray

    form = dummyarray.Array.from_desc(0, shape, strides, size)
    return form, driver.memory_size_from_info(form.shape, form.strides, size)


def _array_at(
    where: int, shape: tuple[int, ...], strides: tuple[int, ...], kind: np.dtype, owner: Any,
    context: Any,
) -> Any:  # fmt: skip
    """Return an array of Numba's at an address, which keeps the memory's owner.

    Numba's constructor describes the form anew each time, and its views of memory count references:
    both take longer than all else that is done to an array of a small problem. Private names of
    numba-cuda 0.30 (see its `DeviceNDArrayBase.__init__`): pyproject pins it.
    """
    numbas = _numbas()
    form, span = _form(shape, strides, kind.itemsize)
    array = numbas.Array.__new__(numbas.Array)
    array.ndim, array._dummy, array.shape, array.strides = (
        len(shape),
        form,
        form.shape,
        form.strides,
    )
    array.dtype, array.size, array.alloc_size, array.stream = kind, form.size, span, 0
    array.gpu_data = numbas.Memory(context, numbas.Pointer(where), span, owner=owner)
    return array


def to_device(array: np.ndarray) -> Any:
    """Copy a host array to the device; the result never aliases `array`."""
    if describe().is_gpu:
        from numba import cuda

        return cuda.to_device(array)
    return array.copy()


def overwrite(target: Any, array: np.ndarray) -> None:
    """Copy a host array over a device array of its shape and type."""
    if describe().is_gpu:
        target.copy_to_device(array)
    else:
        target[:] = array


def send(host: np.ndarray, target: Any, start: int = 0, stream: Any = None) -> None:
    """Copy a host array over the bytes of a device array from `start` on, by one call.

    Other threads run meanwhile: the driver's call does not hold Python's lock.

    Parameters
    ----------
    host : ndarray
        Without gaps.
    target : device array
        In C's or in Fortran's order.
    start : int
        Bytes before the first that is overwritten.
    stream : object, optional
        Of `stream`: the copy may go on when this returns, from memory of `staging`, and whoever
        waits for the stream has waited for it. Without one `host` may change on return.
    """
    if not host.size:
        return
    if not describe().is_gpu:
        part(target, start, host.size, host.dtype)[:] = host.reshape(-1)
        return
    from cuda.bindings import driver

    way = address(target) + start, host.ctypes.data, host.nbytes
    sent = driver.cuMemcpyHtoD(*way) if stream is None else driver.cuMemcpyHtoDAsync(
        *way, int(stream.handle))  # fmt: skip
    _check(sent, "sending an array")


def stream() -> Any:
    """Return a new stream of copies with a method `synchronize`; the executor's are done at once.

    Work on the default stream waits for none of them: whoever copies synchronizes.
    """
    if describe().is_gpu:
        from numba import cuda

        return cuda.stream()
    return _Done()


def number() -> int:
    """Return the number of this thread's GPU, for `attach`; 0 for the executor."""
    if not describe().is_gpu:
        return 0
    error, place = _ask_for_device()()  # the library's own way takes several times as long
    if not error:
        return int(place)
    from numba import cuda

    return int(cuda.get_current_device().id)  # this thread has used no GPU yet


@functools.cache
def _ask_for_device() -> Callable[[], tuple[Any, Any]]:
    from cuda.bindings import driver

    ask: Callable[[], tuple[Any, Any]] = driver.cuCtxGetDevice
    return ask


def attach(place: int) -> None:
    """Make a GPU, by its `number`, that of a new thread, which begins with none."""
    if describe().is_gpu:
        from numba import cuda

        cuda.select_device(place)


class _Done:
    """The executor's stream."""

    def synchronize(self) -> None:
        """Return at once."""


def fetch(array: Any, target: np.ndarray) -> None:
    """Copy a device array over a host array of its shape and type."""
    if describe().is_gpu:
        array.copy_to_host(target)
    else:
        target[:] = array


def staging(size: int, dtype: Any) -> np.ndarray:
    """Host memory that copies to and from the device are fast with: pinned, where that exists."""
    if not describe().is_gpu:
        return np.empty(size, dtype)
    from numba import cuda

    return np.asarray(cuda.pinned_array(size, dtype))


def to_host(array: Any) -> np.ndarray:
    """Copy a device array to the host."""
    return array.copy_to_host() if hasattr(array, "copy_to_host") else np.array(array)


def mapped(size: int, dtype: Any) -> tuple[np.ndarray, Any]:
    """Host memory that kernels can store into: ``(host view, device view)``, zeroed.

    Kernels should only write it: a device read crosses the bus each time.
    """
    if not describe().is_gpu:
        array = np.zeros(size, dtype)
        return array, array
    from numba import cuda

    host = cuda.mapped_array(size, dtype=dtype)
    host[:] = 0
    return np.asarray(host), host


def managed(size: int, dtype: Any) -> tuple[np.ndarray, Any]:
    """Memory whose pages move between host and device: ``(host view, device view)``, zeroed.

    The host may touch it only while no kernel runs.
    """
    if not describe().is_gpu:
        return mapped(size, dtype)
    from numba import cuda

    owner = _Managed(size, np.dtype(dtype))
    owner.host[:] = 0
    return owner.host, cuda.as_cuda_array(owner)


class _Managed:
    """Managed memory, freed with the last array on it.

    The library's own managed arrays lack what a bound launch asks of its arguments.
    """

    def __init__(self, size: int, dtype: np.dtype) -> None:
        from cuda.bindings import driver
        from numba import cuda

        cuda.current_context()
        flags = driver.CUmemAttach_flags.CU_MEM_ATTACH_GLOBAL
        code, pointer = driver.cuMemAllocManaged(size * dtype.itemsize, flags)
        if code != driver.CUresult.CUDA_SUCCESS:
            raise RuntimeError(f"no managed memory: {code.name}")
        weakref.finalize(self, driver.cuMemFree, pointer)
        buffer = (ctypes.c_char * (size * dtype.itemsize)).from_address(int(pointer))
        buffer.owner = self  # type: ignore[attr-defined]
        self.host = np.frombuffer(memoryview(buffer), dtype)
        self.__cuda_array_interface__ = {
            "shape": (size,), "typestr": dtype.str, "data": (int(pointer), False), "version": 3,
        }  # fmt: skip


def clear(array: Any, stream: int = DEFAULT_STREAM) -> None:
    """Fill device memory without gaps with zeros, behind all that its stream does before."""
    if not describe().is_gpu:
        array[...] = 0
        return
    from cuda.bindings import driver

    _check(driver.cuMemsetD8Async(address(array), 0, array.nbytes, stream), "clearing memory")


def copy_words(
    host: np.ndarray, target: Any, first: int, count: int, down: bool,
    stream: int = DEFAULT_STREAM,
) -> None:  # fmt: skip
    """Copy some elements between host memory of `staging` and a device array of its shape and type.

    One call of the driver, as a CUDA program makes it; the library's own copies take twice as long.
    Behind all that its stream does before; the host has waited for it on return.

    Parameters
    ----------
    host : ndarray[size]
    target : device array[size]
    first, count : int
        The elements.
    down : bool
        From the device to the host, or up.
    stream : int
        Its handle.
    """
    if not describe().is_gpu:
        ends = (target, host) if down else (host, target)
        ends[1][first : first + count] = ends[0][first : first + count]
        return
    from cuda.bindings import driver

    here = host.ctypes.data + first * host.itemsize
    there = address(target) + first * host.itemsize
    size = count * host.itemsize
    way = (here, there, size) if down else (there, here, size)
    if stream == DEFAULT_STREAM:
        copy = driver.cuMemcpyDtoH if down else driver.cuMemcpyHtoD
        _check(copy(*way), "copying words")
        return
    copy = driver.cuMemcpyDtoHAsync if down else driver.cuMemcpyHtoDAsync
    _check(copy(*way, stream), "copying words")
    _check(driver.cuStreamSynchronize(stream), "copying words")


class WayUp:
    """A copy of the same bytes, again and again, from memory of `staging` to a device array.

    `copy_words` finds both addresses anew each time, and always waits.

    Parameters
    ----------
    host : uint8[size]
    target : device uint8[size]
    first, count : int
        The bytes.
    """

    def __init__(self, host: np.ndarray, target: Any, first: int, count: int) -> None:
        self._host, self._target, self._bytes = host, target, slice(first, first + count)
        self._copy: Callable[[int], tuple[Any, ...]] | None = None
        if not describe().is_gpu:
            return
        from cuda.bindings import driver

        call, self._wait = driver.cuMemcpyHtoDAsync, driver.cuStreamSynchronize
        way = address(target) + first, host.ctypes.data + first, count
        self._copy = lambda stream: call(*way, stream)

    def __call__(self, stream: int, awaited: bool) -> None:
        """Enqueue the copy on a stream, by its handle, and wait for it if so asked."""
        if self._copy is None:
            self._target[self._bytes] = self._host[self._bytes]
            return
        _check(self._copy(stream), "copying words")
        if awaited:
            _check(self._wait(stream), "copying words")


def send_words(host: np.ndarray, target: Any, first: int, count: int) -> None:
    """Copy some elements up as `copy_words` does, on the default stream; nobody waits.

    All that is enqueued there later finds them. `host` stays as it is until the host has waited for
    something of that.
    """
    if not describe().is_gpu:
        target[first : first + count] = host[first : first + count]
        return
    from cuda.bindings import driver

    here = host.ctypes.data + first * host.itemsize
    there = target.__cuda_array_interface__["data"][0] + first * host.itemsize
    copy = driver.cuMemcpyHtoDAsync(there, here, count * host.itemsize, DEFAULT_STREAM)
    _check(copy, "sending words")


def _check(answer: tuple[Any, ...], work: str) -> None:
    """Raise an error for a call of the driver that was refused."""
    if answer[0]:
        raise RuntimeError(f"{work} failed: {answer[0].name}")


def synchronize(stream: int | None = None) -> None:
    """Wait for everything that was enqueued, or only for the work of one stream, by its handle."""
    if not describe().is_gpu:
        return
    if stream is None:
        from cuda.bindings import driver

        (error,) = driver.cuCtxSynchronize()
        if not error:
            return
    from numba import cuda

    if stream is None:
        cuda.synchronize()  # finds the context of a thread that has none, and names an error
    else:
        cuda.external_stream(stream).synchronize()


def free_bytes() -> int:
    """Device memory that is free now."""
    device = describe()
    if not device.is_gpu:
        return device.memory_bytes
    from numba import cuda

    context = cuda.current_context()
    context.deallocations.clear()  # Numba returns freed memory in batches
    return int(context.get_memory_info().free)


def check_memory(
    order: int, needed: int, largest: Callable[[int], int], free: int | None = None
) -> None:
    """Refuse an order that the card's free memory cannot hold.

    Parameters
    ----------
    order : int
        Of the matrix.
    needed : int
        Bytes that it takes.
    largest : callable(int) -> int
        Largest order that so many free bytes hold; asked only for the message.
    free : int, optional
        Bytes that may be taken; by default all that are free.

    Raises
    ------
    ValueError
        With the largest order that would do.
    """
    free = free_bytes() if free is None else free
    if needed > free:
        raise ValueError(
            f"order {order} needs {needed / 2**30:.1f} GiB on the card, {free / 2**30:.1f} GiB are "
            f"free: n <= {largest(free)}"
        )
