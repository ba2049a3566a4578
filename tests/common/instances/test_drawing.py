"""Drawing by name: storages, permutations, what is kept, and the errors of what cannot be."""

import importlib

import numpy as np
import pytest

from papers.common import instances
from papers.common.executor.scheduler import Executor
from papers.common.gpu import device
from papers.common.instances import cache, matrices
from papers.common.instances.families import (
    FAMILIES,
    FamilyError,
    PermutationError,
    StorageError,
    UnknownFamilyError,
)
from papers.common.instances.matrices.formulas import Formula
from papers.common.model import Instance
from papers.common.problems.costs_on_device import ResidentCosts

BY_FORMULA = [name for name, family in FAMILIES.items() if family.formula]
ASSIGNMENTS = [
    name
    for name, family in FAMILIES.items()
    if family.problem == "assignment" and family.origin != "file"
]
GRAPH = Instance("uniform_graph", 30, "d3", seed=4)


def test_draw_takes_the_range_from_the_label_or_from_the_parameters():
    by_label = instances.draw(Instance("uniform", 40, "10n", seed=2))
    by_params = instances.draw(Instance("uniform", 40, "x", (("cost_range", 400),), seed=2))
    np.testing.assert_array_equal(by_label, matrices.uniform(40, 2, cost_range=400))
    np.testing.assert_array_equal(by_label, by_params)


def test_draw_names_the_range_of_the_cpp_program():
    drawn = instances.draw(Instance("lopes_cpp", 16, "n", seed=45345))
    np.testing.assert_array_equal(drawn, matrices.lopes_cpp(16, high=15))


NAMES = {"structured": "lowrank", "floats": "ties"}
"""Labels of the families whose labels are names."""


@pytest.mark.parametrize("family", [name for name in ASSIGNMENTS if name != "rectangle"])
def test_every_family_draws_square_matrices(family):
    for n in (0, 1, 16):
        drawn = instances.draw(Instance(family, n, NAMES.get(family, "100"), seed=3))
        assert drawn.shape == (n, n)


def test_a_rectangle_has_the_shape_that_its_label_names():
    assert instances.draw(Instance("rectangle", 3, "3x8")).shape == (3, 8)
    for label in ("4x8", "3 by 8", "100"):
        with pytest.raises(FamilyError, match="does not name a shape of 3 rows"):
            instances.draw(Instance("rectangle", 3, label))


@pytest.mark.parametrize("family", BY_FORMULA)
def test_every_storage_holds_the_same_bits(family):
    whole = instances.draw(Instance(family, 12, "10n", seed=2))
    strips = instances.draw(Instance(family, 12, "10n", seed=2, storage="strips"))
    assert isinstance(strips, Formula)
    np.testing.assert_array_equal(strips.block((3, 7), (0, 12)), whole[3:7])
    assert strips.dtype == whole.dtype
    if "device" not in FAMILIES[family].storages:
        return
    with device.executing(Executor()):
        drawn = instances.draw(Instance(family, 12, "10n", seed=2, storage="device"))
    assert isinstance(drawn, ResidentCosts)
    np.testing.assert_array_equal(drawn.array, whole)


def test_uniform_is_drawn_in_every_storage():
    assert FAMILIES["uniform"].storages == ("host", "device", "strips")
    assert {name for name, one in FAMILIES.items() if "strips" in one.storages} == {*BY_FORMULA}


@pytest.mark.parametrize(
    ("family", "storage", "reason"),
    [
        ("lopes_cpp", "strips", "'strips' is none of those of 'lopes_cpp': host"),
        ("colours", "device", "'device' is none of those of 'colours': host"),
        ("planted", "device", "'device' is none of those of 'planted': host, strips"),
        ("uniform_graph", "device", "'device' is none of those of 'uniform_graph': host"),
        ("random_grid", "strips", "'strips' is none of those of 'random_grid': host"),
        ("uniform", "tape", "'tape' is none of those of 'uniform': host, device, strips"),
    ],
)
def test_a_storage_that_a_family_does_not_offer_has_a_named_error(family, storage, reason):
    with pytest.raises(StorageError, match=reason):
        instances.draw(Instance(family, 16, "16", storage=storage))


