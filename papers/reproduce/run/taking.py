"""Takes finished cells of other runs into a run, so that they are not measured again.

Codes on the CPU and kernels on a GPU do not need the same processor core. A plan may be measured in
parts, by several commands at once on one machine (`reproduce run PAPER:EXPERIMENT ... --out PART`),
and put together by one that has the whole plan (`reproduce run PAPER ... --take PART --take PART`).
The parts must be of the same code, machine, preset and repetitions; `meta.json` names what came
from where under ``taken``.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from papers.reproduce.registry import UsageError
from papers.reproduce.run import code, identities, measurements
from papers.reproduce.run import folder as store
from papers.reproduce.run.runner import Run, load_environment

SAME = ("preset", "repeats", "timeout_s", "seeds")
"""Options of a run that decide how a cell is measured, and must be equal."""


def take(run: Run, folders: Sequence[Path]) -> int:
    """Take the finished cells of other runs that are planned here, the first that has one.

    Parameters
    ----------
    run : Run
        New, its folder locked.
    folders : sequence of Path
        Folders of the other runs.

    Returns
    -------
    int
        The number of cells taken.

    Raises
    ------
    UsageError
        If a run is of other code, of another machine or of other options, or knows an instance by
        another checksum. Nothing is taken then.
    """
    clocks: dict[str, set[str]] = {job.key: set(job.cell.scopes) for job in run.jobs}
    rows: list[list[str]] = []
    taken: list[dict[str, Any]] = []
    known = identities.read(run.folder)
    for folder in folders:
        other = Run.load(folder)
        _demand_same(run, other)
        found = measurements.parse(folder / "measurements.csv")
        theirs: dict[str, set[str]] = {job.key: set(job.cell.scopes) for job in other.jobs}
        # A part that asked for fewer clocks has not measured this plan's cell.
        mine = {
            key for key, asked in clocks.items()
            if key in found.statuses and asked <= theirs.get(key, set())
        }  # fmt: skip
        for key in mine:
            del clocks[key]
        rows += [row for row in found.rows if row[0] in mine]
        for instance, row in identities.read(folder).items():
            if known.setdefault(instance, row) != row:
                raise UsageError(f"{folder}: {' '.join(instance)} is another instance there")
        taken.append({"run": folder.name, "cells": len(mine)})
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([measurements.COLUMNS, *rows])
    store.write_atomically(run.folder / "measurements.csv", text.getvalue())
    if known:
        identities.write(run.folder, known)
    run.meta["taken"] = taken
    store.write_meta(run.folder, run.meta)
    return sum(part["cells"] for part in taken)


def _demand_same(run: Run, other: Run) -> None:
    here, there = (code.of_run(one.meta, load_environment(one.folder)) for one in (run, other))
    faults = code.differences(there, here) + other.mixed()
    for name in SAME:
        one, two = run.meta["options"][name], other.meta["options"][name]
        if one != two:
            faults.append(f"{name} {two} there, {one} here")
    if faults:
        raise UsageError(f"--take {other.folder}: {'; '.join(faults)}")
