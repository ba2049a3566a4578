"""Gives every comparison of an experiment its interval, and with it its verdict.

The figures of all resamples (`papers.common.evidence.resamples`) are compared as the measured ones
are, by the experiment's own table and comparison. A figure of a resample is found again by its
quantity's name.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import pandas as pd

from papers.common.evidence import resamples
from papers.common.evidence.judges import by_origin
from papers.common.evidence.tables import Published
from papers.common.evidence.verdicts import decide, missing
from papers.common.model import Comparison, Experiment

TOO_FEW = "too few resamples have this figure for an interval: the verdict is that of the medians"

Key = tuple[str, int]
"""A quantity's name, and the number of comparisons of that name before it."""


class Evidence:
    """A summary and its resamples, which are made once for all experiments.

    Parameters
    ----------
    summary : DataFrame
        The usable rows of this run and of the recorded ones.
    draws : int
        The number of resamples; 0: none, and verdicts are those of the medians.
    """

    def __init__(self, summary: pd.DataFrame, draws: int = resamples.DRAWS) -> None:
        self.summary = summary
        self.draws = draws
        self._stacks: dict[str, pd.DataFrame] = {}

    def _stack(self, source: str) -> pd.DataFrame:
        if source not in self._stacks:
            self._stacks[source] = resamples.stacked(self.summary, source, self.draws)
        return self._stacks[source]

    def compare(
        self, experiment: Experiment, table: pd.DataFrame, published: Published
    ) -> list[Comparison]:
        """Compare an experiment's table with print, with intervals.

        Parameters
        ----------
        experiment : Experiment
            With `compare`.
        table : DataFrame
            Its table, made of the summary.
        published : callable(name) -> DataFrame
            The paper's printed numbers.
        """
        assert experiment.compare is not None, "an experiment without comparisons"
        found = by_origin(experiment.compare, table)
        if not self.draws or "source" not in table:
            return found
        for source in dict.fromkeys(item.origin for item in found if _varies(item)):
            stack = self._stack(source)
            if not stack.empty:
                drawn = list(_by_draw(experiment, experiment.table(stack, published)))
                found = _with_intervals(found, source, drawn, self.draws)
        return found


def _varies(item: Comparison) -> bool:
    """Whether a comparison's figure has an interval.

    Times of another machine and exact counts have none; a model predicts medians.
    """
    judged = item.verdict not in ("not measured", "not comparable")
    exact = item.accept is not None and item.accept[0] == item.accept[1]
    return judged and item.kind not in ("correctness", "model") and not exact


def _by_draw(experiment: Experiment, table: pd.DataFrame) -> Iterator[Sequence[Comparison]]:
    assert experiment.compare is not None
    for source, rows in table.groupby("source", sort=False) if "source" in table else ():
        if resamples.MARK in str(source):
            yield experiment.compare(rows)


def _keyed(items: Iterable[Comparison]) -> Iterator[tuple[Key, Comparison]]:
    seen: dict[str, int] = defaultdict(int)
    for item in items:
        yield (item.quantity, seen[item.quantity]), item
        seen[item.quantity] += 1


def _with_intervals(
    items: list[Comparison], source: str, drawn: list[Sequence[Comparison]], draws: int
) -> list[Comparison]:
    """Return the comparisons, those of one source with the interval of their resamples."""
    figures: dict[Key, list[Comparison]] = defaultdict(list)
    for resample in drawn:
        for key, item in _keyed(resample):
            figures[key].append(item)
    mine = (item for item in items if item.origin == source)
    settled = {key: _settled(item, figures[key], draws) for key, item in _keyed(mine)}
    keys = iter(settled.values())
    return [next(keys) if item.origin == source else item for item in items]


def _settled(item: Comparison, drawn: list[Comparison], draws: int) -> Comparison:
    """Return one comparison with the interval of its figure and the verdict that follows."""
    if not _varies(item):
        return item
    if item.accept is None:
        told = [other.holds for other in drawn if other.holds is not None]
        enough = len(told) >= 0.9 * draws
        return decide(replace(item, steady=sum(told) / len(told))) if enough else _alone(item)
    values = [float(other.measured) for other in drawn if _is_number(other)]  # type: ignore[arg-type]
    found = resamples.bounds(values, draws)
    if found is None:
        return _alone(item)
    assert item.measured is not None
    low, high = min(found[0], float(item.measured)), max(found[1], float(item.measured))
    return decide(replace(item, low=low, high=high))


def _alone(item: Comparison) -> Comparison:
    """Return a comparison whose verdict is that of the medians, with a remark that says so."""
    return replace(item, remark=item.remark or TOO_FEW)


def _is_number(item: Comparison) -> bool:
    return not missing(item.measured) and not isinstance(item.measured, str)
