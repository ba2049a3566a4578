"""The work behind the public calls for flows: `maximum_flow`, `minimum_cut` and so on.

Callers' arrays become a `Network` or a `Grid` (`forms`), one of the solvers makes a `Flow` of it,
`papers.common.problems.flow_proof` proves that, and the answer goes back in the callers' form.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from papers.common.deadline import check_seconds
from papers.common.model import Flow, Paper, Proof
from papers.common.problems import kinds
from papers.common.problems.network import FlowError, Grid, Network, flow_on_arcs
from papers.lupinska_costscale.flow.energies import energy_of
from papers.lupinska_costscale.flow.forms import antisymmetric, grid_of, network_of

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# ------------------------------------------------------------------------------- answers


@dataclass(frozen=True)
class Solved:
    """A proved answer of a maximum flow solver.

    Attributes
    ----------
    instance : Network or Grid
        The problem in the solvers' form.
    flow : Flow
        Residual capacities and a minimum cut: what `papers.common.problems.flow_proof.flow` takes,
        beside `instance`, to prove the answer again. Of a cut without a proof by `CUTTER` the
        residual capacities are None.
    proof : Proof
        The proof's outcome; of kind ``"none"`` if none was asked for.
    solver : str
        Name of the solver.
    """

    instance: Network | Grid
    flow: Flow
    proof: Proof
    solver: str


class _Answer:
    solved: Solved

    @property
    def counters(self) -> Mapping[str, int]:
        """Counts of the solver: pushes, relabels, launches and so on."""
        return self.solved.flow.counters

    @property
    def proof(self) -> Proof:
        """The outcome of the proof."""
        return self.solved.proof


@dataclass(frozen=True)
class MaximumFlow(_Answer):
    """A maximum flow of a network.

    Attributes
    ----------
    flow_value : int
        Units that arrive at the sink; as many as the minimum cut has capacity.
    flow : csr_array of int64[n, n]
        Net flow from node to node, antisymmetric, as `scipy.sparse.csgraph.maximum_flow` has it
        (there in 32 bits): ``flow[x, y] == -flow[y, x]``.
    arc_flow : int64[k]
        Flow on each of the caller's own arcs, in the order of ``csgraph.data``: from 0 to the
        arc's capacity, and only one way between two nodes.
    source_side : bool[n]
        A minimum cut: True for nodes that the sink cannot be reached from any more.
    solved : Solved
        Solver, counters, proof, and everything needed to prove the answer again.
    """

    flow_value: int
    flow: csr_array
    arc_flow: np.ndarray
    source_side: np.ndarray
    solved: Solved = field(repr=False)


@dataclass(frozen=True)
class MinimumCut(_Answer):
    """A minimum cut of a network.

    Attributes
    ----------
    value : int
        Capacity of the arcs that are cut.
    source_side : bool[n]
        True for nodes on the source's side; of all minimum cuts the one with the most.
    arcs : int64[c]
        The arcs from the source's side to the sink's, as places in ``csgraph.data``; arcs without
        capacity are left out.
    solved : Solved
        Solver, counters, proof, and everything needed to prove the answer again.
    """

    value: int
    source_side: np.ndarray
    arcs: np.ndarray
    solved: Solved = field(repr=False)


@dataclass(frozen=True)
class GridCut(_Answer):
    """A minimum cut of an image.

    Attributes
    ----------
    value : int
        Capacity of the arcs that are cut.
    mask : bool[height, width]
        True for pixels on the source's side; of all minimum cuts the one with the most.
    solved : Solved
        Solver, counters, proof, and everything needed to prove the answer again.
    """

    value: int
    mask: np.ndarray
    solved: Solved = field(repr=False)


@dataclass(frozen=True)
class LeastEnergy(_Answer):
    """The labels of least energy.

    Attributes
    ----------
    value : int
        The energy, added up from the labels.
    labels : uint8[height, width]
        0 or 1; of all least energies the one with the most zeros.
    solved : Solved
        Solver, counters, proof of the cut, and everything needed to prove it again.
    """

    value: int
    labels: np.ndarray
    solved: Solved = field(repr=False)


# ------------------------------------------------------------------------------- calls


@dataclass(frozen=True)
class Wishes:
    """The wishes of a caller about the solution, besides the instance.

    Attributes
    ----------
    paper : Paper
        It states the solver that is taken if none is named.
    solver : str or None
    seconds : float or None
    operations : int or None
    prove : bool
    """

    paper: Paper
    solver: str | None = None
    seconds: float | None = None
    operations: int | None = None
    prove: bool = True


def maximum_flow(csgraph: Any, source: Any, sink: Any, wishes: Wishes) -> MaximumFlow:
    """See `papers.lupinska_costscale.maximum_flow`."""
    net, arcs = network_of(csgraph, source, sink)
    solved = solve(net, wishes)
    return MaximumFlow(
        solved.flow.value,
        antisymmetric(net, solved.flow.residual),
        flow_on_arcs(net, solved.flow.residual, arcs),
        solved.flow.source_side,
        solved,
    )


def minimum_cut(csgraph: Any, source: Any, sink: Any, wishes: Wishes) -> MinimumCut:
    """See `papers.lupinska_costscale.minimum_cut`."""
    net, arcs = network_of(csgraph, source, sink)
    solved = solve(net, wishes, cut=True)
    side = solved.flow.source_side
    crossing = side[arcs.tail] & ~side[arcs.head] & (arcs.capacity > 0)
    return MinimumCut(solved.flow.value, side, np.flatnonzero(crossing), solved)


def grid_cut(source: Any, sink: Any, arcs: Any, connectivity: int, wishes: Wishes) -> GridCut:
    """See `papers.lupinska_costscale.grid_cut`."""
    solved = solve(grid_of(source, sink, arcs, connectivity), wishes, cut=True)
    return GridCut(solved.flow.value, solved.flow.source_side, solved)


def least_energy(costs: Any, pairs: Any, connectivity: int, wishes: Wishes) -> LeastEnergy:
    """See `papers.lupinska_costscale.least_energy`."""
    energy = energy_of(costs, pairs, connectivity)
    graph, constant = energy.cut()
    solved = solve(graph, wishes, cut=True)
    labels = (~solved.flow.source_side).astype(np.uint8)
    value = energy.of(labels)
    if value != solved.flow.value + constant:
        raise FlowError(
            f"the labels' energy is {value}, their cut's {solved.flow.value + constant}"
        )
    return LeastEnergy(value, labels, solved)


CUTTER = "gpu_relabel"
"""The solver that can bring the cut alone."""


def solve(instance: Network | Grid, wishes: Wishes, cut: bool = False) -> Solved:
    """Solve an instance with the solver that is named, or the paper's own, and prove the answer.

    Parameters
    ----------
    instance : Network or Grid
    wishes : Wishes
    cut : bool
        Whether the cut is enough: without a proof, only that leaves the device then.

    Raises
    ------
    ValueError
        For an unknown solver, or a limit that is none or that the solver does not take.
    GivenUpError
        At one of the limits.
    FlowError
        If the proof fails.
    """
    check_seconds(wishes.seconds)
    name = wishes.solver or kinds.default_solver(wishes.paper, kinds.FLOW, instance)[0]
    limits = {"seconds": wishes.seconds, "operations": wishes.operations}
    if cut and not wishes.prove and name == CUTTER:
        return Solved(instance, _cut_alone(instance, wishes, limits), NO_PROOF, name)
    flow: Flow = kinds.solve_with(wishes.paper, kinds.FLOW, instance, name, limits)
    proof = NO_PROOF
    if wishes.prove:
        from papers.common.problems import flow_proof  # loads Numba

        proof = flow_proof.flow(instance, flow)
        if not proof.ok:
            raise FlowError(f"{name}: {proof.reason}")
    return Solved(instance, flow, proof, name)


NO_PROOF = Proof(False, "none", "no proof was asked for")


def _cut_alone(instance: Network | Grid, wishes: Wishes, limits: Mapping[str, Any]) -> Flow:
    """Return the value and the cut; `kinds.solve_with` would add what a proof needs."""
    solver = wishes.paper.solvers()[CUTTER]
    given = {name: value for name, value in limits.items() if value is not None}
    state = solver.upload(instance, answer="cut", **given)
    solver.run(state)
    found = solver.download(state)
    assert isinstance(found, Flow)
    return found
