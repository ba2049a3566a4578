"""Cost matrices given by formula: a family is its block, and all else is a call of it.

A `Formula` computes the costs of any rows and columns by themselves, with the same bits on every
machine. The whole matrix, a rank's strip, the strips that a proof reads and single entries are
calls of `Formula.block` and `Formula.entries`; device memory takes the counters of `Uniform`
(`papers.common.instances.matrices.on_device`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from papers.common.instances.counter_rng import MASK
from papers.common.instances.matrices import streams

Lines = tuple[int, int]
"""The first line of a block and the one behind its last."""


class Formula(ABC):
    """A square cost matrix given by formula: a `papers.common.problems.blocks.Source`.

    Parameters
    ----------
    n : int
        Order.
    seed : int
        Seed.
    dtype : {int32, int64, float64}
        The type of the costs.
    **params : int or float
        What else the formula depends on; it is part of the fingerprint.
    """

    def __init__(self, n: int, seed: int, dtype: Any, **params: float) -> None:
        self.n, self.seed, self.params = n, seed, params
        self._dtype = np.dtype(dtype)

    @abstractmethod
    def fill(self, out: np.ndarray, i: np.ndarray, j: np.ndarray) -> None:
        """Write the costs of rows `i` and columns `j` into `out`.

        Parameters
        ----------
        out : dtype[rows, columns]
            C-contiguous.
        i, j : int64[rows, 1] and int64[1, columns], or both int64[rows, 1]
            A block, or single entries below each other.
        """

    @property
    def shape(self) -> tuple[int, int]:
        """``(n, n)``."""
        return self.n, self.n

    @property
    def dtype(self) -> np.dtype:
        """The type of the costs: int64 only where the largest possible one needs it."""
        return self._dtype

    @property
    def counters(self) -> tuple[int, int] | None:
        """Counter of entry (0, 0) and cost range, where a kernel can draw the matrix from them."""
        return None

    def block(self, rows: Lines, columns: Lines, out: np.ndarray | None = None) -> np.ndarray:
        """Compute a block.

        Parameters
        ----------
        rows, columns : (int, int)
            First line and the one behind the last.
        out : dtype[at least the block's size], optional
            Memory for the block; by default new memory.

        Returns
        -------
        dtype[rows, columns]
            A view of `out` if that was given.

        Raises
        ------
        ValueError
            If the lines are outside of the matrix.
        """
        for first, last in (rows, columns):
            if not 0 <= first <= last <= self.n:
                raise ValueError(f"{first} to {last} are not lines of an n = {self.n} matrix")
        shape = rows[1] - rows[0], columns[1] - columns[0]
        given = np.empty(shape, self.dtype) if out is None else out[: math.prod(shape)]
        drawn = given.reshape(shape)
        self.fill(drawn, np.arange(*rows)[:, None], np.arange(*columns)[None, :])
        return drawn

    def entries(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Compute the costs of the pairs ``(rows[k], columns[k])``: dtype[k]."""
        out = np.empty((len(rows), 1), self.dtype)
        i, j = (np.asarray(line, np.int64)[:, None] for line in (rows, columns))
        self.fill(out, i, j)
        return out[:, 0]

    def whole(self) -> np.ndarray:
        """Compute the matrix: dtype[n, n]."""
        return self.block((0, self.n), (0, self.n))

    def fingerprint(self) -> str:
        """Return a text that is equal for equal matrices, and for no others of this package."""
        return f"{type(self).__name__} {self.n} {sorted(self.params.items())} {self.seed}"


def _integer_type(largest: int) -> type[np.integer]:
    """Return int32 if the largest possible cost fits, else int64."""
    return np.int32 if largest < 2**31 else np.int64


# ------------------------------------------------------------------------------- random costs


class Uniform(Formula):
    """Independent integers, uniform in [0, cost_range): the matrices of [L19 sec.5].

    ``c[i, j] = (high * cost_range) >> 32`` where ``high`` is the upper half of
    ``mix(key + i n + j)``; see `papers.common.instances.matrices.streams`. The costs are int32.

    Parameters
    ----------
    n : int
        Order; the counters are 64 bits wide, so n = 70000 is fine.
    seed : int
        Seed.
    cost_range : int
        Number of different costs, 1 to 2**31.

    Raises
    ------
    ValueError
        If `cost_range` is outside of 1 .. 2**31.
    """

    def __init__(self, n: int, seed: int = 1, *, cost_range: int) -> None:
        streams.check_range(int(cost_range))
        super().__init__(n, seed, np.int32, cost_range=cost_range)
        self._key = streams.stream_key(n, int(cost_range), seed) & MASK

    @property
    def counters(self) -> tuple[int, int]:
        """Counter of entry (0, 0), and the cost range."""
        return self._key, int(self.params["cost_range"])

    def fill(self, out: np.ndarray, i: np.ndarray, j: np.ndarray) -> None:
        """Draw the costs; see `Formula.fill`."""
        key, wide = self.counters
        streams.fill_integers(out, *_counters(key, self.n, i, j), np.uint64(wide))


class UniformDouble(Formula):
    """Independent doubles, uniform in [0, cost_range), on the counters of `Uniform`.

    ``c[i, j] = cost_range * (mix(key + i n + j) >> 11) / 2**53``, the key being that of the integer
    part of `cost_range`. The costs are float64.

    Parameters
    ----------
    n : int
        Order.
    seed : int
        Seed.
    cost_range : float
        The costs lie below it.

    Raises
    ------
    ValueError
        If `cost_range` is not a positive finite number.
    """

    def __init__(self, n: int, seed: int = 1, *, cost_range: float = 1.0) -> None:
        if not 0 < cost_range < float("inf"):
            raise ValueError(f"cost_range must be positive and finite, not {cost_range}")
        super().__init__(n, seed, np.float64, cost_range=cost_range)
        self._key = streams.stream_key(n, int(cost_range), seed) & MASK

    def fill(self, out: np.ndarray, i: np.ndarray, j: np.ndarray) -> None:
        """Draw the costs; see `Formula.fill`."""
        wide = float(self.params["cost_range"])
        streams.fill_doubles(out, *_counters(self._key, self.n, i, j), wide)


def _counters(key: int, n: int, i: np.ndarray, j: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the counters of the rows' column 0, modulo 2**64, and the columns' steps from it."""
    first = np.uint64(key) + i[:, 0].astype(np.uint64) * np.uint64(n)
    return first, np.ascontiguousarray(j, np.uint64)


# ------------------------------------------------------------------------------- structured costs


class Adversarial(Formula):
    """``c[i, j] = (i + 1)(j + 1)``, on which the Hungarian algorithm needs its worst-case steps.

    Machol & Wien, "A hard assignment problem", Operations Research 24(1), 1976. The minimum is
    ``n (n + 1)(n + 2) / 6`` (the anti-diagonal). The costs are int32, from n = 46341 on int64.

    Parameters
    ----------
    n : int
        Order.
    seed : int
        It has no effect.
    """

    def __init__(self, n: int, seed: int = 1) -> None:
        super().__init__(n, seed, _integer_type(n * n))

    def fill(self, out: np.ndarray, i: np.ndarray, j: np.ndarray) -> None:
        """Compute the costs; see `Formula.fill`."""
        out[...] = (i + 1) * (j + 1)


class Constant(Formula):
    """All costs are equal, so every permutation is optimal. The costs are int32.

    Parameters
    ----------
    n : int
        Order.
    seed : int
        It has no effect.
    value : int
        The cost.

    Raises
    ------
    OverflowError
        If `value` is not in the range of int32.
    """

    def __init__(self, n: int, seed: int = 1, *, value: int = 1) -> None:
        super().__init__(n, seed, np.int32, value=value)
        self._value = np.int32(value)

    def fill(self, out: np.ndarray, i: np.ndarray, j: np.ndarray) -> None:
        """Compute the costs; see `Formula.fill`."""
        out[...] = self._value


class Planted(Formula):
    """Random duals plus random slack that vanishes under a random permutation.

    ``c[i, j] = u[i] + v[j] + s[i, j]``, all three uniform in [0, cost_range) and ``s`` zero at the
    permutation, so the minimum is ``u.sum() + v.sum()``. Row and column minima do not reveal it.
    The slack is the matrix of `Uniform`; its counters go on with the duals and the permutation.

    Parameters
    ----------
    n : int
        Order.
    seed : int
        Seed.
    cost_range : int
        1 to 2**31.

    Attributes
    ----------
    permutation : int64[n]
        An optimal column of each row.
    u, v : int64[n]
        Optimal row and column duals.

    Raises
    ------
    ValueError
        If `cost_range` is outside of 1 .. 2**31.
    """

    def __init__(self, n: int, seed: int = 1, *, cost_range: int = 1000) -> None:
        super().__init__(n, seed, _integer_type(3 * (cost_range - 1)), cost_range=cost_range)
        self._slack = Uniform(n, seed, cost_range=cost_range)
        counter = streams.stream_key(n, cost_range, seed) + n * n
        duals = streams.integers(2 * n, cost_range, counter).astype(np.int64)
        # 2**31 keys: equal ones are few, and a stable sort settles them the same way everywhere.
        keys = streams.integers(n, 2**31, counter + 2 * n)
        self.permutation = np.argsort(keys, kind="stable")
        self.u, self.v = duals[:n], duals[n:]

    def fill(self, out: np.ndarray, i: np.ndarray, j: np.ndarray) -> None:
        """Compute the costs; see `Formula.fill`."""
        slack = np.empty(out.shape, np.int32)
        self._slack.fill(slack, i, j)
        slack[self.permutation[i] == j] = 0
        out[...] = self.u[i] + self.v[j] + slack


class Geometric(Formula):
    """Squared distances between two sets of n points of an integer grid in the plane.

    The 4 n coordinates are uniform in [0, cost_range): costs with structure, as in tracking.

    Parameters
    ----------
    n : int
        Order.
    seed : int
        Seed.
    cost_range : int
        Side of the grid, 1 to 2**31.

    Raises
    ------
    ValueError
        If `cost_range` is outside of 1 .. 2**31.
    """

    def __init__(self, n: int, seed: int = 1, *, cost_range: int = 1000) -> None:
        largest = 2 * (cost_range - 1) ** 2
        super().__init__(n, seed, _integer_type(largest), cost_range=cost_range)
        first = streams.stream_key(n, cost_range, seed)
        points = streams.integers(4 * n, cost_range, first).astype(np.int64)
        self._points = points.reshape(4, n)

    def fill(self, out: np.ndarray, i: np.ndarray, j: np.ndarray) -> None:
        """Compute the costs; see `Formula.fill`."""
        x, y, a, b = self._points
        out[...] = (x[i] - a[j]) ** 2 + (y[i] - b[j]) ** 2
