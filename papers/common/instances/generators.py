"""Instance families: seeded, given by formula, the same bits on every machine.

`FAMILIES` maps a name to ``callable(n, seed=1, **params)`` that returns an n x n cost matrix, and
`draw` turns a `papers.common.model.Instance` into one, or into a graph or a flow network if its
family is one of `papers.common.instances.graphs.families` or
`papers.common.instances.flows.families`.

Two sources of random numbers. The counter-based one applies the output function ``mix`` of
SplitMix64 (Steele, Lea & Flood, OOPSLA 2014) to ``key + k``, so entry ``k`` can be drawn without
the ones before it; all arithmetic is modulo 2**64. The other is the C++ standard library's
``minstd_rand0``, for the matrices that the authors of [L19] time their code on.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit, prange

from papers.common.instances.counter_rng import MASK, fraction, mix, mix_int
from papers.common.instances.flows import families as flow_families
from papers.common.instances.graphs import families as graph_families
from papers.common.instances.photographs import colour_distances
from papers.common.model import Instance

if TYPE_CHECKING:
    from papers.common.instances.parts import Source
    from papers.common.problems.costs_on_device import ResidentCosts
    from papers.common.problems.graph import Graph
    from papers.common.problems.network import Grid, Network

_CHUNK = 1 << 18  # entries that one core draws at a time

_MODULUS = 2**31 - 1  # minstd_rand0: x <- 16807 x mod (2**31 - 1), outputs 1 .. 2**31 - 2
_URNG_RANGE = _MODULUS - 2  # libstdc++'s name for largest minus smallest output

# --------------------------------------------------------------------------- SplitMix64


@njit(cache=True, nogil=True)
def _fill_integers(out: np.ndarray, counter: Any, cost_range: Any) -> None:
    for k in range(out.size):
        high = mix(counter) >> np.uint64(32)
        out[k] = (high * cost_range) >> np.uint64(32)
        counter += np.uint64(1)


@njit(cache=True, nogil=True)
def _fill_doubles(out: np.ndarray, counter: Any, cost_range: float) -> None:
    for k in range(out.size):
        out[k] = fraction(counter) * cost_range
        counter += np.uint64(1)


@njit(cache=True, parallel=True)
def _fill_integers_by_all(out: np.ndarray, counter: Any, cost_range: Any) -> None:
    for chunk in prange(-(-out.size // _CHUNK)):
        first = chunk * _CHUNK
        part = out[first : first + _CHUNK]
        _fill_integers(part, counter + np.uint64(first), cost_range)


@njit(cache=True, parallel=True)
def _fill_doubles_by_all(out: np.ndarray, counter: Any, cost_range: float) -> None:
    for chunk in prange(-(-out.size // _CHUNK)):
        first = chunk * _CHUNK
        part = out[first : first + _CHUNK]
        _fill_doubles(part, counter + np.uint64(first), cost_range)


@njit(cache=True, parallel=True)
def _fill_integer_block(out: np.ndarray, counter: Any, stride: Any, cost_range: Any) -> None:
    for i in prange(out.shape[0]):
        _fill_integers(out[i], counter + np.uint64(i) * stride, cost_range)


@njit(cache=True, parallel=True)
def _fill_double_block(out: np.ndarray, counter: Any, stride: Any, cost_range: float) -> None:
    for i in prange(out.shape[0]):
        _fill_doubles(out[i], counter + np.uint64(i) * stride, cost_range)


def stream_key(n: int, cost_range: int, seed: int) -> int:
    """Return the counter of the entry at row 0, column 0: an integer in 0 .. 2**64 - 1."""
    return mix_int(mix_int(mix_int(seed) + n) + cost_range)


def check_range(cost_range: int) -> None:
    """Refuse a range that int32 costs cannot have.

    Raises
    ------
    ValueError
        If `cost_range` is outside of 1 .. 2**31.
    """
    if not 1 <= cost_range <= 2**31:
        raise ValueError(f"cost_range must lie in 1 .. 2**31 for int32 costs, not {cost_range}")


def _integers(
    count: int, cost_range: int, counter: int, out: np.ndarray | None = None
) -> np.ndarray:
    """Draw int32[count] in [0, cost_range) from the counters ``counter``, ``counter + 1`` ..."""
    check_range(cost_range)
    drawn = np.empty(count, dtype=np.int32) if out is None else out[:count]
    fill = _fill_integers if count <= _CHUNK else _fill_integers_by_all
    fill(drawn, np.uint64(counter & MASK), np.uint64(cost_range))
    return drawn


def uniform_rows(
    n: int, cost_range: int, seed: int, start: int, stop: int, out: np.ndarray | None = None
) -> np.ndarray:
    """Draw rows ``start`` to ``stop`` (excluded) of `uniform`'s matrix, and nothing else.

    Parameters
    ----------
    n : int
        Order of the whole matrix; the counters are 64 bits wide, so n = 70000 is fine.
    cost_range : int
        Entries lie in [0, cost_range).
    seed : int
        Seed of the whole matrix.
    start, stop : int
        ``0 <= start <= stop <= n``.
    out : int32[at least (stop - start) * n], optional
        Memory for the rows; by default new memory.

    Returns
    -------
    int32[stop - start, n]
        A view of `out` if that was given.

    Raises
    ------
    ValueError
        If the rows are outside of the matrix, or `cost_range` outside of 1 .. 2**31.
    """
    if not 0 <= start <= stop <= n:
        raise ValueError(f"rows {start} to {stop} are not rows of an n = {n} matrix")
    first = stream_key(n, cost_range, seed) + start * n
    return _integers((stop - start) * n, cost_range, first, out).reshape(stop - start, n)


def uniform(n: int, seed: int = 1, *, cost_range: int) -> np.ndarray:
    """Independent integers, uniform in [0, cost_range): the matrices of [L19 sec.5].

    ``c[i, j] = (high * cost_range) >> 32`` where ``high`` is the upper half of
    ``mix(key + i n + j)`` and ``key = mix(mix(mix(seed) + n) + cost_range)``.

    Parameters
    ----------
    n : int
        Order.
    seed : int
        Seed.
    cost_range : int
        Number of different costs, 1 to 2**31.

    Returns
    -------
    int32[n, n]

    Raises
    ------
    ValueError
        If `cost_range` is outside of 1 .. 2**31.
    """
    return uniform_rows(n, cost_range, seed, 0, n)


def uniform_double(n: int, seed: int = 1, *, cost_range: float = 1.0) -> np.ndarray:
    """Independent doubles, uniform in [0, cost_range), on the counters of `uniform`.

    ``c[i, j] = cost_range * (mix(key + i n + j) >> 11) / 2**53``, `key` as in `uniform` with the
    integer part of `cost_range`.

    Returns
    -------
    float64[n, n]

    Raises
    ------
    ValueError
        If `cost_range` is not a positive finite number.
    """
    if not 0 < cost_range < float("inf"):
        raise ValueError(f"cost_range must be positive and finite, not {cost_range}")
    out = np.empty(n * n, dtype=np.float64)
    fill = _fill_doubles if out.size <= _CHUNK else _fill_doubles_by_all
    fill(out, np.uint64(stream_key(n, int(cost_range), seed)), float(cost_range))
    return out.reshape(n, n)


def uniform_block(
    n: int,
    cost_range: float,
    seed: int,
    rows: tuple[int, int],
    columns: tuple[int, int],
    dtype: Any = np.int32,
) -> np.ndarray:
    """Draw one block of `uniform`'s matrix, or of `uniform_double`'s, and nothing else.

    Parameters
    ----------
    n, cost_range, seed
        Of the whole matrix.
    rows, columns : (int, int)
        First line and the one behind the last.
    dtype : {int32, float64}
        Which of the two families.

    Returns
    -------
    dtype[rows, columns]
    """
    out = np.empty((rows[1] - rows[0], columns[1] - columns[0]), dtype)
    first = stream_key(n, int(cost_range), seed) + rows[0] * n + columns[0]
    counter, stride = np.uint64(first & MASK), np.uint64(n)
    if out.dtype.kind == "f":
        _fill_double_block(out, counter, stride, float(cost_range))
    else:
        check_range(int(cost_range))
        _fill_integer_block(out, counter, stride, np.uint64(cost_range))
    return out


@njit(cache=True)
def _draw_integers(out: np.ndarray, places: np.ndarray, key: Any, cost_range: Any) -> None:
    for k in range(out.size):
        out[k] = ((mix(key + places[k]) >> np.uint64(32)) * cost_range) >> np.uint64(32)


@njit(cache=True)
def _draw_doubles(out: np.ndarray, places: np.ndarray, key: Any, cost_range: float) -> None:
    for k in range(out.size):
        out[k] = cost_range * (np.float64(mix(key + places[k]) >> np.uint64(11)) * 2.0**-53)


def uniform_entries(
    n: int,
    cost_range: float,
    seed: int,
    rows: np.ndarray,
    columns: np.ndarray,
    dtype: Any = np.int32,
) -> np.ndarray:
    """Draw single entries of `uniform`'s matrix, or of `uniform_double`'s.

    Parameters
    ----------
    n, cost_range, seed
        Of the whole matrix.
    rows, columns : int[k]
    dtype : {int32, float64}
        Which of the two families.

    Returns
    -------
    dtype[k]
        At ``(rows[k], columns[k])``.
    """
    places = np.asarray(rows, np.uint64) * np.uint64(n) + np.asarray(columns, np.uint64)
    out = np.empty(len(places), dtype)
    key = np.uint64(stream_key(n, int(cost_range), seed))
    if out.dtype.kind == "f":
        _draw_doubles(out, places, key, float(cost_range))
    else:
        check_range(int(cost_range))
        _draw_integers(out, places, key, np.uint64(cost_range))
    return out


# --------------------------------------------------------------------------- the C++ stream


@njit(cache=True, nogil=True)
def _fill_minstd(out: np.ndarray, state: int, low: int, scaling: int, past: int) -> None:
    for k in range(out.size):
        while True:
            state = (16807 * state) % _MODULUS
            if state - 1 < past:
                break
        out[k] = low + (state - 1) // scaling


def lopes_cpp(n: int, seed: int = 45345, *, low: int = 0, high: int) -> np.ndarray:
    """The first matrix of the authors' C++ program: integers uniform in [low, high], both included.

    ``std::default_random_engine`` of g++ is ``minstd_rand0``, ``x <- 16807 x mod 2**31 - 1``,
    seeded with ``seed mod 2**31 - 1`` (1 where that is 0). Its ``uniform_int_distribution`` takes
    ``y = x - 1`` in [0, 2**31 - 2), rejects it if ``y >= scaling * (high - low + 1)``, with
    ``scaling = (2**31 - 3) // (high - low + 1)``, and returns ``low + y // scaling`` (libstdc++'s
    ``bits/uniform_int_dist.h``; a range of 2**31 - 2 values takes every ``y``).

    The matrix is filled row by row. In the authors' published source (paclopes/HungarianGPU; read,
    not run) the seed is 45345, ``low`` is 0, ``high`` is the range minus 1, and memory holds
    column after column, so row ``i`` here is their column ``i``. They *maximize* these numbers
    (their costs are the largest entry minus each), and their later matrices go on in one stream.

    Parameters
    ----------
    n : int
        Order.
    seed : int
        Unsigned seed of the engine.
    low, high : int
        Smallest and largest value, in the range of int32.

    Returns
    -------
    int32[n, n]

    Raises
    ------
    ValueError
        If the bounds are not ordered, not int32, or more than 2**31 - 3 apart.
    """
    if not -(2**31) <= low <= high < 2**31:
        raise ValueError(f"low = {low} and high = {high} must be ordered int32 values")
    span = high - low
    if span > _URNG_RANGE:
        raise ValueError(f"high - low = {span} is more than the engine's {_URNG_RANGE}")
    # The engine's own range is taken as it is; any smaller one is scaled down.
    scaling, past = 1, _URNG_RANGE + 1
    if span < _URNG_RANGE:
        scaling = _URNG_RANGE // (span + 1)
        past = scaling * (span + 1)
    out = np.empty(n * n, dtype=np.int32)
    _fill_minstd(out, seed % _MODULUS or 1, low, scaling, past)
    return out.reshape(n, n)


# --------------------------------------------------------------------------- structured families


def _fitting(matrix: np.ndarray) -> np.ndarray:
    """Return int32 where the entries fit, else int64."""
    fits = matrix.size == 0 or matrix.max() < 2**31
    return matrix.astype(np.int32) if fits else matrix


def adversarial(n: int, seed: int = 1) -> np.ndarray:
    """``c[i, j] = (i + 1)(j + 1)``, on which the Hungarian algorithm needs its worst-case steps.

    Machol & Wien, "A hard assignment problem", Operations Research 24(1), 1976. The minimum is
    ``n (n + 1)(n + 2) / 6`` (the anti-diagonal). `seed` has no effect.

    Returns
    -------
    int32[n, n], or int64[n, n] from n = 46341 on
    """
    index = np.arange(1, n + 1, dtype=np.int64)
    return _fitting(index[:, None] * index[None, :])


def constant(n: int, seed: int = 1, *, value: int = 1) -> np.ndarray:
    """All entries equal `value`: every permutation is optimal. `seed` has no effect.

    Returns
    -------
    int32[n, n]
    """
    return np.full((n, n), value, dtype=np.int32)


def planted_parts(
    n: int, seed: int, cost_range: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the permutation, the duals and the slack that `planted` is made of.

    Returns
    -------
    permutation : int64[n]
        An optimal column of each row.
    u, v : int64[n]
        Optimal row and column duals; ``u.sum() + v.sum()`` is the minimum.
    slack : int64[n, n]
        Slack in [0, cost_range), zero under the permutation.
    """
    permutation, u, v = planted_lines(n, seed, cost_range)
    slack = _integers(n * n, cost_range, stream_key(n, cost_range, seed))
    slack = slack.reshape(n, n).astype(np.int64)
    slack[np.arange(n), permutation] = 0
    return permutation, u, v, slack


