"""Where a caller's array lies, a view of it for the solvers, and the way back for the answer.

Arrays of the host (lists, NumPy, DLPack in host memory) become NumPy arrays; arrays of a device
(``__cuda_array_interface__``, DLPack in CUDA memory) stay there. Neither is copied. Answers go to
the library that the input came from, on its device.

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


@dataclass(frozen=True)
class Placed:
    """An array and its place.

    Attributes
    ----------
    array : ndarray or device array
        A view of the caller's memory.
    place : {"host", "device"}
    back : callable(ndarray) -> array
        Takes an answer to the side, and the library, that the input came from.
    given : Any
        The caller's own list, from which SciPy makes other numbers than NumPy; else None.
    """

    array: Any
    place: str
    back: Callable[[np.ndarray], Any]
    given: Any = None

    def on_host(self) -> np.ndarray:
        """The array in host memory: copied there once if it lies on a device."""
        return self.array if self.place == "host" else self._copy

    @functools.cached_property
    def _copy(self) -> np.ndarray:
        from papers.common.gpu import device

        executors = isinstance(self.array, np.ndarray)
        return self.array if executors else device.to_host(self.array)


NAMES_STREAMS = 3
"""The version of ``__cuda_array_interface__`` from which on it may name a stream."""


def _same(answer: np.ndarray) -> np.ndarray:
    return answer


def is_on_device(array: Any) -> bool:
    """Whether an array says that it lies in the memory of a CUDA device."""
    # PyTorch raises an error where others lack the attribute: for tensors on the host.
    if getattr(array, "__cuda_array_interface__", None) is not None:
        return True
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
        One on a device is waited for: all work on the stream that it names comes first; of an
        interface too old to name one (PyTorch's), all work of the device.

    Returns
    -------
    Placed

    Raises
    ------
    ValueError
        As `numpy.asarray`, for rows of different lengths.
    """
    if type(array) is np.ndarray:
        return Placed(array, "host", _same)
    if is_on_device(array):
        return Placed(_view_on_device(array), "device", _way_back(array))
    given = array if isinstance(array, list | tuple) else None
    return Placed(_view_on_host(array), "host", _same, given)


def _view_on_host(array: Any) -> np.ndarray:
    if hasattr(array, "__dlpack__") and not isinstance(array, np.ndarray | np.generic):
        try:
            return np.from_dlpack(array)
        except (BufferError, TypeError, RuntimeError):  # a type or a layout that NumPy lacks
            pass
    return np.asarray(array)


def _view_on_device(array: Any) -> Any:
    from papers.common.gpu import device

    if getattr(array, "__cuda_array_interface__", None) is None:
        from papers.synthesis.calls.dlpack import Capsule

        array = Capsule(array)
    if array.__cuda_array_interface__.get("version", 0) < NAMES_STREAMS:
        device.synchronize()  # no stream is named to wait for: all work of the device is awaited
    if not device.gpu_present():
        return np.asarray(_InHostMemory(array))
    from numba import cuda

    view = cuda.as_cuda_array(array)  # waits for the stream that the array names
    view.stream = 0  # all later work is on the default stream, and copies are awaited
    return view


class _InHostMemory:
    """The executor's memory behind a ``__cuda_array_interface__``, for NumPy."""

    def __init__(self, array: Any) -> None:
        self.owner = array
        told = array.__cuda_array_interface__
        self.__array_interface__ = {
            **{key: told[key] for key in ("shape", "typestr", "data")},
            "strides": told.get("strides"),
            "version": 3,
        }


# ------------------------------------------------------------------------------- the way back


def _way_back(array: Any) -> Callable[[np.ndarray], Any]:
    """A function that takes an answer to a device, in the library of `array` where it is known."""
    library = type(array).__module__.partition(".")[0]
    return lambda answer: LIBRARIES.get(library, _to_numba)(answer, array)


def _to_cupy(answer: np.ndarray, like: Any) -> Any:
    cupy = sys.modules["cupy"]
    with like.device:
        return cupy.asarray(answer)


def _to_torch(answer: np.ndarray, like: Any) -> Any:
    return sys.modules["torch"].as_tensor(answer, device=like.device)


def _to_jax(answer: np.ndarray, like: Any) -> Any:
    return sys.modules["jax"].device_put(answer, next(iter(like.devices())))


def _to_numba(answer: np.ndarray, like: Any) -> Any:
    from papers.common.gpu import device

    if not device.gpu_present():
        return answer.copy()
    from numba import cuda

    return cuda.to_device(answer)


LIBRARIES: dict[str, Callable[[np.ndarray, Any], Any]] = {
    "cupy": _to_cupy,
    "torch": _to_torch,
    "jax": _to_jax,
    "jaxlib": _to_jax,
}
"""The ways back by the library of the input; all others get arrays of Numba's."""
