"""The ``reproduce`` command.

Nothing heavy is imported at the top: ``reproduce --help`` and ``reproduce list`` are instant.
Exit codes: 0 all ran and were certified, 1 something was not certified, 2 usage or a limit that
`solve` has reached, 3 cells failed.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

import papers
from papers.common.mpi import job as launcher
from papers.reproduce.registry import UsageError

if TYPE_CHECKING:
    from papers.reproduce.run.runner import Choice, Measurer, Run

NOT_CERTIFIED, USAGE, FAILED = 1, 2, 3
INTERRUPTED = 130
DEBUG = "REPRODUCE_DEBUG"
"""Environment variable that shows the traceback of an internal error, as ``--debug`` does."""

app = typer.Typer(
    name="reproduce",
    help="Regenerate the tables and figures of GPU papers and set them beside the print.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


class Preset(StrEnum):
    """The amount of work: three sizes of a run."""

    smoke = "smoke"
    quick = "quick"
    paper = "paper"


class Device(StrEnum):
    """Where kernels run."""

    auto = "auto"
    gpu = "gpu"
    cpu = "cpu"


DeviceOption = Annotated[Device, typer.Option(help="Where kernels run; cpu is the executor.")]


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


@app.command("list")
def list_(
    paper: Annotated[str | None, typer.Argument(help="Show one paper's experiments.")] = None,
) -> None:
    """List papers, experiments and solvers."""
    from papers.reproduce import registry, terminal

    out = terminal.console()
    names = [paper] if paper else list(registry.MODULES)
    for name in names:
        card = registry.card(name)
        draft = " (draft)" if card.status == "draft" else ""
        out.print(
            f"[bold]{name}[/]{draft}  {card.authors}: {card.title}. {card.venue}, {card.year}"
        )
        lines = [["experiment", "kind", "what it shows"]]
        for key, experiment in registry.experiments(name).items():
            note = f" (not yet: {experiment.unavailable})" if experiment.unavailable else ""
            lines.append([f"{name}:{key}", experiment.kind, experiment.title + note])
        terminal.rows(out, lines)
        if paper:
            lines = [["solver", "runs on", "what it is"]]
            for key, solver in card.solvers().items():
                lines.append([f"{name}:{key}", solver.device, solver.title])
            terminal.rows(out, lines)


@app.command()
def run(
    targets: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PAPER[:EXPERIMENT] ...]", help="What to run; default all."),
    ] = None,
    preset: Annotated[
        Preset | None, typer.Option(help="The amount of work; default quick.")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE,...",
            help="Keep cells by n, range, seed, solver, family, storage, permuted.",
        ),
    ] = None,
    repeats: Annotated[int | None, typer.Option(min=1, help="Repetitions of a clock.")] = None,
    seed: Annotated[
        list[int] | None,
        typer.Option(min=0, help="Instance seed instead of the preset's; may be repeated."),
    ] = None,
    timeout: Annotated[
        float | None, typer.Option(min=0.001, help="Seconds a cell may take; default by preset.")
    ] = None,
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
) -> int:
    """Measure, certify, compare with print, and write the report."""
    from papers.reproduce.run.runner import Choice

    choice = Choice(
        targets=tuple(targets or ()),
        preset=(preset or Preset.quick).value,
        only=tuple(only or ()),
        repeats=repeats,
        seeds=tuple(seed or ()),
        timeout_s=timeout,
        device=device.value,
    )
    if resume is not None:
        # The plan is the old run's: another choice here would be ignored in silence.
        given = [targets, preset, only, repeats, seed, out]
        if any(value is not None and value != [] for value in given) or dry_run:
            raise UsageError(
                "--resume RUN goes on with RUN's own plan and takes only --device, --timeout, "
                "--retry and --force"
            )
        return _resume(choice, resume, retry, force)
    if retry or force:
        raise UsageError(f"{'--retry' if retry else '--force'} goes with --resume RUN")
    return _run(choice, out, dry_run)


def _worker(choice: Choice) -> Measurer:
    """Start the process that measures; it finds the device. Under mpiexec: all ranks do."""
    from papers.reproduce.measure.worker import Worker, WorkerError

    try:
        if launcher.size_of_job() > 1:
            from papers.reproduce.measure.team import Team

            return Team(choice.device)
        return Worker(choice.device)
    except WorkerError as error:
        raise UsageError(f"--device {choice.device}: {error}") from None


def _resume(choice: Choice, folder: Path, retry: bool, force: bool) -> int:
    """Lock the run in `folder`, measure what is left of it and report."""
    from papers.reproduce.run.runner import RETRIED, Run

    again = RETRIED if retry else ()
    with Run.take(folder) as current, _worker(choice) as worker:
        current.check(worker, force, again)
        if choice.timeout_s is not None:
            current.set_timeout(choice.timeout_s)
        return _measure(current, worker, again)


def _run(choice: Choice, folder: Path | None, dry_run: bool) -> int:
    """Find the device, make the run, measure it and report."""
    from papers.reproduce import registry
    from papers.reproduce.run import runner

    registry.resolve(list(choice.targets))  # Wrong names are found before a device is.
    with _worker(choice) as worker:
        if dry_run:
            _, jobs = runner.planned(choice, worker.device.is_gpu)
            if worker.device.ranks > 1:
                runner.demand_ranks(jobs)
            return _dry_run(choice, worker, jobs)
        with runner.create(choice, worker, folder) as current:
            return _measure(current, worker)


def _dry_run(choice: Choice, worker: Measurer, jobs: Sequence) -> int:
    from papers.reproduce import registry, terminal
    from papers.reproduce.plan.pace import PACE
    from papers.reproduce.run import runner

    out = terminal.console()
    names = list(dict.fromkeys(job.cell.solver.partition(":")[0] for job in jobs))
    guess = runner.estimator([n for n in names if n in registry.MODULES], worker.device.name)
    pace = PACE[choice.preset].exactly(choice.repeats)
    terminal.plan(out, jobs, guess, pace)
    out.print(f"{len(jobs)} cells on {worker.device.name}: {terminal.estimate(guess, jobs, pace)}")
    terminal.unused_seeds(jobs, choice.seeds)
    return 0


def _measure(current: Run, worker: Measurer, retry: Sequence[str] = ()) -> int:
    """Measure what is left of a run, then make its pictures and its report."""
    from papers.reproduce import terminal
    from papers.reproduce.run import runner

    out = terminal.console()
    left = current.left(retry)
    papers = list(dict.fromkeys(paper for paper, _ in current.experiments()))
    guess = runner.estimator(papers, worker.device.name)
    guess.learn(runner.summarize(current.measured()))
    out.print(
        f"{len(left)} of {len(current.jobs)} cells on {worker.device.name}: "
        f"{terminal.estimate(guess, left, current.pace)}; folder {current.folder}",
        soft_wrap=True,
    )
    terminal.unused_seeds(current.jobs, current.meta["options"]["seeds"])
    try:
        with terminal.Live(out, len(current.jobs), len(current.jobs) - len(left)) as live:
            current.execute(worker, live)
        worker.close()
        problems = current.make_artifacts()
    except KeyboardInterrupt:
        terminal.warn(f"stopped; finished cells are kept: reproduce run --resume {current.folder}")
        return INTERRUPTED
    return _finish(current, problems)


def _finish(current: Run, problems: list[str]) -> int:
    """Write the report, print it, and return the exit code."""
    from papers.reproduce import terminal
    from papers.reproduce.report import report
    from papers.reproduce.run import runner

    out = terminal.console()
    sections = report.build(current)
    for part in sections:
        terminal.section(out, part)
    problems = problems + [f"{s.name}: {s.problem}" for s in sections if s.problem]
    for problem in problems:
        terminal.warn(f"problem: {problem}")
    found = runner.statuses(current)
    terminal.closing(out, found, sections)
    out.print(f"report: {current.folder / 'report.html'}", soft_wrap=True)
    return runner.exit_code(found, problems)


@app.command()
def report(run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.")]) -> int:
    """Make tables, figures and report again from a run's measurements; needs no GPU."""
    from papers.reproduce.run.runner import Run

    with Run.take(run) as current:
        return _finish(current, [])


