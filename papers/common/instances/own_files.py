"""Instances from files that somebody names by their paths, of any form that `kinds.read` takes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from papers.common.instances.files import BrokenInstanceError, MissingInstanceError
from papers.common.model import Instance, ProblemName
from papers.common.problems import kinds
from papers.common.problems.formats.matrices import FileFormatError

FAMILY = {"assignment": "cost_file", "matching": "graph_file", "flow": "flow_file"}
"""The family of a file's instance, by the problem that it is read for."""


def reader(problem: ProblemName) -> Callable[..., Any]:
    """Return the function that makes the data of one problem from a file.

    Parameters
    ----------
    problem : {"assignment", "matching", "flow"}
        A matrix may be read as a graph, too: its entries that are not zero are the edges.
    """

    def read(n: int, seed: int = 1, path: str = "") -> Any:
        if not Path(path).is_file():
            raise MissingInstanceError(f"{Path(path).name} is not there any more")
        try:
            return kinds.PROBLEMS[problem].adopt(kinds.read(Path(path)))
        except FileFormatError as error:
            raise BrokenInstanceError(str(error)) from None

    return read


def instance_of(problem: ProblemName, path: Path, rows: int) -> Instance:
    """Return the instance of a file; its label is the file's name, without its folder."""
    return Instance(FAMILY[problem], rows, path.name, (("path", str(path)),))
