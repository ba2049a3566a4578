"""The parameters of a bound kernel, packed for the driver once and rewritten in place.

The driver reads a kernel's parameters through an array of pointers. An array argument is
5 + 2 * ndim parameters, a named tuple those of its fields, so that a large kernel has a hundred.
`Parameters` gives each one a cell of 8 bytes, which is enough for every type that Numba passes and
aligned for each, and keeps cells and pointers: a launch hands over one address.

To rewrite an argument, Numba would type the new value and convert it, field by field, in
Python: hundreds of microseconds. What a kernel's types say of a contiguous device array is its
element type and its dimensions, of a NumPy scalar its class, of a named tuple its class: these are
compared with the value that the kernel was compiled for, and of a named tuple only the fields that
are other objects than before are written. Whatever else comes is typed by Numba.
"""

from __future__ import annotations

import ctypes
import struct
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

CELL = 8
"""Bytes of a parameter's cell."""

ADDRESS = 4
"""The place of an array's address among its parameters (`values_of`)."""

FORMATS = {
    int: "q", type(None): "q", bool: "?7x", np.bool_: "?7x", float: "d",
    ctypes.c_int8: "b7x", ctypes.c_int16: "h6x", ctypes.c_int32: "i4x", ctypes.c_int64: "q",
    ctypes.c_uint8: "B7x", ctypes.c_uint16: "H6x", ctypes.c_uint32: "I4x", ctypes.c_uint64: "Q",
    ctypes.c_float: "f4x", ctypes.c_double: "d",
}  # fmt: skip
"""A cell's format by the class that Numba flattens a value to; a bare `int` is an address or
an array's size, as wide as a pointer, and None the address of an empty array."""

SCALARS = (np.integer, np.float32, np.float64)
"""Scalars that are one parameter, of the type that their class names."""


@dataclass(slots=True)
class Part:
    """The beginning of a tuple, which has no cells, or a leaf: an array or a scalar.

    Attributes
    ----------
    key : hashable
        Equal for values of one type; None for a value whose type Numba has to find.
    offset : int
        Bytes in front of its cells.
    cells : struct.Struct
    """

    key: Any
    offset: int
    cells: struct.Struct


def parts_of(value: Any) -> list[Any]:
    """Return a value's tuples, as class and length, and its leaves, from left to right."""
    if not isinstance(value, tuple):
        return [value]
    found: list[Any] = [(type(value), len(value))]
    for field in value:
        found += parts_of(field)
    return found


def key_of(part: Any) -> Any:
    """Return what stands for the part's type among the parts that can be in its place, or None."""
    if isinstance(part, tuple):
        return part
    if isinstance(part, SCALARS):
        return type(part)
    if type(part) is _device_array() and part.size and part.is_c_contiguous():
        # A broadcast array has strides of 0, and is not typed as contiguous.
        return None if 0 in part.strides else (part.dtype, part.ndim)
    return None


@cache
def _device_array() -> Any:
    from numba.cuda.cudadrv.devicearray import DeviceNDArray

    return DeviceNDArray


def values_of(leaf: Any) -> tuple[Any, ...]:
    """Return the parameters of a leaf that has a key, as Numba flattens it."""
    if isinstance(leaf, SCALARS):
        return (leaf.item(),)
    address = leaf.device_ctypes_pointer.value
    return (0, 0, leaf.size, leaf.dtype.itemsize, address, *leaf.shape, *leaf.strides)


