"""The three problems, one record each: the one place that knows an assignment from a flow.

`PROBLEMS` maps a name to its `papers.common.model.Problem`. `stated_by` tells which problem some
data state, `answered_by` which one an answer answers, and `read` takes any file that one of them
reads.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from papers.common.gpu import device
from papers.common.model import (
    Assignment,
    Flow,
    Matching,
    Paper,
    Problem,
    ProblemName,
    Proof,
    Solver,
)
from papers.common.problems.formats import matrices, networks
from papers.common.problems.formats.matrices import FileFormatError
from papers.common.problems.graph import Graph, bipartite
from papers.common.problems.network import Grid, Network, NetworkError

EACH_PROVED_N = 2048
"""Largest order of a cost matrix at which every repetition's answer is proved."""

EACH_PROVED_EDGES = 20_000_000
"""The same for a graph: the edges at which a proof takes as long as a run."""


class ProblemError(ValueError):
    """Data of one problem were given where another one is solved."""


class OptionError(ValueError):
    """A solver does not take an option."""


# ------------------------------------------------------------------------------- assignment


def _is_costs(data: Any) -> bool:
    """Whether data are costs: an array, costs in device memory, or a source of blocks."""
    return not isinstance(data, (Graph, Network, Grid)) and hasattr(data, "dtype")


def _as_costs(data: Any) -> Any:
    if isinstance(data, (Graph, Network, Grid)):
        raise ProblemError(f"costs are a matrix, not a {type(data).__name__}")
    return data if _is_costs(data) else np.asarray(data)


def _prove_assignment(data: Any, answer: Assignment, maximize: bool) -> Proof:
    from papers.common.problems import assignment_proof  # loads Numba

    return assignment_proof.assignment(data, answer, maximize=maximize)


def _write_pairs(path: Path, data: Any, answer: Assignment) -> None:
    """Write ``row,column,cost``, a line an assigned pair."""
    pairs = zip(answer.row_ind.tolist(), answer.col_ind.tolist(), strict=True)
    lines = ["row,column,cost", *(f"{i},{j},{data[i, j].item()}" for i, j in pairs)]
    _write_lines(path, lines)


def _write_lines(path: Path, lines: list[str]) -> None:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


ASSIGNMENT = Problem(
    name="assignment",
    answer=Assignment,
    objective="cost",
    growth=3,
    endings=matrices.MATRIX_ENDINGS,
    states=_is_costs,
    adopt=_as_costs,
    shape=lambda costs: tuple(int(side) for side in costs.shape),
    size_bytes=lambda costs: int(np.prod(costs.shape)) * int(costs.dtype.itemsize),
    compiled_for=lambda costs: str(costs.dtype),
    extent=lambda costs: max(costs.shape, default=0),
    each_is_proved=lambda costs: max(costs.shape, default=0) <= EACH_PROVED_N,
    prove=_prove_assignment,
    read=matrices.read_matrix,
    write=_write_pairs,
    written=lambda costs: "assignment",
)
"""A cost matrix, proved by the duals of the linear program."""

# ------------------------------------------------------------------------------- matching


def _as_graph(data: Any) -> Graph:
    if isinstance(data, (Network, Grid)):
        raise ProblemError(f"a matching is of a bipartite graph, not of a {type(data).__name__}")
    return bipartite(data)


def _prove_matching(data: Any, answer: Matching, maximize: bool) -> Proof:
    from papers.common.problems import matching_proof  # loads Numba

    return matching_proof.matching(data, answer)


def _write_matching(path: Path, data: Graph, answer: Matching) -> None:
    """Write ``row,column``, a line a matched pair."""
    rows = np.flatnonzero(answer.row_match >= 0)
    pairs = zip(rows.tolist(), answer.row_match[rows].tolist(), strict=True)
    _write_lines(path, ["row,column", *(f"{i},{j}" for i, j in pairs)])


MATCHING = Problem(
    name="matching",
    answer=Matching,
    objective="cardinality",
    growth=1,
    endings=matrices.GRAPH_ENDINGS,
    states=lambda data: isinstance(data, Graph),
    adopt=_as_graph,
    shape=lambda graph: graph.shape,
    size_bytes=lambda graph: 4 * (graph.edges + graph.columns),
    compiled_for=lambda graph: "Graph",
    extent=lambda graph: max(graph.shape),
    each_is_proved=lambda graph: graph.edges <= EACH_PROVED_EDGES,
    prove=_prove_matching,
    read=matrices.read_graph,
    write=_write_matching,
    written=lambda graph: "matching",
)
"""A bipartite graph, proved by a Koenig vertex cover of the matching's size."""

