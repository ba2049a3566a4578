"""``reproduce run`` behind its options: measure what is left of a run, report, answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from papers.common.evidence.comparisons import THIS_RUN
from papers.common.mpi import job as launcher
from papers.reproduce import registry, stopping, targets
from papers.reproduce.plan.cells import Job
from papers.reproduce.plan.pace import PACE
from papers.reproduce.registry import UsageError
from papers.reproduce.run import runner
from papers.reproduce.run.folder import write_atomically
from papers.reproduce.run.runner import Choice, Measurer, Run
from papers.reproduce.screen.console import Volume, cells_on, console, estimate, warn


@dataclass(frozen=True)
class Telling:
    """The ways in which a command tells its result.

    Attributes
    ----------
    volume : Volume
        How much it prints.
    json : Path or None
        The file for programs.
    """

    volume: Volume = Volume.answer
    json: Path | None = None

    def probe(self) -> None:
        """Refuse a file for programs that could not be written, or that somebody else wrote.

        Raises
        ------
        UsageError
            Says why.
        """
        if self.json is None:
            return
        from papers.reproduce.screen.answer import JSON_FORMAT

        targets.probe_own(self.json, "--json", JSON_FORMAT)


def worker_for(choice: Choice) -> Measurer:
    """Start the process that measures; it finds the device. Under mpiexec: all ranks do.

    Without a GPU, cells for several ranks are measured by a job that is started for them.
    """
    from papers.reproduce.measure import squad
    from papers.reproduce.measure.worker import Worker, WorkerError

    try:
        if launcher.size_of_job() > 1:
            from papers.reproduce.measure.team import Team

            return Team(choice.device)
        worker = Worker(choice.device)
        mpiexec = None if worker.device.is_gpu else squad.launcher()
        return worker if mpiexec is None else squad.Squad(worker, mpiexec)
    except WorkerError as error:
        raise UsageError(f"--device {choice.device}: {error}") from None


def resume(choice: Choice, folder: Path, retry: bool, force: bool, telling: Telling) -> int:
    """Lock the run in `folder`, measure what is left of it and report."""
    again = runner.RETRIED if retry else ()
    telling.probe()
    with Run.take(folder) as current:
        current.experiments()  # Before a process is started: it refuses a run of `bench`.
        with stopping.resumable(folder), worker_for(choice) as worker:
            current.check(worker, force, again)
            if choice.timeout_s is not None:
                current.set_timeout(choice.timeout_s)
            return _measure(current, worker, telling, again)


def start(choice: Choice, folder: Path | None, dry_run: bool, telling: Telling) -> int:
    """Find the device, make the run, measure it and report."""
    registry.resolve(list(choice.targets))  # Wrong names are found before a device is.
    telling.probe()
    with worker_for(choice) as worker:
        if dry_run:
            _, jobs = runner.planned(choice, worker.device.is_gpu)
            if worker.device.ranks > 1:
                runner.demand_ranks(jobs)
            return _show_plan(choice, worker, jobs, telling)
        with (
            runner.create(choice, worker, folder) as current,
            stopping.resumable(current.folder),
        ):
            return _measure(current, worker, telling)


def _show_plan(choice: Choice, worker: Measurer, jobs: Sequence[Job], telling: Telling) -> int:
    from papers.reproduce.screen import tables

    out = console(telling.volume)
    names = list(dict.fromkeys(job.cell.solver.partition(":")[0] for job in jobs))
    guess = runner.estimator([n for n in names if n in registry.MODULES], worker.device.name)
    pace = PACE[choice.preset].exactly(choice.repeats)
    tables.plan(out, jobs, guess, pace)
    out.print(f"{len(jobs)} {cells_on(worker.device.name)}: {estimate(guess, jobs, pace)}")
    tables.unused_seeds(jobs, choice.seeds)
    return 0


def _measure(current: Run, worker: Measurer, telling: Telling, retry: Sequence[str] = ()) -> int:
    """Measure what is left of a run, then make its pictures and its report."""
    from papers.reproduce.screen.live import Live, Remaining
    from papers.reproduce.screen.tables import unused_seeds

    out = console(telling.volume)
    left = current.left(retry)
    papers = list(dict.fromkeys(paper for paper, _ in current.experiments()))
    guess = runner.estimator(papers, worker.device.name)
    guess.learn(runner.summarize(current.measured()))
    out.print(
        f"{len(left)} of {len(current.jobs)} {cells_on(worker.device.name)}: "
        f"{estimate(guess, left, current.pace)}; folder {current.folder}",
        soft_wrap=True,
    )
    unused_seeds(current.jobs, current.meta["options"]["seeds"])
    remaining = Remaining({job.key: guess.seconds(job, current.pace) for job in left})
    with Live(out, left, remaining, len(current.jobs), telling.volume) as live:
        current.execute(worker, live)
    worker.close()
    return finish(current, current.make_artifacts(), telling)


def finish(current: Run, problems: Sequence[str], telling: Telling) -> int:
    """Write the report, print the answer, and return the exit code."""
    from papers.reproduce.report import report, two_runs
    from papers.reproduce.screen import answer, tables
    from papers.reproduce.screen.answer import Answer, End

    telling.probe()
    out = console(telling.volume)
    sections = report.build(current)
    if telling.volume is Volume.verbose:
        for part in sections:
            tables.section(out, part)
        out.print()
    doubts = [
        f"different costs: {line}"
        for line in two_runs.different_costs(runner.summarize(current.measured()))
    ]
    told = [*doubts, *problems, *(f"{s.name}: {s.problem}" for s in sections if s.problem)]
    doubts += [
        f"{part.name}: {item.quantity}"
        for part in sections
        for item in part.comparisons
        if (item.origin, item.kind, item.verdict) == (THIS_RUN, "correctness", "fails")
    ]
    ends = [
        End(job.key, tuple(dict.fromkeys(map(registry.owner, job.experiments))), status, reason)
        for job, status, reason in runner.ends(current)
    ]
    made = any(part.pictures for part in sections)
    code, why = runner.exit_code([end.status for end in ends], told, made, doubts)
    device, preset = current.meta["device"]["name"], current.preset
    found = Answer(current.folder, device, preset, ends, sections, told, code, why)
    if telling.volume is Volume.quiet:
        for problem in told:
            warn(f"problem: {problem}")
    answer.show(out, found)
    if telling.json is not None:
        write_atomically(telling.json, answer.as_json(found))
    return code
