"""The host's end of a run of [L19]: how step 4's signals reach it, by configuration.

`PackedWord` is ours: one word in mapped memory, sent by the last block of a launch, which carries
step 3's answer too. `Flags` is the paper's: "signals" are words that the host clears before a
launch and reads after it, in managed memory or by copies.
"""

from __future__ import annotations

from typing import NamedTuple

from papers.common.gpu.signals import Mailbox, unpack
from papers.common.gpu.words import CopiedWords, ManagedWords
from papers.lopes2019.configuration import Configuration
from papers.lopes2019.kernels.search import FLAGS, Flag


class Signal(NamedTuple):
    """The answer of a launch of step 4.

    Attributes
    ----------
    matches : int
        Starred zeros.
    zero_found, path_found : bool
        Whether a block uncovered a column, and whether one found a path.
    """

    matches: int
    zero_found: bool
    path_found: bool


def decode_signal(payload: int) -> Signal:
    """Unpack the payload of step 4's word, which `kernels.search.send_signals` packs."""
    return Signal(*unpack(payload))


class PackedWord:
    """The host watches one word; it asks nothing of steps 2 and 3.

    Attributes
    ----------
    mailbox : Mailbox
    words : None
        There are no flags that the host reads.
    """

    def __init__(self) -> None:
        self.mailbox = Mailbox()
        self.words: ManagedWords | CopiedWords | None = None

    def begin(self) -> None:
        """Begin a run: there is nothing to clear."""

    def clear(self) -> None:
        """Begin a launch of step 2 or 4: the kernels clear the flags themselves."""

    def must_repeat(self) -> bool:
        """Say whether step 2 must be launched again: never, as it has one block."""
        return False

    def stars(self) -> int | None:
        """Return nothing: step 4's word carries step 3's count."""
        return None

    def signal(self) -> Signal:
        """Wait for the word of the latest launch of step 4."""
        return decode_signal(self.mailbox.wait())


class Flags:
    """The host clears flags before a launch and reads them after it.

    Attributes
    ----------
    mailbox : Mailbox
        Unused: no word is sent.
    words : ManagedWords or CopiedWords
        The flags of `papers.lopes2019.kernels.search.Flag`.
    """

    def __init__(self, words: ManagedWords | CopiedWords) -> None:
        self.mailbox = Mailbox()
        self.words: ManagedWords | CopiedWords | None = words
        self._words = words
        self.begin()

    def begin(self) -> None:
        """Begin a run: no zeros yet, and no word to be sent."""
        self._words.write(0, *(int(place == Flag.READ_BY_HOST) for place in range(FLAGS)))

    def clear(self) -> None:
        """Clear "go to 5" and "repeat" before a launch of step 2 or 4."""
        self._words.write(Flag.PATH_FOUND, 0, 0)

    def must_repeat(self) -> bool:
        """Read whether a block of step 2 gave a row back."""
        return bool(self._words.read(Flag.ZERO_FOUND)[0])

    def stars(self) -> int | None:
        """Read step 3's count."""
        return self._words.read(Flag.MATCHES)[0]

    def signal(self) -> Signal:
        """Read the flags of the latest launch of step 4."""
        matches, path_found, zero_found = self._words.read(Flag.MATCHES, 3)
        return Signal(matches, bool(zero_found), bool(path_found))


def host_of(configuration: Configuration) -> PackedWord | Flags:
    """Return the host's end that a configuration asks for."""
    if not configuration.host_reads:
        return PackedWord()
    return Flags((ManagedWords if configuration.flags == "managed" else CopiedWords)(FLAGS))
