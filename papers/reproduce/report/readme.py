"""Fills the results section of a paper's README from its recorded runs.

``reproduce readme lopes2019`` (or ``python -m papers.reproduce.report.readme lopes2019``) rewrites
what stands between ``<!-- results: NAME -->`` and ``<!-- end -->`` with the rows of experiment NAME
that come from recorded runs. A test keeps README and recorded runs equal.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pandas as pd

from papers.common.evidence import published
from papers.common.model import Plan
from papers.reproduce import registry
from papers.reproduce.registry import UsageError
from papers.reproduce.report.numbers import shown
from papers.reproduce.run import folder as store
from papers.reproduce.run import measurements

_OPENING = re.compile(r"<!-- results:")
# A block ends at its own end mark: what stands up to the next block's mark must never be lost.
BLOCK = re.compile(r"(<!-- results: (\S+) -->\n)(?:(?!<!-- results:).)*?(<!-- end -->)", re.DOTALL)


def filled(name: str) -> str:
    """Return the README of a paper with every results block made anew.

    Raises
    ------
    UsageError
        For an unknown paper, one without recorded runs, a block that names no experiment of the
        paper, or a block without its end mark.
    OSError
        If the paper has no README.
    """
    folder = registry.folder(name)
    text = (folder / "README.md").read_text(encoding="utf-8")
    if len(_OPENING.findall(text)) != len(BLOCK.findall(text)):
        raise UsageError(f"{name}/README.md: a results block lacks its name or its <!-- end -->")
    if not list(measurements.recorded_runs(folder / "results")):
        raise UsageError(f"{name} has no recorded run")
    tables = [
        table
        for owner in _owners(name)
        for _, table, _ in measurements.recorded_runs(registry.folder(owner) / "results")
    ]
    summary = measurements.usable(measurements.summarize(pd.concat(tables)))
    return BLOCK.sub(lambda found: found[1] + _block(name, found[2], summary) + found[3], text)


def _owners(name: str) -> list[str]:
    """Return the paper and those whose solvers its experiments measure."""
    plan = Plan("paper", gpu=True)
    cells = (cell for each in registry.experiments(name).values() for cell in each.cells(plan))
    return list(dict.fromkeys([name, *(registry.owner(cell.solver) for cell in cells)]))


def _block(name: str, experiment: str, summary: pd.DataFrame) -> str:
    """Return the recorded rows of one experiment as a Markdown table."""
    known = registry.experiments(name)
    if experiment not in known:
        raise UsageError(f"{name}/README.md: there is no experiment {experiment!r}")
    numbers = published.loader(registry.MODULES[name])
    table = known[experiment].table(summary, numbers)
    if "source" in table:
        table = table[table["source"].astype(str).str.startswith("recorded")]
        runs = table["source"].str.removeprefix("recorded ")
        table = table.drop(columns=[c for c in ("source", "device") if c in table])
        if runs.nunique() > 1:
            table.insert(0, "run", runs)
    if table.empty:
        return "No recorded rows.\n"
    header, *body = shown(table, numbers)
    rows = [[column.replace("_", " ") for column in header], ["---"] * len(header), *body]
    lines = ["| " + " | ".join(text.replace("|", "\\|") for text in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def fill(name: str) -> Path:
    """Rewrite the README of a paper, whole or not at all; return its path."""
    path = registry.folder(name) / "README.md"
    store.write_atomically(path, filled(name))
    return path


def main(arguments: list[str]) -> int:
    """Rewrite the READMEs of the named papers."""
    for name in arguments:
        fill(name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
