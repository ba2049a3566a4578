"""Allocates the memory of a run of [T00] and binds its launches; `solver` is the algorithm."""

from __future__ import annotations

from typing import Any

import numpy as np

from papers._template.kernels import search as k
from papers.common.gpu import device
from papers.common.gpu.launch import Launch, bind
from papers.common.gpu.limits import grid_for
from papers.common.problems.assignment import Problem


def block_threads() -> int:
    """Return the threads of the block that searches; a thread of the CPU executor is slow."""
    return 256 if device.describe().is_gpu else 8


def allocate(problem: Problem) -> dict[str, Any]:
    """Allocate the arrays in the table of `kernels.search` and copy the costs into them."""
    n, kind = problem.size, problem.matrix.dtype
    arrays = {"matrix": device.to_device(problem.matrix.reshape(-1))}
    arrays |= {name: device.empty(n, kind) for name in ("u", "v", "distance")}
    arrays |= {name: device.empty(n, np.int32) for name in ("row_of_column", "before", "tree")}
    arrays |= {name: device.empty(1, np.int32) for name in ("stage", "end")}
    return arrays


def bind_launches(problem: Problem, arrays: dict[str, Any]) -> dict[str, Launch]:
    """Bind every launch of a run to its grid and its arrays, by the name that `solver` uses."""
    n, a = np.int32(problem.size), arrays
    one, threads = grid_for(problem.size, block_threads()), block_threads()
    return {
        "init": bind(k.init, *one, n, a["u"], a["v"], a["row_of_column"], a["stage"]),
        "search": bind(
            k.search, 1, threads, n, a["matrix"], a["stage"], a["u"], a["v"], a["row_of_column"],
            a["distance"], a["before"], a["tree"], a["end"],
        ),
        "augment": bind(
            k.augment, 1, 1, n, a["stage"], a["row_of_column"], a["before"], a["end"]
        ),
    }  # fmt: skip
