"""The statements of [LU11] in words, measured, its two diagrams, and its uses, as data.

The paper has no table and no plot, but a claim (1/20 s for n <= 30, costs <= 100; not efficient for
large complete graphs) and three constants picked by tests. [LU11 sec.6] is `claim_small`,
`claim_large` and `operations`, [LU11 sec.5.1] `versions`, [LU11 sec.5.2] `heuristics`,
[LU11 sec.5.5] `alpha` and half of `cycle`, [LU11 sec.4.6] the other half and `flow_versions`;
[LU11 Fig.1] and [LU11 Fig.2] are drawn. `batch`, `single` and `ak` are goals of our own;
`segmentation` and `optical_flow` are the two uses that [LU11 sec.1] names.

An entry says what to measure (`cells`), how to lay it out (`tables`, `tables_flow`,
`tables_refine`), how to draw it (`plots`, `diagrams`) and how to judge it (`verdicts`). Nothing
here runs a solver.
"""

from __future__ import annotations

from typing import Any

from papers.common.evidence.tables import nothing
from papers.common.model import Cell, Experiment, Instance, Plan
from papers.lupinska_costscale.evidence import (
    choices,
    diagrams,
    host_to_host,
    plots,
    tables,
    tables_flow,
    tables_refine,
    verdicts,
    waterfall,
)
from papers.lupinska_costscale.evidence.codes import (
    BATCH,
    BLOCKING,
    CYCLE_ASSIGNMENT,
    CYCLE_FLOW,
    FLOW_ON_GPU,
    HEURISTICS,
    HONG,
    HYBRID,
    KERNELS,
    LOCK_FREE,
    LOOP,
    ON_CPU,
    ONE_LAUNCH,
    OURS,
    PATIENCE_S,
    PYMAXFLOW,
    REDRAWN_EVERY,
    RIVALS,
    SCIPY,
    SCIPY_FLOW,
    SEQUENTIAL,
    TUNED,
    VERSIONS,
    cell,
    costs,
    grids,
    segmentation,
    some_grids,
    too_slow,
    with_heuristics,
    worst,
)
from papers.lupinska_costscale.evidence.photos import demonstrations, pictures

# ------------------------------------------------------------------------------- sizes

SIDES = {"smoke": (5, 10), "quick": (5, 10, 20, 30), "paper": (5, 10, 15, 20, 25, 30)}
LARGEST_COSTS = {"smoke": (100,), "quick": (10, 100), "paper": (1, 10, 100, 1000)}
LARGE = {"smoke": (30,), "quick": (30, 60, 100), "paper": (30, 60, 120, 250, 500)}
EXECUTOR_SIDES = {"smoke": (3,), "quick": (3, 5), "paper": (3, 4, 6)}
"""Sides of the graphs for the executor: a kernel's thread polls until all others are done."""

ALPHAS = (2, 4, 8, 10, 16, 32)
CYCLES_FLOW = (70, 700, CYCLE_FLOW, 70_000)
CYCLES_ASSIGNMENT = (500, 5000, 50_000, CYCLE_ASSIGNMENT, 5_000_000)
EXECUTOR_CYCLES = (5, 50, 500)
MANY = {"smoke": 100, "quick": 1000, "paper": 10_000}
EXECUTOR_MANY = 3
EXECUTOR_GRIDS = {"smoke": (4,), "quick": (4, 6), "paper": (4, 6)}
DRAWN_GRIDS = {
    "smoke": (32,), "quick": (64, 128), "paper": (32, 64, 128, 256, 512, 1024, 2048),
}  # fmt: skip
"""Sides of the segmentations that are drawn from scikit-image's photographs."""

ONE_PHOTO = 1024
"""The side from which one photograph is enough: a run of some codes takes seconds there."""

LARGEST_AS_PRINTED = 250
"""The largest side of `claim_large` for the refine as printed, which takes seconds a run there."""

SEEDS = {"alpha": 30, "cycle": 10, "heuristics": 20, "versions": 10}
"""Seeds of preset paper where effects of some per cent are judged, which three cannot tell."""


def _seeds(plan: Plan, experiment: str) -> tuple[int, ...]:
    """Return the seeds of an experiment of `SEEDS`, unless the command line names some."""
    if plan.seeds_given or plan.preset != "paper":
        return plan.seeds
    return tuple(range(1, SEEDS[experiment] + 1))


