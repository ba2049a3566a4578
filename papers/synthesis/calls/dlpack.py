"""A DLPack capsule as an array in device memory, without a copy.

Numba takes what has ``__cuda_array_interface__``; some libraries only offer ``__dlpack__``. The
capsule is read as the protocol's first version lays it out (`DLTensor` in ``dlpack.h``) and kept
alive, never consumed: its own destructor frees the memory once nobody holds it any more.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

ON_HOST = (1, 3)
"""The protocol's numbers of devices: a CPU's memory, and pinned memory."""

ON_CUDA = (2, 13)
"""CUDA memory, and managed memory."""

AGREED_STREAM = 1
"""The protocol's number of CUDA's legacy default stream, on which we ask for the array: its library
lets that stream wait for the work that the array waits for, and the solvers launch there."""

KINDS = {0: "i", 1: "u", 2: "f", 6: "b"}


class _Device(ctypes.Structure):
    _fields_ = (("kind", ctypes.c_int32), ("number", ctypes.c_int32))


class _Type(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("dimensions", ctypes.c_int32),
        ("type", _Type),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("offset", ctypes.c_uint64),
    )


class Capsule:
    """The array of a capsule, with ``__cuda_array_interface__``.

    Parameters
    ----------
    array : object with ``__dlpack__``
        It is kept alive with the capsule.

    Raises
    ------
    ValueError
        For a type that is no number of whole bytes.
    """

    def __init__(self, array: Any) -> None:
        self.owner = array
        self.capsule = array.__dlpack__(stream=AGREED_STREAM)
        tensor = _tensor(self.capsule)
        kind, size = KINDS.get(tensor.type.code), tensor.type.bits // 8
        if kind is None or tensor.type.lanes != 1 or 8 * size != tensor.type.bits:
            raise ValueError(f"an array of DLPack type {tensor.type.code} holds no numbers")
        shape = tuple(tensor.shape[i] for i in range(tensor.dimensions))
        strides = None
        if tensor.strides:
            strides = tuple(size * tensor.strides[i] for i in range(tensor.dimensions))
        self.__cuda_array_interface__ = {
            "shape": shape,
            "strides": strides,
            "typestr": np.dtype(f"{kind}{size}").str,
            "data": ((tensor.data or 0) + tensor.offset, False),
            "stream": AGREED_STREAM,
            "version": 3,
        }


def _tensor(capsule: Any) -> _Tensor:
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return _Tensor.from_address(get(capsule, b"dltensor"))
