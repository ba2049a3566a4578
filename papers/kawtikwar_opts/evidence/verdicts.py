"""From tables to verdicts: agreement with print, differences and their causes.

Ratios redone on our machine come first, then claims of the text, then times, which prove nothing.
A note names a cause outside the code, and only if that cause explains the difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pandas as pd

from papers.common.evidence import comparisons
from papers.common.evidence.comparisons import claim, gains, not_measured
from papers.common.evidence.judges import each, each_time, judged, rankings, without
from papers.common.gpu.device import EXECUTOR_NAME
from papers.common.model import Cause, Comparison
from papers.kawtikwar_opts.evidence.tables import (
    GRID_SYNC_US,
    NCU_SAYS,
    ONE_LAUNCH,
    VERSIONS,
    geometric_mean,
)

# ------------------------------------------------------------------------------- Figure 1

TIMES = ("published_ms", "measured_ms")
OTHER_LP = "HiGHS's simplex on one core, not Gurobi: slower than print's on a newer machine"


def _over(rows: pd.DataFrame, source: str) -> Iterable[Comparison]:
    """Compare the CPU's and LAP16's time over LAP19's, redone on one machine."""
    for n, group in rows.groupby("n"):
        printed, ours = (dict(zip(group["solver"], group[c], strict=True)) for c in TIMES)
        for slow in ("CPU", "LAP16"):
            if not {slow, "LAP19"} <= {*ours}:
                continue
            fell = {name: printed[name] / ours[name] for name in (slow, "LAP19")}
            yield comparisons.ratio(
                f"{slow} over LAP19, n={n}",
                printed[slow] / printed["LAP19"],
                group.set_index("solver")["over_lap19"][slow],
                note=comparisons.if_larger(OTHER_LP)
                if slow == "CPU"
                else gains(fell["LAP19"], fell[slow], "LAP19's time", f"{slow}'s"),
            )  # fmt: skip


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
            note="ours of LAP16 is one persistent search; LAP19's doubles pass over the matrix for "
            "every dual update, which is what costs at the largest size",
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
                note=comparisons.if_smaller("small orders are launches and barriers"),
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


HOST = "a dual update is six or seven launches from Python: what small orders take is the host's"


def _fell(first: str, second: str, what: str, other: str) -> Callable[[Any], comparisons.Note]:
    def note(row: Any) -> comparisons.Note:
        if getattr(row, first) <= 1 and row.version not in ONE_LAUNCH:
            return comparisons.if_smaller(HOST)
        return gains(getattr(row, first), getattr(row, second), what, other)

    return note


def _optimization_1(rows: pd.DataFrame, source: str) -> Iterable[Comparison]:
    ours = rows[rows["version"] == "opt1"].sort_values("n")
    if len(ours):
        slower = [str(n) for n in ours.loc[ours["incremental"] < 1, "n"]]
        yield claim(
            "sizes that Opt 1 makes slower", "256, 512 (256 to 1024 in the text)",
            ", ".join(slower) or "none", set(slower) == {"256", "512"},
            note="KA1: text and tables of print disagree; ours has launches of its own cost",
        )  # fmt: skip


def _means(rows: pd.DataFrame, source: str) -> Iterable[Comparison]:
    """Compare geometric means over the sizes that both have."""
    for version in VERSIONS[1:]:
        mine = rows[rows["version"] == version]
        if len(mine) < 2:
            continue
        means = {c: geometric_mean(mine[c]) for c in ("published_total", "total")}
        fell = geometric_mean(mine["fell"]), geometric_mean(mine["fell_baseline"])
        yield comparisons.ratio(
            f"geometric mean of {version}'s total speedup, {len(mine)} sizes",
            round(means["published_total"], 2), round(means["total"], 3),
            note=gains(*fell, f"{version}'s time", "the baseline's"),
        )  # fmt: skip


speedups = judged(
    "speedups of Table III", "published_total", "total",
    _means,
    each("total speedup of {version}, n={n}", "published_total", "total",
         note=_fell("fell", "fell_baseline", "its time", "the baseline's")),
    each("incremental speedup of {version}, n={n}", "published_incremental", "incremental",
         gain, _fell("fell", "fell_before", "its time", "that of the version before")),
    _optimization_1,
)  # fmt: skip

# ------------------------------------------------------------------------------- Figures 2 to 5

_SHARES = ("published_share_pct", "share_pct")


def _of_its_kernels(row: Any) -> comparisons.Note:
    """Return the note on a share, which moves with the kernel's time beside the others'."""
    its = row.published_ms / row.measured_ms
    whole = its * row.share_pct / row.published_share_pct
    if not (its > 1 and whole > 1):
        return ""
    text = f"its time fell {its:.3g} times below print, that of all kernels {whole:.3g} times"
    return comparisons.if_smaller(text) if its > whole else comparisons.if_larger(text)


