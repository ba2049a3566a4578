"""Headers of files, held against the files: a claim that cannot be true is refused unread.

Each format of the package begins with sizes: the size line of Matrix Market, the ``p`` line of
DIMACS, the shape of a NumPy array. A reader allocates what they claim, so they are checked first,
against the numbers that the package counts with, against the length of the file, and against the
memory of the machine. Nothing here allocates more than a line of text.
"""

from __future__ import annotations

import os
import zipfile
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np

from papers.common.problems.graph import EDGE_LIMIT

DEFLATE_RATIO = 1032
"""A byte that gzip or zip has deflated holds no more bytes than this."""

LONGEST_LINE = 1 << 16
"""Bytes of a line of a header; a longer one belongs to no header."""

_BYTES_OF_ENTRY = {"pattern": 4, "complex": 8}
"""The shortest lines of coordinates in Matrix Market: ``1 1`` and ``1 1 0 0``; else ``1 1 0``."""

_BYTES_OF_EDGE = 8
"""Memory of an edge while a graph is made: its row and its column, 32 bits each."""


class HeaderError(ValueError):
    """A header is none, or it claims more than its file or this machine can hold."""


# ------------------------------------------------------------------------------- claims


def count(word: str | bytes, name: str) -> int:
    """Return the count that a word of a header states.

    Parameters
    ----------
    word : str or bytes
    name : str
        The name of the count in the message.

    Raises
    ------
    HeaderError
        If it is not written in the ten digits alone, or exceeds `EDGE_LIMIT`.
    """
    text = word.decode("latin-1") if isinstance(word, bytes) else word
    if not (text.isascii() and text.isdigit()):
        raise HeaderError(f"{text[:20]!r} is no count of {name}")
    digits = text.lstrip("0") or "0"
    if len(digits) > 10 or int(digits) > EDGE_LIMIT:
        raise HeaderError(
            f"the header claims {digits[:20]} {name}: they are counted in 32 bits, {EDGE_LIMIT} at "
            "most"
        )
    return int(digits)


def demand_length(claimed: int, each: int, length: int, name: str) -> None:
    """Demand that so many bytes can hold what is claimed.

    Parameters
    ----------
    claimed : int
        The claimed number of lines or array elements.
    each : int
        The fewest bytes that each of them takes.
    length : int
        The bytes that the file has for them.
    name : str
        Their name in the message.

    Raises
    ------
    HeaderError
        If `length` is too short.
    """
    if claimed * each > length:
        raise HeaderError(
            f"the header claims {claimed} {name}, which take {claimed * each} bytes at least: the "
            f"file holds {length}"
        )


