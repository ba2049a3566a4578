"""The report's tables: our measurements beside the published numbers.

Every function takes the run's summary (one row a cell and metric, see
`papers.reproduce.run.measurements`) and the loader of the published numbers, and returns a tidy
table with both side by side. Rows of the present run and of every recorded run stand below each
other, with their ``source``. Times are in seconds as in print, or in milliseconds if print has
none.

Profiles, overall speedups and the claims of the text are in `profiles`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import pandas as pd

from papers.common.evidence import tables
from papers.common.evidence.tables import NOT_MEASURED, Published, beside
from papers.deveci_matching.evidence import codes, sets
from papers.deveci_matching.evidence.codes import (
    BEST,
    BEYOND,
    CODES,
    EXCLUDED,
    ON_GPU,
    OTHER_THREADS,
    PAPER,
    TUNED,
    VARIANTS,
    code_of,
)
from papers.deveci_matching.evidence.sets import (
    GENERATED,
    ORDERINGS,
    ORIGINAL,
    REAL,
    SETS,
    STAND_IN,
)

GRAPH = ["name", "n", "seed", "ordering", "kind"]
"""The columns that tell one graph from another."""

MORE_THREADS = f"P-DBFS-{codes.MORE_THREADS}"

order = partial(
    tables.order,
    ranked={
        "instance_set": (*SETS, sets.TWINS),
        "ordering": ORDERINGS,
        "code": tuple(dict.fromkeys((*CODES, *OTHER_THREADS, *codes.KERNELS))),
        "start": tuple(codes.STARTS),
        "algorithm": ("APFB", "APsB"),
        "bfs_kernel": ("GPUBFS", "GPUBFS-WR"),
        "thread_mode": ("MT", "CT"),
        "instance": (REAL, GENERATED, STAND_IN),
    },
)

# ------------------------------------------------------------------------------- from a summary


def measured(
    summary: pd.DataFrame, metric: str = "time_ms", scope: str = "run", prefix: bool = False
) -> pd.DataFrame:
    """Return one metric of this paper's codes, a row a graph and code.

    Parameters
    ----------
    summary : DataFrame
        Columns `papers.reproduce.run.measurements.SUMMARY`.
    metric, scope : str
        The metric and the clock of the rows.
    prefix : bool
        Whether `metric` is the beginning of many metrics' names.

    Returns
    -------
    DataFrame
        ``source``, ``device``, `GRAPH`, ``code``, ``start``, ``metric``, ``value`` (the median),
        ``values`` (the repetitions), ``count``.
    """
    named = summary["metric"].astype(str)
    rows = summary[
        (named.str.startswith(metric) if prefix else named == metric) & (summary["scope"] == scope)
    ]
    rows = rows[rows["solver"].astype(str).str.startswith(f"{PAPER}:")]
    asked = _once_each(code_of, rows["solver"], rows["options"])
    more = {
        "code": [code for code, _ in asked],
        "start": [start for _, start in asked],
        "name": _once_each(sets.name_of, rows["family"], rows["n"], rows["label"]),
        "ordering": [sets.ordering_of(bool(permuted)) for permuted in rows["permuted"]],
        "kind": _once_each(sets.kind_of, rows["family"]),
    }
    # These columns hold text even if there is no row: tables are merged and compared on them.
    texts = {name: pd.Series(values, rows.index, object) for name, values in more.items()}
    rows = rows.rename(columns={"median": "value"}).assign(**texts)
    columns = ["source", "device", *GRAPH, "code", "start", "metric", "value", "values", "count"]
    return rows.loc[rows["code"] != "", columns].reset_index(drop=True)


def _once_each(make: Callable[..., Any], *columns: pd.Series) -> list[Any]:
    """Return ``make(*values)`` for each row; it is called once for equal rows, which are many."""
    known: dict[tuple[Any, ...], Any] = {}
    # As objects at once: columns of text hand out their values one by one, and slowly.
    keys = list(zip(*(column.to_numpy(object) for column in columns), strict=True))
    for key in keys:
        if key not in known:
            known[key] = make(*key)
    return [known[key] for key in keys]


def side_by_side(rows: pd.DataFrame) -> pd.DataFrame:
    """Return `measured`'s values by code: a row a source and graph, a column for each of `CODES`.

    Those of `OTHER_THREADS` that were measured have columns, too. Only measurements whose start is
    made before the clock count; ``device`` is the device of the kernels of each source.
    """
    rows = rows[rows["start"] == EXCLUDED].drop_duplicates(["source", *GRAPH, "code"])
    index = ["source", *GRAPH]
    wide = rows.set_index([*index, "code"])["value"].unstack("code")
    others = [code for code in OTHER_THREADS if code == MORE_THREADS or code in wide]
    wide = wide.reindex(columns=[*CODES, *others]).reset_index()
    wide.columns.name = None
    kernels = rows[rows["code"].isin(ON_GPU)].drop_duplicates("source")
    devices = kernels.set_index("source")["device"].to_dict()
    return wide.assign(device=wide["source"].map(devices).astype(object).fillna(""))


def by_source(summary: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Yield (source, device, rows) of `side_by_side`'s times of all graphs that `BEST` solved.

    A set holds each graph once: of a generated one the first seed stands for all.
    """
    wide = side_by_side(measured(summary)).dropna(subset=[BEST])
    others = [name for name in GRAPH if name != "seed"]
    wide = wide.sort_values("seed", kind="stable").drop_duplicates(["source", *others]).sort_index()
    for source, rows in wide.groupby("source", sort=False):
        yield str(source), str(rows["device"].iloc[0]), rows


