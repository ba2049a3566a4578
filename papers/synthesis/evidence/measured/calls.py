"""Tables of calls from host to host, and of batches."""

from __future__ import annotations

import numpy as np
import pandas as pd

from papers.common.evidence.rows import Rows, beside, rows
from papers.synthesis.evidence.measured.rows import read

PLACES = {
    "host": "NumPy, in host memory",
    "numba": "Numba, on the device",
    "cupy": "CuPy",
    "torch": "PyTorch",
}
"""The places of a call's costs in `calls_before_after.csv`, and their words on the page."""

FIRST_CALLS = {
    "int32": "`linear_sum_assignment`, int32, n = 1000",
    "float64": "the same, float64",
    "large": "the same, int32, n = 4096",
    "batch": "the same, 1000 of 64 x 64",
    "matching": "`maximum_bipartite_matching`, 100,000 a side",
    "cut": "`grid_cut`, 300 x 300",
}
"""The calls of `first_call.csv` in the page's order, and their words there."""

ORDERS = ("during the import", "after the import")
"""When the device's context is made, in `first_call.csv`."""

PARTS = {
    "call": "the call",
    "upload, run and download": "the solver alone: upload, run and download",
    "run": "its run",
    "copy of the answer": "Numba's copy of the answer to the device",
    "copy and one slice": "the same and one slice of it",
    "view of the costs": "a view of the costs",
}
"""The parts of a call in `device_call.csv`, and their words on the page."""

WAYS = [
    ("warm, before", "warm_before", ".0f"),
    ("now", "warm_now", ".0f"),
    ("cold, before", "cold_before", ".0f"),
    ("now", "cold_now", ".0f"),
]
"""Columns of tables with times of two codes."""


def by_who_looks(name: str, *types: str) -> Rows:
    """Return the times of calls in a file, by the costs' type and by who looks at the costs."""
    columns = [("n", "n", "")]
    for dtype in types:
        unit = "" if len(columns) > 1 else ", ms"
        columns += [
            (f"{dtype}, by the host{unit}", f"host_ms {dtype}", ".3g"),
            ("as it is", f"sent_ms {dtype}", ".3g"),
        ]
    return rows(beside(read(name), ["n"], "dtype", ["host_ms", "sent_ms"]), columns)


def sending() -> Rows:
    """Return the times of calls whose costs the host looks at, and of those that go as they are."""
    return by_who_looks("sending", "int32", "int64", "float64")


def copied() -> pd.DataFrame:
    """Return microseconds of what was carried to the device, a row each.

    The columns are ``warm_before``, ``cold_before``, and the same ``_now``, ``_one call`` and
    ``_threads``; medians over the turns, NaN where nothing was measured.
    """
    found = read("carrying/copies")
    names = dict(zip(dict.fromkeys(found["code"]), ("before", "now"), strict=True))
    found["name"] = found["code"].map(names).where(found["way"] == "as decided", found["way"])
    times = found.groupby(["carried", "MiB", "name"], sort=False)[["warm_us", "cold_us"]]
    of = times.median().unstack("name")
    of.columns = pd.Index([f"{way.removesuffix('_us')}_{name}" for way, name in of.columns])
    return of.reset_index().dropna(subset=["cold_before", "cold_now"])


def copies() -> Rows:
    """Return times of arrays on their way to the device, by threads, by one call, as decided."""
    return rows(
        copied(),
        [
            ("what", "carried", ""),
            ("MiB", "MiB", ".3g"),
            *WAYS,
            ("one call, cold", "cold_one call", ".0f"),
            ("threads, cold", "cold_threads", ".0f"),
        ],
    )


def looked_at() -> Rows:
    """Return the same with the copies of now."""
    return by_who_looks("carrying/looked_at", "int32", "int64", "float64")


def stacks() -> Rows:
    """Return a launch's time over that of one core's loop, by place, type, side and lines."""
    found = read("carrying/stacks")
    found["over"] = found["batch_us"] / found["one_core_us"]
    times = beside(found, ["place", "dtype", "n"], "lines", ["over"])
    times = times.sort_values(["place", "dtype", "n"], ascending=[False, False, True])
    return rows(
        times,
        [
            ("from", "place", ""),
            ("type", "dtype", ""),
            ("side", "n", ""),
            *((f"{one} lines", f"over {one}", ".2f") for one in found["lines"].unique()),
        ],
    )


