"""Comparisons of our tables with print, and notes on the differences.

Ratios redone on our machine come first, then claims of the text, then times, which prove nothing.
Our sets differ from print's, except for its twenty matrices if they are at hand; a stand-in is
never judged. A note names a cause outside the code, and only if that cause explains the difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pandas as pd

from papers.common.evidence import comparisons
from papers.common.evidence.comparisons import claim, gains, not_measured
from papers.common.evidence.judges import Judge, Verdicts, each, each_time, judged
from papers.common.evidence.tables import NOT_MEASURED
from papers.common.gpu.device import EXECUTOR_NAME
from papers.common.model import Comparison
from papers.deveci_matching.evidence import sets
from papers.deveci_matching.evidence.codes import BEST, BEYOND, EXCLUDED, VARIANTS
from papers.deveci_matching.evidence.tables import FEW, OF_FIG_2, OF_TABLE_2, geometric_mean

Row = Any


def _on_gpu(table: pd.DataFrame) -> pd.DataFrame:
    if table.empty:
        return table
    return table[(table["source"] != NOT_MEASURED) & (table["device"] != EXECUTOR_NAME)]


# ------------------------------------------------------------------------------- Table 1

HOST_US = 40.0
"""A BFS launch that takes less time is mostly launch and signal: they hide the threads' work, and
the variants come nearer to one another."""


def _near_one(row: Row) -> comparisons.Note:
    text = f"{row.us_a_launch:.3g} us a BFS launch: most of it is the launch and its report"
    small = row.us_a_launch < HOST_US
    return comparisons.if_smaller(text) if small and row.published_over_best > 1 else ""


def _means(rows: pd.DataFrame, source: str) -> Iterable[Comparison]:
    """Compare each variant's mean over that of the best variant, on sets with enough graphs."""
    named = rows.assign(
        variant=rows["algorithm"] + " " + rows["bfs_kernel"] + " " + rows["thread_mode"]
    )
    named = named[(named["variant"] != BEST) & (named["graphs"] >= FEW)]
    judge = each(
        "{variant} over " + BEST + ", {instance_set}", "published_over_best", "over_best",
        note=_near_one,
    )  # fmt: skip
    yield from judge(named, source)


SLACK = 1.05
"""Times within five per cent of one another count as equal."""


def _pairs(rows: pd.DataFrame, column: str, better: str, worse: str) -> tuple[int, int]:
    """Return how often `better` is no slower, and the number of pairs that differ in one choice."""
    names = ["algorithm", "bfs_kernel", "thread_mode"]
    others = [name for name in names if name != column]
    wide = rows.pivot(index=["instance_set", *others], columns=column, values="measured_s").dropna()
    return int((wide[better] <= SLACK * wide[worse]).sum()), len(wide)


def _always(rows: pd.DataFrame, source: str) -> Iterable[Comparison]:
    """Judge the text's claims about Table 1: CT, GPUBFS-WR and APFB win."""
    rows = rows[rows["graphs"] >= FEW]
    said = (
        ("thread_mode", "CT", "MT", "always"),
        ("bfs_kernel", "GPUBFS-WR", "GPUBFS", "always"),
        ("algorithm", "APFB", "APsB", "more suitable"),
    )
    for column, better, worse, word in said:
        wins, pairs = _pairs(rows, column, better, worse) if len(rows) else (0, 0)
        if pairs:
            # "more suitable" is about most pairs: in print APsB wins one of RCP_S1.
            holds = wins == pairs if word == "always" else 2 * wins > pairs
            yield claim(
                f"{better} no slower than {worse}, pairs of means", word,
                f"{wins} of {pairs}", holds,
            )  # fmt: skip


table_1 = judged(
    "means of Table 1", "published_s", "measured_s",
    _means, _always,
    each_time("{algorithm} {bfs_kernel} {thread_mode}, s, {instance_set}", "published_s",
              "measured_s"),
)  # fmt: skip

# ------------------------------------------------------------------------------- Table 2

_GPU = ("published_gpu_s", "gpu_s")


def _ratios(rows: pd.DataFrame, source: str) -> Iterable[Comparison]:
    """Compare a CPU code's time over the GPU's, redone on one machine."""
    for code in OF_TABLE_2:
        name = code.lower().replace("-", "_")
        printed, ours = f"published_{name}_s", f"{name}_s"
        if code == "GPU":
            continue
        for row in rows.dropna(subset=[printed, ours]).itertuples(index=False):
            theirs, mine = getattr(row, printed), getattr(row, ours)
            fell = theirs / mine, row.published_gpu_s / row.gpu_s
            yield comparisons.ratio(
                f"{code} over GPU, {row.matrix} {row.ordering}",
                round(theirs / row.published_gpu_s, 4), round(mine / row.gpu_s, 4),
                note=gains(fell[1], fell[0], "the GPU's time", f"{code}'s"),
            )  # fmt: skip


