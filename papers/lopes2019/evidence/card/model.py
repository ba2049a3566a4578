"""The work of each step as printed, and three prices of a card: a wait, a byte and a search.

A step of the kernels as printed takes

    waits x wait + bytes / bandwidth + launches of step 4 x search.

A *wait* is a kernel for which the host waits, or a copy of flags that it waits for. *Bytes* are
those of the slacks: the kernels' passes over the matrix. A *search* is the device's own time of a
launch of step 4, beyond that of an empty kernel. The counts are those of our kernels on our
instances. They stand for print's: on the authors' own matrices our kernels wait about as often,
which `experiment` judges; how often print's program searched, nobody has written down.

The prices of a card come from nothing that they are to explain:

- print's, by a fit to print alone: the times of the steps that Figures 10 to 12 show;
- wait and bandwidth of this card, by a fit to the whole times of the authors' CUDA C++ on the same
  card model (``authors_code_h200``, flags copied);
- the search of this card, for each range, by the device's clock in the record (`kernels`).
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from papers.common.evidence.cards import fitted
from papers.common.evidence.tables import KEY, Published, joined
from papers.lopes2019.evidence.tables import PRINTED, STEPS, by_seed, medians, printed_times

BAND = 1.5
"""The model may miss by this factor, up or down."""

ENTRY = 4
"""Bytes of a slack: 32 bits for whole numbers."""

SEARCHES, LAUNCHES, ENDS, UPDATES = (f"iterations_step_{step}" for step in (3, 4, 5, 6))
"""Searches begun, launches of step 4, searches that ended on a path, dual updates."""

WORK = ["waits", "megabytes", "searches"]
"""The columns of a step's work; with prices in ms, ms per MB and ms their sum is a time in ms."""

FIGURES = {"0.1n": "fig10", "n": "fig11", "10n": "fig12"}
STEP = [*KEY, "step"]


def counts(summary: pd.DataFrame) -> pd.DataFrame:
    """Return the kernels' counters as printed, medians over the seeds: `KEY`, ``device``, four."""
    found: pd.DataFrame | None = None
    for name in (SEARCHES, LAUNCHES, ENDS, UPDATES):
        part = medians(summary, "gpu", name, "answer", PRINTED).rename(columns={"value": name})
        found = part if found is None else found.merge(part, on=[*KEY, "device"])
    assert found is not None, "there are four counters"
    return found


def work(counted: pd.DataFrame) -> pd.DataFrame:
    """Return the work of each step: `STEP`, ``device`` and `WORK`.

    Step 1 has five kernels, which pass over six matrices (24 n^2 bytes of 32-bit entries). Step 2
    is launched twice, as it is repeated once where a block gave a row back; its flags are cleared
    and read around each launch. Step 3 is two kernels and a copy. Step 4 is a kernel for each
    search, then a launch with its flags cleared and read. Step 5 is two kernels. A dual update has
    four kernels and passes over four matrices; step 6 has the first compression, too.
    """
    matrix = 1e-6 * ENTRY * counted["n"].astype(float) ** 2
    none, updates, launches = 0.0 * matrix, counted[UPDATES], counted[LAUNCHES]
    of_steps = (
        (5 + none, 6 * matrix, none),
        (6 + none, none, none),
        (3 * counted[SEARCHES], none, none),
        (counted[ENDS] + 3 * launches, none, launches),
        (2 * counted[ENDS], none, none),
        (1 + 4 * updates, matrix + 4 * updates * matrix, none),
    )
    parts = [
        counted[[*KEY, "device"]].assign(step=step, **dict(zip(WORK, amounts, strict=True)))
        for step, amounts in zip(STEPS, of_steps, strict=True)
    ]
    return pd.concat(parts, ignore_index=True)


# ------------------------------------------------------------------------------- the prices


def printed_steps(published: Published) -> pd.DataFrame:
    """Load the times of the steps that follow from Figures 10 to 12 and Table 1."""
    parts = [published(name).assign(cost_range=label) for label, name in FIGURES.items()]
    rows = pd.concat(parts, ignore_index=True).rename(columns={"derived_time_ms": "published_ms"})
    return rows[["n", "cost_range", "step", "published_ms", "time_share_pct"]]


def print_prices(of_source: pd.DataFrame, published: Published) -> np.ndarray | None:
    """Return print's wait, byte and search in ms, fitted to print's steps; None without work."""
    rows = of_source.merge(printed_steps(published), on=["n", "cost_range", "step"])
    rows = rows[rows["published_ms"] > 0]
    if rows[["n", "cost_range"]].drop_duplicates().shape[0] < 2:
        return None
    return fitted(rows[WORK].to_numpy(float), rows["published_ms"].to_numpy(float))


def authors_times(published: Published, device: str) -> pd.DataFrame:
    """Load the times of the authors' program, flags copied, on a card: ``n cost_range ms``."""
    rows = published("authors_code_h200")
    rows = rows[(rows["device"] == device) & (rows["flags"] == "copied")]
    return rows.groupby(["n", "cost_range"])["solve_ms"].median().rename("ms").reset_index()


def of_totals(of_source: pd.DataFrame, times: pd.DataFrame) -> np.ndarray | None:
    """Return a card's wait and byte in ms, fitted to whole times: ``n cost_range ms``."""
    totals = of_source.groupby(["n", "cost_range"])[WORK[:2]].sum().reset_index()
    totals = totals.merge(times, on=["n", "cost_range"])
    if len(totals) < 2:
        return None
    return fitted(totals[WORK[:2]].to_numpy(float), totals["ms"].to_numpy(float))


