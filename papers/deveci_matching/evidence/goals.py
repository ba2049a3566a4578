"""Checks of correctness and goals of our own: they are no comparisons with print."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pandas as pd

from papers.common.evidence import comparisons
from papers.common.evidence.comparisons import correct, goal, not_measured
from papers.common.evidence.tables import NOT_MEASURED
from papers.common.gpu.device import EXECUTOR_NAME
from papers.common.model import Comparison
from papers.deveci_matching.evidence.codes import BEYOND, EXCLUDED, TUNED, VARIANTS
from papers.deveci_matching.evidence.tables import geometric_mean


def on_gpu(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that were measured with a GPU."""
    if table.empty:
        return table
    return table[(table["source"] != NOT_MEASURED) & (table["device"] != EXECUTOR_NAME)]


def counts(table: pd.DataFrame) -> list[Comparison]:
    """Check that all codes start alike and find matchings of one size, the known one if any."""
    found = []
    for (_, kind), rows in table.groupby(["source", "kind"], sort=False):
        equal = int(rows["equal"].sum())
        known = int(rows["known"].notna().sum())
        found.append(
            correct(
                f"{kind} graphs on which all codes find the maximum, known on {known}",
                len(rows), equal, equal == len(rows),
            )
        )  # fmt: skip
        alike = int(rows["same_start"].sum())
        found.append(
            correct(
                f"{kind} graphs on which all codes start from as many pairs",
                len(rows), alike, alike == len(rows),
            )
        )  # fmt: skip
        for row in rows[~rows["equal"]].itertuples(index=False):
            found.append(
                correct(
                    f"matching size of {row.name} {row.ordering}", row.known,
                    row.cardinality, False,
                )
            )  # fmt: skip
    return found or not_measured("matching sizes", "correctness")


GOALS = {"best variant": 3.0, BEYOND: 1.0}
"""The largest allowed multiples of ECL-MM's time."""


def _goal(graph: str, rows: pd.DataFrame) -> Iterable[Comparison]:
    ours = rows[rows["start"] == EXCLUDED].drop_duplicates("code").set_index("code")["over_ecl_mm"]
    eight = ours.reindex([*VARIANTS, TUNED]).dropna()
    values = {"best variant": eight.min(), BEYOND: ours.get(BEYOND)}
    notes = {"best variant": str(eight.idxmin()) if len(eight) else "", BEYOND: ""}
    for name, bound in GOALS.items():
        if not comparisons.missing(values[name]):
            value = round(float(values[name]), 4)
            yield goal(f"{name} over ECL-MM, {graph}", value, at_most=bound, note=notes[name])


def peers(table: pd.DataFrame) -> list[Comparison]:
    """Check our goals beside ECL-MM on the same card: the clock excludes upload and start."""
    found: list[Comparison] = []
    ours = on_gpu(table)
    goals = {f"{name}_s1" for name in ("uniform_n100000_d4", "uniform_n1000000_d3",
                                       "skew_n1000000_d8")}  # fmt: skip
    if len(ours):
        ours = ours[ours["graph"].isin(goals)]
    for (_, graph), rows in ours.groupby(["source", "graph"], sort=False):
        found += _goal(str(graph), rows)
    return found or not_measured("our time over ECL-MM's on one card", "goal")


FASTER_THAN_SCIPY = 1000.0
"""The goal on copter2: SciPy takes minutes, and our slowest code tenths of a second."""


def copter2(table: pd.DataFrame) -> list[Comparison]:
    """Check that even the slowest of our codes is a thousand times faster than SciPy."""
    found = []
    for (_, ordering), rows in on_gpu(table).groupby(["source", "ordering"], sort=False):
        slowest = rows.loc[rows["scipy_over_ours"].idxmin()]
        found.append(
            goal(
                f"SciPy over the slowest of our codes on copter2, {ordering}",
                float(slowest["scipy_over_ours"]), at_least=FASTER_THAN_SCIPY,
                note=f"{slowest['code']}; SciPy's time is "
                + ("exact" if slowest["bound"] == "exact" else "a lower bound"),
            )
        )  # fmt: skip
    return found or not_measured("copter2", "goal")


def _in_the_mean(column: str, what: str) -> Callable[[pd.DataFrame], list[Comparison]]:
    """Check a goal of ours: in the geometric mean, a ratio is at most 1 for each ordering."""

    def verdicts(table: pd.DataFrame) -> list[Comparison]:
        found = []
        for (_, ordering), rows in on_gpu(table).groupby(["source", "ordering"], sort=False):
            ratios = rows[column].dropna()
            if len(ratios):
                mean = round(geometric_mean(ratios), 4)
                found.append(goal(f"{what}, geometric mean, {ordering}", mean, at_most=1))
        return found or not_measured(what, "goal")

    return verdicts


beyond = _in_the_mean("beyond_over_best", "beyond over the best of the eight")
