"""Counts on the authors' own matrices: the stream of their program, and the totals that it states.

A comment of the program's first release gives the largest total for 21 matrices. On each of them
every code here has to find that total; and all codes have to find equal totals, initial zeros and
dual updates. Which matching of the zeros step 2 finds, and so the number of searches, is left to
chance on a GPU.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import pandas as pd

from papers.common.evidence import tables
from papers.common.evidence.comparisons import correct, count, not_measured
from papers.common.evidence.tables import NOT_MEASURED, Published, beside, joined
from papers.common.model import Cell, Comparison, Experiment, Instance, Plan
from papers.lopes2019.evidence.tables import AS_PRINTED, LABELS

FAMILY = "lopes_authors"
ALL_THREE = 1024
"""The largest n of which more than the program's first matrix is solved."""


class Code(NamedTuple):
    """A code: its solver, its options, and the largest n that it solves here."""

    solver: str
    options: tuple[tuple[str, Any], ...]
    largest: int

    @property
    def text(self) -> str:
        """The options as a summary has them."""
        return ",".join(f"{key}={value}" for key, value in self.options)


_MAXIMIZE = (("maximize", True),)
CODES = {
    "kernels as printed": Code(
        "lopes2019:gpu", (*AS_PRINTED, *_MAXIMIZE), 8192
    ),
    "kernels": Code("lopes2019:gpu", _MAXIMIZE, 8192),
    "C": Code("lopes2019:cpu_c", _MAXIMIZE, 2048),
    "our O(n^4)": Code("lopes2019:cpu_o4", _MAXIMIZE, 4096),
}  # fmt: skip
"""The codes by their names in the table; the first release maximizes."""

SIZES = {"smoke": (128,), "quick": (128, 256, 512), "paper": tuple(128 << k for k in range(7))}
EXECUTOR = {"smoke": (8,), "quick": (16, 32), "paper": (16, 32)}
COUNTERS = ("zeros_initial", "matches_initial", "iterations_step_3", "iterations_step_4",
            "iterations_step_5", "iterations_step_6", "cost")  # fmt: skip
SAME = {"cost": "totals", "zeros_initial": "initial zeros", "iterations_step_6": "dual updates"}
"""The counters that are equal in all codes, in words."""


def cells(plan: Plan) -> list[Cell]:
    """Plan the authors' matrices: three of each kind where they are small, else the first.

    A seed is the number of a matrix; there is none of number 0.
    """
    numbers = [seed for seed in plan.seeds if seed > 0]
    return [
        Cell(code.solver, Instance(FAMILY, n, label, seed=seed), ("run",), code.options)
        for code in CODES.values()
        for n in _sizes(plan, code)
        for label in LABELS
        for seed in (numbers if n <= ALL_THREE else numbers[:1])
    ]


def _sizes(plan: Plan, code: Code) -> list[int]:
    """Return the sizes of a code; kernels without a GPU take the executor's, and so do the rest."""
    small = () if plan.gpu else EXECUTOR[plan.preset]
    if not plan.gpu and code.solver == "lopes2019:gpu":
        return list(small)
    return [*small, *(n for n in SIZES[plan.preset] if n <= code.largest)]


def table(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return the counts of every code on every matrix, beside the total that the authors state.

    Returns
    -------
    DataFrame
        ``n``, ``cost_range``, ``matrix`` (its number in the stream), ``code``, ``source``,
        ``published_total``, then `COUNTERS`.
    """
    printed = published("authors_totals")[["n", "cost_range", "total"]]
    printed = printed.rename(columns={"total": "published_total"}).assign(seed=1)
    parts = []
    for name, code in CODES.items():
        rows = {
            metric: tables.by_seed(summary, code.solver, metric, "answer", code.text, FAMILY)
            for metric in ("cost", *COUNTERS[:-1])
        }
        parts.append(joined(rows).assign(code=name))
    measured = pd.concat(parts, ignore_index=True)
    found = beside(printed, measured, ["n", "cost_range", "seed"]).rename(
        columns={"seed": "matrix"}
    )
    found = tables.order(found, ("n", "cost_range", "matrix"), ranked={"cost_range": LABELS})
    return found[
        ["n", "cost_range", "matrix", "code", "source", "published_total", *COUNTERS]
    ]  # fmt: skip


def verdicts(table: pd.DataFrame) -> list[Comparison]:
    """Compare the totals with those of the authors, then all codes with one another."""
    rows = table[table["source"] != NOT_MEASURED].dropna(subset=["cost"])
    found: list[Comparison] = []
    for _, mine in rows.groupby("source", sort=False):
        found += _totals(mine) + _equal(mine)
    return found or not_measured("the totals that the authors state", "count")


def _totals(rows: pd.DataFrame) -> list[Comparison]:
    """Compare one total a matrix; that all codes have the same one is another comparison."""
    known = rows.dropna(subset=["published_total"]).drop_duplicates(["n", "cost_range"])
    return [
        count(
            f"largest total, n={row.n} range {row.cost_range}",
            int(row.published_total), int(row.cost),
        )
        for row in known.itertuples(index=False)
    ]  # fmt: skip


def _equal(rows: pd.DataFrame) -> list[Comparison]:
    """Check that the codes which solved a matrix have counted alike."""
    matrices = rows.groupby(["n", "cost_range", "matrix"], sort=False)
    several = matrices["code"].nunique() > 1
    found = []
    for counter, words in SAME.items():
        alike = (matrices[counter].nunique(dropna=False) == 1)[several]
        if len(alike):
            first = "" if alike.all() else "first: n={} range {} matrix {}".format(*alike.idxmin())
            found.append(
                correct(
                    f"matrices of {len(alike)} on which the {words} of all codes are equal",
                    len(alike), int(alike.sum()), bool(alike.all()), first,
                )
            )  # fmt: skip
    return found


EXPERIMENT = Experiment(
    name="authors_stream", title="Counts on the matrices of the authors' program", kind="table",
    cells=cells, table=table, compare=verdicts,
)  # fmt: skip
