"""The growth of the speedup over a CPU code with the columns, on graphs of one law.

Graphs of one family and stand-ins of one matrix were measured at several sizes, all else alike: the
slope of log speedup over log columns is the family's exponent. A launch makes the host wait
whatever its size, and a CPU's edges leave its cache as the graph grows; the exponent has both.

A speedup in print, on matrices of its sizes, becomes one that we expect on graphs of ours by two
measured factors: the columns' ratio to the power of the mean exponent, and the two machines, by the
graphs that print and the record have both at print's size. The matrices at hand, which have no law
in common, give the exponent a second time: `compare` fails where it is another one, and no figure
rests on it there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pandas as pd

from papers.common.evidence import comparisons
from papers.common.evidence.comparisons import not_measured, predicted
from papers.common.evidence.tables import Published
from papers.common.gpu.device import EXECUTOR_NAME
from papers.common.model import Cell, Comparison, Plan
from papers.deveci_matching.evidence import at_size, profiles, sets, tables
from papers.deveci_matching.evidence.causes.classes import LEAST
from papers.deveci_matching.evidence.codes import BEST, SEQUENTIAL, cell
from papers.deveci_matching.evidence.tables import (
    column_of,
    geometric_mean,
    measured,
    side_by_side,
)

CODES = (*SEQUENTIAL, "P-DBFS")
"""The codes of Table 2 beside the GPU's."""

FAMILIES = 5
"""The least number of families whose mean exponent counts."""

TWICE = 2.0
"""The least ratio of a family's largest to its smallest graph; and the number of standard errors by
which an exponent must differ from 0."""

DRAWN = 3
"""The least number of graphs at print's size that tell how the two machines differ."""

ALL, AT_HAND = "mean of the families", "matrices at hand"

COLUMNS = ["what", "ordering", "code", "source", "device", "graphs", "exponent", "error"]


def cells(plan: Plan) -> list[Cell]:
    """Return the cells of the codes on all graphs that are drawn: cells of other experiments."""
    drawn = sets.generated(sets.SIZES[plan.preset], plan.seeds[0]) if plan.gpu else []
    found = [cell(code, graph) for graph in drawn for code in (BEST, *CODES)]
    return found + at_size.full_size(plan) + at_size.stand_ins(plan)


