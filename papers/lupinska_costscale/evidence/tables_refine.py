"""The tables of the heuristics and of the sequential algorithms: ratios by instance first.

See `tables`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pandas as pd

from papers.common.evidence.tables import Published
from papers.lupinska_costscale.evidence.codes import (
    OURS,
    SEQUENTIAL,
    VERSIONS,
    heuristics_of,
    options_of,
)
from papers.lupinska_costscale.evidence.tables import measured, order, with_options


def _by_instance(
    summary: pd.DataFrame,
    codes: Sequence[str],
    metrics: Sequence[str],
    select: Callable[[pd.DataFrame], pd.DataFrame],
    index: Sequence[str],
) -> pd.DataFrame:
    """Return times and counts side by side, a row for each of `index` and seed, C = 100.

    Parameters
    ----------
    summary, codes
        As in `measured`.
    metrics : sequence of str
        Counts that an answer has, ``pushes`` and ``relabels`` among them.
    select : callable(rows) -> rows
        Chooses by the options and adds columns of `index`.
    index : sequence of str
        The columns to keep.
    """
    found = pd.DataFrame()
    for metric, scope in (("time_ms", "run"), *((metric, "answer") for metric in metrics)):
        rows = measured(summary, codes, metric, scope)
        rows = select(rows[(rows["family"] == "uniform") & (rows["label"] == "101")])
        part = rows[[*index, "seed", "value"]].rename(columns={"value": metric})
        # The counts of a rival on the CPU have its device, too.
        found = part if metric == "time_ms" else found.merge(part, on=[*index, "seed"], how="left")
    return found.assign(operations=found["pushes"] + found["relabels"])


def _over(
    found: pd.DataFrame, column: str, value: str, suffix: str, metrics: Sequence[str]
) -> pd.DataFrame:
    """Add each metric over that of the row whose `column` is `value`, on the same seed."""
    at = [name for name in ("code", "cycle", "n", "source", "device", "seed") if name in found]
    base = found[found[column] == value].set_index(at)[list(metrics)].add_suffix("_base")
    both = found.join(base, on=at)
    names = {
        f"{metric.removesuffix('_ms')}_over_{suffix}": both[metric] / both[f"{metric}_base"]
        for metric in metrics
    }
    return found.assign(**names)


def heuristics(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Times and operations with each combination of the heuristics, over those with none.

    Ratios are of one seed, then medians over the seeds. ``time_over_both`` is over the author's
    combination. ``cycle`` is 0 for the sequential form, which has no ``launches``.
    """
    at = ["code", "cycle", "n", "source", "device", "heuristics"]

    def select(rows: pd.DataFrame) -> pd.DataFrame:
        rows = with_options(
            rows, ("price_updates", "arc_fixing"), cycle=lambda of: int(of.get("cycle", 0))
        )
        asked = [options_of(text) for text in rows["options"]]
        names = [heuristics_of(of) if "arc_fixing" in of else "" for of in asked]
        rows = rows.assign(heuristics=pd.Series(names, rows.index, object))
        return rows[rows["heuristics"] != ""]

    counts = ("pushes", "relabels", "price_updates", "arcs_fixed", "kernel_launches")
    found = _by_instance(summary, OURS, counts, select, at)
    found = found.rename(columns={"kernel_launches": "launches"})
    work = ("time_ms", "operations", "launches")
    found = _over(found, "heuristics", "none", "none", work)
    found = _over(found, "heuristics", "both", "both", work)
    columns = ["time_ms", "time_over_none", "time_over_both", "operations", "operations_over_none",
               "operations_over_both", "launches", "launches_over_none", "launches_over_both",
               "price_updates", "arcs_fixed"]  # fmt: skip
    table = found.groupby(at, sort=False)[columns].median().reset_index()
    return order(table, by=("code", "cycle", "n", "source", "heuristics"))


def versions(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Times and operations of the three sequential algorithms, over those of the author's.

    Ratios are of one seed, then medians over the seeds.
    """
    index = ["n", "source", "device", "version"]

    def select(rows: pd.DataFrame) -> pd.DataFrame:
        rows = with_options(rows, ("price_updates", "arc_fixing"), version=lambda of: of["version"]
                            if "version" in of and heuristics_of(of) == "none" else "")  # fmt: skip
        return rows[rows["version"] != ""]

    found = _by_instance(summary, (SEQUENTIAL,), ("pushes", "relabels"), select, index)
    found = _over(found, "version", VERSIONS[-1], "own", ("time_ms", "operations"))
    columns = ["time_ms", "time_over_own", "operations", "operations_over_own"]
    table = found.groupby(index, sort=False)[columns].median().reset_index()
    return order(table, by=("n", "version"))