kernel_shares = judged(
    "shares of the kernels", *_SHARES,
    without(rankings("order of the kernels of {}, n={}", *_SHARES, "kernel", ["version", "n"],
                     0.25), "kernel", "others"),
    each("share of {kernel} in {version}, n={n}", *_SHARES, comparisons.share, _of_its_kernels),
    each_time("{kernel}, ms, in {version}: n={n}", *TIMES),
)  # fmt: skip


def _call_note(row: Any) -> comparisons.Note:
    if row.call == "copy":
        return comparisons.if_smaller(
            "our kernels clear their flags themselves: nothing is copied up"
        )
    if row.call == "launch":
        return comparisons.if_larger("there is no cudaMemcpyToSymbol beside it")
    return "Python between the calls is in here"


host_calls = judged(
    "shares of the host's calls", *_SHARES,
    each("share of {call} in the host's calls, waits left out, n={n}", *_SHARES, comparisons.share,
         _call_note),
)  # fmt: skip

# ------------------------------------------------------------------------------- Table I, Opt 3

CARDS = "another card: its caches and its ratio of arithmetic to memory are others"


def hardware(table: pd.DataFrame) -> list[Comparison]:
    """Compare Table I, or state the cause of missing counters."""
    found = judged(
        "Table I", "published_pct", "measured_pct",
        each("{metric} of {kernel}, n={n}", "published_pct", "measured_pct", comparisons.share,
             lambda row: CARDS),
    )(table)  # fmt: skip
    if any(item.verdict != "not measured" for item in found):
        return found
    notes = [note for note in table.get("note", ()) if note in NCU_SAYS.values()]
    why = notes[0] if notes else "no cell has both values"
    return [Comparison("Table I", "ratio", None, None, "not measured", why)]


def _executed(by_code: pd.DataFrame) -> Iterable[Comparison]:
    """Compare the loads that warps execute in a dual update with print's, which are a launch's."""
    fused = by_code["opt1_million_a_launch"].iloc[0]
    for code in ("opt2", "opt3"):
        ours, printed = (by_code[c].get(code) for c in ("million_an_update", "published_million"))
        yield comparisons.ratio(
            f"executed global loads a dual update, millions, {code}", printed,
            None if comparisons.missing(ours) else round(ours, 3), cause=slip(fused, 1e-6),
        )  # fmt: skip


def slip(fused: float, unit: float = 1.0) -> Cause | None:
    """Return the measured cause of KA2: what one launch of the fused kernel loads here."""
    if comparisons.missing(fused):
        return None
    words = f"KA2: a launch of Opt 1's fused kernel loads {fused * 1e-6 / unit:.2f} million here"
    factor = comparisons.FACTOR
    return Cause("kawtikwar_opts:table1", fused / factor, fused * factor, words)


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
        found += _executed(by_code)
    return found or not_measured("global loads of Opts 2 and 3", "count")


# ------------------------------------------------------------------------------- claims

KNOWN = {
    "KA-k": "KA2: print's own cut of 16 % asks for 2.31 million",
    "KA-q": "KA3: the same section says 1.03, and Table II -0.1 to -0.9 % below n = 4096",
    "KA-d": "one same-address atomic a zero cost print's card more than the pass over the matrix",
    "KA-i": "ours copies nothing to the device in a run: see fig05",
    "KA-p": CARDS,
    "KA-s": CARDS,
}
POINTS = ("KA-c", "KA-d", "KA-i", "KA-m", "KA-p", "KA-q", "KA-s")
"""The claims in percent."""

LESS = "nobody has measured yet where print's counter of zeros lay"
FROM_BASELINE = ("KA-a", "KA-b", "KA-c", "KA-d", "KA-e", "KA-f", "KA-t")
"""The claims that depend on the baseline's contended atomic."""


def claims(table: pd.DataFrame) -> list[Comparison]:
    """Set each number of the text beside ours; a number that cannot be redone is not measured."""
    found = []
    for row in table.itertuples(index=False) if not table.empty else ():
        what, measured = f"{row.id}, {row.quantity}", None
        if not np.isnan(row.measured):
            measured = round(row.measured, 4)
        note = LESS if row.id in FROM_BASELINE else KNOWN.get(row.id, "")
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
        if len(rows) < AUTHORS_CELLS or not rows["device"].str.contains("H100").all():
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
    return found or not_measured("Opt 4 over hylac-classical: all 15 cells, an H100", "goal")


BAND = 2.0
"""A run may take twice the predicted time, or half of it."""


def predictions(table: pd.DataFrame) -> list[Comparison]:
    """Compare predicted with measured: the run's time, and the gain of each optimization."""
    found = []
    rows_on_gpu = table[table["device"].str.contains("H100")] if not table.empty else table
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
    return found or not_measured("predicted and measured times, an H100", "model")