def _judged_times(what: str) -> Verdicts:
    """Compare ratios and times of Table 2's graphs; a stand-in is never judged."""
    verdicts = judged(what, *_GPU, _ratios, each_time("GPU, s: {matrix} {ordering}", *_GPU))

    def judge(table: pd.DataFrame) -> list[Comparison]:
        return verdicts(table[table["instance"] != sets.STAND_IN] if len(table) else table)

    return judge


table_2 = _judged_times("times of Table 2 on the paper's own matrices")
full_size = _judged_times("times of Table 2 on graphs drawn at the paper's own sizes")

# ------------------------------------------------------------------------------- Figure 2


def fig_2(table: pd.DataFrame) -> list[Comparison]:
    """Judge the text on Figure 2: APFB needs fewer iterations, and fewer launches on Hamrle3."""
    found = []
    # Counts do not depend on the device: those of the executor hold, too.
    for (source, name), rows in table.groupby(["source", "name"], sort=False):
        sums = rows[rows["what"] != "levels"].drop_duplicates("what").set_index("what")
        if not {"iterations", "launches"} <= {*sums.index} or sums[list(OF_FIG_2)].isna().any(
            axis=None
        ):
            continue
        for kernel in ("GPUBFS", "GPUBFS-WR"):
            few, many = (sums[f"{algorithm} {kernel} CT"] for algorithm in ("APFB", "APsB"))
            found.append(
                claim(
                    f"iterations, {kernel}, {name}", "APFB < APsB",
                    f"{few['iterations']:.0f}, {many['iterations']:.0f}",
                    few["iterations"] <= many["iterations"],
                )
            )  # fmt: skip
            if not name.startswith("Hamrle3"):
                continue
            found.append(
                claim(
                    f"BFS kernel executions in all, {kernel}, {name}", "APFB < APsB",
                    f"{few['launches']:.0f}, {many['launches']:.0f}",
                    few["launches"] <= many["launches"],
                    note="a stand-in: its paths are as long as its law makes them"
                    if name.endswith(sets.STAND_IN)
                    else "",
                )
            )  # fmt: skip
    return found or not_measured("iterations and launches of Figure 2", "shape")


# ------------------------------------------------------------------------------- Figures 3 to 5


POINTS = 15
"""Percentage points that two shares may lie apart: three graphs of twenty."""


JUDGED = (0.0, 1.0, 2.0, 3.0)
"""The abscissae at which speedup profiles are compared."""


def _enough(judge: Judge) -> Judge:
    """Leave out sets with too few graphs."""
    return lambda rows, source: judge(rows[rows["graphs"] >= FEW], source)


def _at_some(judge: Judge) -> Judge:
    return lambda rows, source: judge(rows[rows["log2_speedup"].isin(JUDGED)], source)


def _percent(what: str, published: float, measured: float, note: comparisons.Note) -> Comparison:
    return comparisons.share(what, 100 * published, round(100 * measured, 2), POINTS, note=note)


fig_3 = judged(
    "speedup profiles", "published_GPU", "GPU",
    _at_some(_enough(each("% of {instance_set} with a speedup of 2^{log2_speedup:g} or more over "
                          "the faster sequential code, {over}", "published_GPU", "GPU", _percent))),
)  # fmt: skip

fig_4 = judged(
    "performance profiles", "published_GPU", "GPU",
    _enough(each("% of {instance_set} on which the GPU takes {factor:g} times the fastest or less",
                 "published_GPU", "GPU", _percent)),
)  # fmt: skip

fig_5 = judged(
    "overall speedups", "published_speedup", "speedup",
    _enough(each("overall speedup over {over}, {instance_set}", "published_speedup", "speedup")),
)  # fmt: skip

# ------------------------------------------------------------------------------- claims

WHY_NOT = {
    "DE-n": "our clocks have no copies without the start: end to end includes the cheap matching",
}
"""Claims that no experiment here can redo."""


def _steadiness(row: Row, what: str) -> Comparison:
    """Judge whether at least as large a share of graphs is below 10 % as in print."""
    below = []
    for text in (row.published, row.measured):
        counts = [int(part) for part in str(text).split("/")]
        below.append(counts[0] / max(1, row.graphs if text is row.measured else sum(counts)))
    return claim(what, row.published, f"{row.measured} of {row.graphs}", below[1] >= below[0])


