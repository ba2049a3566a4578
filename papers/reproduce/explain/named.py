"""The deviations (D…) and inconsistencies of print that an experiment's notes name, in words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from papers.common.evidence import published
from papers.common.model import Comparison, Experiment
from papers.reproduce import registry
from papers.reproduce.site import words

_ID = re.compile(r"\b[A-Z]{1,3}\d{1,3}\b")
_LINK = re.compile(r"\[([^]]*)\]\([^)]*\)")
_PRINTED = {"Figure": r"(?:Fig\.?|Figure|Figs)", "Table": r"(?:Tables?)"}


def deviations(paper: str) -> dict[str, str]:
    """Return a paper's deviations by id: ours against theirs, as its page lists them."""
    page = registry.folder(paper) / "README.md"
    text = page.read_text(encoding="utf-8") if page.is_file() else ""
    rows = re.findall(r"^\| (D\d+) \| (.*?) \| (.*?) \|", text, re.MULTILINE)
    return {name: f"{_plain(ours)} (theirs: {_plain(theirs)})" for name, ours, theirs in rows}


def _plain(text: str) -> str:
    return _LINK.sub(r"\1", text).replace("`", "").strip()


def inconsistencies(paper: str) -> dict[str, tuple[str, str]]:
    """Return the places where a paper disagrees with itself by id: where, and in what."""
    module = registry.MODULES[paper]
    if "paper_inconsistencies" not in published.names(module):
        return {}
    table = published.load(module, "paper_inconsistencies", as_printed=True)
    return {
        str(row["id"]): (
            str(row["where"]),
            f"printed {row.get('printed', '')}; recomputed {row.get('recomputed', '')}",
        )
        for row in table.to_dict("records")
    }


def told(paper: str, entry: Experiment, items: Iterable[Comparison]) -> Mapping[str, str]:
    """Return the ids that an experiment's title, notes, remarks and causes name, in words.

    An inconsistency also counts where the place that it is about is this table or figure.

    Parameters
    ----------
    paper : str
    entry : Experiment
    items : iterable of Comparison
        Its rows.
    """
    texts = [entry.title, *(t for c in items for t in (c.note, c.remark, c.tolerance, c.quantity))]
    texts += [item.cause.words for item in items if item.cause is not None]
    ids = dict.fromkeys(found for text in texts for found in _ID.findall(text))
    known = deviations(paper)
    odd = inconsistencies(paper)
    found = {name: known[name] for name in ids if name in known}
    for name, (where, what) in odd.items():
        if name in ids or _is_about(where, entry):
            found[name] = f"{where}: {what}"
    return found


def _is_about(where: str, entry: Experiment) -> bool:
    """Whether the words for a place name an experiment's table or figure by its number."""
    if not words.in_print(entry):
        return False
    kind, _, number = words.experiment(entry).partition(" ")
    form = _PRINTED.get(kind)
    if form is None:
        return False
    lists = re.findall(rf"\b{form}\s+([\dA-Z.]+(?:(?:,| and| to|,? and) [\dA-Z.]+)*)", where)
    return any(number in re.findall(r"[\dA-Z.]+", one) for one in lists)
