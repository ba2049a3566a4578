"""Comparisons of our tables with print.

Ratios redone on our machine come first, then claims of the text, then times, which prove nothing.
Our sets differ from print's, except for its twenty matrices if they are at hand; a stand-in is
never judged. The statements of section 4 that name no number are in `statements`, goals of our own
in `goals`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pandas as pd

from papers.common.evidence import comparisons
from papers.common.evidence.comparisons import (
    EFFECT,
    correct,
    effect,
    gains,
    not_measured,
    signs,
)
from papers.common.evidence.judges import Judge, Verdicts, each, each_time, judged
from papers.common.model import Cause, Comparison
from papers.deveci_matching.evidence import sets
from papers.deveci_matching.evidence.causes import bounds
from papers.deveci_matching.evidence.codes import BEST
from papers.deveci_matching.evidence.tables import (
    FEW,
    OF_FIG_2,
    OF_TABLE_2,
    SHOWN_ITERATIONS,
    column_of,
    geometric_mean,
)

Row = Any


# ------------------------------------------------------------------------------- Table 1


def _means(rows: pd.DataFrame, source: str) -> Iterable[Comparison]:
    """Compare each variant's mean over that of the best variant, on sets with enough graphs."""
    named = rows.assign(
        variant=rows["algorithm"] + " " + rows["bfs_kernel"] + " " + rows["thread_mode"]
    )
    named = named[(named["variant"] != BEST) & (named["graphs"] >= FEW)]
    judge = each("{variant} over " + BEST + ", {instance_set}", "published_over_best", "over_best",
                 cause=bounds.of_mean)  # fmt: skip
    yield from judge(named, source)


def _pairs(
    rows: pd.DataFrame, column: str, better: str, worse: str, times: str = "measured_s"
) -> pd.Series:
    """Return the mean of `worse` over that of `better`, a row a pair that differs in one choice."""
    names = ["algorithm", "bfs_kernel", "thread_mode"]
    others = [name for name in names if name != column]
    wide = rows.pivot(index=["instance_set", *others], columns=column, values=times).dropna()
    return wide[worse] / wide[better]


CHOICES = (
    ("thread_mode", "CT", "MT", "always", 1.0),
    ("bfs_kernel", "GPUBFS-WR", "GPUBFS", "always", 1.0),
    ("algorithm", "APFB", "APsB", "more suitable", 0.5),
)
"""The text on Table 1: a column, the better and the worse choice, the words, the share of wins that
they ask for. "More suitable" is about most pairs: in print APsB wins one of RCP_S1."""


def _always(rows: pd.DataFrame, source: str) -> Iterable[Comparison]:
    """Judge the text's claims about Table 1: how often CT, GPUBFS-WR, APFB win, and how much."""
    rows = rows[rows["graphs"] >= FEW]
    for column, better, worse, word, share in CHOICES if len(rows) else ():
        ratios = _pairs(rows, column, better, worse)
        if ratios.empty:
            continue
        yield signs(
            f"{better} faster than {worse}, pairs of means", word, int((ratios > 1).sum()),
            len(ratios), share, int((ratios == 1).sum()),
        )  # fmt: skip
        yield effect(
            f"{worse} over {better}, geometric mean of the pairs", word,
            round(geometric_mean(ratios), 4), at_least=EFFECT,
            cause=_of_pairs(rows, column, better, worse),
        )  # fmt: skip


