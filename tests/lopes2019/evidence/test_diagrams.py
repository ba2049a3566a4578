"""Figures 1 and 3 and Table A.5 say what the program does."""

from itertools import pairwise

import numpy as np
import pytest

from papers.common.instances.matrices import uniform
from papers.lopes2019 import solver
from papers.lopes2019.evidence import diagrams


def test_figure_1_has_the_arrows_that_the_solver_takes():
    """All of them and no other; the end follows step 3, whose answer comes with step 4 (D4).

    The first list of zeros is made by step 6's kernel, between steps 1 and 2.
    """
    taken = set()
    for seed in range(4):
        steps = []
        solver.run(solver.upload(uniform(9, seed, cost_range=12)), steps.append)
        assert steps[:3] == ["step_1", "step_6", "step_2"]
        taken |= set(pairwise(["step_1", *steps[2:]]))
    assert taken == {arrow for arrow in diagrams.ARROWS if arrow[1] != "end"}
    assert {name for arrow in diagrams.ARROWS for name in arrow} == diagrams.BOXES.keys()


def test_figure_3_is_what_step_1_reads():
    """A block has its rows to itself, and a thread one place of every slice."""
    who = diagrams.readers()
    n = len(who)
    block, thread = who[..., 0], who[..., 1]
    assert block.min() == thread.min() == 0
    assert block.max() > 0
    assert thread.max() == diagrams.THREADS - 1
    assert (block == block[:, :1]).all()
    rows = n // (block.max() + 1)
    wide = diagrams.THREADS // rows
    assert 1 < wide < n
    assert np.array_equal(block[:, 0], np.arange(n) // rows)
    assert np.array_equal(thread[:, wide:], thread[:, :-wide])
    first = thread[:rows, :wide]
    assert np.array_equal(np.sort(first, axis=None), np.arange(diagrams.THREADS))


@pytest.mark.parametrize("draw", [diagrams.fig_1, diagrams.fig_3, diagrams.table_a5])
def test_pictures_are_written(draw, tmp_path):
    ((caption, path),) = draw(tmp_path, None)
    assert path.read_bytes().startswith(b"\x89PNG")
    assert path.stem == draw.__name__.replace("fig_", "fig0")
    assert caption.endswith(".")
