"""From measurements to the assignment's tables: what stands beside what.

Every function takes the run's summary (one row a cell and metric, see
`papers.reproduce.run.measurements`) and the loader of the published numbers, and returns a tidy
table. Rows of the present run and of every recorded run stand below each other, told apart by
``source``. Print has one time, so most columns are ours; seconds where print has seconds, else
milliseconds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from papers.common.evidence import tables
from papers.common.evidence.tables import NOT_MEASURED, Published
from papers.lupinska_costscale.evidence.codes import (
    ALPHA,
    BATCH,
    CLAIMED_C,
    CLAIMED_N,
    CYCLE_ASSIGNMENT,
    CYCLE_FLOW,
    HEURISTICS,
    HYBRID,
    LOCK_FREE,
    LOOP,
    ONE_LAUNCH,
    OURS,
    RIVALS,
    SCIPY,
    SOLVER_OF,
    TUNED,
    code_of,
    options_of,
)

INSTANCE = ["family", "n", "label", "seed"]
"""The columns that tell one instance from another."""

order = partial(tables.order, ranked={"code": tuple(SOLVER_OF), "heuristics": tuple(HEURISTICS)})

# ------------------------------------------------------------------------------- from a summary


def measured(
    summary: pd.DataFrame,
    codes: Sequence[str],
    metric: str = "time_ms",
    scope: str = "run",
) -> pd.DataFrame:
    """Return one metric of some codes, a row a cell.

    Parameters
    ----------
    summary : DataFrame
        Columns `papers.reproduce.run.measurements.SUMMARY`.
    codes : sequence of str
        Keys of `SOLVER_OF`.
    metric, scope : str
        Those that the rows must have.

    Returns
    -------
    DataFrame
        ``source``, ``device``, ``code``, `INSTANCE`, ``options`` (the text of the measurement),
        ``value`` (the median), ``values`` (the repetitions), ``count``.
    """
    rows = summary[(summary["scope"] == scope) & (summary["metric"] == metric)]
    texts = rows["options"].fillna("").astype(str)
    asked = [code_of(*pair) for pair in zip(rows["solver"].astype(str), texts, strict=True)]
    rows = rows.assign(
        code=pd.Series([code for code, _ in asked], rows.index, object),
        options=pd.Series([options for _, options in asked], rows.index, object),
        value=rows["median"],
    )
    columns = ["source", "device", "code", *INSTANCE, "options", "value", "values", "count"]
    return rows.loc[rows["code"].isin(list(codes)), columns].reset_index(drop=True)


def with_options(
    rows: pd.DataFrame, ignored: Iterable[str] = (), **asked: Callable[[dict[str, str]], Any]
) -> pd.DataFrame:
    """Keep the rows whose options are among those asked for or ignored; add a column for each.

    Parameters
    ----------
    rows : DataFrame
        As from `measured`.
    ignored : iterable of str
        Options that may be there and make no difference to the table.
    **asked : callable(options) -> value
        Names of the columns, each with what makes its value of the options. An option that is
        neither one of these nor ignored drops the row.
    """
    options = [options_of(text) for text in rows["options"]]
    allowed = {*ignored, *asked}
    keep = [set(of) <= allowed for of in options]
    columns = {
        name: pd.Series([make(of) for of in options], rows.index, object)
        for name, make in asked.items()
    }
    return rows.assign(**columns)[pd.Series(keep, rows.index, bool)].reset_index(drop=True)


def _exactly(rows: pd.DataFrame, names: set[str]) -> pd.DataFrame:
    """Keep the rows that were measured with these options and no others."""
    keep = [set(options_of(text)) == names for text in rows["options"]]
    return rows[pd.Series(keep, rows.index, bool)].reset_index(drop=True)


def with_counts(
    rows: pd.DataFrame, summary: pd.DataFrame, codes: Sequence[str], **columns: Sequence[str]
) -> pd.DataFrame:
    """Add sums of an answer's counters to the rows of `measured`, a column for each name.

    A column is NaN in rows whose answers lack one of its counters.
    """
    at = ["source", "code", *INSTANCE, "options"]
    for column, metrics in columns.items():
        total = pd.Series(0.0, rows.index)
        for metric in metrics:
            part = measured(summary, codes, metric, "answer")[[*at, "value"]]
            part = part.rename(columns={"value": metric}).drop_duplicates(at)
            total = total + rows.merge(part, on=at, how="left")[metric].to_numpy(float)
        rows = rows.assign(**{column: total})
    return rows


def plain(rows: pd.DataFrame) -> pd.DataFrame:
    """Keep what was measured with a solver's own options, whichever way it optimized."""
    return with_options(rows, ("maximize",))


