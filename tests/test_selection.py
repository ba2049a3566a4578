"""Which combinations of a test's parameters are left to the night."""

import re
from pathlib import Path

import conftest
import pytest

TESTS = Path(__file__).parent


def test_each_value_occurs_by_day():
    cases = [{("a", a), ("b", b)} for a in range(4) for b in range(6)]
    for step in (1, 2, 3, 4, 6, 24, 99):
        daily = conftest.combined(cases, step)
        assert set().union(*(cases[place] for place in daily)) == set().union(*cases)
        assert len(cases) / step <= len(daily) <= len(cases) / step + 10


@pytest.mark.parametrize("name", conftest.THINNED)
def test_thinned_tests_are_there(name):
    file, _, function = name.partition("::")
    text = (TESTS / file).read_text(encoding="utf-8")
    assert re.search(rf"^def {function}\(", text, re.MULTILINE)
