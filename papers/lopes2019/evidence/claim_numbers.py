"""The numbers behind the statements of [L19]: measured ones and print's own, in one form.

`Numbers` holds series over source, n, cost range and seed, by the names of two words. Print is one
more source with one seed, so that a statement is a formula which is applied to both alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise

import numpy as np
import pandas as pd

from papers.common.evidence.tables import Published
from papers.common.gpu.device import EXECUTOR_NAME
from papers.lopes2019.configuration import CONFIGURATIONS
from papers.lopes2019.evidence.tables import CPU, PRINTED, STEPS, by_seed

LEVELS = ["source", "n", "cost_range", "seed"]
PRINT = "print"
"""The source of print's own numbers."""

LEAST_N = 512
"""The paper's smallest size, but for Figure 4."""

FIG_5_N = 2048


def _changing(field: str) -> tuple[str, str]:
    """Return the two configurations next to one another that differ in a field, and in no other."""
    for before, after in pairwise(CONFIGURATIONS):
        first, second = CONFIGURATIONS[before], CONFIGURATIONS[after]
        if getattr(first, field) != getattr(second, field):
            return before, after
    raise ValueError(f"no configuration changes {field!r}")


WAY = {field: _changing(field) for field in ("one_counter", "spare_checks", "count_by_star")}
"""The configurations before and after the change of a field that a sentence speaks of."""

COUNTERS = ("zeros_initial", "matches_initial", "iterations_step_3", "iterations_step_6")


class Numbers(dict[tuple[str, str], pd.Series]):
    """Series by group and name; one that nobody has is empty.

    ========== ============================== ==========================================
    group      names                          values
    ========== ============================== ==========================================
    fig04/05   O4, O3, SP, A                  times of the CPU codes of Figures 4 and 5
    run        cuda, c, o3                    times; cuda and c as printed
    cuda, c    step_1 ... step_6              times of the steps
    count      `COUNTERS`                     of the C code
    searched   `COUNTERS`                     of the kernels as printed
    step_4     A, B, C                        times with Appendix B's kernels
    launches   B, C                           launches of step 4 with these
    before     fields of `WAY`                times of the configuration before the change
    after      fields of `WAY`                times of the one after it
    costs      before, after                  optimal costs beside the change of ``spare_checks``
    ========== ============================== ==========================================
    """

    def __missing__(self, key: tuple[str, str]) -> pd.Series:
        return _series(pd.DataFrame(columns=[*LEVELS, "value"]))

    def total(self, group: str, names: Iterable[str] = STEPS) -> pd.Series:
        """Return the sum of some series of a group."""
        series = [self[group, name] for name in names]
        return sum(series[1:], series[0])


def _series(rows: pd.DataFrame) -> pd.Series:
    return rows.set_index(LEVELS)["value"].astype(float)


# ------------------------------------------------------------------------------- measured


def measured(summary: pd.DataFrame) -> Numbers:
    """Return the numbers of a summary, save what the CPU executor ran."""
    real = summary[(summary["device"] != EXECUTOR_NAME) & (summary["family"] == "uniform")]
    by_solver = dict(tuple(real.groupby("solver", sort=False)))
    found = Numbers()

    def read(group: str, name: str, solver: str, *args: str, least: int = LEAST_N) -> None:
        full = solver if ":" in solver else f"lopes2019:{solver}"
        rows = by_solver.get(full, real.iloc[:0])
        found[group, name] = _series(by_seed(rows[rows["n"] >= least], solver, *args))

    for solver, letters in CPU.items():
        read("fig04", letters, solver, least=0)
        found["fig05", letters] = only(found["fig04", letters], "n", lambda sizes: sizes == FIG_5_N)
    runs = {"cuda": ("gpu", PRINTED), "c": ("cpu_c", ""), "o3": ("datenagi2016:tree", "")}
    for name, (solver, options) in runs.items():
        read("run", name, solver, "time_ms", "run", options)
    for group in ("cuda", "c"):
        solver, options = runs[group]
        for step in STEPS:
            read(group, step, solver, f"{step}_ms", "steps", options)
    for counter in COUNTERS:
        read("count", counter, "cpu_c", counter, "answer")
        read("searched", counter, "gpu", counter, "answer", PRINTED)
    for name in "ABC":
        options = f"{PRINTED},step_4={name}"
        read("step_4", name, "gpu", "time_ms", "run", options)
        read("launches", name, "gpu", "iterations_step_4", "answer", options)
    for field, pair in WAY.items():
        for group, name in zip(("before", "after"), pair, strict=True):
            read(group, field, "gpu", "time_ms", "run", f"configuration={name}")
            if field == "spare_checks":
                read("costs", group, "gpu", "cost", "answer", f"configuration={name}")
    return found


