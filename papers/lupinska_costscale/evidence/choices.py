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

from papers.common.evidence.comparisons import EFFECT, effect, not_measured
from papers.common.evidence.tables import Published
from papers.common.gpu.device import EXECUTOR_NAME
from papers.common.model import Cell, Comparison, Experiment, Instance, Plan
from papers.lupinska_costscale.evidence.codes import (
    BLOCKING,
    LOCK_FREE,
    ON_CPU,
    REAL,
    REDRAWN_EVERY,
    cell,
    costs,
    grids,
    options_of,
    segmentation,
)
from papers.lupinska_costscale.evidence.tables import (
    INSTANCE,
    geometric_mean,
    measured,
    order,
    ours_only,
)

SOME_GRIDS = (
    "seg_chelsea", "den_page", "stereo_tsukuba_it0_a05", "oflow_rubberwhale_dy+0_dx+0",
)  # fmt: skip
"""One real grid of each kind, for sweeps."""


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
    """

    name: str
    code: str
    option: str
    values: tuple[Any, ...]
    printed: Any
    instances: Callable[[Plan], list[Instance]]
    others: tuple[tuple[str, Any], ...] = ()

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
        asked = [options_of(text) for text in rows["options"]]
        names = {self.option, *dict(self.others)}
        wanted = {name: str(value) for name, value in self.others}
        keep = [set(of) == names and wanted.items() <= of.items() for of in asked]
        values = pd.Series([of.get(self.option, "") for of in asked], rows.index, object)
        rows = rows.assign(choice=self.name, option=values)[pd.Series(keep, rows.index, bool)]
        base = rows[rows["option"] == str(self.printed)]
        at = [*INSTANCE, "source"]
        base = base[[*at, "value"]].rename(columns={"value": "base"})
        rows = rows.merge(base, on=at, how="left")
        return rows.assign(over_published=rows["value"] / rows["base"], printed=str(self.printed))


def _bipartite(plan: Plan) -> list[Instance]:
    sides = {"smoke": (30,), "quick": (30,), "paper": (30, 60)}[plan.preset]
    return [costs(n, 100, seed) for n in (sides if plan.gpu else ()) for seed in plan.seeds]


def _some_grids(plan: Plan) -> list[Instance]:
    if not plan.gpu:
        return []
    if plan.preset != "paper":
        return [segmentation(64)]
    real = [one for one in grids() if one.label in SOME_GRIDS]
    return [*real, segmentation(512), segmentation(512, "astronaut")]


def _small_grids(plan: Plan) -> list[Instance]:
    sides = {"smoke": (), "quick": (32,), "paper": (32, 64)}[plan.preset]
    return [segmentation(side, photo) for side in sides for photo in ("camera", "astronaut")]


_EVERY = (("redraw_every", REDRAWN_EVERY),)
REFINE_BLOCK = Choice(
    "threads a block, lock-free refine", LOCK_FREE, "threads", (64, 128, 256, 512, 1024), 512,
    _bipartite,
)  # fmt: skip
PHASE_BLOCK = Choice(
    "block of the phases", BLOCKING, "tile", ("32x4", "32x8", "32x16", "32x32", "16x16", "64x4"),
    "32x8", _some_grids, _EVERY,
)  # fmt: skip
PUSHES = Choice("pushes a relabel (m)", BLOCKING, "m", (1, 2, 4, 8), 1, _some_grids, _EVERY)
GAP = Choice(
    "heuristics", ON_CPU, "heuristics", ("none", "global", "global+gap"), "global", _small_grids
)
"""The time with global relabeling alone is the base of the other two."""


def table_of(*choices: Choice) -> Callable[[pd.DataFrame, Published], pd.DataFrame]:
    """Return what makes the table of some choices: a row a value and size, medians over seeds."""

    def table(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
        rows = pd.concat([choice.times(summary) for choice in choices], ignore_index=True)
        real = rows["family"] == REAL
        rows["instance"] = rows["label"].where(real, rows["family"] + " " + rows["label"])
        index = ["choice", "instance", "n", "source", "device", "option", "printed"]
        found = rows.groupby(index, sort=False)[["value", "over_published"]].median().reset_index()
        found = found.rename(columns={"value": "time_ms"})
        return order(found, by=("choice", "instance", "n"))[[*index, "time_ms", "over_published"]]

    return table


def _means(table: pd.DataFrame, choice: Choice) -> Iterator[pd.Series]:
    """Yield, by source, the geometric mean of every value over the instances that have all."""
    rows = ours_only(table)
    rows = rows[(rows["device"] != EXECUTOR_NAME) & (rows["choice"] == choice.name)]
    for _, mine in rows.groupby("source", sort=False):
        wide = mine.pivot(index=["instance", "n"], columns="option", values="over_published")
        wide = wide.dropna(axis=0)
        if len(wide) and len(wide.columns) == len(choice.values):
            yield wide.apply(geometric_mean)


def best(choice: Choice, printed: str) -> Callable[[pd.DataFrame], list[Comparison]]:
    """Return what judges that print's value is the best: the next best takes noticeably longer."""

    def compare(table: pd.DataFrame) -> list[Comparison]:
        found = []
        for means in _means(table, choice):
            others = means.drop(str(choice.printed))
            what = f"{choice.name}: time of the next best, {choice.printed} being 1"
            note = f"the next best is {others.idxmin()}"
            least = round(float(others.min()), 3)
            found.append(effect(what, printed, least, at_least=EFFECT, note=note))
        return found or not_measured(f"{choice.name} swept on a GPU", "claim")

    return compare


