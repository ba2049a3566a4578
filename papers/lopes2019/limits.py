"""Limits of a run with a host loop: of time, and of work.

Time: the host looks at the clock after every launch of step 4, so that a run gives up one search's
share of work late at most. Work: the loops have proven bounds (`solver.run`, `solver._search`); to
exceed one is a fault, which ends the run as a limit does.
"""

from __future__ import annotations

from collections.abc import Mapping

from papers.common.deadline import Deadline, in_words
from papers.common.gpu.launch import Launch
from papers.common.model import GivenUpError


def look_at_the_clock(deadline: Deadline, launches: Mapping[str, Launch], matches: int) -> None:
    """Give up if the time of a run is over; a run without a limit asks nothing else.

    Raises
    ------
    GivenUpError
        With the counts of `reached`.
    """
    if deadline.seconds is not None:
        counts = reached(launches, matches)
        deadline.check(in_words(counts), reached=counts)


def reached(launches: Mapping[str, Launch], matches: int) -> dict[str, int]:
    """Return the counts of a run under way: starred zeros, searches and dual updates."""
    return {
        "matched": matches,
        "searches": launches["step_3"].count,
        "dual_updates": launches["step_6_reduction_1"].count,
    }


def given_up(sentence: str, launches: Mapping[str, Launch], matches: int) -> GivenUpError:
    """Return the error of a run that has exceeded a bound on its work."""
    counts = reached(launches, matches)
    return GivenUpError(f"{sentence}: {in_words(counts)}", reached=counts)
