"""Configurations of the eight variants: as [D13] prints them, as tuned here, and the way between.

`CONFIGURATIONS` goes from print's to ours in single changes; with the variants of [D13 Table 1]
before and the configurations of `papers.deveci_matching.beyond` behind, a time measured with each
is a waterfall (`reproduce run deveci_matching:waterfall`). None of the changes alters an answer.
Four deviations have no switch: with a line 8 that reads ``predecessor[-1]`` (D2), with ends that
stay -2 (D3) or with plain loads of racing words (D5) a run could be wrong, and the blocks of MT
(D7) are the unit of a launch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from papers.common import configurations

LOADS: Literal[8] = 8
"""Entries of ``bfs_array`` that a thread asks for at a time, in ours."""


@dataclass(frozen=True)
class Configuration:
    """One choice between print and ours in each respect in which the two differ.

    Attributes
    ----------
    flags : {"copied", "mapped"}
        Where the host reads vertex_inserted and augmenting_path_found: in words of device memory,
        which it clears before a launch and copies after it, or in one packed word in mapped memory,
        which the last block of a launch stores (D1).
    loads : {1, 8}
        Entries of ``bfs_array`` that a thread asks for at a time (D6).
    last_skipped : bool
        Whether the last iteration, which has found no path, goes without ALTERNATE and FIXMATCHING
        (D4).

    Raises
    ------
    ValueError
        For a value that is none of these.
    """

    flags: Literal["copied", "mapped"] = "mapped"
    loads: Literal[1, 8] = LOADS
    last_skipped: bool = True

    def __post_init__(self) -> None:
        known: dict[str, tuple[Any, ...]] = {
            "flags": ("copied", "mapped"),
            "loads": (1, LOADS),
            "last_skipped": (False, True),
        }
        for name, values in known.items():
            if getattr(self, name) not in values:
                listed = ", ".join(map(str, values))
                raise ValueError(f"{name}={getattr(self, name)!r} is not one of {listed}")


PAPER = Configuration("copied", 1, False)
"""As printed: [D13 Alg.1] clears two flags before a launch and reads them after it."""

TUNED = Configuration()
"""Ours, the default."""

CONFIGURATIONS: Mapping[str, Configuration] = configurations.way(
    {"paper": PAPER},
    (
        ("last_skipped", "last_skipped", True),
        ("loads_at_once", "loads", LOADS),
        ("tuned", "flags", "mapped"),
    ),
)
"""By name, in order, each the one before but for a field."""

CHANGES: Mapping[str, str] = {
    "paper": "as printed: the host clears and copies two flags a level",
    "last_skipped": "the last iteration, without a path, skips ALTERNATE and FIXMATCHING",
    "loads_at_once": "a thread asks for eight levels at once, not for one",
    "tuned": "the flags come as one word, which the host watches",
}
"""The change of each configuration in the one before it."""


def find(configuration: str | Configuration) -> Configuration:
    """Return a configuration by its name, or as it is.

    Raises
    ------
    ValueError
        For an unknown name.
    """
    return configurations.find(configuration, CONFIGURATIONS)
