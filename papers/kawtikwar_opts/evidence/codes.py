"""Names of the codes of [K21] in cells and tables, and how their rows are found in a summary."""

from __future__ import annotations

import pandas as pd

from papers.common.evidence import tables

HOST_LOOP = ("baseline", "opt0", "opt1")
ONE_LAUNCH = ("opt2", "opt3", "opt4")
VERSIONS = (*HOST_LOOP, *ONE_LAUNCH)
"""The report's versions, each with all optimizations of those before it."""

PRINTED = "configuration=paper"
"""The options of the report's configuration, whose figures are compared with print; a table shows
ours, the tuned one, beside."""

LABELS = ("0.1n", "n", "10n")
DOUBLES = "uniform_double"
"""The family of the report's instances [K21 sec.III.B]; all others are `uniform`, int32."""

LAP19 = "lopes2019:gpu"


def by_seed(
    summary: pd.DataFrame,
    version: str,
    metric: str = "time_ms",
    scope: str = "run",
    options: str = "",
    family: str = DOUBLES,
) -> pd.DataFrame:
    """Return one metric of one solver; see `papers.common.evidence.tables.by_seed`."""
    return tables.by_seed(summary, f"kawtikwar_opts:{version}", metric, scope, options, family)
