"""The statements of [L19 sec.4], [L19 sec.5] and [L19 app.B] as figures and bounds.

A statement is a formula over `papers.lopes2019.evidence.claim_numbers`, applied to our numbers and
to print's own, and a bound that all figures have to keep ("usually": most of them, by a sign test).
`published/text_claims.csv` has the sentences in our own words, by their ids.

Not judged, because nothing here could show the opposite: the zeros that a dual update makes and the
rounds of step 2 (no kernel counts them), the occupancy of the GPU, step 1 with a thread a line and
steps 2, 3, 5 on the CPU (not built), the time of a kernel's stop and restart, Table 4 beside
another paper's card.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd

from papers.common.evidence.comparisons import EFFECT
from papers.lopes2019.evidence.claim_numbers import (
    Numbers,
    at,
    from_n,
    in_turn,
    mean,
    of_ranges,
    only,
    slopes,
)
from papers.lopes2019.evidence.tables import LABELS, STEPS, range_over_n

MUCH = 2.0
"""The least factor behind "much", "significant" and the like, where the words give no number."""

SIMILAR = 2.0
"""The largest factor behind "similar"."""

IMPORTANT = 5.0
"""The least share of an important step, in per cent; a very low share lies below it."""

EVEN = 100 / 6
"""A step's share, in per cent, if all six took the same time: above it a share is large."""

DOMINANT = 50.0
"""The least share of steps that dominate, in per cent."""

MUCH_SLOWER = 0.5
"""The least difference of exponents behind "grows much slower": a factor of 4 from 512 to 8192."""

FEW = 32.0
"""The most paths at a time that leave a kernel mostly serial: they keep less than a warp busy."""

Figures = Mapping[str, pd.Series]
"""The figures of a statement: series by the name that tells them apart."""


class Statement(NamedTuple):
    """A sentence of the paper as a bound on figures.

    Attributes
    ----------
    claim : str
        Its id in `published/text_claims.csv`.
    figure : str
        The figure's name in comparisons.
    of : callable(Numbers) -> mapping of str to Series
        The figures, by seed; levels that a figure has not are missing.
    at_least, at_most : float or None
        The bound; one of them.
    share : float or None
        None: all figures keep the bound. Else the share of figures that do: 0.5 for "usually".
    """

    claim: str
    figure: str
    of: Callable[[Numbers], Figures]
    at_least: float | None = None
    at_most: float | None = None
    share: float | None = None


# ------------------------------------------------------------------------------- formulas


def _others(x: Numbers, figure: str) -> dict[str, pd.Series]:
    """Return the times of the three other CPU codes over O4's."""
    return {name: x[figure, name] / x[figure, "O4"] for name in ("O3", "SP", "A")}


def _ranges(series: pd.Series, holds: Callable[[float], bool]) -> pd.Series:
    return only(
        series, "cost_range", lambda index: np.array([holds(range_over_n(r)) for r in index])
    )


def _share(x: Numbers, *steps: str, code: str = "cuda") -> pd.Series:
    """Return the share of some steps in the time of all six, in per cent."""
    return 100 * x.total(code, steps) / x.total(code)


def _speedups(x: Numbers) -> dict[str, pd.Series]:
    return {step: x["c", step] / x["cuda", step] for step in STEPS}


def _at_n(x: Numbers) -> dict[str, pd.Series]:
    """Return Table 3: the steps' speedups at range n."""
    return {step: of_ranges(series, "n") for step, series in _speedups(x).items()}


def _grown(series: pd.Series, first: str, last: str) -> pd.Series:
    return at(series, last) / at(series, first)


def _spread(x: Numbers, step: str) -> pd.Series:
    """Return the largest over the least share of a step among the three ranges."""
    shares = [at(_share(x, step), label) for label in LABELS]
    return in_turn(shares, least=False) / in_turn(shares, least=True)


def _important_somewhere(x: Numbers) -> Figures:
    """Return the largest share that a step has anywhere, of the step where it is second least."""
    largest = {s: _share(x, s).groupby(level=["source", "seed"]).max() for s in STEPS}
    ranked = pd.concat(largest.values(), axis=1).dropna()
    return {"": pd.Series(np.sort(ranked.to_numpy(), axis=1)[:, 1], ranked.index)}


