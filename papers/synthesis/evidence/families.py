"""Structured costs, floats, ties and rectangles: where solvers of uniform costs lose."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from papers.common.evidence import tables
from papers.common.evidence.comparisons import correct, goal, not_measured
from papers.common.evidence.tables import KEY, Published, by_seed, named
from papers.common.instances.structured import FLOATS, PEERS_SEED, STRUCTURED
from papers.common.model import Cell, Comparison, Instance, Plan
from papers.synthesis.calls.choice import Question, rule_for
from papers.synthesis.calls.one_matrix import traits_of
from papers.synthesis.evidence import peers, work
from papers.synthesis.evidence.uniform import CPU, DENSE, LESS, ONE_CORE, OPT4

SHAPES = ("200x2000", "2000x200", "3x7000", "1000x3000")
SMALL_SHAPES = ("4x12", "12x4")

SIZES = {"smoke": (64,), "quick": (300,), "paper": (1000, 2000)}
EXECUTOR = {"smoke": (6,), "quick": (8,), "paper": (8,)}
PRODUCT = 300
"""The order of ``product``: the Hungarian algorithm's worst case takes others seconds there."""

SHARE, LONG_MS = 0.1, 50.0
"""Our goals: a tenth of the best peer's time where that takes longer, in ms; else less than it. A
call that leaves costs to the best peer itself takes as long, which is not less."""

FILES = {
    "assign100": 100, "assign500": 500, "assign600": 600, "assign700": 700,
    "colour_coffee_astronaut": 1000, "patch_motorcycle": 1024, "patch_rubberwhale": 1024,
    "lcsh2wiki-small_L": 1919,
}  # fmt: skip
"""Rows of the OR-Library's assignments, of photographs' colours and patches, and of a sparse graph
of weights, which are read from the folder that PAPERS_INSTANCES names, and skipped where it lacks
them."""

WIDER = {"lcsh2wiki-small_L": 2000}
"""Columns of those that are not square."""

HARD = {
    ("colour_coffee_astronaut", 1000): 8.0, ("clustered", 1000): 8.0, ("lowrank", 1000): 3.0,
    ("euclid", 2000): 8.0, ("clustered", 2000): 20.0, ("product", PRODUCT): 1.3,
}  # fmt: skip
"""Our goals for a run on the instances that are hard for other codes, in ms on one H200."""

HARD_ON = "NVIDIA H200"
"""The card that they are goals for."""

FAMILIES = ("structured", "file", "floats", "rectangle")
NOT_FINITE = "few_pairs"

READ = "assignment_file"
"""The family of `FILES`."""

TIMES = {DENSE: "dense_ms", ONE_CORE: "one_core_ms", "scipy": "scipy_ms"}
"""The columns of the solvers that a call may choose for these costs."""

OPT4_TAKES = ("euclid", "hidden", "two", *SHAPES, *SMALL_SHAPES)
"""Instances that our fastest solver before this one is measured on: others did not end in time."""


def instances(plan: Plan) -> list[Instance]:
    """Return the instances of a plan; those of `structured` have the peers' seed."""
    sizes = (SIZES if plan.gpu else EXECUTOR)[plan.preset]
    shapes = SHAPES if plan.gpu and plan.preset == "paper" else SMALL_SHAPES
    found = [
        Instance("structured", n, name, seed=PEERS_SEED)
        for name in STRUCTURED
        for n in (sizes if name != "product" else (min(PRODUCT, *sizes),))
    ]
    found += [
        Instance("floats", n, name, seed=s) for name in FLOATS for n in sizes for s in plan.seeds
    ]
    rows = {shape: int(shape.partition("x")[0]) for shape in shapes}
    if plan.gpu and plan.preset == "paper":
        found += [Instance(READ, n, name) for name, n in FILES.items()]
    return found + [
        Instance("rectangle", n, shape, seed=s) for shape, n in rows.items() for s in plan.seeds
    ]


def cells(plan: Plan) -> list[Cell]:
    """Return the cells of all instances by ours and the CPU's codes that take them."""
    return [
        Cell(solver, one, ("run", "end_to_end") if solver == DENSE else ("run",))
        for one in instances(plan)
        for solver in (DENSE, OPT4, ONE_CORE, *CPU.values())
        if not (one.label == NOT_FINITE and "lapjv" in solver)
        and not (solver == OPT4 and one.label not in OPT4_TAKES)
    ]


def sides(family: str, label: str, n: int) -> tuple[int, int]:
    """Return rows and columns of an instance of the table."""
    if family == "rectangle":
        rows, columns = map(int, label.split("x"))
        return rows, columns
    return n, WIDER.get(label, n)


def floors(rows: pd.DataFrame, prices: Mapping[str, Mapping[str, float]]) -> pd.DataFrame:
    """Add what runs read at least, in MiB, and their floor in ms on a card whose prices are known.

    What sorting lines takes is in neither.
    """
    read, least = [], []
    for row in rows.to_dict("records"):
        short, long = sorted(sides(row["family"], row["cost_range"], int(row["n"])))
        size = 8 if row["family"] == "floats" else 4
        counts = {name: float(row[name]) for name in work.COUNTERS}
        of_card = prices.get(row["device"])
        read.append(work.bytes_read(short, long, size, counts) / 2**20)
        least.append(work.floor_ms(short, long, size, counts, of_card) if of_card else np.nan)
    return rows.assign(mib_read=read, floor_ms=np.array(least, np.float64))


