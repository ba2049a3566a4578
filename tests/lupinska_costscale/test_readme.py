"""The Python of the teaching page runs, and gives what its comments say."""

import re
from pathlib import Path

import numpy as np
import pytest

import papers.lupinska_costscale as package
from papers.common.gpu import device

TEXT = Path(package.__file__).with_name("README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)


@pytest.fixture
def names():
    """The names that all blocks of the page have made, in their order."""
    device.select("cpu")
    made: dict = {}
    for block in BLOCKS:
        exec(compile(block, "README.md", "exec"), made)
    return made


def test_there_are_examples():
    assert len(BLOCKS) == 2


def test_the_examples_give_what_their_comments_say(names):
    answer, arcs, bright = names["answer"], names["arcs"], names["bright"]
    assert (answer.flow_value, answer.arc_flow.tolist()) == (9, [3, 2, 4, 5])
    assert answer.proof.ok
    assert names["minimum_cut"](arcs, 0, 2).arcs.tolist() == [2, 3]
    cut = names["grid_cut"](bright, 9 - bright, arcs=2, connectivity=8)
    assert cut.mask.shape == (2, 3)
    assert names["solve"]([[4, 1, 3], [2, 0, 5], [3, 2, 2]]).cost == 5
    assert names["solve_batch"](np.arange(18).reshape(2, 3, 3) % 7).cost


def test_examples_in_docstrings():
    import doctest

    device.select("cpu")
    found = doctest.testmod(package)
    assert found.attempted > 15
    assert found.failed == 0


ROW = re.compile(r"^\| (\d+) x (\d+) \| (\d+) \| (\d+) \|$", re.MULTILINE)


def test_the_table_of_rectangles_is_what_the_solvers_count():
    device.select("cpu")
    rows = [tuple(map(int, found)) for found in ROW.findall(TEXT)]
    assert len(rows) == 4
    for n, m, *told in rows:
        costs = np.random.default_rng(1).integers(0, 100, (n, m))
        counted = []
        for name, options in (("refine", {"configuration": "paper"}), ("cost_scaling", {})):
            one = package.PAPER.solvers()[name]
            state = one.upload(costs, **options)
            one.run(state)
            counters = one.download(state).counters
            counted.append(counters["pushes"] + counters["relabels"])
        assert counted == told, (n, m)
