"""Keeps a run as the recorded run of its papers on one card.

A recorded run is what everybody without that card sees beside their own: the raw measurements, the
environment, the plan, and the plots that the paper's RESULTS.md shows.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from papers.reproduce import registry
from papers.reproduce.registry import UsageError
from papers.reproduce.run.runner import Run, exit_code, load_environment, statuses

FILES = ("measurements.csv", "environment.json", "meta.json")


def slug(name: str) -> str:
    """A device's name as a folder name, e.g. ``nvidia-h100-80gb-hbm3``."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def folder_name(environment: Mapping[str, Any]) -> str:
    """The card, and how many of it where there were several: ``nvidia-h200-x4``."""
    gpus = environment.get("gpus_used", 1)
    return slug(str(environment["device"])) + (f"-x{gpus}" if gpus > 1 else "")


def record(run: Run) -> list[Path]:
    """Copy a finished run into ``papers/<paper>/results/<card>/`` of each of its papers.

    Parameters
    ----------
    run : Run
        Measured on a GPU, every planned cell certified or skipped (its matrix is not there, or its
        solver gave up).

    Returns
    -------
    list of Path
        The folders.

    Raises
    ------
    UsageError
        If the run is not complete and certified, was not measured on a GPU, or holds several
        papers, whose cells one file would mix.
    """
    if exit_code(statuses(run)) != 0:
        raise UsageError(f"{run.folder.name} is not complete and certified: nothing is recorded")
    environment = load_environment(run.folder)
    if not environment.get("gpus"):
        raise UsageError(f"{run.folder.name} was not measured on a GPU: nothing is recorded")
    names = list(dict.fromkeys(name for name, _ in run.experiments()))
    if len(names) != 1:
        raise UsageError(f"{run.folder.name} holds {', '.join(names)}: record one paper at a time")
    target = Path(registry.folder(names[0])) / "results" / folder_name(environment)
    pictures = target / "figures"
    pictures.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        shutil.copyfile(run.folder / name, target / name)
    for path in sorted((run.folder / "artifacts").glob("*.png")):
        shutil.copyfile(path, pictures / path.name)
    return [target]
