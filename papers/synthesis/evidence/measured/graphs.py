"""Tables of matchings and of cuts."""

from __future__ import annotations

import numpy as np
import pandas as pd

from papers.common.evidence.rows import Rows, beside, rows
from papers.synthesis.evidence.measured.rows import read

CALLS = ["call_before_ms", "call_ms", "run_before_ms", "run_ms"]
"""The times of `graphs/turns.csv`."""


def left() -> Rows:
    """Return the times of calls by who gets what one core leaves open."""
    found = read("graphs/left")
    return rows(
        found.assign(ratio=found["gpu_ms"] / found["hk_ms"]),
        [
            ("graph", "graph", ""),
            ("order", "ordering", ""),
            ("edges", "edges", ""),
            ("Hopcroft-Karp, ms", "hk_ms", ".2f"),
            ("the GPU, ms", "gpu_ms", ".2f"),
            ("ratio", "ratio", ".2f"),
        ],
    )


def turned() -> Rows:
    """Return the times of calls for matchings, before and after the device turned graphs."""
    found = read("graphs/turned")
    found["graph"] = found["family"] + " " + found["label"]
    return rows(
        found,
        [
            ("graph", "graph", ""),
            ("n", "n", ""),
            ("order", "ordering", ""),
            ("before", "before_ms", ".2f"),
            ("now", "call_ms", ".2f"),
            ("way", "way", ""),
            ("upload", "upload_ms", ".2f"),
            ("of it: turn", "turn_ms", ".2f"),
            ("run", "run_ms", ".2f"),
        ],
    )


def after_the_pass() -> Rows:
    """Return the times of calls that give a graph to the GPU earlier than the rules do."""
    return rows(
        read("graphs/after_the_pass"),
        [
            ("graph", "graph", ""),
            ("order", "order", ""),
            ("n", "n", ""),
            ("edges", "edges", ""),
            ("pairs missing", "missing", ""),
            ("today", "today_ms", ".2f"),
            ("straight after the pass", "after_pass_ms", ".2f"),
            ("at once", "at_once_ms", ".2f"),
        ],
    )


def one_pass() -> Rows:
    """Return the times of calls for cuts, before and after one pass over an image's capacities."""
    found = read("graphs/one_pass")
    times = ["before_ms", "call_ms", "fill_ms", "run_ms", "down_ms"]
    headings = ["before", "now", "up", "run", "down"]
    columns = [(heading, name, ".2f") for heading, name in zip(headings, times, strict=True)]
    whole = [f"{ms:.1f}" for ms in found[times].sum()]
    return [*rows(found, [("instance", "instance", ""), *columns]), ["all", *whole]]


def turns() -> Rows:
    """Return the times of calls for cuts and of their runs, before and after two barriers a turn.

    Below the 18 real grids stands their sum, and then images of noise, whose runs were not timed by
    themselves.
    """
    found = read("graphs/turns")
    headings = ["call before", "now", "run before", "now"]
    columns = [(heading, name, ".2f") for heading, name in zip(headings, CALLS, strict=True)]
    header, *body = rows(found, [("grid", "instance", ""), *columns])
    real = found["run_ms"].notna()
    whole = ["all", *(f"{ms:.1f}" for ms in found.loc[real, CALLS].sum())]
    last = int(real.sum())
    return [header, *body[:last], whole, *body[last:]]


def better() -> pd.DataFrame:
    """Return a row a grid: the ``call_ms`` of ours, the better codes' times, and our ``ratio``.

    ``better`` is the time of the better one, from arrays in memory to the mask.
    """
    found = read("graphs/better_codes")
    found["ms"] = found[["build_ms", "solve_ms", "mask_ms"]].sum(axis=1)
    theirs = beside(found, ["instance"], "peer", ["ms"])
    ours = read("graphs/turns").dropna(subset=["run_ms"])
    found = ours.merge(theirs, on="instance", how="left", validate="one_to_one")
    found["better"] = found[["ms eibfs_i", "ms mbk_r"]].min(axis=1)
    found["ratio"] = found["call_ms"] / found["better"]
    return found


def better_codes() -> Rows:
    """Return the times of calls for cuts beside those of EIBFS-I and MBK-R on one core."""
    found = better()
    whole = found[["ms eibfs_i", "ms mbk_r", "call_ms", "better"]].sum()
    times = [f"{ms:.1f}" for ms in whole[:3]]
    return [
        *rows(
            found,
            [
                ("grid", "instance", ""),
                ("EIBFS-I, ms", "ms eibfs_i", ".1f"),
                ("MBK-R, ms", "ms mbk_r", ".1f"),
                ("call, ms", "call_ms", ".2f"),
                ("over the better", "ratio", ".3f"),
            ],
        ),
        ["all", *times, f"{whole['call_ms'] / whole['better']:.3f}"],
    ]


FEW_NODES = 100
"""Nodes of a network up to which a flow is push and relabel's (`calls/choices.csv`)."""


def over_scipy() -> pd.DataFrame:
    """Return the times of calls on networks over SciPy's, by code, kind and order.

    ``flow`` is the solver's that the rules of that code take, ``by_push_relabel`` and ``by_scipy``
    those of one of them, ``cut`` that of `minimum_cut`.
    """
    found = read("graphs/networks")
    over = {
        name: found[f"{name}_us"] / found["scipy_us"]
        for name in ("by_scipy", "by_push_relabel", "cut")
    }
    found = found.assign(**over)
    few = (found["code"] != found["code"].iloc[0]) & (found["nodes"] <= FEW_NODES)
    return found.assign(flow=found["by_push_relabel"].where(few, found["by_scipy"]))


def networks() -> Rows:
    """Return the geometric means over five kinds of network of calls' times over SciPy's."""
    found = over_scipy()
    times = ["scipy_us", "by_push_relabel", "by_scipy", "flow", "cut"]
    means = np.exp(np.log(found[times]).groupby([found["code"], found["n"]]).mean())
    before, now = (means.loc[code] for code in found["code"].unique())
    mean = now.assign(before=before["flow"], cut_before=before["cut"])
    return rows(
        mean.reset_index(),
        [
            ("nodes, about", "n", ""),
            ("SciPy, us", "scipy_us", ".0f"),
            ("a flow, before", "before", ".2f"),
            ("now, by push and relabel", "by_push_relabel", ".2f"),
            ("by SciPy's code", "by_scipy", ".2f"),
            ("as it is chosen", "flow", ".2f"),
            ("a cut, before", "cut_before", ".2f"),
            ("now", "cut", ".2f"),
        ],
    )
