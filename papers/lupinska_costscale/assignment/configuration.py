"""Configurations of the lock-free refine: as [LU11 sec.5.5] prints it, as tuned, and the way.

`CONFIGURATIONS` goes from the paper's to ours in single changes, so that a time measured with each
of them is a waterfall (`reproduce run lupinska_costscale:waterfall`). None of the changes alters an
answer: a push or a relabel may be made whenever it applies, and prices may be updated between any
two runs of the kernel.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from papers.common import configurations
from papers.common.deadline import check_count

CYCLE = 500_000
"""Turns of a node's thread in one run of the kernel [LU11 sec.5.5]."""

SHORT_CYCLE = 50
"""Turns after which the kernel comes back to have its prices updated, by ours."""

PAPER_THREADS = 32 * 16
"""Threads a block: "the best results" [LU11 sec.5.5]."""

PRICE_UPDATES = ("first", "every", "none")
MOST_TURNS = 2**63 - 1
"""Turns and relabels are counted in 64 bits."""


@dataclass(frozen=True)
class Configuration:
    """One choice between print and ours in each respect in which the two differ.

    Attributes
    ----------
    ahead : bool
        Whether a thread loads the price beside an arc's flow at once, or, as printed, only once it
        has seen that the arc is residual.
    lanes : {1, 32}
        Threads that are set aside for a node; as printed one. More than one go with `ahead`.
    lookers : {1, 32}
        How many of these look through the node's arcs.
    threads : int
        Threads a block on a GPU.
    cycle : int
        CYCLE: turns of a node in one run of the kernel.
    price_updates : {"first", "every", "none"}
        The runs of the kernel, of each refine, after which prices are updated.
    updates_on : {"host", "device"}
        Where [LU11 Alg.5.3] runs.

    Raises
    ------
    ValueError
        For a value that is none of these, or two that cannot go together.
    """

    ahead: bool = True
    lanes: Literal[1, 32] = 32
    lookers: Literal[1, 32] = 32
    threads: int = 128
    cycle: int = SHORT_CYCLE
    price_updates: Literal["first", "every", "none"] = "every"
    updates_on: Literal["host", "device"] = "device"

    def __post_init__(self) -> None:
        known: dict[str, tuple[Any, ...]] = {
            "ahead": (False, True),
            "lanes": (1, 32),
            "lookers": (1, self.lanes),
            "price_updates": PRICE_UPDATES,
            "updates_on": ("host", "device"),
        }
        for name, values in known.items():
            chosen = getattr(self, name)
            if chosen not in values:
                raise ValueError(f"{name}={chosen!r} is not one of {', '.join(map(str, values))}")
        if self.lanes > 1 and not self.ahead:
            raise ValueError(f"lanes={self.lanes} go with ahead")
        check_count("cycle", self.cycle, most=MOST_TURNS)
        check_count("threads", self.threads, most=1024)


PAPER = Configuration(
    ahead=False, lanes=1, lookers=1, threads=PAPER_THREADS, cycle=CYCLE, price_updates="first",
    updates_on="host",
)  # fmt: skip
"""As printed."""

TUNED = Configuration()
"""Ours, the default."""


def _way() -> dict[str, Configuration]:
    """Return the configurations from print to ours, each the one before but for a field."""
    changes: tuple[tuple[str, str, Any], ...] = (
        ("loads_at_once", "ahead", True),
        ("alone_in_a_warp", "lanes", 32),
        ("warp_a_node", "lookers", 32),
        ("spread", "threads", TUNED.threads),
        ("interrupted", "cycle", SHORT_CYCLE),
        ("updated_often", "price_updates", "every"),
        ("tuned", "updates_on", "device"),
    )
    return configurations.way({"paper": PAPER}, changes)


CONFIGURATIONS: Mapping[str, Configuration] = _way()
"""By name, in order."""

CHANGES: Mapping[str, str] = {
    "paper": "as printed: a thread a node, CYCLE 500,000, prices updated once a refine",
    "loads_at_once": "a thread loads an arc's flow and its price at once",
    "alone_in_a_warp": "a node has a warp, of which one thread works: no two nodes diverge",
    "warp_a_node": "all threads of the warp look through the arcs of its node",
    "spread": "blocks of 128 threads, not of 512, on as many more multiprocessors",
    "interrupted": "CYCLE 50: the first run ends with nodes active, and prices are updated",
    "updated_often": "prices are updated after every run that leaves nodes active",
    "tuned": "prices are updated on the device",
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
