"""The ``reproduce`` command.

Nothing heavy is imported at the top: ``reproduce --help`` and ``reproduce list`` are instant.
Exit codes: 0 all ran and were certified, 1 something was not certified or a check of the answers
failed, 2 usage or a limit that `solve` has reached, 3 cells failed or nothing was measured; 128 and
its number for a signal.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NoReturn

import typer

import papers
from papers.common.mpi import job as launcher
from papers.reproduce import housekeeping, stopping
from papers.reproduce.bench import command as benching
from papers.reproduce.explain import command as explaining
from papers.reproduce.options import (
    Device,
    DeviceOption,
    Json,
    Only,
    Preset,
    Quiet,
    Repeats,
    Seeds,
    Targets,
    Timeout,
    Verbose,
    complete_solver,
    complete_target,
    examples,
)
from papers.reproduce.registry import UsageError
from papers.reproduce.screen.console import Volume, console, forgive_encoding, milliseconds, warn
from papers.reproduce.trace import command as tracing

NOT_CERTIFIED, USAGE, FAILED = 1, 2, 3
INTERRUPTED, READER_GONE = 130, 141  # 128 and the number of SIGINT, and of SIGPIPE
DEBUG = "REPRODUCE_DEBUG"
"""Environment variable that shows the traceback of an internal error, as ``--debug`` does."""

app = typer.Typer(
    name="reproduce",
    help="Regenerate the tables and figures of GPU papers and set them beside the print.",
    epilog=examples(
        "reproduce list lopes2019",
        "reproduce run lopes2019:table1 --only n=512",
        "reproduce explain lopes2019:table3",
        "reproduce solve costs.npy",
        "reproduce bench my_solver:solve --on lopes2019:table1",
        "reproduce --install-completion",
    ),
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _volume(verbose: bool, quiet: bool) -> Volume:
    if verbose and quiet:
        raise UsageError("--verbose and --quiet exclude one another")
    return Volume.verbose if verbose else Volume.quiet if quiet else Volume.answer


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"reproduce {papers.__version__}")
        raise typer.Exit


@app.callback()
def common_options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", is_eager=True, callback=_print_version
        ),
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an internal error.")
    ] = False,
) -> None:
    """Regenerate the tables and figures of GPU papers and set them beside the print."""
    if debug:
        os.environ[DEBUG] = "1"


@app.command("list", epilog=examples("reproduce list", "reproduce list lopes2019:table1"))
def list_(
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="[PAPER[:EXPERIMENT]]",
            help="Show one paper, or one experiment.",
            autocompletion=complete_target,
        ),
    ] = None,
) -> None:
    """List papers, experiments and solvers."""
    from papers.reproduce import listing

    listing.show(console(), target)


@app.command(
    epilog=examples(
        "reproduce run",
        "reproduce run lopes2019:table1 --only n=512,1024 --seed 7",
        "reproduce run --preset paper --dry-run",
        "reproduce run --resume runs/all-quick-20251122-150000 --retry",
        "reproduce run --quiet --json answer.json",
    )
)
def run(
    targets: Targets = None,
    preset: Annotated[
        Preset | None, typer.Option(help="The amount of work; default quick.")
    ] = None,
    only: Only = None,
    repeats: Repeats = None,
    seed: Seeds = None,
    timeout: Timeout = None,
    resume: Annotated[Path | None, typer.Option(help="Go on with the run in this folder.")] = None,
    retry: Annotated[
        bool, typer.Option("--retry", help="With --resume: measure again what was not ok.")
    ] = False,
    force: Annotated[
        bool,
        typer.Option("--force", help="With --resume: go on under other code, and mark the cells."),
    ] = False,
    device: DeviceOption = Device.auto,
    out: Annotated[Path | None, typer.Option(help="Folder of the run; must be empty.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the plan and stop.")] = False,
    verbose: Verbose = False,
    quiet: Quiet = False,
    json: Json = None,
) -> int:
    """Measure, certify, compare with print, and write the report."""
    from papers.reproduce import running
    from papers.reproduce.run.runner import Choice

    telling = running.Telling(_volume(verbose, quiet), json)
    choice = Choice(
        targets=tuple(targets or ()),
        preset=(preset or Preset.quick).value,
        only=tuple(only or ()),
        repeats=repeats,
        seeds=tuple(dict.fromkeys(seed or ())),
        timeout_s=timeout,
        device=device.value,
    )
    if resume is not None:
        # The plan is the old run's: another choice here would be ignored in silence.
        given = [targets, preset, only, repeats, seed, out]
        if any(value is not None and value != [] for value in given) or dry_run:
            raise UsageError(
                "--resume RUN goes on with RUN's own plan and takes only --device, --timeout, "
                "--retry and --force, and --verbose, --quiet and --json"
            )
        return running.resume(choice, resume, retry, force, telling)
    if retry or force:
        raise UsageError(f"{'--retry' if retry else '--force'} goes with --resume RUN")
    return running.start(choice, out, dry_run, telling)


@app.command(epilog=examples("reproduce report runs/all-quick-20251122-150000 --verbose"))
def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.")],
    verbose: Verbose = False,
    quiet: Quiet = False,
    json: Json = None,
) -> int:
    """Make tables, figures and report again from a run's measurements; needs no GPU."""
    from papers.reproduce import running
    from papers.reproduce.run.runner import Run

    telling = running.Telling(_volume(verbose, quiet), json)
    with Run.take(run) as current:
        return running.finish(current, [], telling)


