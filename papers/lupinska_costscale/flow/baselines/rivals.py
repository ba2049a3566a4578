"""Other people's maximum flow codes, as solvers: PyMaxflow and SciPy.

Neither is built on push and relabel: PyMaxflow is Boykov and Kolmogorov's code for graph cuts, the
fastest free one on images, and SciPy's method is Dinic's.

PyMaxflow tells the value and the cut but no flow, and its users pay for none. `prove_pymaxflow`
proves both all the same, outside the clocks: it takes the flow from
`papers.lupinska_costscale.flow.baselines.push_relabel`, and keeps PyMaxflow's own value and cut. A
flow and a cut of one value prove each other, wherever they come from; a wrong value or a cut that
is not minimum cannot pass. SciPy tells the flow but no cut; `prove_scipy` finds one in it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from papers.common.gpu.environment import MissingPackageError, install_command
from papers.common.model import Flow
from papers.common.problems.network import STEP, Grid, Network, NetworkError, image_of
from papers.lupinska_costscale.flow.baselines import push_relabel
from papers.lupinska_costscale.flow.settle import settle

Trace = Callable[[str], None]


# --------------------------------------------------------------------------- PyMaxflow


@dataclass
class PyMaxflowState:
    """A graph in PyMaxflow's form.

    Attributes
    ----------
    instance : Network or Grid
    make : callable() -> maxflow.GraphInt
        Builds the graph anew: solving changes it, and its own copy (1.3.2) leads into the original.
    ready : maxflow.GraphInt or None
        One to solve; built where no clock runs.
    solved : maxflow.GraphInt or None
    value : int
    """

    instance: Network | Grid
    make: Callable[[], Any]
    ready: Any = None
    solved: Any = None
    value: int = 0


def upload_pymaxflow(instance: Network | Grid) -> PyMaxflowState:
    """Build the graph, outside of what `run` is timed for.

    Raises
    ------
    MissingPackageError
        If PyMaxflow is not installed.
    NetworkError
        If `instance` is neither.
    """
    try:
        import maxflow
    except ImportError:
        raise MissingPackageError(
            f"this solver needs PyMaxflow, which is not installed: {install_command('maxflow')}"
        ) from None
    image = image_of(instance)
    if image is None:
        make = partial(_network_graph, maxflow.GraphInt, instance.network())
    else:
        make = partial(_grid_graph, maxflow.GraphInt, image)
    return PyMaxflowState(instance, make, make())


def _grid_graph(kind: Any, grid: Grid) -> Any:
    """Each pair of neighbours is one edge with a capacity each way, as the code wants it."""
    graph = kind(grid.source.size, grid.source.size * len(grid.arcs) // 2)
    pixels = graph.add_grid_nodes(grid.shape)
    names = list(grid.arcs)
    for there, back in zip(names[::2], names[1::2], strict=True):
        down, right = STEP[there]
        y, x = np.nonzero(_has_neighbour(grid.shape, down, right))
        v, u = y + down, x + right
        graph.add_edges(pixels[y, x], pixels[v, u], grid.arcs[there][y, x], grid.arcs[back][v, u])
    graph.add_grid_tedges(pixels, grid.source, grid.sink)
    return graph


def _has_neighbour(shape: tuple[int, int], down: int, right: int) -> np.ndarray:
    inside = np.zeros(shape, bool)
    inside[: shape[0] - down, max(0, -right) : shape[1] - max(0, right)] = True
    return inside


def _network_graph(kind: Any, net: Network) -> Any:
    """Terminals are nodes here, bound to PyMaxflow's own by more than can flow."""
    forward = np.flatnonzero(np.arange(net.arcs) < net.mate)
    graph = kind(net.nodes, forward.size)
    graph.add_nodes(net.nodes)
    graph.add_edges(
        net.tail[forward].astype(np.int64),
        net.head[forward].astype(np.int64),
        net.capacity[forward],
        net.capacity[net.mate[forward]],
    )
    most = int(net.capacity.sum()) + 1
    graph.add_tedge(net.source, most, 0)
    graph.add_tedge(net.sink, 0, most)
    return graph


def run_pymaxflow(state: PyMaxflowState, trace: Trace | None = None) -> None:
    """Find the maximum flow; a second run without a proof between builds the graph itself."""
    graph = state.ready if state.ready is not None else state.make()
    state.ready = state.solved = None
    state.value = int(graph.maxflow())
    state.solved = graph


def download_pymaxflow(state: PyMaxflowState) -> Flow:
    """Return PyMaxflow's value and cut; it has no flow to tell, so that ``residual`` is None.

    Raises
    ------
    RuntimeError
        If the run has not ended.
    """
    if state.solved is None:
        raise RuntimeError("nothing to download: the run has not ended")
    image = image_of(state.instance)
    shape = (state.instance.nodes,) if image is None else image.shape
    nodes = np.arange(math.prod(shape)).reshape(shape)
    side = ~np.asarray(state.solved.get_grid_segments(nodes), bool)
    return Flow(state.value, None, side)


