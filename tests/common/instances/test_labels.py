"""Labels: what they tell, and the error of those that tell nothing."""

import pytest

from papers.common import instances
from papers.common.instances import labels
from papers.common.instances.labels import LabelError
from papers.common.model import Instance


@pytest.mark.parametrize(
    ("label", "expected"),
    [("0.1n", 51), ("n", 512), ("10n", 5120), ("n/64", 8), ("16n", 8192), ("16384n", 8388608),
     ("100", 100), ("n/1000", 1)],
)  # fmt: skip
def test_label_range(label, expected):
    assert labels.label_range(512, label) == expected


def test_label_range_is_at_least_one():
    assert labels.label_range(5, "0.1n") == 1
    assert labels.label_range(0, "n") == 1


@pytest.mark.parametrize("label", ["", "m", "n64", "0n", "-1n", "n/0", "0.1", "n/n", "0"])
def test_label_range_refuses(label):
    with pytest.raises(LabelError, match="cost range"):
        labels.label_range(512, label)


@pytest.mark.parametrize(
    ("family", "label", "told"),
    [
        ("uniform", "10n", {"cost_range": 640}),
        ("uniform_double", "2", {"cost_range": 2}),
        ("planted", "n/2", {"cost_range": 32}),
        ("geometric", "n", {"cost_range": 64}),
        ("lopes_authors", "10n", {"high": 639}),
        ("lopes_cpp", "n", {"high": 63}),
        ("adversarial", "worst", {}),
        ("constant", "ones", {}),
        ("structured", "euclid", {"name": "euclid"}),
        ("floats", "normal", {"name": "normal"}),
        ("rectangle", "64x9", {"columns": 9}),
        ("colours", "coffee", {}),
        ("uniform_graph", "d3", {"degree": 3.0}),
        ("skew_graph", "d2.5", {"degree": 2.5}),
        ("layered_graph", "d2", {"degree": 2.0}),
        ("delaunay", "n6", {}),
        ("rgg", "n_2_6_s0", {}),
        ("kron", "logn6", {}),
        ("mesh_dual", "a mesh", {}),
        ("path", "deep", {}),
        ("triangle", "deep", {}),
        ("grid_graph", "deep", {}),
        ("matrix", "copter2", {"name": "copter2"}),
        ("stand_in", "Hamrle3", {"name": "Hamrle3"}),
        ("grid_cut", "adhead.n6c10", {"name": "adhead.n6c10"}),
        ("dimacs_flow", "ak-64", {"name": "ak-64"}),
        ("segmentation", "camera", {"name": "camera"}),
        ("stereo_move", "a06", {"alpha": 6}),
        ("flow_move", "a44", {"alpha": 44}),
        ("random_grid", "20", {"largest": 20}),
        ("oblong_grid", "64x9", {"columns": 9}),
        ("channel_grid", "64x9", {"columns": 9}),
        ("random_network", "30", {"largest": 30}),
        ("assignment_file", "assign100", {"name": "assign100"}),
        ("cost_file", "costs.npy", {}),
        ("graph_file", "graph.mtx", {}),
        ("flow_file", "network.max", {}),
    ],
)
def test_every_family_says_what_its_labels_tell(family, label, told):
    assert instances.parameters(Instance(family, 64, label)) == told


def test_every_family_has_a_label_here():
    marks = test_every_family_says_what_its_labels_tell.pytestmark
    assert {case[0] for case in marks[0].args[1]} == set(instances.FAMILIES)


@pytest.mark.parametrize(
    ("family", "parameter", "label", "value"),
    [
        ("uniform", "cost_range", "no range", 400),
        ("lopes_cpp", "high", "no range", 7),
        ("skew_graph", "degree", "no degree", 4),
        ("matrix", "name", "another", "copter2"),
        ("stereo_move", "alpha", "no shift", 6),
        ("random_grid", "largest", "no capacity", 5),
    ],
)
def test_parameters_overrule_the_label(family, parameter, label, value):
    instance = Instance(family, 64, label, ((parameter, value), ("more", 1)))
    assert instances.parameters(instance) == {parameter: value, "more": 1}


def test_the_largest_cost_is_counted_from_the_smallest():
    instance = Instance("lopes_cpp", 8, "n", (("low", -3),))
    assert instances.parameters(instance) == {"low": -3, "high": 4}


@pytest.mark.parametrize(
    ("family", "label", "reason"),
    [
        ("uniform", "n64", "cost range"),
        ("uniform_double", "", "cost range"),
        ("planted", "-5", "cost range"),
        ("lopes_cpp", "0", "cost range"),
        ("uniform_graph", "3", "does not tell its degree"),
        ("skew_graph", "d-1", "does not tell its degree"),
        ("delaunay", "n7", "does not name a delaunay graph of 64 rows"),
        ("rgg", "n6", "does not name a rgg graph"),
        ("kron", "n6", "does not name a kron graph"),
        ("matrix", "", "does not tell its name"),
        ("stereo_move", "6", "does not tell its alpha"),
        ("flow_move", "seven", "does not tell its alpha"),
        ("random_grid", "n", "does not tell its largest"),
        ("random_network", "", "does not tell its largest"),
    ],
)
def test_labels_that_say_nothing_have_a_named_error(family, label, reason):
    with pytest.raises(LabelError, match=reason):
        instances.parameters(Instance(family, 64, label))
