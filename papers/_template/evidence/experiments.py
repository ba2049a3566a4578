"""Describes every table and figure of [T00] as data.

A declaration (`papers.common.evidence.declarations`) is a table in one line: `Counts` for what no
hardware changes, `Ratio` for a speedup, `Times` for run times. A table that needs more stands in
`evidence/tables.py`, its comparison with print in `evidence/verdicts.py`.
"""

from __future__ import annotations

from papers.common.evidence.declarations import Code, Counts, Instances
from papers.common.model import Experiment

INSTANCES = Instances(
    sizes={"smoke": (16,), "quick": (64, 128), "paper": (64, 128, 256, 512)},
    executor={"smoke": (4, 8), "quick": (8, 16), "paper": (8, 16)},
    labels=("n",),  # the cost ranges, as the paper names them
)
GPU = Code("_template:gpu", "gpu", "the GPU", kernels=True, scopes=("run", "end_to_end"))
CPU = Code("_template:cpu", "cpu", "one CPU thread")

# A speedup that the paper prints would be one line more:
#   SPEEDUP = Ratio("speedup", of=CPU, over=GPU, instances=INSTANCES, published="table2")
# and SPEEDUP.experiment("table2", "Speedup of the GPU over the CPU") its entry below.

STAGES = Counts(GPU, published="table1", printed={"stages": "stages"}, instances=INSTANCES)
"""[T00 Table 1]: an augmenting path for each row, whatever the costs."""

EXPERIMENTS: tuple[Experiment, ...] = (
    STAGES.experiment("table1", "Number of augmenting paths, costs 0 to n"),
)