def largest_cost(rows: pd.DataFrame) -> pd.Series:
    """Return C: the label of `uniform` is the number of costs, 0 among them."""
    return rows["label"].astype(int) - 1 if len(rows) else pd.Series([], rows.index, dtype=int)


def over_seeds(rows: pd.DataFrame, index: Sequence[str], value: str = "value") -> pd.DataFrame:
    """Return the median over the seeds, and how many there were, a row for each of `index`."""
    grouped = rows.groupby(list(index), sort=False, dropna=False)["value"]
    found = grouped.agg(["median", "size"]).reset_index()
    return found.rename(columns={"median": value, "size": "seeds"})


def spread(rows: pd.DataFrame) -> pd.Series:
    """Return the longest over the shortest repetition of each row; 1 of a single one."""
    return pd.Series([max(of) / min(of) for of in rows["values"]], rows.index, float)


UNSTEADY = 1.5
"""From this `spread` on a cell's median says little: the machine was disturbed, or the cell has two
modes."""


def geometric_mean(values: Iterable[float]) -> float:
    """Geometric mean of the positive values; NaN of nothing."""
    logs = [math.log(value) for value in values if value > 0]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan


# ------------------------------------------------------------------------------- the claim


def claim_small(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Times in seconds by n and C beside the one that the paper prints, where it speaks of them.

    ``share`` is the slower of the two scopes over print's time: at most 1 keeps the claim.
    """
    constants = published("constants").set_index("name")["value"]
    seconds = float(constants["run_time"])
    index = ["code", "n", "C", "source", "device"]
    parts = []
    for scope, column in (("run", "run_s"), ("end_to_end", "end_to_end_s")):
        rows = measured(summary, (*OURS, TUNED, ONE_LAUNCH, SCIPY), scope=scope)
        rows = with_options(rows[rows["family"] == "uniform"], maximize=_true("maximize"))
        rows = rows[rows["maximize"].astype(bool)]
        rows = rows.assign(C=largest_cost(rows), value=rows["value"] / 1e3)
        parts.append(over_seeds(rows, index, column).drop(columns="seeds"))
    table = parts[0].merge(parts[1], on=index, how="outer")
    claimed = (table["n"] <= CLAIMED_N) & (table["C"] <= CLAIMED_C)
    table["published_s"] = np.where(claimed, seconds, np.nan)
    table["share"] = table[["run_s", "end_to_end_s"]].max(axis=1) / table["published_s"]
    table = order(table, by=("code", "C", "n"))
    return table[["code", "C", "n", "source", "device", "published_s", "run_s", "end_to_end_s",
                  "share"]]  # fmt: skip


def _true(name: str) -> Callable[[dict[str, str]], bool]:
    return lambda options: options.get(name) == "True"


def claim_large(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Times in ms against n, a column a code, and our kernel's over the fastest other's.

    Maximum and minimum take alike long on uniform costs; only minima are compared here. The ratio
    is of one seed, then the median over the seeds. ``unsteady`` names the codes whose repetitions
    lie far apart, with their `spread`.
    """
    rows = measured(summary, (*OURS, TUNED, *RIVALS, SCIPY))
    rows = with_options(rows[(rows["family"] == "uniform") & (rows["label"] == "101")])
    columns = [*OURS, TUNED, *RIVALS, SCIPY]
    at = ["source", "n"]
    wide = rows.pivot(index=[*at, "seed"], columns="code", values="value").reindex(columns=columns)
    others = [code for code in columns if code not in (LOCK_FREE, TUNED)]
    wide["over_fastest"] = wide[LOCK_FREE] / wide[others].min(axis=1)
    table = wide.groupby(at, sort=False).median().reset_index()
    table.columns.name = None
    table["unsteady"] = _unsteady(rows, table)
    table["fastest"] = [
        row.dropna().astype(float).idxmin() if row.notna().any() else ""
        for _, row in table[[LOCK_FREE, *others]].iterrows()
    ]
    devices = rows[rows["code"] == LOCK_FREE].drop_duplicates("source").set_index("source")
    table["device"] = table["source"].map(devices["device"].to_dict()).astype(object).fillna("")
    table = order(table, by=("n",))
    return table[["n", "source", "device", *columns, "fastest", "over_fastest", "unsteady"]]


def _unsteady(rows: pd.DataFrame, table: pd.DataFrame) -> list[str]:
    far = rows.assign(spread=spread(rows)).groupby(["source", "n", "code"], sort=False)["spread"]
    found: dict[tuple[str, int], list[str]] = {}
    for (source, n, code), most in far.max().items():
        if most >= UNSTEADY:
            found.setdefault((source, n), []).append(f"{code} {most:.1f}x")
    keys = zip(table["source"], table["n"], strict=True)
    return [", ".join(found.get(key, [])) for key in keys]


# ------------------------------------------------------------------------------- operations


def operations(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Pushes and relabels by n and C, and the operations of a refine over the bound n^2 m.

    As the bound's n stand the 2 n nodes and as m the n^2 edges of a complete graph. A refine begins
    with a unit on every node of one side, so it pushes at least n times: ``pushes_a_node`` is at
    least 1. ``published_refines`` are those of the loop of [LU11 Alg.5.0] with print's constants:
    from C, a tenth each, until less than one over the 2 n nodes is left.
    """
    index = ["code", "n", "C", "source"]
    parts: list[pd.DataFrame] = []
    for metric in ("pushes", "relabels", "refines"):
        rows = measured(summary, OURS, metric, "answer")
        rows = plain(rows[rows["family"] == "uniform"])
        rows = rows.assign(C=largest_cost(rows))
        parts.append(over_seeds(rows, index, metric).drop(columns="seeds"))
    table = parts[0].merge(parts[1], on=index).merge(parts[2], on=index)
    # C / 10^k is less than 1 / (2 n) first where k is the number of digits of 2 n C.
    table["published_refines"] = [
        len(str(2 * n * C)) for n, C in zip(table["n"], table["C"], strict=True)
    ]
    table["operations"] = table["pushes"] + table["relabels"]
    table["a_refine"] = table["operations"] / table["refines"]
    table["pushes_a_node"] = table["pushes"] / table["refines"] / table["n"]
    table["bound"] = 4.0 * table["n"] ** 4
    table["share"] = table["a_refine"] / table["bound"]
    table = order(table, by=("code", "C", "n"))
    return table[["code", "C", "n", "source", "published_refines", "refines", "pushes", "relabels",
                  "operations", "a_refine", "pushes_a_node", "bound", "share"]]  # fmt: skip


# ------------------------------------------------------------------------------- constants


def _sweep(
    rows: pd.DataFrame, option: str, theirs: Callable[[str], int], same: Sequence[str], work: str
) -> pd.DataFrame:
    """Return times by the value of one option, over that of the author's value.

    Parameters
    ----------
    rows : DataFrame
        As from `measured`; those without the option as their only one are left out.
    option : str
    theirs : callable(code) -> int
        The author's value.
    same : sequence of str
        Columns that name what is swept, ``code`` among them.
    work : str
        The column of a count, from `with_counts`.

    Returns
    -------
    DataFrame
        `same`, ``source``, ``device``, the option's value, ``published_best``, ``time_ms``,
        ``over_published`` (geometric mean over the seeds of the time over that of the author's
        value), ``seeds``, ``spread`` (the largest `spread` of its cells), `work` (the median), and
        that over the author's as ``<work>_over_published``.
    """
    rows = _exactly(rows, {option})
    rows = with_options(rows, (), **{option: lambda of: int(of[option])})
    rows["published_best"] = [theirs(code) for code in rows["code"]]
    index = list(dict.fromkeys([*same, "source", "device"]))
    at = [*index, "family", "seed"]
    base = rows[rows[option] == rows["published_best"]][[*at, "value", work]]
    rows = rows.merge(base, on=at, how="left", suffixes=("", "_base"))
    rows = rows.assign(
        ratio=rows["value"] / rows["value_base"],
        work_ratio=rows[work] / rows[f"{work}_base"],
        spread=spread(rows),
    )
    grouped = rows.groupby([*index, option, "published_best"], sort=False)
    found = grouped.agg(
        time_ms=("value", "median"), over_published=("ratio", geometric_mean),
        seeds=("seed", "nunique"), spread=("spread", "max"),
        **{work: (work, "median"), f"{work}_over_published": ("work_ratio", geometric_mean)},
    ).reset_index()  # fmt: skip
    found[option] = found[option].astype("int64") if len(found) else found[option]
    return order(found, by=("code", *[name for name in same if name != "code"], option))


def alpha(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Time and operations by ALPHA, and over those of 10, the author's."""
    rows = with_counts(measured(summary, OURS), summary, OURS, operations=("pushes", "relabels"))
    rows = rows[(rows["family"] == "uniform") & (rows["label"] == "101")]
    return _sweep(rows, "alpha", lambda code: ALPHA, ("code", "n"), "operations")


def cycle(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Time and launches by CYCLE of either kernel, and over those of the author's value."""
    best = {HYBRID: CYCLE_FLOW, LOCK_FREE: CYCLE_ASSIGNMENT}
    codes = tuple(best)
    rows = with_counts(measured(summary, codes), summary, codes, launches=("kernel_launches",))
    rows = rows.assign(instance=rows["label"].where(rows["code"] == HYBRID, "costs up to 100"))
    return _sweep(rows, "cycle", best.__getitem__, ("code", "instance", "n"), "launches")


# ------------------------------------------------------------------------------- many


def single(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """One assignment by the paper's kernel, by a batch of one, and by SciPy, in ms."""
    index = ["code", "n", "source", "device"]
    parts = []
    for scope, column in (("run", "run_ms"), ("end_to_end", "end_to_end_ms")):
        rows = measured(summary, (LOCK_FREE, TUNED, ONE_LAUNCH, BATCH, SCIPY), scope=scope)
        rows = rows[(rows["family"] == "uniform") & (rows["label"] == "101")]
        rows = with_options(rows, problems=lambda of: int(of.get("problems", 1)))
        rows = rows[rows["problems"] == 1]
        parts.append(over_seeds(rows, index, column).drop(columns="seeds"))
    table = parts[0].merge(parts[1], on=index, how="inner")
    return order(table, by=("n", "code"))[[*index, "run_ms", "end_to_end_ms"]]


def batch(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Many assignments, in one launch and in SciPy's loop: ms, us each, and the sums of costs.

    ``loop_over_this`` is of one seed, then the median over the seeds; ``total_cost`` is the sum
    over the seeds, and ``same_costs`` asks for SciPy's on each.
    """
    at = ["n", "problems", "source", "seed"]
    table = pd.DataFrame()
    wanted = (("time_ms", "run", "ms"), ("time_ms", "end_to_end", "end_to_end_ms"),
              ("total_cost", "answer", "total_cost"))  # fmt: skip
    for metric, scope, column in wanted:
        rows = measured(summary, (BATCH, LOOP), metric, scope)
        rows = with_options(rows, problems=lambda of: int(of.get("problems", 1)))
        rows = rows[rows["problems"] > 1].rename(columns={"value": column})
        if column == "ms":
            table = rows[["code", *at, "device", column]]
        else:
            table = table.merge(rows[["code", *at, column]], on=["code", *at], how="left")
    loop = table[table["code"] == LOOP][[*at, "ms", "total_cost"]]
    table = table.merge(loop, on=at, how="left", suffixes=("", "_loop"))
    table["loop_over_this"] = table["ms_loop"] / table["ms"]
    table["same_costs"] = (table["total_cost"] == table["total_cost_loop"]).astype(bool)
    table["us_each"] = 1e3 * table["ms"] / table["problems"].astype(float)
    median = dict.fromkeys(("ms", "us_each", "loop_over_this", "end_to_end_ms"), "median")
    grouped = table.groupby(["code", "n", "problems", "source", "device"], sort=False)
    table = grouped.agg({**median, "total_cost": "sum", "same_costs": "all"}).reset_index()
    return order(table, by=("n", "problems", "code"))


def ours_only(table: pd.DataFrame) -> pd.DataFrame:
    """Leave out what was not measured."""
    return table[table["source"] != NOT_MEASURED] if len(table) else table
