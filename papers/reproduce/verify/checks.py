"""Checks of a recorded run that need nothing but its files, the pages and the sources' history.

A check that cannot be made (a record without a manifest, a copy without git) says so; it has not
failed, and it has not passed either.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from papers.common import instances
from papers.common.gpu import environment
from papers.common.instances.files import MissingInstanceError
from papers.common.model import Instance
from papers.reproduce import registry
from papers.reproduce.plan import cells
from papers.reproduce.plan.cells import Job
from papers.reproduce.registry import UsageError
from papers.reproduce.report import readme, two_runs
from papers.reproduce.run import code, identities, json_files, measurements, packed
from papers.reproduce.run.recording import FILES, MANIFEST, hashes

Result = Literal["ok", "failed", "cannot be said"]


@dataclass(frozen=True)
class Check:
    """One line of ``reproduce verify``.

    Attributes
    ----------
    name : str
        The checked thing: ``files``, ``record``, ``code``, ``code here``, ``cells``,
        ``objectives``, ``instances``, ``sample`` or ``tables``.
    result : {"ok", "failed", "cannot be said"}
    why : str
        One sentence.
    """

    name: str
    result: Result
    why: str


@dataclass(frozen=True)
class Record:
    """A recorded run, read.

    Attributes
    ----------
    folder : Path
    paper : str
        The paper whose experiments it holds.
    environment, meta : dict
        `environment.json` and `meta.json`.
    jobs : list of Job
        The plan.
    table : DataFrame
        `measurements.csv`, its finished cells.
    """

    folder: Path
    paper: str
    environment: dict[str, Any]
    meta: dict[str, Any]
    jobs: list[Job]
    table: pd.DataFrame

    @property
    def name(self) -> str:
        """``<paper>/<card>``."""
        return f"{self.paper}/{self.folder.name}"


def found(name: str | None) -> list[Path]:
    """Return the folders of the records that a word of the command line names.

    Parameters
    ----------
    name : str or None
        A paper, ``PAPER/CARD``, a card, a folder, or None for all records of all papers.

    Raises
    ------
    UsageError
        If there is no such record.
    """
    if name is not None and _holds_a_record(Path(name)):
        return [Path(name).resolve()]
    every = [
        path
        for paper in registry.MODULES
        for path in sorted((registry.folder(paper) / "results").glob("*"))
        if path.is_dir() and not _holds_logs(path)
    ]
    names = {path: (path.parents[1].name, path.name) for path in every}
    kept = [p for p in every if name in (None, *names[p], "/".join(names[p]))]
    if not kept:
        listed = ", ".join("/".join(pair) for pair in names.values()) or "none"
        raise UsageError(f"there is no record {name!r}; there are: {listed}")
    return kept


def _holds_logs(folder: Path) -> bool:
    """Whether a folder has logs, as the sanitizer's, and no file of a record: it has lost none."""
    return any(file.suffix == ".log" for file in folder.iterdir()) and not _holds_a_record(folder)


def _holds_a_record(folder: Path) -> bool:
    """Whether a folder has a file of a record; a folder of sources may be called as a paper is."""
    return any((folder / name).is_file() for name in (*FILES, packed.PACKED, MANIFEST))


def read(folder: Path) -> Record:
    """Read a record.

    Raises
    ------
    UsageError
        If one of its files is missing or damaged, or it is of no known paper.
    """
    measured = packed.in_folder(folder)
    missing = [p.name for p in (measured, *(folder / n for n in FILES[1:])) if not p.is_file()]
    if missing:
        raise UsageError(f"it has no {', '.join(missing)}")
    meta = json_files.read(folder / "meta.json", json_files.META)
    paper = registry.owner(meta["experiments"][0]) if meta["experiments"] else ""
    registry.card(paper)
    record = json_files.read(folder / "environment.json", json_files.ENVIRONMENT)
    table = measurements.read(measured)
    return Record(folder, paper, record, meta, cells.from_json(meta["plan"]), table)


# ------------------------------------------------------------------------------- files


def check_files(folder: Path) -> Check:
    """Compare every file's hash with the manifest that `reproduce record` wrote."""
    path = folder / MANIFEST
    if not path.is_file():
        return Check("files", "cannot be said", "the record is older than manifests and has none")
    try:
        listed = json_files.read(path, {"files": {str: str}})["files"]
        here = hashes(folder)
    except UsageError as error:
        return Check("files", "failed", str(error))
    faults = [f"{name} is missing" for name in sorted(listed.keys() - here.keys())]
    faults += [f"{name} is not in the manifest" for name in sorted(here.keys() - listed.keys())]
    both = sorted(listed.keys() & here.keys())
    faults += [f"{name} was changed" for name in both if listed[name] != here[name]]
    if faults:
        return Check("files", "failed", _listed(faults))
    return Check("files", "ok", f"{len(here)} files have the hashes of the manifest")


# ------------------------------------------------------------------------------- code