# ------------------------------------------------------------------------------- flow


def _as_network(data: Any) -> Network | Grid:
    if not isinstance(data, (Network, Grid)):
        raise ProblemError(f"a flow is of a Network or a Grid, not of a {type(data).__name__}")
    return data


def _network_bytes(data: Network | Grid) -> int:
    if isinstance(data, Grid):
        return 8 * data.source.size * (2 + len(data.arcs))
    return 16 * data.arcs + 4 * data.nodes


def _read_network(path: Path) -> Network | Grid:
    try:
        return networks.read(path)
    except OSError as error:
        raise FileFormatError(f"{path.name}: {error.strerror or error}") from None
    except NetworkError as error:
        raise FileFormatError(str(error)) from None


def _prove_flow(data: Network | Grid, answer: Flow, maximize: bool) -> Proof:
    from papers.common.problems import flow_proof  # loads Numba

    return flow_proof.flow(data, answer)


FLOW = Problem(
    name="flow",
    answer=Flow,
    objective="value",
    growth=1,
    endings=networks.ENDINGS,
    states=lambda data: isinstance(data, (Network, Grid)),
    adopt=_as_network,
    shape=lambda data: data.shape if isinstance(data, Grid) else (data.nodes,),
    size_bytes=_network_bytes,
    compiled_for=lambda data: type(data).__name__,
    extent=lambda data: data.nodes,
    each_is_proved=lambda data: True,
    prove=_prove_flow,
    read=_read_network,
    write=networks.write,
    written=lambda data: "cut" if isinstance(data, Grid) else "flow",
)
"""A network or a grid, proved by a cut whose capacity is the flow's value."""

PROBLEMS: dict[ProblemName, Problem] = {
    problem.name: problem for problem in (ASSIGNMENT, MATCHING, FLOW)
}
"""Name -> `Problem`."""


# ------------------------------------------------------------------------------- by value


def stated_by(data: Any) -> Problem:
    """Return the problem that data state in its own form; a plain array states an assignment."""
    for problem in PROBLEMS.values():
        if problem.states(data):
            return problem
    return ASSIGNMENT


def answered_by(answer: Any) -> Problem:
    """Return the problem that an answer answers.

    Raises
    ------
    ProblemError
        If it is no answer.
    """
    for problem in PROBLEMS.values():
        if isinstance(answer, problem.answer):
            return problem
    raise ProblemError(f"a {type(answer).__name__} answers no problem")


def objective(answer: Any) -> tuple[str, Any]:
    """Return the metric that an answer was optimized for, and its value."""
    name = answered_by(answer).objective
    return name, getattr(answer, name)


def prove(problem: Problem, data: Any, answer: Any, maximize: bool = False) -> Proof:
    """Prove an answer; an answer to another problem is not proved."""
    if not isinstance(answer, problem.answer):
        from papers.common.problems import assignment_proof  # loads Numba

        return assignment_proof.unchecked(f"{type(answer).__name__} answers another problem")
    return problem.prove(data, answer, maximize)


# ------------------------------------------------------------------------------- by file


def of_file(path: Path) -> Problem:
    """Return the problem that a file states, by its name and, for ``.npz``, by its members.

    Raises
    ------
    FileFormatError
        If no problem reads such a file.
    """
    name = path.name.lower()
    found = [problem for problem in PROBLEMS.values() if name.endswith(problem.endings)]
    if not found:
        listed = "; ".join(f"{p.name}: {', '.join(p.endings)}" for p in PROBLEMS.values())
        raise FileFormatError(f"{path}: files are read by their endings ({listed})")
    if len(found) == 1:
        return found[0]
    return FLOW if networks.is_flow_file(path) else MATCHING


def read(path: Path) -> Any:
    """Read the data of whatever problem a file states.

    Raises
    ------
    FileFormatError
        If no problem reads such a file, or the file is missing or damaged.
    """
    return of_file(path).read(path)


