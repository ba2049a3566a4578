"""Named configurations of a solver: the way from print to ours in single changes, and a look-up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

T = TypeVar("T")


def way(begin: Mapping[str, T], changes: Iterable[tuple[str, str, Any]]) -> dict[str, T]:
    """Return configurations by name, each the one before but for a field.

    Parameters
    ----------
    begin : mapping of str to configuration
        The first ones, in order; the changes begin at the last of them.
    changes : iterable of (name, field, value)
        The name of each further configuration, and the change that leads to it.
    """
    found = dict(begin)
    latest = list(found.values())[-1]
    for name, field, value in changes:
        latest = found[name] = replace(latest, **{field: value})  # type: ignore[type-var]
    return found


def find(configuration: str | T, known: Mapping[str, T], whose: str = "") -> T:
    """Return a configuration by its name, or as it is.

    Parameters
    ----------
    configuration : str or configuration
    known : mapping of str to configuration
    whose : str
        The owner of these names, for the message, if there are several.

    Raises
    ------
    ValueError
        For an unknown name, or what is neither.
    """
    if isinstance(configuration, type(next(iter(known.values())))):
        return configuration
    if not isinstance(configuration, str) or configuration not in known:
        names = f"{whose}'s: {', '.join(known)}" if whose else ", ".join(known)
        raise ValueError(f"configuration={configuration!r} is not one of {names}")
    return known[configuration]