def batch_ahead() -> Rows:
    """Return the times of batches by the number of rows that are on their way to a warp."""
    found = beside(read("batch_ahead"), ["problems", "n", "costs"], "ahead", ["run_ms"])
    return rows(
        found,
        [
            ("problems", "problems", ""),
            ("n", "n", ""),
            ("costs", "costs", ""),
            ("8 rows", "run_ms 8", ".3f"),
            *((f"{ahead}", f"run_ms {ahead}", ".3f") for ahead in (10, 16, 20, 24)),
        ],
    )


def short_way_out() -> pd.DataFrame:
    """Return a row for each place of the costs: the call and its run now, and what a call adds.

    ``adds`` is of the code now, ``least`` and ``most`` of the code before, over two ranges of
    costs.
    """
    found = read("calls_before_after")
    found["adds"] = found["call_us"] - found["run_us"]
    key = ["n", "place"]
    before = found[found["code"] == "93f19f4"].groupby(key)["adds"]
    before = before.agg(least="min", most="max").reset_index()
    return found[found["code"] == "eb2a888"].merge(before, on=key, how="left")


def batch_parts() -> Rows:
    """Return where the time of a batch went from host to host, by a profile."""
    found = read("batch_parts")
    found["of"] = [f"{b} of {n}" for b, n in zip(found["problems"], found["n"], strict=True)]
    kinds = list(dict.fromkeys(found["of"]))
    table = beside(found, ["part"], "of", ["us"])
    columns = [(f"{kind} a side, us", f"us {kind}", ".0f") for kind in kinds]
    return rows(table, [("part", "part", ""), *columns])


def one_core_many() -> Rows:
    """Return the times of stacks on one core: calls before and now, SciPy's loop, lapx's."""
    found = many_on_one_core()
    return rows(
        found,
        [
            ("costs", "costs", ""),
            ("problems", "problems", ""),
            ("n", "n", ""),
            ("m", "m", ""),
            ("call before, ms", "before", ".3g"),
            ("now", "now", ".3g"),
            ("SciPy's loop", "scipy", ".3g"),
            ("lapjv's loop", "lapjv", ".3g"),
            ("now over before", "over", ".2f"),
        ],
    )


def many_on_one_core() -> pd.DataFrame:
    """Return a row a kind of stack of `one_core_many.csv`: medians of the turns, in ms."""
    found = read("one_core_many")
    key, first, last = (
        ["costs", "problems", "n", "m"],
        found["code"].iloc[0],
        found["code"].iloc[-1],
    )
    times = ["call_ms", "scipy_loop_ms", "lapjv_loop_ms"]
    of = found.groupby([*key, "code"], sort=False)[times].median().unstack("code")
    table = pd.DataFrame(
        {
            "before": of["call_ms", first], "now": of["call_ms", last],
            "scipy": of["scipy_loop_ms", last], "lapjv": of["lapjv_loop_ms", last],
        }
    )  # fmt: skip
    return table.assign(over=table["now"] / table["before"]).reset_index()


def calls_before_after() -> Rows:
    """Return what a call adds to its run, before and after it had a short way out."""
    found = short_way_out()
    found["before"] = [
        None if np.isnan(least) else f"{least:.0f} to {most:.0f}"
        for least, most in zip(found["least"], found["most"], strict=True)
    ]
    return rows(
        found,
        [
            ("n", "n", ""),
            ("costs", "place", PLACES.__getitem__),
            ("the call adds, before", "before", ""),
            ("now", "adds", ".0f"),
            ("the call", "call_us", ".0f"),
            ("its run", "run_us", ".0f"),
        ],
    )


def first_call() -> Rows:
    """Return the seconds of a process' first call: kernels to compile, and kept ones by order.

    A row a call and commit; each commit's times are of a machine of their own.
    """
    found = read("first_call")
    key = ["kernels", "context", "call", "code"]
    of = found.groupby(key)["seconds"].agg(["median", "min", "max"])
    body = []
    for call, words in FIRST_CALLS.items():
        for code in dict.fromkeys(found.loc[found["call"] == call, "code"]):
            compiled = of.loc[("compiled", ORDERS[0], call, code), "median"]
            cells = [words, code, f"{compiled:.1f}"]
            for order in ORDERS:
                middle, least, most = of.loc[("loaded", order, call, code)]
                cells.append(f"{middle:.2f} ({least:.2f} to {most:.2f})")
            body.append(cells)
    loaded = (f"loaded, the context {one}" for one in ORDERS)
    return [["first call", "commit", "compiled, s", *loaded], *body]


