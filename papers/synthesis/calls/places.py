"""Where a caller's array lies, a view of it for the solvers, and the way back for the answer.

Arrays of the host (lists, NumPy, DLPack in host memory) become NumPy arrays; arrays of a device
(``__cuda_array_interface__``, DLPack in CUDA memory) stay there. Neither is copied. Answers go to
the library that the input came from, on its device.

An array of a device may still be written when it arrives, by work that waits on a stream. Nobody
waits for that here: who launches on the array's stream comes behind that work, and all others take
the array by `Placed.on_host` or `Placed.awaited`.

Without a GPU there is no device memory but the executor's, which is the host's: what says that it
is on a device is read there. So the tests use the same way as CuPy and PyTorch.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from papers.common.gpu import device


@dataclass
class Placed:
    """An array and its place; not frozen, since every call makes one, and that takes longer.

    Attributes
    ----------
    array : ndarray or device array
        A view of the caller's memory.
    place : {"host", "device"}
    back : callable(ndarray) -> array
        Takes an answer to the side, and the library, that the input came from.
    given : Any
        The caller's own list, from which SciPy makes other numbers than NumPy; else None.
    stream : int
        Handle of the stream that may still write an array of a device: what is enqueued there finds
        it written. 0, the default stream, if none is named (`papers.common.gpu.device`).
    shelved : bool
        Whether rows and columns become parts of one array of Numba's (`answers`).
    room_in : callable(n), optional
        Room for n pairs in memory of the input's library (`papers.synthesis.assignment.pairs`), or
        None; it is asked while a run is on the device.
    """

    array: Any
    place: str
    back: Callable[[np.ndarray], Any]
    given: Any = None
    stream: int = 0
    shelved: bool = False
    room_in: Callable[[int], Any] | None = None

    def back_both(self, rows: np.ndarray, columns: np.ndarray) -> tuple[Any, ...]:
        """Take the rows and the columns of an answer back; to a device in one copy."""
        if self.place == "host":
            return self.back(rows), self.back(columns)
        if self.shelved and rows.ndim == 1:
            from papers.synthesis.calls import answers

            return answers.on_device(rows, columns)
        both = self.back(np.stack((rows, columns)))
        return both[0], both[1]

    def on_host(self) -> np.ndarray:
        """The array in host memory: copied there once if it lies on a device."""
        return self.array if self.place == "host" else self._copy

    def awaited(self) -> Any:
        """The array where it is, after the host has waited for the stream that writes it.

        What is enqueued on the default stream waits for that one by itself.
        """
        if self.stream:
            device.synchronize(self.stream)
        return self.array

    @functools.cached_property
    def _copy(self) -> np.ndarray:
        array = self.awaited()
        executors = isinstance(array, np.ndarray)
        return array if executors else device.to_host(array)


def _same(answer: np.ndarray) -> np.ndarray:
    return answer


def is_on_device(array: Any) -> bool:
    """Whether an array says that it lies in the memory of a CUDA device."""
    return _told(array) is not None or _is_by_dlpack(array)


def _told(array: Any) -> dict[str, Any] | None:
    """The array's ``__cuda_array_interface__``, if it has one."""
    teller = TELLERS.get(_name_of_library(array))
    told: dict[str, Any] | None = None if teller is None else teller(array)
    if told is None:
        # PyTorch raises an error where others lack the attribute: for tensors on the host.
        told = getattr(array, "__cuda_array_interface__", None)
    return told


def _told_by_torch(tensor: Any) -> dict[str, Any] | None:
    """Tell a plain tensor's interface as PyTorch's own property does, and PyTorch's present stream.

    The property takes longer than all of this, and names no stream. What is unusual about a tensor
    (it wants gradients, is sparse, a subclass, or of a type that NumPy lacks) is left to it.
    """
    torch = sys.modules["torch"]
    if type(tensor) is not getattr(torch, "Tensor", None) or not tensor.is_cuda:
        return None
    kind = _kinds_of_torch(torch).get(tensor.dtype)
    unusual = tensor.requires_grad or tensor.layout is not torch.strided or tensor.is_neg()
    if kind is None or unusual:
        return None
    size = kind.itemsize
    stream = torch.cuda.current_stream(tensor.device).cuda_stream
    return {
        "shape": tuple(tensor.shape),
        "strides": tuple(size * step for step in tensor.stride()),
        "typestr": kind.str,
        "data": (tensor.data_ptr(), False),
        "stream": max(stream, LEGACY_STREAM),  # PyTorch's handle of the default stream is 0
        "version": FIRST_WITH_STREAMS,
    }


