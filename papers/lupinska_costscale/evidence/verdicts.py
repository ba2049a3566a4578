"""Comparisons of our tables with the paper's claims in words, and with our goals.

Counts do not depend on the device; times of the CPU executor are never judged. Print's one time is
of another machine, yet it is the paper's claim: whether ours keeps it is judged, beside the time
itself. A claim about a size must hold in the whole interval of our figure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd

from papers.common.evidence import comparisons
from papers.common.evidence.comparisons import EFFECT, FACTOR, correct, effect, goal, not_measured
from papers.common.gpu.device import EXECUTOR_NAME
from papers.common.model import Comparison
from papers.lupinska_costscale.evidence import causes
from papers.lupinska_costscale.evidence.codes import (
    ALPHA,
    ASYNC,
    BATCH,
    BLOCKING,
    CLAIMED_N,
    CLAIMED_S,
    CYCLE_ASSIGNMENT,
    CYCLE_FLOW,
    EVERY,
    FLOW_ON_GPU,
    HONG,
    HYBRID,
    LOCK_FREE,
    REDRAWN,
    RIVALS,
    SCIPY,
    VERSIONS,
)
from papers.lupinska_costscale.evidence.tables import geometric_mean, ours_only


def _timed(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with times of a real machine."""
    table = ours_only(table)
    return table[table["device"] != EXECUTOR_NAME] if len(table) else table


def _by_source(table: pd.DataFrame) -> Iterator[pd.DataFrame]:
    for _, rows in table.groupby("source", sort=False) if len(table) else ():
        yield rows


def _without(quantity: str, printed: str, why: str) -> Comparison:
    """Return the comparison of a statement that no recorded experiment tests."""
    return Comparison(quantity, "claim", printed, None, "not measured", why)


# ------------------------------------------------------------------------------- the claim


def claim_small(table: pd.DataFrame) -> list[Comparison]:
    """Check the claim of about 1/20 s on both clocks, for every n and C of the paper."""
    found: list[Comparison] = []
    rows = _timed(table)
    rows = rows[rows["published_s"].notna() & (rows["code"] == LOCK_FREE)] if len(rows) else rows
    for mine in _by_source(rows):
        slowest = float(mine["share"].max()) * CLAIMED_S
        found.append(
            effect(
                f"slowest of the sizes up to n = {CLAIMED_N}, C = 100, either scope, s",
                "about 1/20", round(slowest, 5), at_most=CLAIMED_S,
            )
        )  # fmt: skip
        edge = mine[mine["n"] == CLAIMED_N]
        for row in edge.itertuples(index=False):
            found.append(
                comparisons.absolute_time(
                    f"n = {row.n}, C = {row.C}, end to end, s", row.published_s,
                    row.end_to_end_s, "another machine",
                )
            )  # fmt: skip
    return found or not_measured("the claim of 1/20 s on a GPU", "claim")


def claim_large(table: pd.DataFrame) -> list[Comparison]:
    """Check that large complete graphs are inefficient: the lag behind others grows with n."""
    found: list[Comparison] = []
    for rows in _by_source(_timed(table)):
        rows = rows.dropna(subset=[LOCK_FREE])
        rows = rows[rows[[*RIVALS, SCIPY]].notna().any(axis=1)].sort_values("n")
        if len(rows) < 2:
            continue
        first, last = rows.iloc[0], rows.iloc[-1]
        found.append(
            effect(
                f"time over the fastest other's, at n = {last['n']} over that at n = {first['n']}",
                "not efficient for large graphs",
                round(float(last["over_fastest"] / first["over_fastest"]), 3), at_least=EFFECT,
                note=f"{first['over_fastest']:.3g} and {last['over_fastest']:.3g} times the other",
            )
        )  # fmt: skip
    return found or not_measured("time against n on a GPU, beside other solvers", "claim")


MANY_COSTS = 10
"""Sides from which the largest of the drawn costs is near C, which sets the number of refines."""


