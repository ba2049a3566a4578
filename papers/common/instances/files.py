"""Matrices from files: given by hand, or fetched from the SuiteSparse Collection into a cache.

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
import http.client
import os
import re
import tarfile
import tempfile
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from papers.common.gpu.environment import install_command
from papers.common.problems.files import (
    GRAPH_ENDINGS,
    FileFormatError,
    of_matrix_market,
    read_graph,
)
from papers.common.problems.graph import Graph

FOLDER = "PAPERS_INSTANCES"
"""Environment variable: a folder with matrices, itself or in its subfolder ``matrices``."""

CACHE = "PAPERS_CACHE"
"""Environment variable: the folder where fetched matrices are kept."""

SUMS = "SHA256SUMS"
TIMEOUT_S = 60.0
"""Seconds without a byte after which a download is given up."""

_NAME = re.compile(r"(?:(\w[\w.+-]*)/)?(\w[\w.+-]*)")
_BLOCK = 1 << 20


class InstanceError(ValueError):
    """An instance cannot be had from its file."""


class MissingInstanceError(InstanceError):
    """None of the folders has such a file."""


class BrokenInstanceError(InstanceError):
    """A file holds no graph, or another one than was asked for."""


class FetchError(InstanceError):
    """A matrix could not be fetched."""


class NoCollectionError(FetchError):
    """No matrix can be fetched: the client is not installed, or the index cannot be had."""


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
    _, short = _split(name)
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
    """Return the graph that a file holds; see `papers.common.problems.files.read_graph`.

    Raises
    ------
    BrokenInstanceError
        If it has another ending, or is no such file, or its indices are no matrix.
    """
    try:
        return read_graph(path)
    except FileFormatError as error:
        raise BrokenInstanceError(str(error)) from None


def _split(name: str) -> tuple[str, str]:
    """Return group (or "") and name; a name is no path."""
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


def _note_sum(path: Path) -> None:
    """Add a file's line, or replace it."""
    known = {**_sums(path.parent), path.name: _sum(path)}
    text = "".join(f"{checksum}  {name}\n" for name, checksum in sorted(known.items()))
    part = path.with_name(f"{SUMS}.part")
    part.write_text(text, encoding="utf-8")
    os.replace(part, path.with_name(SUMS))


# ------------------------------------------------------------------------------- fetching


def fetch(name: str, report: Callable[[str], Any] = lambda text: None) -> Path:
    """Fetch a matrix from the SuiteSparse Collection into the cache, as ``NAME.npz``.

    ``ssgetpy`` (extra ``suitesparse``) looks the matrix up in the collection's index; its own
    download pauses after every 4096 bytes, so the file is read here.

    Parameters
    ----------
    name : str
        ``NAME`` or ``GROUP/NAME``, exactly as the collection has it.
    report : callable(str)
        It is told each step that begins.

    Returns
    -------
    Path
        The file in the cache.

    Raises
    ------
    NoCollectionError
        If ``ssgetpy`` is not installed or its index cannot be had.
    FetchError
        If the file cannot be had, or if no matrix or more than one is called so.
    BrokenInstanceError
        If the downloaded file is no such matrix.
    """
    report(f"looking up {name}")
    entry = _look_up(name)
    folder = cache()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        archive = Path(scratch) / "archive.tar.gz"
        report(f"downloading {entry.group}/{entry.name}, {entry.nnz} nonzeros")
        _download(entry.url("MM"), archive)
        report(f"reading {entry.name}")
        graph = _of_archive(archive, entry.name)
        if graph.shape != (entry.rows, entry.cols):
            raise BrokenInstanceError(
                f"{entry.name} is {graph.rows} x {graph.columns}, the index says "
                f"{entry.rows} x {entry.cols}"
            )
        return _keep(graph, Path(scratch), folder / f"{entry.name}.npz")


def _look_up(name: str) -> Any:
    """Return the index's entry of the matrix that is called so, and in no other way."""
    group, short = _split(name)
    try:
        import ssgetpy  # Reads the index from the network when it is imported, if it is old.

        found = ssgetpy.search(name=short, limit=10_000)
    except ImportError:
        raise NoCollectionError(
            f"fetching needs ssgetpy, which is not installed: {install_command('suitesparse')}"
        ) from None
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        raise NoCollectionError(
            f"the index of the SuiteSparse Collection cannot be had ({what})"
        ) from None
    exact = [entry for entry in found if entry.name == short and group in ("", entry.group)]
    if len(exact) == 1:
        return exact[0]
    if exact:
        listed = ", ".join(f"{entry.group}/{entry.name}" for entry in exact)
        raise FetchError(f"several matrices are called {name}: {listed}")
    raise FetchError(f"the SuiteSparse Collection has no matrix called {name}")


def _download(url: str, path: Path) -> None:
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT_S) as answer, path.open("wb") as file:
            expected = answer.headers.get("Content-Length")
            while block := answer.read(_BLOCK):
                file.write(block)
    except (OSError, http.client.HTTPException) as error:
        raise FetchError(f"{url} cannot be had: {error}") from None
    if expected is not None and path.stat().st_size != int(expected):
        raise FetchError(f"{url} broke off after {path.stat().st_size} of {expected} bytes")


def _of_archive(archive: Path, name: str) -> Graph:
    """Read ``NAME/NAME.mtx`` of an archive; the others are right-hand sides and the like."""
    try:
        with tarfile.open(archive, "r:gz") as files:
            member = files.extractfile(f"{name}/{name}.mtx")
            if member is None:
                raise BrokenInstanceError(f"{name}/{name}.mtx is no file of the archive")
            return of_matrix_market(member)
    except InstanceError:
        raise
    except KeyError:
        raise BrokenInstanceError(f"the archive holds no {name}/{name}.mtx") from None
    except (OSError, EOFError, ValueError, tarfile.TarError) as error:
        raise BrokenInstanceError(f"{name}: the archive is damaged: {error}") from None


def _keep(graph: Graph, scratch: Path, path: Path) -> Path:
    """Write a graph's pattern; a reader sees all of it or nothing."""
    from scipy.sparse import save_npz

    part = scratch / path.name
    # Not compressed: a hundred million entries would take minutes.
    save_npz(part, graph.matrix().tocsr(), compressed=False)
    os.replace(part, path)
    _note_sum(path)
    return path
