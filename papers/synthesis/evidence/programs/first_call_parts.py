"""The parts of a process' first call, one after the other: ``first_call_parts.csv``.

``python -m papers.synthesis.evidence.programs.first_call_parts FILE [REPEATS]`` measures anew, on a
machine with a GPU: a call of `linear_sum_assignment` on int32 costs of n = 1000 whose kernels are
kept. Each process does by itself, in the call's order, what the call would do, and then calls. As
in `first_call` half of the processes, by turns, begin with the context after Numba's import.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from papers.synthesis.evidence.programs.first_call import (
    CALLS,
    ORDERS,
    PROGRAM,
    about,
    printed,
    timed,
)
from papers.synthesis.evidence.programs.table import asked, write

PARTS = {
    "modules of the call": "import papers.synthesis.calls.assignment",
    "import numba": "waking.begin()\nwith waking.uncollected(): import numba",
    "import numba.cuda": "with waking.uncollected(): import numba.cuda",
    "the driver's start": "device.gpu_present()",
    "the context": "device.describe()",
    "modules of the solver": "from papers.synthesis.calls.one_matrix import _dense; _dense()",
    "the call": CALLS["int32"][1],
}
"""Names of the parts, and the statements that they are."""

STEPS = """
import time
import numpy as np
import papers
from papers.common.gpu import device
from papers.common.gpu.compiled import waking
draw = np.random.default_rng(1)
{given}
{order}
for name, statement in {parts}.items():
    begin = time.perf_counter()
    exec(statement)
    print(name, time.perf_counter() - begin, sep=",")
"""


def rows(repeats: int, run: Callable[[str], str]) -> Iterator[dict[str, Any]]:
    """Yield a row a part of each process.

    Parameters
    ----------
    repeats : int
        Processes of each of `ORDERS`.
    run : callable(program) -> str
        Runs a program in a process of its own, and returns what it prints.
    """
    for process in range(1, repeats + 1):
        for order, statement in ORDERS.items():
            given = STEPS.format(given=CALLS["int32"][0], order=statement, parts=PARTS)
            for line in run(given).splitlines():
                part, seconds = line.split(",")
                told = {"context": order, "process": process, "part": part}
                yield {**told, "seconds": round(float(seconds), 3)}


def main(path: str, repeats: str = "2") -> None:
    """Write the table, once the kernels are kept."""
    timed(PROGRAM.format(given=CALLS["int32"][0], order="", call=CALLS["int32"][1]), {})
    here = about()
    write(({**here, **row} for row in rows(int(repeats), printed)), path)


if __name__ == "__main__":
    main(*asked(__doc__))
