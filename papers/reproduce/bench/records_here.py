"""Times of the papers' records, where this machine is the one that they were measured on."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import pandas as pd

from papers.reproduce import registry
from papers.reproduce.run import measurements, packed

FACTS = ("gpus", "cpu", "cores", "memory_gib", "system")
"""The entries of an environment that must be one: figures of two machines are never compared."""


def same_machine(here: Mapping[str, Any], there: Mapping[str, Any]) -> bool:
    """Whether two environments are of one machine, and say what machine it is."""
    if not here.get("cpu") or not here.get("cores"):
        return False
    return all(here.get(name) == there.get(name) for name in FACTS)


def times(
    here: Mapping[str, Any], clock: str, instances: Collection[str]
) -> tuple[pd.DataFrame, list[str]]:
    """Return the recorded times of these instances on this machine.

    Parameters
    ----------
    here : mapping
        The environment of this run.
    clock : str
    instances : collection of str
        Keys.

    Returns
    -------
    DataFrame
        Rows of `papers.reproduce.run.measurements.SUMMARY`, without those of other machines.
    list of str
        The records of other machines, which are left out.
    """
    kept, away = [], []
    for paper in registry.MODULES:
        results = registry.folder(paper) / "results"
        for origin, environment in measurements.environments(results):
            name = f"{paper} on {origin.removeprefix('recorded ')}"
            if same_machine(here, environment):
                path = packed.in_folder(results / origin.removeprefix("recorded "))
                kept.append(measurements.summarize(measurements.read(path), f"record of {name}"))
            else:
                away.append(name)
    if not kept:
        return measurements.summarize(pd.DataFrame()), away
    rows = pd.concat(kept, ignore_index=True)
    of_cell = [cell.partition("/")[2] for cell in rows["cell"]]
    right = (rows["scope"] == clock) & (rows["metric"] == "time_ms") & (rows["status"] == "ok")
    # A record may maximize: that is another problem on the same matrix.
    right &= ~rows["options"].str.contains("maximize=True")
    return rows[right & pd.Series(of_cell, rows.index).isin(set(instances))], away
