"""Fills a paper's pages from its recorded runs.

``reproduce readme lopes2019`` (or ``python -m papers.reproduce.report.readme lopes2019``) rewrites
what stands between ``<!-- results: NAME -->`` and ``<!-- end -->`` in `RESULTS.md` with the rows of
experiment NAME that come from recorded runs, and makes the page where there is none. Every other
page of the paper (``*.md`` in its folder and below) may have such tables, too, and in all of them
it fills the numbers in sentences, see `papers.reproduce.report.values`. It makes the paper's row of
the front page (`papers.reproduce.report.front`), which `RESULTS.md` repeats at its head, between
``<!-- answer -->`` and ``<!-- end -->``. A test keeps pages and recorded runs equal.

Measurements that no recorded run has may lie in files beside a paper's code. Where the paper has a
module `evidence.measured`, a table between ``<!-- measured: NAME -->`` and ``<!-- end -->`` is made
from such files, by the function that the module's ``TABLES`` has under that name; the function
returns rows of text, the header first.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pandas as pd

from papers.common.evidence import published
from papers.common.model import Paper
from papers.reproduce import registry
from papers.reproduce.registry import UsageError
from papers.reproduce.report import front, values
from papers.reproduce.report.numbers import shown
from papers.reproduce.run import folder as store
from papers.reproduce.run import measurements, packed, records

PAGE = "RESULTS.md"
"""The page's name in a paper's folder."""

EVIDENCE = "evidence/"
"""The beginning of the name of a paper's own file, where an experiment's could stand."""

_OPENING = re.compile(r"<!-- (?:(?:results|measured):|answer)[^\n]*")
# A block ends at its own end mark: what stands up to the next block's mark must never be lost.
BLOCK = re.compile(
    r"(?P<opening><!-- (?P<kind>results|measured): (?P<name>\S+) -->\n)"
    r"(?:(?!<!-- (?:results|measured):).)*?(?P<end><!-- end -->)",
    re.DOTALL,
)
ANSWER = re.compile(
    r"(<!-- answer -->\n)(?:(?!<!-- (?:results|measured):).)*?(<!-- end -->)", re.DOTALL
)
"""The paper's answer at the head of the page: that of the front page."""

_NO_ROWS = "No recorded rows.\n"


class _Recorded:
    """The recorded rows of a paper's experiments, each table made once.

    Raises
    ------
    UsageError
        For an unknown paper, or one without recorded runs.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.folder = registry.folder(name)
        if not packed.held(self.folder / "results"):
            raise UsageError(f"{name} has no recorded run")
        recorded = records.seen_by(name, records.summaries(records.owners(name)))
        self._summary = measurements.usable(recorded)
        self._known = registry.experiments(name)
        self._tables: dict[str, tuple[pd.DataFrame, published.Published]] = {}

    def table(self, experiment: str) -> pd.DataFrame:
        """Return the recorded rows of one experiment; a column ``run`` where there are two runs.

        Of ``evidence/NAME`` the rows of the paper's own file.
        """
        kept = self.folder / f"{experiment}.csv"
        if experiment.startswith(EVIDENCE) and kept.is_file():
            return pd.read_csv(kept)
        if experiment not in self._known:
            raise UsageError(f"{self.name}/{PAGE}: there is no experiment {experiment!r}")
        return self._made(experiment)[0]

    def _made(self, experiment: str) -> tuple[pd.DataFrame, published.Published]:
        if experiment not in self._tables:
            # One reader each: the printed form of a number is that of the files read so far.
            numbers = published.loader(registry.MODULES[self.name])
            table = self._known[experiment].table(self._summary, numbers)
            self._tables[experiment] = _of_records(table), numbers
        return self._tables[experiment]

    def block(self, experiment: str) -> str:
        """Return the recorded rows of one experiment as a Markdown table."""
        table = self.table(experiment)
        if table.empty:
            return _NO_ROWS
        header, *body = shown(table, self._made(experiment)[1])
        return _markdown([[column.replace("_", " ") for column in header], *body])

    def first(self) -> str:
        """Return a new page: a heading and an empty block for each experiment with rows."""
        card = registry.card(self.name)
        head = (
            f"# Results: {_whose(card)}\n\n"
            "The tables between the marks are made from the recorded runs in `results/` by "
            f"`reproduce readme\n{self.name}`, and a test keeps them equal; the text between the "
            "tables is written by hand.\n"
        )
        parts = [
            f"\n## {key}: {experiment.title}\n\n<!-- results: {key} -->\n<!-- end -->\n"
            for key, experiment in self._known.items()
            if self.block(key) != _NO_ROWS
        ]
        return head + "".join(parts)


def _whose(card: Paper) -> str:
    return f"{card.authors}, {card.year}" if card.is_printed else card.title


def _markdown(rows: list[list[str]]) -> str:
    header, *body = rows
    lines = [
        "| " + " | ".join(text.replace("|", "\\|") for text in row) + " |"
        for row in (header, ["---"] * len(header), *body)
    ]
    return "\n".join(lines) + "\n"


def _of_records(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a table that are of recorded runs, without what is the same in all."""
    if "source" not in table:
        return table
    table = table[table["source"].astype(str).str.startswith("recorded")]
    runs = table["source"].str.removeprefix("recorded ")
    table = table.drop(columns=[c for c in ("source", "device") if c in table])
    if runs.nunique() > 1:
        table.insert(0, "run", runs)
    return table