FIRST_CALLS_ALONE = {
    "squares": "`linear_sum_assignment`, integers, n = 100",
    "squares with duals": "the same with duals, floats, n = 150",
    "graph": "`maximum_bipartite_matching`, 300 a side",
}
"""The calls of `first_call_one_core.csv`, and their words on the page."""


def first_call_one_core() -> Rows:
    """Return the seconds of a process' first call without a GPU, before and now."""
    of = read("first_call_one_core").groupby(["call", "code"], sort=False)["seconds"]
    return [
        ["first call without a GPU", "commit", "s", "least", "most"],
        *(
            [FIRST_CALLS_ALONE[call], code, f"{middle:.2f}", f"{least:.2f}", f"{most:.2f}"]
            for (call, code), middle, least, most in of.agg(["median", "min", "max"]).itertuples()
        ),
    ]


def first_call_parts() -> Rows:
    """Return the seconds of a first call's parts, by when the device's context is made.

    Of the file's last commit.
    """
    found = read("first_call_parts")
    found = found[found["code"] == found["code"].iloc[-1]]
    spans = found.groupby(["part", "context"], sort=False)["seconds"].agg(["min", "max"])
    sums = found.groupby(["context", "process"])["seconds"].sum().groupby("context")
    orders = list(dict.fromkeys(found["context"]))
    body = [
        [part, *(_span(*spans.loc[(part, order), ["min", "max"]]) for order in orders)]
        for part in dict.fromkeys(found["part"])
    ]
    total = ["all", *(_span(sums.min()[order], sums.max()[order]) for order in orders)]
    return [["part, s", *(f"the context made {order}" for order in orders)], *body, total]


def _span(least: float, most: float) -> str:
    one, other = f"{least:.2f}", f"{most:.2f}"
    return one if one == other else f"{one} to {other}"


def over_one_core() -> pd.DataFrame:
    """Return the time of a call with `synthesis:dense` over the faster of two on one core.

    Returns
    -------
    DataFrame
        ``costs``, ``place``, ``n`` and ``ratio``, the geometric mean over all matrices of an order.
    """
    found = read("crossover")
    key = ["family", "costs", "dtype", "n", "place"]
    ways = found.pivot(index=key, columns="solver", values="us")
    ways["ratio"] = ways["synthesis:dense"] / ways[["synthesis:one_core", "scipy"]].min(axis=1)
    ways = ways["ratio"].reset_index()
    ways["costs"] = ways["dtype"].where(ways["dtype"] != "float64", "floats")
    logs = np.log(ways["ratio"]).groupby([ways["costs"], ways["place"], ways["n"]])
    return np.exp(logs.mean()).reset_index()


def crossover() -> Rows:
    """Return the ratios of `over_one_core` by the kind of costs and the place where they lie."""
    found = beside(over_one_core(), ["costs", "place"], "n", ["ratio"])
    words = {"host": "host memory", "numba": "the device, Numba", "cupy": "the device, CuPy",
             "pytorch": "the device, PyTorch"}  # fmt: skip
    found["rank"] = found["place"].map(list(words).index)
    return rows(
        found.assign(kind=found["costs"].map(["int32", "int64", "floats"].index)).sort_values(
            ["kind", "rank"]
        ),
        [
            ("costs", "costs", ""),
            ("place", "place", words.__getitem__),
            ("n = 32", "ratio 32", ".2f"),
            *((f"{n}", f"ratio {n}", ".2f") for n in (48, 64, 80, 96, 112, 128, 192, 256, 512)),
        ],
    )


def device_call() -> Rows:
    """Return the microseconds of a call's parts, for costs in device memory."""
    found = beside(read("device_call"), ["what"], "n", ["us"])
    return rows(
        found,
        [
            ("microseconds, costs in device memory, before", "what", PARTS.__getitem__),
            ("n = 64", "us 64", ".1f"),
            ("n = 256", "us 256", ".1f"),
        ],
    )