def prove_pymaxflow(state: PyMaxflowState, answer: Flow) -> Flow:
    """Add a maximum flow of `flow.baselines.push_relabel`, and build the graph of the next run."""
    if state.ready is None:
        state.ready = state.make()
    return replace(answer, residual=_a_flow_of(state.instance))


_last_flow: tuple[Network | Grid, Any] | None = None
"""The last instance that a flow was found in, and its residual capacities: all repetitions of a
cell are proved by one flow."""


def _a_flow_of(instance: Network | Grid) -> Any:
    global _last_flow
    if _last_flow is None or _last_flow[0] is not instance:
        mine = push_relabel.upload(instance)
        push_relabel.run(mine)
        _last_flow = instance, push_relabel.download(mine).residual
    return _last_flow[1]


# --------------------------------------------------------------------------- SciPy


@dataclass
class SciPyState:
    """A network as SciPy wants it, and its answer.

    Attributes
    ----------
    instance : Network or Grid
    net : Network
    matrix : csr_array[nodes, nodes] of int32
    found : MaximumFlowResult or None
    """

    instance: Network | Grid
    net: Network
    matrix: Any
    found: Any = None


def upload_scipy(instance: Network | Grid) -> SciPyState:
    """Store the network as SciPy wants it.

    Raises
    ------
    NetworkError
        If `instance` is neither, or the flow may exceed SciPy's 32 bits.
    """
    from scipy.sparse import csr_array

    image_of(instance)  # refuses what is neither
    net = instance.network()
    leaving = int(net.capacity[net.first[net.source] : net.first[net.source + 1]].sum())
    pairs = net.capacity + net.capacity[net.mate] if net.arcs else net.capacity
    if max(leaving, int(pairs.max(initial=0))) >= 2**31:
        raise NetworkError("SciPy's flows have 32 bits; these capacities exceed them")
    shape = (net.nodes, net.nodes)
    return SciPyState(
        instance, net, csr_array((net.capacity.astype(np.int32), net.head, net.first), shape=shape)
    )


def run_scipy(state: SciPyState, trace: Trace | None = None) -> None:
    """Call `scipy.sparse.csgraph.maximum_flow`."""
    from scipy.sparse.csgraph import maximum_flow

    state.found = None
    state.found = maximum_flow(state.matrix, state.net.source, state.net.sink)


def download_scipy(state: SciPyState) -> Flow:
    """Return SciPy's value; the flow stands in `SciPyState.found`, in SciPy's own form.

    Raises
    ------
    RuntimeError
        If the run has not ended.
    """
    if state.found is None:
        raise RuntimeError("nothing to download: the run has not ended")
    return Flow(int(state.found.flow_value), None, np.zeros(0, bool))


def prove_scipy(state: SciPyState, answer: Flow) -> Flow:
    """Add SciPy's flow in the instance's form, and the cut that its residual arcs tell."""
    net = state.net
    settled = settle(net, net.capacity - _sent(net, state.found.flow))
    image = image_of(state.instance)
    if image is None:
        return replace(answer, residual=settled.residual, source_side=settled.source_side)
    return _of_grid(image, net, answer.value, settled)


def _sent(net: Network, flow: Any) -> np.ndarray:
    """Return the amounts that SciPy's flow sends along the network's arcs, int64[arcs]."""
    flow = flow.tocsr()
    if np.array_equal(flow.indptr, net.first) and np.array_equal(flow.indices, net.head):
        return flow.data.astype(np.int64)  # it had every arc and its mate, and added none
    stored = flow.tocoo()
    place = np.searchsorted(
        net.tail.astype(np.int64) * net.nodes + net.head,
        stored.row.astype(np.int64) * net.nodes + stored.col,
    )
    sent = np.zeros(net.arcs, np.int64)
    sent[place] = stored.data
    return sent


def _of_grid(grid: Grid, net: Network, value: int, answer: Flow) -> Flow:
    """The answer in the grid's form; its network has an arc for every one of the grid's."""
    height, width = grid.shape
    pixel = np.arange(height * width)
    keys = net.tail.astype(np.int64) * net.nodes + net.head

    def left(tail: np.ndarray, head: np.ndarray) -> np.ndarray:
        return answer.residual[np.searchsorted(keys, tail * net.nodes + head)]

    residual = {
        "source": left(np.full(pixel.size, net.source), pixel).reshape(grid.shape),
        "sink": left(pixel, np.full(pixel.size, net.sink)).reshape(grid.shape),
    }
    for name in grid.arcs:
        down, right = STEP[name]
        rows, columns = pixel // width + down, pixel % width + right
        here = pixel[(rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)]
        residual[name] = np.zeros(grid.shape, np.int64)
        residual[name].ravel()[here] = left(here, here + down * width + right)
    return Flow(value, residual, answer.source_side[:-2].reshape(grid.shape))
