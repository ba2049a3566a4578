"""Speedup profiles, performance profiles, overall speedups, and the numbers of the text.

[D13 Fig.3] [D13 Fig.4] [D13 Fig.5]. All are about sets of graphs (`sets.rebuilt`); within a set
only those graphs count that every code shown has solved. Print has curves and bars only; their
numbers come from Table 2 (the twenty of O_Hardest20, original and permuted) and from the text.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from papers.common.evidence import tables
from papers.common.evidence.tables import NOT_MEASURED, Published, beside
from papers.common.gpu.device import EXECUTOR_NAME
from papers.deveci_matching.evidence import sets
from papers.deveci_matching.evidence.codes import (
    BEST,
    COPIED,
    EXCLUDED,
    MULTICORE,
    SEQUENTIAL,
    TUNED,
)
from papers.deveci_matching.evidence.sets import SETS, TWINS
from papers.deveci_matching.evidence.tables import (
    FEW,
    GRAPH,
    by_source,
    geometric_mean,
    measured,
    order,
    set_note,
)

SHOWN = {"GPU": BEST, **{name: name for name in MULTICORE}}
"""Our code for each curve of [D13 Fig.3] and [D13 Fig.4]."""

IN_PRINT = {"O": "HK", "RCP": "PFP"}
"""The faster sequential code of original and of permuted graphs [D13 sec.4]."""

LOG_2 = tuple(np.arange(-3, 7.01, 0.5).tolist())
"""The abscissae x of Figure 3, for a speedup of at least 2^x."""

FACTORS = tuple(np.arange(1, 10.01, 0.5).tolist())
"""The abscissae x of Figure 4, for at most x times the fastest time."""


def text_numbers(published: Published) -> dict[str, float]:
    """Return the numbers of the text by id, except those that are no single number."""
    values = published("text_claims").set_index("id")["value"].astype(str)
    return {str(key): float(value) for key, value in values.items() if "/" not in value}


def _prefix(name: str) -> str:
    return "O" if name.startswith("O_") else "RCP"


def baseline(rows: pd.DataFrame) -> str:
    """Return the sequential code with the smaller geometric mean where both have a time.

    Parameters
    ----------
    rows : DataFrame
        Columns ``HK`` and ``PFP``. If there is no graph that both solved, the code that solved more
        graphs is returned.
    """
    both = rows.dropna(subset=[*SEQUENTIAL])
    if both.empty:
        return max(SEQUENTIAL, key=lambda code: rows[code].notna().sum())
    return min(SEQUENTIAL, key=lambda code: geometric_mean(both[code]))


def at_least(ratios: pd.Series, bounds: tuple[float, ...]) -> list[float]:
    """Return the share of `ratios` that is at least each of `bounds`; NaN if there are none."""
    values = ratios.to_numpy(float)
    return [float((values >= bound).mean()) if values.size else math.nan for bound in bounds]


# ------------------------------------------------------------------------------- Figure 3


def _of_table_2(published: Published, ordering: str) -> pd.DataFrame:
    """Return the times of [D13 Table 2], a row a matrix, a column a code."""
    printed = published("table2")
    printed = printed[printed["ordering"] == ordering]
    return printed.pivot(index="matrix", columns="algorithm", values="time_s")


def _profile(times: pd.DataFrame, slow: str, codes: dict[str, str], prefix: str) -> pd.DataFrame:
    """Return the share of graphs with a speedup over `slow` of at least 2^x, by code."""
    bounds = tuple(2.0**x for x in LOG_2)
    shares = {
        f"{prefix}{name}": at_least(times[slow] / times[code], bounds)
        for name, code in codes.items()
    }
    return pd.DataFrame({"log2_speedup": LOG_2, **shares})


def _published_profiles(published: Published) -> pd.DataFrame:
    """Return the published points of Figure 3: Table 2's twenty, and two points of the text."""
    parts = []
    for name, ordering in (("O_Hardest20", sets.ORIGINAL), (TWINS, sets.PERMUTED)):
        slow = IN_PRINT[_prefix(name)]
        part = _profile(
            _of_table_2(published, ordering), slow, {"GPU": "GPU", "P-DBFS": "P-DBFS"}, "published_"
        )
        parts.append(part.assign(instance_set=name, published_over=slow))
    text = text_numbers(published)
    for name, claim in (("O_S1", "DE-a"), ("RCP_S1", "DE-b")):
        point = {"instance_set": name, "published_over": IN_PRINT[_prefix(name)],
                 "log2_speedup": 0.0, "published_GPU": text[claim] / 100}  # fmt: skip
        parts.append(pd.DataFrame([point]))
    return pd.concat(parts, ignore_index=True)