def searches(summary: pd.DataFrame) -> pd.DataFrame:
    """Return the device's time of a launch of step 4 beyond an empty kernel's, at the largest n.

    Step 3, a word a thread, is the empty kernel. Returns ``source cost_range search_ms``.
    """
    names = ("step_4_ms", "step_4_launches", "step_3_ms", "step_3_launches")
    rows = joined({name: by_seed(summary, "gpu", name, "kernels", PRINTED) for name in names})
    each = rows["step_4_ms"] / rows["step_4_launches"] - rows["step_3_ms"] / rows["step_3_launches"]
    rows = rows.assign(search_ms=each).dropna(subset=["search_ms"])
    rows = rows[rows["n"] == rows["n"].max()]
    return rows.groupby(["source", "cost_range"])["search_ms"].median().reset_index()


PRICES = ["print_wait_us", "print_gb_s", "print_search_us", "wait_us", "gb_s", "search_us"]


def step_times(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return the times that both cards ask for each step, of every source that has all prices.

    Returns
    -------
    DataFrame
        `STEP`, ``device``, `WORK`, ``print_model_ms`` and ``expected_ms`` (print's card and that of
        the source), `PRICES`.
    """
    columns = [*STEP, "device", *WORK, "print_model_ms", "expected_ms", *PRICES]
    whole = work(counts(summary)).merge(searches(summary), on=["source", "cost_range"])
    parts = []
    for (_, device), rows in whole.groupby(["source", "device"], sort=False):
        theirs = print_prices(rows, published)
        ours = of_totals(rows, authors_times(published, str(device)))
        if theirs is not None and ours is not None:
            parts.append(_priced(rows, theirs, ours))
    parts.append(_priced(whole.iloc[:0], np.ones(3), np.ones(2)))  # the columns, with their types
    return pd.concat([part for part in parts if len(part)] or parts, ignore_index=True)[columns]


def _priced(rows: pd.DataFrame, theirs: np.ndarray, ours: np.ndarray) -> pd.DataFrame:
    """Return the work of one source with the times by both cards' prices, and the prices."""
    amounts = rows[WORK].to_numpy(float)
    expected = amounts[:, :2] @ ours + amounts[:, 2] * rows["search_ms"].to_numpy(float)
    return rows.assign(
        print_model_ms=amounts @ theirs, expected_ms=expected,
        print_wait_us=1e3 * theirs[0], print_gb_s=1 / theirs[1], print_search_us=1e3 * theirs[2],
        wait_us=1e3 * ours[0], gb_s=1 / ours[1], search_us=1e3 * rows["search_ms"],
    )  # fmt: skip


# ------------------------------------------------------------------------------- the C side

IN_CACHE = 1024
"""Up to this n all slacks stay in the caches of print's CPU: 4 MB of its 8 MB."""


def printed_c_steps(published: Published) -> pd.DataFrame:
    """Load print's C times of the steps, costs 0 to n: Table 3's speedups of Figure 11's times."""
    speedups = published("table3")[["n", "step", "speedup_cuda_over_c"]]
    cuda = published("fig11")[["n", "step", "derived_time_ms"]]
    rows = speedups.merge(cuda, on=["n", "step"])
    ms = rows["speedup_cuda_over_c"] * rows["derived_time_ms"]
    return rows.assign(print_c_ms=ms)[["n", "step", "print_c_ms"]]


def step_1_price(published: Published) -> float:
    """Return print's C time of step 1 an entry, in ms, while its CPU's caches hold the slacks."""
    rows = printed_c_steps(published)
    rows = rows[(rows["step"] == "step_1") & (rows["n"] <= IN_CACHE)]
    return float(np.exp(np.log(rows["print_c_ms"] / rows["n"] ** 2).mean()))


def update_prices(summary: pd.DataFrame, counted: pd.DataFrame) -> pd.Series:
    """Return our C code's time of a dual update over that of its step 1, by source.

    Of the sizes that every cache holds: a ratio within one code, which no CPU's speed changes.
    """
    names = ("step_1_ms", "step_6_ms")
    rows = joined({name: by_seed(summary, "cpu_c", name, "steps") for name in names})
    rows = rows[(rows["n"] <= IN_CACHE) & (rows["cost_range"] == "n")]
    rows = rows.merge(counted[[*KEY, UPDATES]], on=KEY)
    ratio = np.log(rows["step_6_ms"] / rows[UPDATES] / rows["step_1_ms"])
    return np.exp(ratio.groupby(rows["source"]).mean()).rename("update_price")


def c_times(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return the C times of a CPU on which an entry costs as much outside the caches as inside.

    Steps 1 and 6 at print's price of step 1 in the caches, a dual update as much dearer as it is
    in our code; the other steps as in print, costs 0 to n.

    Returns
    -------
    DataFrame
        `STEP`, ``print_c_ms`` (costs 0 to n) and ``expected_c_ms``.
    """
    counted = counts(summary)
    of_source = update_prices(summary, counted).reset_index()
    rows = counted.merge(of_source, on="source").merge(printed_c_steps(published), on="n")
    pass_ms = step_1_price(published) * rows["n"] ** 2
    expected = rows["print_c_ms"].where(rows["step"] != "step_1", pass_ms)
    update_ms = pass_ms * rows["update_price"] * rows[UPDATES]
    rows = rows.assign(expected_c_ms=expected.where(rows["step"] != "step_6", update_ms))
    return rows[[*STEP, "print_c_ms", "expected_c_ms"]]


def printed_totals(published: Published) -> pd.DataFrame:
    """Load Table 1's C times: ``n cost_range print_c_ms``."""
    rows = printed_times(published).rename(columns={"published_c_ms": "print_c_ms"})
    return rows[["n", "cost_range", "print_c_ms"]]
