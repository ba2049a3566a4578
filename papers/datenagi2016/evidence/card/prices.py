"""The prices of two machines, by fits to the times of both: each order by those of all others.

Print's times are those of Tables 1 and 3, ours those of the codes as printed in a record: their
steps, and from host to host where that was recorded. A figure of order n is priced by the times of
all orders but n, on both sides, so that no figure is among those that make its prices.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from papers.common.evidence.cards import fitted
from papers.common.evidence.tables import Published
from papers.common.evidence.tables import by_seed as of_solver
from papers.datenagi2016.evidence.card import work as w
from papers.datenagi2016.evidence.tables import AUTHORS, PEERS, STEPS, by_seed

FIGURES: tuple[str, str] = ("print_model", "expected")
"""The columns of figures by the prices of print's machine, and of the record's."""

SECONDS: tuple[str, str] = ("print_model_s", "expected_s")
NEXT: tuple[str, str] = ("print_model_next", "expected_next")
"""The same of the codes' times, and of the compression's over the longer of the other steps."""

BAND = 1.5
"""The model may miss by this factor, up or down."""

FEWEST = 3
"""The least number of orders behind a price."""

MACHINES: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("CU-CLASS", "CU-TREE"), w.GPU_PRICES),
    (("OMP-1",), w.CPU_PRICES),
    (("OMP-8",), w.CPU_PRICES),
)
"""The codes that share their prices, and the names of these: one thread is not eight."""


def printed_times(published: Published) -> pd.DataFrame:
    """Load the times of Tables 1 and 3: `work.KEYS` and ``seconds``.

    A step of 0.00 s says nothing and is left out. The rest is the total less the named steps.
    """
    first = published("table1").assign(step=w.TOTAL)
    rows = pd.concat([first, published("table3")], ignore_index=True)
    rows = rows.rename(columns={"solver": "code", "time_s": "seconds"})[[*w.KEYS, "seconds"]]
    rows = rows[rows["seconds"] > 0]
    named = [step in (*w.NAMED[code], w.TOTAL) for code, step in zip(rows["code"], rows["step"],
                                                                    strict=True)]  # fmt: skip
    return rows[named].reset_index(drop=True)


def recorded_times(summary: pd.DataFrame) -> pd.DataFrame:
    """Return the recorded times: ``source``, `work.KEYS` and ``seconds``, medians over the seeds.

    ``run`` is the sum of the steps, ``total`` the time from host to host, on a CPU the run.
    """
    parts = []
    for code in w.CODES:
        whole = by_seed(summary, code, scope="end_to_end" if code.startswith("CU") else "run")
        parts.append(whole.assign(step=w.TOTAL, code=code))
        keys = ["source", "n", "cost_range", "seed"]
        steps = {
            name: by_seed(summary, code, f"{name}_ms", "steps").set_index(keys)["value"]
            for name in STEPS.get(code, ())
        }
        if not steps:
            continue
        table = pd.DataFrame(steps)
        sums = {name: table[name] for name in w.NAMED[code]}
        sums[w.REST] = table.drop(columns=list(w.NAMED[code])).sum(axis=1)
        sums[w.RUN] = table.sum(axis=1)
        for name, values in sums.items():
            parts.append(values.rename("value").reset_index().assign(step=name, code=code))
    parts.append(_arrivals(summary).assign(step=w.ARRIVAL, code="CU-TREE"))
    rows = pd.concat(parts, ignore_index=True)
    times = rows.groupby(["source", *w.KEYS], sort=False)["value"].median() / 1e3
    return times[times > 0].rename("seconds").reset_index()


WHOLE = "configuration=one_word"
"""The tree variant whose costs arrive in one copy, as print's do."""


def _arrivals(summary: pd.DataFrame, options: str = WHOLE) -> pd.DataFrame:
    """Return what the way from host to host adds to a run, in ms, a row a seed."""
    keys = ["source", "n", "cost_range", "seed"]
    both = [
        of_solver(summary, "datenagi2016:tree", scope=scope, options=options)
        for scope in ("end_to_end", "run")
    ]
    rows = both[0].merge(both[1][[*keys, "value"]], on=keys, suffixes=("", "_run"))
    return rows.assign(value=rows["value"] - rows["value_run"])[[*keys, "value"]]


def fit(times: pd.DataFrame, names: tuple[str, ...]) -> dict[str, float] | None:
    """Return the prices in seconds that come nearest to times; None for too few orders.

    Parameters
    ----------
    times : DataFrame
        ``code step seconds`` and the counts of `work.counts`.
    names : tuple of str
        The prices; those that no row asks for are 0.
    """
    return _fit(times["n"].to_numpy(), w.amounts(times, names), times["seconds"].to_numpy(float),
                names)  # fmt: skip