@app.command(epilog=examples("reproduce join runs/part1 runs/part2 --out runs/whole"))
def join(
    parts: Annotated[list[Path], typer.Argument(metavar="PART ...", help="Folders of runs.")],
    out: Annotated[Path, typer.Option(help="Folder of the whole run; must be empty.")],
    verbose: Verbose = False,
    quiet: Quiet = False,
    json: Json = None,
) -> int:
    """Join runs of one code on one machine, each of which has measured a part; needs no GPU."""
    from papers.reproduce import running
    from papers.reproduce.run import joining

    telling = running.Telling(_volume(verbose, quiet), json)
    with joining.join(parts, out) as current:
        return running.finish(current, [], telling)


@app.command(
    epilog=examples(
        "reproduce compare runs/before runs/after",
        "reproduce compare runs/before runs/after --fail-above 1.2 --csv cells.csv",
    )
)
def compare(
    first: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.")],
    second: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of another run.")],
    fail_above: Annotated[
        float | None,
        typer.Option(min=0, help="Exit 1 if a solver's ratio lies above it, interval and all."),
    ] = None,
    csv: Annotated[
        Path | None, typer.Option("--csv", metavar="FILE", help="Write the cells as CSV.")
    ] = None,
    json: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write groups and cells as JSON.")
    ] = None,
    verbose: Verbose = False,
) -> int:
    """Set two runs beside one another; exit 1 on two different optima of one instance."""
    from papers.reproduce import targets
    from papers.reproduce.report import groups
    from papers.reproduce.report import two_runs as comparison
    from papers.reproduce.run.folder import write_atomically
    from papers.reproduce.screen import tables

    for option, path in (("--csv", csv), ("--json", json)):
        if path is not None:
            targets.probe(path, option)
    out = console()
    summaries = [comparison.read(folder) for folder in (first, second)]
    table, alone = comparison.matched(comparison.compare_runs(*summaries))
    if table.empty:
        raise UsageError(f"{first} and {second} have no cell in common")
    found = groups.grouped(table, summaries[0])
    out.print("time, second over first: median over cells, with an interval of 95 %")
    tables.frame(out, found)
    if verbose:
        out.print()
        tables.frame(out, table.drop(columns=["cost_a", "cost_b"]))
    if any(alone):
        out.print(f"cells of one run only: {alone[0]} of the first, {alone[1]} of the second")
    if csv is not None:
        write_atomically(csv, table.to_csv(index=False, lineterminator="\n"))
    if json is not None:
        write_atomically(json, groups.as_json(found, table))
    faults = [f"different costs: {line}" for line in comparison.different_costs(*summaries)]
    faults += groups.slower(found, fail_above) if fail_above is not None else []
    for line in faults:
        warn(line)
    return NOT_CERTIFIED if faults else 0


