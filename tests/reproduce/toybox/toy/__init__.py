"""A paper of one table, one figure and a set of solvers that fail in every way a solver can.

What makes tables and plots is imported where it is needed: the process that measures starts faster.
"""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.sparse.csgraph import maximum_bipartite_matching

from papers.common.model import (
    Assignment,
    Cause,
    Cell,
    Defaults,
    Experiment,
    Instance,
    Matching,
    Paper,
    Solver,
)
from papers.common.problems.graph import bipartite


@dataclass
class State:
    cost: np.ndarray
    maximize: bool = False
    answer: Assignment | None = None
    runs: int = 0


def upload(cost, maximize=False, **options):
    return State(np.asarray(cost, dtype=np.int64), maximize)


def solve(cost, maximize=False):
    """Optimal assignment with duals from shortest paths in the residual graph."""
    form = -cost if maximize else cost
    rows, columns = linear_sum_assignment(form)
    n = len(form)
    v = np.zeros(n, dtype=np.int64)
    for _ in range(n + 1):
        u = form[rows, columns] - v[columns]
        v = np.minimum(v, (form - u[:, None]).min(axis=0)) if n else v
    u = form[rows, columns] - v[columns]
    sign = -1 if maximize else 1
    total = int(cost[rows, columns].sum())
    return Assignment(rows, columns, total, sign * u, sign * v, maximize, {"augmentations": n})


def run(state, trace=None):
    trace = trace or (lambda step: None)
    trace("prepare")
    state.runs += 1
    trace("search")
    state.answer = solve(state.cost, state.maximize)


def download(state):
    return state.answer


def fail(state, trace=None):
    raise ValueError('planted, with\na line break, "quotes" and a comma')


HANGS = "PAPERS_TOY_HANGS"
"""Environment variable: the file that `hang` makes when it begins to hang."""


def hang(state, trace=None):
    if HANGS in os.environ:
        Path(os.environ[HANGS]).touch()
    time.sleep(600)


def slow(state, trace=None):
    time.sleep(0.05)
    run(state, trace)


def exhaust(state, trace=None):
    raise MemoryError("planted")


def killed(state, trace=None):
    os.kill(os.getpid(), signal.SIGKILL)


def crash(state, trace=None):
    os._exit(7)


def wrong(state, trace=None):
    """Swap two columns of the optimum: feasible, but dearer than its duals allow."""
    run(state)
    good = state.answer
    columns = good.col_ind.copy()
    columns[[0, 1]] = columns[[1, 0]]
    cost = int(state.cost[good.row_ind, columns].sum())
    state.answer = replace(good, col_ind=columns, cost=cost)


def unsteady(state, trace=None):
    """Right at first, then another cost: what a race would look like."""
    run(state)
    if state.runs == 3:
        wrong(state)


def jittery(state, trace=None):
    """A right answer whose counters change from run to run."""
    run(state)
    state.answer = replace(state.answer, counters={"augmentations": state.runs})


@dataclass
class GraphState:
    graph: object
    answer: Matching | None = None
    runs: int = 0


def upload_graph(graph):
    return GraphState(bipartite(graph))


def match(state, trace=None):
    """SciPy's maximum matching."""
    state.runs += 1
    graph = state.graph
    row_match = maximum_bipartite_matching(graph.matrix().tocsr(), perm_type="column")
    state.answer = matching_of(graph, row_match)


def matching_of(graph, row_match):
    column_match = np.full(graph.columns, -1, np.int32)
    rows = np.flatnonzero(row_match >= 0)
    column_match[row_match[rows]] = rows
    return Matching(row_match, column_match, rows.size, {"launches": 3})


def match_too_few(state, trace=None):
    """One pair less than there could be."""
    match(state)
    row_match = state.answer.row_match.copy()
    row_match[np.flatnonzero(row_match >= 0)[0]] = -1
    state.answer = matching_of(state.graph, row_match)


def _solver(name, work, device="cpu"):
    return Solver(
        name,
        name.capitalize(),
        device,
        "assignment",
        upload,
        work,
        download,
        ("prepare", "search", "never"),
    )


WORK = {
    "good": run,
    "slow": slow,
    "fail": fail,
    "hang": hang,
    "exhaust": exhaust,
    "killed": killed,
    "crash": crash,
    "wrong": wrong,
    "unsteady": unsteady,
    "jittery": jittery,
}


def solvers():
    found = {name: _solver(name, work) for name, work in WORK.items()}
    for name, work in (("matcher", match), ("mismatcher", match_too_few)):
        found[name] = Solver(name, name, "cpu", "matching", upload_graph, work, download)
    return {"kernel": _solver("kernel", run, "cuda"), **found}


def instance(n, seed=1):
    return Instance("uniform", n, "n", (("cost_range", n),), seed)


