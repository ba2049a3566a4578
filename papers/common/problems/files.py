"""Files that hold a problem's data: cost matrices, and the error of all formats.

A cost matrix is read from ``.npy``, or from text with one row a line. Graphs are read by
`papers.common.problems.graph_files`, networks and grids by `papers.common.problems.network_files`.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

MATRIX_ENDINGS = (".npy", ".csv")

_LONG_INTEGER = re.compile(r"(?<![\w.+-])[+-]?\d{19,}(?![\w.])")
"""A whole number that may not fit int64, and no part of a decimal number."""


class FileFormatError(ValueError):
    """A file is missing, damaged, or of another format than its name says."""


def read_matrix(path: Path) -> np.ndarray:
    """Read a cost matrix from ``.npy`` or ``.csv``.

    Parameters
    ----------
    path : Path
        A NumPy file, or text with one row a line, values separated by commas (or blanks, if there
        is no comma), ``#`` for comments.

    Returns
    -------
    array[n, m]
        From text: int64 where all numbers are whole, else float64.

    Raises
    ------
    FileFormatError
        If the file is missing, has another ending or cannot be read.
    """
    if path.suffix.lower() not in MATRIX_ENDINGS:
        raise FileFormatError(f"{path}: a matrix is read from {' or '.join(MATRIX_ENDINGS)}")
    try:
        if path.suffix.lower() == ".npy":
            return np.load(path, allow_pickle=False)
        return _read_text(path)
    except (OSError, ValueError, EOFError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise FileFormatError(f"{path} cannot be read as a matrix: {reason}") from None


def _read_text(path: Path) -> np.ndarray:
    text = path.read_text(encoding="utf-8-sig")
    lines = [line for line in text.splitlines() if line.partition("#")[0].strip()]
    if not lines:
        raise ValueError("it is empty")
    separator = "," if "," in lines[0] else None
    try:
        return np.loadtxt(lines, delimiter=separator, dtype=np.int64, ndmin=2)
    except ValueError:
        _refuse_long_integers(lines)
        return np.loadtxt(lines, delimiter=separator, dtype=np.float64, ndmin=2)


def _refuse_long_integers(lines: list[str]) -> None:
    """Raise `ValueError` for a whole number beyond int64; as a float it would be another number."""
    limits = np.iinfo(np.int64)
    for place, line in enumerate(lines, 1):
        for found in _LONG_INTEGER.finditer(line.partition("#")[0]):
            if not limits.min <= int(found[0]) <= limits.max:
                raise ValueError(f"row {place}: {found[0]} does not fit a 64-bit integer")
