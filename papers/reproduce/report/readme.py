"""Fills a paper's `RESULTS.md` from its recorded runs.

``reproduce readme lopes2019`` (or ``python -m papers.reproduce.report.readme lopes2019``) rewrites
what stands between ``<!-- results: NAME -->`` and ``<!-- end -->`` with the rows of experiment NAME
that come from recorded runs, and makes the page where there is none. A test keeps page and recorded
runs equal. The paper's `README.md`, which teaches, links into this page.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pandas as pd

from papers.common.evidence import published
from papers.reproduce import registry
from papers.reproduce.registry import UsageError
from papers.reproduce.report.numbers import shown
from papers.reproduce.run import folder as store
from papers.reproduce.run import measurements, records

PAGE = "RESULTS.md"
"""The page's name in a paper's folder."""

_OPENING = re.compile(r"<!-- results:")
# A block ends at its own end mark: what stands up to the next block's mark must never be lost.
BLOCK = re.compile(r"(<!-- results: (\S+) -->\n)(?:(?!<!-- results:).)*?(<!-- end -->)", re.DOTALL)
_NO_ROWS = "No recorded rows.\n"


def filled(name: str) -> str:
    """Return the results page of a paper with every block made anew.

    Raises
    ------
    UsageError
        For an unknown paper, one without recorded runs, a block that names no experiment of the
        paper, or a block without its end mark.
    """
    folder = registry.folder(name)
    if not list((folder / "results").glob("*/measurements.csv")):
        raise UsageError(f"{name} has no recorded run")
    recorded = records.seen_by(name, records.summaries(records.owners(name)))
    summary = measurements.usable(recorded)
    path = folder / PAGE
    text = path.read_text(encoding="utf-8") if path.is_file() else _first(name, summary)
    if len(_OPENING.findall(text)) != len(BLOCK.findall(text)):
        raise UsageError(f"{name}/{PAGE}: a results block lacks its name or its <!-- end -->")
    return BLOCK.sub(lambda found: found[1] + _block(name, found[2], summary) + found[3], text)


def _first(name: str, summary: pd.DataFrame) -> str:
    """Return a new page: a heading and an empty block for each experiment with recorded rows."""
    card = registry.card(name)
    head = (
        f"# Results: {card.authors}, {card.year}\n\n"
        "The tables between the marks are made from the recorded runs in `results/` by `reproduce "
        f"readme\n{name}`, and a test keeps them equal; the text between the tables is written by "
        "hand.\n"
    )
    parts = [
        f"\n## {key}: {experiment.title}\n\n<!-- results: {key} -->\n<!-- end -->\n"
        for key, experiment in registry.experiments(name).items()
        if _block(name, key, summary) != _NO_ROWS
    ]
    return head + "".join(parts)


def _block(name: str, experiment: str, summary: pd.DataFrame) -> str:
    """Return the recorded rows of one experiment as a Markdown table."""
    known = registry.experiments(name)
    if experiment not in known:
        raise UsageError(f"{name}/{PAGE}: there is no experiment {experiment!r}")
    numbers = published.loader(registry.MODULES[name])
    table = known[experiment].table(summary, numbers)
    if "source" in table:
        table = table[table["source"].astype(str).str.startswith("recorded")]
        runs = table["source"].str.removeprefix("recorded ")
        table = table.drop(columns=[c for c in ("source", "device") if c in table])
        if runs.nunique() > 1:
            table.insert(0, "run", runs)
    if table.empty:
        return _NO_ROWS
    header, *body = shown(table, numbers)
    rows = [[column.replace("_", " ") for column in header], ["---"] * len(header), *body]
    lines = ["| " + " | ".join(text.replace("|", "\\|") for text in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def pages(name: str) -> dict[Path, str]:
    """Return every page of a paper that is made from its records, made anew, by its path."""
    return {registry.folder(name) / PAGE: filled(name)}


def fill(name: str) -> Path:
    """Write the results page of a paper, whole or not at all; return its path."""
    path = registry.folder(name) / PAGE
    store.write_atomically(path, filled(name))
    return path


def main(arguments: list[str]) -> int:
    """Write the results pages of the named papers."""
    for name in arguments:
        fill(name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
