"""Tables of the dense solver: what its parts take, what was tried, and others' programs."""

from __future__ import annotations

import numpy as np
import pandas as pd

from papers.common.evidence.rows import Column, Rows, beside, rows
from papers.synthesis.evidence.measured.rows import RANGES, in_page_order, read

PROFILED = (
    (1024, "n"), (4096, "10n"), (1000, "euclid"), (1000, "lowrank"), (2000, "clustered"),
    (300, "product"),
)  # fmt: skip
"""The matrices of `profile.csv` that the page has, in its order."""

BEFORE, NOW = "0931046", "99dd9ef"
"""The commits before and after the passes over all costs had their loads on their way together."""

BEFORE_HEADS, WITH_HEADS = "bc43e95", "77c5483"
"""The commits before and after heads of reports had four rows and buckets were narrowed."""

BEFORE_SEARCHES, WITH_SEARCHES = "6e7336d", "8ee8de8"
"""The commits before and after searches by marks had several words on their way together."""

BEFORE_STRIPS, WITH_STRIPS = "11f7223", "6250f2a"
"""The commits before and after clusters had costs in shared memory."""

BEFORE_BIDS, WITH_BIDS, WITH_EIGHT = "2f4ad1c", "198189b", "24c89c1"
"""The commits before bids took fewer instructions, and after it; and with two barriers less at a
run's start, one warp for a row that bids by marks, and eight threads for a group of columns."""

WITH_SHORT = "5cd2630"
"""The commit since which searches of a cluster count in 32 bits where they can."""

BEFORE_TREES, WITH_TREES = "818476b", "1ed9873"
"""The commits before and after trees that were not augmented stayed for the next search."""

BEFORE_NOTED, WITH_NOTED = "42158bb", "51d810d"
"""The commits before and after a cluster made the phases at n = 2048, too, of some matrices."""


def _us(found: pd.DataFrame, sections: str, a_visit_of: str) -> float:
    """Return microseconds of some sections for each visit of one of them."""
    visits = found.loc[found["section"] == a_visit_of, "visits"].item()
    return found.loc[found["section"].str.contains(sections), "microseconds"].sum() / visits


def profile() -> Rows:
    """Return the microseconds of a level and of a bid by the clocks in the kernel.

    A round is told of the code before alone, and a chain of the code after, which has no rounds in
    a grid.
    """
    found = read("profile").set_index(["n", "costs", "code"]).sort_index()
    told = []
    for n, costs in PROFILED:
        before, now = (found.loc[(n, costs, code)] for code in ("95bb302", "211d721"))
        us = [
            *(_us(code, "^level:", "level: head told") for code in (before, now)),
            *(_us(code, "report|^level: rows held", "level: head told") for code in (before, now)),
            _us(before, "^round:", "round: bids"),
            _us(now, "^chain:", "chain: bid and next row"),
        ]
        name = f"uniform, {costs}" if costs in RANGES else costs
        told.append([f"{name}, n = {n}", *(f"{value:.1f}" for value in us)])
    header = [
        "costs", "a level, us before", "now", "of it reports, before", "now", "a round, us before",
        "a bid of a chain, now",
    ]  # fmt: skip
    return [header, *told]


def openings() -> Rows:
    """Return the times and levels of a run by how its auction goes on with displaced rows."""
    found = beside(read("openings"), ["n", "costs"], "auction", ["dense_ms", "iterations"])
    return rows(
        in_page_order(found),
        [
            ("n", "n", ""),
            ("costs", "costs", ""),
            ("rounds, ms", "dense_ms rounds", "g"),
            ("levels", "iterations rounds", ".0f"),
            ("chains, ms", "dense_ms chains", "g"),
            ("levels", "iterations chains", ".0f"),
            ("with turns, ms", "dense_ms chains with turns", "g"),
            ("levels", "iterations chains with turns", ".0f"),
        ],
    )


def searches() -> pd.DataFrame:
    """Return the last run of the grid's search and of one block's by lists, on each matrix.

    The lists have distances of 32 bits and a bucket of 4 mean / n.
    """
    found = read("by_lists")
    by_lists = (found["search"] == "lists") & (found["bits"] == 32) & (found["delta"] == 4)
    found = found[by_lists | (found["search"] == "grid")]
    found = found.drop_duplicates(["n", "costs", "search"], keep="last")
    found["rows"] = found["relaxed"] / found["iterations"]
    found = beside(found, ["n", "costs"], "search", ["dense_ms", "iterations", "rows"])
    return found.dropna(subset=["dense_ms lists"])


