"""Places that a command is asked to write to, looked at before any work is done for them."""

from __future__ import annotations

import os
from pathlib import Path

from papers.reproduce.registry import UsageError


def probe(path: Path, option: str) -> None:
    """Refuse a path at which no file can be written.

    Parameters
    ----------
    path : Path
    option : str
        The option that names it, for the message.

    Raises
    ------
    UsageError
        If it is a folder, or its folder is missing or closed.
    """
    if path.is_dir():
        raise UsageError(f"{option} {path} is a folder")
    if not path.parent.is_dir():
        raise UsageError(f"{option} {path} cannot be written: there is no folder {path.parent}")
    if not os.access(path.parent, os.W_OK) or (path.exists() and not os.access(path, os.W_OK)):
        raise UsageError(f"{option} {path} cannot be written: permission denied")


def probe_own(path: Path, option: str, mark: str) -> None:
    """Refuse a place as `probe` does, and a file there that this command has not written.

    Parameters
    ----------
    path : Path
    option : str
        The option that names it, for the message.
    mark : str
        A text near the beginning of every file that the command writes.

    Raises
    ------
    UsageError
        Says why.
    """
    probe(path, option)
    if path.exists() and mark.encode() not in path.read_bytes()[:200]:
        raise UsageError(f"{option} {path} exists and is no such file of an earlier run")
