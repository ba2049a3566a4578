"""Choices that the paper makes by its tests, or reports of others: each swept, all else equal.

`blocks` is the block of the refine kernel, "best for 32 x 16" [LU11 sec.5.5]; `phases` is the
block of Vineet and Narayanan's phases, best for 32 x 8, and `pushes` their m pushes a relabel
[LU11 sec.4.3]; `gap` is gap relabeling beside global relabeling [LU11 sec.4.2]. Times are of one
instance and seed over that with the author's choice, then geometric means.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd

from papers.common.evidence.comparisons import EFFECT, FACTOR, effect, not_measured
from papers.common.evidence.tables import Published
from papers.common.gpu.device import EXECUTOR_NAME
from papers.common.model import Cell, Comparison, Experiment, Instance, Plan
from papers.lupinska_costscale.evidence import causes
from papers.lupinska_costscale.evidence.codes import (
    BLOCKING,
    LOCK_FREE,
    ON_CPU,
    REAL,
    REDRAWN_EVERY,
    cell,
    costs,
    options_of,
    segmentation,
    some_grids,
)
from papers.lupinska_costscale.evidence.tables import (
    INSTANCE,
    geometric_mean,
    measured,
    order,
    ours_only,
    with_counts,
)


@dataclass(frozen=True)
class Choice:
    """An option of a code, the values that are tried, and the one that print has.

    Attributes
    ----------
    name : str
        Its name in the table.
    code : str
        A key of `codes.SOLVER_OF`.
    option : str
    values : tuple
    printed : int or str
    instances : callable(Plan) -> list of Instance
    others : tuple of (str, value) pairs
        The other options of its cells.
    work : tuple of str
        The counters whose sum says how much there was to do.
    """

    name: str
    code: str
    option: str
    values: tuple[Any, ...]
    printed: Any
    instances: Callable[[Plan], list[Instance]]
    others: tuple[tuple[str, Any], ...] = ()
    work: tuple[str, ...] = ()

    def cells(self, plan: Plan) -> list[Cell]:
        """Plan every value on every instance."""
        return [
            cell(self.code, one, **{self.option: value, **dict(self.others)})
            for one in self.instances(plan)
            for value in self.values
        ]

    def times(self, summary: pd.DataFrame) -> pd.DataFrame:
        """Return the times of its cells and over those with print's value, a row a cell."""
        rows = measured(summary, (self.code,))
        rows = with_counts(rows, summary, (self.code,), work=self.work)
        asked = [options_of(text) for text in rows["options"]]
        names = {self.option, *dict(self.others)}
        wanted = {name: str(value) for name, value in self.others}
        keep = [set(of) == names and wanted.items() <= of.items() for of in asked]
        values = pd.Series([of.get(self.option, "") for of in asked], rows.index, object)
        rows = rows.assign(choice=self.name, option=values)[pd.Series(keep, rows.index, bool)]
        base = rows[rows["option"] == str(self.printed)]
        at = [*INSTANCE, "source"]
        base = base[[*at, "value", "work"]]
        rows = rows.merge(base, on=at, how="left", suffixes=("", "_base"))
        return rows.assign(
            over_published=rows["value"] / rows["value_base"],
            work_over_published=rows["work"] / rows["work_base"],
            printed=str(self.printed),
        )


def _bipartite(plan: Plan) -> list[Instance]:
    sides = {"smoke": (30,), "quick": (30,), "paper": (30, 60)}[plan.preset]
    return [costs(n, 100, seed) for n in (sides if plan.gpu else ()) for seed in plan.seeds]


def _some_grids(plan: Plan) -> list[Instance]:
    if not plan.gpu:
        return []
    if plan.preset != "paper":
        return [segmentation(64)]
    return [*some_grids(), segmentation(512), segmentation(512, "astronaut")]


