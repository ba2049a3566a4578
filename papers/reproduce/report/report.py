"""Tables, figures, the site and report.md of a run, all made from its files alone.

Everything here is a function of the run folder and of the package: no GPU, no clock, no date.
The same `measurements.csv` gives the same bytes.
"""

from __future__ import annotations

import functools
import math
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd

from papers.common.evidence import published
from papers.common.evidence.comparisons import THIS_RUN
from papers.common.evidence.intervals import Evidence
from papers.reproduce import registry
from papers.reproduce.plan import cells
from papers.reproduce.report.numbers import numeric_columns, show_number
from papers.reproduce.report.section import Section, sections
from papers.reproduce.report.tally import SORTS, VERDICTS, tallies
from papers.reproduce.run import folder as store
from papers.reproduce.run import measurements, records, runner
from papers.reproduce.run.runner import Run
from papers.reproduce.site import site


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


def _clear(run: Run) -> None:
    """Remove the derived files of an earlier report, so that none outlives its experiment."""
    for folder, pattern in (("tables", "*.csv"), ("figures", "*.png")):
        (run.folder / folder).mkdir(exist_ok=True)
        for old in (run.folder / folder).glob(pattern):
            old.unlink()


def build(run: Run) -> list[Section]:
    """Write summary.csv (its own measurements), tables, figures, report.md and site of a run.

    Parameters
    ----------
    run : Run
        A run, finished or not: cells without a measurement are listed as missing.

    Returns
    -------
    list of Section
        The sections of the report, for the terminal.
    """
    papers_of_it = dict(run.experiments())  # Before anything is removed: it may refuse the run.
    _clear(run)
    summary = summary_of(run)
    mine = summary.loc[summary[records.RECORD] == "", list(measurements.SUMMARY)]
    mine.to_csv(run.folder / "summary.csv", index=False, lineterminator="\n")
    seen = {name: records.seen_by(name, summary) for name in papers_of_it}
    evidence = {name: Evidence(measurements.usable(rows)) for name, rows in seen.items()}
    found = sections(run, evidence)
    context = _context(run, summary, found)
    text = _templates().get_template("report.md.j2").render(context)
    store.write_atomically(run.folder / "report.md", text)
    site.write(run.folder, context)
    return found


# ------------------------------------------------------------------------------ the two pages


@functools.cache
def _templates() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).with_name("templates")),
        autoescape=False,
        finalize=_no_tags,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )

    environment.filters.update(number=show_number, markdown=_markdown, numeric=numeric_columns)
    return environment


def _markdown(value: Any) -> str:
    """Return `value` as the text of a Markdown table's field."""
    return show_number(value).replace("|", "\\|").replace("\n", " ")


def _no_tags(value: Any) -> Any:
    """Return text that Markdown takes for no HTML; every value that the template writes is such."""
    return value.replace("<", "&lt;") if isinstance(value, str) else value


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


def _records(papers: list[str]) -> dict[str, list[tuple[str, dict[str, Any]]]]:
    """Return the origin and the environment of every record, by paper."""
    return {
        name: list(measurements.environments(registry.folder(name) / "results")) for name in papers
    }


def _context(run: Run, summary: pd.DataFrame, sections: list[Section]) -> dict[str, Any]:
    """Return the variables of the two templates."""
    papers = list(dict.fromkeys(section.paper.name for section in sections))
    states = _states(run, summary)
    found = [state["status"] for state in states]
    read_meta = functools.cache(store.read_meta)  # Many experiments stand in one record.
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
        "records": _records(papers),
        "inconsistencies": _inconsistencies(papers),
        "options": run.meta["options"],
        "command": command(run.meta),
        "commands": {section.name: _commands(run, section, read_meta) for section in sections},
    }


def command(meta: Mapping[str, Any], targets: Sequence[str] | None = None) -> str:
    """Return the command that asks for the same plan, quoted for a shell.

    Parameters
    ----------
    meta : mapping
        A run's ``meta.json``.
    targets : sequence of str, optional
        Papers and experiments instead of the run's own.
    """
    options = meta["options"]
    wanted = _shortest(meta["experiments"]) if targets is None else list(targets)
    words = ["reproduce", "run", *wanted, "--preset", options["preset"]]
    if not meta["device"].get("is_gpu", True):
        words += ["--device", "cpu"]
    words += [word for only in options["only"] for word in ("--only", only)]
    words += [word for seed in options["seeds"] for word in ("--seed", str(seed))]
    if options["repeats"] is not None:
        words += ["--repeats", str(options["repeats"])]
    if options["timeout_s"] != cells.TIMEOUT_S[options["preset"]]:
        words += ["--timeout", f"{options['timeout_s']:g}"]
    return shlex.join(words)


def _commands(
    run: Run, section: Section, read_meta: Callable[[Path], Mapping[str, Any]]
) -> list[tuple[str, str]]:
    """Return the command of one experiment by origin: this run's, and those of the records."""
    target = [f"{section.paper.name}:{section.experiment.name}"]
    found = [(THIS_RUN, command(run.meta, target))]
    for folder in sorted((registry.folder(section.paper.name) / "results").glob("*/meta.json")):
        origin = f"recorded {folder.parent.name}"
        if origin in section.origins:
            found.append((origin, command(read_meta(folder.parent), target)))
    return found


def _shortest(experiments: Sequence[str]) -> list[str]:
    """Return targets that name the experiments: a paper where all of it is meant, none for all."""
    whole: list[str] = []
    left = list(experiments)
    for paper in dict.fromkeys(name.partition(":")[0] for name in experiments):
        of_it = [f"{paper}:{name}" for name in registry.experiments(paper)]
        if set(of_it) <= set(experiments):
            whole.append(paper)
            left = [name for name in left if name not in of_it]
    return [] if not left and set(whole) == set(registry.MODULES) else [*whole, *left]