def by_lists() -> Rows:
    """Return the times, levels and rows a level of a search by the grid and of one by lists."""
    return rows(
        searches(),
        [
            ("n", "n", ""),
            ("costs", "costs", ""),
            ("grid, ms", "dense_ms grid", ".3g"),
            ("levels", "iterations grid", ".0f"),
            ("rows a level", "rows grid", ".0f"),
            ("by lists, ms", "dense_ms lists", ".3g"),
            ("levels", "iterations lists", ".0f"),
            ("rows a level", "rows lists", ".0f"),
        ],
    )


def near() -> Rows:
    """Return the times and levels of a run with marks of near pairs and without.

    Of several seeds the one in the middle is shown, of two the faster one.
    """
    found = read("near").sort_values("dense_ms", kind="stable")
    groups = found.groupby(["n", "costs", "near"])["dense_ms"]
    middle = found[groups.cumcount() == (groups.transform("size") - 1) // 2].sort_index()
    middle = beside(middle, ["n", "costs"], "near", ["dense_ms", "iterations", "marked"])
    middle["marks"] = middle["marked 48"] / middle["n"]
    return rows(
        middle,
        [
            ("n", "n", ""),
            ("costs", "costs", ""),
            ("all costs, ms", "dense_ms 0", ".4g"),
            ("levels", "iterations 0", ".0f"),
            ("by marks, ms", "dense_ms 48", ".4g"),
            ("levels", "iterations 48", ".0f"),
            ("marks a row", "marks", ".3g"),
        ],
    )


def _in_ms(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def near_large() -> Rows:
    """Return the median, the least and the longest time of runs by the threshold of the marks."""
    times = read("near_large").groupby(["n", "costs", "near"])["dense_ms"]
    found = times.agg(["median", "min", "max"]).map(_in_ms).reset_index()
    found["span"] = found["median"] + " (" + found["min"] + " to " + found["max"] + ")"
    return rows(
        in_page_order(beside(found, ["n", "costs"], "near", ["span"])),
        [
            ("n", "n", ""),
            ("costs", "costs", ""),
            ("near = 0", "span 0", ""),
            *((f"{near}", f"span {near}", "") for near in (48, 96, 192)),
        ],
    )


def stages() -> Rows:
    """Return what each pass over all costs takes, before and after, on range n / 10."""
    found = read("stages")
    found = found[(found["costs"] == "0.1n") & (found["n"] > 1024)]
    found = found[found["microseconds"] > 1]  # no marks were made there
    parts = beside(
        found.assign(which=found["part"] + ", " + found["code"]), ["n"], "which", ["microseconds"]
    )
    runs = beside(found.drop_duplicates(["n", "code"]), ["n"], "code", ["run_ms"])

    def column(heading: str, part: str, code: str) -> tuple[str, str, str]:
        return heading, f"microseconds {part}, {code}", ".0f"

    return rows(
        parts.merge(runs, on="n"),
        [
            ("n", "n", ""),
            column("row minima, us before", "row minima", BEFORE),
            column("now", "row minima", NOW),
            column("column minima, before", "column minima", BEFORE),
            column("now", "column minima", NOW),
            column("marks, before", "marks", BEFORE),
            column("now", "marks", NOW),
            column("auction, now", "auction", NOW),
            column("searches, now", "searches", NOW),
            ("run, ms before", f"run_ms {BEFORE}", ".2f"),
            ("now", f"run_ms {NOW}", ".2f"),
        ],
    )


def _times_and_levels(
    before: str, now: str, headings: tuple[str, str] = ("before", "now")
) -> list[Column]:
    """Return the columns of two commits, or ways, whose medians stand beside each other."""
    return [
        (heading, f"{value} {code}", form)
        for when, code in zip(headings, (before, now), strict=True)
        for heading, value, form in ((f"{when}, ms", "ms", ".3g"), ("levels", "levels", ".0f"))
    ]


def medians(name: str = "passes") -> pd.DataFrame:
    """Return the medians over the seeds of a file, both commits' beside each other."""
    found = read(name)
    key = ["family", "n", "costs"]
    found = found.groupby([*key, "code"], sort=False)[["ms", "levels"]].median().reset_index()
    return beside(found, key, "code", ["ms", "levels"])


def beside_hylac() -> pd.DataFrame:
    """Return `medians` of uniform costs, HyLAC's (``theirs``) and theirs over ours (``ratio``)."""
    found = medians()
    theirs = read("beside_hylac").groupby(["n", "costs"])["ms"].median().rename("theirs")
    found = found[found["family"] == "uniform"].merge(theirs, on=["n", "costs"], how="left")
    found["ratio"] = found["theirs"] / found[f"ms {NOW}"]
    return in_page_order(found)


def passes() -> Rows:
    """Return the times and levels of a run before and after, and HyLAC's on the same matrices."""
    return rows(
        beside_hylac(),
        [
            ("n", "n", ""),
            ("costs", "costs", ""),
            *_times_and_levels(BEFORE, NOW),
            ("HyLAC, ms", "theirs", ".3g"),
            ("over ours", "ratio", ".3g"),
        ],
    )


def _before_and_after(name: str, before: str, now: str) -> Rows:
    """Return the times and levels of a run with two commits, and the quotient of the times."""
    found = medians(name)
    found["over"] = found[f"ms {now}"] / found[f"ms {before}"]
    return rows(
        found,
        [
            ("costs", "costs", ""),
            ("n", "n", ""),
            *_times_and_levels(before, now),
            ("now over before", "over", ".2f"),
        ],
    )


def heads() -> Rows:
    """Return the times and levels of a run before and after heads had four rows."""
    return _before_and_after("heads", BEFORE_HEADS, WITH_HEADS)


def marked_searches() -> Rows:
    """Return the times and levels of a run before and after searches by marks were made faster."""
    return _before_and_after("marked_searches", BEFORE_SEARCHES, WITH_SEARCHES)


def phase_ends() -> Rows:
    """Return the microseconds of the two steps behind a search, before and now.

    Means over the phases of one run each.
    """
    found = read("phase_ends").groupby(["n", "way"], as_index=False).mean(numeric_only=True)
    found = beside(found, ["n"], "way", ["first_us", "second_us"])
    return rows(
        found,
        [
            ("n", "n", ""),
            ("duals and traces, us before", "first_us before", ".1f"),
            ("paths and lists", "second_us before", ".1f"),
            ("duals and paths, us now", "first_us now", ".1f"),
            ("lists", "second_us now", ".1f"),
        ],
    )


def by_threads() -> pd.DataFrame:
    """Return medians over the seeds with blocks of 512 and of 256 threads; ``over``: 256 to 512."""
    found = read("threads")
    groups = found.groupby(["costs", "n", "threads"], sort=False, as_index=False)
    found = beside(groups[["ms", "levels"]].median(), ["costs", "n"], "threads", ["ms", "levels"])
    return found.assign(over=found["ms 256"] / found["ms 512"])


def threads() -> Rows:
    """Return the times and levels of a run in blocks of 512 threads and of 256."""
    return rows(
        by_threads(),
        [
            ("costs", "costs", ""),
            ("n", "n", ""),
            ("512 threads, ms", "ms 512", ".3g"),
            ("levels", "levels 512", ".0f"),
            ("256 threads, ms", "ms 256", ".3g"),
            ("levels", "levels 256", ".0f"),
            ("256 over 512", "over", ".2f"),
        ],
    )


def strips() -> Rows:
    """Return the times and levels of a run before and after clusters had costs in shared memory."""
    return _before_and_after("strips", BEFORE_STRIPS, WITH_STRIPS)


def bids() -> Rows:
    """Return the microseconds of the opening chains, and of a bid where most follow each other."""
    found = read("bids")
    found["step_us"] = found["chains_us"] / found["longest"]
    found = beside(found, ["n", "costs"], "code", ["chains_us", "longest", "step_us"])
    return rows(
        in_page_order(found),
        [
            ("n", "n", ""),
            ("costs", "costs", ""),
            ("chains, us before", f"chains_us {BEFORE_BIDS}", ".0f"),
            ("most bids one by one", f"longest {BEFORE_BIDS}", ".0f"),
            ("each", f"step_us {BEFORE_BIDS}", ".2f"),
            ("chains, us now", f"chains_us {WITH_BIDS}", ".0f"),
            ("most bids one by one", f"longest {WITH_BIDS}", ".0f"),
            ("each", f"step_us {WITH_BIDS}", ".2f"),
        ],
    )


def opening_warps() -> Rows:
    """Return what an opening auction by marks takes with one, two and four warps a row."""
    found = read("opening_warps")
    key, values = ["n", "costs"], ["chains_us", "bids", "levels", "run_us"]
    found = beside(found, key, "warps", values)
    heads = ("chains, us", "bids", "levels", "run, us")
    return rows(
        in_page_order(found),
        [
            ("n", "n", ""),
            ("costs", "costs", ""),
            *(
                (f"{head}, {warps}" if head == heads[0] else head, f"{value} {warps}", ".0f")
                for warps in (1, 2, 4)
                for head, value in zip(heads, values, strict=True)
            ),
        ],
    )


def level_parts() -> Rows:
    """Return the nanoseconds of a level's parts, by the threads that read a group's rows."""
    found = read("level_parts")
    parts = [name for name in found if name.endswith("_ns")]
    found["all_ns"] = found[parts].sum(axis=1)
    found["read_ns"] = found[["loads_ns", "met_ns", "sums_ns", "rows_ns", "barrier_ns"]].sum(axis=1)
    return rows(
        found,
        [
            ("threads a group", "threads", ""),
            ("n", "n", ""),
            ("costs", "costs", ""),
            ("levels", "levels", ""),
            ("loads issued, ns", "loads_ns", ""),
            ("boxes read, all", "read_ns", ""),
            ("decided", "decide_ns", ""),
            ("costs looked at", "look_ns", ""),
            ("parts met", "parts_ns", ""),
            ("judged and told", "judge_ns", ""),
            ("barrier", "cluster_ns", ""),
            ("a level", "all_ns", ""),
        ],
    )


def chains() -> Rows:
    """Return the times and levels of a run before and after bids took fewer instructions."""
    return _before_and_after("chains", BEFORE_BIDS, WITH_EIGHT)


def ablation() -> Rows:
    """Return what each change of one setting took, by the experiment of that name."""
    return rows(
        read("ablation"),
        [
            ("commit", "code", ""),
            ("family", "family", ""),
            ("costs", "costs", ""),
            ("n", "n", ""),
            ("change", "change", ""),
            ("words", "words", ""),
            ("usual ms", "usual_ms", ".4g"),
            ("ms", "ms", ".4g"),
            ("slowdown", "slowdown", ".4g"),
            ("usual barriers", "usual_barriers", ".4g"),
            ("barriers", "barriers", ".4g"),
        ],
    )


WIDTHS = (1, 2, 4, 8, 16, 32)
"""The widths of buckets in `buckets.csv`, times ``mean / n``."""


def _shares(
    found: pd.DataFrame, usual: pd.DataFrame, key: list[str], by: str, what: str = "ms"
) -> pd.DataFrame:
    """Return ``over X`` for each X of a column: a value over that of the usual rows.

    Geometric means over the seeds, of quotients that are formed seed by seed.
    """
    one = [*key, "seed"]
    found = found.merge(usual[[*one, what]], on=one, suffixes=("", "_usual"))
    found["over"] = np.log(found[what] / found[f"{what}_usual"])
    means = np.exp(found.groupby([*key, by], sort=False)["over"].mean()).reset_index()
    return beside(means, key, by, ["over"])


def by_width(what: str = "ms") -> pd.DataFrame:
    """Return each width's time (or levels, or relaxed rows) over that of the width before.

    Geometric means over the seeds. The width before was 32 up to n = 2048 and 4 beyond.
    """
    found = read("buckets")
    key = ["family", "n", "costs"]
    usual = found[found["width"] == np.where(found["n"] <= 2048, 32, 4)]
    counted = found.groupby(key)["seed"].nunique().rename("matrices").reset_index()
    return _shares(found, usual, key, "width", what).merge(counted, on=key)


def buckets() -> Rows:
    """Return the table of `by_width`."""
    found = by_width()
    floats = found["family"] == "floats"
    found["costs"] = found["costs"].where(~floats, found["costs"] + ", floats")
    return rows(
        found,
        [
            ("costs", "costs", ""),
            ("n", "n", ""),
            ("matrices", "matrices", ""),
            *((f"{width}", f"over {width}", ".2f") for width in WIDTHS),
        ],
    )


BATCH_WIDTHS = (1, 2, 4, 8, 32)
"""The widths of buckets in `batch_buckets.csv`, times ``mean / n``; before, all had the last."""


def batches_by_width() -> pd.DataFrame:
    """Return the time of each width, and of each other change beside width 1, over that of 32.

    Geometric means over the seeds; ``over W`` is of width W alone.
    """
    found = read("batch_buckets").fillna({"change": ""})
    key = ["costs", "type", "problems", "n", "m"]
    usual = found[found["width"] == BATCH_WIDTHS[-1]]
    found["with"] = found["width"].astype(str) + (" " + found["change"]).str.rstrip()
    medians = usual.groupby(key, sort=False)["ms"].median().reset_index()
    return _shares(found, usual, key, "with").merge(medians, on=key)


def batch_buckets() -> Rows:
    """Return the table of `batches_by_width`, without the other changes."""
    found = batches_by_width()
    found["sides"] = [
        f"{n}" if n == m else f"{n} x {m}" for n, m in zip(found["n"], found["m"], strict=True)
    ]
    return rows(
        found,
        [
            ("costs", "costs", ""),
            ("type", "type", ""),
            ("problems", "problems", ""),
            ("sides", "sides", ""),
            ("32, ms", "ms", ".3g"),
            *((f"{width} over 32", f"over {width}", ".2f") for width in BATCH_WIDTHS[:-1]),
        ],
    )


def shortest_shares() -> pd.DataFrame:
    """Return a cluster's time over one block's, `over cluster`, on the shortest sides.

    `ms cluster` and `ms one block` are medians over the seeds.
    """
    found, key = read("shortest"), ["costs", "type", "n", "m"]
    medians = found.groupby([*key, "who"], sort=False)["ms"].median().reset_index()
    shares = _shares(found, found[found["who"] == "one block"], key, "who")
    return beside(medians, key, "who", ["ms"]).merge(shares, on=key)


def shortest() -> Rows:
    """Return the table of `shortest_shares`, over all kinds of costs of a shape."""
    found = shortest_shares()
    found["log"] = np.log(found["over cluster"])
    shapes = found.groupby(["n", "m"], sort=False)
    table = shapes[["ms one block", "ms cluster"]].median()
    table["over"] = np.exp(shapes["log"].mean())
    table["least"], table["most"] = shapes["over cluster"].min(), shapes["over cluster"].max()
    return rows(
        table.reset_index(),
        [
            ("rows", "n", ""),
            ("columns", "m", ""),
            ("one block, ms", "ms one block", ".3f"),
            ("cluster, ms", "ms cluster", ".3f"),
            ("cluster over one block", "over", ".2f"),
            ("least", "least", ".2f"),
            ("most", "most", ".2f"),
        ],
    )


def small_scales_shares() -> pd.DataFrame:
    """Return times over those of the rule before, which left a hundredth of the rows.

    Returns
    -------
    DataFrame
        ``change``, ``left``, ``n``, and the geometric mean ``over`` of the matrices whose costs
        were scaled.
    """
    found, key = read("small_scales"), ["family", "costs", "n", "seed"]
    before = found[found["change"] == "usual"].set_index(key)[["us", "scales"]]
    found = found.join(before.rename(columns={"us": "before", "scales": "made"}), on=key)
    found = found[(found["made"] > 0) & (found["change"] != "usual")]
    logs = np.log(found["us"] / found["before"])
    means = logs.groupby([found["change"], found["left"], found["n"]], sort=False).mean()
    return np.exp(means).rename("over").reset_index()


def small_scales() -> Rows:
    """Return the table of `small_scales_shares`."""
    words = {"left": "{} left", "no scales": "no scales",
             "divisor 16": "{} left, eps falls by 16"}  # fmt: skip
    found = small_scales_shares()
    orders = sorted(found["n"].unique())
    found = beside(found, ["change", "left"], "n", ["over"])
    found["words"] = [
        words[change].format("1 row" if left == 1 else f"{left} rows")
        for change, left in zip(found["change"], found["left"], strict=True)
    ]
    columns = [(f"{n}", f"over {n}", ".2f") for n in orders[1:]]
    return rows(
        found,
        [("a scale", "words", ""), (f"n = {orders[0]}", f"over {orders[0]}", ".2f"), *columns],
    )


def cluster() -> Rows:
    """Return the times and levels of a run whose phases are a grid's, and a cluster's."""
    found = read("cluster")
    key = ["family", "n", "costs"]
    found["lists"] = found.groupby(key)["lists"].transform("max")
    key.append("lists")
    found = found.groupby([*key, "blocks"], sort=False)[["ms", "levels"]].median().reset_index()
    found = beside(found, key, "blocks", ["ms", "levels"])
    found["by"] = np.where(found["lists"] == 1, "lists", "all costs")
    found["over"] = found["ms 16"] / found["ms 0"]
    return rows(
        found,
        [
            ("costs", "costs", ""),
            ("n", "n", ""),
            ("the cluster reads", "by", ""),
            ("grid, ms", "ms 0", ".3g"),
            ("levels", "levels 0", ".0f"),
            ("cluster, ms", "ms 16", ".3g"),
            ("levels", "levels 16", ".0f"),
            ("cluster over grid", "over", ".2f"),
        ],
    )


def cluster_parts() -> Rows:
    """Return the cycles of a level of a cluster, by its parts, as first written and as it is."""
    return rows(
        read("cluster_parts").sort_values(["n", "costs"], kind="stable"),
        [
            ("n", "n", ""),
            ("costs", "costs", ""),
            ("search", "search", ""),
            ("levels", "levels", ""),
            ("boxes read", "gather", ""),
            ("costs looked at", "rows", ""),
            ("parts met", "parts", ""),
            ("decided and told", "tell", ""),
            ("barrier", "meet", ""),
        ],
    )


def short() -> Rows:
    """Return the times and levels of a run before and after a cluster counted in 32 bits."""
    return _before_and_after("short", WITH_EIGHT, WITH_SHORT)


def noted() -> Rows:
    """Return the times and levels of a run before and after a cluster noted costs as it read."""
    return _before_and_after("noted", BEFORE_NOTED, WITH_NOTED)


def trees() -> Rows:
    """Return the times and levels of a run before and after trees stayed for the next search."""
    return _before_and_after("trees", BEFORE_TREES, WITH_TREES)


def beside_as_it_is(name: str = "tried") -> pd.DataFrame:
    """Return medians over the seeds of what was tried, beside those of the code as it is."""
    found = read(name)
    key = ["tried", "n", "costs"]
    found = found.groupby([*key, "way"], sort=False)[["ms", "levels"]].median().reset_index()
    found = beside(found, key, "way", ["ms", "levels"])
    found["over"] = found["ms tried"] / found["ms as it is"]
    return found


def trees_tried() -> Rows:
    """Return `tried` of what was tried beside trees that stay."""
    return tried("trees_tried")


def tried(name: str = "tried") -> Rows:
    """Return the times and levels of a run with what was tried and left, and without it."""
    return rows(
        beside_as_it_is(name),
        [
            ("tried", "tried", ""),
            ("costs", "costs", ""),
            ("n", "n", ""),
            *_times_and_levels("as it is", "tried", ("as it is", "tried")),
            ("tried over as it is", "over", ".2f"),
        ],
    )


def sortable() -> Rows:
    """Return the times of calls and runs where lines can be sorted, means of two matrices."""
    found = read("sortable").groupby(["costs", "n"], sort=False, as_index=False)
    found = found[["dense_ms", "one_core_ms", "run_ms", "unsorted_run_ms", "sorted"]].mean()
    found["over"] = found["unsorted_run_ms"] / found["run_ms"]
    found["done"] = np.where(found["sorted"] == 1, "yes", "no")
    return rows(
        found,
        [
            ("costs", "costs", ""),
            ("n", "n", ""),
            ("sorted", "done", ""),
            ("call, `synthesis:dense`, ms", "dense_ms", ".3g"),
            ("call, `synthesis:one_core`, ms", "one_core_ms", ".3g"),
            ("run, ms", "run_ms", ".3g"),
            ("run without sorting, ms", "unsorted_run_ms", ".3g"),
            ("without, over with", "over", ".2g"),
        ],
    )


def settled() -> pd.DataFrame:
    """Return a row a kind of costs and n: ``scipy``, ``before`` and ``now``, ms, and ``over``.

    Of `one_core_settled.csv`: medians of two turns; ``over`` is now over SciPy's time.
    """
    found = read("one_core_settled")
    key = ["costs", "n"]
    times = found.groupby([*key, "code"], sort=False)["call_ms"].median().unstack()
    times["scipy"] = found.groupby(key)["scipy_ms"].median()
    ordered = found[key].drop_duplicates().merge(times.reset_index(), on=key)
    return ordered.assign(over=ordered["now"] / ordered["scipy"])


def one_core_settled() -> Rows:
    """Return the times of calls on one core for costs that are nearly settled."""
    return rows(
        settled(),
        [
            ("costs", "costs", ""),
            ("n", "n", ""),
            ("SciPy, ms", "scipy", ".3g"),
            ("before", "before", ".3g"),
            ("now", "now", ".3g"),
            ("now over SciPy", "over", ".2f"),
        ],
    )
