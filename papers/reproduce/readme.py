"""Fills the results section of a paper's README from its recorded runs.

``python -m papers.reproduce.readme lopes2019`` rewrites what stands between
``<!-- results: NAME -->`` and ``<!-- end -->`` with the rows of experiment NAME that come from
recorded runs. A test keeps README and recorded runs equal.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pandas as pd

from papers.common import published
from papers.reproduce import measurements, registry
from papers.reproduce.text import shown

BLOCK = re.compile(r"(<!-- results: (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(name: str) -> str:
    """Return the README of a paper with every results block made anew.

    Raises
    ------
    KeyError
        If a block names no experiment of the paper.
    """
    folder = registry.folder(name)
    tables = [table for _, table, _ in measurements.recorded_runs(folder / "results")]
    if not tables:
        raise FileNotFoundError(f"{name} has no recorded run")
    summary = measurements.usable(measurements.summarize(pd.concat(tables)))
    text = (folder / "README.md").read_text(encoding="utf-8")
    return BLOCK.sub(lambda found: found[1] + _block(name, found[2], summary) + found[3], text)


def _block(name: str, experiment: str, summary: pd.DataFrame) -> str:
    numbers = published.loader(registry.MODULES[name])
    table = registry.experiments(name)[experiment].table(summary, numbers)
    table = table[table["source"].str.startswith("recorded")]
    devices = table["source"].str.removeprefix("recorded ")
    table = table.drop(columns=[c for c in ("source", "device") if c in table])
    if devices.nunique() > 1:
        table.insert(0, "run", devices)
    rows = [
        "| " + " | ".join(cell.replace("_", " ") if first else cell for cell in row) + " |"
        for first, row in zip([True] + [False] * len(table), shown(table, numbers), strict=True)
    ]
    rows.insert(1, "|" + " --- |" * len(table.columns))
    return "\n".join(rows) + "\n"


def main(arguments: list[str]) -> int:
    """Rewrite the READMEs of the named papers."""
    for name in arguments:
        path = Path(registry.folder(name)) / "README.md"
        path.write_text(filled(name), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
