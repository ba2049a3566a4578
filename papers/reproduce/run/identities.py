"""``instances.csv`` of a run: the size and the checksum of what was measured, an instance a row.

Only instances whose data do not follow from their names have a row: those from files and from
photographs (`papers.common.instances.drawing.identify`). A run that is resumed with another file
under the same name would mix two instances; its cells fail.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from papers.common.model import Instance
from papers.reproduce.measure.outcome import Outcome
from papers.reproduce.registry import UsageError
from papers.reproduce.run.folder import write_atomically

FILE = "instances.csv"
NAMED_BY = ("family", "n", "label", "seed", "permuted")
FOUND = ("rows", "columns", "entries", "sha256")

Key = tuple[str, ...]


def key_of(instance: Instance) -> Key:
    """Return the values of `NAMED_BY`, as they stand in the file."""
    return tuple(str(getattr(instance, name)) for name in NAMED_BY)


def read(folder: Path) -> dict[Key, dict[str, str]]:
    """Return the rows of a run's `FILE`, `FOUND` by `key_of`; none if there is no file.

    Raises
    ------
    UsageError
        If its columns are not `NAMED_BY` and `FOUND`, or a row has fewer or more.
    """
    try:
        text = (folder / FILE).read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    header, *rows = [tuple(row) for row in csv.reader(io.StringIO(text))] or [()]
    columns = (*NAMED_BY, *FOUND)
    if header != columns or any(len(row) != len(columns) for row in rows):
        wanted = ", ".join(columns)
        raise UsageError(f"{folder / FILE} is damaged: its columns are not {wanted}")
    named = len(NAMED_BY)
    return {row[:named]: dict(zip(FOUND, row[named:], strict=True)) for row in rows}


def write(folder: Path, rows: Mapping[Key, Mapping[str, str]]) -> None:
    """Write the rows that `read` returns, if they are not there already."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow((*NAMED_BY, *FOUND))
    writer.writerows((*key, *found.values()) for key, found in sorted(rows.items()))
    path, text = folder / FILE, buffer.getvalue()
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        write_atomically(path, text)


class Identities:
    """The identities that a run has met, kept in its folder.

    Parameters
    ----------
    folder : Path
        The run folder; it exists.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self._rows = read(folder)

    def checked(self, instance: Instance, outcome: Outcome) -> Outcome:
        """Keep the identity of a cell's data; a cell of other data than before has failed.

        Parameters
        ----------
        instance : Instance
            The cell's.
        outcome : Outcome
            The cell's; without an identity it is returned as it is.
        """
        if not outcome.identity:
            return outcome
        found = {name: str(outcome.identity[name]) for name in FOUND}
        known = self._rows.setdefault(key_of(instance), found)
        if known != found:
            reason = (
                f"the data of {instance.label} have changed since this run began: SHA-256 "
                f"{found['sha256'][:12]} and not {known['sha256'][:12]}"
            )
            return replace(outcome, status="failed", certificate="none", reason=reason, values=())
        self._write()
        return outcome

    def _write(self) -> None:
        write(self._path.parent, self._rows)