def check_code(record: Record) -> Iterator[Check]:
    """Check that the record is of one clean commit, and compare that with what is here."""
    facts = record.environment
    commit, measured = str(facts.get("commit", "")), str(facts.get("sources", ""))
    done = set(record.table["cell"])
    faults = list(dict.fromkeys([*facts.get("anyway", []), *code.mixed(record.meta, done)]))
    if commit.endswith(code.OLD_CHANGES) or facts.get("clean") is False:
        faults.append(f"the tree had changes beside the commit {commit[:12]}")
    if faults:
        yield Check("code", "failed", " ".join(faults))
        return
    if "clean" not in facts or not measured:
        yield Check(
            "code",
            "cannot be said",
            f"it names the commit {commit[:12]}, and no hash of its sources",
        )
        return
    known = environment.sources(commit)
    if not known:
        yield Check("code", "cannot be said", f"the commit {commit[:12]} is not here")
    elif known != measured:
        yield Check("code", "failed", f"its sources are not those of the commit {commit[:12]}")
    else:
        yield Check("code", "ok", f"its sources are those of the clean commit {commit[:12]}")
    yield _present(commit, measured)


def _present(commit: str, measured: str) -> Check:
    if environment.sources() == measured:
        return Check("code here", "ok", "the sources that are here are the record's")
    changed = environment.changed_since(commit)
    number = "an unknown number of" if changed is None else str(len(changed))
    return Check(
        "code here",
        "cannot be said",
        f"the sources have changed in {number} files since; `sample` says whether answers have",
    )


# ------------------------------------------------------------------------------- cells


def check_cells(record: Record) -> Check:
    """Check that each planned cell is there once, with a known status, and no other."""
    ends = record.table[record.table["metric"] == "done"]
    done = ends.drop_duplicates("cell", keep="last")
    status = dict(zip(done["cell"], done["status"], strict=True))
    planned = [job.key for job in record.jobs]
    faults = [f"{cell} was not measured" for cell in planned if cell not in status]
    faults += [f"{cell} was not planned" for cell in sorted(status.keys() - set(planned))]
    twice = dict.fromkeys(ends["cell"][ends["cell"].duplicated()])
    faults += [f"{cell} was measured more than once" for cell in twice]
    faults += [f"{c} is {s!r}" for c, s in status.items() if s not in ("ok", "skipped")]
    rows = record.table["status"] != record.table["cell"].map(status)
    faults += [f"{cell} has two statuses" for cell in dict.fromkeys(record.table["cell"][rows])]
    unproved = done[(done["status"] == "ok") & (done["certificate"] == "none")]["cell"]
    faults += [f"{cell} is ok without a proof" for cell in unproved]
    if faults:
        return Check("cells", "failed", _listed(faults))
    number = sum(s == "ok" for s in status.values())
    return Check("cells", "ok", f"{number} cells are proved, {len(status) - number} were skipped")


def check_objectives(record: Record) -> Check:
    """Check that all certified solvers of one instance have one objective."""
    summary = measurements.summarize(record.table)
    different = two_runs.different_costs(summary)
    if different:
        return Check("objectives", "failed", _listed(different))
    return Check("objectives", "ok", "all certified solvers of an instance have one objective")


# ------------------------------------------------------------------------------- instances


def check_instances(record: Record) -> Check:
    """Draw the instances from files again and compare their checksums with the recorded ones."""
    try:
        known = identities.read(record.folder)
    except UsageError as error:
        return Check("instances", "failed", str(error))
    planned = {identities.key_of(job.cell.instance): job.cell.instance for job in record.jobs}
    if not known:
        return Check("instances", "cannot be said", "it has no checksum of a file's instance")
    faults = [f"{' '.join(key)} was not planned" for key in known.keys() - planned.keys()]
    drawn = 0
    for key, told in known.items():
        if key in planned:
            here = _identity(planned[key])
            drawn += bool(here)
            if here and here != told:
                faults.append(f"{planned[key].label} has other data here")
    if faults:
        return Check("instances", "failed", _listed(faults))
    if not drawn:
        none = (
            f"none of the recorded run's {len(known)} files is here: `reproduce fetch` brings them"
        )
        return Check("instances", "cannot be said", none)
    return Check(
        "instances", "ok", f"{drawn} of {len(known)} files are here, with the recorded data"
    )


def _identity(instance: Instance) -> dict[str, str]:
    """Return size and checksum of an instance as text; none where its file is not here."""
    try:
        found = instances.identify(instance)
    except MissingInstanceError:
        return {}
    return {name: str(found[name]) for name in identities.FOUND} if found else {}


# ------------------------------------------------------------------------------- tables


def check_tables(record: Record) -> Check:
    """Make the paper's generated pages again and compare them with the committed ones."""
    home = registry.folder(record.paper)
    if record.folder.resolve().parent != (home / "results").resolve():
        return Check(
            "tables", "cannot be said", f"no page is made from a folder outside {home.name}"
        )
    try:
        pages = readme.pages(record.paper)
    except Exception as error:
        return Check("tables", "failed", f"{type(error).__name__}: {error}")
    faults = [
        f"{path.relative_to(home)} differs in {number} lines"
        for path, text in pages.items()
        if (number := _different_lines(path, text))
    ]
    if faults:
        return Check("tables", "failed", f"{_listed(faults)}; reproduce readme {record.paper}")
    listed = " and ".join(str(path.relative_to(home)) for path in pages)
    return Check("tables", "ok", f"made again, they stand in {listed}")


def _different_lines(path: Path, text: str) -> int:
    before = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    now = text.splitlines()
    number = sum(a != b for a, b in zip(before, now, strict=False)) + abs(len(before) - len(now))
    return number


def _listed(faults: list[str], most: int = 3) -> str:
    more = f"; and {len(faults) - most} more" if len(faults) > most else ""
    return "; ".join(faults[:most]) + more