def measured_tables(name: str) -> Mapping[str, Callable[[], list[list[str]]]]:
    """Return the functions that make a paper's tables from its own files, by the tables' names.

    They are ``TABLES`` of the paper's module `evidence.measured`; none where it has no such module.
    """
    module = f"{registry.MODULES[name]}.evidence.measured"
    try:
        found = importlib.util.find_spec(module)
    except ModuleNotFoundError as error:
        if not f"{module}.".startswith(f"{error.name}."):
            raise  # It lacks a package that the paper's code asks for.
        found = None
    return importlib.import_module(module).TABLES if found else {}


def measured(name: str, table: str, page: str = PAGE) -> str:
    """Return a table that comes from a paper's own files, in Markdown.

    Parameters
    ----------
    name, table : str
        The paper's name and the table's.
    page : str
        The page that asks for it, for the message.

    Raises
    ------
    UsageError
        For a table that the paper does not have.
    """
    known = measured_tables(name)
    if table not in known:
        listed = f"; there are: {', '.join(known)}" if known else ""
        hint = registry.meant(table, known)
        raise UsageError(f"{name}/{page}: there is no measured table {table!r}{listed}{hint}")
    return _markdown(known[table]())


def filled(name: str) -> str:
    """Return the results page of a paper with every block and every value made anew.

    Raises
    ------
    UsageError
        For an unknown paper, one without recorded runs, a mark that names no experiment or no
        measured table of the paper, or a mark without its end.
    """
    return _results(_Recorded(name))


def _results(recorded: _Recorded) -> str:
    path = recorded.folder / PAGE
    text = path.read_text(encoding="utf-8") if path.is_file() else recorded.first()
    return _made(recorded, PAGE, text)


def _made(recorded: _Recorded, page: str, text: str) -> str:
    """Return a page's text with its blocks and values made anew."""
    begun = {found.start() for mark in (BLOCK, ANSWER) for found in mark.finditer(text)}
    for found in _OPENING.finditer(text):
        if found.start() not in begun:
            raise UsageError(
                f"{recorded.name}/{page}: {found[0]} lacks its name or its <!-- end -->"
            )

    def made(found: re.Match[str]) -> str:
        if found["kind"] == "results":
            table = recorded.block(found["name"])
        else:
            table = measured(recorded.name, found["name"], page)
        return found["opening"] + table + found["end"]

    if ANSWER.search(text):
        told = front.answer(recorded.name)
        text = ANSWER.sub(lambda found: found[1] + told + found[2], text)
    return values.filled(BLOCK.sub(made, text), recorded.table)


def pages(name: str) -> dict[Path, str]:
    """Return every page of a paper that has something of its records, made anew, by its path.

    Raises
    ------
    UsageError
        As `filled`.
    """
    recorded = _Recorded(name)
    results = recorded.folder / PAGE
    found = {results: _results(recorded)}
    for path in sorted(recorded.folder.rglob("*.md")):
        text = path.read_text(encoding="utf-8")
        if path != results and ("<!-- value:" in text or _OPENING.search(text)):
            page = path.relative_to(recorded.folder).as_posix()
            found[path] = _made(recorded, page, text)
    return found


def fill(name: str) -> Path:
    """Write the pages of a paper, each whole or not at all, and its row of the front page.

    Returns
    -------
    Path
        That of `RESULTS.md`.
    """
    front.fill(name)
    for path, text in pages(name).items():
        store.write_atomically(path, text)
    return registry.folder(name) / PAGE


def main(arguments: list[str]) -> int:
    """Write the pages of the named papers."""
    for name in arguments:
        fill(name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
