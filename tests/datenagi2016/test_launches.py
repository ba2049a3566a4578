"""Arguments that are found by name, and the named tuples that they are put into."""

import numpy as np
import pytest
from numba import cuda

from papers.common.gpu import device
from papers.datenagi2016.kernels import arguments
from papers.datenagi2016.kernels.arguments import TUPLES, Duals, Matrix
from papers.datenagi2016.launches import arguments_of


@pytest.fixture(autouse=True)
def _on_executor():
    device.select("cpu")


@cuda.jit
def takes_a_matrix(n, matrix, theta):
    """Nothing: its parameters count."""


KNOWN = {name: np.full(3, k) for k, name in enumerate(("cost", "row_dual", "column_dual", "theta"))}
KNOWN["n"] = np.int32(3)


def test_arrays_are_put_into_the_tuples_that_a_kernel_takes():
    n, matrix, theta = arguments_of(takes_a_matrix, KNOWN)
    assert n is KNOWN["n"]
    assert theta is KNOWN["theta"]
    assert type(matrix) is Matrix
    assert type(matrix.duals) is Duals
    assert matrix.cost is KNOWN["cost"]
    assert matrix.duals.row is KNOWN["row_dual"]
    assert matrix.duals.column is KNOWN["column_dual"]


def test_an_array_of_one_kernel_goes_before_the_others_into_its_tuples():
    other = np.zeros(5)
    _, matrix, theta = arguments_of(takes_a_matrix, KNOWN, column_dual=other, theta=other)
    assert matrix.duals.column is theta is other
    assert matrix.duals.row is KNOWN["row_dual"]
    whole = Matrix(other, Duals(other, other))
    assert arguments_of(takes_a_matrix, KNOWN, matrix=whole)[1] is whole


@pytest.mark.parametrize("name", ["row_dual", "theta"])
def test_a_name_that_stands_for_nothing_is_told(name):
    known = {key: value for key, value in KNOWN.items() if key != name}
    with pytest.raises(KeyError, match=name):
        arguments_of(takes_a_matrix, known)


def test_a_part_of_a_tuple_is_named_after_its_field():
    """A pair's arrays are its rows' and its columns'; other parts have their fields' names."""
    frontiers = ("frontier_in", "frontier_out", "frontier_reverse")
    for name, (kind, parts) in TUPLES.items():
        assert kind.__name__.lower() == name
        assert len(parts) == len(kind._fields)
        if kind._fields == ("row", "column"):
            assert parts == (f"row_{parts[0][4:]}", f"column_{parts[0][4:]}")
            assert name == parts[0][4:] + "s"
        else:
            assert parts == (frontiers if name == "frontiers" else kind._fields)
    classes = {kind for kind in vars(arguments).values() if hasattr(kind, "_fields")}
    unnamed = {arguments.Scope, arguments.Messages, arguments.Queue}
    assert classes == unnamed | {kind for kind, _ in TUPLES.values()}
