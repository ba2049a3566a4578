"""Loads and stores by the memory model: relaxed, acquire, release, towards block, GPU or system.

Numba has no ``volatile``; a plain load in a loop is done once, and even ``cuda.ldcv`` is moved out
of the loop because its assembly is not marked as having side effects. `load_relaxed`,
`load_acquire` and the stores emit the PTX instruction of that name with the mark, so the compiler
neither moves nor merges them. In the CPU executor they are plain accesses (``__executor__``), or in
a weak memory those of `papers.common.executor.weak_memory` (``__weak__``).
"""

from __future__ import annotations

import ctypes
import struct
import time
from typing import Any

from llvmlite import ir
from numba import cuda, types
from numba.cuda import cgutils
from numba.cuda.extending import intrinsic

from papers.common.executor.knowledge import BLOCK, GPU, SYSTEM

_SCOPES = {"cta": BLOCK, "gpu": GPU, "sys": SYSTEM}
_REGISTER = {8: "r", 16: "h", 32: "r", 64: "l"}


def _element_pointer(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    struct = context.make_array(array_type)(context, builder, value=array)
    return cgutils.get_item_pointer(context, builder, array_type, struct, [index], wraparound=False)


def _reach(scope: str) -> int:
    return _SCOPES[scope.partition(".")[0]]


def _make_load(instruction: str) -> Any:
    @intrinsic
    def load(typingctx: Any, array: Any, index: Any) -> Any:
        if not (isinstance(array, types.Array) and array.ndim == 1):
            raise TypeError("a one-dimensional array is needed")
        bits = array.dtype.bitwidth

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            index64 = context.cast(builder, args[1], signature.args[1], types.int64)
            pointer = _element_pointer(context, builder, array, args[0], index64)
            word, value = ir.IntType(bits), context.get_value_type(array.dtype)
            kind = ir.FunctionType(word, [pointer.type])
            text = f"{instruction}.b{bits} $0, [$1];"
            asm = ir.InlineAsm(kind, text, f"={_REGISTER[bits]},l,~{{memory}}", side_effect=True)
            found = builder.call(asm, [pointer])
            return found if value == word else builder.bitcast(found, value)

        return array.dtype(array, index), codegen

    load.__executor__ = lambda array, index: array[index]
    return load


def _make_ordered_load(order: str, scope: str = "gpu.global") -> Any:
    load = _make_load(f"ld.{order}.{scope}")
    reach, acquire = _reach(scope), order == "acquire"

    def weak_load(array: Any, index: int) -> Any:
        return cuda.ordered_load(array, index, reach, acquire)

    load.__weak__ = weak_load
    return load


def _make_store(order: str, scope: str = "gpu.global") -> Any:
    @intrinsic
    def store(typingctx: Any, array: Any, index: Any, value: Any) -> Any:
        if not (isinstance(array, types.Array) and array.ndim == 1):
            raise TypeError("a one-dimensional array is needed")
        bits = array.dtype.bitwidth

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            index64 = context.cast(builder, args[1], signature.args[1], types.int64)
            pointer = _element_pointer(context, builder, array, args[0], index64)
            stored = context.cast(builder, args[2], signature.args[2], array.dtype)
            kind = ir.FunctionType(ir.VoidType(), [pointer.type, stored.type])
            text = f"st.{order}.{scope}.b{bits} [$0], $1;"
            asm = ir.InlineAsm(kind, text, f"l,{_REGISTER[bits]},~{{memory}}", side_effect=True)
            builder.call(asm, [pointer, stored])
            return context.get_dummy_value()

        return types.void(array, index, value), codegen

    reach, release = _reach(scope), order == "release"

    def executor_store(array: Any, index: int, value: Any) -> None:
        array[index] = value

    def weak_store(array: Any, index: int, value: Any) -> None:
        cuda.ordered_store(array, index, value, reach, release)

    store.__executor__, store.__weak__ = executor_store, weak_store
    return store


load_ahead = _make_load("ld.global.nc")
# Nobody writes: a weak memory has nothing to show late.
load_ahead.__weak__ = load_ahead.__executor__
"""``load_ahead(array, i)``: read what nobody writes during the launch.

The compiler moves a plain load down to the first use of its value. Several of these, one behind the
other, are on their way at the same time: each stays in front of the loads that follow, and, where a
``cuda.syncwarp()`` stands between the last of them and the first use, all of them in front of every
use. Without it the assembler is free to put each use in front of the next load, and in a kernel
that is short of registers it does.
"""

load_once = _make_load("ld.global.nc.L1::no_allocate")
load_once.__weak__ = load_once.__executor__
"""``load_once(array, i)``: as `load_ahead`, of what no thread of this multiprocessor reads again.

It leaves the first-level cache to others; what that is worth by itself was not measured.
"""

load_relaxed = _make_ordered_load("relaxed")
"""``load_relaxed(array, i)``: read ``array[i]`` anew, from the point where all blocks meet."""

load_acquire = _make_ordered_load("acquire")
"""``load_acquire(array, i)``: as `load_relaxed`; later accesses stay behind it."""

load_relaxed_block = _make_ordered_load("relaxed", "cta")
"""As `load_relaxed`, among the threads of one block; for shared memory too."""

store_relaxed = _make_store("relaxed")
"""``store_relaxed(array, i, x)``: write now, never merged with a later write."""

load_relaxed_anywhere = _make_ordered_load("relaxed", "gpu")
"""As `load_relaxed`; for shared memory too, where one kernel's code serves both kinds of memory."""

store_relaxed_anywhere = _make_store("relaxed", "gpu")
"""As `store_relaxed`; for shared memory too."""

store_relaxed_block = _make_store("relaxed", "cta")
"""As `store_relaxed`, among the threads of one block; for shared memory too."""

store_release = _make_store("release")
"""``store_release(array, i, x)``: earlier writes of this thread are seen before this one."""

store_release_system = _make_store("release", "sys.global")
"""``store_release_system(array, i, x)``: as `store_release`, towards the host as well."""

load_relaxed_system = _make_ordered_load("relaxed", "sys.global")
"""``load_relaxed_system(array, i)``: as `load_relaxed`, where another GPU writes."""

load_acquire_system = _make_ordered_load("acquire", "sys.global")
"""``load_acquire_system(array, i)``: as `load_acquire`, where another GPU releases."""


def _pair_pointer(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    index64 = context.cast(builder, args[1], signature.args[1], types.int64)
    return _element_pointer(context, builder, signature.args[0], args[0], index64)


def _check_pair(array: Any, value: Any) -> None:
    if array != types.Array(types.int64, 1, "C") or value not in (types.int64, types.float64):
        raise TypeError("a one-dimensional array of int64 and a value of 64 bits are needed")


@intrinsic
def load_pair(typingctx: Any, array: Any, index: Any, like: Any) -> Any:
    """``load_pair(array, i, like)``: elements i and i + 1, the latter as a value of like's type.

    Both are of one `store_pair`; i is even, and the array begins at a multiple of 16 bytes.
    """
    _check_pair(array, like)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer, word = _pair_pointer(context, builder, signature, args), ir.IntType(64)
        kind = ir.FunctionType(ir.LiteralStructType([word, word]), [pointer.type])
        text = (
            "{ .reg .b128 both; ld.relaxed.gpu.global.b128 both, [$2]; mov.b128 {$0, $1}, both; }"
        )
        asm = ir.InlineAsm(kind, text, "=l,=l,l,~{memory}", side_effect=True)
        found = builder.call(asm, [pointer])
        tag, value = (builder.extract_value(found, k) for k in (0, 1))
        if like == types.float64:
            value = builder.bitcast(value, ir.DoubleType())
        return context.make_tuple(builder, signature.return_type, (tag, value))

    return types.Tuple((types.int64, like))(array, index, like), codegen


@intrinsic
def store_pair(typingctx: Any, array: Any, index: Any, tag: Any, value: Any) -> Any:
    """``store_pair(array, i, tag, x)``: both words at once, relaxed: nobody sees one of them alone.

    A reader that finds the tag it waits for has the value as well, without a fence.
    """
    _check_pair(array, value)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _pair_pointer(context, builder, signature, args)
        first = context.cast(builder, args[2], signature.args[2], types.int64)
        second = builder.bitcast(args[3], ir.IntType(64))
        kind = ir.FunctionType(ir.VoidType(), [pointer.type, first.type, second.type])
        text = (
            "{ .reg .b128 both; mov.b128 both, {$1, $2}; st.relaxed.gpu.global.b128 [$0], both; }"
        )
        asm = ir.InlineAsm(kind, text, "l,l,l,~{memory}", side_effect=True)
        builder.call(asm, [pointer, first, second])
        return context.get_dummy_value()

    return types.void(array, index, tag, value), codegen


@intrinsic
def swap_pair(
    typingctx: Any, array: Any, index: Any, tag: Any, value: Any, new_tag: Any, new_value: Any
) -> Any:
    """``swap_pair(array, i, tag, x, new_tag, new_x)``: a compare-and-swap of both words, relaxed.

    The pair becomes the new one if it is ``(tag, x)``, bit by bit. The pair that was there is
    returned, as `load_pair` returns it.
    """
    _check_pair(array, value)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer, word = _pair_pointer(context, builder, signature, args), ir.IntType(64)
        tags = [context.cast(builder, args[k], signature.args[k], types.int64) for k in (2, 4)]
        values = [builder.bitcast(args[k], word) for k in (3, 5)]
        kind = ir.FunctionType(
            ir.LiteralStructType([word, word]), [pointer.type, word, word, word, word]
        )
        text = (
            "{ .reg .b128 found, old, new; mov.b128 old, {$3, $4}; mov.b128 new, {$5, $6}; "
            "atom.relaxed.gpu.global.cas.b128 found, [$2], old, new; mov.b128 {$0, $1}, found; }"
        )
        asm = ir.InlineAsm(kind, text, "=l,=l,l,l,l,l,l,~{memory}", side_effect=True)
        found = builder.call(asm, [pointer, tags[0], values[0], tags[1], values[1]])
        first, second = (builder.extract_value(found, k) for k in (0, 1))
        if value == types.float64:
            second = builder.bitcast(second, ir.DoubleType())
        return context.make_tuple(builder, signature.return_type, (first, second))

    if new_value != value:
        raise TypeError("both values of a swap are of one type")
    returned = types.Tuple((types.int64, value))
    return returned(array, index, tag, value, new_tag, new_value), codegen


def _bits(value: Any) -> Any:
    return struct.unpack("q", struct.pack("d", value))[0] if isinstance(value, float) else value


def _value(bits: Any, like: Any) -> Any:
    return struct.unpack("d", struct.pack("q", bits))[0] if isinstance(like, float) else bits


def _executor_load_pair(array: Any, index: int, like: Any) -> tuple[int, Any]:
    tag, bits = cuda.load_pair(array, index)
    return tag, _value(bits, like)


def _executor_store_pair(array: Any, index: int, tag: int, value: Any) -> None:
    cuda.store_pair(array, index, tag, _bits(value))


def _executor_swap_pair(
    array: Any, index: int, tag: int, value: Any, new_tag: int, new_value: Any
) -> tuple[int, Any]:
    old, new = (tag, _bits(value)), (new_tag, _bits(new_value))
    found, bits = cuda.swap_pair(array, index, old, new)
    return found, _value(bits, value)


load_pair.__executor__, store_pair.__executor__ = _executor_load_pair, _executor_store_pair
swap_pair.__executor__ = _executor_swap_pair


def _make_store_at(order: str) -> Any:
    @intrinsic
    def store(typingctx: Any, address: Any, index: Any, value: Any) -> Any:
        if not all(isinstance(kind, types.Integer) for kind in (address, index, value)):
            raise TypeError("an address, an index and a value are needed, all integers")

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            base, index64 = (
                context.cast(builder, args[k], signature.args[k], types.int64) for k in (0, 1)
            )
            place = builder.add(base, builder.mul(index64, ir.Constant(index64.type, 8)))
            stored = context.cast(builder, args[2], signature.args[2], types.int64)
            kind = ir.FunctionType(ir.VoidType(), [place.type, stored.type])
            text = f"st.{order}.sys.global.b64 [$0], $1;"
            asm = ir.InlineAsm(kind, text, "l,l,~{memory}", side_effect=True)
            builder.call(asm, [place, stored])
            return context.get_dummy_value()

        return types.void(address, index, value), codegen

    def executor_store(address: int, index: int, value: int) -> None:
        ctypes.c_int64.from_address(int(address) + 8 * int(index)).value = int(value)

    release = order == "release"

    def weak_store(address: int, index: int, value: int) -> None:
        cuda.ordered_store_at(int(address) + 8 * int(index), int(value), release)

    store.__executor__, store.__weak__ = executor_store, weak_store
    return store


store_at = _make_store_at("relaxed")
"""``store_at(address, i, x)``: into the int64 array that begins at an address, which may be another
GPU's memory (`papers.common.mpi.windows`); whole, but in no order."""

release_at = _make_store_at("release")
"""``release_at(address, i, x)``: as `store_at`; earlier writes of this thread are seen before."""


@intrinsic
def pause(typingctx: Any) -> Any:
    """Stand in a loop that waits for another process; on a GPU, where a wait is short, do nothing.

    The executor lets the launch's other threads run, and then the other process: it may have no
    core to itself.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return context.get_dummy_value()

    return types.void(), codegen


def _executor_pause() -> None:
    cuda.nanosleep(1)
    time.sleep(0)


def _weak_pause() -> None:
    cuda.let_ranks_run()
    time.sleep(0)


pause.__executor__, pause.__weak__ = _executor_pause, _weak_pause