def _sides(plan: Plan, code: str, of: dict[str, tuple[int, ...]]) -> tuple[int, ...]:
    """Sides of a code's graphs: the executor has its own."""
    kernels = code in KERNELS and not plan.gpu
    return (EXECUTOR_SIDES if kernels else of)[plan.preset]


# ------------------------------------------------------------------------------- assignment


def claim_small(plan: Plan) -> list[Cell]:
    """Maximum weight, as in print: n <= 30, costs up to 100 and beyond, by both halves and SciPy.

    The paper does not say what its 1/20 s includes: device-resident and host to host.
    """
    return [
        cell(code, costs(n, largest, seed), ("run", "end_to_end"), maximize=True)
        for code in (*OURS, *([TUNED, ONE_LAUNCH] if plan.gpu else []), SCIPY)
        for n in _sides(plan, code, SIDES)
        for largest in LARGEST_COSTS[plan.preset]
        for seed in plan.seeds
    ]


def claim_large(plan: Plan) -> list[Cell]:
    """The same kernel on larger complete graphs, beside solvers made for those."""
    return [
        cell(code, costs(n, 100, seed))
        for code in (*OURS, *([TUNED] if plan.gpu else []), *RIVALS, SCIPY)
        for n in _sides(plan, code, LARGE)
        if code != LOCK_FREE or n <= LARGEST_AS_PRINTED
        for seed in plan.seeds
    ]


def operations(plan: Plan) -> list[Cell]:
    """Pushes and relabels, counted wherever both halves run."""
    mine = (LOCK_FREE, SEQUENTIAL)
    return [
        one
        for one in (*claim_small(plan), *claim_large(plan))
        if one.solver in {cell(code, one.instance).solver for code in mine}
    ]


def heuristics(plan: Plan) -> list[Cell]:
    """Price updates and arc fixing, alone, together and neither, at the claim's edge.

    On one core also past it, where they save more. With the author's CYCLE the first run of a
    kernel is a small graph's only one, which leaves the price update nothing to do: the kernel is
    also run with a CYCLE that cuts it short.
    """
    edge = {preset: LARGE[preset][:1] for preset in LARGE}
    past = {**edge, "paper": LARGE["paper"][:3]}
    wanted: list[tuple[str, dict[str, Any], list[str]]]
    wanted = [(SEQUENTIAL, {}, list(HEURISTICS)[:4])]
    cycles = (SHORT_CYCLE, CYCLE_ASSIGNMENT) if plan.gpu else (SHORT_CYCLE,)
    wanted += [(LOCK_FREE, {"cycle": c}, list(HEURISTICS)) for c in cycles]
    return [
        cell(code, costs(n, 100, seed), **with_heuristics(code, name), **more)
        for code, more, names in wanted
        for n in (past[plan.preset] if code == SEQUENTIAL else _sides(plan, code, edge)[-1:])
        for name in names
        for seed in _seeds(plan, "heuristics")
    ]


SHORT_CYCLE = 50
"""Turns after which a kernel of `heuristics` comes back with nodes still active."""


def alpha(plan: Plan) -> list[Cell]:
    """Refine's divisor from 2 to 32, at the claim's edge."""
    sizes = {preset: LARGE[preset][:1] for preset in LARGE}
    return [
        cell(code, costs(n, 100, seed), alpha=value)
        for code in OURS
        for n in _sides(plan, code, sizes)[-1:]
        for value in ALPHAS
        for seed in _seeds(plan, "alpha")
    ]


def versions(plan: Plan) -> list[Cell]:
    """The three sequential forms, with neither heuristic: the author's is one made of two."""
    return [
        cell(SEQUENTIAL, costs(n, 100, seed),
             version=version, price_updates=False, arc_fixing=False)
        for n in LARGE[plan.preset][:3]
        for version in VERSIONS
        for seed in _seeds(plan, "versions")
    ]  # fmt: skip


def single(plan: Plan) -> list[Cell]:
    """One assignment of 30 a side: the paper's kernel and one problem of the batch."""
    n = 30 if plan.gpu else EXECUTOR_SIDES[plan.preset][-1]
    return [
        cell(code, costs(n, 100, seed), ("run", "end_to_end"), **options)
        for seed in plan.seeds
        for code, options in ((LOCK_FREE, {}), (TUNED, {}), (ONE_LAUNCH, {}),
                              (BATCH, {"problems": 1}), (SCIPY, {}))
    ]  # fmt: skip