def _sets(summary: pd.DataFrame) -> Any:
    """Yield (source, device, set, its graphs that `SHOWN` solved) of every set with a graph."""
    for source, device, rows in by_source(summary):
        for name, members in sets.rebuilt(rows).items():
            members = members.dropna(subset=list(SHOWN.values()))
            if len(members):
                yield source, device, name, members


def fig_3(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return Figure 3: the share of graphs with a speedup of at least 2^x.

    The speedup is over the faster sequential code of the set, which ``over`` names.
    """
    parts = []
    for source, device, name, members in _sets(summary):
        slow = baseline(members)
        members = members.dropna(subset=[slow])
        part = _profile(members, slow, SHOWN, "")
        parts.append(
            part.assign(
                instance_set=name, source=source, device=device, over=slow, graphs=len(members)
            )
        )
    columns = ["log2_speedup", *SHOWN, "instance_set", "source", "device", "over", "graphs"]
    ours = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns)
    table = beside(_published_profiles(published), ours, ["instance_set", "log2_speedup"])
    table = order(table, by=("instance_set", "log2_speedup"))
    return table[
        ["instance_set", "log2_speedup", "source", "device", "graphs", "published_over", "over",
         "published_GPU", "GPU", "published_P-DBFS", "P-DBFS", "P-PFP", "P-HK"]
    ]  # fmt: skip


# ------------------------------------------------------------------------------- Figure 4


def fig_4(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return Figure 4: the share of graphs on which a code takes at most x times the fastest.

    The fastest is that of the four codes shown. Print's only numbers are those at x = 1: how often
    the GPU is the fastest.
    """
    text = text_numbers(published)
    printed = pd.DataFrame(
        {
            "instance_set": ["O_S1", "RCP_S1"],
            "factor": [1.0, 1.0],
            "published_GPU": [text["DE-c"] / 100, text["DE-d"] / 100],
        }
    )
    parts = []
    for source, device, name, members in _sets(summary):
        times = members[list(SHOWN.values())]
        over = times.div(times.min(axis=1), axis=0)
        # A ratio is at most x if its reciprocal is at least 1 / x.
        inverse = tuple(1 / x for x in FACTORS)
        shares = {shown: at_least(1 / over[code], inverse) for shown, code in SHOWN.items()}
        part = pd.DataFrame({"factor": FACTORS, **shares})
        parts.append(
            part.assign(instance_set=name, source=source, device=device, graphs=len(members))
        )
    columns = ["factor", *SHOWN, "instance_set", "source", "device", "graphs"]
    ours = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns)
    table = beside(printed, ours, ["instance_set", "factor"])
    table = order(table, by=("instance_set", "factor"))
    return table[
        ["instance_set", "factor", "source", "device", "graphs", "published_GPU", "GPU", "P-PFP",
         "P-DBFS", "P-HK"]
    ]  # fmt: skip


# ------------------------------------------------------------------------------- Figure 5


def _published_speedups(published: Published) -> pd.DataFrame:
    """Return the published overall speedups: those of the text, and the others from Table 2."""
    text = text_numbers(published)
    rows = [
        ("O_S1", "HK", text["DE-e"], "text"),
        ("RCP_S1", "PFP", text["DE-f"], "text"),
        ("O_Hardest20", "HK", text["DE-g"], "text"),
        ("RCP_Hardest20", "PFP", text["DE-h"], "text"),
    ]
    for name, ordering in (("O_Hardest20", sets.ORIGINAL), (TWINS, sets.PERMUTED)):
        times = _of_table_2(published, ordering)
        for code in SEQUENTIAL:
            if (name, code) not in {row[:2] for row in rows}:
                mean = geometric_mean(times[code] / times["GPU"])
                rows.append((name, code, round(mean, 3), "Table 2"))
    columns = ["instance_set", "over", "published_speedup", "published_in"]
    return pd.DataFrame(rows, columns=columns)


