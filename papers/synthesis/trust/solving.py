"""One solve: a call, its answer, and the proof."""

from __future__ import annotations

import time
import warnings
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

import papers
from papers.common.gpu import device
from papers.common.model import Assignment, GivenUpError, Matching, Proof
from papers.common.problems import assignment_proof, flow_proof, matching_proof
from papers.common.problems.assignment import total_cost
from papers.common.problems.assignment_proof import Refuted
from papers.common.problems.graph import bipartite
from papers.synthesis.evidence.calling import ExecutorsMemory
from papers.synthesis.trust.drawing import Task


@dataclass(frozen=True)
class Solved:
    """The outcome of a solve: whether it was right, and why not; and the call's seconds."""

    right: bool
    reason: str
    seconds: float


def solve(task: Task) -> Solved:
    """Call and prove; every error of a call is a wrong answer, but where none is possible."""
    began = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", papers.NoGpuWarning)
            returned = _CALLED[task.call.problem](task)
    except Exception as error:
        took = time.perf_counter() - began
        named = isinstance(error, ValueError) and "infeasible" in str(error) and not task.feasible
        late = isinstance(error, GivenUpError) and limit_of(task) == SHORT_S
        return Solved(named or late, f"{type(error).__name__}: {error}", took)
    took = time.perf_counter() - began
    if not task.feasible:
        return Solved(False, "an answer to a problem that has none", took)
    try:
        proofs = _PROVED[task.call.problem](task, returned)
    except Exception as error:  # of an answer that is no answer, in whatever way
        return Solved(False, f"nothing could be proved: {type(error).__name__}: {error}", took)
    for proof in proofs:
        if not proof.ok:
            return Solved(False, proof.reason, took)
    return Solved(True, "", took)


def _solver(task: Task) -> str | None:
    """The solver that the call asks for: the word of its name with a colon."""
    return next((word for word in task.call.name.split() if ":" in word), None)


SHORT_S, LONG_S = 1e-4, 100.0
"""Limits of time of the calls that name one: giving up is right within the first alone."""


def limit_of(task: Task) -> float | None:
    """The seconds that a call names, by its data; None for a call that names none."""
    if not task.call.name.endswith(" seconds"):
        return None
    return SHORT_S if zlib.crc32(task.data.tobytes()) % 2 else LONG_S


# ------------------------------------------------------------------------------- the calls


def _on_device(array: np.ndarray) -> Any:
    if device.describe().is_gpu:
        return device.to_device(array)
    return ExecutorsMemory(array.copy(order="K"))


def _assign(task: Task) -> Any:
    if task.call.name.endswith(" device"):
        return _assign_there(task)
    given, solver = task.data, _solver(task)
    if task.call.name.endswith(" device batch"):
        there = papers.linear_sum_assignment(
            _on_device(given), task.maximize, return_duals=True, solver=solver
        )
        return tuple(device.to_host(part) for part in there)
    if task.call.name.endswith(" pairs"):
        pairs = papers.linear_sum_assignment(given, task.maximize, solver=solver)
        *_, u, v = papers.linear_sum_assignment(
            given, task.maximize, return_duals=True, solver=solver
        )
        return *pairs, u, v
    return papers.linear_sum_assignment(
        given, task.maximize, return_duals=True, seconds=limit_of(task), solver=solver
    )


def _assign_there(task: Task) -> list[tuple[np.ndarray, tuple[np.ndarray, ...]]]:
    """Four matrices of one shape, or of two, in device memory, for nothing but the pairs.

    They are the drawn one, its transposed one, and both with their rows in reverse: two forms that
    share memory, each met twice. Duals of the first, as an array of the host, prove them all; one
    that has no answer is refused four times.
    """
    u = v = np.empty(0)
    if task.feasible:
        *_, u, v = papers.linear_sum_assignment(
            task.data, task.maximize, return_duals=True, solver=_solver(task)
        )
    found, refused = [], []
    for cost, rows, columns in ((task.data, u, v), (task.data.T, v, u)):
        for step in (1, -1):
            given = np.array(cost[::step], order="K")
            try:
                pairs = papers.linear_sum_assignment(
                    _on_device(given), task.maximize, solver=_solver(task)
                )
            except ValueError as error:
                refused.append(error)
                continue
            here = (device.to_host(each) for each in pairs)
            found.append((given, (*here, rows[::step], columns)))
    if refused and (task.feasible or not found):
        raise refused[0]
    return found


