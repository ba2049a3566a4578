"""Words of device memory by which the blocks of one launch talk, and how a search or a run ends."""

from __future__ import annotations

from papers.lopes2019.kernels import search as lopes


class Flag:
    """Indices into ``flags`` of the one-launch versions."""

    ZEROS = lopes.Flag.ZEROS
    """Zeros after step 1; `papers.lopes2019`'s step 2 writes it."""
    STATUS = lopes.FLAGS
    """The status that block 0 tells the others at the end of a search, and the host at the end."""
    MATCHES = lopes.FLAGS + 1
    """Starred zeros, counted by step 3."""
    MATCHES_INITIAL = lopes.FLAGS + 2
    """The same after step 2."""
    SIGNALS = lopes.FLAGS + 3
    """Runs whose end was told to the host."""
    AUGMENTATIONS = lopes.FLAGS + 4
    """Runs of step 5."""
    SEARCHES = lopes.FLAGS + 5
    """Runs of step 4, restarts included."""
    UPDATES = lopes.FLAGS + 6
    """Runs of step 6."""
    MOVED = lopes.FLAGS + 7
    """Three slots: some block uncovered a column in this run of step 4."""
    PATH = lopes.FLAGS + 10
    """Three slots: some block found a path in this run of step 4."""


FLAGS = lopes.FLAGS + 13
ZEROS, STATUS, MATCHES, MATCHES_INITIAL = (
    Flag.ZEROS, Flag.STATUS, Flag.MATCHES, Flag.MATCHES_INITIAL,
)  # fmt: skip
SIGNALS, AUGMENTATIONS, SEARCHES, UPDATES = (
    Flag.SIGNALS, Flag.AUGMENTATIONS, Flag.SEARCHES, Flag.UPDATES,
)  # fmt: skip
MOVED, PATH = Flag.MOVED, Flag.PATH


class Status:
    """The end of a search, and of a run."""

    DRY = 0
    """No path left: a dual update is due."""
    SOLVED = 1
    """Every column has a starred zero."""
    SEARCHES = 2
    """More augmentations than lines."""
    RESTARTS = 3
    """Step 4 does not come to rest."""
    UPDATES = 4
    """More dual updates without a path than lines."""


DRY, SOLVED = Status.DRY, Status.SOLVED
TOO_MANY_SEARCHES, TOO_MANY_RESTARTS, TOO_MANY_UPDATES = (
    Status.SEARCHES, Status.RESTARTS, Status.UPDATES,
)  # fmt: skip
