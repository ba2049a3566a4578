"""Tables 1 and 2 and Figures 1 to 5 of [D13] as data, its text, and experiments of our own.

From print: [D13 Table 1] [D13 Table 2] [D13 Fig.1] [D13 Fig.2] [D13 Fig.3] [D13 Fig.4] [D13 Fig.5].
Its text: [D13 sec.4] is `claims`, `statements` and, at print's own sizes, `full_size`.
Our own: `waterfall`, `threads`, `counts`, `peers`, `copter2`, `beyond`, `deep`,
`rivals`, `latency`, `stand_ins`, `growth`.

The paper's sets hold each graph once, so that a drawn graph has the first seed of the plan: another
seed is another graph, not another repetition. An experiment names the cells to measure, their table
(`tables`, `profiles`), the plot like the paper's (`plots`) and the comparisons (`verdicts`,
`statements`, `goals`). Nothing here runs a solver.
"""

from __future__ import annotations

from collections.abc import Iterable

from papers.common.evidence.cards import beside
from papers.common.evidence.tables import nothing
from papers.common.model import Cell, Experiment, Instance, Plan
from papers.deveci_matching.evidence import (
    at_size,
    codes,
    deep,
    goals,
    plots,
    profiles,
    rivals,
    sets,
    statements,
    tables,
    verdicts,
    waterfall,
)
from papers.deveci_matching.evidence.causes import claims, classes, growth
from papers.deveci_matching.evidence.codes import (
    BEST,
    BEYOND,
    INCLUDED,
    MULTICORE,
    ON_DEVICE,
    ON_GPU,
    SEQUENTIAL,
    TUNED,
    VARIANTS,
    cell,
)
from papers.deveci_matching.evidence.tables import OF_FIG_2, OF_TABLE_2

SCIPY_NONZEROS = 500_000
"""SciPy's code, which knows no limit of work, gets matrices of at most so many nonzeros."""

SCIPY_HARD = ("copter2",)
"""SciPy's code takes minutes on these."""

MORE_CORES = codes.MORE_THREADS

MANY = 500_000
"""Columns from which only the GPU's codes get a graph of `peers`."""

# ------------------------------------------------------------------------------- the cells


def sweep(plan: Plan, names: Iterable[str], graphs: Iterable[Instance]) -> list[Cell]:
    """Return cells of codes on graphs; without a GPU, kernels get those of `sets.small` only."""
    toys = sets.small(plan)
    return [
        cell(code, graph)
        for graph in [*toys, *graphs]
        for code in names
        if plan.gpu or code not in ON_GPU or graph in toys
    ]


def variants(plan: Plan) -> list[Cell]:
    """Return the cells of Table 1: the eight variants, and the codes whose times make the sets."""
    return sweep(plan, (*VARIANTS, *SEQUENTIAL), sets.thorough(plan))


def compared(plan: Plan) -> list[Cell]:
    """Return the cells of Figures 3 to 5 and the claims: the best variant beside all rivals."""
    graphs = sets.thorough(plan)
    found = sweep(plan, (BEST, TUNED, *SEQUENTIAL, *MULTICORE), graphs)
    if plan.gpu:
        found += [cell(BEST, graph, start=codes.COPIED) for graph in graphs]
    return found


def stated(plan: Plan) -> list[Cell]:
    """Return the cells of the statements: variants for their counts, all CPU codes for times."""
    return variants(plan) + compared(plan)


def table_2(plan: Plan) -> list[Cell]:
    """Return the cells of Table 2: the paper's twenty, generated graphs, and stand-ins."""
    drawn = sets.generated(sets.SIZES[plan.preset], plan.seeds[0])
    found = sweep(plan, (*OF_TABLE_2.values(), TUNED), sets.of_table_2(plan))
    found += sweep(plan, (*OF_TABLE_2.values(), TUNED, BEYOND), drawn + sets.stand_ins(plan))
    if plan.preset == "paper":
        found += [cell("P-DBFS", graph, cores=MORE_CORES) for graph in drawn + sets.stand_ins(plan)]
    return found