def _table_cells(plan):
    sizes = (8,) if plan.preset == "smoke" else (8, 16, 32)
    return [
        Cell(f"toy:{solver}", instance(n, seed), scopes)
        for n in sizes
        for seed in plan.seeds
        for solver, scopes in (("good", ("run", "end_to_end")), ("slow", ("run",)))
    ]


def _figure_cells(plan):
    return [Cell("toy:good", instance(8, seed), ("steps", "run")) for seed in plan.seeds]


def _table(measurements, published):
    timed = measurements[(measurements["scope"] == "run") & (measurements["metric"] == "time_ms")]
    mean = timed.groupby(["n", "solver"])["median"].median().unstack("solver")
    rows = published("speed").rename(columns={"speedup": "published_speedup"})
    mean = mean.reindex(columns=["toy:good", "toy:slow"])
    rows["speedup"] = rows["n"].map(mean["toy:slow"] / mean["toy:good"])
    return rows


def _figure(table):
    from papers.common.evidence import plots

    return plots.line_plot(table, "n", "published_speedup", "speedup", "range", title="Speedup")


CAUSE = Cause("toy:fig1", 2.0, 1e9, "the pause is a sleep")


def _compare(table):
    from papers.common.evidence import comparisons as compare

    return [
        compare.ratio(f"speedup n={r.n}", r.published_speedup, r.speedup, factor=2, cause=CAUSE)
        for r in table.itertuples()
    ]


def _steps(measurements, published):
    rows = measurements[measurements["scope"] == "steps"]
    return rows[["n", "seed", "metric", "median", "count"]].reset_index(drop=True)


def _artifacts(folder, plan):
    from papers.common.evidence import plots

    figure, axes = plots.new_figure(size=(2, 1))
    axes[0, 0].plot([0, 1], [0, 1])
    plots.save(figure, Path(folder) / "line.png")
    return [("A straight line", Path(folder) / "line.png")]


def _no_table(measurements, published):
    import pandas as pd

    return pd.DataFrame()


def _empty_compare(table):
    from papers.common.evidence import comparisons as compare

    return [
        compare.correct("two codes, one cost", 7, 7, True),
        replace(
            compare.goal("ours at most the goal", 1.5, at_most=1.0),
            origin="recorded some-gpu",
        ),
        replace(
            compare.ratio("speedup at n=1024", 3.0, 4.0),
            origin="recorded some-gpu",
        ),
    ]


def _single(solver, n=8, **keywords):
    return lambda plan: [Cell(f"toy:{solver}", instance(n), **keywords)]


def _turns(*solvers):
    return lambda plan: [Cell(f"toy:{solver}", instance(8)) for solver in solvers]


def _graph_cells(plan):
    instances = [Instance("uniform_graph", 100, "d3"), Instance("matrix", 3, "nowhere")]
    return [Cell("toy:matcher", instance, ("run", "end_to_end")) for instance in instances]


def _cardinalities(measurements, published):
    rows = measurements[measurements["metric"] == "cardinality"]
    return rows[["family", "label", "median"]].reset_index(drop=True)


def _broken_table(measurements, published):
    return published("nothing")


def experiments():
    """The good ones first, then one for every way to fail."""
    bad = [
        Experiment(name, f"A solver: {name}", "table", _single(name), _steps)
        for name in ("hang", "exhaust", "killed", "wrong", "unsteady", "jittery")
    ]
    # These have their turns between those of good ones.
    bad += [
        Experiment(
            name, f"{name} and good", "table", _turns(name, "good"), _steps, interleaved=True
        )
        for name in ("fail", "crash")
    ]
    return [
        Experiment(
            "table1",
            "Speed of <two> solvers",
            "table",
            _table_cells,
            _table,
            None,
            _compare,
            interleaved=True,
        ),
        Experiment("fig1", "Speedup over n", "figure", _figure_cells, _table, _figure, _compare),
        Experiment("steps", "Steps", "table", _figure_cells, _steps),
        Experiment(
            "later", "A later one", "figure", _table_cells, _table, unavailable="needs more"
        ),
        Experiment("drawn", "A picture", "picture", _single("good"), _steps, artifacts=_artifacts),
        Experiment(
            "empty", "No numbers", "picture", _single("good"), _no_table, None, _empty_compare
        ),
        Experiment("broken", "Asks for a missing CSV", "table", _single("good"), _broken_table),
        Experiment(
            "device", "Device time", "table", _single("kernel", scopes=("kernels",)), _steps
        ),
        Experiment("graphs", "Matchings", "table", _graph_cells, _cardinalities),
        Experiment("unknown", "Another paper's solver", "table", _single("nobody"), _steps),
        *bad,
    ]


PAPER = Paper(
    name="toy",
    tag="T26",
    title="A toy",
    authors="N. N.",
    venue="Nowhere",
    year=2026,
    doi="",
    summary="For tests.",
    experiments=experiments,
    solvers=solvers,
    defaults={"assignment": Defaults(gpu="kernel", cpu="good")},
)