# ------------------------------------------------------------------------------- by default


def default_solver(paper: Paper, problem: Problem, data: Any) -> tuple[str, str]:
    """Return the solver that a paper takes for some data when nobody names one.

    Parameters
    ----------
    paper : Paper
    problem : Problem
    data
        In the problem's own form.

    Returns
    -------
    name : str
        The paper's solver with kernels where there is a GPU, or where the CPU executor answers
        within seconds; else its solver on the CPU.
    note : str
        Why it is not the kernels, or "".

    Raises
    ------
    ProblemError
        If the paper has no solver of this problem.
    """
    if problem.name not in paper.defaults:
        known = " and ".join(paper.defaults)
        raise ProblemError(f"{paper.name} has no solver for this {problem.name}; it has: {known}")
    from papers.common.problems.costs_on_device import ResidentCosts  # which loads numba.cuda

    names = paper.defaults[problem.name]
    fits = problem.extent(data) <= names.executor or isinstance(data, ResidentCosts)
    if device.describe().is_gpu or fits:
        return names.gpu, ""
    shape = " x ".join(map(str, problem.shape(data)))
    note = (
        f"there is no GPU, and {shape} is too large for the CPU executor: {names.cpu} was taken; "
        f"{paper.name}:{names.gpu} runs the kernels there all the same"
    )
    return names.cpu, note


def solve_with(
    paper: Paper, problem: Problem, data: Any, solver: str | None, options: Mapping[str, Any]
) -> Any:
    """Solve with one of a paper's solvers: upload, run, download.

    Parameters
    ----------
    paper : Paper
    problem : Problem
    data
        In the problem's own form, or in one that it adopts.
    solver : str or None
        A name of ``paper.solvers()``; None: `default_solver`, or the kernels where an option is
        given that only they take: any but ``maximize`` and ``seconds``.
    options : mapping of str
        Options of the solver's ``upload``; those that are None are left out, and ``maximize``
        where it is False.

    Returns
    -------
    Assignment, Matching or Flow

    Raises
    ------
    ProblemError
        If no solver of the paper has this name and problem.
    ValueError
        For data or options that the solver refuses, before anything is launched.
    """
    owned = problem.adopt(data)
    given = {
        name: value
        for name, value in options.items()
        if value is not None and (name, value) != ("maximize", False)
    }
    if solver is None:
        if set(given) <= {"maximize", "seconds"}:  # every paper's solvers take both
            solver, _ = default_solver(paper, problem, owned)
        else:
            solver = paper.defaults[problem.name].gpu
    solvers = paper.solvers()
    if solver not in solvers or solvers[solver].problem != problem.name:
        listed = ", ".join(k for k, s in solvers.items() if s.problem == problem.name)
        raise ProblemError(f"{solver!r} is none of {paper.name}'s solvers for this: {listed}")
    chosen = solvers[solver]
    check_options(chosen, given)
    state = chosen.upload(owned, **given)
    chosen.run(state)
    return answer_of(chosen, state)


def answer_of(solver: Solver, state: Any) -> Any:
    """Download an answer with all that its proof needs, which `Solver.proof` adds.

    Parameters
    ----------
    solver : Solver
    state
        The solver's, after a run.

    Returns
    -------
    Assignment, Matching or Flow
    """
    return with_proof(solver, state, solver.download(state))


def with_proof(solver: Solver, state: Any, answer: Any) -> Any:
    """Return a downloaded answer with what its proof needs; no part of any clock."""
    return answer if solver.proof is None else solver.proof(state, answer)


@functools.lru_cache(maxsize=256)  # every call with an option asks
def _options_of(upload: Callable[..., Any]) -> frozenset[str] | None:
    """Names that a solver's upload takes; None if it takes any."""
    known = inspect.signature(upload).parameters
    if any(p.kind is p.VAR_KEYWORD for p in known.values()):
        return None
    return frozenset(known)


def check_options(solver: Solver, options: Mapping[str, Any]) -> None:
    """Refuse options that a solver's upload does not take.

    Raises
    ------
    OptionError
        Which names them.
    """
    known = _options_of(solver.upload)
    if known is None:
        return
    unknown = sorted(set(options) - known)
    if unknown:
        raise OptionError(f"{solver.name} takes no option {', '.join(unknown)}")