def planted_lines(n: int, seed: int, cost_range: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the permutation and the duals of `planted_parts`, without the slack."""
    counter = stream_key(n, cost_range, seed) + n * n
    duals = _integers(2 * n, cost_range, counter).astype(np.int64)
    # 2**31 keys: equal ones are few, and a stable sort settles them the same way everywhere.
    permutation = np.argsort(_integers(n, 2**31, counter + 2 * n), kind="stable")
    return permutation, duals[:n], duals[n:]


def planted(n: int, seed: int = 1, *, cost_range: int = 1000) -> np.ndarray:
    """Random duals plus random slack that vanishes under a random permutation.

    ``c[i, j] = u[i] + v[j] + s[i, j]``, all three uniform in [0, cost_range) and ``s`` zero at the
    permutation, so the minimum is ``u.sum() + v.sum()`` (see `planted_parts`). Row and column
    minima do not reveal it.

    Returns
    -------
    int32[n, n] or int64[n, n]
    """
    _, u, v, slack = planted_parts(n, seed, cost_range)
    return _fitting(u[:, None] + v[None, :] + slack)


def geometric(n: int, seed: int = 1, *, cost_range: int = 1000) -> np.ndarray:
    """Squared distances between two sets of n points of an integer grid in the plane.

    The 4 n coordinates are uniform in [0, cost_range): costs with structure, as in tracking.

    Returns
    -------
    int32[n, n] or int64[n, n]
    """
    x, y, a, b = grid_points(n, seed, cost_range)
    return _fitting((x[:, None] - a[None, :]) ** 2 + (y[:, None] - b[None, :]) ** 2)


def grid_points(n: int, seed: int, cost_range: int) -> np.ndarray:
    """Return the coordinates that `geometric` is made of: int64[4, n], the rows' x and y first."""
    points = _integers(4 * n, cost_range, stream_key(n, cost_range, seed)).astype(np.int64)
    return points.reshape(4, n)


# --------------------------------------------------------------------------- by name


def _uniform_resident(n: int, seed: int = 1, *, cost_range: int) -> ResidentCosts:
    """`uniform`, drawn in device memory (see `papers.common.problems.costs_on_device`)."""
    from papers.common.problems.costs_on_device import draw_uniform  # Needs numba.cuda.

    return draw_uniform(n, cost_range, seed)


def _uniform_parts(n: int, seed: int = 1, *, cost_range: int) -> Source:
    """`uniform`, of which every rank draws its own part (see `papers.common.instances.parts`)."""
    from papers.common.instances.parts import FormulaSource  # It draws with this module.

    return FormulaSource(
        Instance("uniform", n, str(cost_range), (("cost_range", cost_range),), seed)
    )


FAMILIES: dict[str, Callable[..., Any]] = {
    "uniform": uniform,
    "uniform_resident": _uniform_resident,
    "uniform_parts": _uniform_parts,
    "uniform_double": uniform_double,
    "lopes_cpp": lopes_cpp,
    "adversarial": adversarial,
    "constant": constant,
    "planted": planted,
    "geometric": geometric,
    "colours": colour_distances,
}
"""Name -> ``callable(n, seed=1, **params)``; `lopes_cpp` has the authors' seed as its default."""

RESIDENT = ("uniform_resident", "uniform_parts")
"""Families whose matrices are drawn in device memory and need not fit the host's.

Of ``uniform_parts`` every rank draws its part."""

_RANGED = (
    "uniform", "uniform_resident", "uniform_parts", "uniform_double", "planted", "geometric",
)  # fmt: skip


def label_range(n: int, label: str) -> int:
    """Return the number of different costs that a label names, rounded down, at least 1.

    Parameters
    ----------
    n : int
        Order of the matrix.
    label : str
        ``"n"``, a decimal multiple (``"0.1n"``, ``"10n"``, ``"16384n"``), a fraction (``"n/64"``)
        or a plain number (``"100"``).

    Raises
    ------
    ValueError
        If the label is none of these, or not positive.
    """
    head, is_multiple, divisor = label.partition("n")
    try:
        if is_multiple:
            factor = Fraction(head or 1) / Fraction(divisor.removeprefix("/") or 1)
        else:
            factor = Fraction(int(head))
        if factor <= 0 or (divisor and not divisor.startswith("/")):
            raise ValueError
    except (ValueError, ZeroDivisionError):
        raise ValueError(
            f'cost range {label!r} is none of "n", "0.1n", "10n", "n/64" or a number'
        ) from None
    return max(1, int(factor * n if is_multiple else factor))


def parameters(instance: Instance) -> dict[str, Any]:
    """Return the keyword arguments of an instance's generator besides ``n`` and ``seed``.

    Where `Instance.params` leaves out the cost range, the label gives it: ``cost_range`` of
    `uniform` (also in device memory), `uniform_double`, `planted` and `geometric`, and
    ``high = range - 1`` of `lopes_cpp`.

    Raises
    ------
    ValueError
        If the family is unknown, or the label is needed and names no range.
    """
    if instance.family not in FAMILIES:
        raise ValueError(f"unknown family {instance.family!r}; there are {', '.join(FAMILIES)}")
    params = dict(instance.params)
    if instance.family == "lopes_cpp" and "high" not in params:
        params["high"] = params.get("low", 0) + label_range(instance.n, instance.label) - 1
    elif instance.family in _RANGED and "cost_range" not in params:
        params["cost_range"] = label_range(instance.n, instance.label)
    return params


def draw(instance: Instance) -> np.ndarray | ResidentCosts | Source | Graph | Network | Grid:
    """Draw an instance's matrix, its graph, or its network.

    A matrix is in device memory if its family is ``uniform_resident``; of ``uniform_parts``
    nothing is drawn yet.

    Raises
    ------
    ValueError
        If the family is unknown, or a parameter (see `parameters`) is outside of its range.
    papers.common.instances.files.InstanceError
        If a graph or a network comes from a file that is missing or broken.
    """
    if instance.family in flow_families.FLOWS:
        return flow_families.draw(instance)
    if instance.family in graph_families.GRAPHS:
        return graph_families.draw(instance)
    params = parameters(instance)
    return FAMILIES[instance.family](instance.n, seed=instance.seed, **params)


def host_strips(instance: Instance) -> Callable[[int, int], np.ndarray]:
    """Return row strips of a `RESIDENT` instance, drawn on the host.

    They are computed anew from the formula, never read from the device: what certifies an answer
    must not depend on memory that a solver could have changed.

    Returns
    -------
    callable(start, stop) -> int32[stop - start, n]
        Each strip holds until the next is drawn: they share their memory.

    Raises
    ------
    ValueError
        If the family is not one of `RESIDENT`.
    """
    if instance.family not in RESIDENT:
        raise ValueError(f"{instance.family!r} is not drawn in device memory")
    n, cost_range = instance.n, parameters(instance)["cost_range"]
    memory = np.empty(0, dtype=np.int32)

    def rows(start: int, stop: int) -> np.ndarray:
        nonlocal memory
        if memory.size < (stop - start) * n:
            memory = np.empty((stop - start) * n, dtype=np.int32)
        return uniform_rows(n, cost_range, instance.seed, start, stop, memory)

    return rows
