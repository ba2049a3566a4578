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
from papers.common.evidence.comparisons import claim, not_measured
from papers.common.evidence.judges import each, each_time, judged, rankings, without
from papers.common.gpu.device import EXECUTOR_NAME
from papers.common.model import Cause, Comparison
from papers.kawtikwar_opts.evidence import counter
from papers.kawtikwar_opts.evidence.codes import VERSIONS
from papers.kawtikwar_opts.evidence.tables import (
    CARDS,
    GRID_SYNC_US,
    NCU_SAYS,
    geometric_mean,
)

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
                published, measured,
            )  # fmt: skip


run_times = judged(
    "times of Table II", *TIMES,
    _rising,
    rankings("order of the versions, n={}", *TIMES, "version", ["n"], 0.1),
    each_time("{version}, ms: n={n}", *TIMES),
)  # fmt: skip

SMALL_GAIN = 1.25
"""A predicted gain is met within this factor."""


def of_gain(printed: float) -> float:
    """Return the tolerance of a printed gain, a factor: half of the gain, at least three per cent.

    The last two optimizations gain some per cent in print, which the usual factor would not see.
    """
    return min(comparisons.FACTOR, 1 + max(0.03, 0.5 * abs(printed - 1)))


def gain(
    quantity: str, printed: Any, ours: Any, note: comparisons.Note = "", cause: Cause | None = None
) -> Comparison:
    """Compare the gain of one optimization with print's."""
    factor = comparisons.FACTOR if comparisons.missing(printed) else of_gain(printed)
    return comparisons.ratio(quantity, printed, ours, factor, note, cause)


def _cause(row: Any) -> Cause | None:
    """Return the price of a zero as the cause of a total speedup."""
    return counter.cause(row.us_a_zero, row.expected_total)


def _gain_cause(row: Any) -> Cause | None:
    """Return the same for the gain of Opt 0, which is its total; of no other optimization."""
    return _cause(row) if row.version == "opt0" else None


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
        means = {c: geometric_mean(mine[c]) for c in ("published_total", "total")}
        expected = geometric_mean(mine["expected_total"])
        yield comparisons.ratio(
            f"geometric mean of {version}'s total speedup, {len(mine)} sizes",
            round(means["published_total"], 2), round(means["total"], 3),
            cause=counter.cause(mine["us_a_zero"].iloc[0], expected),
        )  # fmt: skip


speedups = judged(
    "speedups of Table III", "published_total", "total",
    _means,
    each("total speedup of {version}, n={n}", "published_total", "total", cause=_cause),
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
    each("share of {kernel} in {version}, n={n}", *_SHARES, comparisons.share),
    each_time("{kernel}, ms, in {version}: n={n}", *TIMES),
)  # fmt: skip


host_calls = judged(
    "shares of the host's calls", *_SHARES,
    each("share of {call} in the host's calls, waits left out, n={n}", *_SHARES,
         comparisons.share),
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


def slip(fused: float, unit: float = 1.0) -> Cause | None:
    """Return the measured cause of KA2: what one launch of the fused kernel loads here."""
    if comparisons.missing(fused):
        return None
    words = f"KA2: a launch of Opt 1's fused kernel loads {fused * 1e-6 / unit:.2f} million here"
    factor = comparisons.FACTOR
    return Cause("kawtikwar_opts:table1", fused / factor, fused * factor, words)


COVERS = 2
"""Loads of an entry's covers, a row's and a column's."""


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


# ------------------------------------------------------------------------------- claims

KNOWN = {
    "KA-k": "KA2: print's own cut of 16 % asks for 2.31 million",
    "KA-q": "KA3: the same section says 1.03, and Table II -0.1 to -0.9 % below n = 4096",
}
"""Print's own contradictions."""
POINTS = ("KA-c", "KA-d", "KA-i", "KA-m", "KA-p", "KA-q", "KA-s")
"""The claims in percent."""


def claims(table: pd.DataFrame) -> list[Comparison]:
    """Set each number of the text beside ours; a number that cannot be redone is not measured."""
    found = []
    for row in table.itertuples(index=False) if not table.empty else ():
        what, measured = f"{row.id}, {row.quantity}", None
        if not np.isnan(row.measured):
            measured = round(row.measured, 4)
        note = KNOWN.get(row.id, "")
        if row.id in POINTS:
            found.append(comparisons.share(what, row.published, measured, note=note))
            continue
        judge = gain if row.unit == "x" else comparisons.ratio
        cause = slip(row.fused_loads) if row.id == "KA-k" else None
        found.append(judge(what, row.published, measured, note=note, cause=cause))
    return found or not_measured("claims of the text")


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
                    round(row.us_a_barrier, 2), at_most=NEAR_SYNC * GRID_SYNC_US,
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
        found.append(comparisons.goal(what, round(mean, 4), at_most=1.0))
        found += [
            comparisons.goal(
                f"Opt 4 over lopes2019, n={row.n} range {row.cost_range}",
                round(row.ours_over_lopes2019, 4), at_most=1.0,
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
