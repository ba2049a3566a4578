"""Leaves the later ones of many alike cases to `make test-all`."""

import pytest


def first(keep, values):
    """The values as parameters of a test; those after the first `keep` are run nightly."""
    return [
        value if place < keep else pytest.param(value, marks=pytest.mark.nightly)
        for place, value in enumerate(values)
    ]
