"""Configurations of a run: as [L19] prints and releases it, as tuned here, and the way between.

`CONFIGURATIONS` goes from the authors' release to ours in single changes, so that a time measured
with each of them is a waterfall (`reproduce run lopes2019:waterfall`). None of the changes alters
an answer: Theorem 1 covers all of them. Four deviations have no switch: the reductions' barriers in
the last warp (D3), the memory order of covers (D10), the duals beside the slacks (D12) and the copy
of the costs (D9); without the first two a run would be wrong on cards since Volta, without the last
two an answer could not be proved and a run not repeated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from papers.common import configurations

LINES_A_BIN = 512
"""Columns a bin in the authors' release; where it is not said, those that suit the device."""

CHECKS = 10
"""Checks of a zero between two barriers in the authors' release."""


@dataclass(frozen=True)
class Configuration:
    """One choice between print and ours in each respect in which the two differ.

    Attributes
    ----------
    flags : {"managed", "copied", "mapped"}
        Where the host reads step 4's signals: in managed memory, in copies of device memory, or as
        one packed word that the last block stores into mapped memory (D4).
    one_counter : bool
        Whether all zeros are counted on one word besides their bins' [L19 Alg.7]. Not with
        "mapped".
    wait : bool
        Whether the host waits for every kernel before it launches the next (D5).
    checks : int
        How often a zero is checked between two barriers [L19 app.B]; at most 10.
    spare_checks : bool
        Whether a block checks once where it is alone, or its threads have over two zeros each.
        Not with three barriers (D7).
    stop_at_path : bool
        Whether a block stops at its first path, or goes on until it can uncover no column (D7).
    barriers : {3, 1}
        Barriers a sweep of step 4 [L19 Alg.2]. One barrier knows no stop.
    step_2_by_bin : bool
        Whether step 2 has a block a bin and the host repeats it, or one block. Not with "mapped".
    count_by_star : bool
        Whether step 3 counts by an atomic addition a star, and erases the marks by a kernel of its
        own, or by an addition a block (D8).
    lines_a_bin : int or None
        Columns a bin; None: those that suit the device (D6).
    an_entry_a_thread : bool
        Whether the kernels on the whole matrix take an entry a thread, on the release's blocks, or
        stride over it on as many blocks as the device holds (D15).

    Raises
    ------
    ValueError
        If two of these cannot go together, or `checks` or `lines_a_bin` is out of range.
    """

    flags: Literal["managed", "copied", "mapped"] = "mapped"
    one_counter: bool = False
    wait: bool = False
    checks: int = CHECKS
    spare_checks: bool = True
    stop_at_path: bool = False
    barriers: Literal[3, 1] = 1
    step_2_by_bin: bool = False
    count_by_star: bool = False
    lines_a_bin: int | None = None
    an_entry_a_thread: bool = False

    def __post_init__(self) -> None:
        if self.flags not in ("managed", "copied", "mapped"):
            raise ValueError(f"flags={self.flags!r} is not one of managed, copied, mapped")
        if self.barriers not in (1, 3):
            raise ValueError(f"barriers={self.barriers!r} is neither 3 nor 1")
        if not 1 <= self.checks <= CHECKS:
            raise ValueError(f"checks={self.checks} is not within 1 to {CHECKS}")
        if self.lines_a_bin is not None and self.lines_a_bin < 1:
            raise ValueError(f"lines_a_bin={self.lines_a_bin} is out of range")
        if self.barriers == 1 and self.stop_at_path:
            raise ValueError("one barrier a sweep goes without stop_at_path")
        if self.barriers == 3 and self.spare_checks:
            raise ValueError("three barriers a sweep go without spare_checks")
        if self.flags == "mapped" and (self.step_2_by_bin or self.one_counter):
            raise ValueError("mapped flags go without step_2_by_bin and without one_counter")
        if self.one_counter and not self.an_entry_a_thread:
            raise ValueError("one_counter goes with an_entry_a_thread")

    @property
    def host_reads(self) -> bool:
        """Whether the host reads the flags itself."""
        return self.flags != "mapped"


RELEASED = Configuration(
    flags="managed", one_counter=True, wait=True, checks=CHECKS, spare_checks=False,
    stop_at_path=True, barriers=3, step_2_by_bin=True, count_by_star=True,
    lines_a_bin=LINES_A_BIN, an_entry_a_thread=True,
)  # fmt: skip
"""The authors' program as it has been since its second release: flags in managed memory."""

PAPER = replace(RELEASED, flags="copied")
"""The paper's: the host copies the flags. The paper does not say how its flags reach the host."""

TUNED = Configuration()
"""Ours, the default."""


def _way() -> dict[str, Configuration]:
    """Return the configurations from the release to ours, each the one before but for a field."""
    changes: tuple[tuple[str, str, Any], ...] = (
        ("counted_by_bin", "one_counter", False),
        ("queued", "wait", False),
        ("all_paths", "stop_at_path", False),
        ("one_barrier", "barriers", 1),
        ("step_2_in_one_block", "step_2_by_bin", False),
        ("stars_by_block", "count_by_star", False),
        ("one_word", "flags", "mapped"),
        ("spared_checks", "spare_checks", True),
        ("wide_bins", "lines_a_bin", None),
        ("tuned", "an_entry_a_thread", False),
    )
    return configurations.way({"released": RELEASED, "paper": PAPER}, changes)


CONFIGURATIONS: Mapping[str, Configuration] = _way()
"""By name, in order."""

CHANGES: Mapping[str, str] = {
    "released": "the authors' program: flags in managed memory",
    "paper": "the host copies its flags from device memory",
    "counted_by_bin": "zeros are counted by bin only",
    "queued": "the host waits for its flags only, not for every kernel",
    "all_paths": "a block goes on after its first path",
    "one_barrier": "a sweep has one barrier, not three; a block alone checks a zero once",
    "step_2_in_one_block": "step 2 runs in one block, without restarts",
    "stars_by_block": "stars are counted a block, not a star, at a time",
    "one_word": "the flags come as one word, which the host watches",
    "spared_checks": "where a thread has over two zeros, each is checked once, not ten times",
    "wide_bins": "up to n = 1024 one block searches alone, instead of one for 512 columns",
    "tuned": "kernels on the matrix stride over it",
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
