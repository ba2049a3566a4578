"""The command ``reproduce explain``; `cli` registers it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from papers.reproduce import targets
from papers.reproduce.options import Json, complete_target, examples
from papers.reproduce.screen.console import console

app = typer.Typer()


@app.command(
    epilog=examples(
        "reproduce explain lopes2019:table3",
        "reproduce explain lopes2019:table3 --row 'n=1024 step_6'",
        "reproduce explain lopes2019:table3 --run runs/mine --verbose",
    )
)
def explain(
    target: Annotated[
        str,
        typer.Argument(
            metavar="PAPER:EXPERIMENT",
            help="A table or a figure; `reproduce list` names them.",
            autocompletion=complete_target,
        ),
    ],
    row: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WORDS",
            help="Rows whose names have these words: also the cells that each is made of.",
        ),
    ] = None,
    run: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Explain this run's numbers; default the record's."),
    ] = None,
    record: Annotated[
        str | None,
        typer.Option(metavar="CARD", help="The record of this card; default the fullest one."),
    ] = None,
    json: Json = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Every row, reason, cell and kernel.")
    ] = False,
) -> int:
    """Go from a number to its origin: print, cells, solvers, kernels, code, machine; no GPU needed.

    Kernels are those that the solvers launch on a tiny instance in the CPU executor.
    """
    if run is not None and record is not None:
        raise targets.UsageError("--run and --record exclude one another")
    if json is not None:
        targets.probe_own(json, "--json", "reproduce explain, format")
    from papers.common.gpu import device
    from papers.reproduce.explain import explanation, text
    from papers.reproduce.run.folder import write_atomically

    device.select("cpu")
    most = 10_000 if verbose else explanation.MOST_TRACED
    found = explanation.explain(target, row or (), run, record, most)
    if json is not None:
        write_atomically(json, text.as_json(found))
    out = console()
    for line in text.lines(found, verbose):
        out.print(line, markup=False, highlight=False, soft_wrap=True)
    return 0
