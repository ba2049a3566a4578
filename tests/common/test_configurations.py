"""The way of configurations, and the look-up by name."""

from dataclasses import dataclass

import pytest

from papers.common import configurations


@dataclass(frozen=True)
class Made:
    """A configuration of two choices."""

    wait: bool = True
    lanes: int = 1


def test_each_step_changes_one_field_of_the_one_before():
    way = configurations.way({"old": Made(lanes=2), "paper": Made()},
                             [("queued", "wait", False), ("tuned", "lanes", 32)])  # fmt: skip
    assert way == {"old": Made(lanes=2), "paper": Made(), "queued": Made(wait=False),
                   "tuned": Made(False, 32)}  # fmt: skip


def test_a_configuration_is_found_by_name_or_is_itself():
    known = {"paper": Made()}
    assert configurations.find("paper", known) is known["paper"]
    assert configurations.find(Made(False), known) == Made(False)
    for wrong in ("x", 7, None, ["paper"]):
        with pytest.raises(ValueError, match="is not one of paper"):
            configurations.find(wrong, known)
    with pytest.raises(ValueError, match="is not one of opt1's: paper"):
        configurations.find("x", known, "opt1")
