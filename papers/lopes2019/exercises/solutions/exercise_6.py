"""Solution 6.

Steps 1 and 2 are one launch for the arrays' first values, four of step 1, one for the list of zeros
and one of step 2. Steps 3 and 5 are two launches each, step 4 is one, and step 6 is two for the
minimum, one for the additions and one for the list. At a few microseconds each that is what rules
small instances; most of them are launches of step 4 that find nothing.
"""

from __future__ import annotations

from typing import Any


def launches(step_3: int, step_4: int, step_5: int, step_6: int) -> int:
    """Return the launches of a whole run of a square matrix, as tuned."""
    return 7 + 2 * step_3 + step_4 + 2 * step_5 + 4 * step_6


def a_launch_a_step(step_3: int, step_4: int, step_5: int, step_6: int) -> int:
    """Count a kernel for each step."""
    return 2 + step_3 + step_4 + step_5 + step_6


WRONG: dict[str, list[Any]] = {"launches": [a_launch_a_step]}
