"""One launch and its shares: the same answers, and an end, whatever a kernel does."""

import ast
import inspect
import itertools
from pathlib import Path

import pytest
from numba import cuda

from papers.common import deadline
from papers.common.executor.scheduler import Executor
from papers.common.gpu import device
from papers.common.instances.matrices import uniform
from papers.common.model import GivenUpError
from papers.common.problems import assignment_proof
from papers.kawtikwar_opts import launches, solver
from papers.kawtikwar_opts.kernels import one_launch, search, step_4
from papers.lopes2019 import launches as lopes

SHAPE = {"threads": 32, "blocks": 3}


@pytest.fixture(autouse=True)
def _on_executor():
    device.select("cpu")


@pytest.mark.parametrize(("version", "lines", "share"), [
    ("opt2", 9, 1), ("opt3", 3, 2), ("opt4", 3, 1), ("opt4", 9, 16),
])  # fmt: skip
def test_shares_of_any_size_solve(version, lines, share, monkeypatch):
    """One share may end in the middle of a search, the next goes on with it."""
    monkeypatch.setattr(one_launch, "SHARE", share)
    cost = uniform(9, 2, cost_range=160)
    whole = solver.solve(cost, version=version, lines_a_bin=lines, **SHAPE)
    state = solver.upload(cost, version=version, lines_a_bin=lines, seconds=1e6, **SHAPE)
    for _ in range(2):
        solver.run(state)
        answer = solver.download(state)
        assert assignment_proof.assignment(cost, answer).ok
        for counter in ("iterations_step_6", "zeros_initial"):
            assert answer.counters[counter] == whole.counters[counter]
    updates = answer.counters["iterations_step_6"]
    assert updates > 2
    assert answer.counters["kernel_launches"] >= 2 + updates // share


@pytest.mark.parametrize("lines", [2, 6])
def test_shares_under_interleavings(lines, monkeypatch):
    monkeypatch.setattr(one_launch, "SHARE", 1)
    cost = uniform(6, 1, cost_range=40)
    for seed in range(6):
        with device.executing(Executor(seed=seed, switch=0.1)):
            state = solver.upload(
                cost, version="opt4", lines_a_bin=lines, threads=32, blocks=3, seconds=1e6
            )
            solver.run(state)
            assert assignment_proof.assignment(cost, solver.download(state)).ok, seed


@pytest.mark.parametrize("version", ["opt1", "opt4"])
def test_a_run_that_gives_up_in_the_middle_leaves_a_state_that_runs_again(version, monkeypatch):
    monkeypatch.setattr(one_launch, "SHARE", 1)
    cost = uniform(16, 3, cost_range=320)
    state = solver.upload(cost, version=version, seconds=1e6)
    ticks = itertools.chain([0.0] * 3, itertools.count(1e7))
    with monkeypatch.context() as patched:
        patched.setattr(deadline.time, "perf_counter", lambda: next(ticks))
        with pytest.raises(GivenUpError, match=r"gave up after 10000000\.0 s") as told:
            solver.run(state)
    assert 0 < told.value.reached["matched"] < 16
    assert told.value.reached["dual_updates"] > 0
    with pytest.raises(RuntimeError, match="no run has ended"):
        solver.download(state)
    solver.run(state)
    assert assignment_proof.assignment(cost, solver.download(state)).ok


# ------------------------------------------------------------------------------- planted faults


@cuda.jit(device=True)
def no_augmentation(n, stars):
    """Step 5 that leaves the stars as they are: the same path is found for ever."""


@cuda.jit(device=True)
def nothing_to_subtract(partial, top):
    """The minimum of a dual update that changes nothing."""
    return 0


@cuda.jit(device=True)
def always_dry(alone, shape, matches, run, search, log):
    """A search without a path, that says there was one: so nobody counts the dry ones."""
    return 0, matches, run, 1


@cuda.jit(device=True)
def always_moved(moved, path, run, flags):
    """Blocks that say for ever that one of them has uncovered a column."""
    cuda.cg.this_grid().sync()
    return True, False


FAULTS = {
    "step 5 does nothing": (search, "step_5", no_augmentation, 5, "after 6 augmentations"),
    "step 6 does nothing": (one_launch, "least_of", nothing_to_subtract, 5, "updates in a row"),
    "every search is dry": (search, "steps_4_5_and_3", always_dry, 5, "6 times 6 dual"),
    "step 4 never rests": (search, "agree", always_moved, 2, "come to rest in 6 runs"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_an_endless_kernel_ends_by_its_bound(fault, monkeypatch):
    module, name, spoiled, lines, words = FAULTS[fault]
    monkeypatch.setattr(module, name, spoiled)
    with device.executing(Executor()):
        state = solver.upload(5 + uniform(5, 1, cost_range=90), lines_a_bin=lines, **SHAPE)
        with pytest.raises(GivenUpError, match=words) as told:
            solver.run(state)
    assert set(told.value.reached) == {"matched", "searches", "dual_updates"}
    assert told.value.reached["matched"] < 5


@pytest.mark.parametrize("fault", FAULTS)
def test_endless_shares_end_by_the_host_s_bound(fault, monkeypatch):
    module, name, spoiled, lines, _ = FAULTS[fault]
    monkeypatch.setattr(module, name, spoiled)
    monkeypatch.setattr(one_launch, "SHARE", 1)
    with device.executing(Executor()):
        state = solver.upload(
            5 + uniform(5, 1, cost_range=90), lines_a_bin=lines, patience=2, seconds=1e6, **SHAPE
        )
        with pytest.raises(GivenUpError, match="13 shares of the work, the bound is 12"):
            solver.run(state)


def test_a_block_that_sweeps_for_ever_comes_back(monkeypatch):
    """Planted: step 4's sweeps do not stop when they find nothing; n + 1 of them are the bound."""
    text = inspect.getsource(step_4.step_4.py_func).replace(
        "        if cuda.syncthreads_or(found) == 0:\n            break\n",
        "        cuda.syncthreads()\n",
    )
    spoiled = dict(vars(step_4))
    exec(text, spoiled)
    assert "break" not in text
    monkeypatch.setattr(search, "step_4", spoiled["step_4"])
    cost = uniform(5, 1, cost_range=90)
    with device.executing(Executor()):
        state = solver.upload(cost, lines_a_bin=2, **SHAPE)
        with pytest.raises(GivenUpError, match="come to rest"):
            solver.run(state)


# ------------------------------------------------------------------------------- all loops


def kernels_of(module):
    return sorted((Path(module.__file__).parent / "kernels").rglob("*.py"))


def endless(tree):
    """Lines of ``while`` loops whose condition is not a bound on something that they count."""
    for loop in ast.walk(tree):
        if isinstance(loop, ast.While):
            counted = {
                ast.unparse(node.target) for node in loop.body if isinstance(node, ast.AugAssign)
            }
            bound = isinstance(loop.test, ast.Compare) and ast.unparse(loop.test.left) in counted
            if not bound:
                yield loop.lineno


@pytest.mark.parametrize("path", [*kernels_of(lopes), *kernels_of(launches)],
                         ids=lambda path: "/".join(path.parts[-3:]))  # fmt: skip
def test_every_while_loop_of_a_kernel_counts_towards_its_bound(path):
    """``for`` loops have a range; kernels of these papers wait for one another at barriers only."""
    assert list(endless(ast.parse(path.read_text(encoding="utf-8")))) == []


def test_an_endless_loop_is_found():
    loops = "while True:\n    pass\nwhile flag[0] == 0:\n    pass\nwhile i < n:\n    i += 1\n"
    assert list(endless(ast.parse(loops))) == [1, 3]
