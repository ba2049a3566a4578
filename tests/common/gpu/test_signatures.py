"""Types of kernels' arguments, named tuples among them."""

import re
import subprocess
import sys
from types import ModuleType
from typing import NamedTuple

import numpy as np
import pytest
from numba import cuda, types

from papers.common.gpu import signatures
from papers.common.gpu.signatures import Duals, Element, Elements, Int32, Int32s, Int64s


class Covers(NamedTuple):
    row: Int32s
    column: Int32s


class Matrix(NamedTuple):
    n: Int32
    top: Element
    slack: Elements
    dual: Duals


class Search(NamedTuple):
    covers: Covers
    word: Int64s


@cuda.jit
def flat(n, top, slack, dual, row, column, word):
    i = cuda.grid(1)
    if i < n and row[i] == 0 and column[i] == 0:
        slack[i] = min(slack[i], top)
        dual[i] += slack[i]
        word[0] = n


@cuda.jit
def named(matrix, search):
    i = cuda.grid(1)
    if i < matrix.n and search.covers.row[i] == 0 and search.covers.column[i] == 0:
        matrix.slack[i] = min(matrix.slack[i], matrix.top)
        matrix.dual[i] += matrix.slack[i]
        search.word[0] = matrix.n


FLAT = "void(int32, T, T[::1], D[::1], int32[::1], int32[::1], int64[::1])"
NAMED = (Matrix, Search)


def arguments(kind):
    """Arguments of both kernels, as (matrix, search)."""
    dual = np.zeros(4, "float64" if kind == "float64" else "int64")
    top = np.dtype(kind).type(5)
    matrix = Matrix(np.int32(4), top, np.arange(4, dtype=kind), dual)
    return matrix, Search(Covers(np.zeros(4, np.int32), np.zeros(4, np.int32)), np.zeros(1, int))


@pytest.mark.parametrize("kind", ["int32", "uint8", "float64"])
def test_stated_types_are_those_of_what_is_bound(kind):
    given = arguments(kind)
    typed = tuple(map(named.typeof_pyval, given))
    assert typed == signatures.argument_types(NAMED, kind)
    assert typed == tuple(map(named.typeof_pyval, arguments(kind))), "compiled anew each time"
    parts = (*given[0], *given[1].covers, given[1].word)
    assert tuple(map(flat.typeof_pyval, parts)) == signatures.argument_types(FLAT, kind)


def test_tuples_of_equal_arrays_are_not_mixed_up():
    class Stars(NamedTuple):
        row: Int32s
        column: Int32s

    covers, stars = signatures.argument_types((Covers, Stars))
    assert isinstance(covers, types.NamedUniTuple)
    assert covers != stars


def test_element_types():
    assert signatures.names_element(FLAT)
    assert signatures.names_element(NAMED)
    assert signatures.names_element(("int32", "D[::1]")) is False
    assert not signatures.names_element((Covers, "int64[::1]"))
    assert signatures.argument_types("void(D[::1], T)", "float64") == (
        types.Array(types.float64, 1, "C"), types.float64,
    )  # fmt: skip


def test_a_field_without_a_type_is_named():
    class Vague(NamedTuple):
        row: int

    with pytest.raises(TypeError, match="int"):
        signatures.argument_types((Vague,))


@pytest.fixture
def _no_gpu_needed(monkeypatch):
    import numba.cuda.dispatcher as dispatcher

    class Card:
        compute_capability = (9, 0)

    monkeypatch.setattr(dispatcher, "get_current_device", lambda: Card)


def compiled(kernel, signature, kind):
    types_ = signatures.argument_types(signature, kind)
    return cuda.compile(kernel.py_func, types_, device=False, abi="numba", cc=(9, 0))[0]


@pytest.mark.usefixtures("_no_gpu_needed")
@pytest.mark.parametrize("kind", ["int32", "float64"])
def test_a_named_tuple_costs_what_its_fields_cost(kind):
    """As many parameters, of the same types; as many loads, stores and instructions in all."""
    plain, tuples = compiled(flat, FLAT, kind), compiled(named, NAMED, kind)
    for pattern in (r"\.param \.(\w+)", r"^\s+(?:@\S+ )?(\w[\w.]*)"):
        counts = [sorted(re.findall(pattern, text, re.MULTILINE)) for text in (plain, tuples)]
        assert counts[0] == counts[1]
    assert len(re.findall(r"\.param \.", tuples)) == 2 + 5 * 7
    assert "ld.global" in tuples


def test_a_launch_flattens_named_tuples(monkeypatch):
    """By numba-cuda's private `_prepare_args`, as `Launch` calls it: fields stay in order."""
    from numba.cuda import dispatcher

    class OnDevice:
        """An array that is in device memory already."""

        def __init__(self, array):
            self.array = array

        def to_device(self, write_back, stream):
            return Placed(self.array)

    class Placed:
        def __init__(self, array):
            self.size, self.dtype, self.shape = array.size, array.dtype, array.shape
            self.ptr = array.ctypes.data
            self._layout = type("Layout", (), {"strides_in_bytes": array.strides})

    monkeypatch.setattr(dispatcher, "wrap_arg", OnDevice)
    compiler = dispatcher._Kernel.__new__(dispatcher._Kernel)
    compiler.extensions = []

    def flattened(kinds, values):
        found = []
        for kind, value in zip(kinds, values, strict=True):
            compiler._prepare_args(kind, value, 0, [], found)
        return [getattr(word, "value", word) for word in found]

    given = arguments("int32")
    parts = (*given[0], *given[1].covers, given[1].word)
    named_words = flattened(signatures.argument_types(NAMED), given)
    assert named_words == flattened(signatures.argument_types(FLAT), parts)
    assert len(named_words) == 2 + 7 * 5
    assert given[0].slack.ctypes.data in named_words


def test_kernels_are_made_when_somebody_asks(monkeypatch):
    module, asked = ModuleType("kernels_on_demand"), []
    monkeypatch.setitem(sys.modules, module.__name__, module)
    makers = {name: lambda name=name: asked.append(name) or f"made {name}" for name in "ab"}
    module.__getattr__ = signatures.on_demand(module.__name__, makers, "void()")
    assert asked == []
    assert module.SIGNATURES == {"made a": "void()", "made b": "void()"}
    assert (module.a, module.b) == ("made a", "made b")
    assert asked == ["a", "b"]
    with pytest.raises(AttributeError, match=r"kernels_on_demand.*'c'"):
        module.__getattr__("c")
    monkeypatch.delattr(module, "a")
    assert module.a == "made a"


def test_a_solver_s_modules_make_no_kernel():
    """618 device functions were made in the first call of a process, most of them for tests."""
    code = """
from numba.cuda import dispatcher
made, init = [], dispatcher.CUDADispatcher.__init__
def counted(self, *given, **named):
    made.append(1)
    return init(self, *given, **named)
dispatcher.CUDADispatcher.__init__ = counted
import papers.synthesis.assignment.pairs, papers.synthesis.batch.solver
print(len(made))
"""
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 50 < int(told.stdout) < 300