def some_m(table: pd.DataFrame) -> list[Comparison]:
    """Judge that running m pushes before each relabel improves the time of some grids."""
    found = []
    rows = ours_only(table)
    rows = rows[(rows["device"] != EXECUTOR_NAME) & (rows["choice"] == PUSHES.name)]
    for _, mine in rows.groupby("source", sort=False):
        least = mine[mine["option"] != "1"].groupby(["instance", "n"])["over_published"].min()
        if len(least.dropna()):
            gained = round(float(least.min()), 3)
            note = f"{int((least <= 1 / EFFECT).sum())} of {len(least)} grids gain so much"
            found.append(
                effect(
                    f"{PUSHES.name}: time of the best m > 1, the grid that gains most",
                    "improves the time for some grids", gained, at_most=round(1 / EFFECT, 4),
                    note=note,
                )
            )  # fmt: skip
    return found or not_measured(f"{PUSHES.name} swept on a GPU", "claim")


def gap(table: pd.DataFrame) -> list[Comparison]:
    """Judge that gap relabeling saves less than global relabeling does."""
    found = []
    for means in _means(table, GAP):
        by_global, by_gap = float(means["none"]), 1 / float(means["global+gap"])
        found.append(
            effect(
                "gain by gap relabeling after global relabeling, over the gain by global alone",
                "not so significant", round(by_gap / by_global, 3), at_most=round(1 / EFFECT, 4),
                note=f"global relabeling alone gains {by_global:.3g}, gap relabeling then "
                f"{by_gap:.3g}: much excess cannot reach the sink here, and without a gap it "
                "climbs to |V|",
            )
        )  # fmt: skip
    return found or not_measured("gap beside global relabeling", "claim")


def experiments() -> tuple[Experiment, ...]:
    """Return the four experiments."""
    return (
        Experiment(
            name="blocks", title="Time by the block of the refine kernel, over that of 32 x 16",
            kind="table", cells=REFINE_BLOCK.cells, table=table_of(REFINE_BLOCK),
            compare=best(REFINE_BLOCK, "the best results"), interleaved=True,
        ),
        Experiment(
            name="phases", title="Blocking version: time by the block of its phases, over 32 x 8",
            kind="table", cells=PHASE_BLOCK.cells, table=table_of(PHASE_BLOCK),
            compare=best(PHASE_BLOCK, "the best result"), interleaved=True,
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