def _match(task: Task) -> Any:
    """A matching, or what is derived from one, which comes along with it."""
    name = task.call.name
    if name.endswith(" row"):
        return papers.maximum_bipartite_matching(task.data, "row")
    columns = papers.maximum_bipartite_matching(task.data, "column", solver=_solver(task))
    return (columns, getattr(papers, name)(task.data)) if name in _DERIVED else columns


def _flow(task: Task) -> Any:
    if task.call.name.startswith("alpha_expansion"):
        unary, arcs, metric, neighbours = task.data
        return papers.alpha_expansion(
            unary, arcs, metric, connectivity=neighbours, solver=_solver(task)
        )
    if task.call.name.startswith("grid_cut"):
        source, sink, arcs, neighbours = task.data
        return papers.grid_cut(source, sink, arcs, neighbours, solver=_solver(task), prove=True)
    last = task.data.shape[0] - 1
    if task.call.name.startswith("minimum_cut"):
        return papers.minimum_cut(task.data, 0, last, prove=True)
    return papers.maximum_flow(task.data, 0, last)


_CALLED: dict[str, Callable[[Task], Any]] = {
    "assignment": _assign, "matching": _match, "flow": _flow,
}  # fmt: skip

# ------------------------------------------------------------------------------- the proofs


def _assignments(task: Task, returned: Any) -> list[Proof]:
    """A proof a matrix."""
    if task.call.name.endswith(" device"):
        pairs = returned
    elif isinstance(task.data, list):
        pairs = list(zip(task.data, returned, strict=True))
    elif task.data.ndim == 3:
        pairs = list(zip(task.data, zip(*returned, strict=True), strict=True))
    else:
        pairs = [(task.data, returned)]
    return [
        assignment_proof.assignment(
            cost, Assignment(rows, columns, total_cost(cost[rows, columns]), u, v, task.maximize),
            task.maximize,
        )
        for cost, (rows, columns, u, v) in pairs
    ]  # fmt: skip


def _matching(task: Task, returned: Any) -> list[Proof]:
    """Prove the matching, and what was derived from one of as many pairs."""
    derived = returned[1] if isinstance(returned, tuple) else None
    partner = np.asarray(returned[0] if isinstance(returned, tuple) else returned)
    here, there = task.data.shape
    by_row = task.call.name.endswith(" row")
    if by_row:
        here, there = there, here
    if partner.shape != (here,):
        return [Proof(False, "koenig-cover", f"{partner.shape} partners of {here}")]
    back = np.full(there, -1, np.int32)
    matched = np.flatnonzero(partner >= 0)
    back[partner[matched]] = matched
    of_rows, of_columns = partner.astype(np.int32), back
    if by_row:
        of_rows, of_columns = of_columns, of_rows
    answer = Matching(of_rows, of_columns, int(matched.size))
    proofs = [matching_proof.matching(task.data, answer)]
    if derived is not None:
        proofs.append(_DERIVED[task.call.name](task.data, answer, derived))
    return proofs


def _cover(graph: Any, matching: Matching, cover: Any) -> Proof:
    """A cover of as many vertices as a matching has pairs is a smallest one."""
    try:
        matching_proof.check_cover(
            bipartite(graph), cover.rows, cover.columns, matching.cardinality
        )
    except Refuted as refuted:
        return Proof(False, "koenig-cover", str(refuted))
    return Proof(True, "koenig-cover", f"{cover.size} vertices")


def _rank(graph: Any, matching: Matching, rank: Any) -> Proof:
    pairs = matching.cardinality
    return Proof(rank == pairs, "koenig-cover", f"the rank is {rank}, of {pairs} pairs")