def chosen(family: str, label: str, n: int) -> str:
    """Return the solver of a call on these costs in host memory, where there is a GPU."""
    kind = "float64" if family == "floats" else "int32"
    rows, columns = sides(family, label, n)
    if rows == columns:
        question = Question("assignment", "square", n, kind)
    else:
        traits = traits_of(rows, columns)
        question = Question("assignment", "rectangle", min(rows, columns), kind, traits=traits)
    return rule_for(question, ("gpu", "cpu")).solver


def _of(summary: pd.DataFrame, family: str) -> pd.DataFrame:
    """Return the times of one family, a row a seed."""
    drawn = READ if family == "file" else family
    rows = by_seed(summary, DENSE, family=drawn).rename(columns={"value": "dense_ms"})
    columns = {
        "end_to_end_ms": by_seed(summary, DENSE, scope="end_to_end", family=drawn),
        "opt4_ms": by_seed(summary, OPT4, family=drawn),
        "one_core_ms": by_seed(summary, ONE_CORE, family=drawn),
        **{f"{name}_ms": by_seed(summary, code, family=drawn) for name, code in CPU.items()},
        **{name: by_seed(summary, DENSE, name, "answer", family=drawn) for name in work.COUNTERS},
        "cost": by_seed(summary, DENSE, "cost", "answer", family=drawn),
    }
    for name, more in columns.items():
        rows = rows.merge(named(more, name), on=[*KEY, "seed"], how="left")
    return rows.assign(family=family)


def table(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return times by instance beside the best peer, of all recorded and measured ones."""
    rows = pd.concat([_of(summary, family) for family in FAMILIES], ignore_index=True)
    rows = floors(rows, peers.prices(published))
    at = ["family", *KEY, "device"]
    values = [name for name in rows if name not in (*at, "seed")]
    rows = rows.groupby(at, sort=False)[values].median().reset_index()
    theirs = published(peers.FAMILIES).rename(columns={"label": "cost_range"})
    optimum = theirs.groupby(["n", "cost_range"])["cost"].median().rename("peer_cost")
    for more, on in (
        (optimum.reset_index(), ["n", "cost_range"]),
        (peers.best(theirs, ["n", "cost_range"]), ["n", "cost_range", "device"]),
    ):
        its = np.where(more["cost_range"].isin(FILES), "file", "structured")
        rows = rows.merge(more.assign(family=its), on=["family", *on], how="left")
    rows["best_peer"] = rows["best_peer"].where(rows["best_peer_ms"].notna(), None)
    measured = [f"{name}_ms" for name in CPU]
    rows = rows.assign(best_ms=rows[[*measured, "best_peer_ms"]].min(axis=1))
    rows = rows.assign(dense_over_best=rows["dense_ms"] / rows["best_ms"])
    which = rows[["family", "cost_range", "n"]].itertuples(index=False)
    rows["chosen"] = [chosen(*each) for each in which]
    times = [getattr(row, TIMES[row.chosen]) for row in rows.itertuples(index=False)]
    rows["chosen_over_best"] = np.array(times, float) / rows["best_ms"]
    rows["dense_over_floor"] = rows["dense_ms"] / rows["floor_ms"]
    rows = tables.order(
        rows, by=("family", "cost_range", "n"),
        ranked={"family": FAMILIES, "cost_range": (*STRUCTURED, *FILES, *FLOATS, *SHAPES)},
    ).rename(columns={"cost_range": "costs"})  # fmt: skip
    return rows[
        ["family", "costs", "n", "source", "device", "dense_ms", "end_to_end_ms", "opt4_ms",
         "one_core_ms", *measured, "best_peer", "best_peer_ms", "best_ms", "dense_over_best",
         "chosen", "chosen_over_best", "barriers", "mib_read", "floor_ms", "dense_over_floor",
         "cost", "peer_cost"]
    ]  # fmt: skip


def _hard(found: pd.DataFrame) -> list[Comparison]:
    """Check a run's time on each of `HARD`, on the card that the goals are for."""
    goals = []
    for (label, n), most in HARD.items():
        what = f"ms of {DENSE}, {label} n={n}"
        rows = found[(found["costs"] == label) & (found["n"] == n)] if len(found) else found
        rows = rows[rows["device"] == HARD_ON] if len(rows) else rows
        goals += [
            goal(what, float(row.dense_ms), at_most=most) for row in rows.itertuples(index=False)
        ] or not_measured(what, "goal")
    return goals


def compare(found: pd.DataFrame) -> list[Comparison]:
    """Check the optima of the structured instances, and our goals beside the best peer.

    A goal is judged by the time of the solver that a call takes, and on floats and rectangles,
    which no GPU code of others was timed on, beside the codes of one core.
    """
    rows, judged = found, []
    for row in rows.dropna(subset=["peer_cost"]).itertuples(index=False) if len(rows) else ():
        judged.append(
            correct(f"cost of {row.costs} n={row.n}", float(row.peer_cost), float(row.cost),
                    row.peer_cost == row.cost)
        )  # fmt: skip
    goals = []
    # On a card that no peer ran on, a goal would be judged by the CPU's codes alone.
    if len(rows):
        rows = rows[rows.groupby("device")["best_peer_ms"].transform("count") > 0]
    for row in rows.dropna(subset=["best_ms"]).itertuples(index=False) if len(rows) else ():
        most = SHARE if row.best_ms > LONG_MS else LESS
        note = f"the best of all takes {row.best_ms:.4g} ms"
        what = f"{row.chosen} over the best peer, {row.costs} n={row.n}"
        goals.append(goal(what, float(row.chosen_over_best), at_most=most, note=note))
    return (
        judged
        + _hard(found)
        + (goals or not_measured("a call's solver over the best peer, on a peer's card", "goal"))
    )