def table(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return exponents of the GPU's speedup in the columns, a row a family, ordering and CPU code.

    ``error`` is the standard error of the means over families and of the fit to the matrices.
    """
    wide = side_by_side(measured(summary))
    wide = wide[(wide["n"] >= LEAST) & (wide["device"] != EXECUTOR_NAME)]
    wide = wide.assign(family=_family(wide)).sort_values("seed", kind="stable")
    wide = wide.drop_duplicates(["source", "name", "n", "ordering"])
    rows = []
    for (source, device, ordering), mine in wide.groupby(["source", "device", "ordering"]):
        for code in CODES:
            known = mine.dropna(subset=[code, BEST])
            for what, *figures in _exponents(known, known[code] / known[BEST]):
                rows.append((what, ordering, code, source, device, *figures))
    return pd.DataFrame(rows, columns=COLUMNS)


def _family(rows: pd.DataFrame) -> pd.Series:
    """Return a generated graph's family, a stand-in's name, and ``""`` for others."""
    stems = rows["name"].str.replace(r"(_n[\d_]+(s0)?|-logn\d+)$", "", regex=True)
    return stems.where(rows["kind"].isin((sets.GENERATED, sets.STAND_IN)), "")


def _exponents(rows: pd.DataFrame, speedups: pd.Series) -> Iterator[tuple[str, int, float, float]]:
    """Yield what, its graphs, exponent and error: each family, their mean, the matrices."""
    found = []
    for family, mine in rows[rows["family"] != ""].groupby("family"):
        if mine["n"].max() >= TWICE * mine["n"].min():
            exponent = comparisons.slope(mine["n"].tolist(), speedups[mine.index].tolist())
            found.append(float("nan") if exponent is None else exponent)
            yield str(family), len(mine), found[-1], float("nan")
    if len(found) >= FAMILIES:
        yield (
            ALL,
            len(found),
            float(np.mean(found)),
            float(np.std(found, ddof=1)) / len(found) ** 0.5,
        )
    real = rows[rows["kind"] == sets.REAL]
    if len(real) >= FAMILIES:
        x, y = np.log(real["n"].to_numpy(float)), np.log(speedups[real.index].to_numpy(float))
        (slope, _), covariance = np.polyfit(x, y, 1, cov=True)
        yield AT_HAND, len(real), float(slope), float(covariance[0, 0] ** 0.5)


def compare(found: pd.DataFrame) -> list[Comparison]:
    """Judge the exponent of the families by that of the matrices at hand."""
    judged = []
    for (ordering, code), rows in found.groupby(["ordering", "code"], sort=False):
        ours, again = _twice(rows)
        if not math.isnan(ours) and not math.isnan(again):
            bounds = ours - comparisons.EXPONENT, ours + comparisons.EXPONENT
            what = f"exponent of {code} over GPU in the columns, {ordering} matrices at hand"
            judged.append(predicted(what, *bounds, round(again, 3)))
    return judged or not_measured("the growth of speedups", "model")


def _twice(rows: pd.DataFrame) -> tuple[float, float]:
    """Return the exponent of the families and that of the matrices at hand, NaN without one."""
    known = rows.set_index("what")["exponent"]
    first, again = (known.get(what, math.nan) for what in (ALL, AT_HAND))
    return float(first), float(again)


def is_trusted(rows: pd.DataFrame) -> bool:
    """Whether both measurements of an exponent agree; one without a second is not trusted.

    Parameters
    ----------
    rows : DataFrame
        Rows of `table` of one source, ordering and code.
    """
    ours, again = _twice(rows)
    return abs(ours - again) <= comparisons.EXPONENT


# ------------------------------------------------------------------------------- expected


def machines(summary: pd.DataFrame, published: Published) -> pd.Series:
    """Return our speedup over print's at print's sizes: geometric means over the drawn graphs.

    Returns
    -------
    Series of float
        By source, ordering and code; of `DRAWN` graphs at least.
    """
    rows = tables.full_size(summary, published)
    rows = rows[rows["n"].notna()]
    found = {}
    for (source, ordering), mine in rows.groupby(["source", "ordering"]):
        for code in CODES:
            name = column_of(code)
            theirs = mine[f"published_{name}"] / mine["published_gpu_s"]
            ratios = (mine[column_of(code, "over_gpu")] / theirs).dropna()
            if len(ratios) >= DRAWN:
                found[source, ordering, code] = geometric_mean(ratios)
    index = pd.MultiIndex.from_tuples(list(found), names=["source", "ordering", "code"])
    return pd.Series(list(found.values()), index, float) if found else pd.Series(dtype=float)


def factors(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return the factor from print's speedups to those that we expect, a row a set and CPU code.

    Only of the sets whose members print names, where the mean exponent `is_trusted` and differs
    from 0 by `TWICE` its standard error, and where the columns alone move a speedup by more than
    the tolerance of a ratio, the way that columns and machines move it together: else size is not
    the cause.

    Returns
    -------
    DataFrame
        ``source instance_set over factor``.
    """
    found, keys = table(summary, published), ["source", "ordering", "code"]
    trusted = {key for key, rows in found.groupby(keys) if is_trusted(rows)}
    found = found[(found["what"] == ALL) & (found["exponent"].abs() > TWICE * found["error"])]
    exponents = found.set_index(keys)["exponent"]
    exponents = exponents[[key in trusted for key in exponents.index]]
    by_machine = machines(summary, published)
    of_print = geometric_mean(sets.twenty()["columns"])
    rows = []
    for source, _, graphs in tables.by_source(summary):
        rebuilt = sets.rebuilt(graphs)
        for name, ordering in (("O_Hardest20", sets.ORIGINAL), (sets.TWINS, sets.PERMUTED)):
            for code in CODES:
                key = source, ordering, code
                members = rebuilt[name].dropna(subset=[code])
                if key in exponents.index and key in by_machine.index and len(members):
                    fewer = geometric_mean(members["n"]) / of_print
                    by_size = fewer ** exponents[key]
                    factor = by_size * by_machine[key]
                    moved = max(by_size, 1 / by_size) > comparisons.FACTOR
                    if moved and (by_size < 1) == (factor < 1):
                        rows.append((source, name, code, factor))
    return pd.DataFrame(rows, columns=["source", "instance_set", "over", "factor"])


def speedups(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return Figure 5's expected speedups: ``source instance_set over expected_speedup``."""
    found = factors(summary, published)
    printed = profiles.fig_5(summary.iloc[:0], published)
    printed = printed[["instance_set", "over", "published_speedup"]]
    both = found.merge(printed, on=["instance_set", "over"])
    both["expected_speedup"] = both.pop("published_speedup") * both.pop("factor")
    return both


def shares(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return Figure 3's expected shares for the GPU's code, of print's twenty speedups each.

    Returns
    -------
    DataFrame
        ``source instance_set log2_speedup over``, ``expected_GPU``, and ``expected_GPU_low`` and
        ``expected_GPU_high`` with the factor divided and multiplied by the tolerance of a ratio.
    """
    rows = []
    for each in factors(summary, published).itertuples(index=False):
        if each.over not in SEQUENTIAL:
            continue
        ordering = sets.ORIGINAL if each.instance_set == "O_Hardest20" else sets.PERMUTED
        printed = tables.printed_times(published)
        printed = printed[printed["ordering"] == ordering]
        ratios = printed[f"published_{column_of(each.over)}"] / printed["published_gpu_s"]
        for x in profiles.LOG_2:
            low, ours, high = (
                float((ratios * each.factor * apart >= 2.0**x).mean())
                for apart in (1 / comparisons.FACTOR, 1.0, comparisons.FACTOR)
            )
            rows.append((each.source, each.instance_set, x, each.over, ours, low, high))
    columns = ["source", "instance_set", "log2_speedup", "over", "expected_GPU",
               "expected_GPU_low", "expected_GPU_high"]  # fmt: skip
    return pd.DataFrame(rows, columns=columns)


def claims(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return the expected numbers of the text: ``source id expected_measured``."""
    found = speedups(summary, published)
    found = found[(found["instance_set"] == "O_Hardest20") & (found["over"] == "HK")]
    found = found.rename(columns={"expected_speedup": "expected_measured"}).assign(id="DE-g")
    return found[["source", "id", "expected_measured"]]
