"""The run folder on disk: nothing that was finished is ever lost.

`meta.json` is written whole, beside its final name, and moved there. `measurements.csv` only
grows: all rows of a cell are one append, flushed and synced before the next cell starts, and the
last of them is its ``done`` row. After a kill the file may end in a torn line or in a cell without
that row; `RunStore.repair` drops both, and the cell is measured again.
"""

from __future__ import annotations

import csv
import fcntl
import io
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from papers.reproduce.measurements import COLUMNS
from papers.reproduce.registry import UsageError

Row = Mapping[str, Any]


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


class RunStore:
    """A run folder opened for measuring; only one process may hold it.

    Parameters
    ----------
    folder : Path
        The run folder; it exists.

    Raises
    ------
    UsageError
        If another process is writing there.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "measurements.csv"
        self._file: TextIO = self.path.open("a+", encoding="utf-8", newline="")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.close()
            raise UsageError(f"another run is writing to {folder}") from None
        self.finished = self.repair()

    def repair(self) -> set[str]:
        """Drop what a kill left unfinished; return the keys of the finished cells."""
        self._file.seek(0)
        text = self._file.read()
        whole = text[: text.rfind("\n") + 1]
        rows = [row for row in csv.reader(whole.splitlines()) if len(row) == len(COLUMNS)]
        rows = rows[1:] if rows and tuple(rows[0]) == COLUMNS else rows
        metric = COLUMNS.index("metric")
        done = {row[0] for row in rows if row[metric] == "done"}
        repaired = _lines([COLUMNS, *(row for row in rows if row[0] in done)])
        if repaired != text:
            self._replace(repaired)
        return done

    def _replace(self, text: str) -> None:
        """Put `text` in place of the file and keep the lock on the new one."""
        write_atomically(self.path, text)
        fresh = self.path.open("a+", encoding="utf-8", newline="")
        fcntl.flock(fresh, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._file.close()
        self._file = fresh

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
        """Release the folder."""
        self._file.close()


def read_meta(folder: Path) -> dict[str, Any]:
    """Return the `meta.json` of a run folder; raise `UsageError` if it is none."""
    try:
        return json.loads((folder / "meta.json").read_text(encoding="utf-8"))
    except OSError:
        raise UsageError(f"{folder} is no run folder: it has no meta.json") from None
    except ValueError as error:
        raise UsageError(f"{folder / 'meta.json'} is damaged: {error}") from None


def write_meta(folder: Path, meta: Mapping[str, Any]) -> None:
    """Write `meta.json`, whole or not at all."""
    write_atomically(folder / "meta.json", dump_json(meta))
