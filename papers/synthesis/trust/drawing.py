"""The problems: solve number k of a seed has a class and data of its own, whoever asks for it.

`class_of` draws the class alone, which costs nothing; `data_of` draws the data of the class.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np

from papers.common.model import ProblemName
from papers.synthesis.batch.costs import WIDTHS

Stream = np.random.Generator

SMALL = 64
"""The longest side of the class ``small``; where kernels run in the CPU executor, `EXECUTOR`."""

EXECUTOR = 8
"""The longest side, or a quarter of the nodes, of what kernels solve in the CPU executor."""


@dataclass(frozen=True)
class Call:
    """A call that is tried.

    Attributes
    ----------
    name : str
        With the solver that it asks for, if it does.
    problem : {"assignment", "matching", "flow"}
    kernels : bool
        Whether it asks for kernels: without a GPU they solve tiny problems alone.
    """

    name: str
    problem: ProblemName
    kernels: bool = False


CALLS = (
    Call("linear_sum_assignment", "assignment"),
    Call("linear_sum_assignment synthesis:dense", "assignment", kernels=True),
    Call("linear_sum_assignment batch", "assignment"),
    Call("linear_sum_assignment list", "assignment"),
    Call("linear_sum_assignment synthesis:batch batch", "assignment", kernels=True),
    Call("linear_sum_assignment synthesis:batch list", "assignment", kernels=True),
    Call("maximum_bipartite_matching", "matching"),
    Call("maximum_bipartite_matching deveci_matching:beyond", "matching", kernels=True),
    Call("maximum_flow", "flow"),
    Call("minimum_cut", "flow"),
    Call("grid_cut", "flow"),
    Call("grid_cut lupinska_costscale:gpu_relabel", "flow", kernels=True),
    Call("linear_sum_assignment synthesis:one_core", "assignment"),
    Call("linear_sum_assignment synthesis:dense device", "assignment", kernels=True),
    Call("linear_sum_assignment pairs", "assignment"),
    Call("linear_sum_assignment synthesis:dense pairs", "assignment", kernels=True),
    Call("linear_sum_assignment seconds", "assignment"),
    Call("linear_sum_assignment synthesis:batch device batch", "assignment", kernels=True),
    Call("maximum_bipartite_matching row", "matching"),
    Call("koenig_cover", "matching"),
    Call("structural_rank", "matching"),
    Call("dulmage_mendelsohn", "matching"),
    Call("alpha_expansion", "flow"),
    Call("alpha_expansion lupinska_costscale:gpu_relabel", "flow", kernels=True),
)
"""``pairs`` asks for no duals, which takes a shorter way; ``seconds`` names a limit of time, which
is too short for many of its calls, and ends some; ``device`` has its costs in device memory."""

ON_GRIDS = ("grid_cut", "alpha_expansion")
"""The calls whose networks are images."""

LABELS = 4
"""The most labels of an image."""

SHAPES: dict[ProblemName, tuple[str, ...]] = {
    "assignment": ("small", "square", "wide", "tall", "line"),
    "matching": ("small", "square", "wide", "tall"),
    "flow": ("small", "large"),
}


@dataclass(frozen=True)
class Class:
    """A class of problems: a line of the table."""

    family: str
    dtype: str
    shape: str
    call: str


@dataclass(frozen=True)
class Task:
    """One solve.

    Attributes
    ----------
    of : Class
    call : Call
    data : Any
        A matrix, a batch or a list of them; a sparse graph; capacities.
    maximize : bool
    feasible : bool
        Whether it has an answer; without one the call has to say so.
    """

    of: Class
    call: Call
    data: Any
    maximize: bool
    feasible: bool = True


# ------------------------------------------------------------------------------- matrices

INTEGERS, FLOATS = ("int32", "int64"), ("float64", "float32")


def _points(g: Stream, n: int, m: int, centres: int) -> np.ndarray:
    """Distances of points around some centres from uniform ones."""
    middle = g.random((centres, 2))[g.integers(0, centres, n)]
    left, right = middle + 0.02 * g.normal(size=(n, 2)), g.random((m, 2))
    return np.hypot(*np.moveaxis(left[:, None] - right[None], -1, 0))


def _allow_one(g: Stream, cost: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """Forbid what is not allowed, but for one complete assignment."""
    n, m = cost.shape
    k = min(n, m)
    allowed[g.permutation(n)[:k], g.permutation(m)[:k]] = True
    return np.where(allowed, cost, np.inf)


def _stand_ins(g: Stream, n: int, m: int) -> np.ndarray:
    """A large cost, of any size, for all pairs but few: duals may grow beyond what is small."""
    few = _allow_one(g, g.random((n, m)), g.random((n, m)) < 1 / m)
    return np.where(np.isinf(few), 10.0 ** g.integers(6, 17), few)


def _infeasible(g: Stream, n: int, m: int) -> np.ndarray:
    """Some lines of the shorter side share one column (row) too few."""
    turned = n > m
    short, long = sorted((n, m))
    cost = g.random((short, long))
    lines = int(g.integers(1, short + 1))
    cost[np.ix_(g.permutation(short)[:lines], g.permutation(long)[lines - 1 :])] = np.inf
    return cost.T if turned else cost


MATRICES: dict[str, tuple[tuple[str, ...], Callable[[Stream, int, int], np.ndarray]]] = {
    "uniform": ((*INTEGERS, *FLOATS), lambda g, n, m: g.integers(0, 10 * m + 1, (n, m))),
    "negative": (INTEGERS, lambda g, n, m: g.integers(-1000, 1000, (n, m))),
    "ties": ((*INTEGERS, "uint8", "float64"), lambda g, n, m: g.integers(0, 4, (n, m))),
    "two": (("bool", "int8", "float32"), lambda g, n, m: g.integers(0, 2, (n, m))),
    "equal": (("int32", "float64"), lambda g, n, m: np.full((n, m), 7)),
    "product": (INTEGERS, lambda g, n, m: np.outer(np.arange(1, n + 1), np.arange(1, m + 1))),
    "lowrank": (
        INTEGERS, lambda g, n, m: g.integers(0, 100, (n, 3)) @ g.integers(0, 100, (3, m))
    ),
    "euclid": (
        (*INTEGERS, *FLOATS), lambda g, n, m: np.rint(1e5 * _points(g, n, m, max(1, n // 2)))
    ),
    "clustered": ((*INTEGERS, *FLOATS), lambda g, n, m: np.rint(1e5 * _points(g, n, m, 3))),
    "line": (
        INTEGERS, lambda g, n, m: np.abs(g.integers(0, 999, (n, 1)) - g.integers(0, 999, (1, m)))
    ),
    "wide": (("int64",), lambda g, n, m: g.integers(-(2**49), 2**49, (n, m))),
    "normal": (FLOATS, lambda g, n, m: g.normal(size=(n, m))),
    "decades": (("float64",), lambda g, n, m: np.exp(4.6 * g.normal(size=(n, m)))),
    "distances": (FLOATS, lambda g, n, m: _points(g, n, m, max(1, n // 2))),
    "big M": (
        ("float64",), lambda g, n, m: np.where(g.random((n, m)) < 0.5, 1e9, g.random((n, m)))
    ),
    "stand-ins": (FLOATS, lambda g, n, m: _stand_ins(g, n, m)),
    "powers": (("float64",), lambda g, n, m: 10.0 ** g.integers(-10, 10, (n, m))),
    "forbidden": (
        FLOATS, lambda g, n, m: _allow_one(g, g.random((n, m)), g.random((n, m)) < 0.6)
    ),
    "few pairs": (
        FLOATS, lambda g, n, m: _allow_one(g, g.random((n, m)), g.random((n, m)) < 2 / m)
    ),
    "infeasible": (("float64",), _infeasible),
}  # fmt: skip
"""Types and maker of each family: (stream, rows, columns) -> costs."""

GRAPHS: dict[str, Callable[[Stream, int, int], np.ndarray]] = {
    "sparse": lambda g, n, m: _ends(g, n, m, 1.5),
    "denser": lambda g, n, m: _ends(g, n, m, 6.0),
    "skew": lambda g, n, m: _ends(g, n, m, 3.0, power=3),
    "path": lambda g, n, m: np.array(
        [(i, i + d) for i in range(n) for d in (0, 1) if i + d < m]
    ).reshape(-1, 2),
    "no edge": lambda g, n, m: np.zeros((0, 2), np.int64),
}
"""Makers of edges: (stream, rows, columns) -> int[edges, 2]."""

NETWORKS = {"sparse": 2.0, "denser": 6.0}
"""Mean degree."""

GRIDS = {"4 neighbours": 4, "8 neighbours": 8}

CAPACITIES = {"int32": 20, "int64": 2**33}


def _ends(g: Stream, n: int, m: int, degree: float, power: int = 1) -> np.ndarray:
    edges = int(degree * max(n, m))
    ends = [(g.random(edges) ** power * side).astype(np.int64) for side in (n, m)]
    return np.stack(ends, axis=1)


# ------------------------------------------------------------------------------- drawing


def _families(call: Call) -> list[tuple[str, str]]:
    """Families with their types."""
    if call.problem == "assignment":
        alone = not call.name.endswith(("batch", "list"))
        return [
            (name, kind)
            for name, (kinds, _) in MATRICES.items()
            for kind in kinds
            if name != "infeasible" or alone
        ]
    if call.problem == "matching":
        return [(name, "pattern") for name in GRAPHS]
    known = GRIDS if call.name.startswith(ON_GRIDS) else NETWORKS
    return [(name, kind) for name in known for kind in CAPACITIES]


def class_of(seed: int, number: int) -> tuple[Class, Call]:
    """Draw the class of a solve, by its number."""
    g = np.random.default_rng([seed, number])
    call = CALLS[g.integers(len(CALLS))]
    families = _families(call)
    family, dtype = families[g.integers(len(families))]
    shapes = SHAPES[call.problem]
    return Class(family, dtype, shapes[g.integers(len(shapes))], call.name), call


def task_of(seed: int, number: int, largest: int, gpu: bool) -> Task:
    """Draw a solve with its data.

    Parameters
    ----------
    seed, number : int
    largest : int
        The longest side of a matrix or a graph; a network has four times as many nodes.
    gpu : bool
        Whether kernels run on a GPU; in the CPU executor they get tiny problems.
    """
    of, call = class_of(seed, number)
    # The class is part of the stream's name: data of two classes never have equal draws.
    g = np.random.default_rng([seed, number, zlib.crc32(repr(astuple(of)).encode())])
    most = largest if gpu or not call.kernels else min(largest, EXECUTOR)
    if "synthesis:batch" in call.name:
        most = min(most, WIDTHS[-1])  # by name it refuses longer sides
    n, m = _sides(g, of.shape, most)
    # Device memory is minimized three times in four: only then is a known form met again.
    one_in = 4 if call.name.endswith(" device") else 2
    maximize = call.problem == "assignment" and bool(g.integers(one_in) == 1)
    if call.problem == "assignment":
        data = _matrices(g, of, n, m, maximize)
    elif call.problem == "matching":
        data = _graph(g, of.family, n, m)
    elif call.name.startswith("alpha_expansion"):
        data = _image(g, of, max(1, round((n * m) ** 0.25)))
    elif call.name.startswith("grid_cut"):
        data = _grid(g, of, max(1, round(2 * (n * m) ** 0.25)))
    else:
        data = _network(g, of, 4 * n)
    return Task(of, call, data, maximize, of.family != "infeasible")


def _sides(g: Stream, shape: str, most: int) -> tuple[int, int]:
    """Rows and columns, small ones as often as large ones."""

    def side(least: int, highest: int) -> int:
        low, high = np.log(least), np.log(max(least, highest) + 1)
        return int(min(np.exp(g.uniform(low, high)), max(least, highest)))

    if shape == "small":
        return side(1, min(SMALL, most)), side(1, min(SMALL, most))
    if shape == "line":
        return (1, side(1, most)) if g.integers(2) else (side(1, most), 1)
    short = side(min(2, most), most)
    if shape in ("square", "large"):
        return short, short
    short = max(1, short // 2)
    long = side(short, most)
    return (short, long) if shape == "wide" else (long, short)


def _matrices(g: Stream, of: Class, n: int, m: int, maximize: bool) -> Any:
    """A matrix; for a batch as many as fit, of one shape or of several."""
    _, make = MATRICES[of.family]

    def matrix(rows: int, columns: int) -> np.ndarray:
        cost = make(g, rows, columns).astype(of.dtype)
        return -cost if maximize and np.isinf(cost).any() else cost

    together = max(1, min(6, 4096 // (n * m)))
    if of.call.endswith("batch"):
        return np.stack([matrix(n, m) for _ in range(together)])
    if of.call.endswith("list"):
        others = [tuple(map(int, g.integers(1, max(n, m) + 1, 2))) for _ in range(2)]
        # The first shape's memory and launches wait in the pool while another one is solved.
        shapes = [(n, m), others[0], (n, m) if g.integers(2) else others[1]]
        return [matrix(*shape) for shape in shapes]
    return matrix(n, m)


def _graph(g: Stream, family: str, n: int, m: int) -> Any:
    from scipy.sparse import csr_array

    ends = np.unique(GRAPHS[family](g, n, m), axis=0)
    ones = np.ones(len(ends), np.int8)
    return csr_array((ones, (ends[:, 0], ends[:, 1])), shape=(n, m))


def _network(g: Stream, of: Class, nodes: int) -> Any:
    from scipy.sparse import csr_array

    nodes = max(2, nodes)
    ends = _ends(g, nodes, nodes, NETWORKS[of.family])
    ends = np.unique(ends[ends[:, 0] != ends[:, 1]], axis=0)
    capacity = g.integers(1, CAPACITIES[of.dtype], len(ends), dtype=np.int64).astype(of.dtype)
    return csr_array((capacity, (ends[:, 0], ends[:, 1])), shape=(nodes, nodes))


def _grid(g: Stream, of: Class, side: int) -> Any:
    """Capacities from the source and to the sink, those of the arcs, and the neighbours."""
    shape = side, max(1, int(g.integers(1, side + 1)))
    source, sink = (
        g.integers(0, CAPACITIES[of.dtype], shape, dtype=np.int64).astype(of.dtype)
        for _ in range(2)
    )
    return source, sink, int(g.integers(0, CAPACITIES[of.dtype])), GRIDS[of.family]


def _image(g: Stream, of: Class, side: int) -> Any:
    """Costs of labels at pixels, the weight of neighbours, a metric, and the neighbours."""
    labels = int(g.integers(1, LABELS + 1))
    shape = side, max(1, int(g.integers(1, side + 1))), labels
    most = CAPACITIES[of.dtype]
    unary = g.integers(-most, most, shape, dtype=np.int64).astype(of.dtype)
    points = np.arange(labels)
    metric = np.abs(points[:, None] - points) if g.integers(2) else None  # else that of Potts
    return unary, int(g.integers(0, most)), metric, GRIDS[of.family]
