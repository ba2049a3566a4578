"""The statements of [DN16 sec.4.3.1] and [DN16 sec.6] as figures and bounds.

A statement is a formula over `papers.datenagi2016.evidence.claim_numbers`, applied to our numbers
and to print's own, and a bound that all figures have to keep. `published/text_claims.csv` has the
sentences in our own words, by their ids.

Other experiments judge more sentences: the order of the CUDA codes and their lead over OMP-8
(`fig02`), the paths that get fewer (`table2`), the initial assignments (`initial`), the bottleneck
of the classical variant (`table3`), the memory (`memory`), the compression's scaling and the
falling efficiency (`table4`, `table5`). Not judged, because nothing here could show the opposite:
the price of graphics cards, the number of edges without slack (no kernel counts them apart), and
the problems that the algorithms may serve.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import pandas as pd

from papers.common.evidence.comparisons import EFFECT
from papers.datenagi2016.evidence.claim_numbers import (
    SHARES,
    Numbers,
    at,
    largest,
    least,
    share,
    slopes,
    where_n,
)
from papers.datenagi2016.evidence.tables import GPU

MUCH = 2.0
"""The least factor behind "much", "significant" and the like, where the words give no number."""

POOR = 0.75
"""The largest efficiency of two GPUs that scale poorly: half of what the second could add."""

QUADRATIC = 1.5
"""The least exponent of time that is nearer to n^2 than to n."""

DOMINANT = 50.0
"""The least share of a bottleneck, in per cent."""

SAME = 1.1
"""The largest factor by which more GPUs change what runs on one of them."""

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
    """

    claim: str
    figure: str
    of: Callable[[Numbers], Figures]
    at_least: float | None = None
    at_most: float | None = None


def _one_thread(x: Numbers) -> Figures:
    """Return one thread's time over the best other code's, up to n = 1000."""
    others = least(x["total", name] for name in ("OMP-8", *GPU))
    return {"": where_n(at(x["total", "OMP-1"] / others, "n"), lambda n: n <= 1000)}


def _later(x: Numbers) -> Figures:
    """Return one thread's time over the others', from n = 1500 on."""
    one = at(x["total", "OMP-1"], "n")
    return {
        name: where_n(one / at(x["total", name], "n"), lambda n: n >= 1500)
        for name in ("OMP-8", *GPU)
    }


def _over_eight(x: Numbers) -> Figures:
    """Return OMP-8's time over the slower CUDA code's, for Table 3's sizes."""
    ratio = x["total", "OMP-8"] / largest(x["total", name] for name in GPU)
    return {label: where_n(at(ratio, label), lambda n: n >= 5000) for label in ("0.1n", "n", "10n")}


def _grown_shares(x: Numbers) -> Figures:
    """Return a step's share at range 10n over that at range n, at the sizes of Table 3."""
    found = {}
    for name, step in SHARES:
        shares = where_n(share(x, name, step), lambda n: n >= 5000)
        found[f"{name} {step}"] = at(shares, "10n") / at(shares, "n")
    return found


def _paths(x: Numbers) -> pd.Series:
    """Return the paths that a round of augmentations applies after the initial assignments."""
    n = x["count", "initial_assignments"].index.get_level_values("n")
    left = n - x["count", "initial_assignments"]
    passes = x["count", "forward_passes"]
    return left / passes.where(passes > 0)


def _fewer(x: Numbers) -> Figures:
    paths = _paths(x)
    return {"": at(paths, "10n") / at(paths, "n")}


def _a_round(x: Numbers) -> Figures:
    """Return the assignments over the rounds of augmentations that made them."""
    rounds = x["count", "augmentations"]
    return {"": rounds.index.get_level_values("n") / rounds.where(rounds > 0)}


def _tree_ahead(x: Numbers) -> Figures:
    ratio = at(x["total", "CU-CLASS"] / x["total", "CU-TREE"], "10n")
    return {"": where_n(ratio, lambda n: n >= 15000)}


def _a_compression(x: Numbers) -> Figures:
    """Return the exponent of one compression's time, from n = 5000 on."""
    lists = x["count", "dual_updates"] + 1
    return {"": slopes(where_n(x["CU-CLASS", "matrix_compression"] / lists, lambda n: n >= 5000))}


