"""``reproduce list``: papers, experiments and solvers, without importing what measures."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from papers.reproduce import catalogue, registry
from papers.reproduce.catalogue import Entry
from papers.reproduce.registry import UsageError


def show(out: Console, target: str | None) -> None:
    """Print all papers with their experiments, one paper with its solvers, or one experiment.

    Parameters
    ----------
    out : Console
    target : str or None
        ``PAPER``, ``PAPER:EXPERIMENT`` or None.

    Raises
    ------
    UsageError
        For a name that does not exist.
    """
    paper, _, experiment = (target or "").partition(":")
    for name in [paper] if target else registry.MODULES:
        card = registry.card(name)
        draft = " (draft)" if card.status == "draft" else ""
        if card.is_printed:
            rest = f"{draft}  {card.authors}: {card.title}. {card.venue}, {card.year}"
        else:
            rest = f"{draft}  {card.title}"
        out.print(Text(name, style="bold") + Text(rest), soft_wrap=True)
        if target and not experiment:
            out.print("experiments, for reproduce run", style="dim")
        _lines(out, name, _chosen(name, catalogue.experiments(name), experiment))
        if target and not experiment:
            out.print("solvers, for reproduce solve FILE --with", style="dim")
            _lines(out, name, catalogue.solvers(name))
        out.print()


def _chosen(paper: str, known: Sequence[Entry], name: str) -> Sequence[Entry]:
    """Return all experiments, or the named one."""
    found = [entry for entry in known if name in ("", entry.name)]
    if not found:
        names = [entry.name for entry in known]
        hint = registry.meant(name, names)
        listed = ", ".join(names)
        raise UsageError(f"{paper} has no experiment {name!r}; it has: {listed}{hint}")
    return found


def _lines(out: Console, paper: str, entries: Sequence[Entry]) -> None:
    wide = max((len(entry.name) for entry in entries), default=0) + len(paper) + 1
    kinds = max((len(entry.kind) for entry in entries), default=0)
    for entry in entries:
        name = f"{paper}:{entry.name}"
        out.out(f"  {name:<{wide}}  {entry.kind:<{kinds}}  {entry.title}", highlight=False)