def _blocks(graph: Any, matching: Matching, found: Any) -> Proof:
    """The orders and the blocks are those that the definition gives, by other means than ours.

    The wide block has the columns that alternating paths reach from free ones, the tall one the
    rows, both whatever the matching; each block between is one strong component of matched pairs,
    and nothing is stored below the blocks.
    """
    n, m = graph.shape
    orders = np.sort(found.row_order), np.sort(found.column_order)
    if not (np.array_equal(orders[0], np.arange(n)) and np.array_equal(orders[1], np.arange(m))):
        return Proof(False, "koenig-cover", "an order is no permutation")
    blocks = found.row_blocks.size - 1
    of_row, of_column = np.empty(n, np.int64), np.empty(m, np.int64)
    of_row[found.row_order] = np.repeat(np.arange(blocks), np.diff(found.row_blocks))
    of_column[found.column_order] = np.repeat(np.arange(blocks), np.diff(found.column_blocks))
    rows, columns = graph.nonzero()
    wide_columns, wide_rows = _reached(columns, rows, matching.column_match, matching.row_match)
    tall_rows, tall_columns = _reached(rows, columns, matching.row_match, matching.column_match)
    paired = np.flatnonzero(matching.row_match >= 0)
    partner = matching.row_match[paired]
    leads = matching.column_match[columns]  # an edge leads from its row to its column's
    within = (
        (leads >= 0) & ~np.isin(of_row[rows], (0, blocks - 1)) & (of_row[rows] == of_row[leads])
    )
    arcs = coo_array((np.ones(int(within.sum())), (rows[within], leads[within])), (n, n))
    parts = connected_components(arcs, connection="strong")[1]
    middle = [parts[of_row == block] for block in range(1, blocks - 1)]
    held = {
        "nothing is below": bool((of_row[rows] <= of_column[columns]).all()),
        "the wide block is what free columns reach": (
            np.array_equal(of_column == 0, wide_columns) and np.array_equal(of_row == 0, wide_rows)
        ),
        "the tall block is what free rows reach": (
            np.array_equal(of_row == blocks - 1, tall_rows)
            and np.array_equal(of_column == blocks - 1, tall_columns)
        ),
        "pairs are within a block": bool((of_row[paired] == of_column[partner]).all()),
        "a block between cannot be parted": all(
            block.size > 0 and (block == block[0]).all() for block in middle
        ),
    }
    not_so = [words for words, is_so in held.items() if not is_so]
    return Proof(not not_so, "koenig-cover", f"not so: {not_so}")


