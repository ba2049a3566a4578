"""`linear_sum_assignment`: SciPy's call, with duals, batches, arrays on a device, and a choice."""

from __future__ import annotations

import contextlib
import functools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from papers.common.deadline import check_seconds
from papers.common.problems.assignment import refuse_sparse
from papers.synthesis.assignment.costs import UnfinishedError, UnresolvedError
from papers.synthesis.calls import repeated
from papers.synthesis.calls.assignment_duals import are_small
from papers.synthesis.calls.choice import (
    Choice,
    Machine,
    Question,
    check_name,
    choose,
    expect,
    machines,
)
from papers.synthesis.calls.one_matrix import (
    BATCH,
    MOST_CHOICES,
    Solved,
    Wishes,
    by_solver,
    goes_on,
    scipys,
    solve,
    with_duals_that_hold,
)
from papers.synthesis.calls.places import Placed, is_on_device, place

BATCH_SIDE = 1024
"""The longest side that a batch in one launch takes."""

OTHER_BATCH = "lupinska_costscale:batch"
"""With `BATCH` the solvers of a whole batch; this one has sides up to `OTHER_SIDE`."""

ONE_CORE = "synthesis:one_core"
"""The solver that takes the matrices of a stack on the CPU in one compiled loop."""

LOOP_SIDE = 128
"""The longest side in the loop of `ONE_CORE`: a GPU that nobody has asked for gets none of such a
side, and longer ones were not measured in it."""

FEWEST_ALIKE = 8
"""The fewest alike matrices of a list for the loop: fewer, with sides up to `LOOP_SIDE`, have not
the thousand lines of its rule."""

COPIED_BYTES = 1 << 24
"""Costs of a list that are copied into a stack at a time, between two looks at the clock."""

OTHER_SIDE = 64


def linear_sum_assignment(
    cost: Any,
    maximize: bool = False,
    *,
    return_duals: bool = False,
    seconds: float | None = None,
    device: Machine = "auto",
    solver: str | None = None,
    explain: bool = False,
) -> Any:
    """Solve the linear assignment problem, as `scipy.optimize.linear_sum_assignment` does.

    Where several assignments are optimal, it may be another one than SciPy's. Integers are exact,
    also those of 64 bits that SciPy rounds to float64.

    Parameters
    ----------
    cost : array_like[n, m], array_like[b, n, m], or sequence of array_like[n_i, m_i]
        Costs: booleans, integers or floats. ``inf`` (``-inf`` when maximizing) forbids a pair. A
        three-dimensional array is a batch, a list or tuple of matrices too, of any sizes. NumPy
        arrays and arrays with ``__cuda_array_interface__`` or ``__dlpack__`` (CuPy, PyTorch, JAX)
        are not copied on their own side of the bus.
    maximize : bool
        Whether the sum is to be maximized.
    return_duals : bool
        Whether the dual variables that prove the answer are returned, too.
    seconds : float, optional
        The call gives up after so long.
    device : {"auto", "gpu", "cpu"}
        ``"auto"`` takes the fastest solver that is known for the input, on whichever side.
    solver : str, optional
        ``PAPER:SOLVER``, ``"synthesis:dense"``, ``"synthesis:batch"`` or ``"scipy"`` instead of the
        table's choice. ``"synthesis:batch"`` solves all matrices of a batch at once, up to 1024 a
        side, in a launch for each class of sizes. Floats whose answer by it or by
        ``"synthesis:dense"`` nothing proves go on to a code on the CPU; `explain` says so.
    explain : bool
        Whether the choice and its reason are printed.

    Returns
    -------
    row_ind, col_ind : int64[k]
        ``k = min(n, m)`` pairs; `row_ind` increases. For a three-dimensional batch int64[b, k].
        Arrays of the input's library if that was on a device, else NumPy's.
    row_duals, column_duals : int64[n] and int64[m], or float64
        With `return_duals`: ``u[i] + v[j] <= cost[i, j]`` (``>=`` when maximizing), equal on
        assigned pairs; the duals of lines that are not assigned are 0. For a batch [b, n], [b, m].

    For a list or tuple of matrices: a list of such tuples. Their arrays may be parts of larger
    ones.

    Raises
    ------
    ValueError
        As SciPy: for sparse costs, another dimension, NaN, an infinity of the wrong sign, an
        infeasible matrix; of many matrices the message begins with the number of the first.
        Besides: an unknown `solver` or `device`; `seconds` that are none; 64-bit integers beyond
        2**60 in size, which SciPy would round; with `return_duals` or `seconds` floats whose sizes
        are so far apart that no duals in float64 prove an answer.
    TypeError
        As SciPy: for types that are no numbers of up to 64 bits.
    papers.common.model.GivenUpError
        After `seconds`.
    RuntimeError
        For ``device="gpu"`` without a GPU.

    Warns
    -----
    papers.synthesis.calls.choice.NoGpuWarning
        Once a process, if there is no GPU and `device` is ``"auto"``.

    Examples
    --------
    >>> from papers import linear_sum_assignment
    >>> rows, columns = linear_sum_assignment([[4, 1, 3], [2, 0, 5], [3, 2, 2]])
    >>> columns.tolist()
    [1, 0, 2]
    """
    plain = seconds is None and not (maximize or return_duals or explain)
    placed = None
    if plain and type(cost) in repeated.types:
        placed = place(cost)
        known = repeated.answer(placed, device, solver)
        if known is not None:
            return known
    if seconds is not None:
        check_seconds(seconds)
    if solver is not None:
        check_name(solver)
    wishes = Wishes(bool(maximize), return_duals, seconds, device, solver, explain)
    if _is_list_of_matrices(cost):
        several = [_placed(number, each) for number, each in enumerate(cost)]
        alike = Counter((each.array.shape, each.array.dtype) for each in several)
        choice = _choice_of_batch(alike, "host", wishes)
        if choice is not None and choice.solver == BATCH:
            return _list(several, choice, wishes)
        return _each_of(several, wishes)
    if placed is None:
        refuse_sparse(cost)
        placed = place(cost)
    if placed.array.ndim == 3:
        return _batch(placed, wishes)
    found = _one(placed, wishes)
    if plain and placed.place == "device":
        repeated.remember(type(cost), placed, device, solver)
    return found


