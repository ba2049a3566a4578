"""The calls of someone who only wants the answer: the five papers' ideas put together.

This is the one room that may import every paper. It is no paper: its card has no authors, and its
experiments have no print but goals of ours, beside the times of others' programs. Reading order:
`calls` (what `papers` exports, and the table that chooses a solver), then `assignment`, a solver
of its own; read its `reference` first. `baselines` are others' codes on a CPU, `evidence` has the
experiments. ``README.md`` beside this file tells how to use all of it.
"""

from papers.common.model import Defaults, Paper, lazily

PAPER = Paper(
    name="synthesis",
    tag="SY",
    title="The synthesis",
    authors="",
    venue="",
    year=0,
    doi="",
    summary=(
        "What the five papers' ideas add up to: one dense solver for any costs, and the calls that "
        "choose a solver."
    ),
    experiments=lazily(f"{__name__}.evidence.experiments", "EXPERIMENTS"),
    solvers=lazily(f"{__name__}.evidence.codes", "SOLVERS"),
    defaults={"assignment": Defaults(gpu="dense", cpu="scipy")},
)
