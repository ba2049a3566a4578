"""From tables to verdicts: agreement with print, differences and their causes.

Ratios redone on our machine come first, then claims of the text, then times, which prove nothing.
All of ours that stand beside print are as printed. A difference has a cause where a recorded
experiment says what to expect instead, and no sentence otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from papers.common.evidence import comparisons
from papers.common.evidence.cards import figures_of
from papers.common.evidence.comparisons import claim, not_measured
from papers.common.evidence.judges import each, each_time, judged, rankings, without
from papers.common.gpu.device import EXECUTOR_NAME
from papers.common.model import Cause, Comparison
from papers.kawtikwar_opts.evidence import counter
from papers.kawtikwar_opts.evidence.card import causes
from papers.kawtikwar_opts.evidence.codes import VERSIONS
from papers.kawtikwar_opts.evidence.tables import (
    CARDS,
    GRID_SYNC_US,
    NCU_SAYS,
    geometric_mean,
)
from papers.kawtikwar_opts.evidence.text_claims import COVERS, gain, of_gain, slip

# ------------------------------------------------------------------------------- Figure 1

TIMES = ("published_ms", "measured_ms")


def _over(rows: pd.DataFrame, source: str) -> Iterable[Comparison]:
    """Compare the CPU's and LAP16's time over LAP19's, redone on one machine."""
    for n, group in rows.groupby("n"):
        printed, ours = (dict(zip(group["solver"], group[c], strict=True)) for c in TIMES)
        for slow in ("CPU", "LAP16"):
            if not {slow, "LAP19"} <= {*ours}:
                continue
            yield comparisons.ratio(
                f"{slow} over LAP19, n={n}",
                printed[slow] / printed["LAP19"],
                group.set_index("solver")["over_lap19"][slow],
            )


def _baseline_choice(rows: pd.DataFrame, source: str) -> Iterable[Comparison]:
    """Judge the claim of [K21 sec.III.C] about Figure 1: LAP19 wins at all sizes."""
    wins = [
        group.loc[group["measured_ms"].idxmin(), "solver"] == "LAP19"
        for _, group in rows.groupby("n")
        if len(group) > 1
    ]
    if wins:
        yield claim(
            "LAP19 is the fastest of the three", "at all sizes",
            f"at {sum(wins)} of {len(wins)}", all(wins),
        )  # fmt: skip


fig_1 = judged(
    "times of Figure 1", *TIMES,
    _over, _baseline_choice,
    each_time("{solver}, ms, end to end: n={n}", *TIMES),
)  # fmt: skip

# ------------------------------------------------------------------------------- Tables II, III


def _rising(rows: pd.DataFrame, source: str) -> Iterable[Comparison]:
    for version in VERSIONS:
        curve = rows[rows["version"] == version].sort_values("n")
        if len(curve) > 1:
            published, measured = (list(curve[c]) for c in TIMES)
            yield comparisons.shape_slope(
                f"exponent of {version}'s time in n", list(curve["n"]),
                published, measured, cause=causes.of_slope(curve),
            )  # fmt: skip


run_times = judged(
    "times of Table II", *TIMES,
    _rising,
    rankings("order of the versions, n={}", *TIMES, "version", ["n"], 0.1),
    each_time("{version}, ms: n={n}", *TIMES),
)  # fmt: skip

SMALL_GAIN = 1.25
"""A predicted gain is met within this factor."""

TOTALS = ("published_total", "print_model_total", "expected_total")
"""Print's total speedup, and those that the prices of print's card and of ours let us expect."""


def _total_cause(row: Any) -> Cause | None:
    """Return the prices of card and host as the cause of a total speedup, or that of a zero."""
    by_prices = causes.of_total(figures_of(row, *TOTALS))
    return by_prices or counter.cause(row.us_a_zero, row.total_by_zero)


def _gain_cause(row: Any) -> Cause | None:
    """Return the cause of one optimization's gain; that of Opt 0 is its total."""
    return _total_cause(row) if row.version == "opt0" else causes.of_incremental(row, of_gain)


def _optimization_1(rows: pd.DataFrame, source: str) -> Iterable[Comparison]:
    ours = rows[rows["version"] == "opt1"].sort_values("n")
    if len(ours):
        slower = [str(n) for n in ours.loc[ours["incremental"] < 1, "n"]]
        yield claim(
            "sizes that Opt 1 makes slower", "256, 512 (256 to 1024 in the text)",
            ", ".join(slower) or "none", set(slower) == {"256", "512"},
            note="KA1: text and tables of print disagree",
        )  # fmt: skip