def _of_pairs(rows: pd.DataFrame, column: str, better: str, worse: str) -> Cause | None:
    """Return the cause of a mean of pairs, if each pair has the figures of the mixes."""
    if not bounds.is_known(rows):
        return None
    figures = [
        _pairs(rows, column, better, worse, times)
        for times in ("published_s", "print_model_over_best", "expected_over_best")
    ]
    whole = all(len(each) == len(figures[0]) for each in figures)
    return bounds.of_pairs(*map(geometric_mean, figures)) if whole else None


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
        if code == "GPU":
            continue
        times, ratio = column_of(code), column_of(code, "over_gpu")
        for row in rows.dropna(subset=[f"published_{times}", ratio]).itertuples(index=False):
            theirs = getattr(row, f"published_{times}")
            fell = theirs / getattr(row, times), row.published_gpu_s / row.gpu_s
            yield comparisons.ratio(
                f"{code} over GPU, {row.matrix} {row.ordering}",
                round(theirs / row.published_gpu_s, 4), round(getattr(row, ratio), 4),
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

PANELS = (
    ("Hamrle3", "a", "APsB", "APFB", "APFB needs fewer"),
    ("delaunay", "b", "APFB", "APsB", "APsB needs fewer"),
)
"""The text on Figure 2: a graph, its panel, the algorithm with more and the one with fewer BFS
kernel executions in all."""


def fig_2(table: pd.DataFrame) -> list[Comparison]:
    """Judge the text on Figure 2: who needs fewer BFS kernel executions, on which graph.

    Counts do not depend on the device: those of the executor hold, too. A stand-in is not judged;
    that the levels of its iterations add up is checked as of every graph.
    """
    found: list[Comparison] = []
    for _, rows in table.groupby("source", sort=False) if len(table) else ():
        sums = rows[rows["what"] == "launches"]
        for graph, panel, more, fewer, words in PANELS:
            for row in sums[sums["name"].str.match(rf"{graph}(_n\d+)?$")].to_dict("records"):
                for kernel in ("GPUBFS", "GPUBFS-WR"):
                    larger, least = row[f"{more} {kernel} CT"], row[f"{fewer} {kernel} CT"]
                    found.append(
                        effect(
                            f"Figure 2({panel}), BFS kernel executions of {more} over {fewer}, "
                            f"{kernel}, {row['name']}",
                            words, round(larger / least, 4), at_least=EFFECT,
                        )
                    )  # fmt: skip
        found += _levels_add_up(rows)
    return found or not_measured("BFS kernel executions of Figure 2", "claim")


def _levels_add_up(rows: pd.DataFrame) -> Iterable[Comparison]:
    """Check that the executions of the shown iterations are all, where all iterations are shown."""
    for name, mine in rows.groupby("name", sort=False):
        levels = mine[mine["what"] == "levels"]
        sums = mine.drop_duplicates("what").set_index("what")
        for code in OF_FIG_2:
            iterations, launches = (sums[code].get(what) for what in ("iterations", "launches"))
            if comparisons.missing(iterations) or comparisons.missing(launches):
                continue
            varying = str(mine["varying"].iloc[0]).split(", ")
            if iterations <= SHOWN_ITERATIONS and code not in varying:
                yield correct(
                    f"executions in all iterations, iterations, {code}, {name}",
                    f"{launches:.0f}, {iterations:.0f}",
                    f"{levels[code].sum():.0f}, {levels[code].count()}",
                    (levels[code].sum(), levels[code].count()) == (launches, iterations),
                )  # fmt: skip


# ------------------------------------------------------------------------------- Figures 3 to 5

JUDGED = (0.0, 1.0, 2.0, 3.0)
"""The abscissae at which speedup profiles are compared."""


def _enough(judge: Judge) -> Judge:
    """Leave out sets with too few graphs."""
    return lambda rows, source: judge(rows[rows["graphs"] >= FEW], source)


def _at_some(judge: Judge) -> Judge:
    return lambda rows, source: judge(rows[rows["log2_speedup"].isin(JUDGED)], source)


def _percent(
    what: str, published: float, measured: float, note: comparisons.Note, cause: Cause | None
) -> Comparison:
    """Compare two shares; the usual five points are one graph of twenty."""
    ours = round(100 * measured, 2)
    return comparisons.share(what, 100 * published, ours, note=note, cause=cause)


def _other_baseline(row: Row) -> str:
    """Say so if another sequential code is the faster one here."""
    return "" if row.over == row.published_over else f"over {row.over} here, {row.published_over}"


def _profile(code: str, cause: Callable[[Row], Cause | None] = lambda row: None) -> Judge:
    name = f"% of {{instance_set}} with a speedup of 2^{{log2_speedup:g}} or more of {code} over"
    judge = each(
        f"{name} the faster sequential code", f"published_{code}".replace("-", "_"),
        code.replace("-", "_"), _percent, _other_baseline, cause,
    )  # fmt: skip

    def known(rows: pd.DataFrame, source: str) -> Iterable[Comparison]:
        # A named tuple has no attribute with a dash.
        rows = rows.dropna(subset=[f"published_{code}", code])
        return judge(rows.rename(columns=lambda column: column.replace("-", "_")), source)

    return _enough(_at_some(known))


fig_3 = judged("speedup profiles", "published_GPU", "GPU", _profile("GPU", bounds.of_share),
               _profile("P-DBFS"))  # fmt: skip

fig_4 = judged(
    "performance profiles", "published_GPU", "GPU",
    _enough(each("% of {instance_set} on which the GPU takes {factor:g} times the fastest or less",
                 "published_GPU", "GPU", _percent)),
)  # fmt: skip

fig_5 = judged(
    "overall speedups", "published_speedup", "speedup",
    _enough(each("overall speedup over {over}, {instance_set}", "published_speedup", "speedup",
                 cause=bounds.of_figure_5)),
)  # fmt: skip

# ------------------------------------------------------------------------------- claims


def _steadiness(row: Row, what: str) -> Comparison:
    """Judge whether at least as large a share of graphs is below 10 % as in print."""
    counts, ours = (
        [int(part) for part in text.split("/")] for text in (row.published, row.measured)
    )
    at_least = round(100 * counts[0] / sum(counts), 2)
    return effect(
        f"{what}, % below 10 %", row.published, round(100 * ours[0] / row.graphs, 2),
        at_least=at_least, note=f"{row.measured} of {row.graphs}",
    )  # fmt: skip


def _claim(row: Row) -> Comparison:
    what = f"{row.id}, {row.quantity}"
    note = f"our {row.instance_set} of {row.graphs} graphs"
    if comparisons.missing(row.measured) or row.graphs < FEW:
        why = "fewer than five graphs on a GPU"
        return Comparison(what, "ratio", row.published, None, "not measured", why)
    if row.id == "DE-o":
        return _steadiness(row, what)
    if row.id == "DE-n":
        return effect(
            what, "at most 6", round(row.measured, 2), at_most=row.published, note=note,
            cause=bounds.of_copies(row),
        )  # fmt: skip
    if row.unit == "%":
        return comparisons.share(what, row.published, round(row.measured, 2), note=note)
    if row.unit == "instances":
        # As a share, because our twenty are not print's: one graph of them is five points.
        shares = 100 * row.published / sets.HARDEST, 100 * row.measured / sets.HARDEST
        return comparisons.share(f"{what}, % of the twenty", *shares, note=note)
    return comparisons.ratio(
        what, row.published, round(row.measured, 4), note=note, cause=bounds.of_claim(row)
    )


def claims(table: pd.DataFrame) -> list[Comparison]:
    """Compare each number of the text with ours; those that cannot be redone are not measured."""
    found = [_claim(row) for row in table.itertuples(index=False)] if not table.empty else []
    return found or not_measured("claims of the text")
