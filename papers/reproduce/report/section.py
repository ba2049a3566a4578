"""Makes the sections of a report: one experiment's table, comparisons, figures and files each."""

from __future__ import annotations

import multiprocessing
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import pandas as pd

from papers.common import cores
from papers.common.evidence import plots, published
from papers.common.evidence.comparisons import THIS_RUN
from papers.common.evidence.intervals import Evidence
from papers.common.evidence.judges import by_origin
from papers.common.evidence.tables import NOT_MEASURED
from papers.common.model import Comparison, Experiment, Paper
from papers.reproduce import registry
from papers.reproduce.report.numbers import compared, shown
from papers.reproduce.report.tally import sort_of
from papers.reproduce.run import json_files
from papers.reproduce.run.runner import Run
from papers.reproduce.site import charts
from papers.reproduce.site.rows import Row
from papers.reproduce.site.rows import rows as as_rows


@dataclass
class Section:
    """One experiment of the report.

    Attributes
    ----------
    paper : Paper
        Its paper's card.
    experiment : Experiment
        Its entry.
    rows : list of list of str
        The table as shown, header first; empty if there is none or if it holds no row.
    comparisons : list of Comparison
        Published beside measured, and checks of our own.
    compared : list of list of str
        The same as text, in the same order; see `papers.reproduce.report.numbers.compared`.
    origins : list of str
        The origin of each row of the table, the header left out.
    judged : list of papers.reproduce.site.rows.Row
        The comparisons as the site shows them, in the same order.
    charts : dict of str to list of dict, or str
        The panels of the figure by origin, see `papers.reproduce.site.charts`; a text says why
        there is no chart.
    figure : Path or None
        The PNG, relative to the run folder.
    pictures : list of (caption, Path)
        The captions and files that the experiment's artifacts made.
    problem : str
        The error that kept the section from being made, or "".
    """

    paper: Paper
    experiment: Experiment
    rows: list[list[str]] = field(default_factory=list)
    comparisons: list[Comparison] = field(default_factory=list)
    compared: list[list[str]] = field(default_factory=list)
    origins: list[str] = field(default_factory=list)
    judged: list[Row] = field(default_factory=list)
    charts: dict[str, list[dict[str, Any]] | str] = field(default_factory=dict)
    figure: Path | None = None
    pictures: list[tuple[str, Path]] = field(default_factory=list)
    problem: str = ""

    @property
    def name(self) -> str:
        """``<paper>_<experiment>``: the stem of its files and its anchor."""
        return f"{self.paper.name}_{self.experiment.name}"

    @property
    def marks(self) -> str:
        """The marks that tell print from ours in the figure; "" without such, or if unknown."""
        drawn = [panel for found in self.charts.values() if not isinstance(found, str)
                 for panel in found]  # fmt: skip
        return charts.marks(drawn)

    def lines(self, sort: str, origin: str | None = None) -> list[list[str]]:
        """Return the rows of `compared` of one sort: comparisons with print, or checks of our own.

        Parameters
        ----------
        sort : str
            A key of `papers.reproduce.report.tally.SORTS`.
        origin : str, optional
            Only those of this origin.
        """
        return [
            line
            for item, line in zip(self.comparisons, self.compared, strict=True)
            if sort_of(item) == sort and origin in (None, item.origin)
        ]


def _pictures(run: Run, name: str) -> list[tuple[str, Path]]:
    made = json_files.read_optional(run.folder / "artifacts.json", json_files.ARTIFACTS)
    # An entry is a caption and a file of the folder `artifacts`, which nothing leads out of.
    folder = (run.folder / "artifacts").resolve()
    entries = [entry for entry in made.get(name, []) if len(entry) == 2]
    files = [(caption, (folder / file).resolve()) for caption, file in entries]
    return [
        (caption, Path("artifacts") / file.relative_to(folder))
        for caption, file in files
        if file.is_relative_to(folder) and file.is_file()
    ]


def _section(run: Run, paper: str, experiment: Experiment, evidence: Evidence) -> Section:
    """Make one experiment's files; what goes wrong in it becomes the section's `problem`."""
    section = Section(registry.card(paper), experiment)
    section.pictures = _pictures(run, f"{paper}:{experiment.name}")
    if experiment.unavailable:
        return section
    numbers = published.loader(registry.MODULES[paper])
    try:
        table = experiment.table(evidence.summary, numbers)
        if experiment.compare is not None:
            section.comparisons = evidence.compare(experiment, table, numbers)
            section.compared = compared(section.comparisons, numbers)
            tuned = tuned_figures(experiment, table, section.comparisons)
            section.judged = as_rows(section.name, section.comparisons, tuned, numbers)
        if not table.empty:
            _write_table(run, section, table, numbers)
    except Exception as error:
        section.problem = f"{type(error).__name__}: {error}"
        section.figure = None
    return section