@app.command()
def join(
    parts: Annotated[list[Path], typer.Argument(metavar="PART ...", help="Folders of runs.")],
    out: Annotated[Path, typer.Option(help="Folder of the whole run; must be empty.")],
) -> int:
    """Join runs of one code on one machine, each of which has measured a part; needs no GPU."""
    from papers.reproduce.run import joining

    with joining.join(parts, out) as current:
        return _finish(current, current.make_artifacts())


@app.command()
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
    from papers.reproduce import terminal
    from papers.reproduce.run import recording
    from papers.reproduce.run.runner import Run

    with Run.take(run) as current:
        for kept in recording.record(current, anyway):
            terminal.console().print(f"recorded: {kept}", soft_wrap=True)
    return 0


@app.command()
def verify(
    record: Annotated[
        str | None,
        typer.Argument(metavar="[RECORD]", help="PAPER, PAPER/CARD or a folder; default all."),
    ] = None,
    seconds: Annotated[
        float, typer.Option(min=0, help="How long each record's instances are solved anew.")
    ] = 30.0,
) -> int:
    """Check records: hashes, code, proofs, a sample solved anew, tables; exit 1 on faults."""
    from papers.reproduce import terminal
    from papers.reproduce.verify import checks, verifying

    out, results = terminal.console(), []
    for folder in checks.found(record):
        out.print(f"{folder.parents[1].name}/{folder.name}", style="bold")
        for check in verifying.verify(folder, seconds):
            results.append(check.result)
            out.print(f"  {check.result:<14}  {check.name:<10}  {check.why}", soft_wrap=True)
    return NOT_CERTIFIED if "failed" in results else 0


