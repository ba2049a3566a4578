"""The tables of RESULTS.md that come from files of `papers/deveci_matching/evidence`.

``reproduce readme deveci_matching`` writes them between ``<!-- measured: NAME -->`` and
``<!-- end -->``. Each function of `TABLES` reads its files and returns rows of text, the header
first.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd

from papers.common.evidence.rows import Rows, rows
from papers.deveci_matching.beyond.configuration import default_threads

_PAPER = Path(__file__).parents[2]
_GRAPH = ["graph", "ordering", "rows", "columns"]


def frontiers_shared() -> pd.DataFrame:
    """Return a row a graph and ordering: `beyond` before frontiers were shared evenly, and since.

    Of ``evidence/frontiers.csv``: times are medians of a turn's runs, and then of the turns.

    Returns
    -------
    DataFrame
        ``graph``, ``ordering``, ``rows``, ``columns``; ``before`` and the times at 256 and 512
        threads a block, ``at_256`` and ``at_512``, ms; ``now``, the one that is the default;
        ``over_before``; ``barriers_before`` and ``barriers`` of the grid; ``ecl_mm``, ms, and
        ``over_ecl_mm``, where that code was timed on this graph and card.
    """
    found = pd.read_csv(_PAPER / "evidence/frontiers.csv")
    codes = found["code"].where(found["code"] == "before", "at_" + found["threads"].astype(str))
    grouped = found.assign(code=codes).groupby([*_GRAPH, "code"], sort=False)
    times, barriers = (grouped[x].median().unstack() for x in ("median_ms", "grid_barriers"))
    usual = [f"at_{default_threads(key[2], key[3])}" for key in times.index]
    pairs = list(zip(times.index, usual, strict=True))
    now = [times.loc[key, name] for key, name in pairs]
    whole = times.assign(
        now=now, over_before=now / times["before"], barriers_before=barriers["before"],
        barriers=[barriers.loc[key, name] for key, name in pairs],
    ).reset_index()  # fmt: skip
    order = found[["graph", "ordering"]].drop_duplicates()
    whole = order.merge(whole, on=["graph", "ordering"])
    whole["ecl_mm"] = whole["graph"].map(_ecl_mm(str(found["device"].iloc[0])))
    return whole.assign(over_ecl_mm=whole["now"] / whole["ecl_mm"])


def _ecl_mm(device: str) -> pd.Series:
    """Return ECL-MM's median times on a card by the names that its graphs of seed 1 have here."""
    peers = pd.read_csv(_PAPER / "published/peers.csv")
    peers = peers[(peers["peer"] == "ecl-mm") & (peers["device"] == device) & (peers["seed"] == 1)]
    return peers.groupby(peers["graph"].str.removesuffix("_s1"))["solve_ms"].median()


def frontiers() -> Rows:
    """Return `beyond`'s times before frontiers were shared evenly and since, at two widths."""
    return rows(
        frontiers_shared(),
        [
            ("graph", "graph", ""),
            ("ordering", "ordering", ""),
            ("columns", "columns", ""),
            ("before", "before", ".3g"),
            ("now, 256 threads", "at_256", ".3g"),
            ("512 threads", "at_512", ".3g"),
            ("over before", "over_before", ".2f"),
            ("barriers before", "barriers_before", ".0f"),
            ("now", "barriers", ".0f"),
            ("ECL-MM", "ecl_mm", ".3g"),
            ("over ECL-MM", "over_ecl_mm", ".3f"),
        ],
    )


TABLES: dict[str, Callable[[], Rows]] = {"frontiers": frontiers}
"""The tables by the names of their marks."""
