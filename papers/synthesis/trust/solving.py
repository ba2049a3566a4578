"""One solve: a call, its answer, and the proof."""

from __future__ import annotations

import time
import warnings
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import papers
from papers.common.gpu import device
from papers.common.model import Assignment, GivenUpError, Matching, Proof
from papers.common.problems import assignment_proof, flow_proof, matching_proof
from papers.common.problems.assignment import total_cost
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
    except IndexError as error:
        return Solved(False, f"the answer names what is not there: {error}", took)
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
        proofs.append(_DERIVED[task.call.name](task.data, answer.cardinality, derived))
    return proofs


def _cover(graph: Any, pairs: int, cover: Any) -> Proof:
    """A cover of as many vertices as a matching has pairs is a smallest one."""
    rows, columns = graph.nonzero()
    bare = int(np.count_nonzero(~(cover.rows[rows] | cover.columns[columns])))
    told = f"{cover.size} vertices beside {pairs} pairs; {bare} edges are not covered"
    return Proof(cover.size == pairs and not bare, "koenig-cover", told)


def _rank(graph: Any, pairs: int, rank: Any) -> Proof:
    return Proof(rank == pairs, "koenig-cover", f"the rank is {rank}, of {pairs} pairs")


def _blocks(graph: Any, pairs: int, found: Any) -> Proof:
    """Permutations, nothing below the blocks, square ones with a full diagonal, wide and tall."""
    n, m = graph.shape
    orders = np.sort(found.row_order), np.sort(found.column_order)
    if not (np.array_equal(orders[0], np.arange(n)) and np.array_equal(orders[1], np.arange(m))):
        return Proof(False, "koenig-cover", "an order is no permutation")
    rows, columns = graph[found.row_order][:, found.column_order].nonzero()
    heights, widths = np.diff(found.row_blocks), np.diff(found.column_blocks)
    row_block = np.repeat(np.arange(heights.size), heights)
    column_block = np.repeat(np.arange(widths.size), widths)
    within = {*zip(rows.tolist(), columns.tolist(), strict=True)}
    diagonal = all(
        (r + i, c + i) in within
        for r, c, size in zip(found.row_blocks[1:], found.column_blocks[1:], heights[1:-1],
                              strict=False)
        for i in range(size)
    )  # fmt: skip
    held = {
        "blocks end at the sides": (heights.sum(), widths.sum()) == (n, m),
        "nothing is below": bool((row_block[rows] <= column_block[columns]).all()),
        "the middle is square": bool((heights[1:-1] == widths[1:-1]).all()),
        "it has its diagonal": diagonal,
        "one is wide, one tall": heights[0] <= widths[0] and heights[-1] >= widths[-1],
        "they match": heights[0] + widths[-1] + heights[1:-1].sum() == pairs,
    }
    not_so = [words for words, is_so in held.items() if not is_so]
    return Proof(not not_so, "koenig-cover", f"not so: {not_so}")


_DERIVED: dict[str, Callable[[Any, int, Any], Proof]] = {
    "koenig_cover": _cover, "structural_rank": _rank, "dulmage_mendelsohn": _blocks,
}  # fmt: skip


def _expansion(task: Task, returned: Any) -> Proof:
    """The energy is that of the labels, and no expansion of a label by a CPU's cuts lowers it."""
    unary, arcs, metric, neighbours = task.data
    labels = np.asarray(returned.labels)
    count = unary.shape[2]
    apart = np.not_equal.outer(np.arange(count), np.arange(count)) if metric is None else metric
    steps = ((0, 1), (1, 0), (1, 1), (1, -1))[: neighbours // 2]
    energy = int(np.take_along_axis(unary, labels[..., None], 2).sum(dtype=np.int64))
    height, width = labels.shape
    for down, right in steps:
        first = labels[: height - down, max(0, -right) : width - max(0, right)]
        second = labels[down:, max(0, right) : width - max(0, -right)]
        energy += arcs * int(apart[first, second].sum())
    if energy != returned.energy:
        return Proof(False, "minimum-cut", f"the call says {returned.energy}, its labels {energy}")
    again = papers.alpha_expansion(
        unary, arcs, metric, labels, neighbours, device="cpu",
        solver="lupinska_costscale:push_relabel",
    )  # fmt: skip
    return Proof(again.energy == energy, "minimum-cut", f"a move lowers {energy} to {again.energy}")


def _flows(task: Task, returned: Any) -> list[Proof]:
    """The flow and the cut prove one another, and the call's own parts are those of the answer."""
    if task.call.name.startswith("alpha_expansion"):
        return [_expansion(task, returned)]
    solved = returned.solved
    proof = flow_proof.flow(solved.instance, solved.flow)
    told = returned.flow_value if task.call.name.startswith("maximum") else returned.value
    if told != solved.flow.value:
        return [Proof(False, "minimum-cut", f"the call says {told}, not {solved.flow.value}")]
    return [proof]


_PROVED: dict[str, Callable[[Task, Any], list[Proof]]] = {
    "assignment": _assignments, "matching": _matching, "flow": _flows,
}  # fmt: skip