@functools.cache
def _kinds_of_torch(torch: Any) -> dict[Any, np.dtype]:
    """NumPy's types by PyTorch's."""
    names = ("int8", "uint8", "int16", "int32", "int64", "float32", "float64", "bool")
    return {getattr(torch, name): np.dtype(name) for name in names}


TELLERS: dict[str, Callable[[Any], dict[str, Any] | None]] = {"torch": _told_by_torch}
"""Functions that tell an array's interface in place of its library's own property, by the library;
they return None for an array that is left to that."""


def _is_by_dlpack(array: Any) -> bool:
    """Whether an array says by DLPack that it lies in the memory of a CUDA device."""
    ask = getattr(array, "__dlpack_device__", None)
    if ask is None or isinstance(array, np.ndarray):
        return False
    from papers.synthesis.calls.dlpack import ON_CUDA

    return int(ask()[0]) in ON_CUDA


def place(array: Any) -> Placed:
    """Find an array's place and make a view of it.

    Parameters
    ----------
    array : array_like, or an array with ``__cuda_array_interface__`` or ``__dlpack__``

    Returns
    -------
    Placed

    Raises
    ------
    ValueError
        As `numpy.asarray`, for rows of different lengths; for an array that names a stream 0.
    """
    if type(array) is np.ndarray:
        return Placed(array, "host", _same)
    if device.is_numbas(array) and not array.stream and device.gpu_present():
        return Placed(array, "device", _to_numba_by_default, None, 0, True)
    told = _told(array)
    if told is not None or _is_by_dlpack(array):
        view, stream = _view_on_device(array, told)
        library = _name_of_library(array)
        back = _way_back(array, LIBRARIES.get(library), stream)
        room, shelved = ROOMS.get(library), library not in LIBRARIES and not stream
        room_in = None if room is None else functools.partial(room, array, stream)
        return Placed(view, "device", back, None, stream, shelved, room_in)
    given = array if isinstance(array, list | tuple) else None
    return Placed(_view_on_host(array), "host", _same, given)


def _view_on_host(array: Any) -> np.ndarray:
    if hasattr(array, "__dlpack__") and not isinstance(array, np.ndarray | np.generic):
        try:
            return np.from_dlpack(array)
        except (BufferError, TypeError, RuntimeError):  # a type or a layout that NumPy lacks
            pass
    view = np.asarray(array)
    if view.dtype.hasobject and hasattr(array, "__array__") and not isinstance(array, np.ndarray):
        return _numbers_of(view)
    return view


def _numbers_of(objects: np.ndarray) -> np.ndarray:
    """Return a data frame's objects as numbers, if they are some of a type that NumPy lacks."""
    try:
        numbers = np.array(objects.tolist())
    except (ValueError, TypeError, OverflowError):
        return objects
    return numbers if numbers.dtype.kind in "biuf" else objects


FIRST_WITH_STREAMS = 3
"""The first version of ``__cuda_array_interface__`` that names a stream. Version 2, PyTorch's and
JAX's, says nothing of the work that the array waits for; DLPack does."""

LEGACY_STREAM = 1
"""The handle by which an interface names CUDA's legacy default stream."""


def _view_on_device(array: Any, told: dict[str, Any] | None) -> tuple[Any, int]:
    """Return a view of an array on a device, and the handle of the stream that writes it."""
    array, told = _with_stream(array, told)
    stream = _stream_of(told)
    if not device.gpu_present():
        return np.asarray(_InHostMemory(array, told)), stream
    return device.foreign(array, told), stream


def _with_stream(array: Any, told: dict[str, Any] | None) -> tuple[Any, dict[str, Any]]:
    """Return an array on the same memory whose interface tells what it waits for, and that."""
    if told is not None and told.get("version", 0) >= FIRST_WITH_STREAMS:
        return array, told
    if told is None or hasattr(array, "__dlpack__"):
        from papers.synthesis.calls.dlpack import Capsule

        try:
            capsule = Capsule(array)
            return capsule, capsule.__cuda_array_interface__
        except (BufferError, RuntimeError, TypeError, ValueError):
            if told is None:
                raise
    device.synchronize()  # no DLPack, or a type that it lacks: nobody knows the stream
    return array, told