def claims(table: pd.DataFrame) -> list[Comparison]:
    """Compare each number of the text with ours; those that cannot be redone are not measured."""
    found = []
    for row in table.itertuples(index=False) if not table.empty else ():
        mine = f", {row.instance_set}" if row.instance_set else ""
        origin = "" if row.source == NOT_MEASURED else ""
        what = f"{row.id}, {row.quantity}{mine}{origin}"
        small = row.graphs < FEW
        if comparisons.missing(row.measured) or small:
            why = WHY_NOT.get(row.id, "fewer than five graphs on a GPU")
            found.append(Comparison(what, "ratio", row.published, None, "not measured", why))
        elif row.id == "DE-o":
            found.append(_steadiness(row, what))
        elif row.unit == "%":
            found.append(comparisons.share(what, row.published, round(row.measured, 2), POINTS))
        elif row.unit == "instances":
            # The twenty graphs are not print's, so two more or fewer count as the same.
            near = abs(row.measured - row.published) <= 2
            found.append(claim(what, row.published, row.measured, near, "ratio"))
        else:
            found.append(comparisons.ratio(what, row.published, round(row.measured, 4)))
    return found or not_measured("claims of the text")


# ------------------------------------------------------------------------------- our own


def counts(table: pd.DataFrame) -> list[Comparison]:
    """Check that all codes start alike and find matchings of one size, the known one if any."""
    found = []
    for (source, kind), rows in table.groupby(["source", "kind"], sort=False):
        equal = int(rows["equal"].sum())
        known = int(rows["known"].notna().sum())
        found.append(
            comparisons.correct(
                f"{kind} graphs on which all codes find the maximum, known on {known}",
                len(rows), equal, equal == len(rows),
            )
        )  # fmt: skip
        alike = int(rows["same_start"].sum())
        found.append(
            comparisons.correct(
                f"{kind} graphs on which all codes start from as many pairs",
                len(rows), alike, alike == len(rows),
            )
        )  # fmt: skip
        for row in rows[~rows["equal"]].itertuples(index=False):
            found.append(
                comparisons.correct(
                    f"matching size of {row.name} {row.ordering}", row.known,
                    row.cardinality, False,
                )
            )  # fmt: skip
    return found or not_measured("matching sizes", "correctness")


GOALS = {"best variant": 3.0, BEYOND: 1.0}
"""The largest allowed multiples of ECL-MM's time."""


def _goal(source: str, graph: str, rows: pd.DataFrame) -> Iterable[Comparison]:
    ours = rows[rows["start"] == EXCLUDED].drop_duplicates("code").set_index("code")["over_ecl_mm"]
    eight = ours.reindex(list(VARIANTS)).dropna()
    values = {"best variant": eight.min(), BEYOND: ours.get(BEYOND, float("nan"))}
    names = {"best variant": f"best variant ({eight.idxmin()})" if len(eight) else "best variant"}
    for name, bound in GOALS.items():
        if values[name] == values[name]:
            yield comparisons.correct(
                f"{names.get(name, name)} over ECL-MM, {graph}", f"at most {bound:g}",
                round(values[name], 4), values[name] <= bound,
            )  # fmt: skip


def peers(table: pd.DataFrame) -> list[Comparison]:
    """Check our goals beside ECL-MM, on an H100: the clock excludes the upload and the start."""
    found: list[Comparison] = []
    ours = _on_gpu(table)
    goals = {f"{name}_s1" for name in ("uniform_n100000_d4", "uniform_n1000000_d3",
                                       "skew_n1000000_d8")}  # fmt: skip
    if len(ours):
        ours = ours[ours["graph"].isin(goals) & ours["device"].str.contains("H100")]
    for (source, graph), rows in ours.groupby(["source", "graph"], sort=False):
        found += _goal(str(source), str(graph), rows)
    return found or not_measured("our time over ECL-MM's, an H100", "correctness")


def copter2(table: pd.DataFrame) -> list[Comparison]:
    """Check that every code of ours is faster than SciPy, which takes minutes."""
    found = []
    for row in _on_gpu(table).itertuples(index=False):
        sign = "below" if row.bound == "exact" else "below (SciPy had not ended)"
        found.append(
            comparisons.correct(
                f"{row.code} on copter2, s, {row.ordering}",
                f"{sign} {row.published_scipy_s}", round(row.measured_s, 4),
                row.measured_s < row.published_scipy_s,
            )
        )  # fmt: skip
    return found or not_measured("copter2", "correctness")


def _in_the_mean(column: str, what: str) -> Callable[[pd.DataFrame], list[Comparison]]:
    """Check a goal of ours: in the geometric mean, a ratio is at most 1 for each ordering."""

    def verdicts(table: pd.DataFrame) -> list[Comparison]:
        found = []
        for (source, ordering), rows in _on_gpu(table).groupby(["source", "ordering"], sort=False):
            ratios = rows[column].dropna()
            if len(ratios):
                mean = geometric_mean(ratios)
                found.append(
                    comparisons.correct(
                        f"{what}, geometric mean of {len(ratios)} {ordering} graphs",
                        "at most 1", round(mean, 4), mean <= 1,
                    )
                )  # fmt: skip
        return found or not_measured(what, "correctness")

    return verdicts


beyond = _in_the_mean("beyond_over_best", "beyond over the best of the eight")
