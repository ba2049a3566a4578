"""The GPU's own clock, for versions whose steps the host cannot see."""

from __future__ import annotations

import time
from typing import Any

from llvmlite import ir
from numba import cuda, types
from numba.cuda.extending import intrinsic

CLOCKS = 8
"""Size of the array ``clocks``: the last mark, then nanoseconds of steps 1 to 6."""


@intrinsic
def _globaltimer(typingctx: Any) -> Any:
    """Nanoseconds of ``%globaltimer``, read now: never moved or merged."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = ir.FunctionType(ir.IntType(64), [])
        text = "mov.u64 $0, %globaltimer;"
        return builder.call(ir.InlineAsm(kind, text, "=l,~{memory}", side_effect=True), [])

    return types.int64(), codegen


def _host_nanoseconds() -> int:
    return time.perf_counter_ns()


_globaltimer.__executor__ = _host_nanoseconds
globaltimer = _globaltimer


@cuda.jit(device=True)
def start_clock(clocks):
    """Begin counting anew: one thread of the grid; nothing if ``clocks`` has one entry (off)."""
    if clocks.size == CLOCKS and cuda.grid(1) == 0:
        for step in range(1, CLOCKS):
            clocks[step] = 0
        clocks[0] = globaltimer()


@cuda.jit(device=True)
def mark(clocks, step):
    """Charge the time since the last mark to this step."""
    if clocks.size == CLOCKS and cuda.grid(1) == 0:
        now = globaltimer()
        clocks[step] += now - clocks[0]
        clocks[0] = now