def _is_list_of_matrices(cost: Any) -> bool:
    """Whether a list's or tuple's first element is itself of two dimensions."""
    if not isinstance(cost, list | tuple) or not cost:
        return False
    first = cost[0]
    if isinstance(first, list | tuple):
        return bool(first) and (isinstance(first[0], list | tuple) or np.ndim(first[0]) > 0)
    if hasattr(first, "ndim"):
        return first.ndim == 2
    return is_on_device(first) and place(first).array.ndim == 2


def _placed(number: int, matrix: Any) -> Placed:
    """Place a matrix of a list."""
    if type(matrix) is np.ndarray:
        return place(matrix)
    with _numbered(number):
        refuse_sparse(matrix)
        return place(matrix)


def _one_of(number: int, placed: Placed, wishes: Wishes) -> tuple[Any, ...]:
    """Solve a matrix of a list."""
    with _numbered(number):
        return _one(placed, wishes)


def _each_of(several: list[Placed], wishes: Wishes) -> list[tuple[Any, ...]]:
    """Solve the matrices of a list: alike ones in a loop on a CPU, all others one by one."""
    found = _alike_on_one_core(several, wishes)
    wishes.say_each(len(several) - len(found))
    return [
        found[number] if number in found else _one_of(number, each, wishes)
        for number, each in enumerate(several)
    ]