@pytest.mark.parametrize(
    "name",
    [name for name, family in FAMILIES.items() if family.problem != "matching"],
)
def test_what_is_no_graph_cannot_be_permuted(name):
    with pytest.raises(PermutationError, match=f"{name}/.*/permuted is no graph"):
        instances.draw(Instance(name, 16, "16", permuted=True))


@pytest.mark.parametrize("call", [instances.draw, instances.parameters, instances.problem_of])
@pytest.mark.parametrize("family", ["gaussian", "uniform_parts", "kron_rcp", ""])
def test_unknown_families_have_a_named_error_that_lists_the_others(call, family):
    with pytest.raises(UnknownFamilyError, match=r"unknown family .*uniform_double.*random_grid"):
        call(Instance(family, 4, "n"))
    assert issubclass(UnknownFamilyError, FamilyError)
    assert issubclass(FamilyError, ValueError)


def test_a_family_states_its_problem():
    problems = {name: family.problem for name, family in FAMILIES.items()}
    assert problems["uniform"] == instances.problem_of(Instance("uniform", 3, "n")) == "assignment"
    assert problems["stand_in"] == "matching"
    assert problems["grid_cut"] == "flow"
    assert all(name == family.name for name, family in FAMILIES.items())


def test_a_permuted_graph_is_the_graph_permuted_by_its_seed():
    graph = instances.draw(GRAPH)
    permuted = Instance(**{**vars(GRAPH), "permuted": True})
    assert permuted.key == f"{GRAPH.key}/permuted"
    shuffled = instances.draw(permuted)
    np.testing.assert_array_equal(shuffled.cadj, graph.permuted(4).cadj)
    assert not np.array_equal(shuffled.cadj, graph.cadj)
    assert instances.is_permuted(GRAPH, permuted)
    for first, second in ((permuted, GRAPH), (GRAPH, GRAPH), (permuted, permuted)):
        assert not instances.is_permuted(first, second)
    other = Instance(**{**vars(permuted), "seed": 5})
    assert not instances.is_permuted(GRAPH, other)


def test_keys_tell_storages_apart_and_stay_short_otherwise():
    assert Instance("uniform", 512, "10n").key == "uniform/n=512/range=10n/seed=1"
    stored = Instance("uniform", 512, "10n", storage="strips")
    assert stored.key == "uniform/n=512/range=10n/seed=1/storage=strips"


def test_only_large_drawn_graphs_are_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("PAPERS_CACHE", str(tmp_path))
    monkeypatch.setattr(cache, "LEAST_ROWS", 30)
    other = instances.draw(Instance("uniform_graph", 30, "d3", seed=9))
    cache.keep(GRAPH, other)
    np.testing.assert_array_equal(instances.draw(GRAPH).cadj, other.cadj)
    kept = {name for name, family in FAMILIES.items() if family.can_be_kept}
    graphs = {name for name, family in FAMILIES.items() if family.problem == "matching"}
    assert kept == graphs - {"matrix", "graph_file"}


def test_the_cache_knows_every_module_that_defines_a_kept_family():
    """Their checksums are in a file's name: a graph drawn by other rules is never taken."""
    prefix = "papers.common.instances."
    defining = {
        family.make.__module__.removeprefix(prefix).replace(".", "/")
        for family in FAMILIES.values()
        if family.can_be_kept
    }
    assert defining <= set(cache.DEFINED_BY)


def test_the_room_offers_what_it_lists_and_nothing_else():
    for name in instances.__all__:
        assert getattr(instances, name) is not None
    assert instances.draw is importlib.import_module("papers.common.instances.drawing").draw
    with pytest.raises(AttributeError, match="no attribute 'generators'"):
        instances.generators  # noqa: B018
