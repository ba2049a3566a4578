"""The graphs that are measured, and the paper's sets of them.

Three kinds stand for the paper's matrices. A ``real`` matrix of `instances.csv`, ours or one of the
paper's twenty, is read by name. A ``generated`` graph is drawn from the public definition of its
family. A ``stand-in`` is drawn by the law of its kind of graph, at a size of ours, and is never
compared with print. The ``random`` graphs, on which other people's programs were run, belong to no
set.

The sets O_S1, RCP_S1, O_Hardest20 and RCP_Hardest20 are rebuilt by the paper's rule [D13 sec.4]
from the times of HK and PFP on this machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd

from papers.common.instances.catalogue import catalogue
from papers.common.model import Instance, Plan
from papers.deveci_matching.evidence.codes import SEQUENTIAL

REAL, GENERATED, STAND_IN, RANDOM = "real", "generated", "stand-in", "random"
DEEP = "deep"
"""Paths, triangles and grids, on which searches are deep: in no set."""

DEEP_FAMILIES = {"path": "path", "triangle": "triangle", "grid_graph": "grid"}
ORIGINAL, PERMUTED = "original", "permuted"
ORDERINGS = (ORIGINAL, PERMUTED)

# ------------------------------------------------------------------------------- facts and names


@lru_cache(maxsize=1)
def facts() -> pd.DataFrame:
    """Return `instances.csv` by name, with the sizes of `papers.common.instances.catalogue`.

    The columns are ``set`` (``real`` for a matrix that can be had, ``paper`` for one of the twenty
    of [D13 Table 2]), ``rows``, ``columns``, ``nonzeros``, ``maximum_matching``, ``symmetric``,
    ``kind``, ``in_paper`` (the paper's name) and ``instead`` (the kind of graph that is drawn if
    the matrix is absent). The catalogue also has the origin, the licence and the recipe of each.
    """
    path = Path(__file__).with_name("instances.csv")
    found = pd.read_csv(path, keep_default_na=False, na_values={"maximum_matching": [""]})
    known = [catalogue()[name] for name in found["name"]]
    found = found.assign(
        rows=[fact.rows for fact in known],
        columns=[fact.columns for fact in known],
        nonzeros=[fact.entries for fact in known],
        symmetric=[fact.symmetric for fact in known],
    )
    return found.set_index("name")


def ours() -> pd.DataFrame:
    """Return the facts of the matrices that can be had."""
    return facts()[facts()["set"] == "real"]


def twenty() -> pd.DataFrame:
    """Return the facts of the matrices of [D13 Table 2], in its order."""
    return facts()[facts()["set"] == "paper"]


def ordering_of(permuted: bool) -> str:
    """Return the name of a graph's ordering."""
    return PERMUTED if permuted else ORIGINAL


def kind_of(family: str) -> str:
    """Return the kind of a family's graphs, as they stand to the paper's matrices."""
    kinds = {"matrix": REAL, "stand_in": STAND_IN, **dict.fromkeys(DEEP_FAMILIES, DEEP)}
    return kinds.get(family, RANDOM if family in ("uniform_graph", "skew_graph") else GENERATED)


def name_of(family: str, n: int, label: str) -> str:
    """Return a graph's name, the paper's if there is one; a stand-in is named as such."""
    if family == "matrix":
        known = facts()["in_paper"].get(label, "")
        return known or label
    if family == "stand_in":
        return f"{stood_for(label)} stand-in"
    if family in DEEP_FAMILIES:
        return f"{DEEP_FAMILIES[family]}_n{n}"
    if family in ("uniform_graph", "skew_graph", "layered_graph"):
        return f"{family.partition('_')[0]}_n{n}_{label}"
    return f"{'kron_g500-' if family == 'kron' else family + '_'}{label}"


def stood_for(label: str) -> str:
    """Return the paper's name of the matrix that a stand-in's label names."""
    return facts()["in_paper"].get(label, "") or label


def maximum(name: str) -> float:
    """Return the size of the maximum matching of a real matrix, NaN if it is unknown."""
    known = facts()["maximum_matching"]
    return float(known.get(name, np.nan))


# ------------------------------------------------------------------------------- the plan

SOME = {
    "smoke": ["Hamrle3"],
    "quick": ["roadNet-CA", "amazon0505", "Hamrle3", "hugetrace-00020", "soc-LiveJournal1"],
}
"""The stand-ins of the quicker presets: one of each kind."""

STAND_IN_ROWS = {"smoke": 128, "quick": 2000}
STAND_IN_NONZEROS = 6_000_000
"""Nonzeros of a stand-in of preset paper, at the mean degree of the matrix that it stands for."""

LABELS = {"delaunay": "n{}", "rgg": "n_2_{}_s0", "kron": "logn{}"}
SIZES: dict[str, dict[str, tuple[int, ...]]] = {
    "smoke": {"delaunay": (8,)},
    "quick": {"delaunay": (12, 14), "rgg": (12,), "kron": (12,)},
    "paper": {"delaunay": (18,), "rgg": (18,), "kron": (16,)},
}
"""Binary logarithms of the sizes of generated graphs."""

FULL_SIZES: dict[str, tuple[int, ...]] = {"delaunay": (23, 24), "rgg": (24,), "kron": (21,)}
"""The paper's own sizes of the graphs that can be generated."""

EXECUTOR_SIZES: dict[str, dict[str, tuple[int, ...]]] = {
    "smoke": {"delaunay": (4,)},
    "quick": {"delaunay": (5,), "kron": (5,)},
    "paper": {"delaunay": (5,), "kron": (5,)},
}
"""The sizes of the graphs that kernels get without a GPU."""