def fig_2(plan: Plan) -> list[Cell]:
    """Return the cells of Figure 2: four variants on Hamrle3, its stand-in and a Delaunay graph."""
    circuit = Instance("stand_in", sets.stand_in_rows("Hamrle3", plan.preset), "Hamrle3")
    graphs = [circuit] if plan.gpu else [Instance("stand_in", sets.EXECUTOR_ROWS, "Hamrle3")]
    graphs += [sets.matrix("Hamrle3")] if plan.preset == "paper" and plan.gpu else []
    sizes = (sets.SIZES if plan.gpu else sets.EXECUTOR_SIZES)[plan.preset]["delaunay"]
    whole = plan.gpu and plan.preset == "paper"
    of_print = sets.FULL_SIZES["delaunay"][:1]
    drawn = sets.generated({"delaunay": of_print if whole else sizes[-1:]}, plan.seeds[0])
    graphs += [graph for graph in drawn if not graph.permuted]
    return [cell(code, graph, levels=True) for graph in graphs for code in OF_FIG_2]


def beyond(plan: Plan) -> list[Cell]:
    """Return the cells of `beyond` beside the eight variants."""
    return sweep(plan, (*VARIANTS, TUNED, BEYOND), sets.thorough(plan))


def peers(plan: Plan) -> list[Cell]:
    """Return cells on the graphs of other people's GPU codes, the start untimed and timed."""
    graphs = [Instance(family, n, label) for family, n, label in sets.PEERS[plan.preset]]
    # The CPU codes take up to twenty seconds on a million columns.
    found = [
        cell(code, graph)
        for graph in graphs
        if graph.n < MANY
        for code in (*SEQUENTIAL, *MULTICORE)
    ]
    if plan.gpu:
        found += [
            cell(code, graph, start=start)
            for graph in graphs
            for code, start in (
                *((code, codes.EXCLUDED) for code in ON_GPU),
                (TUNED, INCLUDED), (BEYOND, INCLUDED), (BEYOND, ON_DEVICE),
            )
        ]  # fmt: skip
    return found


def copter2(plan: Plan) -> list[Cell]:
    """Return the cells of `copter2`, original and permuted, by every code except SciPy's."""
    if plan.preset != "paper":
        return []
    graphs = [sets.matrix("copter2", ordering) for ordering in sets.ORDERINGS]
    names = (BEST, TUNED, BEYOND, *SEQUENTIAL, "HKDW", *MULTICORE)
    return [
        cell(code, graph) for graph in graphs for code in names if plan.gpu or code not in ON_GPU
    ]


def counted(plan: Plan) -> list[Cell]:
    """Return the cells of all graphs and codes, and of two more codes on the original graphs."""
    found = variants(plan) + compared(plan) + table_2(plan) + fig_2(plan) + beyond(plan)
    found += peers(plan) + copter2(plan) + deep.cells(plan)
    found += waterfall.cells(plan) + waterfall.threads_cells(plan)
    found += rivals.cells(plan) + rivals.latency_cells(plan)
    originals = [graph for graph in sets.thorough(plan) if not graph.permuted]
    found += sweep(plan, ("HKDW",), originals)
    return found + sweep(plan, ("SciPy",), filter(scipy_can, originals))


def scipy_can(graph: Instance) -> bool:
    """Return whether SciPy's code is fast on a graph."""
    if graph.label in SCIPY_HARD:
        return False
    return sets.facts()["nonzeros"].get(graph.label, 0) <= SCIPY_NONZEROS


# ------------------------------------------------------------------------------- the entries


def _none(plan: Plan) -> list[Cell]:
    return []


EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        name="fig01",
        title="Two augmenting paths from one column: marks, walks, collision, repair",
        kind="picture",
        cells=_none,
        table=nothing,
        artifacts=plots.fig_1,
    ),
    Experiment(
        name="table1",
        title="Geometric means of the eight variants over the sets, in s",
        kind="table",
        cells=variants,
        table=beside(tables.table_1, classes.expected, classes.FIGURES),
        compare=verdicts.table_1,
        interleaved=True,
    ),
    Experiment(
        name="fig02",
        title="BFS kernel executions in each iteration",
        kind="figure",
        cells=fig_2,
        table=tables.fig_2,
        figure=plots.fig_2,
        compare=verdicts.fig_2,
    ),
    Experiment(
        name="fig03",
        title="Speedup profiles",
        kind="figure",
        cells=compared,
        table=beside(profiles.fig_3, growth.shares, ["expected"]),
        figure=plots.fig_3,
        compare=verdicts.fig_3,
        interleaved=True,
    ),
    Experiment(
        name="fig04",
        title="Performance profiles",
        kind="figure",
        cells=compared,
        table=profiles.fig_4,
        figure=plots.fig_4,
        compare=verdicts.fig_4,
        interleaved=True,
    ),
    Experiment(
        name="fig05",
        title="Overall speedups of the best variant over PFP and HK",
        kind="figure",
        cells=compared,
        table=beside(profiles.fig_5, growth.speedups, ["expected"]),
        figure=plots.fig_5,
        compare=verdicts.fig_5,
        interleaved=True,
    ),
    Experiment(
        name="table2",
        title="Times of the paper's twenty matrices and of what stands for them, in s",
        kind="table",
        cells=table_2,
        table=tables.table_2,
        compare=verdicts.table_2,
        interleaved=True,
    ),
    Experiment(
        name="full_size",
        title="Generated graphs at the paper's own sizes, in s",
        kind="table",
        cells=at_size.full_size,
        table=tables.full_size,
        compare=verdicts.full_size,
        interleaved=True,
    ),
    Experiment(
        name="stand_ins",
        title="Stand-ins at their matrices' sizes: how well they fit, and times in ms",
        kind="table",
        cells=at_size.stand_ins,
        table=at_size.fit,
        compare=at_size.compare,
        interleaved=True,
    ),
    Experiment(
        name="growth",
        title="How the GPU's speedup grows with the columns of graphs of one law",
        kind="table",
        cells=growth.cells,
        table=growth.table,
        compare=growth.compare,
        interleaved=True,
    ),
    Experiment(
        name="claims",
        title="Numbers of the text, recomputed",
        kind="table",
        cells=compared,
        table=beside(profiles.claims, claims.expected, claims.FIGURES),
        compare=verdicts.claims,
        interleaved=True,
    ),
    Experiment(
        name="statements",
        title="Statements of the text without numbers, graph by graph",
        kind="table",
        cells=stated,
        table=statements.table,
        compare=statements.verdicts,
    ),
    Experiment(
        name="counts",
        title="Matching sizes by graph: all codes alike, and the known ones",
        kind="table",
        cells=counted,
        table=tables.counts,
        compare=goals.counts,
    ),
    Experiment(
        name="peers",
        title="Beside ECL-MM and WBPR on one card",
        kind="table",
        cells=peers,
        table=tables.peers,
        compare=goals.peers,
        interleaved=True,
    ),
    Experiment(
        name="copter2",
        title="copter2, on which SciPy takes minutes, in s",
        kind="table",
        cells=copter2,
        table=tables.copter2,
        compare=goals.copter2,
        interleaved=True,
    ),
    Experiment(
        name="beyond",
        title="Our own solver beside the best of the eight",
        kind="table",
        cells=beyond,
        table=tables.beyond,
        compare=goals.beyond,
        interleaved=True,
    ),
    Experiment(
        name="waterfall",
        title="From print's slowest variant to `beyond`, one change at a time",
        kind="figure",
        cells=waterfall.cells,
        table=waterfall.table,
        figure=waterfall.draw,
        compare=waterfall.compare,
        interleaved=True,
    ),
    Experiment(
        name="threads",
        title="CT beside two readings of MT",
        kind="table",
        cells=waterfall.threads_cells,
        table=waterfall.threads_table,
        compare=waterfall.threads_compare,
        interleaved=True,
    ),
    Experiment(
        name="deep",
        title="Deep searches: `beyond` with jumps and without, beside one core",
        kind="table",
        cells=deep.cells,
        table=deep.table,
        compare=deep.compare,
        interleaved=True,
    ),
    Experiment(
        name="rivals",
        title="Rivals and starts of today, the start within the clock",
        kind="table",
        cells=rivals.cells,
        table=rivals.table,
        compare=rivals.compare,
        interleaved=True,
    ),
    Experiment(
        name="latency",
        title="PFP's time for an edge as the memory grows, in ns",
        kind="table",
        cells=rivals.latency_cells,
        table=rivals.latency_table,
        compare=rivals.latency_compare,
        interleaved=True,
    ),
)
