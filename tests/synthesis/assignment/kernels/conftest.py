"""Kernels made anew, for tests that plant faults in what they are made of."""

import pytest

from papers.synthesis.assignment import launches
from papers.synthesis.assignment.kernels import floats, integers
from papers.synthesis.assignment.kernels.grid import reports


@pytest.fixture
def _kernels_are_made_anew(monkeypatch):
    """Kernels are kept: those with a fault are made for one test, and thrown away."""
    made = (
        integers.assign_with, floats.assign_with, launches.kernel_for,
        integers.conclude_with, floats.conclude_with, launches.conclusion_for,
    )  # fmt: skip
    monkeypatch.setattr(reports, "PATIENCE", 2000)  # a report that does not come ends the run soon
    for cache in made:
        cache.cache_clear()
    yield
    for cache in made:
        cache.cache_clear()
