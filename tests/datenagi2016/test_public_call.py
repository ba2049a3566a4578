"""`papers.datenagi2016.solve`: what it takes, with a communicator and without one."""

import inspect

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from papers.common import instances
from papers.common.gpu import device
from papers.common.instances.matrices import sources
from papers.common.model import Instance
from papers.common.problems import assignment_proof, costs_on_device
from papers.datenagi2016 import solve


@pytest.fixture(autouse=True)
def _on_executor():
    device.select("cpu")


def communicators():
    yield pytest.param(lambda: None, id="without comm")
    yield pytest.param(alone, id="with comm")


def alone():
    pytest.importorskip("mpi4py")
    from papers.common.mpi import ranks

    return ranks.alone()


with_and_without = pytest.mark.parametrize("comm", list(communicators()))
variants = pytest.mark.parametrize("variant", ["tree", "classical"])
INSTANCE = Instance("uniform", 13, "10n", seed=4)


def forms(tmp_path):
    cost = instances.draw(INSTANCE)
    np.save(tmp_path / "costs.npy", cost)
    return {
        "an array": cost,
        "a path": tmp_path / "costs.npy",
        "a path as text": str(tmp_path / "costs.npy"),
        "an instance": INSTANCE,
        "an instance in device memory": Instance("uniform", 13, "10n", seed=4, storage="device"),
        "a source": sources.as_source(INSTANCE),
        "device memory": costs_on_device.adopt(cost),
    }


@with_and_without
@variants
def test_every_form_of_the_same_costs_has_the_same_proved_answer(comm, variant, tmp_path):
    cost = instances.draw(INSTANCE)
    best = cost[linear_sum_assignment(cost)].sum()
    for name, given in forms(tmp_path).items():
        answer = solve(given, variant=variant, comm=comm())
        assert answer.cost == best, name
        assert assignment_proof.assignment(cost, answer).ok, name


@with_and_without
@variants
@pytest.mark.parametrize("way", ["pigeon", "none", ""])
def test_an_unknown_exchange_is_refused_before_anything_is_read(comm, variant, way):
    for given in (np.eye(4), INSTANCE, "there is no such file.npy"):
        with pytest.raises(ValueError, match=f"exchange='{way}' is not one of auto, gather"):
            solve(given, variant=variant, exchange=way, comm=comm())


@with_and_without
def test_an_unknown_variant_is_refused_before_anything_is_read(comm):
    for given in (np.eye(4), INSTANCE, "there is no such file.npy"):
        with pytest.raises(ValueError, match="variant='oak' is not one of classical, tree"):
            solve(given, variant="oak", comm=comm())


@pytest.mark.parametrize("comm", [4, "MPI.COMM_WORLD", object()])
def test_what_is_no_communicator_is_refused_by_name(comm):
    with pytest.raises(TypeError, match="is no communicator of mpi4py"):
        solve(np.eye(4), comm=comm)


@with_and_without
def test_a_missing_file_is_named(comm, tmp_path):
    with pytest.raises(FileNotFoundError, match="absent"):
        solve(tmp_path / "absent.npy", comm=comm())


@with_and_without
@variants
@pytest.mark.parametrize("way", ["auto", "peers", "allgather", "gather"])
def test_every_way_is_taken_by_both_variants(comm, variant, way):
    cost = instances.draw(INSTANCE)
    answer = solve(cost, variant=variant, exchange=way, comm=comm(), maximize=True)
    assert answer.cost == cost[linear_sum_assignment(cost, True)].sum()


def test_any_family_is_drawn_whole_without_a_communicator():
    instance = Instance("lopes_cpp", 9, "n", seed=2)
    cost = instances.draw(instance)
    assert solve(instance).cost == cost[linear_sum_assignment(cost)].sum()


def test_the_signature_names_every_option():
    kinds = {p.kind for p in inspect.signature(solve).parameters.values()}
    assert kinds == {inspect.Parameter.POSITIONAL_OR_KEYWORD}
    names = [
        "cost",
        "maximize",
        "dtype",
        "variant",
        "exchange",
        "comm",
        "geometry",
        "solver",
        "seconds",
        "configuration",
    ]
    parameters = inspect.signature(solve).parameters
    assert list(parameters) == names
    assert all(name in solve.__doc__ for name in names)
    # The paper's default solver, unless the caller names a variant or a solver.
    assert parameters["variant"].default is parameters["solver"].default is None