def operations(table: pd.DataFrame) -> list[Comparison]:
    """Compare the number of refines; check that their operations lie between the two bounds."""
    found: list[Comparison] = []
    for of_source in _by_source(ours_only(table)):
        for code, rows in of_source.groupby("code", sort=False):
            large = rows[rows["n"] >= MANY_COSTS]
            if len(large):
                found.append(
                    comparisons.count(
                        f"refines at all sizes from n = {MANY_COSTS}, {code}",
                        int(large["published_refines"].sum()), int(large["refines"].sum()),
                    )
                )  # fmt: skip
            least, share = float(rows["pushes_a_node"].min()), float(rows["share"].max())
            found.append(
                correct(
                    f"pushes of a refine over n, its operations over n^2 m, {code}",
                    "at least 1, at most 1", f"{least:.4g}, {share:.4g}", least >= 1 >= share,
                )
            )  # fmt: skip
    return found or not_measured("pushes and relabels", "count")


# ------------------------------------------------------------------------------- heuristics


def heuristics(table: pd.DataFrame) -> list[Comparison]:
    """Check that each heuristic saves time, as the text claims, and more often is no better."""
    found: list[Comparison] = []
    for of_source in _by_source(_timed(table)):
        for (code, cycle), rows in of_source.groupby(["code", "cycle"], sort=False):
            called = f"{code}, CYCLE {cycle}" if cycle else str(code)
            found += _savings(rows, called, cycle in (0, CYCLE_ASSIGNMENT))
            if {"both", EVERY} <= {*rows["heuristics"]}:
                found.append(_more_often(rows, called))
    return found or not_measured("the savings of the heuristics", "claim")


def _savings(rows: pd.DataFrame, called: str, printed: bool) -> Iterator[Comparison]:
    """Compare the savings with print or, at a CYCLE that print lacks, with a goal of ours."""
    for name, mine in rows.groupby("heuristics", sort=False):
        ratios = mine["time_over_none"].dropna()
        if name in ("none", EVERY) or ratios.empty:
            continue
        found, bound = round(geometric_mean(ratios), 3), round(1 / EFFECT, 4)
        what = f"time with {name} over that with none, {called}"
        note = f"operations: {geometric_mean(mine['operations_over_none']):.3g} times as many"
        if not printed:
            yield goal(what, found, at_most=bound, note=note)
            continue
        cause = causes.of_failure(causes.of_heuristic(rows, str(name)), found, at_most=bound)
        yield effect(what, "saves time", found, at_most=bound, note=note, cause=cause)


def _more_often(rows: pd.DataFrame, called: str) -> Comparison:
    """Compare price updates after the first run only with those after every run."""
    mine = rows[rows["heuristics"] == EVERY]
    what = f"heuristics after every run over after the first, {called}"
    if not mine["price_updates"].any():
        return _without(what, "no better", "no price update was made: both programs are the same")
    found = round(geometric_mean(mine["time_over_both"].dropna()), 3)
    bound = round(1 / EFFECT, 4)
    cause = causes.of_failure(causes.of_every_run(rows), found, at_least=bound)
    return effect(what, "no better", found, at_least=bound, cause=cause)


def versions(table: pd.DataFrame) -> list[Comparison]:
    """Check that the author's combination of two algorithms is faster than either."""
    found: list[Comparison] = []
    for of_source in _by_source(_timed(table)):
        for version, rows in of_source.groupby("version", sort=False):
            ratios = rows["time_over_own"].dropna()
            if version == VERSIONS[-1] or ratios.empty:
                continue
            fewer = geometric_mean(rows["operations_over_own"].dropna())
            mean = round(geometric_mean(ratios), 3)
            words = f"it makes {fewer:.3g} times the operations of the author's algorithm"
            cause = causes.counted("versions", (fewer,), words)
            found.append(
                effect(
                    f"time of Alg. {version} over that of Alg. {VERSIONS[-1]}",
                    "an impact on efficiency", mean, at_least=EFFECT,
                    note=f"operations: {fewer:.3g} times the author's",
                    cause=causes.of_failure(cause, mean, at_least=EFFECT),
                )
            )  # fmt: skip
    return found or not_measured("the three sequential algorithms", "claim")


# ------------------------------------------------------------------------------- constants

