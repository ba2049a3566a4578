"""The efficiencies on several GPUs that the prices of both machines let us expect.

A step of a run on strips is so many local bytes, launches with their waits, and messages, as
`evidence.scaling_model` counts them. Print's Tables 4 and 5 price them on the paper's machine, a
record's runs on its own, every step by itself. A figure of order n is priced by the runs of all
orders but n. The steps are print's two, and the rest of the run; on our side the overall time is
their sum, because the run without clocks is a figure of that very order.

The prices come from costs up to 10n. Runs of the sparse ranges, which are in no fit, are measured
again: where their times are not those that the prices let us expect (`is_trusted`), there is no
cause.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from papers.common.evidence import cards
from papers.common.evidence.tables import Published
from papers.common.gpu.device import EXECUTOR_NAME
from papers.common.model import Cause
from papers.datenagi2016.evidence import scaling_model, scaling_tables
from papers.datenagi2016.evidence.card.prices import BAND, FIGURES

EXPERIMENT = "datenagi2016:sparse"
"""The recorded experiment that the prices are held against."""

EFFICIENCY = 1.25
"""The tolerance of an efficiency, a factor; and the half width of an expected one's band."""

SUPERLINEAR = 1.05
"""No efficiency above this agrees: more GPUs do not do less work."""

NEARER = 0.8

VARIANTS = {"CU-CLASS": "classical", "CU-TREE": "tree"}
NAMED = {"CU-CLASS": ("matrix_compression", "ap_search"), "CU-TREE": ("ap_search",)}
"""The steps of which print has times."""

REST, OVERALL = "rest", "overall"

SPARSE_FIGURES = ("one_expected_s", "two_expected_s")

Runs = list[tuple[int, int, dict[str, float]]]
"""Order, GPUs, seconds by step."""

Counts = Mapping[str, float]


def amounts(code: str, n: int, p: int, counts: Counts) -> dict[str, np.ndarray]:
    """Return float64[3] by step: local bytes, launches, and messages of a run on p GPUs."""
    often = scaling_model.quantities(VARIANTS[code], n, p, counts)
    found = {name: np.zeros(3) for name in (*NAMED[code], REST)}
    for phase, (read, events, messages, exchanges, _) in often.items():
        step = phase if phase in NAMED[code] else REST
        found[step] += np.array([read, events, messages + exchanges])
    return found


def printed_runs(code: str, published: Published) -> Runs:
    """Return the runs of Tables 4 and 5."""
    found: Runs = []
    for name in ("table4", "table5"):
        rows = scaling_tables.printed(published, name)
        rows = rows[rows["solver"] == code]
        for (n, p), part in rows.groupby(["n", "gpus"]):
            seconds = dict(zip(part["step"], part["published_s"], strict=True))
            seconds[REST] = seconds.pop(OVERALL) - sum(seconds[step] for step in NAMED[code])
            found.append((int(n), int(p), seconds))
    return found


def recorded_runs(code: str, table: pd.DataFrame) -> tuple[Runs, dict[int, Counts]]:
    """Return the runs of one source, medians over its seeds, and the counts by order.

    Parameters
    ----------
    code : str
    table : DataFrame
        One source of `evidence.scaling_tables.runs`.
    """
    others = [name for name in scaling_tables.MODELLED if name not in NAMED[code]]
    mine = table[(table["solver"] == code) & (table["gpus"] <= 2)]
    mine = mine.assign(**{REST: mine[others].sum(axis=1)}).dropna(subset=list(NAMED[code]))
    steps = [*NAMED[code], REST]
    found: Runs = [
        (int(n), int(p), part[steps].median().to_dict())
        for (n, p), part in mine.groupby(["n", "gpus"])
    ]
    names = list(scaling_model.COUNTS)
    by_order = mine[names].fillna(0.0).groupby(mine["n"]).median()
    return found, {int(n): row.to_dict() for n, row in by_order.iterrows()}  # type: ignore[call-overload]


def counts_at(n: int, known: Mapping[int, Counts]) -> Counts:
    """Return the counts at an order: as measured, or by the power laws of `scaling_model`."""
    if n in known:
        return known[n]
    laws = {
        name: scaling_model.power_law(list(known), [each[name] for each in known.values()])
        for name in scaling_model.COUNTS
    }
    return {name: a * n**b for name, (a, b) in laws.items()}


def prices(
    code: str, runs: Runs, known: Mapping[int, Counts], without: int
) -> dict[str, np.ndarray] | None:
    """Return float64[3] by step: seconds a byte, a launch and a message.

    None where the runs of the other orders are on one number of GPUs, or of one order.
    """
    kept = [run for run in runs if run[0] != without]
    if min(len({n for n, _, _ in kept}), len({p for _, p, _ in kept})) < 2:
        return None
    found = {}
    for step in (*NAMED[code], REST):
        pairs = [
            (amounts(code, n, p, counts_at(n, known))[step], seconds[step])
            for n, p, seconds in kept
            if seconds[step] > 0
        ]
        asked = np.array([amount for amount, _ in pairs])
        used = asked.any(axis=0)
        found[step] = np.zeros(3)
        found[step][used] = cards.fitted(asked[:, used], np.array([time for _, time in pairs]))
    return found


def seconds(code: str, n: int, p: int, counts: Counts, paid: Any) -> dict[str, float]:
    """Return the seconds of each step by prices, and of all."""
    parts = {
        step: float(amount @ paid[step]) for step, amount in amounts(code, n, p, counts).items()
    }
    return {**parts, OVERALL: sum(parts.values())}


Sources = list[tuple[str, str, Runs, dict[int, Counts]]]
"""Source, code, its runs and its counts by order."""