def _like_table_3(x: Numbers) -> Figures:
    """Return the factor between a speedup and that at range n, where the step runs at all.

    Without a dual update step 6 is its last kernel alone.
    """
    found = {}
    for (step, series), label in product(_speedups(x).items(), ("0.1n", "10n")):
        ratio = at(series, label) / at(series, "n")
        if step == "step_6":
            ratio = ratio[at(x["count", "iterations_step_6"], label).reindex(ratio.index) > 0]
        found[f"{step} at {label}"] = np.exp(np.log(ratio).abs())
    return found


def _paths(x: Numbers) -> Figures:
    """Return the paths that a search ends with; the last pass of step 3 begins none."""
    n = x["searched", "matches_initial"].index.get_level_values("n")
    left = n - x["searched", "matches_initial"]
    searches = x["searched", "iterations_step_3"] - 1
    return {"": left / searches.where(searches > 0)}


def _updates(x: Numbers) -> Figures:
    updates = x["count", "iterations_step_6"]
    return {
        f"{more} over {few}": at(updates, more) / at(updates, few).clip(lower=1)
        for few, more in (("0.1n", "n"), ("n", "10n"))
    }


def _updates_a_row(x: Numbers) -> Figures:
    updates = at(x["count", "iterations_step_6"], "0.1n")
    return {"0.1n": 100 * updates / updates.index.get_level_values("n")}


def _dominated(code_range: str, *steps: str) -> Callable[[Numbers], Figures]:
    return lambda x: {"": of_ranges(_share(x, *steps, code="c"), code_range)}


def _best_steps(x: Numbers) -> Figures:
    speedups = _at_n(x)
    best = in_turn((speedups[s] for s in ("step_1", "step_6")), least=True)
    rest = (speedups[s] for s in ("step_2", "step_3", "step_4", "step_5"))
    return {"": best / in_turn(rest, least=False)}


def _step_3_last(x: Numbers) -> Figures:
    speedups = _at_n(x)
    last = speedups.pop("step_3")
    return {"": in_turn(speedups.values(), least=True) / last}


def _less_dependent(x: Numbers) -> Figures:
    strong = in_turn((_spread(x, s) for s in ("step_1", "step_2", "step_6")), least=True)
    return {"": strong / in_turn((_spread(x, s) for s in ("step_3", "step_4", "step_5")), False)}


def _alternatives(x: Numbers) -> Figures:
    return {name: mean(x["step_4", name] / x["run", "cuda"]) for name in "ABC"}


def _way(x: Numbers, field: str) -> pd.Series:
    """Return the time before a field of the configuration is changed over that after it."""
    return x["before", field] / x["after", field]


def _speedup(x: Numbers) -> pd.Series:
    return x["run", "c"] / x["run", "cuda"]


# ------------------------------------------------------------------------------- statements

