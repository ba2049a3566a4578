"""Files that hold a cost matrix or a bipartite graph, and the error of all formats.

A cost matrix is read from ``.npy``, from text with one row a line, or from an array of Matrix
Market; a graph from SciPy's ``.npz`` or from Matrix Market. Of a graph structure counts: every
stored entry is an edge, also one that is stored as zero (but in an ``.npz`` of BSR or DIA, see
`papers.common.problems.graph.FILLED`), and both halves of a symmetric matrix are.
Networks and grids are read by `papers.common.problems.formats.networks`.
"""

from __future__ import annotations

import gzip
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from papers.common.problems.formats import headers
from papers.common.problems.graph import Graph, bipartite

MATRIX_ENDINGS = (".npy", ".csv")
GRAPH_ENDINGS = (".npz", ".mtx", ".mtx.gz")
MARKET_ENDINGS = (".mtx", ".mtx.gz")
"""Matrix Market: a graph, unless costs are asked for."""

_BLOCK = 1 << 20

_LONG_INTEGER = re.compile(r"(?<![\w.+-])[+-]?\d{19,}(?![\w.])")
"""A whole number that may not fit int64, and no part of a decimal number."""

_NUMBER = re.compile(r"[-+]?\.?\d")
_INFINITE = ("inf", "infinity", "nan")


class FileFormatError(ValueError):
    """A file is missing, damaged, or of another format than its name says."""


def read_matrix(path: Path) -> np.ndarray:
    """Read a cost matrix from ``.npy`` or ``.csv``, or from an array of ``.mtx`` or ``.mtx.gz``.

    Parameters
    ----------
    path : Path
        A NumPy file, or text with one row a line, values separated by commas (or blanks, if there
        is no comma), ``#`` for comments; or Matrix Market in the format ``array``.

    Returns
    -------
    array[n, m]
        From text: int64 where all numbers are whole, else float64.

    Raises
    ------
    FileFormatError
        If the file is missing, has another ending or cannot be read, or if its header claims more
        than the file or the memory holds.
    """
    known = MATRIX_ENDINGS + MARKET_ENDINGS
    if not path.name.lower().endswith(known):
        raise FileFormatError(f"{path}: a matrix is read from {', '.join(known)}")
    try:
        if path.name.lower().endswith(MARKET_ENDINGS):
            return _costs_of_market(path)
        if path.suffix.lower() == ".npy":
            with path.open("rb") as file:
                headers.npy(file, path.stat().st_size, "the matrix")
            return np.load(path, allow_pickle=False)
        return _read_text(path)
    except (OSError, ValueError, EOFError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise FileFormatError(f"{path} cannot be read as a matrix: {reason}") from None


def _costs_of_market(path: Path) -> np.ndarray:
    found = _market(path)
    if not isinstance(found, np.ndarray):
        raise ValueError("it stores coordinates, and a pair that is not stored has no cost; an "
                         "array has them all")  # fmt: skip
    return found


def _read_text(path: Path) -> np.ndarray:
    text = path.read_text(encoding="utf-8-sig")
    lines = [line for line in text.splitlines() if line.partition("#")[0].strip()]
    if not lines:
        raise ValueError("it is empty")
    _refuse_other_tables(lines[0])
    separator = "," if "," in lines[0] else None
    try:
        return np.loadtxt(lines, delimiter=separator, dtype=np.int64, ndmin=2)
    except ValueError:
        _refuse_long_integers(lines)
        return np.loadtxt(lines, delimiter=separator, dtype=np.float64, ndmin=2)


def _refuse_other_tables(first: str) -> None:
    """Raise `ValueError` for a first line of names, or one that is separated by semicolons."""
    if ";" in first.partition("#")[0]:
        raise ValueError("its fields are separated by ';', and only ',' and blanks are read")
    words = first.partition("#")[0].replace(",", " ").split()
    named = [word for word in words if word.strip("\"'").lower().lstrip("+-") not in _INFINITE
             and not _NUMBER.match(word)]  # fmt: skip
    if named:
        raise ValueError(f"its first line has the header {named[0]!r}, and only numbers are read")


def _refuse_long_integers(lines: list[str]) -> None:
    """Raise `ValueError` for a whole number beyond int64; as a float it would be another number."""
    limits = np.iinfo(np.int64)
    for place, line in enumerate(lines, 1):
        for found in _LONG_INTEGER.finditer(line.partition("#")[0]):
            if not limits.min <= int(found[0]) <= limits.max:
                raise ValueError(f"row {place}: {found[0]} does not fit a 64-bit integer")


# ------------------------------------------------------------------------------- graphs


def read_graph(path: Path) -> Graph:
    """Return the graph that a file holds.

    Parameters
    ----------
    path : Path
        ``.npz`` of `scipy.sparse.save_npz`, whatever the compression of its members; ``.mtx`` or
        ``.mtx.gz``: Matrix Market, coordinates or array, of any field and symmetry.

    Raises
    ------
    FileFormatError
        If it has another ending, or is no such file, or its indices are no matrix, or if its
        header claims more than the file or the memory holds.
    """
    try:
        if path.name.endswith(".npz"):
            return _of_npz(path)
        if path.name.endswith(MARKET_ENDINGS):
            return bipartite(_market(path))
    except MemoryError:
        raise
    except OSError as error:
        raise FileFormatError(f"{path.name}: {error.strerror or error}") from None
    except Exception as error:
        # Zip, LZMA, zlib, NumPy and SciPy each have errors of their own for a damaged file.
        what = (str(error) or type(error).__name__).replace(str(path), path.name)
        raise FileFormatError(f"{path.name}: {what}") from None
    raise FileFormatError(f"{path.name}: a graph is read from {', '.join(GRAPH_ENDINGS)}")


def _of_npz(path: Path) -> Graph:
    from scipy.sparse import load_npz

    headers.npz(path)
    headers.sides_of_npz(path)
    return bipartite(load_npz(path))


def _market(path: Path) -> Any:
    """Read Matrix Market, packed or not, as `_plain_market` does."""
    zipped = path.suffix.lower() != ".mtx"
    room = path.stat().st_size * (headers.DEFLATE_RATIO if zipped else 1)
    with gzip.open(path) if zipped else path.open("rb") as file:
        return _plain_market(file, room)


def of_matrix_market(file: Any, room: int | None = None) -> Graph:
    """Read the graph of an open file of Matrix Market.

    Parameters
    ----------
    file : binary file
    room : int, optional
        No more bytes can come out of the file.

    Raises
    ------
    papers.common.problems.formats.headers.HeaderError
        If the header is none, or claims more than the file or the memory holds.
    """
    return bipartite(_plain_market(file, room))


def _plain_market(file: Any, room: int | None) -> Any:
    """Read Matrix Market from an open file, by way of a plain one that ends with a line break.

    SciPy's reader (1.17) crashes the process where a file ends within a line, as one that was cut
    off does, and where a compressed file turns out to be damaged. The size line is checked before
    the file is unpacked, and against the unpacked file before anything is allocated.

    Returns
    -------
    array or sparse matrix
        As the file's format is ``array`` or ``coordinate``.
    """
    from scipy.io import mmread

    header = headers.matrix_market(file)
    if room is not None:
        header.demand_length(room - len(header.text))
    with tempfile.NamedTemporaryFile(suffix=".mtx") as plain:
        plain.write(header.text)
        shutil.copyfileobj(file, plain, _BLOCK)
        header.demand_length(plain.tell() - len(header.text))
        plain.write(b"\n")
        plain.flush()
        return mmread(plain.name)