MUCH = FACTOR
"""The least ratio behind "much longer": a smaller one is within the usual tolerance of a ratio."""


def _next_best(
    table: pd.DataFrame, option: str, code: str, theirs: int
) -> Iterator[tuple[float, int, pd.DataFrame]]:
    """Yield, by source, the least time of another value over that of the author's.

    With it come that value, and the rows of the code.
    """
    rows = _timed(table)
    for mine in _by_source(rows[rows["code"] == code] if len(rows) else rows):
        means = mine.groupby(option)["over_published"].agg(geometric_mean).dropna()
        others = means[means.index != theirs]
        if theirs in means.index and len(others):
            yield round(float(others.min()), 3), int(others.idxmin()), mine


def alpha(table: pd.DataFrame) -> list[Comparison]:
    """Check that 10 is best, and that other values take much longer."""
    found: list[Comparison] = []
    for least, value, mine in _next_best(table, "alpha", LOCK_FREE, ALPHA):
        what = f"time of the next best ALPHA over that of {ALPHA}, {LOCK_FREE}"
        work = geometric_mean(mine.loc[mine["alpha"] == value, "operations_over_published"])
        words = f"with ALPHA {value} there are {work:.3g} times the operations, one after another"
        cause = causes.of_failure(causes.counted("alpha", (work,), words), least, at_least=MUCH)
        found.append(
            effect(
                what, "others take much longer", least, at_least=MUCH,
                note=f"the next best is {value}", cause=cause,
            )
        )  # fmt: skip
    return found or not_measured("ALPHA swept on a GPU", "claim")


def cycle(table: pd.DataFrame) -> list[Comparison]:
    """Check that 7000 is best for flow; 500,000 for assignment was chosen against a time limit."""
    what = f"time of the next best CYCLE over that of {CYCLE_FLOW}, {HYBRID}"
    found = [
        effect(
            what,
            "picked by tests",
            least,
            at_least=EFFECT,
            note=f"the next best is {value}",
            cause=causes.of_failure(
                causes.of_cycle(mine, CYCLE_FLOW, value), least, at_least=EFFECT
            ),
        )
        for least, value, mine in _next_best(table, "cycle", HYBRID, CYCLE_FLOW)
    ]
    return found or not_measured(f"CYCLE swept on a GPU, {CYCLE_FLOW}", "claim")


# ------------------------------------------------------------------------------- maximum flow


def _right(table: pd.DataFrame) -> list[Comparison]:
    found = []
    for rows in _by_source(ours_only(table)):
        right, known = int(rows["right"].sum()), int(rows["known"].notna().sum())
        found.append(
            correct(
                f"instances on which all codes find one value, known on {known}",
                len(rows), right, right == len(rows),
            )
        )  # fmt: skip
        for row in rows[~rows["right"].astype(bool)].itertuples(index=False):
            what = f"maximum flow of {row.instance}"
            found.append(correct(what, row.known, row.value, False))
    return found


MEAN_GOAL, LARGE_GOAL = 2.0, 5.0
LARGE_SIDE = 2048


def _goals(rows: pd.DataFrame) -> Iterator[Comparison]:
    real = rows[rows["known"].notna()]["pymaxflow_over_best"].dropna()
    if len(real):
        mean = round(geometric_mean(real), 3)
        what = "PyMaxflow over the best of ours, geometric mean of the real grids"
        yield goal(what, mean, at_least=MEAN_GOAL)
    large = rows[(rows["n"] == LARGE_SIDE) & (rows["kind"] == "segmentation")]
    for row in large.dropna(subset=["pymaxflow_over_best"]).itertuples(index=False):
        yield goal(
            f"PyMaxflow over the best of ours, {row.instance}", float(row.pymaxflow_over_best),
            at_least=LARGE_GOAL, note=row.best,
        )  # fmt: skip