def by_codes(name: str, key: list[str], **only: str) -> pd.DataFrame:
    """Return a row a key of a file of two codes: medians of the turns that both have, in us.

    Of a file with more columns `only` names the values whose rows are taken.

    The columns are ``warm_before``, ``warm_now``, ``cold_before`` and ``cold_now``; the code that
    comes first in the file is the one before.
    """
    found = read(name)
    for column, value in only.items():
        found = found[found[column] == value]
    names = dict(zip(dict.fromkeys(found["code"]), ("before", "now"), strict=True))
    found = found[found.groupby([*key, "turn"])["code"].transform("nunique") == len(names)]
    times = found.assign(code=found["code"].map(names)).groupby([*key, "code"], sort=False)
    of = times[["warm_us", "cold_us"]].median().unstack("code")
    of.columns = pd.Index([f"{way.removesuffix('_us')}_{code}" for way, code in of.columns])
    return of.reset_index()


def host_paths() -> Rows:
    """Return the times of small calls and of batches, before and since the host does less."""
    columns = [("problems", "problems", ""), ("n", "n", ""), ("costs", "costs", "")]
    return rows(by_codes("host_paths", [name for _, name, _ in columns]), [*columns, *WAYS])


def short_way() -> Rows:
    """Return the times of small calls before and since those of a known form ask nothing anew."""
    columns = [("machine", "machine", ""), ("n", "n", ""), ("costs", "costs", "")]
    key = [name for _, name, _ in columns]
    both = [by_codes("short_way", key, machine=machine) for machine in "AB"]
    return rows(pd.concat(both), [*columns, *WAYS])


def added_again() -> pd.DataFrame:
    """Return the microseconds that calls add to their run in `calls_again.csv`, a column a code.

    They are `synthesis:calls`' own figures, medians of the turns, by place, n and range; the codes
    are in the file's order.
    """
    found = read("calls_again")
    key = ["place", "n", "range"]
    of = found.groupby([*key, "code"], sort=False)["adds_us"].median().unstack("code")
    return of[list(dict.fromkeys(found["code"]))]


def calls_again() -> Rows:
    """Return what calls on small matrices add to their run, code by code."""
    found = added_again()
    columns = [(f"{code} adds, us", code, ".0f") for code in found]
    key = [("costs", "place", ""), ("n", "n", ""), ("range", "range", "")]
    return rows(found.reset_index(), [*key, *columns])


def one_core_cold() -> Rows:
    """Return the times of small runs on one core, before and now, beside the others' cold ones."""
    found = cold_on_one_core()
    return rows(
        found,
        [
            ("family", "family", ""),
            ("n", "n", ""),
            ("costs", "costs", ""),
            *WAYS,
            ("lapjv, cold", "lapjv", ".0f"),
            ("lapjvs, cold", "lapjvs", ".0f"),
            ("SciPy, cold", "scipy", ".0f"),
        ],
    )


def cold_on_one_core() -> pd.DataFrame:
    """Return a row an instance of `one_core_cold.csv`; others' times are of the turns now."""
    key = ["family", "n", "costs"]
    found = by_codes("one_core_cold", [*key, "by"])
    mine = found[found["by"] == "one_core"]
    theirs = found.pivot(index=key, columns="by", values="cold_now").drop(columns="one_core")
    return mine.merge(theirs.reset_index(), on=key)


def one_core_lists() -> Rows:
    """Return the times of lists of matrices on one core, before and now, and of stacks of them."""
    found = lists_on_one_core()
    return rows(
        found,
        [
            ("costs", "costs", ""),
            ("matrices", "problems", ""),
            ("n", "n", ""),
            ("m", "m", ""),
            ("list before, ms", "before", ".3g"),
            ("now", "now", ".3g"),
            ("as a stack", "stack", ".3g"),
            ("SciPy's loop", "scipy", ".3g"),
            ("now over before", "over", ".2f"),
        ],
    )


def lists_on_one_core() -> pd.DataFrame:
    """Return a row a kind of list of `one_core_lists.csv`: medians of the turns, in ms."""
    found = read("one_core_lists")
    first, last = found["code"].iloc[0], found["code"].iloc[-1]
    times = ["list_ms", "stack_ms", "scipy_loop_ms"]
    key = ["costs", "problems", "n", "m"]
    of = found.groupby([*key, "code"], sort=False)[times].median().unstack("code")
    table = pd.DataFrame(
        {
            "before": of["list_ms", first], "now": of["list_ms", last],
            "stack": of["stack_ms", last], "scipy": of["scipy_loop_ms", last],
        }
    )  # fmt: skip
    return table.assign(over=table["now"] / table["before"]).reset_index()
