"""Matrices from files: given by hand, or kept in a cache by `papers.common.instances.collection`.

`load` looks for ``NAME.npz`` (a pattern as `scipy.sparse.save_npz` writes it), ``NAME.mtx`` and
``NAME.mtx.gz`` (Matrix Market) in the folder that the environment variable `FOLDER` names, in its
subfolder ``matrices``, and in the cache. Structure counts: every stored entry is an edge, also one
that is stored as zero, and both halves of a symmetric matrix are.

The cache is the folder that `CACHE` names, else ``papers`` in ``XDG_CACHE_HOME`` or ``~/.cache``.
Its file ``SHA256SUMS``, in the form of the command ``sha256sum``, has a line for every file.

Messages name files without their folders: a run keeps them.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from papers.common.problems.formats.matrices import GRAPH_ENDINGS, FileFormatError, read_graph
from papers.common.problems.graph import Graph

FOLDER = "PAPERS_INSTANCES"
"""Environment variable: a folder with matrices, itself or in its subfolder ``matrices``."""

CACHE = "PAPERS_CACHE"
"""Environment variable: the folder where fetched matrices are kept."""

SUMS = "SHA256SUMS"
_NAME = re.compile(r"(?:(\w[\w.+-]*)/)?(\w[\w.+-]*)")


class InstanceError(ValueError):
    """An instance cannot be had from its file."""


class MissingInstanceError(InstanceError):
    """None of the folders has such a file."""


class BrokenInstanceError(InstanceError):
    """A file holds no graph, or another one than was asked for."""


# ------------------------------------------------------------------------------- reading


def cache() -> Path:
    """Return the folder of fetched matrices; it need not exist."""
    if os.environ.get(CACHE):
        return Path(os.environ[CACHE])
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "papers"


def places(subfolder: str = "matrices") -> Iterator[Path]:
    """Yield the folders that are looked at, in order."""
    if os.environ.get(FOLDER):
        yield Path(os.environ[FOLDER])
        yield Path(os.environ[FOLDER]) / subfolder
    yield cache()


def find(name: str, endings: Sequence[str] = GRAPH_ENDINGS, subfolder: str = "matrices") -> Path:
    """Return the file of the matrix (or of another instance) called `name`.

    Parameters
    ----------
    name : str
    endings : sequence of str
        What the file's name may end with.
    subfolder : str
        Where else than in the folder itself it may be.

    Raises
    ------
    MissingInstanceError
        If there is none.
    """
    _, short = split(name)
    for folder in places(subfolder):
        for ending in endings:
            path = folder / f"{short}{ending}"
            if path.is_file():
                return path
    where = f"the folder that {FOLDER} names" if os.environ.get(FOLDER) else f"{FOLDER} (not set)"
    raise MissingInstanceError(f"{short} is neither in {where} nor in the cache")


def load(name: str) -> Graph:
    """Return the matrix called `name` as a graph.

    Parameters
    ----------
    name : str
        Its name, without ending; a group before it (``"SNAP/roadNet-CA"``) is passed over.

    Raises
    ------
    MissingInstanceError
        If no file has that name.
    BrokenInstanceError
        If the file is no matrix, or if a fetched one has changed since.
    """
    path = find(name)
    if path.parent == cache():
        expected = _sums(path.parent).get(path.name)
        if expected is not None and _sum(path) != expected:
            raise BrokenInstanceError(f"{path.name} in the cache has changed; fetch it again")
    return read(path)


def read(path: Path) -> Graph:
    """Return the graph that a file holds; see `papers.common.problems.formats.matrices.read_graph`.

    Raises
    ------
    BrokenInstanceError
        If it has another ending, or is no such file, or its indices are no matrix.
    """
    try:
        return read_graph(path)
    except FileFormatError as error:
        raise BrokenInstanceError(str(error)) from None


def split(name: str) -> tuple[str, str]:
    """Return group (or "") and name of ``GROUP/NAME`` or ``NAME``.

    Raises
    ------
    MissingInstanceError
        If it is neither; a path is no name.
    """
    found = _NAME.fullmatch(name)
    if not found:
        raise MissingInstanceError(f"{name!r} is no name of an instance")
    return found[1] or "", found[2]


# ------------------------------------------------------------------------------- checksums


def _sum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sums(folder: Path) -> dict[str, str]:
    """Return the checksums by file name."""
    with contextlib.suppress(FileNotFoundError):
        lines = (folder / SUMS).read_text(encoding="utf-8").splitlines()
        pairs = (line.partition("  ") for line in lines)
        return {name: checksum for checksum, _, name in pairs if name}
    return {}


def note_sum(path: Path) -> None:
    """Write a file's checksum down, in a line of `SUMS` beside it."""
    known = {**_sums(path.parent), path.name: _sum(path)}
    text = "".join(f"{checksum}  {name}\n" for name, checksum in sorted(known.items()))
    part = path.with_name(f"{SUMS}.part")
    part.write_text(text, encoding="utf-8")
    os.replace(part, path.with_name(SUMS))
