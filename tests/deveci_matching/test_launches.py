"""Grids, device memory and bound launches of the eight variants."""

import pytest
from deveci_matching.examples import GRAPHS, VARIANTS, variants

from papers.common.gpu import device
from papers.common.gpu.signatures import argument_types
from papers.common.problems.graph import GraphError, bipartite
from papers.deveci_matching import launches, solver
from papers.deveci_matching.kernels import bfs as search_kernels
from papers.deveci_matching.kernels import fix_matching as repair_kernels
from papers.deveci_matching.launches import Geometry

SIGNATURES = {**search_kernels.SIGNATURES, **repair_kernels.SIGNATURES}


@pytest.mark.parametrize("bfs", launches.BFS)
def test_what_does_not_fit_is_named(bfs, monkeypatch):
    """The formula is what is allocated; one byte less is refused before anything is copied."""
    graph = bipartite(GRAPHS["wide"])
    needed = launches.needed_bytes(graph, bfs)
    allocated = solver.upload(graph, bfs=bfs).arrays
    assert sum(array.nbytes for array in allocated.values()) == needed
    monkeypatch.setattr(device, "free_bytes", lambda: needed)
    solver.upload(graph, bfs=bfs)
    monkeypatch.setattr(device, "free_bytes", lambda: needed - 1)
    monkeypatch.setattr(launches, "allocate", None)
    with pytest.raises(GraphError, match=f"needs {needed} bytes of device memory, {needed - 1}"):
        solver.upload(graph, bfs=bfs)


@pytest.mark.parametrize("wrong", [(0, 8), (1 << 20, 8), (2, 0), (2, 1025), (2.0, 8)])
def test_bad_geometry_is_named(wrong):
    with pytest.raises(ValueError, match="whole number"):
        Geometry(*wrong)


def test_shapes_on_a_gpu(monkeypatch):
    """CT: 256 x 256. MT: one thread a column, or that as far as they are resident."""
    card = device.Device("card", True, 132, 1 << 36, (9, 0))
    monkeypatch.setattr(device, "describe", lambda: card)
    monkeypatch.setattr(launches, "hardware_threads", lambda: 132 * 2048)
    for columns in (1, 256, 257, 10**5, 10**7):
        assert Geometry.for_device(columns, "ct") == Geometry(256, 256)
        mt = Geometry.for_device(columns, "mt")
        assert columns <= mt.blocks * mt.threads < columns + mt.threads
        resident = Geometry.for_device(columns, "resident")
        wanted = min(columns, 270336)
        assert wanted <= resident.blocks * resident.threads < wanted + resident.threads
    assert Geometry.for_device(2**31 - 1, "mt").blocks == launches.MAX_BLOCKS


@variants
def test_bound_arguments_are_what_the_kernels_are_compiled_for(variant):
    """On a GPU a launch is compiled for its arguments' types: they are the listed signatures."""
    listed = {kernel.py_func.__name__: kernel for kernel in SIGNATURES}
    state = solver.upload(GRAPHS["wide"], **variant)
    for launch in state.launches.values():
        kernel = listed[launch.name]
        typed = tuple(map(kernel.typeof_pyval, launch.arguments))
        assert typed == argument_types(SIGNATURES[kernel]), launch.name


def test_the_variants_are_what_they_are_called():
    """Each variant launches the kernels that its options name."""
    for variant in VARIANTS:
        state = solver.upload(GRAPHS["wide"], **variant)
        names = {part: launch.name for part, launch in state.launches.items()}
        wr = variant["bfs"] == "wr"
        ends = wr and variant["algorithm"] == "apsb"
        assert names["init_bfs_array"] == ("init_bfs_array_wr" if wr else "init_bfs_array")
        assert names["bfs"] == ("gpubfs_wr" if wr else "gpubfs")
        assert names["alternate"] == ("alternate_from_ends" if ends else "alternate")
        if wr:
            assert state.launches["bfs"].arguments[1] == ends