def _slower(rows: pd.DataFrame, slow: str, printed: str, note: str = "") -> Comparison:
    """Compare a version with the hybrid on the grids of both; a limit of time is a lower bound."""
    limits = rows.get(f"{slow} gave up, s", pd.Series(float("nan"), rows.index))
    ratios = (rows[slow].fillna(1000 * limits) / rows[HYBRID]).dropna()
    what = f"{slow} over {HYBRID}, geometric mean of the grids of both"
    if ratios.empty:
        return _without(what, printed, "no recorded cell runs this version" + note)
    stopped = int(rows.loc[ratios.index, slow].isna().sum())
    told = f"{len(ratios)} grids, {stopped} of them given up" + note
    return effect(what, printed, round(geometric_mean(ratios), 3), at_least=EFFECT, note=told)


def _redrawn(rows: pd.DataFrame) -> str:
    """Return the note on the blocking version with an option that the paper lacks."""
    ratios = (rows[REDRAWN] / rows[HYBRID]).dropna()
    if ratios.empty:
        return ""
    return f"; {REDRAWN}, which is ours: {geometric_mean(ratios):.3g} of the hybrid's time"


def flow_versions(table: pd.DataFrame) -> list[Comparison]:
    """Check the author's ranking of the versions, and our goals beside PyMaxflow."""
    found = _right(table)
    timed = _timed(table)
    codes = [*FLOW_ON_GPU, REDRAWN]
    timed = timed[timed[codes].notna().any(axis=1)] if len(timed) else timed
    for rows in _by_source(timed):
        found.append(_slower(rows, ASYNC, "slower"))
        found.append(_slower(rows, BLOCKING, "long execution time", _redrawn(rows)))
        found.append(_slower(rows, HONG, "poor performance in practice"))
        found += _goals(rows)
    missing = not_measured("versions of push-relabel on a GPU beside PyMaxflow", "claim")
    return found if len(timed) else found + missing


def ak(table: pd.DataFrame) -> list[Comparison]:
    """Check that the codes which end the worst case in time find the known value."""
    return _right(table) or not_measured("maximum flow of ak-4102", "correctness")


# ------------------------------------------------------------------------------- goals of ours

SINGLE_MS, BATCH_GOAL, BATCH_SIZE = 1.0, 10.0, 10_000


def _at_thirty(table: pd.DataFrame) -> pd.DataFrame:
    rows = _timed(table)
    return rows[rows["n"] == CLAIMED_N] if len(rows) else rows


def single(table: pd.DataFrame) -> list[Comparison]:
    """Check that the faster of our two ways takes less than a millisecond, device-resident."""
    found = []
    rows = _at_thirty(table)
    rows = rows[rows["code"] != SCIPY] if len(rows) else rows
    for mine in _by_source(rows):
        row = mine.loc[mine["run_ms"].astype(float).idxmin()]
        found.append(
            goal(
                "one assignment of 30 a side by the fastest of ours, ms",
                float(row["run_ms"]), at_most=SINGLE_MS, note=str(row["code"]),
            )
        )  # fmt: skip
    return found or not_measured("one assignment of 30 a side on a GPU", "goal")


def _batches(rows: pd.DataFrame, check: Callable[[Any], Comparison]) -> list[Comparison]:
    mine = rows[rows["code"] == BATCH].dropna(subset=["loop_over_this"]) if len(rows) else rows
    return [check(row) for row in mine.itertuples(index=False)]


def batch(table: pd.DataFrame) -> list[Comparison]:
    """Check that costs equal SciPy's, and that 10,000 of 30 a side are ten times faster."""
    found = _batches(
        ours_only(table),
        lambda row: correct(
            f"sum of the costs of {row.problems} assignments, n = {row.n}",
            "SciPy's", "the same" if row.same_costs else f"{row.total_cost:.0f}", row.same_costs,
        ),
    )  # fmt: skip
    rows = _at_thirty(table)
    rows = rows[rows["problems"] >= BATCH_SIZE] if len(rows) else rows
    goals = _batches(
        rows,
        lambda row: goal(
            f"SciPy's loop over the batch, {row.problems} of 30 a side",
            float(row.loop_over_this), at_least=BATCH_GOAL,
        ),
    )  # fmt: skip
    return found + (goals or not_measured("10,000 assignments at once, over SciPy's loop", "goal"))
