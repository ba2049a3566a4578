"""The host's end of a run of [DN16]: how counts and flags reach it, by configuration.

`PackedWord` is ours: one word in mapped memory, sent by the last block of a forward pass, which
carries the optimality check's count, too. `Copies` are the paper's: the host copies match_count
after the check [DN16 sec.4.2], and the flag of the path after the forward pass [DN16 sec.4.3.1].
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from papers.common.gpu.signals import unpack
from papers.common.gpu.words import CopiedWords
from papers.datenagi2016.configuration import Configuration
from papers.datenagi2016.kernels.printed import IN, OUT
from papers.datenagi2016.kernels.shared import FLAGS, Flag


class Signal(NamedTuple):
    """The answer of a forward pass.

    Attributes
    ----------
    matches : int
        Assigned rows.
    path_found : bool
        Whether a free column was reached: reverse pass next, or dual update.
    stuck : bool
        Whether a dual update was followed by a pass that reached nothing new.
    """

    matches: int
    path_found: bool
    stuck: bool


def decode_signal(payload: int) -> Signal:
    """Unpack the payload of a forward pass's word (`kernels.shared.send_signal` packs it)."""
    return Signal(*unpack(payload))


class PackedWord:
    """The host watches one word, and asks nothing of the optimality check.

    Attributes
    ----------
    words : None
        There are no flags that the host copies.
    """

    words: CopiedWords | None = None

    def matches(self) -> int | None:
        """Return nothing: the forward pass's word carries the count."""
        return None

    def signal(self, payload: Callable[[], int]) -> Signal:
        """Wait for the word of the latest forward pass, by a function that waits."""
        return decode_signal(payload())


class Copies:
    """The host copies words of ``flags``.

    A forward pass that is one launch sends its word all the same; only whether a dual update helped
    is taken from it, which has arrived when the copy has.

    Attributes
    ----------
    words : CopiedWords
        The flags of `papers.datenagi2016.kernels.shared.Flag`.
    """

    def __init__(self) -> None:
        self.words: CopiedWords | None = CopiedWords(FLAGS)
        self._words = self.words

    def matches(self) -> int | None:
        """Copy match_count."""
        return self._words.read(Flag.MATCHES)[0]

    def signal(self, payload: Callable[[], int]) -> Signal:
        """Copy the count and the size of F_rev after a forward pass of one launch."""
        matches, reverse = self._words.read(Flag.MATCHES, 2)
        return Signal(matches, reverse > 0, decode_signal(payload()).stuck)

    def frontier(self) -> int:
        """Copy the size of F_in."""
        return self._words.read(IN)[0]

    def reached(self) -> bool:
        """Copy the flag that a row was reached; F_out's size, where it is kept."""
        return self._words.read(OUT)[0] != 0

    def path(self) -> bool:
        """Copy the flag of the path."""
        return self._words.read(Flag.REVERSE)[0] != 0


def host_of(configuration: Configuration) -> PackedWord | Copies:
    """Return the host's end that a configuration asks for."""
    return Copies() if configuration.flags == "copied" else PackedWord()