STATEMENTS = (
    Statement("LO-b", "O(n^3) over O(n^4) in CUDA",
              lambda x: {"": x["run", "o3"] / x["run", "cuda"]}, at_least=2.0),
    Statement("LO-c", "speedup from n = 512 on", lambda x: {"": from_n(_speedup(x), 512)},
              at_least=MUCH),
    Statement("LO-d", "CPU codes over O4, range n, from n = 1024 on",
              lambda x: {k: from_n(of_ranges(v, "n"), 1024)
                         for k, v in _others(x, "fig04").items()},
              at_least=EFFECT),
    Statement("LO-e", "growth of O4 over another CPU code from range n to 16384n",
              lambda x: {k: _grown(1 / v, "n", "16384n") for k, v in _others(x, "fig05").items()},
              at_least=MUCH),
    Statement("LO-f", "O4 over another CPU code, ranges from 64n on",
              lambda x: {k: _ranges(1 / v, lambda r: r >= 64)
                         for k, v in _others(x, "fig05").items()}, at_least=EFFECT),
    Statement("LO-g", "CPU codes over O4, ranges up to n",
              lambda x: {k: _ranges(v, lambda r: r <= 1)
                         for k, v in _others(x, "fig05").items()}, at_least=EFFECT),
    Statement("LO-h", "dual updates of a range over those of the next smaller", _updates,
              at_least=MUCH),
    Statement("LO-i", "dual updates at range 0.1n, per cent of n", _updates_a_row, at_most=1.0),
    Statement("LO-j", "initial zeros, 0.1n over 10n",
              lambda x: {"": _grown(x["count", "zeros_initial"], "10n", "0.1n")}, at_least=MUCH),
    Statement("LO-k", "share of steps 1 and 2, 0.1n over 10n",
              lambda x: {s: _grown(_share(x, s), "10n", "0.1n") for s in ("step_1", "step_2")},
              at_least=MUCH),
    Statement("LO-l", "share of step 6, 10n over 0.1n",
              lambda x: {"": _grown(_share(x, "step_6"), "0.1n", "10n")}, at_least=MUCH),
    Statement("LO-m", "exponent of C's time less that of CUDA's",
              lambda x: {"": slopes(_speedup(x))}, at_least=MUCH_SLOWER),
    Statement("LO-n", "speedup from n = 2048 on", lambda x: {"": from_n(_speedup(x), 2048)},
              at_least=MUCH),
    Statement("LO-o", "largest share of the second least important step",
              _important_somewhere, at_least=IMPORTANT),
    Statement("LO-p", "spread of step 1's, 2's and 6's shares over that of 3's, 4's and 5's",
              _less_dependent, at_least=EFFECT),
    Statement("LO-q", "share of step 1 in C's time at 0.1n", _dominated("0.1n", "step_1"),
              at_least=DOMINANT),
    Statement("LO-r", "share of steps 1 and 6 in C's time at n",
              _dominated("n", "step_1", "step_6"), at_least=DOMINANT),
    Statement("LO-s", "share of step 6 in C's time at 10n", _dominated("10n", "step_6"),
              at_least=DOMINANT),
    Statement("LO-t", "factor between a step's speedup and that at range n", _like_table_3,
              at_most=SIMILAR),
    Statement("LO-u", "lower speedup of steps 1 and 6 over the best of the others", _best_steps,
              at_least=EFFECT),
    Statement("LO-v", "speedup of step 4 from n = 2048 on",
              lambda x: {"": from_n(_at_n(x)["step_4"], 2048)}, at_least=EFFECT),
    Statement("LO-w", "steps 2, 3, 5 and sizes with a speedup below 1",
              lambda x: {s: _at_n(x)[s] for s in ("step_2", "step_3", "step_5")},
              at_most=1.0, share=0.5),
    Statement("LO-x", "least speedup of another step over step 3's", _step_3_last,
              at_least=EFFECT),
    Statement("LO-y", "share of step 3", lambda x: {"": _share(x, "step_3")}, at_most=EVEN),
    Statement("LO-z", "share of step 2", lambda x: {"": _share(x, "step_2")}, at_most=IMPORTANT),
    Statement("LO-aa", "time with stars counted one by one over that by block",
              lambda x: {"": _way(x, "count_by_star")}, at_most=EFFECT),
    Statement("LO-ab", "time with zeros counted on one word over that by bin",
              lambda x: {"": _way(x, "one_counter")}, at_most=EFFECT),
    Statement("LO-ac", "cells with a large share of step 4",
              lambda x: {"": _share(x, "step_4")}, at_least=EVEN, share=0.5),
    Statement("LO-ad", "time of steps 4 and 5 over that of step 6, 0.1n over 10n",
              lambda x: {"": _grown(x.total("cuda", ("step_4", "step_5")) / x["cuda", "step_6"],
                                    "10n", "0.1n")}, at_least=MUCH),
    Statement("LO-ae", "cells with few paths a search", _paths, at_most=FEW, share=0.5),
    Statement("LO-af", "cells of the ranges n and 10n without a large share of step 1",
              lambda x: {"": of_ranges(_share(x, "step_1"), "n", "10n")}, at_most=EVEN, share=0.5),
    Statement("LO-ag", "speedup at 0.1n over that at 10n, mean from n = 2048 on",
              lambda x: {"": mean(from_n(_grown(_speedup(x), "10n", "0.1n"), 2048))},
              at_least=EFFECT),
    Statement("LO-ah", "an alternative's time over that of the paper's step 4, mean",
              _alternatives, at_least=EFFECT),
    Statement("LO-ai", "launches of alternative C over those of B, mean from n = 1024 on",
              lambda x: {"": mean(from_n(x["launches", "C"] / x["launches", "B"], 1024))},
              at_least=EFFECT),
    Statement("LO-aj", "time with spared checks over that with ten a barrier, mean",
              lambda x: {"": mean(1 / _way(x, "spare_checks"))}, at_least=1.0),
    Statement("LO-ak", "distance of optimal costs with ten checks from those with spared ones",
              lambda x: {"": (x["costs", "before"] / x["costs", "after"] - 1).abs()}, at_most=0.0),
)  # fmt: skip
"""The statements, by the order of their ids."""
