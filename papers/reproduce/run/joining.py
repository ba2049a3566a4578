"""Joins runs of one code and machine into one run folder; nothing is measured.

Codes on the CPU and kernels on a GPU do not need the same processor core. A plan may be measured in
parts, by several commands at once on one machine (`reproduce run PAPER --only ... --out PART`), and
put together afterwards (`reproduce join PART PART ... --out RUN`), on any machine. The parts must
be of the same code, machine and preset; codes of several threads are planned for the cores of the
part that had most of them. A part may lack packages that another has, but not have other versions
of them: a cell that needs a missing package would not be finished. Long cells may have fewer
repetitions (``--repeats``): the column ``count`` of a summary tells how many a cell has. They may
have less time (``--timeout``): a cell that ended for that says after how long. What came from
where, and what a part lacked, `meta.json` names under ``joined``. Cells for more ranks than
any part had are skipped in the whole, as a run would. Pictures that experiments make while they are
measured come from the parts, too.
"""

from __future__ import annotations

import csv
import io
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from papers.common import cores
from papers.reproduce.measure.outcome import Outcome
from papers.reproduce.measure.protocol import too_many_ranks
from papers.reproduce.plan import cells
from papers.reproduce.registry import UsageError
from papers.reproduce.run import code, identities, json_files, measurements, runner
from papers.reproduce.run import folder as store
from papers.reproduce.run.runner import Choice, Run, claim, load_environment, planned

SAME = ("preset", "seeds")
"""Options of a run that decide how a cell is measured, and must be equal."""


def join(parts: Sequence[Path], folder: Path) -> Run:
    """Make the run of which these are parts: the plan of all their experiments, their cells.

    Parameters
    ----------
    parts : sequence of Path
        Folders of the runs, at least one.
    folder : Path
        The folder of the new run, which must be new or empty.

    Returns
    -------
    Run
        Locked. What no part has measured is left in its plan.

    Raises
    ------
    UsageError
        If the parts are not of one code, machine and choice of options, know an instance by two
        checksums, or the folder is not empty.
    """
    first = Run.load(parts[0])
    for part in parts[1:]:
        _demand_same(first, Run.load(part))
    options = first.meta["options"]
    names = dict.fromkeys(name for p in parts for name in Run.load(p).meta["experiments"])
    choice = Choice(
        tuple(names), options["preset"], (), options["repeats"], tuple(options["seeds"])
    )
    environments = {part: load_environment(part) for part in parts}
    widest = max(parts, key=lambda part: int(environments[part]["cores"]))
    with cores.taken_as(int(environments[widest]["cores"])):
        pairs, jobs = planned(choice, first.meta["device"]["is_gpu"])
    longest = max(Run.load(part).meta["options"]["timeout_s"] for part in parts)
    lock = claim(folder)
    try:
        meta = {
            **first.meta,
            "experiments": [f"{paper}:{e.name}" for paper, e in pairs],
            "options": {**options, "only": [], "timeout_s": longest},
            "plan": cells.to_json(jobs),
        }
        shutil.copyfile(widest / "environment.json", folder / "environment.json")
        store.write_meta(folder, meta)
        run = replace(Run.load(folder), lock=lock)
        _take(run, parts)
        _take_pictures(run, parts)
    except BaseException:
        lock.release()
        raise
    return run


def _take(run: Run, folders: Sequence[Path]) -> None:
    """Take the finished cells of other runs, each from the first that has it."""
    clocks: dict[str, set[str]] = {job.key: set(job.cell.scopes) for job in run.jobs}
    rows: list[list[str]] = []
    taken: list[dict[str, Any]] = []
    known = identities.read(run.folder)
    ranks = 1
    for folder in folders:
        other = Run.load(folder)
        found = measurements.parse(folder / "measurements.csv")
        theirs: dict[str, set[str]] = {job.key: set(job.cell.scopes) for job in other.jobs}
        # A part that asked for fewer clocks has not measured this plan's cell.
        mine = {
            key for key, asked in clocks.items()
            if key in found.ends and asked <= theirs.get(key, set())
        }  # fmt: skip
        for key in mine:
            del clocks[key]
        rows += [row for row in found.rows if row[0] in mine]
        ranks = max(ranks, int(other.meta["device"].get("ranks", 1)))
        for instance, row in identities.read(folder).items():
            if known.setdefault(instance, row) != row:
                raise UsageError(f"{folder}: {' '.join(instance)} is another instance there")
        told = {"run": folder.name, "cells": len(mine), "repeats": other.meta["options"]["repeats"]}
        if lacking := sorted(_packages(run.folder) - _packages(folder)):
            told["without"] = lacking
        if (limit := other.meta["options"]["timeout_s"]) != run.meta["options"]["timeout_s"]:
            told["timeout_s"] = limit
        taken.append(told)
    device = str(run.meta["device"]["name"])
    for job in run.jobs:
        if job.key in clocks and (reason := too_many_ranks(job.cell, ranks)):
            skipped = runner.rows(job, Outcome("skipped", "none", reason, device=device))
            rows += [[str(row[name]) for name in measurements.COLUMNS] for row in skipped]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([measurements.COLUMNS, *rows])
    store.write_atomically(run.folder / "measurements.csv", text.getvalue())
    if known:
        identities.write(run.folder, known)
    run.meta["joined"] = taken
    store.write_meta(run.folder, run.meta)


def _take_pictures(run: Run, folders: Sequence[Path]) -> None:
    """Take the pictures that experiments have made themselves, each from the first part with it.

    They are made where a run is measured; here, on another machine, they would be others.
    """
    made: dict[str, Any] = {}
    for folder in folders:
        found = json_files.read_optional(folder / "artifacts.json", json_files.ARTIFACTS)
        for name, pictures in (found or {}).items():
            if name in made:
                continue
            made[name] = pictures
            for _, place in pictures:
                target = run.folder / "artifacts" / place
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(folder / "artifacts" / place, target)
    if made:
        store.write_atomically(run.folder / "artifacts.json", store.dump_json(made))


def _demand_same(run: Run, other: Run) -> None:
    both = _packages(run.folder) & _packages(other.folder)
    here, there = (_circumstances(one, both) for one in (run, other))
    faults = code.differences(there, here) + other.mixed()
    for name in SAME:
        one, two = run.meta["options"][name], other.meta["options"][name]
        if one != two:
            faults.append(f"{name} {two} there, {one} here")
    if faults:
        raise UsageError(f"{other.folder} is no part of this run: {'; '.join(faults)}")


def _packages(folder: Path) -> set[str]:
    """Return the names of the packages that a run's environment had."""
    return set(load_environment(folder)["versions"])


def _circumstances(run: Run, packages: set[str]) -> code.Circumstances:
    """Return the circumstances of a run, with no packages but these."""
    told = code.of_run(run.meta, load_environment(run.folder))
    kept = [one for one in told["packages"].split(", ") if one.partition(" ")[0] in packages]
    return {**told, "packages": ", ".join(kept)}
