"""Tables, figures and the two reports of a run, all made from its files alone.

Everything here is a function of the run folder and of the package: no GPU, no clock, no date.
The same `measurements.csv` gives the same bytes.
"""

from __future__ import annotations

import base64
import math
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd

from papers.common.evidence import plots, published
from papers.common.evidence.intervals import Evidence
from papers.common.model import Comparison, Experiment, Paper
from papers.reproduce import registry
from papers.reproduce.plan import cells
from papers.reproduce.report.numbers import compared, numeric_columns, show_number, shown
from papers.reproduce.report.tally import SORTS, VERDICTS, sort_of, tallies
from papers.reproduce.run import folder as store
from papers.reproduce.run import json_files, measurements, records, runner
from papers.reproduce.run.runner import Run


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
    figure: Path | None = None
    pictures: list[tuple[str, Path]] = field(default_factory=list)
    problem: str = ""

    @property
    def name(self) -> str:
        """``<paper>_<experiment>``: the stem of its files and its anchor."""
        return f"{self.paper.name}_{self.experiment.name}"

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


# ------------------------------------------------------------------------------ sections


def summary_of(run: Run) -> pd.DataFrame:
    """Return the summary of this run and of the recorded runs of the papers it is about.

    A paper's experiments may name another paper's solvers: then that one's recorded runs count too.
    Each run is reduced by itself, and the column `records.RECORD` tells whose record a row is of;
    `records.seen_by` chooses among them for one paper's experiments.
    """
    names = dict.fromkeys(paper for paper, _ in run.experiments())
    names |= dict.fromkeys(owner for name in list(names) for owner in records.owners(name))
    mine = measurements.summarize(run.measured()).assign(**{records.RECORD: ""})
    recorded = records.summaries(names)
    return pd.concat([part for part in (mine, recorded) if len(part)] or [mine], ignore_index=True)


def _pictures(run: Run, name: str) -> list[tuple[str, Path]]:
    made = json_files.read_optional(run.folder / "artifacts.json", json_files.ARTIFACTS)
    # Of an entry the first is the caption, the last the name of a file of the folder `artifacts`.
    entries = [entry for entry in made.get(name, []) if len(entry) == 2]
    files = [(caption, Path("artifacts") / Path(file).name) for caption, file in entries]
    return [(caption, file) for caption, file in files if (run.folder / file).is_file()]


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
        if not table.empty:
            _write_table(run, section, table, numbers)
    except Exception as error:
        section.problem = f"{type(error).__name__}: {error}"
        section.figure = None
    return section


_ALONE = 4
"""Sections up to which no further process is worth its start."""


def _sections(run: Run, evidence: dict[str, Evidence]) -> list[Section]:
    """Make all sections, each by itself, on all cores: most of a report's time is in them.

    A process that is forked knows the evidence already; a section's experiment holds functions,
    which cannot be sent, and is put back here.
    """
    pairs = run.experiments()
    workers = min(len(os.sched_getaffinity(0)), len(pairs))

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
    path = run.folder / "tables" / f"{section.name}.csv"
    table.to_csv(path, index=False, lineterminator="\n")
    with plots.house_style():
        figure = section.experiment.figure
        drawn = figure(table) if figure is not None else None
    if drawn is None:
        return
    plots.save(drawn, run.folder / "figures" / f"{section.name}.png")
    section.figure = Path("figures") / f"{section.name}.png"


def _clear(run: Run) -> None:
    """Remove the derived files of an earlier report, so that none outlives its experiment."""
    for folder, pattern in (("tables", "*.csv"), ("figures", "*.png")):
        (run.folder / folder).mkdir(exist_ok=True)
        for old in (run.folder / folder).glob(pattern):
            old.unlink()


def build(run: Run) -> list[Section]:
    """Write summary.csv, tables, figures, report.md and report.html of a run.

    Parameters
    ----------
    run : Run
        A run, finished or not: cells without a measurement are listed as missing.

    Returns
    -------
    list of Section
        The sections of the report, for the terminal.
    """
    _clear(run)
    summary = summary_of(run)
    kept = summary[[*measurements.SUMMARY, records.RECORD]]
    kept.to_csv(run.folder / "summary.csv", index=False, lineterminator="\n")
    seen = {name: records.seen_by(name, summary) for name in dict(run.experiments())}
    evidence = {name: Evidence(measurements.usable(rows)) for name, rows in seen.items()}
    sections = _sections(run, evidence)
    context = _context(run, summary, sections)
    for name in ("report.md", "report.html"):
        text = _templates(run).get_template(f"{name}.j2").render(context)
        store.write_atomically(run.folder / name, text)
    return sections


