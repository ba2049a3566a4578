"""The code, device and packages that a run was measured with, and whether they are one.

A run that goes on under other code would hold two sorts of numbers under one name. It is refused,
or, where the user insists, `meta.json` says in ``parts`` which cells were measured under what.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import papers
from papers.common.gpu import environment

Circumstances = dict[str, str]
"""Version, commit, sources, device, CPU, driver and packages, as text; "" for what is not known."""

OLD_CHANGES = "+changes"
"""The ending of a commit's name in older environments whose tree was not clean."""


def circumstances(record: Mapping[str, Any], version: str, device: str) -> Circumstances:
    """Return what must be one in a run.

    Parameters
    ----------
    record : mapping
        An environment, as `papers.common.gpu.environment.record` makes it.
    version : str
        The package's version.
    device : str
        The name of the device.
    """
    drivers = dict.fromkeys(gpu.get("driver_version", "") for gpu in record.get("gpus", []))
    packages = [f"{name} {number}" for name, number in record.get("versions", {}).items()]
    return {
        "version": version,
        "commit": str(record.get("commit", "")),
        "sources": str(record.get("sources", "")) if "clean" in record else "",
        "device": device,
        "cpu": str(record.get("cpu", "")),
        "driver": ", ".join(drivers),
        "packages": ", ".join(packages),
    }


def here(device: str) -> Circumstances:
    """Return the circumstances of a measurement that begins now on a device."""
    return circumstances(environment.record(), papers.__version__, device)


def of_run(meta: Mapping[str, Any], record: Mapping[str, Any]) -> Circumstances:
    """Return the circumstances of a run's latest part."""
    if meta.get("parts"):
        told = meta["parts"][-1]
        return {name: told[name] for name in told if name not in ("cells", "differs")}
    return circumstances(record, meta["version"], meta["device"]["name"])


def differences(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Return a clause for each circumstance that both know and that is not the same.

    The hash of the sources is the code; a commit decides only where one of them lacks that hash.
    """
    found = []
    one_code = before.get("sources") and before["sources"] == now.get("sources")
    for name, then in before.items():
        if not then or not now.get(name) or then == now[name] or (name == "commit" and one_code):
            continue
        first, second = _short(name, then, now[name])
        verb = "are" if name in ("sources", "packages") else "is"
        found.append(f"its {name} {verb} {first}, here {verb} {second}")
    return found


def _short(name: str, first: str, second: str) -> tuple[str, str]:
    """Return two values as a reader wants them: hashes cut, of packages those that differ."""
    if name in ("commit", "sources"):
        return _cut(first), _cut(second)
    if name == "packages":
        one, other = first.split(", "), second.split(", ")
        pair = [p for p in one if p not in other], [p for p in other if p not in one]
        return ", ".join(pair[0]) or "none of them", ", ".join(pair[1]) or "none of them"
    return first, second


def _cut(text: str) -> str:
    return text[:12] + (OLD_CHANGES if text.endswith(OLD_CHANGES) else "")


def mixed(meta: Mapping[str, Any], finished: Collection[str]) -> list[str]:
    """Return a sentence for each later part of a run that measured cells otherwise.

    A cell belongs to the last part that was to measure it.
    """
    parts = meta.get("parts", [])
    last = {cell: place for place, part in enumerate(parts) for cell in part["cells"]}
    found = []
    for place, part in enumerate(parts):
        count = sum(last.get(cell) == place for cell in finished)
        if count and part["differs"]:
            told = ", ".join(part["differs"])
            found.append(f"{count} of {len(finished)} cells were measured in a later part: {told}.")
    return found


def clean_commit(record: Mapping[str, Any]) -> tuple[str, str]:
    """Return the clean commit that a run's sources are of, or "" and why there is none.

    The measuring machine may hold a copy of the sources outside version control, or beside a
    history of another commit. Then the history that is here names the commit: one of its latest
    must have the same sources.

    Parameters
    ----------
    record : mapping
        The run's environment.
    """
    commit, measured = str(record.get("commit", "")), str(record.get("sources", ""))
    if "clean" not in record or not measured:
        return "", "its environment does not say whether the tree was clean"
    if commit and record["clean"]:
        known = environment.sources(commit)
        if known in ("", measured):
            return commit, ""
        return "", f"its sources are not those of the commit {commit[:12]} that it names"
    named = environment.commit_with(measured)
    if named:
        return named, ""
    why = "the tree was not clean" if commit else "it was measured outside version control"
    return "", f"{why}, and its sources are those of none of the latest commits here"