def _reached(
    ends: np.ndarray, others: np.ndarray, partner: np.ndarray, back: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Find what alternating paths reach from one side's free vertices: of it, and of the other."""
    here, there = partner < 0, np.zeros(back.size, bool)
    while True:
        seen = there.copy()
        seen[others[here[ends]]] = True
        if (seen == there).all():
            return here, there
        there = seen
        here = here.copy()
        here[back[there & (back >= 0)]] = True


_DERIVED: dict[str, Callable[[Any, Matching, Any], Proof]] = {
    "koenig_cover": _cover, "structural_rank": _rank, "dulmage_mendelsohn": _blocks,
}  # fmt: skip


def energy_of(image: Any, labels: np.ndarray) -> int:
    """Return the energy of an image's labels: costs at pixels, and of pairs of neighbours."""
    unary, weight, _, neighbours = image
    apart = _apart(image)
    energy = int(np.take_along_axis(unary, labels[..., None], 2).sum(dtype=np.int64))
    flat = labels.ravel()
    return energy + weight * sum(
        int(apart[flat[one], flat[other]].sum()) for one, other in _pairs(labels.shape, neighbours)
    )


def _apart(image: Any) -> np.ndarray:
    labels = np.arange(image[0].shape[2])
    apart = np.not_equal.outer(labels, labels) if image[2] is None else image[2]
    return np.asarray(apart, np.int64)


def _pairs(shape: tuple[int, ...], neighbours: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Numbers of the pixels that are neighbours, by direction."""
    height, width = shape
    pixel = np.arange(height * width).reshape(shape)
    return [
        (
            pixel[: height - down, max(0, -right) : width - max(0, right)].ravel(),
            pixel[down:, max(0, right) : width - max(0, -right)].ravel(),
        )
        for down, right in ((0, 1), (1, 0), (1, 1), (1, -1))[: neighbours // 2]
    ]


def least_expansion(image: Any, labels: np.ndarray, alpha: int) -> int:
    """Return the least energy of all expansions of a label, by a proved flow of a network.

    The network is made here, pixel by pixel, and shares nothing with the call's own moves: a pixel
    on the sink's side takes the label. Source: Boykov, Veksler, Zabih 2001, in the form of
    Kolmogorov and Zabih 2004.
    """
    unary, weight, _, neighbours = image
    apart, now = _apart(image), labels.ravel()
    costs = unary.reshape(now.size, -1).astype(np.int64)
    at = np.arange(now.size)
    takes, constant = costs[:, alpha] - costs[at, now], int(costs[at, now].sum())
    tails, heads, capacities = [], [], []
    for one, other in _pairs(labels.shape, neighbours):
        both, second, first = (
            weight * apart[now[one], now[other]], weight * apart[now[one], alpha],
            weight * apart[alpha, now[other]],
        )  # fmt: skip
        constant += int(both.sum())
        np.add.at(takes, one, first - both)
        np.add.at(takes, other, -first)
        tails.append(one)
        heads.append(other)
        capacities.append(second + first - both)
    source, sink = now.size, now.size + 1
    dear, cheap = np.flatnonzero(takes > 0), np.flatnonzero(takes < 0)
    constant += int(takes[cheap].sum())
    tails += [np.full(dear.size, source), cheap]
    heads += [dear, np.full(cheap.size, sink)]
    capacities += [takes[dear], -takes[cheap]]
    ends = np.concatenate(tails), np.concatenate(heads)
    network = coo_array((np.concatenate(capacities), ends), (sink + 1, sink + 1)).tocsr()
    found = papers.maximum_flow(network, source, sink)
    proof = flow_on(network, source, sink, found)
    if not proof.ok:
        raise RuntimeError(f"the proof's own flow: {proof.reason}")
    return constant + int(found.flow_value)


def _expansion(task: Task, returned: Any) -> Proof:
    """The energy is that of the labels, and no expansion of a label has a lower one."""
    labels = np.asarray(returned.labels)
    energy = energy_of(task.data, labels)
    if energy != returned.energy:
        return Proof(False, "minimum-cut", f"the call says {returned.energy}, its labels {energy}")
    count = task.data[0].shape[2]
    least = min(least_expansion(task.data, labels, alpha) for alpha in range(count))
    return Proof(least == energy, "minimum-cut", f"an expansion lowers {energy} to {least}")


def _flows(task: Task, returned: Any) -> list[Proof]:
    """The flow and the cut prove one another, and the call's own parts are those of the answer.

    The solvers' form of a network is the call's reading of it, so that the flow, or the cut, is set
    beside the drawn capacities themselves, too.
    """
    name = task.call.name
    if name.startswith("alpha_expansion"):
        return [_expansion(task, returned)]
    solved = returned.solved
    proof = flow_proof.flow(solved.instance, solved.flow)
    told = returned.flow_value if name.startswith("maximum") else returned.value
    if told != solved.flow.value:
        return [Proof(False, "minimum-cut", f"the call says {told}, not {solved.flow.value}")]
    if name.startswith("maximum"):
        return [proof, flow_on(task.data, 0, task.data.shape[0] - 1, returned)]
    weight = _weight_of_mask(task.data, returned.mask) if name.startswith("grid") else (
        _weight_of_cut(task.data, returned.source_side)
    )  # fmt: skip
    said = f"the call says {told}, its cut weighs {weight}"
    return [proof, Proof(told == weight, "minimum-cut", said)]


def flow_on(network: Any, source: int, sink: int, answer: Any) -> Proof:
    """Prove a flow on the arcs of a CSR array, as its caller has them, by a cut of them.

    Parameters
    ----------
    network : csr_array [n, n]
    source, sink : int
    answer : papers.lupinska_costscale.flow.calls.MaximumFlow
    """
    tails, heads = _ends(network)
    flow, value = np.asarray(answer.arc_flow), answer.flow_value
    arrives = np.zeros(network.shape[0], np.int64)
    np.add.at(arrives, heads, flow)
    np.subtract.at(arrives, tails, flow)
    kept = np.delete(arrives, [source, sink])
    side = np.asarray(answer.source_side)
    held = {
        "the flow fits its arcs": bool(((flow >= 0) & (flow <= network.data)).all()),
        "what comes in goes out": not kept.any(),
        "its value arrives": arrives[sink] == value == -arrives[source],
        "a cut of the terminals weighs as much": (
            bool(side[source] and not side[sink]) and _weight_of_cut(network, side) == value
        ),
    }
    not_so = [words for words, is_so in held.items() if not is_so]
    return Proof(not not_so, "minimum-cut", f"not so: {not_so}")


def _ends(network: Any) -> tuple[np.ndarray, np.ndarray]:
    return np.repeat(np.arange(network.shape[0]), np.diff(network.indptr)), network.indices


def _weight_of_cut(network: Any, source_side: np.ndarray) -> int:
    tails, heads = _ends(network)
    return int(network.data[source_side[tails] & ~source_side[heads]].sum(dtype=np.int64))


def _weight_of_mask(image: Any, mask: np.ndarray) -> int:
    source, sink, arcs, neighbours = image
    flat = mask.ravel()
    apart = sum(int((flat[a] != flat[b]).sum()) for a, b in _pairs(mask.shape, neighbours))
    ends = source[~mask].sum(dtype=np.int64) + sink[mask].sum(dtype=np.int64)
    return int(ends) + arcs * apart


_PROVED: dict[str, Callable[[Task, Any], list[Proof]]] = {
    "assignment": _assignments, "matching": _matching, "flow": _flows,
}  # fmt: skip
