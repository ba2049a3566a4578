"""Configurations of a run on one GPU: as [DN16] prints it, as tuned here, and the way between.

`CONFIGURATIONS` goes from print to ours in single changes, so that a time measured with each of
them is a waterfall (`reproduce run datenagi2016:waterfall`). None of the changes alters an answer.
A change may concern one variant alone (`CONCERNS`); for the other it is left out of the waterfall.

These deviations have no switch. The duals in half units (D1) keep integers exact; print's doubles
are ``dtype="float64"``. The own prefix sum (D9) runs in the executor, which Thrust does not. A
search after a dual update goes on from all uncovered rows (D10): section 4.3.1 names the unassigned
ones, from which no new edge of a grown tree could be found, and the listing has it as we do. Slacks
that cancel (D14) and bounded loops (D15) are what ends a run on doubles.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from papers.common import configurations

BOTH = ("classical", "tree")


@dataclass(frozen=True)
class Configuration:
    """One choice between print and ours in each respect in which the two differ.

    Attributes
    ----------
    wait : bool
        Whether the host waits for every kernel before it launches the next [DN16 sec.3.2].
    flags : {"copied", "mapped"}
        Whether the host copies match_count and the path's flag from device memory, or watches one
        word in mapped memory that carries both (D7). "mapped" goes with `one_pass`.
    compressed : bool
        Whether F_rev and F_aug are compressed from marks by a predicate, a prefix sum and a
        scatter, or appended to by the kernels that mark (D5). Goes without `one_pass`.
    racing : bool
        Classical: whether rows that race for a column all store and gather, into room that a prefix
        sum of their degrees gives, or one of them wins an exchange (D3, D13). Goes without
        `one_pass`.
    expand_all : bool
        Classical: whether a row whose only edge is its own assigned one is expanded, too (D12).
        Goes without `one_pass`.
    one_pass : bool
        Whether a forward pass is one launch, or the host launches each level's expansion and
        contraction (D2).
    thread_a_column : bool
        Tree: whether a column has one thread, or warps share the frontier's rows (D4, D11).
    thread_a_line : bool
        Whether the reductions and stage 1 have a thread a line and theta a thread alone, or a
        warp and a block (D8).
    staged : bool
        Whether a large matrix of the host's arrives in pinned chunks that several threads fill, or
        in one copy (D22). It is no part of a run, but of what a caller waits for.
    by_entry : bool
        Classical: whether the matrix is compressed by a predicate, a prefix sum and a scatter over
        all its entries, or by rows' counts and kept edges (D6).

    Raises
    ------
    ValueError
        If two of these cannot go together.
    """

    wait: bool = False
    flags: Literal["copied", "mapped"] = "mapped"
    compressed: bool = False
    racing: bool = False
    expand_all: bool = False
    one_pass: bool = True
    thread_a_column: bool = False
    thread_a_line: bool = False
    by_entry: bool = False
    staged: bool = True

    def __post_init__(self) -> None:
        if self.flags not in ("copied", "mapped"):
            raise ValueError(f"flags={self.flags!r} is not one of copied, mapped")
        if self.flags == "mapped" and not self.one_pass:
            raise ValueError("mapped flags go with one_pass")
        by_level = [name for name in ("compressed", "racing", "expand_all") if getattr(self, name)]
        if self.one_pass and by_level:
            raise ValueError(f"one_pass goes without {by_level[0]}")
        if not self.one_pass and not self.thread_a_column:
            raise ValueError("levels launched by the host have a thread_a_column")


PAPER = Configuration(
    wait=True, flags="copied", compressed=True, racing=True, expand_all=True, one_pass=False,
    thread_a_column=True, thread_a_line=True, by_entry=True, staged=False,
)  # fmt: skip
"""Algorithms 1 to 9 as printed."""

TUNED = Configuration()
"""Ours, the default."""


_CHANGES: tuple[tuple[str, str, Any, tuple[str, ...], str], ...] = (
    ("queued", "wait", False, BOTH, "the host waits where it reads, not for every kernel"),
    ("appended", "compressed", False, BOTH, "ends and roots of paths are appended to their lists"),
    ("claimed", "racing", False, ("classical",), "one of the rows that race wins by an exchange"),
    ("alone", "expand_all", False, ("classical",), "rows that cannot lead on are not expanded"),
    ("one_launch", "one_pass", True, BOTH, "a forward pass is one launch; no host between levels"),
    ("shared_columns", "thread_a_column", False, ("tree",), "warps share a wide frontier's rows"),
    ("warp_a_row", "thread_a_line", False, BOTH, "a warp, not a thread, reads a row"),
    ("by_rows", "by_entry", False, ("classical",), "the matrix is read once to list its edges"),
    ("one_word", "flags", "mapped", BOTH, "the flags come as one word, which the host watches"),
    ("tuned", "staged", True, BOTH, "a large matrix arrives in pinned chunks"),
)


def _way() -> dict[str, Configuration]:
    """Return the configurations from print to ours, each the one before but for a field."""
    return configurations.way({"paper": PAPER}, (change[:3] for change in _CHANGES))


CONFIGURATIONS: Mapping[str, Configuration] = _way()
"""By name, in order."""

CHANGES: Mapping[str, str] = {
    "paper": "Algorithms 1 to 9 as printed",
    **{name: text for name, _, _, _, text in _CHANGES},
}
"""The change of each configuration in the one before it."""

CONCERNS: Mapping[str, tuple[str, ...]] = {
    "paper": BOTH,
    **{name: variants for name, _, _, variants, _ in _CHANGES},
}
"""The variants that a change concerns."""


def steps_of(variant: str) -> tuple[str, ...]:
    """Return the names of the configurations on a variant's way from print to ours."""
    return tuple(name for name, variants in CONCERNS.items() if variant in variants)


def find(configuration: str | Configuration) -> Configuration:
    """Return a configuration by its name, or as it is.

    Raises
    ------
    ValueError
        For an unknown name.
    """
    return configurations.find(configuration, CONFIGURATIONS)
