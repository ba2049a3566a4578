"""Describes what the synthesis measures, as data: an entry an experiment.

There is no print. Others' programs on the same card are data in `published/`, what we want to reach
are goals, and both are judged where the card is the peers' (`peers`).
"""

from __future__ import annotations

from papers.common.model import Experiment
from papers.synthesis.evidence import ablation, batches, calls, families, large, uniform
from papers.synthesis.evidence.graphs import cuts, matchings

EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        name="uniform", title="Uniform costs: the dense solver, ours, a CPU's and others' codes",
        kind="figure", cells=uniform.cells, table=uniform.table, figure=uniform.draw,
        compare=uniform.compare,
    ),
    Experiment(
        name="families", title="Structured costs, floats and rectangles beside the best peer",
        kind="table", cells=families.cells, table=families.table, compare=families.compare,
    ),
    Experiment(
        name="large", title="n = 100,000 in device memory: 40 GB of costs",
        kind="table", cells=large.cells, table=large.table,
    ),
    Experiment(
        name="batches", title="Batches in one launch beside SciPy's loop and others' batched code",
        kind="table", cells=batches.cells, table=batches.table, compare=batches.compare,
    ),
    Experiment(
        name="calls", title="What the call adds to the solver below it, on small matrices",
        kind="table", cells=calls.cells, table=calls.table, compare=calls.compare,
        interleaved=True,
    ),
    Experiment(
        name="matchings", title="The call for matchings beside SciPy's and ECL-MM",
        kind="table", cells=matchings.cells, table=matchings.table, compare=matchings.compare,
        interleaved=True,
    ),
    Experiment(
        name="cuts", title="The calls for cuts, from host arrays to the mask, beside CPU codes",
        kind="table", cells=cuts.cells, table=cuts.table, compare=cuts.compare, interleaved=True,
    ),
    Experiment(
        name="ablation", title="The dense solver with one setting changed at a time",
        kind="table", cells=ablation.cells, table=ablation.table, interleaved=True,
    ),
)  # fmt: skip
