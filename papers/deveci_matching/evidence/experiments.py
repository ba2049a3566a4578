"""Tables 1 and 2 and Figures 1 to 5 of [D13] as data, and six experiments of our own.

[D13 Table 1] [D13 Table 2] [D13 Fig.1] [D13 Fig.2] [D13 Fig.3] [D13 Fig.4] [D13 Fig.5]. Our own:
`claims`, `counts`, `peers`, `copter2`, `beyond`, `full_size`.

An entry says what to measure (`cells`), how to lay it out (`tables`, `profiles`), how to draw it
like the paper's (`drawings`) and how to compare it (`verdicts`). Nothing here runs a solver.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from papers.common.evidence.tables import nothing
from papers.common.model import Cell, Experiment, Instance, Plan
from papers.deveci_matching.evidence import codes, plots, profiles, sets, tables, verdicts
from papers.deveci_matching.evidence.codes import (
    BEST,
    BEYOND,
    INCLUDED,
    MULTICORE,
    ON_DEVICE,
    ON_GPU,
    SEQUENTIAL,
    VARIANTS,
    cell,
)
from papers.deveci_matching.evidence.tables import OF_FIG_2, OF_TABLE_2

FULL_SIZE = "PAPERS_FULL_SIZE"
"""Environment variable: if set, generated graphs are measured at the paper's own sizes too."""

SCIPY_NONZEROS = 500_000
"""SciPy's code, which knows no limit of work, is given matrices up to this size."""

SCIPY_HARD = ("copter2",)
"""It takes minutes on these."""

MORE_CORES = 16

MANY = 500_000
"""Columns from which a graph of `peers` is given to the GPU's codes only."""

# ------------------------------------------------------------------------------- what to measure


def repeats(plan: Plan, code: str, instance: Instance) -> int:
    """Repetitions: one in the executor and on a CPU, three of the kernels on a GPU.

    In preset paper seven of the eight variants are timed once, after a warm-up.
    """
    if not plan.gpu or code not in ON_GPU:
        return 1
    return 3 if plan.preset != "paper" or code in (BEST, BEYOND) else 1


def sweep(plan: Plan, names: Iterable[str], graphs: Iterable[Instance]) -> list[Cell]:
    """Codes on graphs; without a GPU those of the GPU on none but `sets.small`'s."""
    toys = sets.small(plan)
    return [
        cell(code, graph, repeats(plan, code, graph))
        for graph in [*toys, *graphs]
        for code in names
        if plan.gpu or code not in ON_GPU or graph in toys
    ]


def variants(plan: Plan) -> list[Cell]:
    """Table 1: the eight variants, and the sequential codes whose times make the sets."""
    return sweep(plan, (*VARIANTS, *SEQUENTIAL), sets.thorough(plan))


def compared(plan: Plan) -> list[Cell]:
    """Figures 3 to 5 and the claims: the best variant beside all rivals."""
    found = sweep(plan, (BEST, *SEQUENTIAL, *MULTICORE), sets.thorough(plan))
    return found + sweep(plan, OF_TABLE_2.values(), sets.brief(plan))


def table_2(plan: Plan) -> list[Cell]:
    """Table 2: the paper's twenty, what is generated, and stand-ins."""
    drawn = sets.generated(sets.SIZES[plan.preset], plan.seeds[0])
    found = sweep(plan, OF_TABLE_2.values(), sets.of_table_2(plan))
    found += sweep(plan, (*OF_TABLE_2.values(), BEYOND), drawn + sets.stand_ins(plan))
    if plan.preset == "paper":
        found += [cell("P-DBFS", graph, cores=MORE_CORES) for graph in drawn + sets.stand_ins(plan)]
    return found


def full_size(plan: Plan) -> list[Cell]:
    """The paper's own sizes of what can be generated: minutes to draw, so only if asked for."""
    if not (plan.gpu and plan.preset == "paper" and os.environ.get(FULL_SIZE)):
        return []
    graphs = sets.generated(sets.FULL_SIZES, plan.seeds[0])
    return [cell(code, graph) for graph in graphs for code in (*OF_TABLE_2.values(), BEYOND)]


def fig_2(plan: Plan) -> list[Cell]:
    """Figure 2: four variants on Hamrle3, on its stand-in and on a Delaunay graph."""
    circuit = Instance("stand_in", sets.stand_in_rows("Hamrle3", plan.preset), "Hamrle3")
    graphs = [circuit] if plan.gpu else [Instance("stand_in", sets.EXECUTOR_ROWS, "Hamrle3")]
    graphs += [sets.matrix("Hamrle3")] if plan.preset == "paper" and plan.gpu else []
    sizes = (sets.SIZES if plan.gpu else sets.EXECUTOR_SIZES)[plan.preset]["delaunay"]
    drawn = sets.generated({"delaunay": sizes[-1:]}, plan.seeds[0])
    graphs += [graph for graph in drawn if not graph.permuted]
    return [cell(code, graph, levels=True) for graph in graphs for code in OF_FIG_2]


