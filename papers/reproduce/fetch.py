"""``reproduce fetch``: fetches the real matrices that a paper's experiments name into the cache."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from papers.common.instances import FAMILIES, collection, files
from papers.common.model import Plan
from papers.reproduce import registry
from papers.reproduce.registry import UsageError


def named(paper: str) -> list[str]:
    """Return the real matrices that the paper's experiments name, those of stand-ins included.

    Raises
    ------
    UsageError
        If the paper is unknown, or if its experiments name no matrix.
    """
    found = {
        cell.instance.label: None
        for experiment in registry.experiments(paper).values()
        if not experiment.unavailable
        for cell in experiment.cells(Plan("paper", gpu=True))
        if cell.instance.family in FAMILIES and FAMILIES[cell.instance.family].names_a_matrix
    }
    if not found:
        raise UsageError(f"the experiments of {paper} name no matrices")
    return list(found)


def absent(paper: str) -> list[str]:
    """Return those of `named` that no file has yet."""

    def is_here(name: str) -> bool:
        try:
            return files.find(name).is_file()
        except files.MissingInstanceError:
            return False

    return [name for name in named(paper) if not is_here(name)]


def fetch(paper: str, names: Sequence[str] | None, report: Callable[[str], Any]) -> list[str]:
    """Fetch matrices one by one, and return the failures, a line each.

    Parameters
    ----------
    paper : str
        Their paper.
    names : sequence of str, optional
        ``NAME`` or ``GROUP/NAME``; the catalogue knows the groups of most. Without them, all that
        the paper names and no file holds yet: then a matrix without a recipe is no failure.
    report : callable(str)
        Told what begins, where each file is, and which matrices have no recipe and why.

    Raises
    ------
    UsageError
        If the paper is unknown, or if nothing can be fetched at all.
    """
    registry.card(paper)
    wanted = names or absent(paper)
    if not wanted:
        report(f"every matrix that {paper} names is here")
    failures = []
    for name in wanted:
        try:
            report(f"{collection.fetch(name, report)}")
        except collection.NoCollectionError as error:
            raise UsageError(str(error)) from None
        except collection.NoRecipeError as error:
            if names:
                failures.append(str(error))
            else:
                report(f"skipped: {error}")
        except files.InstanceError as error:
            failures.append(f"{name}: {error}")
    return failures
