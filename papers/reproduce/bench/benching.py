"""``reproduce bench`` behind its options: plan, measure what is left, tell the result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from papers.reproduce import registry, running, stopping, targets
from papers.reproduce.bench import asked as asking
from papers.reproduce.bench import functions, records_here, result
from papers.reproduce.bench.asked import CLOCK, NAME, Asked
from papers.reproduce.plan.estimate import EXECUTOR
from papers.reproduce.registry import UsageError
from papers.reproduce.run import runner
from papers.reproduce.run.folder import write_atomically
from papers.reproduce.run.runner import Measurer, Run
from papers.reproduce.running import Telling
from papers.reproduce.screen.console import cells_on, console, estimate, warn

TABLE = "bench.csv"
"""The file of the result in a bench's folder, besides its measurements."""


def start(asked: Asked, folder: Path | None, telling: Telling) -> int:
    """Find the function and the device, make the run's folder, measure and tell.

    Raises
    ------
    UsageError
        For a function, an instance or a rival that cannot be had.
    """
    digest = functions.digest(functions.load(asked.function))
    for name in asked.against:
        registry.solver(name)
    probe(telling)
    with running.worker_for(asked.choice) as worker:
        problem, jobs, remarks = asking.planned(asked, worker.device.is_gpu)
        told = {
            "function": asked.function,
            "problem": problem,
            "sha256": digest,
            "against": list(asked.against),
        }
        names = [":".join(NAME)]
        with (
            runner.begin(asked.choice, worker, folder, names, jobs, {"bench": told}) as current,
            resumable(current.folder),
        ):
            for remark in remarks:
                warn(remark)
            return _measure(current, worker, telling)


def resume(folder: Path, choice: runner.Choice, retry: bool, telling: Telling) -> int:
    """Lock the bench in `folder`, measure what is left of it and tell.

    Raises
    ------
    UsageError
        If it is no bench, or the function's file, the code or the machine has changed.
    """
    probe(telling)
    again = runner.RETRIED if retry else ()
    with Run.take(folder) as current, resumable(folder):
        told = current.meta.get("bench")
        if told is None:
            raise UsageError(f"{folder} is no run of reproduce bench: reproduce run --resume")
        if functions.digest(functions.load(told["function"])) != told["sha256"]:
            raise UsageError(
                f"{told['function']} has changed since this run began: start a new run"
            )
        with running.worker_for(choice) as worker:
            current.check(worker, retry=again)
            if choice.timeout_s is not None:
                current.set_timeout(choice.timeout_s)
            return _measure(current, worker, telling, again)


def resumable(folder: Path) -> Any:
    """End a command that is stopped inside the block with the line that goes on with its bench."""
    return stopping.resumable(folder, "reproduce bench")


def probe(telling: Telling) -> None:
    """Refuse a file for programs that could not be written, or that somebody else wrote."""
    if telling.json is not None:
        targets.probe_own(telling.json, "--json", result.JSON_FORMAT)


def _measure(
    current: Run, worker: Measurer, telling: Telling, retry: tuple[str, ...] = ()
) -> int:  # fmt: skip
    """Measure what is left; every finished cell is on the disk at once."""
    from papers.reproduce.screen.live import Live, Remaining

    out = console(telling.volume)
    left = current.left(retry)
    papers = {registry.owner(job.cell.solver) for job in current.jobs} & set(registry.MODULES)
    guess = runner.estimator(sorted(papers), worker.device.name)
    guess.learn(runner.summarize(current.measured()))
    out.print(
        f"{len(left)} of {len(current.jobs)} {cells_on(worker.device.name)}: "
        f"{estimate(guess, left, current.pace)}; folder {current.folder}",
        soft_wrap=True,
    )
    remaining = Remaining({job.key: guess.seconds(job, current.pace) for job in left})
    with Live(out, left, remaining, len(current.jobs), telling.volume) as live:
        current.execute(worker, live)
    worker.close()
    return finish(current, telling)


def finish(current: Run, telling: Telling) -> int:
    """Write the table, print the result, and return the exit code."""
    here = runner.load_environment(current.folder)
    keys = {job.cell.instance.key for job in current.jobs}
    recorded, away = records_here.times(here, CLOCK, keys)
    device, cpu = str(here.get("device", "")), str(here.get("cpu", ""))
    machine = ", ".join(dict.fromkeys(n for n in (device, cpu) if n not in ("", EXECUTOR)))
    found = result.of(current, recorded, away, machine)
    write_atomically(current.folder / TABLE, result.as_csv(found))
    if telling.json is not None:
        write_atomically(telling.json, result.as_json(found))
    out = console(telling.volume)
    for line in result.lines(found, out.width):
        out.print(line, markup=False, highlight=False, soft_wrap=True)
    if telling.volume is running.Volume.quiet:
        for one in found.bad:
            warn(f"{one.status}: {one.solver} on {one.instance}: {one.reason}")
    return found.code
