"""The README's worked example: one dual update, its state and its accesses, counted as they run."""

import re
from pathlib import Path

import numpy as np
import pytest

from papers import kawtikwar_opts
from papers.common.executor.arrays import ArrayView
from papers.common.executor.scheduler import Executor
from papers.kawtikwar_opts.evidence import sass
from papers.kawtikwar_opts.kernels import baseline, opt1
from papers.kawtikwar_opts.kernels.arguments import Duals
from papers.kawtikwar_opts.kernels.printed import host_loop, one_launch
from papers.lopes2019.kernels.arguments import Covers, Order, Zeros

README = Path(kawtikwar_opts.__file__).with_name("README.md").read_text(encoding="utf-8")
BEFORE = np.array([[5, 3, 2, 0], [2, 0, 0, 0], [0, 6, 4, 7], [0, 1, 4, 2]], np.int32)
AFTER = np.array([[5, 2, 1, 0], [3, 0, 0, 1], [0, 5, 3, 7], [0, 0, 3, 2]], np.int32)
ROWS, COLUMNS = np.array([0, 1, 0, 0], np.int32), np.array([1, 0, 0, 1], np.int32)
ORDER, EPS = Order(np.int32(4), np.int32(2)), np.int32(1)


def form(kernel):
    """A device function as a kernel."""

    def whole(order, eps, slack, covers, least, zeros, duals):
        kernel(order, eps, slack, covers, least, zeros, duals)

    return whole


def dual_update(version, printed, run):
    """Run one; returns the slack matrix, and the sizes of the two bins."""
    slack, zeros = BEFORE.T.reshape(-1).copy(), np.zeros(16, np.int32)
    sizes, total = np.zeros(2, np.int32), np.zeros(1, np.int32)
    covers, listed = Covers(ROWS.copy(), COLUMNS.copy()), Zeros(zeros, sizes)
    duals = Duals(np.zeros(4, np.int64), np.zeros(4, np.int64))
    least, one = np.ones(1, np.int32), np.int32(1)
    apart = version in ("baseline", "opt0")
    if apart and printed:
        given = ORDER.n, slack, covers, least, total, sizes, duals
        run(host_loop.step_6_add_sub, 1, 32, given)
        count = host_loop.EACH if version == "baseline" else host_loop.NOT
        compressed = ORDER, EPS, slack, listed, total, np.int32(count)
        run(host_loop.compress_matrix, 1, 32, compressed)
    elif apart:
        kernels = baseline if version == "baseline" else kawtikwar_opts_opt0()
        counted = (total, sizes) if version == "baseline" else (sizes,)
        run(kernels.step_6_add_sub, 1, 32, (ORDER.n, slack, covers, least, duals))
        run(kernels.compress_matrix, 1, 32, (*ORDER, EPS, slack, zeros, *counted))
    elif version == "opt1":
        kernel = (host_loop if printed else opt1).add_sub_compress_matrix
        run(kernel, 1, 32, (ORDER, EPS, slack, covers, least, listed, duals))
    else:
        kernel = form(one_launch.LISTINGS[version]) if printed else sass.probe(version)
        run(kernel, 1, 32, (ORDER, EPS, slack, covers, one, listed, duals))
    return slack.reshape(4, 4).T, sizes.tolist()


def kawtikwar_opts_opt0():
    from papers.kawtikwar_opts.kernels import opt0

    return opt0


@pytest.fixture
def accesses(monkeypatch):
    """Loads and stores by array name, and atomics among the stores."""
    loads, stores = [], []
    get, put = ArrayView.__getitem__, ArrayView.__setitem__

    def loading(view, index):
        loads.append(view.name)
        return get(view, index)

    def storing(view, index, value):
        stores.append(view.name)
        put(view, index, value)

    monkeypatch.setattr(ArrayView, "__getitem__", loading)
    monkeypatch.setattr(ArrayView, "__setitem__", storing)
    return loads, stores


def table_of_the_page():
    """Numbers of the page's table by its first column."""
    rows = {}
    for line in README.split("## A worked 4x4 example")[1].split("\n## ")[0].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| ") and re.fullmatch(r"\d+", cells[1] if len(cells) > 1 else ""):
            rows[cells[0]] = [int(cell) for cell in cells[1:]]
    return rows


@pytest.mark.parametrize("printed", [True, False])
@pytest.mark.parametrize("place", range(6))
def test_the_page_s_accesses_are_those_of_the_kernels(place, printed, accesses):
    version = ("baseline", "opt0", "opt1", "opt2", "opt3", "opt4")[place]
    seen = []
    executor = Executor(seed=1, on_access=lambda *event: seen.append(event[:2]))
    slack, sizes = dual_update(version, printed, executor.launch)
    assert np.array_equal(slack, AFTER)
    assert sizes == [4, 2]
    page, loads = table_of_the_page(), accesses[0]
    which = "as printed" if printed else "ours"
    assert page[f"loads of slack, {which}"][place] == loads.count("slack")
    assert page["stores of slack"][place] == accesses[1].count("slack")
    names = [name for kind, name in seen if kind == "atomic"]
    one = [name for name in names if name == "zeros_size"]
    assert page["additions to the one counter"][place] == len(one)
    assert page["additions to the bins' counters"][place] == len(names) - len(one)


def test_the_page_s_matrices_are_the_example_s():
    text = README.split("## A worked 4x4 example")[1].split("\n## ")[0]
    numbers = [list(map(int, re.findall(r"(?<![(,\d])\d+(?![),\d])", line)))
               for line in text.split("```")[1].splitlines()]  # fmt: skip
    rows = [row for row in numbers if len(row) >= 12]
    assert [row[4:8] for row in rows] == BEFORE.tolist()
    assert [row[8:12] for row in rows] == AFTER.tolist()
    cost = np.array([row[:4] for row in rows])
    assert kawtikwar_opts.solve(cost.T).cost == 12