def batch(plan: Plan) -> list[Cell]:
    """Thousands of assignments in one launch, and SciPy's in a loop."""
    n = 30 if plan.gpu else EXECUTOR_SIDES[plan.preset][-1]
    many = MANY[plan.preset] if plan.gpu else EXECUTOR_MANY
    found = [
        cell(code, costs(n, 100, seed), ("run", "end_to_end"), problems=many)
        for code in (BATCH, LOOP)
        for seed in plan.seeds
    ]
    if not plan.gpu:
        found += [
            cell(LOOP, costs(30, 100, seed), problems=MANY[plan.preset]) for seed in plan.seeds
        ]
    return found


# ------------------------------------------------------------------------------- maximum flow


TOY = "random_grid"
"""Grids for the executor, where the blocking version is the paper's."""


def _toys(plan: Plan) -> list[Instance]:
    """Grids for the executor."""
    sides = () if plan.gpu else EXECUTOR_GRIDS[plan.preset]
    return [Instance(TOY, side, "20", seed=seed) for side in sides for seed in plan.seeds]


def _drawn(plan: Plan) -> list[Instance]:
    photos = ("camera",) if plan.preset != "paper" else ("camera", "astronaut")
    return [
        segmentation(side, photo)
        for side in DRAWN_GRIDS[plan.preset]
        for photo in (photos if side < ONE_PHOTO else photos[:1])
    ]


def _options(code: str, instance: Instance) -> dict[str, Any]:
    """Return the options of a version on a grid: see `codes.REDRAWN` and `PATIENCE_S`."""
    if code == BLOCKING:
        return {"redraw_every": REDRAWN_EVERY if instance.family != TOY else 0}
    return {}


def flow_versions(plan: Plan) -> list[Cell]:
    """Every version on every grid that it can be given, beside PyMaxflow on one core.

    The two that are as printed without relabeling from the sink are given one real grid of each
    kind with a limit of time.
    """
    graphs = _drawn(plan) + (grids() if plan.preset == "paper" else [])
    on_cpu = (ON_CPU, PYMAXFLOW, SCIPY_FLOW)
    found = [
        cell(code, one, **_options(code, one))
        for one in _toys(plan)
        for code in (*FLOW_ON_GPU, *on_cpu)
    ]
    codes = (*FLOW_ON_GPU, *on_cpu) if plan.gpu else on_cpu
    found += [
        cell(code, one, **_options(code, one))
        for one in graphs
        for code in codes
        if not too_slow(code, one)
    ]
    return found + (_patient(plan) if plan.gpu and plan.preset == "paper" else [])


def flow_end_to_end(plan: Plan) -> list[Cell]:
    """The fast versions and PyMaxflow on both clocks."""
    return host_to_host.cells(_drawn(plan) + (grids() if plan.preset == "paper" else []), plan.gpu)


def _patient(plan: Plan) -> list[Cell]:
    """Plan the versions without relabeling from the sink, with a limit of time."""
    drawn = [segmentation(side) for side in (32, 64)]
    graphs = [*drawn, *some_grids()]
    return [cell(HONG, one, seconds=PATIENCE_S) for one in graphs if one not in drawn[:1]] + [
        cell(BLOCKING, one, redraw_every=0, seconds=PATIENCE_S) for one in graphs
    ]


def cycle(plan: Plan) -> list[Cell]:
    """Kernel iterations before control returns: 7000 for flow, 500,000 for assignment."""
    if not plan.gpu:
        n = EXECUTOR_SIDES[plan.preset][-1]
        toys = [one for one in _toys(plan) if one.n == EXECUTOR_GRIDS[plan.preset][-1]]
        found = [cell(HYBRID, one, cycle=c) for one in toys for c in EXECUTOR_CYCLES]
        return found + [
            cell(LOCK_FREE, costs(n, 100, seed), cycle=c)
            for seed in plan.seeds
            for c in EXECUTOR_CYCLES
        ]
    graphs = _drawn(plan)[:2]
    if plan.preset == "paper":
        graphs = some_grids()
    found = [cell(HYBRID, one, cycle=c) for one in graphs for c in CYCLES_FLOW]
    return found + [
        cell(LOCK_FREE, costs(30, 100, seed), cycle=c)
        for seed in _seeds(plan, "cycle")
        for c in CYCLES_ASSIGNMENT
    ]


