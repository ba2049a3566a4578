"""Packed parameters are, byte by byte, what cuda.core would have handed to the driver."""

import ctypes
from typing import NamedTuple

import numpy as np
import pytest

from papers.common.gpu.compiled.parameters import CELL, Parameters

dispatcher = pytest.importorskip("numba.cuda.dispatcher")
arrays = pytest.importorskip("numba.cuda.cudadrv.devicearray")
typing = pytest.importorskip("numba.cuda.typing.typeof")
handler = pytest.importorskip("cuda.core._kernel_arg_handler")


class Memory:
    """Device memory that is not there."""

    def __init__(self, address):
        self.device_ctypes_pointer = ctypes.c_void_p(address)


def array(shape, dtype, address=0x7F00_0000_1000, strides=None):
    dtype = np.dtype(dtype)
    whole = strides or np.empty(shape, dtype).strides
    return arrays.DeviceNDArray(shape, whole, dtype, gpu_data=Memory(address))


class Compiled:
    """A compiled kernel's types, with numba-cuda's own conversion."""

    extensions = ()
    _prepare_args = dispatcher._Kernel._prepare_args

    def __init__(self, arguments):
        self.argument_types = tuple(map(typed, arguments))


def typed(value):
    return typing.typeof(value, typing.Purpose.argument)


class Pair(NamedTuple):
    costs: object
    n: object


class Whole(NamedTuple):
    first: Pair
    second: object
    third: object


def packed(*arguments):
    return Parameters(Compiled(arguments), arguments, "kernel")


def read(parameters, sizes=None):
    """Return every parameter's bytes through the pointers, as the driver reads them."""
    pointers = (ctypes.c_void_p * parameters.count).from_address(parameters.address)
    sizes = sizes or [CELL] * parameters.count
    return [ctypes.string_at(at, size) for at, size in zip(pointers, sizes, strict=True)]


def of_cuda_core(arguments):
    """Return every parameter's bytes as cuda.core packs what Numba has flattened, and sizes."""
    compiled, flat = Compiled(arguments), []
    for kind, value in zip(compiled.argument_types, arguments, strict=True):
        compiled._prepare_args(kind, value, 0, [], flat)
    sizes = [
        ctypes.sizeof(one) if isinstance(one, ctypes._SimpleCData)
        else 1 if isinstance(one, bool | np.bool_)
        else CELL
        for one in flat
    ]  # fmt: skip
    holder = handler.ParamHolder(tuple(flat))
    pointers = (ctypes.c_void_p * len(flat)).from_address(holder.ptr)
    return [ctypes.string_at(at, size) for at, size in zip(pointers, sizes, strict=True)], sizes


def assert_as_cuda_core(parameters, arguments):
    told, sizes = of_cuda_core(arguments)
    assert parameters.count == len(told)
    assert read(parameters, sizes) == told
    pointers = (ctypes.c_void_p * parameters.count).from_address(parameters.address)
    assert all(at % CELL == 0 for at in pointers)
    assert len(set(pointers)) == parameters.count


SCALARS = [
    np.int8(-3), np.int16(-300), np.int32(-70_000), np.int64(-(2**40)), np.uint8(200),
    np.uint16(60_000), np.uint32(2**32 - 1), np.uint64(2**64 - 1), np.float32(1.25),
    np.float64(-2.5e300), np.float16(0.5), np.complex64(1 + 2j), np.complex128(3 - 4j),
    np.bool_(True), True, 7, 2.5,
]  # fmt: skip

ARRAYS = [
    array(5, np.int32), array((3, 4), np.float64), array((2, 3, 4), np.int8),
    array((3, 4), np.int64, strides=(8, 24)), array((3, 4), np.int64, strides=(64, 8)),
    array((3, 4), np.int32, strides=(0, 4)), array((1, 1), np.int32, strides=(0, 0)),
    array(1 << 40, np.uint16, address=2**47 - 2, strides=(2,)),
]  # fmt: skip


@pytest.mark.parametrize("value", [*SCALARS, *ARRAYS], ids=lambda one: str(typed(one)))
def test_a_value_is_packed_as_by_cuda_core(value):
    assert_as_cuda_core(packed(np.int8(1), value, np.int32(9)), (np.int8(1), value, np.int32(9)))


def everything(shift=0):
    """Ninety parameters and more, in tuples of tuples."""
    return (
        Whole(Pair(array(9 + shift, np.int32), np.int32(4 + shift)), array((2, 3), np.float64),
              np.float64(2.5 + shift)),
        *(array(10 + k, np.int64, address=4096 * (k + 1 + shift)) for k in range(11)),
        Pair(array(3, np.float32), np.int64(shift)), np.int32(-shift),
    )  # fmt: skip