def _stream_of(told: dict[str, Any]) -> int:
    """Return the handle that an interface names, or the default stream's.

    Raises
    ------
    ValueError
        For 0, which could be either default stream.
    """
    stream = told.get("stream")
    if stream is None:
        return 0
    if stream == 0:
        raise ValueError(
            "an array must not name stream 0 in __cuda_array_interface__: the legacy default "
            "stream is 1, that of each thread is 2"
        )
    return int(stream)


class _InHostMemory:
    """The executor's memory behind a ``__cuda_array_interface__``, for NumPy."""

    def __init__(self, array: Any, told: dict[str, Any]) -> None:
        self.owner = array
        self.__array_interface__ = {
            **{key: told[key] for key in ("shape", "typestr", "data")},
            "strides": told.get("strides"),
            "version": 3,
        }


# ------------------------------------------------------------------------------- the way back


def _way_back(
    array: Any, to_library: Callable[[np.ndarray, Any], Any] | None, stream: int
) -> Callable[[np.ndarray], Any]:
    """A function that takes an answer to a device, in the library of `array` where it is known.

    The libraries copy on the stream that is theirs now, for all others the array's is taken.
    """
    if to_library is None:
        return lambda answer: _to_numba(answer, stream)
    return lambda answer: to_library(answer, array)


def _to_numba_by_default(answer: np.ndarray) -> Any:
    return _to_numba(answer, 0)


def _name_of_library(array: Any) -> str:
    return type(array).__module__.partition(".")[0]


def _to_cupy(answer: np.ndarray, like: Any) -> Any:
    cupy = sys.modules["cupy"]
    with like.device:
        return cupy.asarray(answer)


def _to_torch(answer: np.ndarray, like: Any) -> Any:
    return sys.modules["torch"].as_tensor(answer, device=like.device)


def _to_jax(answer: np.ndarray, like: Any) -> Any:
    return sys.modules["jax"].device_put(answer, next(iter(like.devices())))


def _to_numba(answer: np.ndarray, stream: int) -> Any:
    if not device.gpu_present():
        return answer.copy()
    from numba import cuda

    if not stream:
        return cuda.to_device(answer)
    on = cuda.external_stream(stream)
    array = cuda.to_device(answer, stream=on)  # it names the stream, as the input did
    on.synchronize()  # the host's copy may go when this returns
    return array


LIBRARIES: dict[str, Callable[[np.ndarray, Any], Any]] = {
    "cupy": _to_cupy,
    "torch": _to_torch,
    "jax": _to_jax,
    "jaxlib": _to_jax,
}
"""The ways back by the library of the input; all others get arrays of Numba's."""


# ------------------------------------------------------------------------------- room for answers


def _room_in_cupy(like: Any, stream: int, n: int) -> Any:
    """Room in CuPy's memory; None if CuPy's present stream is not the one of the work.

    A library hands out memory that work on its present stream may still use: on that stream alone
    whatever writes there comes later.
    """
    cupy = sys.modules["cupy"]
    if not _is_one_stream(cupy.cuda.get_current_stream().ptr, stream):
        return None
    with like.device:
        return _room_of(cupy.empty(2 * n, np.int64), n)


def _room_in_torch(like: Any, stream: int, n: int) -> Any:
    """Room in PyTorch's memory; see `_room_in_cupy`."""
    torch = sys.modules["torch"]
    if not _is_one_stream(torch.cuda.current_stream(like.device).cuda_stream, stream):
        return None
    return _room_of(torch.empty(2 * n, dtype=torch.int64, device=like.device), n)


def _is_one_stream(one: int, other: int) -> bool:
    """Whether two handles mean one stream: the default one is 0, and by its own handle 1."""
    return max(one, LEGACY_STREAM) == max(other, LEGACY_STREAM)


def _room_of(memory: Any, n: int) -> Any:
    """Room in a vector of 2 n words of 64 bits, which is the caller's from here on."""
    from papers.synthesis.assignment.pairs import Room

    view, _ = _view_on_device(memory, {**(_told(memory) or {}), "version": FIRST_WITH_STREAMS})
    return Room(view, 0, n, lambda: (memory[:n], memory[n:]), _nothing)


def _nothing() -> None:
    """Nobody else wants the rest of the memory."""


ROOMS: dict[str, Callable[[Any, int, int], Any]] = {"cupy": _room_in_cupy, "torch": _room_in_torch}
"""Room for an answer by the library of the input."""