def fig_5(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return Figure 5: the geometric mean of a sequential code's time over the GPU's, by set.

    ``speedup`` is that of the best variant in print's configuration, ``tuned_speedup`` in ours.
    """
    rows = []
    for source, device, graphs in by_source(summary):
        rebuilt = sets.rebuilt(graphs)
        for name, members in rebuilt.items():
            whole = rebuilt[f"{_prefix(name)}_all"]
            for code in SEQUENTIAL:
                both = members.dropna(subset=[code])
                mean, ours = (geometric_mean(both[code] / both[gpu]) for gpu in (BEST, TUNED))
                note = set_note(name, len(both), len(whole))
                rows.append((name, code, source, device, len(both), mean, ours, note))
    columns = ["instance_set", "over", "source", "device", "graphs", "speedup", "tuned_speedup",
               "note"]  # fmt: skip
    ours = pd.DataFrame(rows, columns=columns)
    table = beside(_published_speedups(published), ours, ["instance_set", "over"])
    ranked = {"instance_set": (*SETS, TWINS), "over": ("PFP", "HK")}
    table = tables.order(table, by=("instance_set", "over"), ranked=ranked)
    return table[
        ["instance_set", "over", "source", "device", "graphs", "published_speedup",
         "published_in", "speedup", "tuned_speedup", "note"]
    ]  # fmt: skip


# ------------------------------------------------------------------------------- claims


def chosen(rebuilt: dict[str, pd.DataFrame], name: str) -> str:
    """Return a set's name, or that of the twenty slowest if it has fewer than `FEW` graphs."""
    if name.endswith("_S1") and len(rebuilt[name]) < FEW:
        return name.replace("S1", "Hardest20")
    return name


REPEATED = 3
"""The least number of repetitions that have a deviation."""


def deviation(rows: pd.DataFrame) -> pd.Series:
    """Return the standard deviation over the mean of repeated times, in percent, NaN of too few."""
    found = [
        100 * float(np.std(values, ddof=1) / np.mean(values)) if len(values) >= REPEATED else np.nan
        for values in rows["values"]
    ]
    return pd.Series(found, index=rows.index, dtype=float)


BOUNDS = (10, 18, 47)
"""The bounds of the text's three groups of deviations, in percent."""


def steady(deviations: pd.Series) -> str:
    """Return how many deviations lie below 10 %, 18 % and 47 %, each beyond the one before."""
    below = [int((deviations < bound).sum()) for bound in BOUNDS]
    counts = (below[0], below[1] - below[0], below[2] - below[1])
    return " / ".join(map(str, counts))


def _share(holds: pd.Series) -> float:
    return 100 * float(holds.mean()) if len(holds) else math.nan


def _of_sets(rebuilt: dict[str, pd.DataFrame]) -> dict[str, tuple[str, int, float]]:
    """Return the claims about a set: its name, its size, our value."""
    found = {}
    for claim, name, code in (("DE-a", "O_S1", "HK"), ("DE-b", "RCP_S1", "PFP")):
        instance_set = chosen(rebuilt, name)
        rows = rebuilt[instance_set].dropna(subset=[code])
        found[claim] = (instance_set, len(rows), _share(rows[BEST] < rows[code]))
    for claim, name in (("DE-c", "O_S1"), ("DE-d", "RCP_S1")):
        instance_set = chosen(rebuilt, name)
        rows = rebuilt[instance_set].dropna(subset=list(SHOWN.values()))
        others = rows[list(MULTICORE)].min(axis=1)
        found[claim] = (instance_set, len(rows), _share(rows[BEST] < others))
    speedups = (("DE-e", "O_S1"), ("DE-f", "RCP_S1"), ("DE-g", "O_Hardest20"),
                ("DE-h", "RCP_Hardest20"))  # fmt: skip
    for claim, name in speedups:
        instance_set = chosen(rebuilt, name)
        slow = baseline(rebuilt[instance_set])
        rows = rebuilt[instance_set].dropna(subset=[slow])
        found[claim] = (instance_set, len(rows), geometric_mean(rows[slow] / rows[BEST]))
    return found


def _of_twenty(rebuilt: dict[str, pd.DataFrame]) -> dict[str, tuple[str, int, float]]:
    """Return the claims about the twenty of Table 2: counts of graphs, and extremes."""
    found = {}
    for claim, name in (("DE-i", "O_Hardest20"), ("DE-j", TWINS)):
        rows = rebuilt[name].dropna(subset=[*SEQUENTIAL], how="all")
        fastest = rows[[*SEQUENTIAL]].min(axis=1)
        found[claim] = (name, len(rows), float((rows[BEST] >= fastest).sum()))
    rows = rebuilt["O_Hardest20"].dropna(subset=list(MULTICORE), how="all")
    fastest = rows[list(MULTICORE)].min(axis=1)
    found["DE-k"] = ("O_Hardest20", len(rows), float((rows[BEST] >= fastest).sum()))
    rows = rebuilt["O_Hardest20"]
    ratios = rows[[*SEQUENTIAL]].div(rows[BEST], axis=0)
    found["DE-l"] = ("O_Hardest20", len(rows), float(ratios.min().min()))
    found["DE-m"] = ("O_Hardest20", len(rows), float(ratios.max().max()))
    for claim in ("DE-i", "DE-j", "DE-k"):  # A count out of twenty needs twenty graphs.
        name, count, value = found[claim]
        found[claim] = (name, count, value if count == sets.HARDEST else math.nan)
    return found


OF_PRINT = tuple(name for name in SETS if not name.endswith("_all"))
"""The sets whose mean speedups print reports."""


def _of_copies(
    timed: pd.DataFrame, rebuilt: dict[str, pd.DataFrame]
) -> dict[str, tuple[str, int, float]]:
    """Return the claim about copies: the set whose mean speedup drops most, its size, percent."""
    copied = timed[timed["start"] == COPIED][[*GRAPH, "value"]]
    drops = []
    for name in OF_PRINT:
        both = rebuilt[name].merge(copied, on=GRAPH)
        if len(both) >= FEW:
            drop = 100 * (1 - geometric_mean(both[BEST] / both["value"]))
            drops.append((drop, name, len(both)))
    if not drops:
        return {}
    drop, name, count = max(drops)
    return {"DE-n": (name, count, drop)}


def claims(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return the numbers of the text beside our own measurements, on a GPU only."""
    printed = published("text_claims")
    sources: dict[str, dict[str, tuple[str, int, Any]]] = {}
    timed = measured(summary)
    copies = timed[timed["code"] == BEST]
    timed = copies[copies["start"] == EXCLUDED]
    for source, device, rows in by_source(summary):
        if device == EXECUTOR_NAME:
            continue
        rebuilt = sets.rebuilt(rows)
        name = chosen(rebuilt, "O_S1")
        # A graph has two cells where another experiment counts its levels one by one.
        mine = timed[timed["source"] == source].drop_duplicates(GRAPH)
        mine = mine.merge(rebuilt[name][GRAPH], on=GRAPH)
        spread = deviation(mine).dropna()
        sources[source] = {
            **_of_sets(rebuilt),
            **_of_twenty(rebuilt),
            **_of_copies(copies[copies["source"] == source], rebuilt),
            "DE-o": (name, len(spread), steady(spread) if len(spread) else math.nan),
        }
    rows = []
    for claim in printed.itertuples(index=False):
        for source in sources or {NOT_MEASURED: {}}:
            name, count, value = sources.get(source, {}).get(claim.id, ("", 0, math.nan))
            printed_value = str(claim.value)
            whole = printed_value if "/" in printed_value else float(printed_value)
            rows.append((claim.id, claim.quantity, claim.unit, source, name, count, whole, value))
    columns = ["id", "quantity", "unit", "source", "instance_set", "graphs", "published",
               "measured"]  # fmt: skip
    return pd.DataFrame(rows, columns=columns)