def test_all_arguments_of_a_kernel_are_packed_as_by_cuda_core():
    parameters = packed(*everything())
    assert parameters.count >= 90
    assert_as_cuda_core(parameters, everything())


@pytest.mark.parametrize("known", [False, True])
def test_arguments_that_are_written_again_are_packed_as_by_cuda_core(known):
    before, after = everything(), everything(3)
    parameters = packed(*before)
    for place, value in enumerate(after):
        assert parameters.write(place, value, before[place] if known else None)
    assert_as_cuda_core(parameters, after)
    for place, value in enumerate(before):
        parameters.write_slowly(place, value)
    assert_as_cuda_core(parameters, before)


def test_of_a_named_tuple_only_other_parts_are_written():
    whole = Pair(array(9, np.int32), np.int32(4))
    parameters = packed(whole)
    parameters._cells[4] = 99  # the array's address
    assert parameters.write(0, whole._replace(n=np.int32(5)), whole)
    assert (parameters._cells[4], parameters._cells[7]) == (99, 5)
    assert parameters.write(0, Pair(array(9, np.int32), np.int32(6)), whole)
    assert (parameters._cells[4], parameters._cells[7]) == (0x7F00_0000_1000, 6)


OTHERS = {
    "another type of elements": array(9, np.uint32),
    "another width of elements": array(9, np.int64),
    "more dimensions": array((9, 1), np.int32),
    "a stride": array(9, np.int32, strides=(8,)),
    "a broadcast": array(9, np.int32, strides=(0,)),
    "a scalar": np.int32(3),
    "a tuple": (array(9, np.int32),),
}


@pytest.mark.parametrize("name", OTHERS)
def test_another_type_is_seen_and_nothing_is_written(name):
    parameters = packed(np.int32(1), array(9, np.int32))
    before = read(parameters)
    assert typed(OTHERS[name]) != typed(array(9, np.int32))
    assert not parameters.write(1, OTHERS[name], None)
    inner = packed(Pair(array(9, np.int32), np.int32(4)))
    kept = read(inner)
    assert not inner.write(0, Pair(OTHERS[name], np.int32(5)), None)
    assert (read(parameters), read(inner)) == (before, kept)


def test_tuples_of_equal_fields_are_told_apart():
    """By their class, and plain ones by where each ends."""
    a, b, c = np.int32(1), np.int32(2), np.int32(3)
    assert not packed(Pair(a, b)).write(0, (a, b), None)
    assert not packed(((a, b), c)).write(0, ((a,), b, c), None)
    assert packed(((a, b), c)).write(0, ((b, b), c), None)


def test_a_value_whose_type_numba_finds_is_written_slowly():
    """A Python integer is of the type of an int64."""
    parameters = packed(array(9, np.int32), np.int64(3))
    assert not parameters.write(1, 5, None)
    assert typed(5) == typed(np.int64(3))
    parameters.write_slowly(1, 5)
    assert read(parameters)[-1] == (5).to_bytes(8, "little")
    assert parameters.write(0, array(3, np.int32), None)


def test_a_field_and_an_address_are_written_in_place():
    costs, other = array((6,), np.int32), array((6,), np.int32, 0x7F00_0000_2000)
    parameters = packed(np.int64(1), Pair(costs, np.int32(6)))
    assert parameters.write_field(1, 0, other)
    wanted = packed(np.int64(1), Pair(other, np.int32(6)))
    assert read(parameters) == read(wanted)
    assert parameters.write_field(1, 1, np.int32(5))
    assert read(parameters) == read(packed(np.int64(1), Pair(other, np.int32(5))))
    parameters.write_address(1, 0, 0x7F00_0000_1000)
    assert read(parameters) == read(packed(np.int64(1), Pair(costs, np.int32(5))))


def test_an_array_s_address_and_a_number_are_written_without_a_tuple():
    costs, other = array((6,), np.int32), array((6,), np.int32, 0x7F00_0000_2000)
    parameters = packed(costs, np.int64(1), np.int64(2))
    parameters.write_address(0, None, 0x7F00_0000_2000)
    parameters.write_number(1, -7)
    assert read(parameters) == read(packed(other, np.int64(-7), np.int64(2)))


def test_a_field_of_another_type_or_of_nested_tuples_is_left_to_numba():
    costs = array((6,), np.int32)
    parameters = packed(Pair(costs, np.int32(6)), Whole(Pair(costs, np.int32(1)), costs, costs))
    before = read(parameters)
    assert not parameters.write_field(0, 0, array((6,), np.int64))
    assert not parameters.write_field(0, 0, array((2, 3), np.int32))
    assert not parameters.write_field(0, 1, np.int64(6))
    assert not parameters.write_field(1, 1, costs)
    assert read(parameters) == before