def _updates(x: Numbers) -> Figures:
    ratio = x["CU-CLASS", "dual_update"] / x["CU-TREE", "dual_update"]
    return {"": where_n(at(ratio, "10n"), lambda n: n >= 5000)}


def _spared(x: Numbers) -> Figures:
    return {"": at(x["count", "forward_passes"] / (x["count", "dual_updates"] + 1), "n")}


def _efficiency(x: Numbers, name: str, phase: str, ranks: int) -> pd.Series:
    """Return the strong efficiency of a phase."""
    group = f"{name} on ranks"
    return x[group, f"{phase} 1"] / (ranks * x[group, f"{phase} {ranks}"])


def _with_size(x: Numbers) -> Figures:
    """Return the compression's efficiency at n = 20,000 over that at 10,000."""
    found = {}
    for ranks in (2, 4, 8, 16):
        mine = _efficiency(x, "CU-CLASS", "matrix_compression", ranks)
        large, small = (
            where_n(mine, keep).droplevel("n")
            for keep in (lambda n: n == 20000, lambda n: n == 10000)
        )
        found[f"{ranks} GPUs"] = large / small
    return found


def _sparse(x: Numbers) -> Figures:
    """Return the efficiency of the classical variant on two GPUs at a sparse range."""
    ratio = x["sparse", "CU-CLASS 1"] / (2 * x["sparse", "CU-CLASS 2"])
    return {label: at(ratio, label) for label in ("0.1n", "n")}


def _not_scalable(x: Numbers) -> Figures:
    return {f"{p} GPUs": _efficiency(x, "CU-TREE", "overall", p) for p in (2, 4, 8, 16)}


def _root_alone(x: Numbers) -> Figures:
    """Return the classical search's time on one GPU over that on several."""
    group = "CU-CLASS on ranks"
    return {f"{p} GPUs": x[group, "ap_search 1"] / x[group, f"ap_search {p}"] for p in (2, 4, 8)}


def _search_share(x: Numbers) -> Figures:
    group = "CU-TREE on ranks"
    return {
        f"{p} GPUs": 100 * x[group, f"ap_search {p}"] / x[group, f"overall {p}"]
        for p in (1, 2, 4, 8, 16)
    }


STATEMENTS = (
    Statement("DN-b", "seconds of CU-TREE at n = 20,000",
              lambda x: {"": where_n(x["total", "CU-TREE"], lambda n: n == 20000)}, at_most=13.0),
    Statement("DN-f", "one thread over the best other code, n to 1000", _one_thread, at_most=1.0),
    Statement("DN-g", "one thread over the others, n from 1500", _later, at_least=1.0),
    Statement("DN-h", "OMP-8 over the slower CUDA code, n from 5000", _over_eight, at_least=MUCH),
    Statement("DN-i", "share of a step, 10n over n", _grown_shares, at_least=EFFECT),
    Statement("DN-j", "paths a forward pass, 10n over n", _fewer, at_most=1 / EFFECT),
    Statement("DN-k", "assignments a round", _a_round, at_least=MUCH),
    Statement("DN-l", "classical over tree at 10n, n from 15,000", _tree_ahead, at_least=EFFECT),
    Statement("DN-m", "exponent of a compression's time", _a_compression, at_least=QUADRATIC),
    Statement("DN-n", "time of dual updates, classical over tree, 10n", _updates, at_least=MUCH),
    Statement("DN-o", "forward passes over compressions, range n", _spared, at_least=MUCH),
    Statement("DN-p", "classical over tree on doubles",
              lambda x: {"": x["doubles", "CU-CLASS"] / x["doubles", "CU-TREE"]}, at_least=EFFECT),
    Statement("DN-q", "a rank with MPI over one GPU's own, the tree",
              lambda x: {"": at(x["pair", "ranks"] / x["pair", "one"], "10n")}, at_least=MUCH),
    Statement("DN-r", "efficiency of compression, n = 20,000 over 10,000", _with_size,
              at_least=1.0),
    Statement("DN-s", "efficiency of the classical variant on two GPUs, sparse", _sparse,
              at_most=POOR),
    Statement("DN-t", "efficiency of the tree", _not_scalable, at_most=POOR),
    Statement("DN-u", "classical search on one GPU over several", _root_alone, at_most=SAME),
    Statement("DN-v", "share of the search in the tree's time", _search_share, at_least=DOMINANT),
)  # fmt: skip
"""The statements, by the order of their ids."""
