"""The time that the first call of a process takes: ``first_call.csv``.

``python -m papers.synthesis.evidence.programs.first_call FILE [REPEATS]`` measures anew, on a
machine with a GPU. Each time is of a process of its own, from the call to its answer, with nothing
imported but NumPy, `papers` and, for a graph, SciPy. The first process of a call finds no kept
kernels and compiles, all calls at once; the later ones, one after the other, load them. Half of
these, by turns, begin with the device's context only after the import of Numba, as all did before
`papers.common.gpu.compiled.waking`.

Each process finds the bytecode of what it imports, as one does in which the package was installed
by pip; the first keeps it, also where ``PYTHONDONTWRITEBYTECODE`` is set (`KEPT`).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import MappingProxyType
from typing import Any

from papers.common.gpu import environment
from papers.common.gpu.compiled import store
from papers.synthesis.evidence.programs.table import asked, write

ASSIGN = "papers.linear_sum_assignment(costs)"

CALLS = {
    "int32": ("costs = draw.integers(0, 10_000, (1000, 1000), np.int32)", ASSIGN),
    "float64": ("costs = draw.random((1000, 1000))", ASSIGN),
    "large": ("costs = draw.integers(0, 40_960, (4096, 4096), np.int32)", ASSIGN),
    "batch": ("costs = draw.integers(0, 640, (1000, 64, 64), np.int32)", ASSIGN),
    "matching": (
        "from scipy.sparse import csr_array\n"
        "ends = draw.integers(0, 100_000, (2, 500_000))\n"
        "graph = csr_array((np.ones(500_000, np.int8), tuple(ends)), (100_000, 100_000))",
        "papers.maximum_bipartite_matching(graph)",
    ),
    "cut": (
        "source, sink, arcs = draw.integers(0, 100, (3, 300, 300))",
        "papers.grid_cut(source, sink, arcs)",
    ),
}
"""A call's input, and the call."""

PROGRAM = """
import time
import numpy as np
import papers
draw = np.random.default_rng(1)
{given}
{order}
begin = time.perf_counter()
{call}
print(time.perf_counter() - begin)
"""

ORDERS = {
    "during the import": "",
    "after the import": (
        "from papers.common.gpu.compiled import waking\nwaking.begin = lambda: None"
    ),
}
"""When the device's context is made, and the statement that makes it so."""

KEPT = {"PYTHONDONTWRITEBYTECODE": ""}
"""Variables with which Python keeps bytecode: without it all modules are compiled each time."""

SECONDS = 300
"""A process that takes longer has failed."""

Run = Callable[[str, Mapping[str, str]], float]


def rows(repeats: int, run: Run, home: Path) -> Iterator[dict[str, Any]]:
    """Yield a row a process.

    Parameters
    ----------
    repeats : int
        Processes that load what is kept, for each call and each of `ORDERS`.
    run : callable(program, environment) -> float
        Runs a program in a process of its own, with variables beside those that there are; returns
        the seconds that it prints. Several threads call it.
    home : Path
        An empty folder; each call keeps its kernels in a folder of its own there.
    """

    def row(name: str, kernels: str, order: str) -> dict[str, Any]:
        given, call = CALLS[name]
        program = PROGRAM.format(given=given, order=ORDERS[order], call=call)
        seconds = run(program, {store.VARIABLE: str(home / name)})
        told = {"call": name, "kernels": kernels, "context": order}
        return {**told, "seconds": round(seconds, 3)}

    with ThreadPoolExecutor(len(CALLS)) as threads:
        yield from threads.map(lambda name: row(name, "compiled", next(iter(ORDERS))), CALLS)
    for name in CALLS:
        for _ in range(repeats):
            for order in ORDERS:
                yield row(name, "loaded", order)


def printed(program: str, variables: Mapping[str, str] = MappingProxyType({})) -> str:
    """Run a program in a process of its own; returns its output.

    Raises
    ------
    subprocess.SubprocessError
        If it fails, or takes longer than `SECONDS`.
    """
    return subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, **KEPT, **variables},
        capture_output=True, text=True, check=True, timeout=SECONDS,
    ).stdout  # fmt: skip


def timed(program: str, variables: Mapping[str, str]) -> float:
    """Run a program that prints seconds; see `rows` and `printed`."""
    return float(printed(program, variables).split()[-1])


def about() -> dict[str, str]:
    """The code and the card that are measured."""
    card = next(iter(environment.gpus()), {}).get("name", "none")
    return {"code": environment.commit()[:12], "card": card}


def main(path: str, repeats: str = "3") -> None:
    """Write the table, anew behind each row."""
    here = about()
    with tempfile.TemporaryDirectory() as home:
        write(({**here, **row} for row in rows(int(repeats), timed, Path(home))), path)


if __name__ == "__main__":
    main(*asked(__doc__))
