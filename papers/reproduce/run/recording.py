"""Keeps a run as the recorded run of its papers on one card.

A recorded run is what everybody without that card sees beside their own: the raw measurements, the
environment, the plan, and the plots that the paper's RESULTS.md shows. It is of one clean commit,
which its environment names, and `manifest.json` has the hash of each of its files;
`papers.reproduce.verify` checks both.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from papers.common.evidence import plots, published
from papers.reproduce import registry
from papers.reproduce.registry import UsageError
from papers.reproduce.run import code, identities, measurements, packed, records
from papers.reproduce.run import folder as store
from papers.reproduce.run.runner import MISSING, Run, exit_code, load_environment, statuses

FILES = (packed.FILE, "environment.json", "meta.json")
"""Files of every record; the first is packed."""
MANIFEST = "manifest.json"
"""A file of every record: ``{"format": 1, "files": {name: SHA-256}}``."""


def slug(name: str) -> str:
    """A device's name as a folder name, e.g. ``nvidia-h100-80gb-hbm3``."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def folder_name(environment: Mapping[str, Any]) -> str:
    """The card, and how many of it where there were several: ``nvidia-h200-x4``."""
    gpus = environment.get("gpus_used", 1)
    return slug(str(environment["device"])) + (f"-x{gpus}" if gpus > 1 else "")


def hashes(record: Path) -> dict[str, str]:
    """Return the SHA-256 of every file of a record by its name, but of the manifest.

    Of packed measurements it is that of their content, under the plain file's name.

    Raises
    ------
    UsageError
        If they cannot be unpacked.
    """
    files = sorted(path for path in record.rglob("*") if path.is_file())
    alone = not (record / packed.FILE).is_file()
    plain = {packed.PACKED: packed.FILE} if alone else {}
    names = {path: path.relative_to(record).as_posix() for path in files}
    return {
        plain.get(name, name): hashlib.sha256(packed.content(path)).hexdigest()
        for path, name in names.items()
        if path.name not in (MANIFEST, store.LOCK)
    }


GAPS = {MISSING: "are not measured yet", "timeout": "had not ended in their time"}
"""Statuses of cells that ``anyway`` lets pass, in words."""


def record(run: Run, anyway: bool = False) -> list[Path]:
    """Copy a finished run into ``papers/<paper>/results/<card>/`` of each of its papers.

    Whatever lay there before goes: a record is what one run has left.

    Parameters
    ----------
    run : Run
        Measured on a GPU, every planned cell certified or skipped (its matrix is not there, or its
        solver gave up).
    anyway : bool
        Record a run of no clean commit, of several codes, or with cells that are not measured yet
        or had not ended in time; its environment then says so under ``anyway``.

    Returns
    -------
    list of Path
        The folders.

    Raises
    ------
    UsageError
        If the run is not complete and certified, was not measured on a GPU, holds several papers,
        whose cells one file would mix, or is not of one clean commit.
    """
    found = statuses(run)
    measured = [status for status in found if status not in GAPS] if anyway else found
    if not measured or exit_code(measured)[0] != 0:
        raise UsageError(f"{run.folder.name} is not complete and certified: nothing is recorded")
    environment = load_environment(run.folder)
    if not environment.get("gpus"):
        raise UsageError(f"{run.folder.name} was not measured on a GPU: nothing is recorded")
    names = list(dict.fromkeys(name for name, _ in run.experiments()))
    if len(names) != 1:
        raise UsageError(f"{run.folder.name} holds {', '.join(names)}: record one paper at a time")
    gaps = [
        f"{found.count(status)} of {len(found)} cells {words}."
        for status, words in GAPS.items()
        if status in found
    ]
    named = _named(run, environment, anyway, gaps)
    target = Path(registry.folder(names[0])) / "results" / folder_name(environment)
    _replace(target, run, named)
    return [target]


def _named(run: Run, environment: dict[str, Any], anyway: bool, gaps: list[str]) -> dict[str, Any]:
    """Return the environment with the clean commit that the run is of, and what it lacks."""
    commit, why = code.clean_commit(environment)
    faults = gaps + run.mixed() + ([f"It is of no clean commit: {why}."] if not commit else [])
    if faults and not anyway:
        raise UsageError(
            f"{run.folder.name}: {' '.join(faults)} Nothing is recorded; --anyway records it, and "
            "the record says so"
        )
    clean = {"commit": commit, "clean": True} if commit else {}
    # A record that was joined with others brings its own gaps along, which may be filled now.
    kept = {name: value for name, value in environment.items() if name != "anyway"}
    return {**kept, **clean, **({"anyway": faults} if faults else {})}


def _replace(target: Path, run: Run, environment: Mapping[str, Any]) -> None:
    """Make the record beside its place, then move it there; a failure leaves nothing behind."""
    scratch = target.with_name(target.name + ".part")
    shutil.rmtree(scratch, ignore_errors=True)
    try:
        _make(scratch, f"recorded {target.name}", run, environment)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise
    shutil.rmtree(target, ignore_errors=True)
    scratch.rename(target)


def _make(scratch: Path, source: str, run: Run, environment: Mapping[str, Any]) -> None:
    """Fill the folder of a record: files, environment, figures, manifest."""
    (scratch / "figures").mkdir(parents=True)
    for name in (*FILES, identities.FILE):
        if (run.folder / name).is_file() or name in FILES:
            shutil.copyfile(run.folder / name, scratch / name)
    packed.pack(scratch)
    store.write_atomically(scratch / "environment.json", store.dump_json(environment))
    for path in sorted((run.folder / "artifacts").glob("**/*.png")):
        shutil.copyfile(path, scratch / "figures" / path.name)
    _draw(run, source, scratch / "figures")
    manifest = {"format": store.FORMAT, "files": hashes(scratch)}
    store.write_atomically(scratch / MANIFEST, store.dump_json(manifest))


def _draw(run: Run, source: str, folder: Path) -> None:
    """Draw the figures of a run's experiments from what will be its record."""
    name = run.experiments()[0][0]
    mine = measurements.summarize(run.measured().assign(source=source))
    others = records.summaries(owner for owner in records.owners(name) if owner != name)
    summary = pd.concat([mine.assign(**{records.RECORD: name}), others], ignore_index=True)
    seen = measurements.usable(records.seen_by(name, summary))
    numbers = published.loader(registry.MODULES[name])
    for _, experiment in run.experiments():
        if experiment.figure is None or experiment.unavailable:
            continue
        table = experiment.table(seen, numbers)
        if not table.empty:
            with plots.house_style():
                plots.save(experiment.figure(table), folder / f"{experiment.name}.png")