@app.command(
    epilog=examples(
        "reproduce solve costs.npy",
        "reproduce solve graph.mtx --output matching.csv",
        "reproduce solve costs.csv --with lopes2019 --seconds 10",
        "reproduce solve costs.npy --with auto",
    )
)
def solve(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A cost matrix (.npy, .csv), a graph (.mtx, .mtx.gz, .npz), or a grid or network "
            "(.npz, .max, .max.gz).",
        ),
    ],
    with_: Annotated[
        str | None,
        typer.Option(
            "--with",
            metavar="PAPER[:SOLVER]|auto",
            help="Solver; default by the file's problem; auto: what the calls' table names.",
            autocompletion=complete_solver,
        ),
    ] = None,
    maximize: Annotated[bool, typer.Option("--maximize", help="Maximize the cost.")] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            help="The answer; default FILE_assignment.csv, _matching.csv, _flow.csv or _cut.csv."
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Write over a file that is there.")
    ] = False,
    seconds: Annotated[
        float | None, typer.Option(help="Seconds that a run may take before it gives up.")
    ] = None,
    device: DeviceOption = Device.auto,
) -> int:
    """Solve your own matrix, graph or network: print optimum, proof and times, write the answer."""
    from papers.common.problems import kinds
    from papers.reproduce import solve as command

    data = command.read(file, with_)
    target = command.target_for(file, data, with_, output, force)
    solved = command.solve(data, with_, maximize, device.value, seconds)
    out = console()
    shape = " x ".join(map(str, solved.problem.shape(solved.data)))
    out.print(
        f"{solved.problem.name} of {shape}, {solved.solver} on {solved.device}", soft_wrap=True
    )
    if solved.note:
        out.print(solved.note, soft_wrap=True)
    optimum, value = kinds.objective(solved.answer)
    out.print(f"{optimum:<11} {value}")
    proved = "proved optimal" if solved.proof.ok else "NOT PROVED"
    out.print(f"proof       {proved} ({solved.proof.kind}): {solved.proof.reason}", soft_wrap=True)
    for clock, ms, times in zip(
        ("run", "end to end"), (solved.run_ms, solved.end_to_end_ms), solved.repeats, strict=True
    ):
        of = f" (median of {times})" if times > 1 else ""
        out.print(f"{clock:<11} {milliseconds(ms)}{of}")
    command.write(target, solved)
    out.print(f"{solved.problem.written(solved.data):<11} {target}", soft_wrap=True)
    return 0 if solved.proof.ok else NOT_CERTIFIED


app.registered_commands += housekeeping.app.registered_commands
app.registered_commands += tracing.app.registered_commands
app.registered_commands += explaining.app.registered_commands
app.registered_commands += benching.app.registered_commands


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command and exit; every error is one line on standard error.

    Usage, and files that cannot be read or written, exit 2; what nobody foresaw exits 3. Under
    mpiexec rank 0 gives the command, and the other ranks measure with it.
    """
    forgive_encoding()
    several = launcher.size_of_job() > 1
    if several:
        from papers.reproduce.measure import team

        if launcher.rank_of_job() > 0:
            team.serve()
            return
    try:
        _give(arguments)
    finally:
        if several:
            team.dismiss()


def _give(arguments: Sequence[str] | None) -> NoReturn:
    try:
        with stopping.on_signals():
            code = app(args=None if arguments is None else list(arguments), standalone_mode=False)
    except SystemExit as left:
        # Typer leaves so, with 1, where whoever reads what is printed has gone.
        if isinstance(left.__context__, BrokenPipeError):
            sys.exit(READER_GONE)
        raise
    except UsageError as error:
        _fail(str(error))
    except (KeyboardInterrupt, typer.Abort):
        warn("stopped")
        sys.exit(INTERRUPTED)
    except stopping.StoppedError as error:
        warn(f"stopped by {error}")
        sys.exit(128 + error.number)
    except Exception as error:
        # Typer's own usage errors; the class moved between its versions, the method did not.
        if hasattr(error, "format_message"):
            _fail(error.format_message() or "no command given; see reproduce --help")
        if os.environ.get(DEBUG):
            traceback.print_exc()
        if isinstance(error, OSError):
            _fail(_reason(error))
        what = f"{type(error).__name__}: {error}"
        _fail(f"internal error: {what} (reproduce --debug ... shows the traceback)", FAILED)
    if code == INTERRUPTED:  # Typer turns Ctrl-C into this where no run has caught it.
        warn("stopped")
    sys.exit(code or 0)


def _reason(error: OSError) -> str:
    """Return the file's name and what the system says about it."""
    name = Path(os.fsdecode(error.filename)).name if isinstance(error.filename, str | bytes) else ""
    return f"{name}: {error.strerror}" if name and error.strerror else str(error)


def _fail(message: str, code: int = USAGE) -> NoReturn:
    warn(f"reproduce: {' '.join(message.split())}")
    sys.exit(code)


if __name__ == "__main__":
    main()