def _fit(
    n: np.ndarray, amounts: np.ndarray, seconds: np.ndarray, names: tuple[str, ...]
) -> dict[str, float] | None:
    """Return `fit` of rows of which the amounts are known."""
    if len(np.unique(n)) < FEWEST:
        return None
    asked, some = amounts.any(axis=0), amounts.any(axis=1)
    found = fitted(amounts[some][:, asked], seconds[some])
    prices = dict.fromkeys(names, 0.0)
    return prices | dict(zip(np.array(names)[asked].tolist(), found.tolist(), strict=True))


def priced(times: pd.DataFrame, wanted: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return `wanted` with the times in seconds that the prices of all other orders give it.

    Parameters
    ----------
    times : DataFrame
        The times that are fitted, with counts.
    wanted : DataFrame
        ``n code step`` and counts.
    column : str
        The name of the new column; NaN where there are too few orders.
    """
    found = wanted.assign(**{column: np.nan})
    for codes, names in MACHINES:
        mine = times[times["code"].isin(codes) & (times["step"] != w.RUN)]
        orders, seconds = mine["n"].to_numpy(), mine["seconds"].to_numpy(float)
        amounts = w.amounts(mine, names)
        asked = wanted[wanted["code"].isin(codes)]
        all_asked = w.amounts(asked, names)
        for n, places in asked.groupby("n").indices.items():
            others = orders != n
            prices = _fit(orders[others], amounts[others], seconds[others], names)
            if prices is not None:
                vector = np.array([prices[name] for name in names])
                found.loc[asked.index[places], column] = all_asked[places] @ vector
    return found


# ------------------------------------------------------------------------------- measured again

SMALL = 1024
"""Up to this n a run of the classical variant reads so little that its waits are all of it."""

CROSSINGS, HOST_BAND = 3, 2.0
"""Costs that arrive in chunks cross the host's memory so often: read, written, read by the link.

Eight threads that search cross it once an entry; the two may lie apart by `HOST_BAND`."""

ARRIVED_N = 10_000
"""From this n on the chunks are the time of the arrival."""


def by_authors(counts: pd.DataFrame, published: Published, device: str) -> dict[str, float] | None:
    """Return the prices of a GPU in seconds by the authors' programs on the same card model.

    Parameters
    ----------
    counts : DataFrame
        Of one source; those of the codes as printed stand for the authors'.
    published : callable
    device : str
    """
    parts = []
    for code, peer in PEERS.items():
        rows = pd.concat([published(name) for name in AUTHORS], ignore_index=True)
        rows = rows[(rows["device"] == device) & (rows["peer"] == peer)]
        times = rows.groupby(["n", "cost_range"])["solve_ms"].median() / 1e3
        parts.append(times.rename("seconds").reset_index().assign(code=code, step=w.RUN))
    both = pd.concat(parts, ignore_index=True).merge(counts, on=["n", "cost_range", "code"])
    return fit(both, w.GPU_PRICES) if len(both) else None


def small_wait(summary: pd.DataFrame, counts: pd.DataFrame) -> float:
    """Return a wait in seconds by small runs of the classical variant, by the clock of the run."""
    rows = by_seed(summary, "CU-CLASS")
    rows = rows[rows["n"] <= SMALL].groupby(["n", "cost_range"])["value"].median().reset_index()
    rows = rows.assign(code="CU-CLASS", step=w.RUN).merge(counts, on=["n", "cost_range", "code"])
    waits = w.amounts(rows, w.GPU_PRICES)[:, 0] if len(rows) else np.zeros(0)
    return float(np.median(rows["value"] / 1e3 / waits)) if len(rows) else np.nan


def host_entry(summary: pd.DataFrame) -> float:
    """Return an entry that crosses the host's memory once, in seconds, by costs in chunks."""
    rows = _arrivals(summary, "")
    rows = rows[rows["n"] >= ARRIVED_N]
    return float((rows["value"] / rows["n"] ** 2).median()) / 1e3 / CROSSINGS


def whole_copy(summary: pd.DataFrame) -> float:
    """Return an entry of costs that arrive in one copy, in seconds."""
    rows = _arrivals(summary)
    return float((rows["value"] / rows["n"] ** 2).median()) / 1e3


def counted(summary: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame, pd.DataFrame]]:
    """Yield source, its recorded times, and its counts; both without ``source``."""
    times, counts = recorded_times(summary), w.counts(summary)
    for source, mine in counts.groupby("source", sort=False):
        own = times[times["source"] == source].drop(columns="source")
        yield str(source), own, mine.drop(columns="source")
