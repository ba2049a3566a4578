"""All checks of one record, in the order in which they cost time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from papers.reproduce.registry import UsageError
from papers.reproduce.run import identities
from papers.reproduce.verify import checks
from papers.reproduce.verify.checks import Check
from papers.reproduce.verify.sample import check_sample


def verify(folder: Path, seconds: float) -> Iterator[Check]:
    """Check a record; one `Check` after the other, as they are made.

    Parameters
    ----------
    folder : Path
        The record: ``papers/<paper>/results/<card>``, a copy of it, or the folder of a run.
    seconds : float
        How long instances are solved anew.
    """
    yield checks.check_files(folder)
    try:
        record = checks.read(folder)
    except UsageError as error:
        yield Check("record", "failed", str(error))
        return
    yield from checks.check_code(record)
    yield checks.check_cells(record)
    yield checks.check_objectives(record)
    if (record.folder / identities.FILE).is_file():
        yield checks.check_instances(record)
    yield check_sample(record, seconds)
    yield checks.check_tables(record)
