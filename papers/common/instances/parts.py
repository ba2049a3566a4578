"""Matrices by part: a rank reads or draws its own rows or columns, and never the whole.

A `Source` is a square cost matrix that gives any block of itself: an array, a ``.npy`` file
(mapped, so that only what is asked for is read), or an instance family given by formula, whose
blocks are the bits of the whole's.

**The split** is the paper's [DN16 sec.5]: ``ceil(n / p)`` lines a rank. The last ranks may get
fewer, or none. Equal blocks, laid one behind the other, are the whole in its own order.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from papers.common.instances import generators
from papers.common.instances.counter_rng import MASK
from papers.common.model import Instance
from papers.common.problems import assignment

SAMPLED_BYTES = 1 << 28
"""Arrays up to this size are compared whole between ranks, larger ones by samples."""


class SplitError(ValueError):
    """Lines cannot be divided among the ranks as asked."""


class DisagreementError(ValueError):
    """The ranks were not given the same problem."""


def block_size(n: int, ranks: int) -> int:
    """Lines a rank, ``ceil(n / ranks)``.

    Raises
    ------
    SplitError
        If there are fewer lines than ranks, or no rank.
    """
    if ranks < 1:
        raise SplitError(f"{ranks} ranks cannot share anything")
    if n < ranks:
        raise SplitError(f"n = {n} is smaller than the number of ranks, {ranks}: start fewer")
    return -(-n // ranks)


def split(n: int, ranks: int) -> list[tuple[int, int]]:
    """First line and the one behind the last of every rank; see `block_size`."""
    size = block_size(n, ranks)
    return [(min(r * size, n), min((r + 1) * size, n)) for r in range(ranks)]


# ------------------------------------------------------------------------------- sources


@runtime_checkable
class Source(Protocol):
    """A square cost matrix that gives any block of itself."""

    @property
    def shape(self) -> tuple[int, int]:
        """``(n, n)``."""

    @property
    def dtype(self) -> np.dtype:
        """Type of the costs."""

    def block(self, rows: tuple[int, int], columns: tuple[int, int]) -> np.ndarray:
        """Costs of rows ``rows[0] .. rows[1] - 1``, columns alike."""

    def fingerprint(self) -> str:
        """Equal for equal matrices, and different for different ones with near certainty."""


def read_block(source: Source, rows: tuple[int, int], columns: tuple[int, int]) -> np.ndarray:
    """Return a source's block, of the shape that was asked for.

    Raises
    ------
    SplitError
        If the source gives another one: a kernel would read beyond it.
    """
    block = np.asarray(source.block(rows, columns))
    wanted = rows[1] - rows[0], columns[1] - columns[0]
    if block.shape != wanted:
        raise SplitError(
            f"rows {rows[0]} to {rows[1]} and columns {columns[0]} to {columns[1]} are "
            f"{wanted[0]} x {wanted[1]}, their source gives shape {block.shape}"
        )
    return block


class ArraySource:
    """An array, given whole, or mapped from a file.

    Parameters
    ----------
    array : array_like[n, n]
    """

    def __init__(self, array: Any) -> None:
        self.array = np.asarray(array) if not isinstance(array, np.memmap) else array

    @property
    def shape(self) -> tuple[int, int]:
        """The array's."""
        return self.array.shape  # type: ignore[return-value]

    @property
    def dtype(self) -> np.dtype:
        """The array's."""
        return self.array.dtype

    def block(self, rows: tuple[int, int], columns: tuple[int, int]) -> np.ndarray:
        """A view of the array."""
        return self.array[slice(*rows), slice(*columns)]

    def fingerprint(self) -> str:
        """Shape, type and content; of more than `SAMPLED_BYTES` a thousand rows' beginnings."""
        rows = self.array
        if rows.nbytes > SAMPLED_BYTES:
            rows = rows[:: max(1, len(rows) // 1000), :4096]
        content = np.ascontiguousarray(rows).tobytes() if rows.dtype.kind != "O" else b""
        return f"{self.shape} {self.dtype} {hashlib.blake2b(content, digest_size=16).hexdigest()}"


def npy_source(path: str | Path) -> ArraySource:
    """Return the matrix in a ``.npy`` file; only the blocks that are asked for are read."""
    return ArraySource(np.load(path, mmap_mode="r"))


class FormulaSource:
    """An instance family given by formula: any block can be drawn, with the bits of the whole's.

    Parameters
    ----------
    instance : Instance
        Of one of `FORMULAS`.

    Raises
    ------
    ValueError
        For another family, whose entries depend on those before them.
    """

    def __init__(self, instance: Instance) -> None:
        family = instance.family.removesuffix("_parts").removesuffix("_resident")
        if family not in FORMULAS:
            raise ValueError(
                f"{instance.family!r} cannot be drawn by part; there are {', '.join(FORMULAS)}"
            )
        self.instance = instance
        self.family = family
        self.params = generators.parameters(instance)
        if family == "uniform":
            generators.check_range(self.params["cost_range"])
        self._formula: Any = _formula_of(family, instance, self.params)

    @property
    def shape(self) -> tuple[int, int]:
        """``(n, n)``."""
        return self.instance.n, self.instance.n

    @property
    def dtype(self) -> np.dtype:
        """int32, float64, or int64 where the largest possible entry needs it."""
        return np.dtype(_dtype_of(self.family, self.instance.n, self.params))

    def block(self, rows: tuple[int, int], columns: tuple[int, int]) -> np.ndarray:
        """The entries, drawn anew."""
        n, seed = self.instance.n, self.instance.seed
        for first, last in (rows, columns):
            if not 0 <= first <= last <= n:
                raise ValueError(f"{first} to {last} are not lines of an n = {n} matrix")
        if self.family in ("uniform", "uniform_double"):
            draw = generators.uniform_block
            return draw(n, self.params["cost_range"], seed, rows, columns, self.dtype)
        down, across = np.arange(*rows)[:, None], np.arange(*columns)[None, :]
        slack: Any = None
        if self.family == "planted":
            wide = self.params["cost_range"]
            slack = generators.uniform_block(n, wide, seed, rows, columns, np.int32)
        return self._formula(down, across, slack).astype(self.dtype, copy=False)

    def entries(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """The entries ``(rows[k], columns[k])``, drawn anew: an array of the source's type."""
        n, seed = self.instance.n, self.instance.seed
        slack: Any = None
        if self.family in ("uniform", "uniform_double", "planted"):
            wide = self.params["cost_range"]
            kind = np.float64 if self.family == "uniform_double" else np.int32
            slack = generators.uniform_entries(n, wide, seed, rows, columns, kind)
        if self._formula is None:
            return slack
        return self._formula(rows, columns, slack).astype(self.dtype, copy=False)

    @property
    def counters(self) -> tuple[int, int] | None:
        """Counter of entry (0, 0) and cost range of `uniform`, for drawing on a device."""
        if self.family != "uniform":
            return None
        wide = self.params["cost_range"]
        return generators.stream_key(self.instance.n, wide, self.instance.seed) & MASK, wide

    def fingerprint(self) -> str:
        """The instance's name."""
        return f"{self.family} {self.instance.n} {sorted(self.params.items())} {self.instance.seed}"


FORMULAS = ("uniform", "uniform_double", "adversarial", "constant", "geometric", "planted")
"""Families that `FormulaSource` takes; ``uniform_parts`` and ``uniform_resident`` are `uniform`."""


def _dtype_of(family: str, n: int, params: dict[str, Any]) -> str:
    if family == "uniform_double":
        return "float64"
    wide = params.get("cost_range", 1000)
    most = {"adversarial": n * n, "geometric": 2 * (wide - 1) ** 2, "planted": 3 * (wide - 1)}
    return "int32" if most.get(family, 0) < 2**31 else "int64"


def _formula_of(family: str, instance: Instance, params: dict[str, Any]) -> Any:
    """Return ``callable(i, j, slack)`` of a family that is made of O(n) numbers a side.

    ``i`` and ``j`` are arrays of rows and columns that broadcast: a column beside a row make a
    block, two lists make single entries. ``slack`` is what `planted` adds, drawn there.
    """
    n, seed = instance.n, instance.seed
    if family == "adversarial":
        return lambda i, j, _: (i + 1) * (j + 1)
    if family == "constant":
        value = np.int64(params.get("value", 1))
        return lambda i, j, _: np.full(np.broadcast_shapes(i.shape, j.shape), value)
    if family == "geometric":
        x, y, a, b = generators.grid_points(n, seed, params.get("cost_range", 1000))
        return lambda i, j, _: (x[i] - a[j]) ** 2 + (y[i] - b[j]) ** 2
    if family == "planted":
        permutation, u, v = generators.planted_lines(n, seed, params["cost_range"])
        return lambda i, j, slack: u[i] + v[j] + np.where(permutation[i] == j, 0, slack)
    return None


def entries(source: Source, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return the costs of the pairs ``(rows[k], columns[k])``.

    Parameters
    ----------
    source : Source
        A caller's own is asked for one block a pair.
    rows, columns : int64[k]

    Returns
    -------
    array[k]
        Of the source's type.
    """
    if isinstance(source, ArraySource):
        return np.asarray(source.array[rows, columns])
    if isinstance(source, FormulaSource):
        return source.entries(rows, columns)
    pairs = zip(rows.tolist(), columns.tolist(), strict=True)
    single = [source.block((i, i + 1), (j, j + 1)) for i, j in pairs]
    return np.concatenate(single).ravel() if single else np.zeros(0, source.dtype)


def as_source(cost: Any) -> Source:
    """Return the source that `cost` is or names.

    Parameters
    ----------
    cost : Source, Instance, path of a .npy file, or array_like[n, n]

    Raises
    ------
    ValueError
        For an instance that cannot be drawn by part, and for what
        `papers.common.problems.assignment.as_matrix` refuses: masked and sparse costs among others.
    OSError
        For a file that cannot be read.
    """
    if isinstance(cost, Instance):
        return FormulaSource(cost)
    if isinstance(cost, (str, Path)):
        return npy_source(cost)
    if isinstance(cost, Source):
        return cost
    return ArraySource(cost if isinstance(cost, np.memmap) else assignment.as_matrix(cost))
