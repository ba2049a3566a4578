"""The run folder on disk: nothing that was finished is ever lost.

`meta.json` is written whole, beside its final name, and moved there. `measurements.csv` only
grows: all rows of a cell are one append, flushed and synced before the next cell starts, and the
last of them is its ``done`` row. After a kill the file may end in a torn line or in a cell without
that row; `RunStore` drops both, and the cell is measured again.
"""

from __future__ import annotations

import csv
import fcntl
import io
import json
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from papers.reproduce.plan.pace import PACE
from papers.reproduce.registry import UsageError
from papers.reproduce.run import json_files
from papers.reproduce.run.measurements import COLUMNS, STATUSES, parse

Row = Mapping[str, Any]
FORMAT = 1
"""Version of the run folder's files, kept in `meta.json`."""

LOCK = ".lock"
"""An empty file, locked by whoever changes the folder."""


def write_atomically(path: Path, text: str) -> None:
    """Write `text` to `path` so that a reader sees the old file or the new one, never a part."""
    scratch = path.with_name(path.name + ".part")
    with scratch.open("w", encoding="utf-8", newline="") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(scratch, path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def dump_json(value: Any) -> str:
    """Return `value` as the JSON text of every file of a run."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _one_line(value: Any) -> str:
    """Return the field's text; a line break in it would split the row."""
    return " ".join(str(value).split()) if isinstance(value, str) else str(value)


def _lines(rows: Iterable[Sequence[str]]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(rows)
    return buffer.getvalue()


class Lock:
    """The right to change a run folder, held from its creation to the end of its report.

    Released by `release` or by the end of the process, however it ends.

    Parameters
    ----------
    folder : Path
        The run folder; it exists.

    Raises
    ------
    UsageError
        If another process, or another `Lock` of this one, holds it.
    """

    def __init__(self, folder: Path) -> None:
        self._file = (folder / LOCK).open("a")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.close()
            raise UsageError(f"{folder} is in use by another run or report") from None

    def release(self) -> None:
        """Let others have the folder."""
        self._file.close()


class RunStore:
    """The `measurements.csv` of a run folder whose `Lock` is held, opened for measuring.

    Parameters
    ----------
    folder : Path
        The run folder; it exists.
    retry : collection of str
        Statuses whose cells are dropped, to be measured again. Where there are any, cells of a
        status that nobody knows are dropped, too.

    Raises
    ------
    UsageError
        If the file's header is damaged.
    """

    def __init__(self, folder: Path, retry: Collection[str] = ()) -> None:
        self.path = folder / "measurements.csv"
        self.finished = self._repair(retry)
        self._file: TextIO = self.path.open("a", encoding="utf-8", newline="")

    def _repair(self, retry: Collection[str]) -> set[str]:
        """Drop what a kill left unfinished and what is to be retried; return the cells kept."""
        found = parse(self.path)
        dropped = {*retry, *(set(found.statuses.values()) - {*STATUSES} if retry else ())}
        kept = {cell for cell, status in found.statuses.items() if status not in dropped}
        repaired = _lines([COLUMNS, *(row for row in found.rows if row[0] in kept)])
        if not self.path.is_file() or self.path.read_bytes() != repaired.encode():
            write_atomically(self.path, repaired)
        return kept

    def append(self, rows: Sequence[Row]) -> None:
        """Append all rows of one cell, its ``done`` row last, and sync them to the disk."""
        if not rows or rows[-1]["metric"] != "done":
            raise ValueError("the rows of a cell end with its done row")
        text = _lines([[_one_line(row[column]) for column in COLUMNS] for row in rows])
        self._file.write(text)
        self._file.flush()
        os.fsync(self._file.fileno())
        self.finished.add(str(rows[-1]["cell"]))

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class Journal:
    """Which cell was begun last, and how often without coming to an end.

    A process that measures alone is killed and replaced, and its cell has an outcome. MPI ranks
    end with their job: without a journal a cell that ends it would end it again on every resume.

    Parameters
    ----------
    folder : Path
        The run folder; it exists.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / "begun.json"

    def begins(self, cell: str) -> int:
        """Note that a cell begins; return how often it was begun before and did not end."""
        try:
            known = json.loads(self._path.read_text(encoding="utf-8"))
            before = int(known["times"]) if known["cell"] == cell else 0
        except (OSError, ValueError, KeyError, TypeError):
            before = 0
        write_atomically(self._path, dump_json({"cell": cell, "times": before + 1}))
        return before

    def ended(self) -> None:
        """The cell is finished and on the disk."""
        self._path.unlink(missing_ok=True)


def read_meta(folder: Path) -> dict[str, Any]:
    """Return the `meta.json` of a run folder; raise `UsageError` if it is none or damaged."""
    path = folder / "meta.json"
    if not path.is_file():
        raise UsageError(f"{folder} is no run folder: it has no meta.json")
    meta = json_files.read(path, json_files.META)
    if meta["format"] != FORMAT:
        raise UsageError(f"{path} has format {meta['format']}, not {FORMAT}")
    if meta["options"]["preset"] not in PACE:
        raise UsageError(f"{path} is damaged: options.preset is none of {', '.join(PACE)}")
    return meta


def write_meta(folder: Path, meta: Mapping[str, Any]) -> None:
    """Write `meta.json`, whole or not at all; a cell of the plan is a line."""
    head = {name: value for name, value in meta.items() if name != "plan"}
    text = dump_json(head)
    if "plan" in meta:
        jobs = ",\n".join(json.dumps(job, ensure_ascii=False) for job in meta["plan"])
        text = text.removesuffix("\n}\n") + f',\n  "plan": [\n{jobs}\n  ]\n}}\n'
    write_atomically(folder / "meta.json", text)