def ak(plan: Plan) -> list[Cell]:
    """A worst case for many solvers, no grid: kernels have a limit of time, as flow crawls there.

    Flow and searches go along paths of thousands of nodes, of which one at a time has work. On a
    GPU PyMaxflow alone stands beside them, as the other codes for the CPU take seconds a run.
    """
    if plan.preset != "paper":
        return []
    if not plan.gpu:
        return [cell(code, worst()) for code in (ON_CPU, PYMAXFLOW, SCIPY_FLOW)]
    kernels = [code for code in FLOW_ON_GPU if code != BLOCKING]
    found = [cell(code, worst(), seconds=PATIENCE_S) for code in kernels]
    return [*found, cell(PYMAXFLOW, worst())]


# ------------------------------------------------------------------------------- the entries


def _none(plan: Plan) -> list[Cell]:
    return []


EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        name="fig01", title="Which problem is reduced to which", kind="picture",
        cells=_none, table=nothing, artifacts=diagrams.fig_1,
    ),
    Experiment(
        name="fig02", title="The loop of cost scaling", kind="picture",
        cells=_none, table=nothing, artifacts=diagrams.fig_2,
    ),
    Experiment(
        name="claim_small",
        title="Complete bipartite graphs of up to 30 a side against the claimed 1/20 s",
        kind="figure", cells=claim_small, table=tables.claim_small, figure=plots.claim_small,
        compare=verdicts.claim_small,
        interleaved=True,
    ),
    Experiment(
        name="claim_large", title="Larger complete graphs, in ms: where the kernel stops paying",
        kind="figure", cells=claim_large, table=tables.claim_large, figure=plots.claim_large,
        compare=verdicts.claim_large,
        interleaved=True,
    ),
    Experiment(
        name="operations", title="Pushes and relabels against the bound n^2 m of a refine",
        kind="figure", cells=operations, table=tables.operations, figure=plots.operations,
        compare=verdicts.operations,
    ),
    Experiment(
        name="heuristics", title="What price updates and arc fixing save", kind="table",
        cells=heuristics, table=tables_refine.heuristics, compare=verdicts.heuristics,
        interleaved=True,
    ),
    Experiment(
        name="versions", title="Algorithms 5.0, 5.1 and 5.2 without heuristics", kind="table",
        cells=versions, table=tables_refine.versions, compare=verdicts.versions,
        interleaved=True,
    ),
    Experiment(
        name="alpha", title="Time by ALPHA, over that of 10", kind="figure",
        cells=alpha, table=tables.alpha, figure=plots.alpha, compare=verdicts.alpha,
        interleaved=True,
    ),
    Experiment(
        name="cycle", title="Time by CYCLE, over that of the author's", kind="figure",
        cells=cycle, table=tables.cycle, figure=plots.cycle, compare=verdicts.cycle,
        interleaved=True,
    ),
    Experiment(
        name="flow_versions", title="The versions of push-relabel beside PyMaxflow on grids, in ms",
        kind="figure", cells=flow_versions, table=tables_flow.flow_versions,
        figure=plots.flow_versions, compare=verdicts.flow_versions,
        interleaved=True,
    ),
    Experiment(
        name="flow_end_to_end", title="Cuts of grids on both clocks, in ms", kind="table",
        cells=flow_end_to_end, table=host_to_host.table, compare=host_to_host.compare,
        interleaved=True,
    ),
    Experiment(
        name="ak", title="ak-4102, a worst case for many solvers", kind="table",
        cells=ak, table=tables_flow.ak, compare=verdicts.ak,
    ),
    *choices.experiments(),
    *waterfall.experiments(),
    Experiment(
        name="single", title="One assignment of 30 a side, in ms", kind="table",
        cells=single, table=tables.single, compare=verdicts.single,
        interleaved=True,
    ),
    Experiment(
        name="batch", title="Many assignments of 30 a side at once, in ms", kind="table",
        cells=batch, table=tables.batch, compare=verdicts.batch,
        interleaved=True,
    ),
    Experiment(
        name="segmentation", title="A photograph cut in two by a minimum cut", kind="picture",
        cells=_none, table=nothing, artifacts=demonstrations.segmentation,
    ),
    Experiment(
        name="optical_flow", title="Displacements between two frames: by assignment, and by cuts",
        kind="picture", cells=_none, table=nothing, artifacts=demonstrations.optical_flow,
    ),
    Experiment(
        name="strokes", title="Objects cut out by strokes: mixtures, 8 neighbours, rounds of cuts",
        kind="picture", cells=_none, table=nothing, artifacts=pictures.strokes,
    ),
    Experiment(
        name="motion", title="Optical flow in two dimensions by expansion moves", kind="picture",
        cells=_none, table=nothing, artifacts=pictures.motion,
    ),
)  # fmt: skip