@app.command()
def readme(paper: Annotated[str, typer.Argument(help="A paper with recorded runs.")]) -> int:
    """Fill the tables and numbers of a paper's pages from its recorded runs."""
    from papers.reproduce import terminal
    from papers.reproduce.report import readme as pages

    terminal.console().print(f"written: {pages.fill(paper)}", soft_wrap=True)
    return 0


@app.command()
def compare(
    first: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.")],
    second: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of another run.")],
) -> int:
    """Set two runs beside one another; exit 1 if an instance has two different optima."""
    from papers.reproduce import terminal
    from papers.reproduce.report import two_runs as comparison

    out = terminal.console()
    summaries = [comparison.read(folder) for folder in (first, second)]
    table, alone = comparison.matched(comparison.compare_runs(*summaries))
    if table.empty:
        raise UsageError(f"{first} and {second} have no cell in common")
    terminal.frame(out, table.drop(columns=["cost_a", "cost_b"]))
    if any(alone):
        out.print(f"cells of one run only: {alone[0]} of the first, {alone[1]} of the second")
    ratios = table["ratio"].dropna()
    if len(ratios):
        out.print(f"time, second over first: median {ratios.median():.3g} over {len(ratios)} rows")
    different = comparison.different_costs(*summaries)
    for line in different:
        terminal.warn(f"different costs: {line}")
    return NOT_CERTIFIED if different else 0


@app.command()
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
            "--with", metavar="PAPER[:SOLVER]", help="Solver; default by the file's problem."
        ),
    ] = None,
    maximize: Annotated[bool, typer.Option("--maximize", help="Maximize the cost.")] = False,
    output: Annotated[
        Path | None,
        typer.Option(help="The answer; default FILE_assignment.csv, _matching.csv or _cut.csv."),
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(help="Seconds that a run may take before it gives up.")
    ] = None,
    device: DeviceOption = Device.auto,
) -> int:
    """Solve your own matrix, graph or network: print optimum, proof and times, write the answer."""
    from papers.common.problems import kinds
    from papers.reproduce import solve as command
    from papers.reproduce import terminal

    solved = command.solve(command.read(file), with_, maximize, device.value, seconds)
    out = terminal.console()
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
        out.print(f"{clock:<11} {terminal.milliseconds(ms)}{of}")
    target = output or command.target_of(file, solved.problem)
    command.write(target, solved)
    out.print(f"{command.ANSWERS[solved.problem.name]:<11} {target}", soft_wrap=True)
    return 0 if solved.proof.ok else NOT_CERTIFIED


@app.command()
def fetch(
    paper: Annotated[str, typer.Argument(help="A paper whose instances are real matrices.")],
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME ...]", help="Which; default all that are not here."),
    ] = None,
) -> int:
    """Fetch real matrices from the SuiteSparse Collection into the cache."""
    from papers.reproduce import fetch as fetching
    from papers.reproduce import terminal

    out = terminal.console()
    failures = fetching.fetch(paper, names, lambda text: out.print(text, soft_wrap=True))
    for failure in failures:
        terminal.warn(failure)
    return FAILED if failures else 0


@app.command()
def prepare(
    targets: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PAPER[:EXPERIMENT] ...]", help="Whose graphs; default all."),
    ] = None,
    preset: Annotated[Preset, typer.Option(help="How much will be measured.")] = Preset.paper,
    jobs: Annotated[int, typer.Option(help="Graphs at a time; each takes gigabytes.")] = 2,
) -> int:
    """Draw large graphs into the cache beforehand; a run draws what it does not find there."""
    from papers.common.model import Plan
    from papers.reproduce import prepare as preparing
    from papers.reproduce import registry, terminal

    out = terminal.console()
    graphs = preparing.large(registry.resolve(list(targets or ())), Plan(preset.value, gpu=True))
    preparing.draw(graphs, jobs, lambda text: out.print(text, soft_wrap=True))
    return 0


@app.command()
def env() -> None:
    """Print the environment record as a run would keep it."""
    from papers.common.gpu import environment
    from papers.reproduce.run import folder as store

    print(store.dump_json(environment.record()), end="")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command and exit; every error is one line on standard error.

    Usage, and files that cannot be read or written, exit 2; what nobody foresaw exits 3. Under
    mpiexec rank 0 gives the command, and the other ranks measure with it.
    """
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
        code = app(args=None if arguments is None else list(arguments), standalone_mode=False)
    except UsageError as error:
        _fail(str(error))
    except (KeyboardInterrupt, typer.Abort):
        sys.exit(INTERRUPTED)
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
    sys.exit(code or 0)


def _reason(error: OSError) -> str:
    """Return the file's name and what the system says about it."""
    name = Path(os.fsdecode(error.filename)).name if isinstance(error.filename, str | bytes) else ""
    return f"{name}: {error.strerror}" if name and error.strerror else str(error)


def _fail(message: str, code: int = USAGE) -> NoReturn:
    print(f"reproduce: {' '.join(message.split())}", file=sys.stderr)
    sys.exit(code)


if __name__ == "__main__":
    main()