def memory() -> int:
    """Return the bytes of this machine's memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def demand_memory(needed: int, name: str) -> None:
    """Demand that this machine's memory can hold what is claimed.

    Parameters
    ----------
    needed : int
        The fewest bytes that it takes.
    name : str
        Its name in the message.

    Raises
    ------
    HeaderError
        If the machine has less memory.
    """
    if needed > memory():
        raise HeaderError(
            f"the header claims {name}, which take {needed / 1e9:.1f} GB of memory at least: this "
            f"machine has {memory() / 1e9:.1f} GB"
        )


def demand_sides(rows: int, columns: int, entries: int = 0) -> None:
    """Demand that a graph of this size can be counted in 32 bits and kept in memory.

    Raises
    ------
    HeaderError
        If it cannot.
    """
    for size, name in ((rows, "rows"), (columns, "columns"), (entries, "entries")):
        count(str(size), name)
    needed = 4 * (rows + columns) + _BYTES_OF_EDGE * entries
    demand_memory(needed, f"{rows} x {columns} with {entries} entries")


# ------------------------------------------------------------------------------- Matrix Market


@dataclass(frozen=True)
class MatrixMarket:
    """The header of a Matrix Market file.

    Attributes
    ----------
    text : bytes
        The header itself, its size line included.
    rows, columns : int
    lines : int
        The lines that must follow.
    shortest : int
        The fewest bytes of each of them, its end included.
    """

    text: bytes
    rows: int
    columns: int
    lines: int
    shortest: int

    def demand_length(self, length: int) -> None:
        """Raise `HeaderError` if `length` bytes cannot hold the lines that must follow."""
        demand_length(self.lines, self.shortest, length + 1, "entries")  # the last may lack its end


def matrix_market(file: IO[bytes]) -> MatrixMarket:
    """Read the header of Matrix Market from an open file, as far as its size line.

    Raises
    ------
    HeaderError
        If there is no banner or no size line, or if its sizes cannot be counted or kept.
    """
    text = banner = file.readline(LONGEST_LINE)
    words = banner.decode("latin-1").lower().split()
    if len(words) != 5 or words[:2] != ["%%matrixmarket", "matrix"]:
        raise HeaderError('the first line is not "%%MatrixMarket matrix FORMAT FIELD SYMMETRY"')
    while line := file.readline(LONGEST_LINE):
        text += line
        if line.strip() and not line.startswith(b"%"):
            return _sized(text, line.split(), words[2:])
    raise HeaderError("there is no size line")


def _sized(text: bytes, sizes: list[bytes], words: list[str]) -> MatrixMarket:
    form, field, symmetry = words
    names = ("rows", "columns", "entries")[: 3 if form == "coordinate" else 2]
    if len(sizes) != len(names):
        raise HeaderError(f"the size line has {len(sizes)} numbers, not {', '.join(names)}")
    counts = [count(*pair) for pair in zip(sizes, names, strict=True)]
    if form == "coordinate":
        demand_sides(*counts)
        return MatrixMarket(text, counts[0], counts[1], counts[2], _BYTES_OF_ENTRY.get(field, 6))
    rows, columns = counts
    lines = rows * columns
    if symmetry != "general":
        lines = rows * (rows - 1) // 2 if symmetry == "skew-symmetric" else rows * (rows + 1) // 2
    shortest = 4 if field == "complex" else 2
    demand_memory(8 * lines, f"{rows} x {columns}")
    return MatrixMarket(text, rows, columns, lines, shortest)


# ------------------------------------------------------------------------------- NumPy


def npy(file: IO[bytes], length: int, name: str) -> int:
    """Check the header of a ``.npy`` file, or of such a member of a ``.npz``.

    Parameters
    ----------
    file : binary file
        It stands at the header's begin.
    length : int
        The bytes of the file, its header included.
    name : str
        Its name in the message.

    Returns
    -------
    int
        The bytes of the array; 0 for objects, which nothing here reads.

    Raises
    ------
    HeaderError
        If there is no such header, or if the array would be longer than the file or the memory.
    """
    try:
        version = np.lib.format.read_magic(file)
        if version not in ((1, 0), (2, 0)):
            raise HeaderError(
                f"{name} is of version {version[0]}.{version[1]}, which holds records"
            )
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else (
            np.lib.format.read_array_header_2_0
        )  # fmt: skip
        shape, _, dtype = read(file)
    except HeaderError:
        raise
    except Exception as error:
        raise HeaderError(f"{name} has no header of a NumPy array: {error}") from None
    if dtype.hasobject:
        return 0
    if any(side < 0 for side in shape):
        raise HeaderError(f"the header of {name} claims the shape {shape}")
    size = prod(shape)
    demand_length(size, dtype.itemsize, length - file.tell(), f"elements of {name}")
    demand_memory(size * dtype.itemsize, f"{size} elements of {name}")
    return size * dtype.itemsize


def npz(path: Path) -> None:
    """Check the headers of all arrays of a ``.npz``.

    Raises
    ------
    HeaderError
        If one has no header, or if they would be longer than their members or the memory.
    zipfile.BadZipFile
        If the file is no archive.
    """
    needed = 0
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            if not member.filename.endswith(".npy"):
                continue
            length, packed = member.file_size, member.compress_size
            if member.compress_type == zipfile.ZIP_DEFLATED:
                length = min(length, DEFLATE_RATIO * packed)
            with archive.open(member) as file:
                needed += npy(file, length, member.filename.removesuffix(".npy"))
    demand_memory(needed, "arrays")


def sides_of_npz(path: Path) -> None:
    """Check the array ``shape`` that a sparse matrix has in a ``.npz``, if there is one.

    Raises
    ------
    HeaderError
        If it is no pair of counts, or if the matrix cannot be counted in 32 bits or kept.
    """
    with np.load(path, allow_pickle=False) as file:
        sides: Any = file["shape"] if "shape" in file.files else np.zeros(2, np.int64)
    if sides.shape != (2,) or sides.dtype.kind not in "iu":
        raise HeaderError("shape is no pair of whole numbers")
    demand_sides(int(sides[0]), int(sides[1]))