EXECUTOR_ROWS = 32

PEERS: dict[str, tuple[tuple[str, int, str], ...]] = {
    "smoke": (),
    "quick": (("uniform_graph", 2000, "d3"), ("skew_graph", 2000, "d8"),
              ("uniform_graph", 10000, "d3"), ("skew_graph", 10000, "d8")),
    "paper": (("uniform_graph", 100_000, "d4"), ("uniform_graph", 1_000_000, "d3"),
              ("skew_graph", 1_000_000, "d8")),
}  # fmt: skip


def matrix(name: str, ordering: str = ORIGINAL) -> Instance:
    """Return the instance of a real matrix, one of ours or of the paper's."""
    rows = int(facts().loc[name, "rows"])
    return Instance("matrix", rows, name, permuted=ordering == PERMUTED)


def generated(sizes: Mapping[str, tuple[int, ...]], seed: int = 1) -> list[Instance]:
    """Return graphs of the families with a public definition, original and permuted."""
    return [
        Instance(family, 2**x, LABELS[family].format(x), seed=seed, permuted=ordering == PERMUTED)
        for family, exponents in sizes.items()
        for x in exponents
        for ordering in ORDERINGS
    ]


def stand_in_rows(name: str, preset: str) -> int:
    """Return the rows of a stand-in: no more than the matrix that it stands for has."""
    fact = facts().loc[name]
    most = STAND_IN_ROWS.get(preset, fact["rows"])
    return int(min(most, fact["rows"], fact["rows"] * STAND_IN_NONZEROS // fact["nonzeros"]))


def stand_ins(plan: Plan) -> list[Instance]:
    """Return the stand-ins for those of the twenty that have no public definition."""
    names = [name for name, fact in twenty().iterrows() if fact["instead"] == STAND_IN]
    names = SOME.get(plan.preset, names)
    sizes = {str(name): stand_in_rows(str(name), plan.preset) for name in names}
    return [
        Instance("stand_in", rows, name, permuted=ordering == PERMUTED)
        for name, rows in sizes.items()
        for ordering in ORDERINGS
    ]


def small(plan: Plan) -> list[Instance]:
    """Return the graphs that kernels get in the CPU executor; none if there is a GPU."""
    return [] if plan.gpu else generated(EXECUTOR_SIZES[plan.preset], plan.seeds[0])


def thorough(plan: Plan) -> list[Instance]:
    """Return the graphs for every code: the generated ones and all matrices."""
    found = generated(SIZES[plan.preset], plan.seeds[0])
    if plan.preset == "paper":
        names = ours().index
        found += [matrix(name, ordering) for name in names for ordering in ORDERINGS]
    return found


def of_table_2(plan: Plan) -> list[Instance]:
    """Return the paper's twenty by name; a run skips those that are absent."""
    if plan.preset != "paper":
        return []
    return [matrix(str(name), ordering) for name in twenty().index for ordering in ORDERINGS]


# ------------------------------------------------------------------------------- rebuilt sets

ONE_SECOND_MS = 1000.0
HARDEST = 20
SETS = ("O_S1", "O_Hardest20", "RCP_S1", "RCP_Hardest20", "O_all", "RCP_all")
"""The paper's four sets and, because few graphs take a second today, all graphs."""

TWINS = "RCP of O_Hardest20"
"""The permuted half of [D13 Table 2]: the graphs of O_Hardest20, permuted."""


def longest(rows: pd.DataFrame) -> pd.Series:
    """Return the longer of the two sequential times of each graph.

    A code that was run on other graphs of the same source but has no time here has stopped at its
    limit of work: its time counts as longer than any other.

    Parameters
    ----------
    rows : DataFrame
        The graphs of one source, a row each, with columns ``HK`` and ``PFP`` in milliseconds.
    """
    ran = [code for code in SEQUENTIAL if rows[code].notna().any()]
    return rows[ran].fillna(np.inf).max(axis=1) if ran else pd.Series(np.nan, index=rows.index)


def rebuilt(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the sets by name, each with the graphs of one source that belong to it.

    Parameters
    ----------
    rows : DataFrame
        Columns ``name``, ``n``, ``seed``, ``ordering``, ``kind``, ``HK``, ``PFP`` (ms). Stand-ins,
        random graphs and graphs that neither sequential code has solved belong to no set.

    Returns
    -------
    dict of str to DataFrame
        The rows of each of `SETS` and of `TWINS`, the slowest first.
    """
    mine = rows[rows["kind"].isin((REAL, GENERATED))]
    mine = mine[mine[list(SEQUENTIAL)].notna().any(axis=1)]
    mine = mine.assign(longest=longest(mine))
    mine = mine.sort_values(["longest", "name"], ascending=[False, True], kind="stable")
    found = {}
    for prefix, ordering in (("O", ORIGINAL), ("RCP", PERMUTED)):
        whole = mine[mine["ordering"] == ordering]
        found[f"{prefix}_S1"] = whole[whole["longest"] > ONE_SECOND_MS]
        found[f"{prefix}_Hardest20"] = whole.head(HARDEST)
        found[f"{prefix}_all"] = whole
    hard = found["O_Hardest20"]
    keys = ["name", "n", "seed"]
    chosen = set(map(tuple, hard[keys].itertuples(index=False)))
    permuted = found["RCP_all"]
    twin = [tuple(row) in chosen for row in permuted[keys].itertuples(index=False)]
    found[TWINS] = permuted[np.array(twin, bool)]
    return {name: found[name] for name in (*SETS, TWINS)}
