"""The command ``reproduce bench``; `cli` registers it."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from papers.reproduce.options import (
    Device,
    DeviceOption,
    Json,
    Only,
    Preset,
    Quiet,
    Repeats,
    Seeds,
    Timeout,
    Verbose,
    complete_solver,
    complete_target,
    examples,
)
from papers.reproduce.registry import UsageError
from papers.reproduce.screen.console import Volume

app = typer.Typer()


class ProblemChoice(StrEnum):
    """The problem that a function solves."""

    assignment = "assignment"
    matching = "matching"
    flow = "flow"


@app.command(
    epilog=examples(
        "reproduce bench my_solver:solve --on lopes2019:table1 --only n=512",
        "reproduce bench my_solver:solve --file costs.npy --against lopes2019:cpu_o4",
        "reproduce bench scipy.optimize:linear_sum_assignment --on lopes2019:table3",
        "reproduce bench --resume runs/bench-quick-20251122-150000",
    )
)
def bench(
    function: Annotated[
        str | None,
        typer.Argument(
            metavar="[MODULE:FUNCTION]",
            help="It takes and returns what SciPy's function for the problem does.",
        ),
    ] = None,
    on: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PAPER[:EXPERIMENT]",
            help="Take the instances of this; may be repeated.",
            autocompletion=complete_target,
        ),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Take this matrix, graph or network instead."),
    ] = None,
    problem: Annotated[
        ProblemChoice | None, typer.Option(help="Default that of the instances.")
    ] = None,
    against: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PAPER:SOLVER,...",
            help="Time these beside it, in turn, in the same run.",
            autocompletion=complete_solver,
        ),
    ] = None,
    preset: Annotated[
        Preset | None, typer.Option(help="The amount of work; default quick.")
    ] = None,
    only: Only = None,
    repeats: Repeats = None,
    seed: Seeds = None,
    timeout: Timeout = None,
    device: DeviceOption = Device.auto,
    out: Annotated[Path | None, typer.Option(help="Folder of the run; must be empty.")] = None,
    resume: Annotated[
        Path | None, typer.Option(help="Go on with the bench in this folder.")
    ] = None,
    retry: Annotated[
        bool, typer.Option("--retry", help="With --resume: measure again what was not ok.")
    ] = False,
    json: Json = None,
    verbose: Verbose = False,
    quiet: Quiet = False,
) -> int:
    """Time your own solver on the papers' instances; every answer is proved, a wrong one exits 3.

    It is called as SciPy's function is: `linear_sum_assignment(costs)`,
    `maximum_bipartite_matching(graph)` with a CSR array, `maximum_flow(network, source, sink)`. The
    time is what its caller waits for (clock end_to_end). Records are shown beside it only where
    they are of this machine.
    """
    from papers.reproduce.bench import benching
    from papers.reproduce.bench.asked import Asked
    from papers.reproduce.run.runner import Choice
    from papers.reproduce.running import Telling

    if verbose and quiet:
        raise UsageError("--verbose and --quiet exclude one another")
    volume = Volume.verbose if verbose else Volume.quiet if quiet else Volume.answer
    telling = Telling(volume, json)
    rivals = tuple(name for word in against or () for name in word.split(",") if name)
    choice = Choice(
        targets=tuple(on or ()),
        preset=(preset or Preset.quick).value,
        only=tuple(only or ()),
        repeats=repeats,
        seeds=tuple(dict.fromkeys(seed or ())),
        timeout_s=timeout,
        device=device.value,
    )
    if resume is not None:
        given = [function, on, file, problem, against, preset, only, repeats, seed, out]
        if any(value is not None and value != [] for value in given):
            raise UsageError(
                "--resume RUN goes on with RUN's own plan and takes only --device, --timeout, "
                "--retry, --verbose, --quiet and --json"
            )
        return benching.resume(resume, choice, retry, telling)
    if retry:
        raise UsageError("--retry goes with --resume RUN")
    if function is None:
        raise UsageError("bench what? MODULE:FUNCTION, such as my_solver:solve")
    if (file is None) == (not on):
        raise UsageError("give either --on PAPER:EXPERIMENT or --file FILE")
    if file is not None and (only or seed):
        raise UsageError("--only and --seed choose instances of --on")
    asked = Asked(function, choice, file, problem.value if problem else None, rivals)
    return benching.start(asked, out, telling)