def geometric_mean(values: Iterable[float]) -> float:
    """Return the geometric mean of the positive values; NaN if there are none."""
    logs = [math.log(value) for value in values if value > 0]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan


# ------------------------------------------------------------------------------- Table 1

FEW = 5
"""A set with fewer graphs than this gets a note and no comparison."""

_OF_TABLE_1 = ["instance_set", "algorithm", "bfs_kernel", "thread_mode"]


def set_note(name: str, count: int, whole: int) -> str:
    """Return a note on a set that is empty, small, or not one of the paper's."""
    if name.endswith("_all"):
        return "not in print: all graphs that all of these codes solved"
    if not count and name.endswith("S1"):
        return f"empty: on none of {whole} graphs HK or PFP took over a second"
    if not count:
        return "empty"
    if count < FEW or (name.endswith("Hardest20") and count < sets.HARDEST):
        return f"only {count} graphs"
    return ""


def table_1(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return Table 1: geometric means of the eight variants over the paper's sets and all graphs.

    ``over_best`` is the mean divided by that of the best variant, ``us_a_launch`` the mean of each
    run's time divided by its BFS launches.
    """
    printed = published("table1").rename(
        columns={"instances": "published_graphs", "geomean_time_s": "published_s"}
    )[[*_OF_TABLE_1, "published_graphs", "published_s"]]
    best = printed[(printed[_OF_TABLE_1[1:]] == list(VARIANTS[BEST])).all(axis=1)]
    of_best = best.set_index("instance_set")["published_s"]
    printed["published_over_best"] = printed["published_s"] / printed["instance_set"].map(of_best)
    launches = side_by_side(measured(summary, "bfs_launches", "answer"))
    rows = []
    for source, device, graphs in by_source(summary):
        mine = launches[launches["source"] == source]
        graphs = graphs.merge(mine, on=["source", *GRAPH], suffixes=("", "_launches"), how="left")
        rebuilt = sets.rebuilt(graphs)
        for name in SETS:
            whole = rebuilt["O_all" if name.startswith("O") else "RCP_all"]
            members = rebuilt[name].dropna(subset=[*VARIANTS])
            means = {code: geometric_mean(members[code]) / 1e3 for code in VARIANTS}
            for code, names in VARIANTS.items():
                each = 1e3 * members[code] / members[f"{code}_launches"]
                rows.append(
                    (name, *names, source, device, len(members), means[code],
                     means[code] / means[BEST], geometric_mean(each),
                     set_note(name, len(members), len(whole)))
                )  # fmt: skip
    columns = [*_OF_TABLE_1, "source", "device", "graphs", "measured_s", "over_best",
               "us_a_launch", "note"]  # fmt: skip
    table = beside(printed, pd.DataFrame(rows, columns=columns), _OF_TABLE_1)
    return order(table, by=_OF_TABLE_1)[
        [*_OF_TABLE_1, "source", "device", "published_graphs", "graphs", "published_s",
         "measured_s", "published_over_best", "over_best", "us_a_launch", "note"]
    ]  # fmt: skip


# ------------------------------------------------------------------------------- Table 2

OF_TABLE_2 = {"GPU": BEST, "P-DBFS": "P-DBFS", "PFP": "PFP", "HK": "HK"}
"""Our code for each column of [D13 Table 2]."""


def column_of(code: str, what: str = "s") -> str:
    """Return the column of one of `OF_TABLE_2`: its seconds, or ``"over_gpu"``, the ratio."""
    return f"{code.lower().replace('-', '_')}_{what}"


def printed_times(published: Published) -> pd.DataFrame:
    """Return [D13 Table 2], a row a matrix and ordering, ``published_gpu_s`` and so on."""
    printed = published("table2")
    wide = printed.pivot(index=["matrix", "ordering"], columns="algorithm", values="time_s")
    wide = wide[list(OF_TABLE_2)].add_prefix("published_").rename(columns=column_of)
    wide.columns.name = None
    return wide.reset_index()


def _times(summary: pd.DataFrame, full_size: bool) -> pd.DataFrame:
    """Return times in seconds of the twenty, of generated graphs and of stand-ins."""
    wide = side_by_side(measured(summary))
    of_paper = wide["name"].isin(sets.twenty()["in_paper"])
    generated = (wide["kind"] == GENERATED) & (of_paper == full_size)
    others = (wide["kind"] == REAL) & of_paper | (wide["kind"] == STAND_IN)
    wide = wide[generated if full_size else generated | others]
    seconds = {column_of(column): wide[code] / 1e3 for column, code in OF_TABLE_2.items()}
    threads = [code for code in OTHER_THREADS if code in wide and code.startswith("P-DBFS")]
    more = {column_of(code): wide[code] / 1e3 for code in (*threads, BEYOND)}
    more["tuned_s"] = wide[TUNED] / 1e3
    over = {
        column_of(column, "over_gpu"): wide[code] / wide[BEST]
        for column, code in OF_TABLE_2.items()
        if code != BEST
    }
    table = wide.assign(**seconds, **more, **over, matrix=wide["name"], instance=wide["kind"])
    # A graph that one code alone was run on, for another experiment, is none of Table 2's.
    table = table.dropna(subset=[*seconds, *more], thresh=2)
    table = table.dropna(subset=[*seconds], how="all")
    index = ["matrix", "ordering", "instance", "n", "source", "device"]
    # Ratios on one seed first, then the median over the seeds.
    return table.groupby(index, sort=False)[[*seconds, *more, *over]].median().reset_index()


def _table_2(summary: pd.DataFrame, published: Published, full_size: bool) -> pd.DataFrame:
    printed = printed_times(published)
    if full_size:
        drawn = sets.twenty()["in_paper"][sets.twenty()["instead"] == GENERATED]
        printed = printed[printed["matrix"].isin(drawn)]
    # Print is about the matrices themselves, or their definition at its own size, not stand-ins.
    printed = printed.assign(instance=GENERATED if full_size else REAL)
    table = beside(printed, _times(summary, full_size), ["matrix", "ordering", "instance"])
    names = list(sets.twenty()["in_paper"])
    ranks = {name: rank for rank, name in enumerate(names)}
    stem = table["matrix"].str.removesuffix(" stand-in")
    table = table.assign(rank=stem.map(ranks).fillna(len(names)), n=table["n"].astype("Int64"))
    table = order(table, by=("ordering", "rank", "instance", "matrix"))
    pairs = [
        name for column in map(column_of, OF_TABLE_2) for name in (f"published_{column}", column)
    ]
    ratios = [column_of(code, "over_gpu") for code in OF_TABLE_2 if code != "GPU"]
    return table[
        ["matrix", "ordering", "instance", "n", "source", "device", *pairs, *ratios, "tuned_s",
         *(name for name in map(column_of, OTHER_THREADS) if name in table),
         "beyond_s"]
    ]  # fmt: skip


def table_2(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return Table 2: times of the paper's twenty, of generated graphs and of stand-ins.

    ``gpu_s`` is the best variant in print's configuration, ``tuned_s`` in ours.

    P-DBFS at other numbers of threads than print's eight has columns of its own, ``p_dbfs_2_s``.
    """
    return _table_2(summary, published, full_size=False)


def full_size(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return the rows of Table 2 whose graphs can be generated at the paper's own size."""
    return _table_2(summary, published, full_size=True)


# ------------------------------------------------------------------------------- Figure 2

OF_FIG_2 = tuple(code for code, (_, _, mode) in VARIANTS.items() if mode == "CT")
_LEVELS = "levels_"
SHOWN_ITERATIONS = 100
LARGEST_OF_FIG_2 = 2**23
"""Vertices of delaunay_n23, which print shows; delaunay_n24 was run, too."""


def fig_2(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return Figure 2: BFS kernel executions in each iteration, on Hamrle3 and a Delaunay graph.

    Rows whose ``what`` is ``iterations`` or ``launches`` hold the sums. Each other row holds one
    iteration, up to `SHOWN_ITERATIONS`. ``varying`` names the codes whose repetitions differ. Print
    has no numbers.
    """
    levels = measured(summary, _LEVELS, "answer", prefix=True)
    numbers = levels["metric"].str.removeprefix(_LEVELS)
    levels = levels[numbers.str.isdigit()].assign(what="levels")
    levels = levels.assign(iteration=levels["metric"].str.removeprefix(_LEVELS).astype(int))
    levels = levels[levels["iteration"] <= SHOWN_ITERATIONS]
    parts = [levels]
    for metric, what in (("bfs_iterations", "iterations"), ("bfs_launches", "launches")):
        parts.append(measured(summary, metric, "answer").assign(what=what, iteration=-1))
    rows = pd.concat(parts, ignore_index=True)
    rows = rows[rows["code"].isin(OF_FIG_2) & (rows["ordering"] == ORIGINAL)]
    rows = rows[(rows["start"] == EXCLUDED) & rows["name"].map(_in_fig_2).astype(bool)]
    rows = rows[rows["n"] <= LARGEST_OF_FIG_2]
    # Keep the graphs that all four ran on, and of these the largest of each family and source.
    codes = rows.groupby(["source", "name", "n"])["code"].transform("nunique")
    rows = rows[codes == len(OF_FIG_2)]
    family = rows["name"].str.split("_").str[0]
    rows = rows[rows["n"] == rows.groupby([rows["source"], family])["n"].transform("max")]
    index = ["name", "n", "source", "device", "what", "iteration"]
    wide = rows.drop_duplicates([*index, "code"]).set_index([*index, "code"])["value"]
    table = wide.unstack("code").reindex(columns=OF_FIG_2).dropna(how="all").reset_index()
    table.columns.name = None
    table["iteration"] = table["iteration"].astype("Int64").where(table["what"] == "levels")
    varying = _varying(rows)
    keys = zip(table["source"], table["name"], strict=True)
    table["varying"] = [", ".join(varying.get(key, ())) for key in keys]
    ranked = {"what": ("iterations", "launches", "levels")}
    return tables.order(table, by=("name", "source", "what", "iteration"), ranked=ranked)


def _varying(rows: pd.DataFrame) -> dict[tuple[str, str], list[str]]:
    """Return the codes whose counts differ from repetition to repetition, by source and graph.

    The kernels race, so that runs may differ; medians of such counts need not add up.
    """
    found: dict[tuple[str, str], list[str]] = {}
    for (source, name, code), mine in rows.groupby(["source", "name", "code"], sort=False):
        values = mine["values"]
        if len({len(each) for each in values}) > 1 or any(len(set(each)) > 1 for each in values):
            found.setdefault((str(source), str(name)), []).append(str(code))
    return found


def _in_fig_2(name: str) -> bool:
    return name.startswith(("Hamrle3", "delaunay_"))


# ------------------------------------------------------------------------------- our own


def known_maxima(published: Published) -> dict[tuple[str, int, int], int]:
    """Return the matching sizes that the peers' programs found, by name, n and seed."""
    found = {}
    peers = published("peers")
    # On one graph one peer's answer is larger than all others, so the most frequent answer counts.
    for (graph, n, seed), rows in peers.groupby(["graph", "n", "seed"]):
        common = rows["cardinality"].mode().iloc[0]
        found[graph.removesuffix(f"_s{seed}"), int(n), int(seed)] = int(common)
    return found


def counts(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return the matching sizes of all codes on every graph that several have solved.

    ``initial`` is the size of the cheap matching from which all codes start, ``known`` the known
    maximum; ``same_start`` also asks that the start is no larger than what was found.
    """
    sizes = measured(summary, "cardinality", "answer")
    starts = measured(summary, "initial_cardinality", "answer")
    starts = starts[(starts["start"] == EXCLUDED) & (starts["code"] != "SciPy")]
    known = known_maxima(published)
    index = ["source", *GRAPH]
    first = starts.groupby(index, sort=False)["value"].agg(initial="min", initial_most="max")
    rows = []
    for key, group in sizes.groupby(index, sort=False):
        _, name, n, seed, _, kind = key
        maximum = sets.maximum(name) if kind == REAL else known.get((name, n, seed), math.nan)
        low, high = group["value"].min(), group["value"].max()
        rows.append((*key, len(group), low, high, maximum))
    table = pd.DataFrame(rows, columns=[*index, "cells", "cardinality", "most", "known"])
    table = table.merge(first.reset_index(), on=index, how="left")
    equal = (table["cardinality"] == table["most"]) & (
        table["known"].isna() | (table["known"] == table["cardinality"])
    )
    table = table.assign(
        equal=equal,
        same_start=table["initial"].isna()
        | (table["initial"] == table["initial_most"]) & (table["initial"] <= table["cardinality"]),
    )
    table = table[table["cells"] > 1]
    table = order(table, by=("kind", "n", "name", "ordering"))
    return table[
        ["name", "ordering", "kind", "n", "seed", "source", "cells", "initial", "cardinality",
         "known", "equal", "same_start"]
    ]  # fmt: skip


def peers(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return our codes beside ECL-MM and WBPR, other people's GPU codes, graph by graph.

    ``published_wbpr_ms`` is the fastest of WBPR's versions. Times of two cards never stand in one
    row: of each source the peers of its own card are shown.
    """
    theirs = published("peers").rename(columns={"device": "card"})
    medians = theirs.groupby(["graph", "card", "peer"])["solve_ms"].median().unstack("peer")
    printed = pd.DataFrame(
        {
            "published_ecl_mm_ms": medians["ecl-mm"],
            "published_wbpr_ms": medians.filter(like="wbpr").min(axis=1),
        }
    ).reset_index()
    rows = measured(summary)
    rows = rows[(rows["kind"] == sets.RANDOM) & (rows["ordering"] == ORIGINAL)]
    rows = rows[rows["code"].isin((*CODES, *OTHER_THREADS))]
    rows = rows.assign(graph=rows["name"] + "_s" + rows["seed"].astype(str))
    cards = rows[rows["device"].isin(theirs["card"])].groupby("source")["device"].first()
    rows = rows.assign(card=rows["source"].map(cards).astype(object))
    table = rows.rename(columns={"value": "measured_ms"}).merge(printed, on=["graph", "card"])
    table = table.assign(over_ecl_mm=table["measured_ms"] / table["published_ecl_mm_ms"])
    table = order(table, by=("n", "graph", "start", "code"))
    return table[
        ["graph", "n", "code", "start", "source", "device", "card", "published_ecl_mm_ms",
         "published_wbpr_ms", "measured_ms", "over_ecl_mm", "count"]
    ]  # fmt: skip


def copter2(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return the times of our codes on `copter2`, on which SciPy takes minutes.

    ``bound`` tells whether SciPy's published time is exact or a lower bound.
    """
    printed = published("copter2").rename(columns={"seconds": "published_scipy_s"})
    printed = printed[["ordering", "published_scipy_s", "bound"]]
    rows = measured(summary)
    rows = rows[(rows["name"] == "copter2") & (rows["start"] == EXCLUDED)]
    rows = rows.assign(measured_s=rows["value"] / 1e3)
    rows = rows[["ordering", "code", "source", "device", "measured_s"]]
    table = beside(printed, rows, ["ordering"])
    table = table.assign(scipy_over_ours=table["published_scipy_s"] / table["measured_s"])
    table["code"] = table["code"].where(table["source"] != NOT_MEASURED, "")
    table = order(table, by=("ordering", "code"))
    return table[
        ["ordering", "code", "source", "device", "published_scipy_s", "bound", "measured_s",
         "scipy_over_ours"]
    ]  # fmt: skip


def beyond(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return `beyond` beside the fastest of the eight variants and of the CPU codes, by graph.

    Among the eight stands the best one in our configuration, too, if it was measured.
    """
    wide = side_by_side(measured(summary)).dropna(subset=[*VARIANTS, BEYOND])
    on_cpu = wide[
        [code for code in (*CODES, *OTHER_THREADS) if code in wide and code not in ON_GPU]
    ]
    eight = wide[[*VARIANTS, TUNED]]
    table = wide.assign(
        best_variant=eight.idxmin(axis=1) if len(wide) else "",
        best_ms=eight.min(axis=1),
        beyond_ms=wide[BEYOND],
        cpu_ms=on_cpu.min(axis=1),
    )
    table = table.assign(
        beyond_over_best=table["beyond_ms"] / table["best_ms"],
        beyond_over_cpu=table["beyond_ms"] / table["cpu_ms"],
    )
    table = order(table, by=("kind", "n", "name", "ordering"))
    return table[
        ["name", "ordering", "kind", "n", "source", "device", "best_variant", "best_ms",
         "beyond_ms", "beyond_over_best", "cpu_ms", "beyond_over_cpu"]
    ]  # fmt: skip