# ------------------------------------------------------------------------------- print


def printed(published: Published) -> Numbers:
    """Return print's own numbers, under the same names as far as print has them.

    Figure 4 has times over O4's, which is 1 there. The C code's times of the steps follow from
    Figure 11 and Table 3.
    """
    found = Numbers()

    def read(group: str, name: str, rows: pd.DataFrame, value: str) -> None:
        rows = rows.rename(columns={value: "value"}).assign(source=PRINT, seed=0)
        found[group, name] = _series(rows[[*LEVELS, "value"]])

    fig04, fig05 = published("fig04"), _labelled(published("fig05"))
    for letters, rows in fig04.groupby("algorithm"):
        read("fig04", str(letters), rows, "time_over_o4_time")
    found["fig04", "O4"] = found["fig04", "O3"] * 0 + 1
    for letters, rows in fig05.groupby("algorithm"):
        read("fig05", str(letters), rows, "time_ms")
    for name, rows in published("table1").groupby("implementation"):
        read("run", str(name).lower(), rows, "time_ms")
    read("run", "o3", published("fig06"), "o3_time_over_o4_time")
    found["run", "o3"] *= found["run", "cuda"]
    shares = pd.concat([published(f"fig{number}") for number in (10, 11, 12)])
    for step, rows in shares.groupby("step"):
        read("cuda", str(step), rows, "time_share_pct")
    for step, rows in published("table3").assign(cost_range="n").groupby("step"):
        read("c", str(step), rows, "speedup_cuda_over_c")
        found["c", str(step)] *= found["cuda", str(step)]
    return found


def _labelled(fig05: pd.DataFrame) -> pd.DataFrame:
    """Return Figure 5 with the labels of its ranges."""

    def label(over_n: float) -> str:
        return "n" if over_n == 1 else f"{over_n:g}n" if over_n > 1 else f"n/{1 / over_n:g}"

    return fig05.assign(cost_range=fig05["cost_max_over_n"].map(label))


# ------------------------------------------------------------------------------- formulas


def at(series: pd.Series, cost_range: str) -> pd.Series:
    """Return the values of one cost range, without that level."""
    mine = series.index.get_level_values("cost_range") == cost_range
    return series[mine].droplevel("cost_range")


def only(series: pd.Series, level: str, keep: Callable[[pd.Index], np.ndarray]) -> pd.Series:
    """Return the values whose `level` is to be kept."""
    return series[np.asarray(keep(series.index.get_level_values(level)), bool)]


def from_n(series: pd.Series, n: int) -> pd.Series:
    """Return the values of sizes from `n` on."""
    return only(series, "n", lambda sizes: sizes >= n)


def of_ranges(series: pd.Series, *labels: str) -> pd.Series:
    """Return the values of some cost ranges."""
    return only(series, "cost_range", lambda index: index.isin(labels))


def mean(series: pd.Series) -> pd.Series:
    """Return the geometric mean of each source and seed."""
    known = series[(series > 0) & np.isfinite(series)]
    return np.exp(np.log(known).groupby(level=["source", "seed"]).mean())


def slopes(series: pd.Series) -> pd.Series:
    """Return the exponent of n, for each source, range and seed; a seed of one size has none."""
    logs = np.log(series.dropna()).rename("y").reset_index()
    logs["x"] = np.log(logs["n"].astype(float))
    levels = ["source", "cost_range", "seed"]
    for name in ("x", "y"):
        logs[name] -= logs.groupby(levels)[name].transform("mean")
    logs["xy"], logs["xx"] = logs["x"] * logs["y"], logs["x"] ** 2
    sums = logs.groupby(levels)[["xy", "xx"]].sum()
    return (sums["xy"] / sums["xx"]).where(sums["xx"] > 0)


def in_turn(series: Iterable[pd.Series], least: bool) -> pd.Series:
    """Return the least (or the largest) of several series, cell by cell, where all are known."""
    wide = pd.concat(list(series), axis=1).dropna()
    return wide.min(axis=1) if least else wide.max(axis=1)
