"""The calls on graphs as solvers: `run` goes from the caller's arrays to the caller's answer.

Nothing names a solver, so that the table of `papers.synthesis.calls.choice` chooses on the machine
that measures. The choice is noted in each answer's counters, as ``chosen_PAPER:SOLVER``. To upload
is to hold what a caller has: a CSR matrix, or the arrays of an image. Proofs are made outside every
clock. A matching shows its own cover; a cut is set beside a flow of one core's push and relabel, as
it is done for PyMaxflow, whose users pay for no flow either.

The calls count as kernels, so that a record names the card that they had. Where there is no GPU
its column ``device`` has the executor, while the code that ran is the chosen one, on the CPU.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from papers.common.model import Flow, Matching, Solver
from papers.common.problems.graph import bipartite
from papers.common.problems.network import Grid, Network, image_of
from papers.lupinska_costscale.flow.baselines.rivals import PyMaxflowState, prove_pymaxflow
from papers.synthesis.calls import flow, matching
from papers.synthesis.evidence.graphs.rows import CHOSEN

Trace = Callable[[str], None] | None

# ------------------------------------------------------------------------------- matchings


@dataclass
class MatchingState:
    """A caller's matrix, and the last answer.

    Attributes
    ----------
    matrix : csr_array[rows, columns]
    row_of_column : int32[columns] or None
    """

    matrix: Any
    row_of_column: np.ndarray | None = None


def upload_graph(graph: Any) -> MatchingState:
    """Hold the caller's CSR matrix, as `deveci_matching:scipy` does.

    Raises
    ------
    papers.common.problems.graph.GraphError
        For a bad graph.
    """
    return MatchingState(bipartite(graph).matrix().tocsr())


def run_matching(state: MatchingState, trace: Trace = None) -> None:
    """Call `papers.maximum_bipartite_matching`."""
    state.row_of_column = None
    state.row_of_column = matching.maximum_bipartite_matching(state.matrix)


def download_matching(state: MatchingState) -> Matching:
    """Return what the call returned, and the other side's partners.

    Raises
    ------
    RuntimeError
        If no call has ended.
    """
    if state.row_of_column is None:
        raise RuntimeError("nothing to download: no run has ended")
    column_match = np.asarray(state.row_of_column, np.int32)
    row_match = np.full(state.matrix.shape[0], -1, np.int32)
    columns = np.flatnonzero(column_match >= 0)
    row_match[column_match[columns]] = columns
    return Matching(row_match, column_match, int(columns.size))


def note_choice(state: MatchingState, answer: Matching) -> Matching:
    """Note the solver that the call chose."""
    chosen = matching.choice_for(state.matrix).solver
    return replace(answer, counters={**answer.counters, f"{CHOSEN}{chosen}": 1})


# ------------------------------------------------------------------------------- cuts


@dataclass
class CutState:
    """A caller's arrays, and the last answer.

    Attributes
    ----------
    drawn : Network or Grid
        The instance, for the proof.
    call : callable() -> MinimumCut or GridCut
        The call with the caller's arrays bound to it.
    found : MinimumCut, GridCut or None
    """

    drawn: Network | Grid
    call: Callable[[], Any]
    found: Any = None


def upload_cut(instance: Any) -> CutState:
    """Hold the arrays of an image, or the sparse matrix of a network.

    Raises
    ------
    papers.common.problems.network.NetworkError
        If `instance` is neither.
    """
    image = image_of(instance)
    if image is None:
        return CutState(instance, _network_call(instance))
    source, sink, arcs = image.source, image.sink, dict(image.arcs)
    return CutState(instance, lambda: flow.grid_cut(source, sink, arcs, len(arcs)))  # type: ignore[arg-type]


def _network_call(net: Network) -> Callable[[], Any]:
    from scipy.sparse import csr_array

    there = net.capacity > 0
    ends = net.tail[there], net.head[there]
    csgraph = csr_array((net.capacity[there], ends), shape=(net.nodes, net.nodes))
    return lambda: flow.minimum_cut(csgraph, net.source, net.sink)


def run_cut(state: CutState, trace: Trace = None) -> None:
    """Call `papers.grid_cut`, or `papers.minimum_cut` for a network."""
    state.found = None
    state.found = state.call()


def download_cut(state: CutState) -> Flow:
    """Return the value and the cut that the call returned.

    Raises
    ------
    RuntimeError
        If no call has ended.
    """
    if state.found is None:
        raise RuntimeError("nothing to download: no run has ended")
    is_image = image_of(state.drawn) is not None
    side = state.found.mask if is_image else state.found.source_side
    return Flow(int(state.found.value), None, side)


def prove_cut(state: CutState, answer: Flow) -> Flow:
    """Add a flow, as `rivals.prove_pymaxflow` does.

    Noted are the solver that the call chose, its counts, an image's pixels and their neighbours.
    """
    solved, image = state.found.solved, image_of(state.drawn)
    proved = prove_pymaxflow(PyMaxflowState(state.drawn, make=lambda: None), answer)
    counters = {**solved.flow.counters, f"{CHOSEN}{solved.solver}": 1}
    if image is not None:
        counters |= {"pixels": image.source.size, "neighbours": len(image.arcs)}
    return replace(proved, counters=counters)


SOLVERS: Mapping[str, Solver] = {
    "call_matching": Solver(
        name="call_matching", title="the call maximum_bipartite_matching", device="cuda",
        problem="matching", upload=upload_graph, run=run_matching, download=download_matching,
        proof=note_choice,
    ),
    "call_cut": Solver(
        name="call_cut", title="the calls grid_cut and minimum_cut", device="cuda",
        problem="flow", upload=upload_cut, run=run_cut, download=download_cut, proof=prove_cut,
    ),
}  # fmt: skip
"""Not in the contract of solvers: the calls take and refuse what the chosen solver does."""
