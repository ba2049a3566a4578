"""The worked example of the page is a run of the kernels, in both variants, ours and as printed."""

import numpy as np
import pytest

from papers.common.executor.scheduler import Executor
from papers.common.gpu import device
from papers.datenagi2016 import solver
from papers.datenagi2016.launches import Geometry

COST = np.array([[8, 6, 5, 3], [3, 1, 1, 1], [2, 8, 6, 9], [5, 6, 9, 7]], np.int32)
SHAPES = Geometry(
    line_threads=16, row_threads=32, column_threads=8, rows_a_block=8, search_threads=32,
    search_blocks=1, reduction_threads=8, scan_threads=32, stage_width=4,
)  # fmt: skip


@pytest.mark.parametrize("variant", ["classical", "tree"])
@pytest.mark.parametrize(("configuration", "seed"), [("tuned", 50), ("paper", 14)])
def test_the_page_s_run(variant, configuration, seed):
    device.select("cpu")
    seen = []
    with device.executing(Executor(seed=seed, switch=0.3)):
        state = solver.upload(
            COST, variant=variant, geometry=SHAPES, configuration=configuration
        )  # fmt: skip
        a = state.arrays

        def note(step):
            values = (a["column_predecessor"], a["row_successor"], a["slack"])
            seen.append((step, *(value.tolist() for value in values)))

        solver.run(state, note)
        answer = solver.download(state)
    steps = [step for step, *_ in seen]
    first = seen[steps.index("augmentation")]
    assert first[1] == [2, 1, 1, 0]
    assert first[2][1] == 1
    assert steps.count("augmentation") == 2
    assert steps.count("dual_update") == 1
    assert answer.counters["initial_assignments"] == 3
    if variant == "tree":
        at = steps.index("dual_update")
        assert seen[at][1] == [3, 3, 3, 3]
        assert (seen[at][3], seen[at + 1][3]) == ([0, 2, 8, 4], [0, 0, 6, 2])
    assert (a["row_dual"].tolist(), a["column_dual"].tolist()) == ([3, -1, 3, 9], [-1, 1, 1, 1])
    assert answer.col_ind.tolist() == [3, 2, 0, 1]
    assert answer.cost == 12
