"""The sentences of [K21 sec.V] and [K21 sec.IV] about Tables II and III, judged on both sides.

A sentence is a formula over times in ms by (version, n), applied to our times as printed and to
print's own, and a bound. Sentences that are a number of the text stand in `claims`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import pandas as pd

from papers.common.evidence.cards import figures_of
from papers.common.evidence.comparisons import effect, not_measured
from papers.common.evidence.tables import Published
from papers.common.gpu.device import EXECUTOR_NAME
from papers.common.model import Comparison
from papers.kawtikwar_opts.evidence.card import causes
from papers.kawtikwar_opts.evidence.codes import VERSIONS

Times = Mapping[tuple[str, int], float]

MUCH = 2.0
"""The least factor behind "a large amount", where the words give no number."""

MARGINAL = 0.85
"""The least incremental gain behind "performance loss is very small"."""


class Statement(NamedTuple):
    """A sentence as a bound on one figure.

    Attributes
    ----------
    claim : str
        A name for the tables.
    says : str
        The sentence in our words.
    of : callable(Times, sizes) -> float
        The figure.
    at_least, at_most : float or None
        The bound; one of them.
    """

    claim: str
    says: str
    of: Callable[[Times, list[int]], float]
    at_least: float | None = None
    at_most: float | None = None


def total(times: Times, version: str, n: int) -> float:
    """Return the speedup over the baseline."""
    return times["baseline", n] / times[version, n]


def step(times: Times, version: str, n: int) -> float:
    """Return the speedup over the version before."""
    return times[VERSIONS[VERSIONS.index(version) - 1], n] / times[version, n]


def _mean(values: list[float]) -> float:
    return float(pd.Series(values).pow(1 / len(values)).prod())


def _of_opt_0(times: Times, sizes: list[int]) -> float:
    means = {v: _mean([step(times, v, n) for n in sizes]) for v in VERSIONS[1:]}
    return means.pop("opt0") / max(means.values())


def _half(times: Times, sizes: list[int]) -> float:
    zero, all_of = (_mean([total(times, v, n) for n in sizes]) for v in ("opt0", "opt4"))
    return zero / all_of


def _beside_others(n: int, least: bool) -> Callable[[Times, list[int]], float]:
    """Return a formula: Opt 4's total at `n` over the least (or the largest) at another size."""

    def figure(times: Times, sizes: list[int]) -> float:
        others = [total(times, "opt4", m) for m in sizes if m != n]
        return total(times, "opt4", n) / (min if least else max)(others)

    return figure


STATEMENTS = (
    Statement("least_total", "all optimizations together cut the time by a large amount",
              lambda t, sizes: min(total(t, "opt4", n) for n in sizes), at_least=MUCH),
    Statement("opt_0_leads", "the largest incremental speedups are those of Opt 0",
              _of_opt_0, at_least=1.0),
    Statement("opt_0_is_half", "Opt 0 accounts for more than half of the total speedup",
              _half, at_least=0.5),
    Statement("least_at_4096", "the total speedup is lowest at n = 4096",
              _beside_others(4096, True), at_most=1.0),
    Statement("largest_at_1024", "the total speedup is highest at n = 1024",
              _beside_others(1024, False), at_least=1.0),
    Statement("losses_are_small", "no optimization slows a size down by much",
              lambda t, sizes: min(step(t, v, n) for v in VERSIONS[1:] for n in sizes),
              at_least=MARGINAL),
    Statement("opt_1_pays_late", "Opt 1 gains at the largest size what it does not at the least",
              lambda t, sizes: step(t, "opt1", max(sizes)) / step(t, "opt1", min(sizes)),
              at_least=1.1),
    Statement("launches_weigh_small", "Opt 2 gains more at the least size, where launches weigh",
              lambda t, sizes: step(t, "opt2", min(sizes)) / step(t, "opt2", max(sizes)),
              at_least=1.1),
)  # fmt: skip


def figures(times: Times, sizes: list[int]) -> dict[str, float]:
    """Return the figure of every statement."""
    return {one.claim: one.of(times, sizes) for one in STATEMENTS}


def table(run_times: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return the figures of print and ours, a row for each statement and origin.

    Parameters
    ----------
    run_times : DataFrame
        Table II (`evidence.tables.run_times`); a source without all of its cells says nothing.
    published : callable
        Loader of print's numbers.
    """
    second = published("table2")
    printed = dict(zip(zip(second["version"], second["n"], strict=True), second["time_ms"],
                       strict=True))  # fmt: skip
    sizes = sorted(set(second["n"]))
    own, rows = figures(printed, sizes), []
    known = run_times.dropna(subset=["measured_ms"])
    for (source, device), mine in known.groupby(["source", "device"], sort=False):
        times = dict(zip(zip(mine["version"], mine["n"], strict=True), mine["measured_ms"],
                         strict=True))  # fmt: skip
        if set(printed) <= set(times):
            for claim, value in figures(times, sizes).items():
                rows.append((claim, source, device, own[claim], value))
    says = {one.claim: one.says for one in STATEMENTS}
    columns = ["claim", "source", "device", "published_figure", "measured_figure"]
    found = pd.DataFrame(rows, columns=columns)
    return found.assign(says=found["claim"].map(says))


def compare(found: pd.DataFrame) -> list[Comparison]:
    """Judge every statement; one that print's own figures break says so."""
    by_claim, made = {one.claim: one for one in STATEMENTS}, []
    for row in found.itertuples(index=False) if len(found) else ():
        one = by_claim[row.claim]
        if row.device == EXECUTOR_NAME:
            continue
        own, note = float(row.published_figure), ""
        if not keeps(one, own):
            note = f"print's own figure is {own:.3g}"
        value = round(float(row.measured_figure), 4)
        names = "published_figure", "print_model", "expected"
        cause = causes.of_statement(figures_of(row, *names), one.at_least, one.at_most)
        made.append(effect(one.claim, one.says, value, one.at_least, one.at_most, note, cause))
    return made or not_measured("statements about Tables II and III: all 30 cells", "claim")


def keeps(statement: Statement, figure: float) -> bool:
    """Whether a figure keeps the statement's bound."""
    if statement.at_least is not None:
        return figure >= statement.at_least
    return statement.at_most is not None and figure <= statement.at_most
