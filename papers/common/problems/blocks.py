"""Cost matrices by block: a rank reads its own rows or columns, and never the whole.

A `Source` is a square cost matrix that gives any block of itself: an array, or a ``.npy`` file
(mapped, so that only what is asked for is read). Families given by formula are sources, too
(`papers.common.instances.matrices.formulas`).

**The split** is the paper's [DN16 sec.5]: ``ceil(n / p)`` lines a rank. The last ranks may get
fewer, or none. Equal strips, laid one behind the other, are the whole in its own order.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

SAMPLED_BYTES = 1 << 28
"""Arrays up to this size are compared whole between ranks, larger ones by samples."""


class SplitError(ValueError):
    """Lines cannot be divided among the ranks as asked."""


class DisagreementError(ValueError):
    """The ranks were not given the same problem."""


def block_size(n: int, ranks: int) -> int:
    """Return the number of lines a rank has, ``ceil(n / ranks)``.

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
    """Return the first line of every rank and the one behind its last; see `block_size`."""
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
        """Return the costs of rows ``rows[0] .. rows[1] - 1``, columns alike."""

    def fingerprint(self) -> str:
        """Return a text: equal for equal matrices, almost certainly different for others."""


def read_block(source: Source, rows: tuple[int, int], columns: tuple[int, int]) -> np.ndarray:
    """Return a source's block, of the shape that was asked for.

    Raises
    ------
    SplitError
        If the source gives a block of another shape: a kernel would read beyond it.
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
        """The shape of the array."""
        return self.array.shape  # type: ignore[return-value]

    @property
    def dtype(self) -> np.dtype:
        """The type of the array."""
        return self.array.dtype

    def block(self, rows: tuple[int, int], columns: tuple[int, int]) -> np.ndarray:
        """Return a view of the array."""
        return self.array[slice(*rows), slice(*columns)]

    def entries(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return the entries ``(rows[k], columns[k])``."""
        return np.asarray(self.array[rows, columns])

    def fingerprint(self) -> str:
        """Return shape, type and a digest of the content.

        Of an array larger than `SAMPLED_BYTES` the digest reads a thousand rows' beginnings.
        """
        rows = self.array
        if rows.nbytes > SAMPLED_BYTES:
            rows = rows[:: max(1, len(rows) // 1000), :4096]
        content = np.ascontiguousarray(rows).tobytes() if rows.dtype.kind != "O" else b""
        return f"{self.shape} {self.dtype} {hashlib.blake2b(content, digest_size=16).hexdigest()}"


def npy_source(path: str | Path) -> ArraySource:
    """Return the matrix in a ``.npy`` file; only the blocks that are asked for are read."""
    return ArraySource(np.load(path, mmap_mode="r"))


def entries(source: Source, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return the costs of the pairs ``(rows[k], columns[k])``.

    Parameters
    ----------
    source : Source
        If it has no method ``entries(rows, columns)``, it is asked for one block a pair.
    rows, columns : int64[k]

    Returns
    -------
    array[k]
        It has the source's type.
    """
    own = getattr(source, "entries", None)
    if own is not None:
        return np.asarray(own(rows, columns))
    pairs = zip(rows.tolist(), columns.tolist(), strict=True)
    single = [source.block((i, i + 1), (j, j + 1)) for i, j in pairs]
    return np.concatenate(single).ravel() if single else np.zeros(0, source.dtype)
