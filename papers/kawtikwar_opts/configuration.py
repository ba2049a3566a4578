"""Configurations of a run: as [K21] has it, as tuned here, and the steps between.

"paper" is the authors' release of Lopes, from which the report starts: 512 columns a bin, 1024
threads in steps 2 and 4, an entry a thread, flags in managed memory, a wait after every kernel.
That its flags are managed the report shows itself: the release's only ``cudaMemcpyToSymbol``
uploads the costs, and [K21 Fig.5] has no other copy. Every version then changes what the report
names and nothing else. The versions in one launch have the same steps inside it, with barriers of
the grid for the launches.

`ONE_LAUNCH` goes from there to ours in single changes. `COUNTERS` are configurations of the
baseline that differ in the counter of all zeros: its memory, and whether a warp adds once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from papers.common import configurations
from papers.lopes2019 import configuration as lopes

LINES_A_BIN = lopes.LINES_A_BIN

Memory = Literal["flags", "managed", "mapped", "device"]
"""Where the counter of all zeros lies: among the flags, or by itself in one of three memories."""


@dataclass(frozen=True)
class Configuration:
    """One choice between print and ours in each respect in which the two differ.

    Attributes
    ----------
    host : papers.lopes2019.configuration.Configuration
        Steps 1 to 5, flags and waits of the versions with a host loop.
    counter : {"flags", "managed", "mapped", "device"}
        Memory of the baseline's counter of all zeros.
    by_warp : bool
        Whether a warp adds its zeros to this counter at once.
    step_1, search : bool
        Whether step 1, and steps 2 to 5, of one launch are the host loop's.
    lines_a_bin : int or None
        Columns a bin; None: those that suit the device.
    an_entry_a_thread : bool
        Whether the kernels on the whole matrix take an entry a thread (in one launch: a turn).
    """

    host: lopes.Configuration = lopes.TUNED
    counter: Memory = "device"
    by_warp: bool = False
    step_1: bool = False
    search: bool = False
    lines_a_bin: int | None = None
    an_entry_a_thread: bool = False


PAPER = Configuration(
    lopes.RELEASED, "flags", step_1=True, search=True, lines_a_bin=LINES_A_BIN,
    an_entry_a_thread=True,
)  # fmt: skip
COPIED = replace(PAPER, host=lopes.PAPER)
"""The same with flags in device memory, which the host copies."""
TUNED = Configuration()
"""Ours, the default."""

COUNTERS: Mapping[str, Configuration] = {
    "paper": PAPER,
    "paper_by_warp": replace(PAPER, by_warp=True),
    "managed": replace(COPIED, counter="managed"),
    "managed_by_warp": replace(COPIED, counter="managed", by_warp=True),
    "mapped": replace(COPIED, counter="mapped"),
    "mapped_by_warp": replace(COPIED, counter="mapped", by_warp=True),
    "copied": COPIED,
    "copied_by_warp": replace(COPIED, by_warp=True),
}
"""The baseline's, by its counter: in managed memory beside the flags that the host reads, or alone;
in mapped memory; in device memory ("copied", beside flags that the host copies)."""

HOST_LOOP: Mapping[str, Configuration] = {"paper": PAPER, "copied": COPIED, "tuned": TUNED}
"""Those of Opts 0 and 1."""

ONE_LAUNCH: Mapping[str, Configuration] = {
    "paper": PAPER,
    "our_search": replace(PAPER, search=False),
    "wide_bins": replace(PAPER, search=False, lines_a_bin=None),
    "our_step_1": replace(PAPER, search=False, lines_a_bin=None, step_1=False),
    "tuned": TUNED,
}
"""Those of Opts 2 to 4, each the one before but for a field that counts there."""

CHANGES: Mapping[str, str] = {
    "paper": "one cooperative launch, a barrier of the grid for each launch; else as Opt 1",
    "our_search": "steps 2, 3, 5 in one block; a sweep of step 4 has one barrier, zeros a bit each",
    "wide_bins": "one bin instead of 512 columns a bin: one block searches, without the others",
    "our_step_1": "step 1 passes over the costs three times and writes the slacks once",
    "tuned": "a thread holds four entries of a tile",
}
"""The change of each configuration of one launch in the one before it."""


def find(configuration: str | Configuration, version: str) -> Configuration:
    """Return a configuration of a version by its name, or as it is.

    Raises
    ------
    ValueError
        For a name that the version does not have.
    """
    return configurations.find(configuration, of_version(version), version)


def of_version(version: str) -> Mapping[str, Configuration]:
    """Return the configurations of a version by name."""
    if version == "baseline":
        return {**COUNTERS, "tuned": TUNED}
    return HOST_LOOP if version in ("opt0", "opt1") else ONE_LAUNCH