def _small_grids(plan: Plan) -> list[Instance]:
    sides = {"smoke": (), "quick": (32,), "paper": (32, 64)}[plan.preset]
    return [segmentation(side, photo) for side in sides for photo in ("camera", "astronaut")]


_EVERY = (("redraw_every", REDRAWN_EVERY),)
REFINE_BLOCK = Choice(
    "threads a block, lock-free refine", LOCK_FREE, "threads", (64, 128, 256, 512, 1024), 512,
    _bipartite, work=("pushes", "relabels"),
)  # fmt: skip
PHASE_BLOCK = Choice(
    "block of the phases", BLOCKING, "tile", ("32x4", "32x8", "32x16", "32x32", "16x16", "64x4"),
    "32x8", _some_grids, _EVERY, ("kernel_launches",),
)  # fmt: skip
PUSHES = Choice(
    "pushes a relabel (m)", BLOCKING, "m", (1, 2, 4, 8), 1, _some_grids, _EVERY,
    ("kernel_launches",),
)  # fmt: skip
GAP = Choice(
    "heuristics", ON_CPU, "heuristics", ("none", "global", "global+gap"), "global", _small_grids,
    work=("pushes", "relabels"),
)  # fmt: skip
"""The time with global relabeling alone is the base of the other two."""


def table_of(*choices: Choice) -> Callable[[pd.DataFrame, Published], pd.DataFrame]:
    """Return what makes the table of some choices: a row a value and size, medians over seeds.

    ``work`` counts what `Choice.work` names: launches of a kernel, or pushes and relabels.
    """

    def table(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
        rows = pd.concat([choice.times(summary) for choice in choices], ignore_index=True)
        real = rows["family"] == REAL
        rows["instance"] = rows["label"].where(real, rows["family"] + " " + rows["label"])
        index = ["choice", "instance", "n", "source", "device", "option", "printed"]
        shown = ["value", "over_published", "work", "work_over_published"]
        found = rows.groupby(index, sort=False)[shown].median().reset_index()
        found = found.rename(columns={"value": "time_ms"})
        found = order(found, by=("choice", "instance", "n"))
        return found[[*index, "time_ms", *shown[1:]]]

    return table


def _means(table: pd.DataFrame, choice: Choice) -> Iterator[tuple[pd.Series, pd.Series]]:
    """Yield, by source, geometric means of every value over the instances that have all.

    They are of the times and of the work, over those with print's value.
    """
    rows = ours_only(table)
    rows = rows[(rows["device"] != EXECUTOR_NAME) & (rows["choice"] == choice.name)]
    for _, mine in rows.groupby("source", sort=False):
        at = {"index": ["instance", "n"], "columns": "option"}
        wide = mine.pivot(values="over_published", **at).dropna(axis=0)
        if len(wide) and len(wide.columns) == len(choice.values):
            work = mine.pivot(values="work_over_published", **at).reindex(wide.index)
            yield wide.apply(geometric_mean), work.apply(geometric_mean)


def best(
    choice: Choice, printed: str, experiment: str, words: str
) -> Callable[[pd.DataFrame], list[Comparison]]:
    """Return what judges that print's value is the best: the next best takes noticeably longer.

    Parameters
    ----------
    choice : Choice
    printed : str
        The paper's words.
    experiment : str
        Its name, which a cause names.
    words : str
        The cause where a time is that of the work, with a place for its ratio.
    """

    def compare(table: pd.DataFrame) -> list[Comparison]:
        found = []
        for means, works in _means(table, choice):
            others = means.drop(str(choice.printed))
            work = float(works[others.idxmin()])
            what = f"{choice.name}: time of the next best, {choice.printed} being 1"
            note = f"the next best is {others.idxmin()}"
            least = round(float(others.min()), 3)
            cause = causes.counted(experiment, (work,), words.format(work))
            cause = causes.of_failure(cause, least, at_least=EFFECT)
            found.append(effect(what, printed, least, at_least=EFFECT, note=note, cause=cause))
        return found or not_measured(f"{choice.name} swept on a GPU", "claim")

    return compare


def some_m(table: pd.DataFrame) -> list[Comparison]:
    """Judge that running m pushes before each relabel improves the time of some grids."""
    found = []
    rows = ours_only(table)
    rows = rows[(rows["device"] != EXECUTOR_NAME) & (rows["choice"] == PUSHES.name)]
    for _, mine in rows.groupby("source", sort=False):
        others = mine[mine["option"] != "1"].dropna(subset=["over_published"])
        least = others.groupby(["instance", "n"])["over_published"].min()
        if len(least):
            gained = round(float(least.min()), 3)
            work = float(others.loc[others["over_published"].idxmin(), "work_over_published"])
            bound = round(1 / EFFECT, 4)
            words = f"the best m > 1 takes {work:.3g} times the launches"
            cause = causes.of_failure(
                causes.counted("pushes", (work,), words), gained, at_most=bound
            )
            note = f"{int((least <= 1 / EFFECT).sum())} of {len(least)} grids gain so much"
            found.append(
                effect(
                    f"{PUSHES.name}: time of the best m > 1, the grid that gains most",
                    "improves the time for some grids", gained, at_most=bound, note=note,
                    cause=cause,
                )
            )  # fmt: skip
    return found or not_measured(f"{PUSHES.name} swept on a GPU", "claim")


def gap(table: pd.DataFrame) -> list[Comparison]:
    """Judge that the heuristics save much time, and gap relabeling less of it than global does."""
    found = []
    for means, works in _means(table, GAP):
        by_global, by_gap = float(means["none"]), 1 / float(means["global+gap"])
        work = 1 / float(works["global+gap"]) / float(works["none"])
        over, bound = round(by_gap / by_global, 3), round(1 / EFFECT, 4)
        words = (
            f"by pushes and relabels alone it is {work:.3g}: excess that cannot reach the sink "
            "climbs to |V| level by level without a gap"
        )
        cause = causes.of_failure(causes.counted("gap", (work,), words), over, at_most=bound)
        found += [
            effect(
                "time with no heuristic over that with global and gap relabeling",
                "significantly improves", round(by_global * by_gap, 3), at_least=FACTOR,
            ),
            effect(
                "gain by gap relabeling after global relabeling, over the gain by global alone",
                "not so significant", over, at_most=bound, cause=cause,
                note=f"global relabeling alone gains {by_global:.3g}, gap relabeling then "
                f"{by_gap:.3g}",
            ),
        ]  # fmt: skip
    return found or not_measured("gap beside global relabeling", "claim")


def experiments() -> tuple[Experiment, ...]:
    """Return the four experiments."""
    return (
        Experiment(
            name="blocks", title="Time by the block of the refine kernel, over that of 32 x 16",
            kind="table", cells=REFINE_BLOCK.cells, table=table_of(REFINE_BLOCK),
            compare=best(
                REFINE_BLOCK, "the best results", "blocks",
                "the next best block makes {:.3g} times the operations: a block changes neither "
                "these nor what one of them waits for",
            ),
            interleaved=True,
        ),
        Experiment(
            name="phases", title="Blocking version: time by the block of its phases, over 32 x 8",
            kind="table", cells=PHASE_BLOCK.cells, table=table_of(PHASE_BLOCK),
            compare=best(
                PHASE_BLOCK, "the best result", "phases",
                "with the next best block there are {:.3g} times the launches, and these take the "
                "time",
            ),
            interleaved=True,
        ),
        Experiment(
            name="pushes", title="Blocking version: time by the pushes a relabel (m), over 1",
            kind="table", cells=PUSHES.cells, table=table_of(PUSHES), compare=some_m,
            interleaved=True,
        ),
        Experiment(
            name="gap", title="Sequential push-relabel by its heuristics, over global relabeling",
            kind="table", cells=GAP.cells, table=table_of(GAP), compare=gap, interleaved=True,
        ),
    )  # fmt: skip