def _means(rows: pd.DataFrame, source: str) -> Iterable[Comparison]:
    """Compare geometric means over the sizes that both have."""
    for version in VERSIONS[1:]:
        mine = rows[rows["version"] == version]
        if len(mine) < 2:
            continue
        names = [name for name in (*TOTALS, "total", "total_by_zero") if name in mine]
        means = {c: geometric_mean(mine[c]) for c in names if not mine[c].isna().any()}
        printed = round(means["published_total"], 2)
        figures = printed, means.get("print_model_total"), means.get("expected_total")
        by_prices = causes.of_total(figures, len(mine))
        price, by_zero = mine["us_a_zero"].iloc[0], means.get("total_by_zero", np.nan)
        yield comparisons.ratio(
            f"geometric mean of {version}'s total speedup, {len(mine)} sizes",
            printed, round(means["total"], 3),
            cause=by_prices or counter.cause(price, by_zero, len(mine)),
        )  # fmt: skip


speedups = judged(
    "speedups of Table III", "published_total", "total",
    _means,
    each("total speedup of {version}, n={n}", "published_total", "total",
         cause=_total_cause),
    each("incremental speedup of {version}, n={n}", "published_incremental", "incremental",
         gain, cause=_gain_cause),
    _optimization_1,
)  # fmt: skip

# ------------------------------------------------------------------------------- Figures 2 to 5

_SHARES = ("published_share_pct", "share_pct")


kernel_shares = judged(
    "shares of the kernels", *_SHARES,
    without(rankings("order of the kernels of {}, n={}", *_SHARES, "kernel", ["version", "n"],
                     0.25), "kernel", "others"),
    each("share of {kernel} in {version}, n={n}", *_SHARES, comparisons.share,
         cause=causes.of_share),
    each_time("{kernel}, ms, in {version}: n={n}", *TIMES),
)  # fmt: skip


host_calls = judged(
    "shares of the host's calls", *_SHARES,
    each("share of {call} in the host's calls, waits left out, n={n}", *_SHARES,
         comparisons.share, cause=causes.of_call),
)  # fmt: skip

# ------------------------------------------------------------------------------- Table I, Opt 3


def hardware(table: pd.DataFrame) -> list[Comparison]:
    """Compare Table I, or state the cause of missing counters."""
    printed = table[table["configuration"] != "tuned"] if len(table) else table
    found = judged(
        "Table I", "published_pct", "measured_pct",
        each("{metric} of {kernel}, n={n}", "published_pct", "measured_pct", comparisons.share),
    )(printed)  # fmt: skip
    if any(item.verdict != "not measured" for item in found):
        return found
    notes = [note for note in table.get("note", ()) if note in NCU_SAYS.values()]
    why = notes[0] if notes else "no cell has both values"
    return [Comparison("Table I", "ratio", None, None, "not measured", why)]


def _executed(by_code: pd.DataFrame) -> Iterable[Comparison]:
    """Compare the loads of a pass over the matrix with print's, which are a launch's (KA2)."""
    for code in ("listing_3", "listing_4"):
        ours, printed, fused = (
            by_code[c].get(code)
            for c in ("million_a_pass", "published_million", "opt1_million_a_launch")
        )
        yield comparisons.ratio(
            f"executed global loads a pass, millions, {code}", printed,
            None if comparisons.missing(ours) else round(ours, 3), cause=slip(fused, 1e-6),
        )  # fmt: skip


def loads(table: pd.DataFrame) -> list[Comparison]:
    """Check that the compiler leaves the second load, which Opt 3 takes out."""
    found = []
    for _, rows in table.groupby("source", sort=False) if not table.empty else ():
        by_code = rows.drop_duplicates("code").set_index("code")
        for kind in ("ptx", "sass"):
            count = by_code[f"{kind}_loads"]
            if count.reindex(["listing_3", "listing_4", "opt2", "opt3"]).isna().any():
                continue
            for before, after in (("listing_3", "listing_4"), ("opt2", "opt3")):
                saved = int(count[before] - count[after])
                found.append(
                    claim(
                        f"global loads that Opt 3 takes out of {before}, {kind}",
                        "1 an entry", f"{saved} of {int(count[before])}", saved > 0,
                        "at least one", kind="count",
                    )
                )  # fmt: skip
            ours = count["listing_4"] - COVERS
            what = f"loads of a slack in Opt 3 as printed, {kind}"
            found.append(comparisons.count(what, 1, int(ours)))
        found += _executed(by_code)
    return found or not_measured("global loads of Opts 2 and 3", "count")


