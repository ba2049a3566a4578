"""`solve`, the public call for assignments: its defaults, its solvers by name, its options."""

import inspect

import pytest

from papers.common.gpu import device
from papers.common.instances.matrices import uniform
from papers.common.problems import assignment_proof, kinds
from papers.lupinska_costscale import PAPER, solve
from papers.lupinska_costscale.assignment import solver


@pytest.fixture(autouse=True)
def _on_executor():
    device.select("cpu")


def by_kernels(answer):
    """Whether an answer came from the GPU's solver: others launch nothing."""
    return "kernel_launches" in answer.counters


LIMIT = PAPER.defaults["assignment"].executor


@pytest.mark.parametrize(
    ("n", "options", "kernels"),
    [
        (6, {}, True),
        (LIMIT + 1, {}, False),
        (LIMIT + 1, {"maximize": True}, False),
        (LIMIT + 1, {"cycle": 60}, True),
        (6, {"solver": "cost_scaling"}, False),
        (LIMIT + 1, {"solver": "refine"}, True),
    ],
)
def test_without_a_gpu_a_large_matrix_goes_to_one_core(n, options, kernels):
    cost = uniform(n, 4, cost_range=50)
    answer = solve(cost, **options)
    assert by_kernels(answer) == kernels
    assert assignment_proof.assignment(cost, answer, options.get("maximize", False)).ok


@pytest.mark.parametrize("name", [None, "refine", "cost_scaling"])
def test_switched_off_is_switched_off(name):
    """False is no default here: it must arrive at the solver."""
    cost = uniform(12, 2, cost_range=1000)
    assert solve(cost, solver=name).counters["arcs_fixed"] > 0
    assert solve(cost, solver=name, arc_fixing=False).counters["arcs_fixed"] == 0


def test_options_that_a_solver_does_not_take_are_named():
    with pytest.raises(kinds.OptionError, match="cost_scaling takes no option cycle, loop"):
        solve([[1, 2], [2, 1]], solver="cost_scaling", cycle=5, loop="device")
    with pytest.raises(kinds.ProblemError, match="'gpu_relabel' is none of"):
        solve([[1, 2], [2, 1]], solver="gpu_relabel")
    assert solve([[1, 2], [2, 1]], solver="cost_scaling", alpha=3).cost == 2


def test_the_public_call_is_the_solver_s():
    """The parameters of `upload`, with its defaults, and the solver's name."""
    public = dict(inspect.signature(solve).parameters)
    assert public.pop("solver").default is None
    inner = inspect.signature(solver.upload).parameters
    assert {k: p.default for k, p in public.items()} == {k: p.default for k, p in inner.items()}
    assert list(public) == list(inner)


def test_defaults_that_are_stated_change_nothing():
    """So that a solver without such options takes the call."""
    parameters = inspect.signature(solve).parameters.values()
    stated = {p.name: p.default for p in parameters if p.default not in (p.empty, None)}
    assert set(stated) > {"alpha", "arc_fixing", "loop", "configuration"}
    assert solve([[1, 2], [2, 1]], **stated | {"solver": "cost_scaling"}).cost == 2