def beyond(plan: Plan) -> list[Cell]:
    """`beyond` beside the eight variants."""
    found = sweep(plan, (*VARIANTS, BEYOND), sets.thorough(plan))
    return found + sweep(plan, (BEST, BEYOND), sets.brief(plan))


def peers(plan: Plan) -> list[Cell]:
    """The graphs of other people's GPU codes, with the start before the clock and in it."""
    graphs = [Instance(family, n, label) for family, n, label in sets.PEERS[plan.preset]]
    # The CPU's codes take up to twenty seconds on a million columns.
    found = [
        cell(code, graph)
        for graph in graphs
        if graph.n < MANY
        for code in (*SEQUENTIAL, *MULTICORE)
    ]
    if plan.gpu:
        found += [
            cell(code, graph, None, start)
            for graph in graphs
            for code, start in (
                *((code, codes.EXCLUDED) for code in ON_GPU),
                (BEST, INCLUDED), (BEYOND, INCLUDED), (BEYOND, ON_DEVICE),
            )
        ]  # fmt: skip
    return found


def copter2(plan: Plan) -> list[Cell]:
    """`copter2`, original and permuted, by every code but SciPy's."""
    if plan.preset != "paper":
        return []
    graphs = [sets.matrix("copter2", ordering) for ordering in sets.ORDERINGS]
    names = (BEST, BEYOND, *SEQUENTIAL, "HKDW", *MULTICORE)
    return [
        cell(code, graph, repeats(plan, code, graph))
        for graph in graphs
        for code in names
        if plan.gpu or code not in ON_GPU
    ]


def counted(plan: Plan) -> list[Cell]:
    """Every graph and code, and two codes more on the original graphs."""
    found = variants(plan) + compared(plan) + table_2(plan) + fig_2(plan) + beyond(plan)
    found += peers(plan) + copter2(plan)
    originals = [graph for graph in [*sets.thorough(plan), *sets.brief(plan)] if not graph.permuted]
    found += sweep(plan, ("HKDW",), originals)
    return found + sweep(plan, ("SciPy",), filter(scipy_can, originals))


def scipy_can(graph: Instance) -> bool:
    """Whether SciPy's code is quick on a graph."""
    if graph.label in SCIPY_HARD:
        return False
    return sets.facts()["nonzeros"].get(graph.label, 0) <= SCIPY_NONZEROS


# ------------------------------------------------------------------------------- the entries


def _none(plan: Plan) -> list[Cell]:
    return []


EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        "fig01", "Two augmenting paths from one column, by our kernels", "picture",
        _none, nothing, artifacts=plots.fig_1,
    ),
    Experiment(
        "table1", "Geometric means of the eight variants over the sets, in s", "table",
        variants, tables.table_1, None, verdicts.table_1,
    ),
    Experiment(
        "fig02", "BFS kernel executions in each iteration", "figure",
        fig_2, tables.fig_2, plots.fig_2, verdicts.fig_2,
    ),
    Experiment(
        "fig03", "Speedup profiles", "figure",
        compared, profiles.fig_3, plots.fig_3, verdicts.fig_3,
    ),
    Experiment(
        "fig04", "Performance profiles", "figure",
        compared, profiles.fig_4, plots.fig_4, verdicts.fig_4,
    ),
    Experiment(
        "fig05", "Overall speedups of the best variant over PFP and HK", "figure",
        compared, profiles.fig_5, plots.fig_5, verdicts.fig_5,
    ),
    Experiment(
        "table2", "Times of the paper's twenty matrices and of what stands for them, in s", "table",
        table_2, tables.table_2, None, verdicts.table_2,
    ),
    Experiment(
        "full_size", f"Generated graphs at the paper's own sizes, in s (if {FULL_SIZE} is set)",
        "table", full_size, tables.full_size, None, verdicts.full_size,
    ),
    Experiment(
        "claims", "Numbers of the text, recomputed", "table",
        compared, profiles.claims, None, verdicts.claims,
    ),
    Experiment(
        "counts", "Matching sizes by graph: all codes alike, and the known ones", "table",
        counted, tables.counts, None, verdicts.counts,
    ),
    Experiment(
        "peers", "Beside ECL-MM and WBPR on one H100", "table",
        peers, tables.peers, None, verdicts.peers,
    ),
    Experiment(
        "copter2", "copter2, on which SciPy takes minutes, in s", "table",
        copter2, tables.copter2, None, verdicts.copter2,
    ),
    Experiment(
        "beyond", "Our own solver beside the best of the eight", "table",
        beyond, tables.beyond, None, verdicts.beyond,
    ),
)  # fmt: skip
