"""The commands that keep records, pages, instances and the environment; `cli` registers them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from papers.reproduce.options import (
    MOST_JOBS,
    PaperArgument,
    Preset,
    Seconds,
    Targets,
    examples,
)
from papers.reproduce.screen.console import console, warn

NOT_CERTIFIED, FAILED = 1, 3

app = typer.Typer()


@app.command(epilog=examples("reproduce record runs/lopes2019-paper-20251122-150000"))
def record(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a GPU run.")],
    anyway: Annotated[
        bool,
        typer.Option(
            "--anyway", help="Even if it is of no clean commit or has gaps; the record says so."
        ),
    ] = False,
) -> int:
    """Keep a finished GPU run of one clean commit as the recorded run of its paper on that card."""
    from papers.reproduce import registry
    from papers.reproduce.run import recording
    from papers.reproduce.run.runner import Run

    registry.demand_checkout("record")
    with Run.take(run) as current:
        for kept in recording.record(current, anyway):
            console().print(f"recorded: {kept}", soft_wrap=True)
    return 0


@app.command(epilog=examples("reproduce verify", "reproduce verify lopes2019 --seconds 60"))
def verify(
    record: Annotated[
        str | None,
        typer.Argument(metavar="[RECORD]", help="PAPER, PAPER/CARD or a folder; default all."),
    ] = None,
    seconds: Seconds = 30.0,
) -> int:
    """Check records: hashes, code, proofs, a sample solved anew, tables; exit 1 on faults."""
    from papers.reproduce.verify import checks, verifying

    out, results = console(), []
    for folder in checks.found(record):
        out.print(f"{folder.parents[1].name}/{folder.name}", style="bold")
        for check in verifying.verify(folder, seconds):
            results.append(check.result)
            out.print(f"  {check.result:<14}  {check.name:<10}  {check.why}", soft_wrap=True)
    return NOT_CERTIFIED if "failed" in results else 0


@app.command(epilog=examples("reproduce readme lopes2019"))
def readme(paper: PaperArgument) -> int:
    """Fill the tables and numbers of a paper's pages from its recorded runs."""
    from papers.reproduce import registry
    from papers.reproduce.report import readme as pages

    registry.demand_checkout("readme")
    console().print(f"written: {pages.fill(paper)}", soft_wrap=True)
    return 0


@app.command(epilog=examples("reproduce pictures runs/20251122-150000"))
def pictures(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run with its report.")],
) -> int:
    """Take the pictures of the front page: the report's first screen, pages to step through."""
    from papers.reproduce import pictures as taking
    from papers.reproduce import registry

    registry.demand_checkout("pictures")
    for path in taking.take(run):
        console().print(f"taken: {path}", soft_wrap=True)
    return 0


@app.command(
    epilog=examples("reproduce fetch deveci_matching", "reproduce fetch deveci_matching amazon0505")
)
def fetch(
    paper: PaperArgument,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME ...]", help="Which; default all that are not here."),
    ] = None,
) -> int:
    """Fetch real matrices from the SuiteSparse Collection into the cache."""
    from papers.reproduce import fetch as fetching

    out = console()
    failures = fetching.fetch(paper, names, lambda text: out.print(text, soft_wrap=True))
    for failure in failures:
        warn(failure)
    return FAILED if failures else 0


@app.command(epilog=examples("reproduce prepare deveci_matching:full_size"))
def prepare(
    targets: Targets = None,
    preset: Annotated[Preset, typer.Option(help="How much will be measured.")] = Preset.paper,
    jobs: Annotated[
        int,
        typer.Option(min=1, max=MOST_JOBS, help="Graphs at a time; each takes gigabytes."),
    ] = 2,
) -> int:
    """Draw large graphs into the cache beforehand; a run draws what it does not find there."""
    from papers.common.model import Plan
    from papers.reproduce import prepare as preparing
    from papers.reproduce import registry

    out = console()
    graphs = preparing.large(registry.resolve(list(targets or ())), Plan(preset.value, gpu=True))
    preparing.draw(graphs, jobs, lambda text: out.print(text, soft_wrap=True))
    return 0


@app.command(epilog=examples("reproduce env > environment.json"))
def env() -> None:
    """Print the environment record as a run would keep it."""
    from papers.common.gpu import environment
    from papers.reproduce.run import folder as store

    print(store.dump_json(environment.record()), end="")
