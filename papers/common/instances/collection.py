"""The SuiteSparse Collection: fetches matrices into the cache of `papers.common.instances.files`.

A name of the catalogue is fetched by its recipe: under the group and the name that the collection
has it by, with the change that makes it the matrix that was measured, and it is kept only if it
passes the catalogue's check. A name without a recipe is refused with the place its copy came from.
"""

from __future__ import annotations

import http.client
import os
import tarfile
import tempfile
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from papers.common.gpu.environment import install_command
from papers.common.instances import catalogue, files
from papers.common.instances.files import BrokenInstanceError, InstanceError
from papers.common.problems.formats.matrices import of_matrix_market
from papers.common.problems.graph import Graph

TIMEOUT_S = 60.0
"""Seconds without a byte after which a download is given up."""

_BLOCK = 1 << 20


class FetchError(InstanceError):
    """A matrix could not be fetched."""


class NoCollectionError(FetchError):
    """No matrix can be fetched: the client is not installed, or the index cannot be had."""


class NoRecipeError(FetchError):
    """A known matrix is in no collection; the message says where its recorded copy came from."""


def fetch(name: str, report: Callable[[str], Any] = lambda text: None) -> Path:
    """Fetch a matrix from the SuiteSparse Collection into the cache, as ``NAME.npz``.

    A name of the catalogue is fetched by its recipe; see the module.

    ``ssgetpy`` (extra ``suitesparse``) looks the matrix up in the collection's index; its own
    download pauses after every 4096 bytes, so the file is read here.

    Parameters
    ----------
    name : str
        ``NAME`` or ``GROUP/NAME``, exactly as the catalogue or else the collection has it.
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
    NoRecipeError
        If the catalogue knows that the collection does not have it.
    BrokenInstanceError
        If the downloaded file is no such matrix.
    papers.common.instances.catalogue.ForeignInstanceError
        If it is another one than the catalogue knows by that name.
    """
    fact = catalogue.known(name)
    if fact and not fact.collection:
        raise NoRecipeError(fact.recipe)
    full = fact.collection if fact else name
    report(f"looking up {full}")
    entry = _look_up(full)
    folder = files.cache()
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
        short = fact.name if fact else entry.name
        if fact and fact.change == catalogue.WITHOUT_DIAGONAL:
            graph = catalogue.without_diagonal(graph)
        catalogue.check_graph(short, graph)
        return _keep(graph, Path(scratch), folder / f"{short}.npz")


def _look_up(name: str) -> Any:
    """Return the index's entry of the matrix that is called so, and in no other way."""
    group, short = files.split(name)
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
    files.note_sum(path)
    return path
