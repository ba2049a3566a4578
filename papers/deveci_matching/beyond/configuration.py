"""Configurations of `beyond`: the bare launch, and one idea after another.

`CONFIGURATIONS` begins with what cannot be taken apart: one launch, whose barriers of the grid
stand for the host's trips, frontiers in queues, whose edges a block shares, and rows that one tree
claims. Every further one has one idea more; none alters the size of an answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from papers.common import configurations


@dataclass(frozen=True)
class Configuration:
    """The ideas that can be switched off.

    Attributes
    ----------
    spreads : bool
        Whether all blocks share a column of many edges, or one block has each column.
    pulls : bool
        Whether rows look for columns where that is less work.
    grafts : bool
        Whether trees without a path stay from phase to phase.
    cuts : bool
        Whether a phase ends early where paths are short.
    lone : bool
        Whether block 0 goes on alone while a frontier is small, without barriers of the grid.
    within : bool
        Whether each block goes on with its own columns while a frontier is small.
    jumps : bool
        Whether a long search jumps.
    """

    spreads: bool = True
    pulls: bool = True
    grafts: bool = True
    cuts: bool = True
    lone: bool = True
    within: bool = True
    jumps: bool = True


BARE = Configuration(
    spreads=False, pulls=False, grafts=False, cuts=False, lone=False, within=False, jumps=False
)  # fmt: skip
"""One launch, frontiers and claims alone."""

TUNED = Configuration()
"""Ours, the default."""

CONFIGURATIONS: Mapping[str, Configuration] = configurations.way(
    {"bare": BARE},
    (
        ("spread", "spreads", True),
        ("directions", "pulls", True),
        ("grafting", "grafts", True),
        ("short_phases", "cuts", True),
        ("lone_block", "lone", True),
        ("within", "within", True),
        ("tuned", "jumps", True),
    ),
)
"""By name, in order, each the one before but for a field."""

CHANGES: Mapping[str, str] = {
    "bare": "another solver: one launch, frontiers in queues, rows that one tree claims",
    "spread": "all blocks share a column of over 2048 edges",
    "directions": "rows look for columns where that is less work",
    "grafting": "trees without a path stay, and rows of the others are grafted onto them",
    "short_phases": "a phase ends early where paths are short",
    "lone_block": "block 0 goes on alone while a frontier is small",
    "within": "each block goes on with its own columns while a frontier is small",
    "tuned": "long searches jump: beyond as it is",
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


FEW = 2**19
"""Rows, and columns, up to which blocks are small."""


def default_threads(rows: int, columns: int) -> int:
    """Return the threads of a block on a GPU: few, unless the graph is large.

    ``evidence/frontiers.csv`` has the times that this rule was chosen from.
    """
    return 256 if max(rows, columns) <= FEW else 512
