"""The numbers of the text that the record lets us expect, each by the module of its cause."""

from __future__ import annotations

import pandas as pd

from papers.common.evidence.tables import Published
from papers.deveci_matching.evidence.causes import copies, growth

FIGURES = ["print_model_measured", "expected_measured"]


def expected(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return ``source id`` and `FIGURES`: of print's machine, where a model has it, and of ours."""
    parts = [make(summary, published) for make in (growth.claims, copies.expected)]
    found = pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)
    return found.reindex(columns=["source", "id", *FIGURES])