_ALONE = 4
"""Sections up to which no further process is worth its start."""


def sections(run: Run, evidence: dict[str, Evidence]) -> list[Section]:
    """Make all sections, each by itself, on all cores: most of a report's time is in them.

    A process that is forked knows the evidence already; a section's experiment holds functions,
    which cannot be sent, and is put back here.
    """
    pairs = run.experiments()
    workers = min(cores.allowed(), len(pairs))

    def make(place: int) -> Section:
        paper, experiment = pairs[place]
        return _section(run, paper, experiment, evidence[paper])

    if workers < 2 or len(pairs) <= _ALONE or threading.active_count() > 1:
        return list(map(make, range(len(pairs))))
    _MAKERS.append(make)
    try:
        with multiprocessing.get_context("fork").Pool(workers, _leave_signals) as pool:
            made = pool.map(_made, range(len(pairs)), chunksize=1)
    finally:
        _MAKERS.pop()
    return [
        Section(registry.card(paper), experiment, **facts)
        for (paper, experiment), facts in zip(pairs, made, strict=True)
    ]


def _leave_signals() -> None:
    """In a forked process: Ctrl-C is the parent's, and its handlers of other signals are not ours.

    The pool ends its processes by SIGTERM, which the parent would take for a batch system's.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


_MAKERS: list[Callable[[int], Section]] = []
"""The function that forked processes call: they inherit it."""


def _made(place: int) -> dict[str, Any]:
    """Return the fields of one section that can be sent to the parent."""
    section = _MAKERS[-1](place)
    told = (f.name for f in fields(Section) if f.name not in ("paper", "experiment"))
    return {name: getattr(section, name) for name in told}


def _write_table(
    run: Run, section: Section, table: pd.DataFrame, numbers: published.Published
) -> None:
    """Write a table's CSV, and its figure if it has one."""
    section.rows = shown(table, numbers)
    whose = table["source"] if "source" in table else [THIS_RUN] * len(table)
    section.origins = [str(origin) for origin in whose]
    path = run.folder / "tables" / f"{section.name}.csv"
    table.to_csv(path, index=False, lineterminator="\n")
    with plots.house_style():
        figure = section.experiment.figure
        drawn = figure(table) if figure is not None else None
    if drawn is None:
        return
    plots.save(drawn, run.folder / "figures" / f"{section.name}.png")
    section.figure = Path("figures") / f"{section.name}.png"
    section.charts = {
        origin: _chart(section.experiment, rows) for origin, rows in _by_origin(table)
    }


def _by_origin(table: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield each origin and the rows that its figure is made of: its own, and print's."""
    if "source" not in table:
        yield THIS_RUN, table
        return
    for origin in dict.fromkeys(table["source"].astype(str)):
        if origin != NOT_MEASURED:
            yield origin, table[table["source"].isin([origin, NOT_MEASURED])]


def _chart(experiment: Experiment, rows: pd.DataFrame) -> list[dict[str, Any]] | str:
    """Return the panels of one origin's figure, or why there are none."""
    assert experiment.figure is not None
    try:
        with plots.house_style():
            return charts.panels(experiment.figure(rows))
    except charts.UnknownArtistError as error:
        return f"There is no interactive chart of it ({error})."


def tuned_figures(
    experiment: Experiment, table: pd.DataFrame, items: Sequence[Comparison]
) -> dict[int, float | str | None]:
    """Return the figures that the experiment's own comparison finds for the tuned configuration.

    A table with a column ``tuned_x`` beside ``x`` (or ``cuda_x``, ``measured_x``) is compared once
    more with the one in the place of the other.

    Parameters
    ----------
    experiment : Experiment
        With `compare`.
    table : DataFrame
        Its table.
    items : sequence of Comparison
        Its comparisons.

    Returns
    -------
    dict of int to figure
        By the comparison's place; those alone that are other figures than the paper's
        configuration has.
    """
    swapped = table.copy()
    for column in table.columns:
        name = str(column)
        kept = name.removeprefix("tuned_")
        bases = [base for base in (kept, f"cuda_{kept}", f"measured_{kept}") if base in table]
        if name != kept and bases:
            swapped[bases[0]] = table[column]
    if swapped.equals(table) or experiment.compare is None:
        return {}
    found = by_origin(experiment.compare, swapped)
    known = {(item.origin, item.quantity): item.measured for item in found}
    pairs = ((place, known.get((c.origin, c.quantity)), c) for place, c in enumerate(items))
    return {place: tuned for place, tuned, c in pairs if tuned is not None and tuned != c.measured}