class Parameters:
    """Cells and pointers of a kernel's arguments.

    Parameters
    ----------
    compiled : numba-cuda's compiled kernel
    arguments : tuple
    name : str
        The kernel's, for errors.

    Attributes
    ----------
    address : int
        Of the array of pointers: the driver's ``kernelParams``.
    count : int
        Parameters.
    """

    def __init__(self, compiled: Any, arguments: tuple[Any, ...], name: str) -> None:
        self._compiled, self._name = compiled, name
        self._parts: list[list[Part]] = []
        prepared: list[list[tuple[Part, list[Any]]]] = []
        self.count = 0
        for kind, value in zip(compiled.argument_types, arguments, strict=True):
            prepared.append(self._laid_out(kind, value))
            self._parts.append([part for part, _ in prepared[-1]])
        self._cells = (ctypes.c_uint64 * self.count)()
        begin = ctypes.addressof(self._cells)
        self._pointers = (ctypes.c_void_p * self.count)(
            *range(begin, begin + CELL * self.count, CELL)
        )
        self.address = ctypes.addressof(self._pointers)
        for parts in prepared:
            for part, values in parts:
                part.cells.pack_into(self._cells, part.offset, *values)

    def _laid_out(self, kind: Any, value: Any) -> list[tuple[Part, list[Any]]]:
        """Give an argument's leaves the next cells; returns parts and their values."""
        if isinstance(value, tuple):
            start = Part((type(value), len(value)), CELL * self.count, struct.Struct(""))
            found: list[tuple[Part, list[Any]]] = [(start, [])]
            for field_kind, field in zip(kind, value, strict=True):
                found += self._laid_out(field_kind, field)
            return found
        flat = self.flattened(kind, value)
        cells = struct.Struct("=" + "".join(FORMATS[type(one)] for one in flat))
        part = Part(key_of(value), CELL * self.count, cells)
        self.count += len(flat)
        return [(part, _bare(flat))]

    def flattened(self, kind: Any, value: Any) -> list[Any]:
        """Return an argument's parameters as Numba converts them.

        Raises
        ------
        TypeError
            For an array of the host, which Numba would copy to the device and back.
        """
        flat: list[Any] = []
        write_back: list[Any] = []
        self._compiled._prepare_args(kind, value, 0, write_back, flat)
        if write_back:
            raise TypeError(f"{self._name}: a host array was passed where device memory is needed")
        return flat

    def write(self, place: int, value: Any, before: Any) -> bool:
        """Write another value into an argument's cells, if its type is seen at once.

        Parameters
        ----------
        place : int
            The argument's.
        value : device array, NumPy scalar, or named tuple of these
        before : as `value`
            The value that the cells hold, whose parts need not be written again; None: all are.

        Returns
        -------
        bool
            False if Numba has to find the type, with nothing written.
        """
        slots = self._parts[place]
        if len(slots) == 1 and not isinstance(value, tuple):
            return value is before or self._write_leaf(slots[0], value)
        parts = parts_of(value)
        old = [None] * len(slots) if before is None else parts_of(before)
        if not len(parts) == len(slots) == len(old):
            return False
        changed = []
        for slot, part, known in zip(slots, parts, old, strict=True):
            if part is known:
                continue
            if slot.key is None or key_of(part) != slot.key:
                return False
            if slot.cells.size:
                changed.append((slot, values_of(part)))
        for slot, values in changed:
            slot.cells.pack_into(self._cells, slot.offset, *values)
        return True

    def write_field(self, place: int, field: int, value: Any) -> bool:
        """Write another value into a field of a tuple without tuples, if its type is seen at once.

        Parameters
        ----------
        place, field : int
            The argument's and the field's.
        value : device array or NumPy scalar

        Returns
        -------
        bool
            False if nothing was written.
        """
        slots = self._parts[place]
        start = slots[0].key
        if not isinstance(start, tuple) or len(slots) != 1 + start[1]:
            return False
        return self._write_leaf(slots[1 + field], value)

    def _write_leaf(self, slot: Part, value: Any) -> bool:
        """Write an array or a scalar, if its type is seen at once."""
        if slot.key is None or key_of(value) != slot.key:
            return False
        slot.cells.pack_into(self._cells, slot.offset, *values_of(value))
        return True

    def write_address(self, place: int, field: int | None, address: int) -> None:
        """Write another array's address into an argument, or a field of a tuple without tuples.

        Parameters
        ----------
        place : int
            The argument's: a contiguous array of as many entries, of its type.
        field : int or None
            The field that is such an array instead.
        address : int
        """
        part = self._parts[place][0 if field is None else 1 + field]
        self._cells[part.offset // CELL + ADDRESS] = address

    def write_number(self, place: int, number: int) -> None:
        """Write another whole number, of the argument's type, into a scalar's cell."""
        self._cells[self._parts[place][0].offset // CELL] = number

    def write_slowly(self, place: int, value: Any) -> None:
        """Write a value of the argument's type as Numba converts it."""
        kind, slots = self._compiled.argument_types[place], self._parts[place]
        flat = _bare(self.flattened(kind, value))
        for slot, part in zip(slots, parts_of(value), strict=True):
            length = slot.cells.size // CELL
            slot.cells.pack_into(self._cells, slot.offset, *flat[:length])
            flat = flat[length:]
            slot.key = key_of(part)


def _bare(flat: list[Any]) -> list[Any]:
    """Return the numbers inside of ctypes' scalars, and 0 for no address."""
    return [0 if one is None else getattr(one, "value", one) for one in flat]