def _on_strips(summary: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of runs on strips: one in a hundred, and all that is asked below."""
    return summary[summary["storage"] == scaling_tables.STRIPS]


def _sources(strips: pd.DataFrame) -> Iterator[tuple[str, str, Runs, dict[int, Counts]]]:
    table = scaling_tables.runs(strips)
    table = table[table["device"] != EXECUTOR_NAME]
    for source, mine in table.groupby("source", sort=False):
        for code in VARIANTS:
            runs, known = recorded_runs(code, mine)
            if any(p > 1 for _, p, _ in runs):
                yield str(source), code, runs, known


def of_table(summary: pd.DataFrame, published: Published, is_weak: bool) -> pd.DataFrame:
    """Return the expected efficiencies: ``source solver step n gpus`` and `FIGURES`."""
    columns = ["source", "solver", "step", "n", "gpus", *FIGURES]
    rows = []
    bases = scaling_tables.chains()
    strips = _on_strips(summary)
    sources = list(_sources(strips))
    trust = is_trusted(_sparse(strips, sources), strips, published)
    for source, code, runs, known in sources:
        if (source, code) not in trust:
            continue
        theirs = printed_runs(code, published)
        for n, p in sorted({(n, p) for n, p, _ in runs if p > 1}):
            base = bases.get((n, p)) if is_weak else n
            if base is None or base not in known:
                continue
            paid = [prices(code, each, known, n) for each in (theirs, runs)]
            if paid[0] is None or paid[1] is None:
                continue
            one, many = (
                [seconds(code, order, q, counts_at(order, known), each) for each in paid]
                for order, q in ((base, 1), (n, p))
            )
            scale = 1 if is_weak else p
            rows += [
                (source, code, step, n, p,
                 *(first[step] / (scale * second[step])
                   for first, second in zip(one, many, strict=True)))
                for step in (*NAMED[code], OVERALL)
            ]  # fmt: skip
    return pd.DataFrame(rows, columns=columns).astype({"n": int, "gpus": int})


def weak(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return `of_table` of Table 4."""
    return of_table(summary, published, is_weak=True)


def strong(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return `of_table` of Table 5."""
    return of_table(summary, published, is_weak=False)


# ------------------------------------------------------------------------------- measured again


def of_sparse(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return the expected seconds at the sparse ranges, by the prices of 10n at other orders.

    Returns
    -------
    DataFrame
        ``source solver n cost_range`` and `SPARSE_FIGURES`.
    """
    strips = _on_strips(summary)
    return _sparse(strips, list(_sources(strips)))


def _sparse(strips: pd.DataFrame, sources: Sources) -> pd.DataFrame:
    rows = []
    answers = strips[strips["scope"] == "answer"]
    for source, code, runs, known in sources:
        solver = f"datenagi2016:{scaling_tables.SOLVERS[code]}"
        mine = answers[(answers["source"] == source) & (answers["solver"] == solver)]
        mine = mine[mine["label"].isin(scaling_tables.SPARSE)]
        mine = mine[mine["metric"].isin(scaling_model.COUNTS)]
        for (n, label), part in mine.groupby(["n", "label"]):
            counts = dict.fromkeys(scaling_model.COUNTS, 0.0)
            counts |= part.groupby("metric")["median"].median().to_dict()
            paid = prices(code, runs, known, int(n))
            if paid is not None:
                both = [seconds(code, int(n), p, counts, paid)[OVERALL] for p in (1, 2)]
                rows.append((source, code, int(n), label, *both))
    columns = ["source", "solver", "n", "cost_range", *SPARSE_FIGURES]
    return pd.DataFrame(rows, columns=columns).astype({"n": int})


def is_trusted(
    expected: pd.DataFrame, summary: pd.DataFrame, published: Published
) -> set[tuple[str, str]]:
    """Return the sources and codes whose sparse runs take what the prices let us expect."""
    keys = ["source", "solver", "n", "cost_range"]
    measured = scaling_tables.sparse_table(summary, published)
    if measured.empty or expected.empty:
        return set()
    both, found = measured.merge(expected, on=keys), set()
    for key, part in both.groupby(["source", "solver"]):
        ratios = [part["one_s"] / part["one_expected_s"], part["two_s"] / part["two_expected_s"]]
        if all(ratio.between(1 / BAND, BAND).all() for ratio in ratios):
            found.add(key)
    return found


# ------------------------------------------------------------------------------- causes

WORDS = (
    "bytes, launches and messages became cheaper by other factors each; their prices here, without "
    "this order's own times, let us expect {:.3g}"
)


def agrees(printed: float) -> tuple[float, float]:
    """Return the efficiencies that agree with a printed one."""
    return printed / EFFICIENCY, min(printed * EFFICIENCY, SUPERLINEAR)


def cause_of(row: Any) -> Cause | None:
    """Return the cause of an efficiency that is not print's."""
    return cards.cause(
        EXPERIMENT, cards.figures_of(row, "published_efficiency", *FIGURES), agrees,
        cards.around(lambda figure: EFFICIENCY), cards.factors, WORDS, NEARER,
        math.log(EFFICIENCY),
    )  # fmt: skip


def cause_of_least(rows: pd.DataFrame, at_least: float) -> Cause | None:
    """Return the cause of a least efficiency below what print calls good scaling."""
    if not set(FIGURES) <= set(rows):
        return None
    figures = (float(rows[name].min(skipna=False)) for name in ("published_efficiency", *FIGURES))
    printed, theirs, ours = figures
    return cards.cause_of_statement(
        EXPERIMENT, (printed, theirs, ours), at_least, None, EFFICIENCY, WORDS
    )
