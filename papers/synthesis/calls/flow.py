"""`maximum_flow`, `minimum_cut` and `grid_cut`: [LU11]'s calls, by the solver that the table names.

The answers are those of `papers.lupinska_costscale.flow.calls`. A proof is made only if asked for,
and a flow only where the answer holds one: PyMaxflow, the fastest on a CPU, tells the cut alone.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np

from papers.common.deadline import Deadline, check_seconds
from papers.common.model import Flow
from papers.common.problems import kinds
from papers.common.problems.network import FlowError, flow_on_arcs
from papers.lupinska_costscale.flow.calls import (
    NO_PROOF,
    GridCut,
    MaximumFlow,
    MinimumCut,
    Solved,
)
from papers.lupinska_costscale.flow.forms import antisymmetric, grid_of, network_of
from papers.synthesis.calls.choice import Machine, solver_of
from papers.synthesis.calls.cuts.choosing import CUTTER, Wishes, choice_for
from papers.synthesis.calls.cuts.there import solve_there
from papers.synthesis.calls.places import place

TELLS_NO_CUT = ("lupinska_costscale:scipy_flow",)


def maximum_flow(
    csgraph: Any,
    source: int,
    sink: int,
    *,
    seconds: float | None = None,
    device: Machine = "auto",
    solver: str | None = None,
    prove: bool = False,
    explain: bool = False,
) -> MaximumFlow:
    """Find a maximum flow of a network, as `scipy.sparse.csgraph.maximum_flow` does, in 64 bits.

    Parameters
    ----------
    csgraph : scipy.sparse array or matrix [n, n]
        Capacities: whole numbers, not negative. Two entries of one place are two parallel arcs.
    source, sink : int
        Two different nodes.
    seconds : float, optional
        The call gives up after so long.
    device : {"auto", "gpu", "cpu"}
    solver : str, optional
        ``PAPER:SOLVER`` instead of the table's choice.
    prove : bool
        Whether the answer is proved before it is returned.
    explain : bool
        Whether the choice and its reason are printed.

    Returns
    -------
    papers.lupinska_costscale.flow.calls.MaximumFlow
        ``flow_value`` and ``flow`` (int64[n, n]) as SciPy has them; ``arc_flow`` int64[k], the flow
        on each stored entry, in the order of ``csgraph.data`` or of ``csgraph.tocoo()``;
        ``source_side`` bool[n], a minimum cut; ``proof``, of kind ``"none"`` if none was asked for.

    Raises
    ------
    papers.common.problems.network.NetworkError
        A `ValueError`. If `csgraph` is dense, broken or not square, a capacity is negative or not
        whole, they add up to 2**62 or more, a terminal is no node, or both are one.
    ValueError
        For `seconds` that are none, an unknown `solver` or `device`.
    papers.common.model.GivenUpError
        After `seconds`.
    RuntimeError
        For ``device="gpu"`` without a GPU; if a proof fails.

    Examples
    --------
    >>> from papers import maximum_flow
    >>> from scipy.sparse import csr_array
    >>> maximum_flow(csr_array([[0, 3, 1], [0, 0, 2], [0, 0, 0]]), 0, 2).flow_value
    3
    """
    deadline = _begun(seconds)
    net, arcs = network_of(csgraph, source, sink)
    solved = solve(net, Wishes(seconds, device, solver, prove, explain, flow=True), deadline)
    residual = solved.flow.residual
    flow, by_arc = antisymmetric(net, residual), flow_on_arcs(net, residual, arcs)
    return MaximumFlow(solved.flow.value, flow, by_arc, solved.flow.source_side, solved)


def minimum_cut(
    csgraph: Any,
    source: int,
    sink: int,
    *,
    seconds: float | None = None,
    device: Machine = "auto",
    solver: str | None = None,
    prove: bool = False,
    explain: bool = False,
) -> MinimumCut:
    """Find the cheapest arcs of a network whose loss parts the sink from the source.

    Parameters
    ----------
    csgraph, source, sink, seconds, device, solver, prove, explain
        As in `maximum_flow`.

    Returns
    -------
    papers.lupinska_costscale.flow.calls.MinimumCut
        ``value``; ``source_side`` bool[n], of all minimum cuts the one with the most nodes there;
        ``arcs`` int64[c], the places in ``csgraph.data`` (of ``csgraph.tocoo()`` in formats but
        CSR, CSC and COO) of the arcs that are cut.

    Raises
    ------
    ValueError, RuntimeError
        As `maximum_flow`.

    Examples
    --------
    >>> from papers import minimum_cut
    >>> from scipy.sparse import csr_array
    >>> minimum_cut(csr_array([[0, 3, 1], [0, 0, 2], [0, 0, 0]]), 0, 2).arcs.tolist()
    [1, 2]
    """
    deadline = _begun(seconds)
    net, arcs = network_of(csgraph, source, sink)
    solved = solve(net, Wishes(seconds, device, solver, prove, explain), deadline)
    side = solved.flow.source_side
    crossing = side[arcs.tail] & ~side[arcs.head] & (arcs.capacity > 0)
    return MinimumCut(solved.flow.value, side, np.flatnonzero(crossing), solved)


def grid_cut(
    source: Any,
    sink: Any,
    arcs: Any,
    connectivity: Literal[4, 8] = 4,
    *,
    seconds: float | None = None,
    device: Machine = "auto",
    solver: str | None = None,
    prove: bool = False,
    explain: bool = False,
) -> GridCut:
    """Cut an image in two: the minimum cut of a grid with arcs to two terminals.

    A pixel on the source's side costs its capacity to the sink, one on the sink's side its capacity
    from the source, and every arc from the first side to the second its own.

    Parameters
    ----------
    source, sink : array_like of int[height, width], or int
        Capacities from the source to each pixel and from each pixel to the sink; arrays on a device
        are taken, too.
    arcs : int, array_like of int[height, width], or mapping of str to either
        Capacities between neighbours: of every arc, of all that leave a pixel, or by direction
        (``right``, ``left``, ``down``, ``up``, and with 8 neighbours ``down_right``, ``up_left``,
        ``down_left``, ``up_right``).
    connectivity : {4, 8}
        Neighbours of a pixel.
    seconds, device, solver, prove, explain
        As in `maximum_flow`.

    Returns
    -------
    papers.lupinska_costscale.flow.calls.GridCut
        ``value``; ``mask`` bool[height, width], True on the source's side, of all minimum cuts the
        one with the most pixels there; an array of the library of `source` if that is on a device.
        ``solved.instance``, where no proof was asked for, is made of the arrays when it is read.

    Raises
    ------
    ValueError, RuntimeError
        As `maximum_flow`; also for shapes that do not go together and unknown directions.

    Examples
    --------
    >>> import numpy as np
    >>> from papers import grid_cut
    >>> bright = np.array([[9, 8, 1], [7, 2, 0]])
    >>> grid_cut(bright, 9 - bright, arcs=2).mask.astype(int).tolist()
    [[1, 1, 0], [1, 0, 0]]
    """
    deadline = _begun(seconds)
    placed = place(source)
    by_direction = (
        {name: place(each).on_host() for name, each in arcs.items()}
        if hasattr(arcs, "items")
        else place(arcs).on_host()
    )
    given = placed.on_host(), place(sink).on_host(), by_direction, connectivity
    wishes = Wishes(seconds, device, solver, prove, explain)
    solved = solve_there(given, wishes, deadline, placed.place)
    if solved is None:
        solved = solve(grid_of(*given), wishes, deadline, placed.place)
    return GridCut(solved.flow.value, placed.back(solved.flow.source_side), solved)


# ------------------------------------------------------------------------------- the work


def _begun(seconds: float | None) -> Deadline:
    """Return the limit of a call that begins now, what is done before a solver runs included."""
    check_seconds(seconds)
    return Deadline(seconds)


def solve(instance: Any, wishes: Wishes, deadline: Deadline, lies: str = "host") -> Solved:
    """Solve a network or a grid, with all that the answer is to hold.

    Raises
    ------
    ValueError
        For limits and solvers that are none.
    GivenUpError
        After the `deadline`.
    FlowError
        If a proof fails.
    """
    choice = choice_for(instance, wishes, lies)
    if wishes.explain:
        print(choice.line(f"{instance.nodes} nodes on the {lies}"))
    left = deadline.left(f"{instance.nodes} nodes were laid out")
    flow = run(choice.solver, instance, replace(wishes, seconds=left))
    proof = NO_PROOF
    if wishes.prove:
        from papers.common.problems import flow_proof  # loads Numba

        proof = flow_proof.flow(instance, flow)
        if not proof.ok:
            raise FlowError(f"{choice.solver}: {proof.reason}")
    return Solved(instance, flow, proof, choice.solver)


def run(name: str, instance: Any, wishes: Wishes) -> Flow:
    """Upload, run and download; the flow or the cut that a solver does not tell is derived."""
    if name == "scipy":
        name = TELLS_NO_CUT[0]
    solver = solver_of(name)
    options: dict[str, Any] = {} if wishes.seconds is None else {"seconds": wishes.seconds}
    kinds.check_options(solver, options)
    if name == CUTTER and not (wishes.flow or wishes.prove):
        options["answer"] = "cut"
    state = solver.upload(instance, **options)
    solver.run(state)
    flow = solver.download(state)
    if name in TELLS_NO_CUT or wishes.prove or (wishes.flow and flow.residual is None):
        return kinds.with_proof(solver, state, flow)
    return flow