def _alike_on_one_core(several: list[Placed], wishes: Wishes) -> dict[int, tuple[Any, ...]]:
    """Return the answers to matrices of one shape and type that go through `ONE_CORE`'s loop.

    Those that it leaves are not among them.
    """
    groups: dict[Any, list[int]] = {}
    for number, each in enumerate(several):
        if each.place == "host" and each.array.ndim == 2:
            groups.setdefault((each.array.shape, each.array.dtype), []).append(number)
    found: dict[int, tuple[Any, ...]] = {}
    for (shape, dtype), numbers in groups.items():
        few = len(numbers) < FEWEST_ALIKE
        choice = None if few else _choice_of_batch({(shape, dtype): len(numbers)}, "host", wishes)
        if choice is None or choice.solver != ONE_CORE:
            continue
        n, m = shape
        wishes.say(choice, f"{len(numbers)} matrices of {n} x {m} {dtype} on the host")
        size = max(1, COPIED_BYTES // max(1, n * m * dtype.itemsize))
        for begin in range(0, len(numbers), size):
            part = numbers[begin : begin + size]
            solved = _part_on_one_core(several, part, wishes)
            found |= solved
            if 2 * len(solved) < len(part):
                break  # the others are of the same kind, most likely
    return found


def _part_on_one_core(
    several: list[Placed], numbers: list[int], wishes: Wishes
) -> dict[int, tuple[Any, ...]]:
    """Solve some matrices of a list that are alike by one loop, which may leave some."""
    from papers.synthesis.one_core import many

    wishes.left()
    stack, before = np.stack([several[number].array for number in numbers]), wishes.done
    solved = many.solve(stack, wishes.maximize, _counting(wishes, before))
    wishes.done = before + int(solved.done.sum())
    parts = solved[: 4 if wishes.duals else 2]
    found: dict[int, tuple[Any, ...]] = {}
    for number, done, *line in zip(numbers, solved.done.tolist(), *parts, strict=True):
        if done and wishes.duals:
            placed = several[number]
            proved = _one_of_batch(number, placed, Solved(*line), wishes)
            found[number] = _back(placed, proved, wishes)
        elif done:
            found[number] = tuple(line)  # on the host they go nowhere else
    return found


def _counting(wishes: Wishes, before: int = 0) -> Callable[[int], None]:
    """Count the matrices that a loop has solved, and look at the clock."""

    def check(solved: int) -> None:
        wishes.done = before + solved
        wishes.left()

    return check


def _one(placed: Placed, wishes: Wishes) -> tuple[Any, ...]:
    """Solve one matrix and take the answer back to its place."""
    solved = solve(placed, wishes)
    wishes.done += 1
    return _back(placed, solved, wishes)


# ------------------------------------------------------------------------------- batches


def _batch(placed: Placed, wishes: Wishes) -> tuple[Any, ...]:
    """Solve the matrices of a three-dimensional array, in one launch where a rule says so."""
    b, n, m = placed.array.shape
    alike: Alike = {((n, m), placed.array.dtype): b}
    choice = _choice_of_batch(alike, placed.place, wishes) if b else None
    if choice is not None:
        kind = placed.array.dtype.name
        wishes.say(choice, f"{b} matrices of {n} x {m} {kind} on the {placed.place}")
        found = (
            _on_one_core(placed, wishes)
            if choice.solver == ONE_CORE
            else _unless_unresolved(choice, _stack(placed, choice), placed, wishes)
        )
        if found is not None and _is_sure(found, placed.array.dtype):
            return _back(placed, found, wishes)
        if found is not None:
            lines = zip(placed.on_host(), *found[:4], strict=True)  # type: ignore[arg-type]
            each = [
                _one_of_batch(k, Placed(matrix, "host", placed.back), Solved(*line), wishes)
                for k, (matrix, *line) in enumerate(lines)
            ]
            return _back(placed, _stacked(each, placed.on_host()), wishes)
    host = placed.on_host()
    wishes.say_each(b)
    answers = []
    for number, each in enumerate(host):
        with _numbered(number):
            answers.append(solve(Placed(each, "host", placed.back), wishes))
        wishes.done += 1
    return _back(placed, _stacked(answers, host), wishes)


def _on_one_core(placed: Placed, wishes: Wishes) -> Solved:
    """Solve a stack by one loop, and by itself each matrix that this leaves."""
    from papers.synthesis.one_core import many

    host = placed.on_host()
    found = many.solve(host, wishes.maximize, _counting(wishes))
    left = np.flatnonzero(~found.done)
    wishes.done = len(host) - left.size
    wishes.say_each(left.size)
    lines = found[:4] if wishes.duals else found[:2]
    for number in left.tolist():
        with _numbered(number):
            one = solve(Placed(host[number], "host", placed.back), wishes)
        wishes.done += 1
        for line, part in zip(lines, one, strict=False):
            line[number] = part
    return Solved(*lines)


def _stack(placed: Placed, choice: Choice) -> Any:
    """A batch as the chosen solver takes it: in device memory, if it lies there."""
    if placed.place == "device" and choice.solver == BATCH:
        from papers.synthesis.batch.resident import DeviceStack, takes

        if takes(placed.array):
            return DeviceStack(placed.awaited())
    return placed.on_host()


Alike = Mapping[tuple[tuple[int, ...], np.dtype], int]
"""Counts of matrices by their shape and type."""


def _choice_of_batch(alike: Alike, where: str, wishes: Wishes) -> Choice | None:
    """The solver of all matrices at once; None where each one is solved by itself.

    Parameters
    ----------
    alike : Alike
    where : {"host", "device"}
    wishes : Wishes
    """
    if wishes.solver == BATCH:
        return Choice(BATCH, "it was asked for by name")
    if any(dtype.kind not in "biuf" or len(shape) != 2 for shape, dtype in alike):
        return None
    side = max(max(shape) for shape, _ in alike)
    if side > BATCH_SIDE:
        return None
    lines = sum(max(shape) * count for (shape, _), count in alike.items())
    (_, dtype), *others = alike
    limited = wishes.seconds is not None
    expect(wishes.device, wishes.solver, lambda: _question_of_batch(lines, dtype, where, limited))
    here = machines(wishes.device)
    named = wishes.device, wishes.solver
    choice = _rule_of_batch(lines, dtype, where, limited, *named, here, choose)
    if choice.solver == BATCH or (choice.solver == OTHER_BATCH and side <= OTHER_SIDE):
        return choice
    if choice.solver == ONE_CORE and not others and side <= LOOP_SIDE:
        return choice
    return None


@functools.lru_cache(maxsize=MOST_CHOICES)
def _rule_of_batch(
    lines: int, dtype: np.dtype, where: str, limited: bool, device: Machine, solver: str | None,
    here: tuple[str, ...], choose: Callable[..., Choice],
) -> Choice:  # fmt: skip
    """The table's choice: to ask for it takes longer than a few small matrices.

    It is remembered for the machines that are `here`, and for the function that chooses.
    """
    return choose(_question_of_batch(lines, dtype, where, limited), device, solver)


def _question_of_batch(lines: int, dtype: np.dtype, where: str, limited: bool) -> Question:
    traits = frozenset({"limited"} if limited else ())
    return Question("assignment", "batch", lines, dtype.name, where, traits)


def _unless_unresolved(
    choice: Choice, data: Any, matrices: Placed | list[np.ndarray], wishes: Wishes
) -> Solved | None:
    """Solve many matrices at once; None where each has to be solved by itself.

    Floats come with their duals, whoever wanted them: large ones have to be proved.

    Raises
    ------
    ValueError
        For bad and infeasible matrices, the first of which is named by its number.
    """
    arrays = [matrices.array] if isinstance(matrices, Placed) else matrices
    judged = choice.solver == BATCH and any(array.dtype.kind == "f" for array in arrays)
    try:
        return by_solver(choice.solver, data, replace(wishes, duals=wishes.duals or judged))
    except (UnresolvedError, UnfinishedError) as refusal:
        if wishes.solver is not None:
            raise
        wishes.say_that(f"{choice.solver} refuses ({refusal})")
        return None
    except ValueError:
        if wishes.seconds is None:  # SciPy, whose words these are, cannot be stopped
            hosts = matrices.on_host() if isinstance(matrices, Placed) else matrices
            for number, matrix in enumerate(hosts):
                with _numbered(number):
                    scipys(matrix, wishes.maximize)
        raise


@contextlib.contextmanager
def _numbered(number: int) -> Iterator[None]:
    """Say of an error in which of many matrices it is."""
    try:
        yield
    except (ValueError, TypeError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        kind = type(error) if type(error).__module__.startswith("papers.") else kind
        raise kind(f"matrix {number}: {error}") from None


def _list(several: list[Placed], choice: Choice, wishes: Wishes) -> list[tuple[Any, ...]]:
    """Solve matrices of any sizes by `BATCH`, and take each answer back to its place."""
    wishes.say(choice, f"{len(several)} matrices")
    hosts = [placed.on_host() for placed in several]
    found = _unless_unresolved(choice, hosts, hosts, wishes)
    if found is None:
        return _each_of(several, wishes)
    parts: Any = found[:2] if found.row_duals is None else found[:4]
    lines = zip(*parts, strict=True)
    return [
        _back(placed, _one_of_batch(k, placed, Solved(*line), wishes), wishes)
        for k, (placed, line) in enumerate(zip(several, lines, strict=True))
    ]


def _is_sure(solved: Solved, dtype: np.dtype) -> bool:
    """Whether the duals of a batch, if it has any, are small beside all optima."""
    u, v = solved.row_duals, solved.column_duals
    if dtype.kind != "f" or u is None or v is None:
        return True
    return bool(are_small(u, v).all())


def _one_of_batch(number: int, placed: Placed, solved: Solved, wishes: Wishes) -> Solved:
    """Return an answer of a batch; the matrix is solved by itself if its duals prove too little."""
    with _numbered(number):
        try:
            return with_duals_that_hold(placed, solved, wishes)
        except ValueError as error:
            if wishes.solver is not None and not goes_on(wishes.solver, error):
                raise
            wishes.say_that(f"matrix {number} is solved by itself ({error})")
            return solve(placed, replace(wishes, solver=None))


def _stacked(answers: list[Solved], host: np.ndarray) -> Solved:
    """Return the answers of a batch as one, a line a matrix."""
    b, n, m = host.shape
    kind = np.float64 if host.dtype.kind == "f" else np.int64
    rows, columns = (
        np.array([answer[place] for answer in answers], np.int64).reshape(b, min(n, m))
        for place in (0, 1)
    )
    if any(answer.row_duals is None for answer in answers):
        return Solved(rows, columns)
    u, v = (
        np.array([answer[place] for answer in answers], kind).reshape(b, length)
        for place, length in ((2, n), (3, m))
    )
    return Solved(rows, columns, u, v)


def _back(placed: Placed, solved: Solved, wishes: Wishes) -> tuple[Any, ...]:
    """Take an answer back to the place that the costs came from."""
    if solved.there:
        return solved.row_ind, solved.col_ind
    pairs = placed.back_both(solved.row_ind, solved.col_ind)
    duals = solved[2:4] if wishes.duals else ()
    return (*pairs, *(placed.back(part) for part in duals if part is not None))