# ------------------------------------------------------------------------------ the two pages


def _templates(run: Run) -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).with_name("templates")),
        autoescape=jinja2.select_autoescape(["html.j2"]),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )

    def embedded(path: Path) -> str:
        """Return a PNG of the run as a data URI."""
        data = base64.b64encode((run.folder / path).read_bytes()).decode("ascii")
        return f"data:image/png;base64,{data}"

    environment.filters.update(
        embedded=embedded, number=show_number, markdown=_markdown, numeric=numeric_columns
    )
    return environment


def _markdown(value: Any) -> str:
    """Return `value` as the text of a Markdown table's field."""
    return show_number(value).replace("|", "\\|").replace("\n", " ")


def _states(run: Run, summary: pd.DataFrame) -> list[dict[str, Any]]:
    """Return one entry per planned cell, those that were never reached included."""
    mine = summary[summary["source"] == measurements.THIS_RUN]
    table = measurements.cells(mine)
    known = {row["cell"]: row for row in table.to_dict("records")}
    missing = {"status": "missing", "certificate": "none", "reason": "not reached", "count": 0}
    blank = {"device": "", "run_ms": math.nan, "timed": "", "spread": ""}
    return [known.get(job.key, {**missing, **blank, "cell": job.key}) for job in run.jobs]


def _flags(run: Run, states: list[dict[str, Any]]) -> list[str]:
    """Return what a reader must know before believing the times."""
    few = [s for s in states if s["status"] == "ok" and 0 < int(s["count"]) < 5]
    notes = run.mixed()
    bimodal = [s["cell"] for s in states if str(s["spread"]).startswith("bimodal")]
    if bimodal:
        listed = ", ".join(bimodal[:3]) + (" ..." if len(bimodal) > 3 else "")
        notes.append(
            f"The repetitions of {len(bimodal)} cells fall into two groups, so that a median is "
            f"that of one of them (see the column spread): {listed}."
        )
    if few:
        notes.append(
            f"{len(few)} of {len(states)} cells were timed fewer than five times; their quartiles "
            "say little (see the column repeats)."
        )
    if any(s["device"] == "CPU executor" for s in states):
        notes.append(
            "Kernels ran in the CPU executor: their answers and counts are real, their times say "
            "nothing about a GPU."
        )
    return notes


def _inconsistencies(papers: list[str]) -> list[tuple[str, list[list[str]]]]:
    """Return what each paper's own numbers disagree in, as tables of text."""
    found = []
    for name in papers:
        module = registry.MODULES[name]
        if "paper_inconsistencies" in published.names(module):
            table = published.load(module, "paper_inconsistencies", as_printed=True)
            rows = [list(map(str, row)) for row in table.itertuples(index=False, name=None)]
            found.append((name, [list(map(str, table.columns)), *rows]))
    return found


def _recorded(papers: list[str]) -> list[tuple[str, dict[str, Any]]]:
    return [
        (f"{source}, {name}", record)
        for name in papers
        for source, _, record in measurements.recorded_runs(registry.folder(name) / "results")
    ]


def _context(run: Run, summary: pd.DataFrame, sections: list[Section]) -> dict[str, Any]:
    """Return the variables of the two templates."""
    papers = list(dict.fromkeys(section.paper.name for section in sections))
    states = _states(run, summary)
    found = [state["status"] for state in states]
    return {
        "cards": [registry.card(name) for name in papers],
        "sections": sections,
        "states": states,
        "bad": [state for state in states if state["status"] != "ok"],
        "counts": {name: found.count(name) for name in (*measurements.STATUSES, *found)},
        "verdicts": VERDICTS,
        "sorts": SORTS,
        "tallies": tallies(c for section in sections for c in section.comparisons),
        "flags": _flags(run, states),
        "environment": runner.load_environment(run.folder),
        "recorded": _recorded(papers),
        "inconsistencies": _inconsistencies(papers),
        "options": run.meta["options"],
        "command": _command(run),
    }


def _command(run: Run) -> str:
    """Return the command that asks for the same plan."""
    options = run.meta["options"]
    words = ["reproduce run", *run.meta["experiments"], "--preset", options["preset"]]
    words += [f"--only {word}" for word in options["only"]]
    words += [f"--seed {seed}" for seed in options["seeds"]]
    if options["repeats"] is not None:
        words.append(f"--repeats {options['repeats']}")
    if options["timeout_s"] != cells.TIMEOUT_S[options["preset"]]:
        words.append(f"--timeout {options['timeout_s']:g}")
    return " ".join(words)
