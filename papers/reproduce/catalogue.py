"""The names of experiments and solvers, kept so that a listing need not import the papers.

A paper's experiments import pandas, SciPy and Matplotlib, which takes a second. Their names and
titles are kept in the cache folder and hold as long as the paper's sources are the same files.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from papers.reproduce import registry


@dataclass(frozen=True)
class Entry:
    """One line of a listing.

    Attributes
    ----------
    name : str
        Of an experiment or a solver, without the paper's.
    kind : str
        ``table``, ``figure`` or ``picture``; of a solver the device that it runs on.
    title : str
        The caption, or what the solver is.
    """

    name: str
    kind: str
    title: str


def experiments(paper: str) -> tuple[Entry, ...]:
    """Return the experiments of a paper, in its order; see `_kept`."""
    return _kept(paper, "experiments")


def solvers(paper: str) -> tuple[Entry, ...]:
    """Return the solvers of a paper, in its order; see `_kept`. Unkept, this imports Numba."""
    return _kept(paper, "solvers")


def _kept(paper: str, of: str) -> tuple[Entry, ...]:
    """Return the names of a paper, from the cache if the paper's sources are what they were.

    Raises
    ------
    UsageError
        For an unknown paper.
    """
    mark, path = _fingerprint(paper), _folder() / f"{registry.MODULES[paper]}.{of}.json"
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
        kept = json.loads(path.read_text(encoding="utf-8"))
        if kept["fingerprint"] == mark:
            return tuple(Entry(**entry) for entry in kept["entries"])
    made = _made(paper, of)
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        scratch = path.with_suffix(f".{os.getpid()}")
        value = {"fingerprint": mark, "entries": [asdict(entry) for entry in made]}
        scratch.write_text(json.dumps(value), encoding="utf-8")
        scratch.replace(path)
    return made


def _made(paper: str, of: str) -> tuple[Entry, ...]:
    if of == "solvers":
        known = registry.card(paper).solvers()
        return tuple(Entry(key, solver.device, solver.title) for key, solver in known.items())
    return tuple(
        Entry(key, e.kind, e.title + (f" (not yet: {e.unavailable})" if e.unavailable else ""))
        for key, e in registry.experiments(paper).items()
    )


def _folder() -> Path:
    """Return `papers.common.instances.files.cache`, whose module imports SciPy."""
    told = os.environ.get("PAPERS_CACHE")
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return (Path(told) if told else Path(home) / "papers") / "names"


def _fingerprint(paper: str) -> str:
    """Return a hash of a paper's source files (place, size, time) and of what else may matter."""
    folder = registry.folder(paper)
    facts = [sys.version, repr(sorted(e for e in os.environ.items() if e[0].startswith("PAPERS_")))]
    for path in sorted(folder.rglob("*.py")):
        about = path.stat()
        facts.append(f"{path} {about.st_size} {about.st_mtime_ns}")
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()