# ------------------------------------------------------------------------------- our own


def counts(table: pd.DataFrame) -> list[Comparison]:
    """All versions and `lopes2019` share cost, zeros and dual updates.

    Before a dual update the stars are a maximum matching of the zeros, and the lines that can be
    reached are the same for each one. With doubles `lopes2019` counts exact zeros and the report
    near ones, so that its updates may be a few more.
    """
    found = []
    keys = ["source", "family", "n", "cost_range", "seed"]
    for (_, family, n, label, seed), rows in table.groupby(keys, sort=False):
        ours = rows[rows["version"] != "lopes2019"]
        where = f"{family} n={n} range {label} seed {seed}"
        whole = family == "uniform"
        close = rows["cost"].max() - rows["cost"].min() <= 1e-9 * abs(rows["cost"].max())
        same = (rows["cost"].nunique() == 1 if whole else close) and (
            ours["zeros_initial"].nunique() <= 1
        )
        found.append(
            comparisons.correct(
                f"cost and first zeros of {len(rows)} solvers alike, {where}",
                "alike", "alike" if same else "not alike", bool(same),
            )
        )  # fmt: skip
        updates = sorted({int(value) for value in rows["dual_updates"]})
        note = "" if whole else "doubles: the report's near_zero merges zeros a rounding apart"
        found.append(
            comparisons.correct(
                f"dual updates of {len(rows)} solvers, {where}",
                int(rows["dual_updates"].iloc[0]), " ".join(map(str, updates)),
                len(updates) == 1, note,
            )
        )  # fmt: skip
    return found or not_measured("costs, zeros and dual updates", "correctness")


NEAR_SYNC = 10.0
"""The largest allowed time at small orders, in barriers of the grid."""


def barriers(table: pd.DataFrame) -> list[Comparison]:
    """Check that one launch costs little more than its barriers, at the least orders on a GPU."""
    found = []
    rows_on_gpu = table[table["device"] != EXECUTOR_NAME] if not table.empty else table
    for _, rows in rows_on_gpu.groupby(["source", "family"], sort=False):
        small = rows[rows["n"] == rows["n"].min()]
        for row in small.itertuples(index=False):
            found.append(
                comparisons.goal(
                    f"us a barrier, {row.family} n={row.n} range {row.cost_range}",
                    float(row.us_a_barrier), at_most=NEAR_SYNC * GRID_SYNC_US,
                    note="the one block's searches stand between the barriers",
                )
            )  # fmt: skip
    return found or not_measured("us a barrier, on a GPU", "goal")


AUTHORS_CELLS = 15
"""The number of cells: five sizes by three ranges."""


def authors(table: pd.DataFrame) -> list[Comparison]:
    """Check our goals: HyLAC's time in the geometric mean; in no cell above `lopes2019`."""
    found = []
    for _, rows in table.groupby("source", sort=False) if not table.empty else ():
        if len(rows) < AUTHORS_CELLS or rows["ours_over_authors"].isna().any():
            continue
        mean = geometric_mean(rows["ours_over_authors"])
        what = f"Opt 4 over hylac-classical, geometric mean of {len(rows)} cells"
        found.append(comparisons.goal(what, mean, at_most=1.0))
        found += [
            comparisons.goal(
                f"Opt 4 over lopes2019, n={row.n} range {row.cost_range}",
                float(row.ours_over_lopes2019), at_most=1.0,
            )
            for row in rows.itertuples(index=False)
        ]  # fmt: skip
    return found or not_measured("Opt 4 over hylac-classical: all 15 cells, on its card", "goal")


BAND = 2.0
"""A run may take twice the predicted time, or half of it."""


def predictions(table: pd.DataFrame) -> list[Comparison]:
    """Compare predicted with measured: the run's time, and the gain of each optimization."""
    found = []
    known = "|".join(CARDS)
    rows_on_gpu = table[table["device"].str.contains(known)] if not table.empty else table
    for row in rows_on_gpu.itertuples(index=False):
        where, time = f"{row.version}, n={row.n}", row.predicted_run_ms
        found.append(
            comparisons.predicted(
                f"time in ms of {where}", time / BAND, time * BAND, round(row.measured_ms, 3)
            )
        )
        if not np.isnan(row.predicted_gain):
            gain = row.predicted_gain
            found.append(
                comparisons.predicted(
                    f"gain over the version before, {where}", gain / SMALL_GAIN,
                    gain * SMALL_GAIN, round(row.measured_gain, 3),
                )
            )  # fmt: skip
    return found or not_measured("predicted and measured times, a card of known rates", "model")
