"""Blocks of a cluster: their barrier, and loads from one another's shared memory.

Thread block clusters came with compute capability 9.0: up to eight blocks, and sixteen where the
kernel allows it, run at the same time and near to one another. Numba has no names for what they
share; these two functions emit the PTX instructions. In the CPU executor a cluster is the whole
grid of the launch.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import cuda, types
from numba.cuda import cgutils
from numba.cuda.extending import intrinsic

CAPABILITY = (9, 0)
"""The compute capability that clusters came with."""

_REGISTER = {32: "r", 64: "l"}


@intrinsic
def meet_in_cluster(typingctx: Any) -> Any:
    """A barrier of all threads of a cluster: what was written before is seen behind it by all."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = ir.FunctionType(ir.VoidType(), [])
        text = "barrier.cluster.arrive.release; barrier.cluster.wait.acquire;"
        builder.call(ir.InlineAsm(kind, text, "~{memory}", side_effect=True), [])
        return context.get_dummy_value()

    return types.void(), codegen


@intrinsic
def load_from_block(typingctx: Any, array: Any, index: Any, block: Any) -> Any:
    """``load_from_block(array, i, b)``: element i of block b's array, where this block's is given.

    The array is of one dimension, in shared memory, and of 32 or 64 bits an element.
    """
    if not (isinstance(array, types.Array) and array.ndim == 1):
        raise TypeError("a one-dimensional array is needed")
    bits = array.dtype.bitwidth

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        index64 = context.cast(builder, args[1], signature.args[1], types.int64)
        number = context.cast(builder, args[2], signature.args[2], types.int32)
        struct = context.make_array(array)(context, builder, value=args[0])
        pointer = cgutils.get_item_pointer(
            context, builder, array, struct, [index64], wraparound=False
        )
        word, value = ir.IntType(bits), context.get_value_type(array.dtype)
        kind = ir.FunctionType(word, [pointer.type, number.type])
        text = (
            "{ .reg .b64 at; .reg .b32 here, there; cvta.to.shared.u64 at, $1; "
            "cvt.u32.u64 here, at; mapa.shared::cluster.u32 there, here, $2; "
            f"ld.shared::cluster.b{bits} $0, [there]; }}"
        )
        asm = ir.InlineAsm(kind, text, f"={_REGISTER[bits]},l,r,~{{memory}}", side_effect=True)
        found = builder.call(asm, [pointer, number])
        return found if value == word else builder.bitcast(found, value)

    return array.dtype(array, index, block), codegen


def _meet_in_executor() -> None:
    cuda.cg.this_grid().sync()


def _load_in_executor(array: Any, index: int, block: int) -> Any:
    return cuda.shared_of(array, block)[index]


meet_in_cluster.__executor__ = _meet_in_executor
load_from_block.__executor__ = _load_in_executor
