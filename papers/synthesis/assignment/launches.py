"""Device memory and the bound launch of a run."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import cuda

from papers.common.gpu import device
from papers.common.gpu.launch import Launch, bind, registers_for, resident_blocks
from papers.common.gpu.limits import largest
from papers.common.gpu.signals import Mailbox
from papers.synthesis.assignment.costs import Costs
from papers.synthesis.assignment.kernels import arguments, dense, floats, integers
from papers.synthesis.assignment.settings import WARP, Settings

SUM_BITS = 62
"""The sum of reduced costs stays below two to this power."""

EXECUTOR_BLOCKS = 3
"""Blocks in the CPU executor, where every thread costs time."""


@cache
def kernel_for(kind: str, loads: int, threads: int) -> Any:
    """The kernel for a type of costs, with the registers that a block of so many threads leaves."""
    module = floats if kind == "float64" else integers
    return cuda.jit(max_registers=registers_for(threads))(module.assign_with(loads).py_func)


def allocate(costs: Costs, mailbox: Mailbox) -> dict[str, Any]:
    """Device memory for one problem, the costs copied into it."""
    n, m = costs.matrix.shape
    dual = costs.dual
    sizes = {
        "u": (n, dual), "v": (m, dual), "bid": (m, dual), "offer": (n, dual),
        "distance": (m, dual), "start": (2 * n, dual), "base": (2 * n, dual),
        "levels": (arguments.LEVELS, dual),
        "column": (n, np.int32), "row": (m, np.int32), "rows": (2 * n, np.int32),
        "bid_column": (n, np.int32), "before": (m, np.int32), "opened": (m, np.int32),
        "won": (m, np.int32), "row_claim": (n, np.int32), "column_claim": (m, np.int32),
        "front": (2 * n, np.int32),
        "totals": (len(arguments.TOTALS), np.int64),
    }  # fmt: skip
    arrays = {name: device.empty(*size) for name, size in sizes.items()}
    arrays["words"] = device.to_device(np.zeros(arguments.WORDS, np.int32))
    arrays["cost"] = device.to_device(costs.matrix.reshape(-1))
    arrays["signal"] = mailbox.device_word
    return arrays


def bind_assign(
    costs: Costs, arrays: dict[str, Any], settings: Settings, seconds: float | None
) -> Launch:
    """Bind the launch, with as many blocks as asked for, or as are resident at once.

    Raises
    ------
    RuntimeError
        If not even one block of that size fits a multiprocessor.
    """
    kernel = kernel_for(costs.matrix.dtype.name, int(settings.loads), int(settings.threads))
    given = _arguments(costs, arrays, settings, seconds)
    threads = int(settings.threads)
    resident = resident_blocks(kernel, given, threads)
    machine = device.describe()
    if machine.is_gpu:
        resident = min(resident, machine.multiprocessors)
    blocks = int(settings.blocks) or (resident if machine.is_gpu else EXECUTOR_BLOCKS)
    return bind(kernel, min(blocks, resident), threads, *given)


def _arguments(
    costs: Costs, a: dict[str, Any], settings: Settings, seconds: float | None
) -> tuple[Any, ...]:
    """The kernel's named tuples."""
    dual = costs.dual
    limit = dense.FOREVER if seconds is None else max(1, min(dense.FOREVER, int(1e9 * seconds)))
    matrix = arguments.Matrix(
        a["cost"], largest(dual), dual.type(-1), dual.type(0), dual.type(costs.loose)
    )
    return (
        _schedule(settings, costs.matrix.shape[0]), _shape(costs, settings), matrix,
        arguments.Duals(a["u"], a["v"], a["bid"]),
        arguments.Matching(a["column"], a["row"]),
        arguments.Lists(a["rows"], a["bid_column"], a["offer"]),
        arguments.Tree(
            a["distance"], a["before"], a["opened"], a["won"], a["row_claim"], a["column_claim"]
        ),
        arguments.Front(a["front"], a["start"], a["base"]),
        arguments.Log(a["words"], a["levels"], a["totals"], a["signal"], np.int64(limit)),
    )  # fmt: skip


def _schedule(settings: Settings, n: int) -> arguments.Schedule:
    return arguments.Schedule(
        *(
            np.int32(n * settings.left_free // 1000 if name == "stop" else getattr(settings, name))
            for name in arguments.Schedule._fields
        )
    )


def _shape(costs: Costs, settings: Settings) -> arguments.Shape:
    n, m = costs.matrix.shape
    step = -(-n // int(settings.sampled_rows))
    entries = -(-n // step) * m
    shift = 0
    if costs.dual.kind == "i":
        # Reduced costs are at most twice the range.
        spread = 2 * int(costs.matrix.max())
        shift = max(0, spread.bit_length() + entries.bit_length() - SUM_BITS)
    numbers = (n, m, int(n == m), min(settings.warps_a_row, settings.threads // WARP),
               settings.tile, step, shift)  # fmt: skip
    return arguments.Shape(*map(np.int32, numbers))
