"""`reproduce prepare`, and graphs that are read from the cache instead of drawn."""

from dataclasses import replace

import numpy as np
import pytest

from papers.common import instances
from papers.common.instances import cache
from papers.common.instances.files import BrokenInstanceError
from papers.common.model import Cell, Experiment, Instance, Plan
from papers.reproduce import prepare

SMALL = Instance("kron", 64, "logn6")
LARGE = Instance("kron", 128, "logn7")


@pytest.fixture(autouse=True)
def _own_places(tmp_path, monkeypatch):
    monkeypatch.setenv("PAPERS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "LEAST_ROWS", 128)


@pytest.fixture
def experiments(monkeypatch):
    graphs = [SMALL, LARGE, replace(LARGE, permuted=True), Instance("matrix", 999, "x"),
              Instance("uniform_double", 999, "10n")]  # fmt: skip
    entry = Experiment("e", "t", "table", lambda plan: [Cell("toy:s", one) for one in graphs], None)
    monkeypatch.setattr("papers.reproduce.registry.resolve", lambda targets: [("toy", entry)])
    return [("toy", entry)]


def test_large_graphs_are_named_once(experiments):
    assert prepare.large(experiments, Plan("paper", gpu=True)) == [LARGE]


def test_what_is_kept_is_what_is_drawn(experiments, reproduce, monkeypatch):
    fresh = instances.draw(LARGE)
    cache.keep(LARGE, fresh)
    nobody = replace(instances.FAMILIES["kron"], make=None)  # it cannot be drawn any more
    monkeypatch.setitem(instances.FAMILIES, "kron", nobody)
    again = instances.draw(LARGE)
    assert again.shape == fresh.shape
    assert np.array_equal(again.cxadj, fresh.cxadj)
    assert np.array_equal(again.cadj, fresh.cadj)
    permuted = instances.draw(replace(LARGE, permuted=True))
    assert np.array_equal(permuted.cadj, fresh.permuted(1).cadj)
    result = reproduce("prepare", "toy")
    assert (result.code, result.out) == (0, "no large graph is left to draw\n")


def test_the_command_draws_and_keeps(tmp_path, monkeypatch):
    lines = []
    monkeypatch.setattr(prepare, "ProcessPoolExecutor", _Here)
    prepare.draw([LARGE], 2, lines.append)
    assert [line.partition(",")[0] for line in lines] == [f"{LARGE.key}: 3573 edges"]
    assert cache.path(LARGE).is_file()
    assert cache.load(LARGE).edges == 3573


class _Here:
    """Runs at once, in this process, where the rows are patched."""

    def __init__(self, jobs, mp_context):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def submit(self, function, argument):
        from concurrent.futures import Future

        future = Future()
        future.set_result(function(argument))
        return future


def test_a_damaged_file_is_named():
    file = cache.keep(LARGE, instances.draw(LARGE))
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(BrokenInstanceError, match="damaged"):
        instances.draw(LARGE)


def test_jobs_below_one(experiments, reproduce):
    result = reproduce("prepare", "toy", "--jobs", "0")
    assert result.code == 2
    assert "'--jobs'" in result.err
