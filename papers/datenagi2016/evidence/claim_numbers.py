"""The numbers behind the statements of [DN16]: measured ones and print's own, in one form.

`Numbers` holds series over source, n, cost range and seed, by names of two words. Print is one more
source with one seed, so that a statement is a formula which is applied to both alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd

from papers.common.evidence.tables import Published
from papers.common.gpu.device import EXECUTOR_NAME
from papers.datenagi2016.evidence.scaling_tables import STRIPS
from papers.datenagi2016.evidence.scaling_tables import runs as runs_on_ranks
from papers.datenagi2016.evidence.tables import GPU, SHOWN, SOLVERS, STEPS, by_seed

LEVELS = ["source", "n", "cost_range", "seed"]
PRINT = "print"
"""The source of print's own numbers."""

COUNTERS = ("initial_assignments", "dual_updates", "forward_passes", "augmentations")
PHASES = ("matrix_compression", "ap_search", "overall")
RANKS = (1, 2, 4, 8, 16)
LEAST_N = 500
"""The paper's smallest size."""


class Numbers(dict[tuple[str, str], pd.Series]):
    """Series by group and name; one that nobody has is empty.

    =============== ============================ ===============================================
    group           names                        values, times in seconds
    =============== ============================ ===============================================
    total           OMP-1, OMP-8, CU-CLASS,      host to host, of a CPU code its run, of large
                    CU-TREE                      orders the sum of the steps
    CU-CLASS, ...   the steps, and ``all``       times of the steps, and their sum
    count           `COUNTERS`                   of CU-TREE
    doubles         CU-CLASS, CU-TREE            runs on doubles, tuned
    CU-... on ranks "<phase> <ranks>"            `PHASES` on several GPUs
    sparse          "CU-... <ranks>"             runs at all three ranges on several GPUs
    pair            one, ranks                   runs of the tree: a GPU's own, and a rank with MPI
    =============== ============================ ===============================================
    """

    def __missing__(self, key: tuple[str, str]) -> pd.Series:
        return series_of(pd.DataFrame(columns=[*LEVELS, "value"]))


def series_of(rows: pd.DataFrame) -> pd.Series:
    """Return the values over `LEVELS`."""
    return rows.set_index(LEVELS)["value"].astype(float)


# ------------------------------------------------------------------------------- measured


def measured(summary: pd.DataFrame) -> Numbers:
    """Return the numbers of a summary, save what the CPU executor ran."""
    real = summary[summary["device"] != EXECUTOR_NAME]
    large = real[real["n"] >= LEAST_N]
    found = Numbers()
    for name in ("OMP-1", "OMP-8", *GPU):
        scope = "end_to_end" if name in GPU else "run"
        found["total", name] = series_of(by_seed(large, name, scope=scope)) / 1e3
        for step in STEPS.get(name, ()):
            found[name, step] = series_of(by_seed(large, name, f"{step}_ms", "steps")) / 1e3
        if name in STEPS:
            found[name, "all"] = sum(found[name, step] for step in STEPS[name])
    for name in ("OMP-8", *GPU):
        _of_steps_alone(found, name)
    for counter in COUNTERS:
        found["count", counter] = series_of(by_seed(large, "CU-TREE", counter, "answer"))
    doubles = real[(real["family"] == "uniform_double") & (real["options"] == "")]
    for name in GPU:
        rows = doubles[(doubles["solver"] == f"datenagi2016:{SOLVERS[name][0]}")]
        found["doubles", name] = _run(rows, "2")
    _on_ranks(found, real)
    return found


def _of_steps_alone(found: Numbers, name: str) -> None:
    """Take the sum of the steps as a code's total at large orders, measured by step alone."""
    sums, runs = found[name, "all"], found["total", name]
    found["total", name] = pd.concat([runs, sums[~sums.index.isin(runs.index)]])


def _run(rows: pd.DataFrame, *labels: str) -> pd.Series:
    rows = rows[(rows["scope"] == "run") & (rows["metric"] == "time_ms")]
    rows = rows[rows["label"].isin(labels)].rename(columns={"label": "cost_range"})
    return series_of(rows.assign(value=rows["median"] / 1e3)[[*LEVELS, "value"]])


def _on_ranks(found: Numbers, real: pd.DataFrame) -> None:
    """Add the runs on several GPUs, and those of one rank beside one GPU's own solver."""
    table = runs_on_ranks(real).assign(cost_range="10n")
    for (name, gpus), rows in table.groupby(["solver", "gpus"], sort=False):
        for phase in PHASES:
            known = rows.rename(columns={phase: "value"}).dropna(subset=["value"])
            found[f"{name} on ranks", f"{phase} {gpus}"] = series_of(known[[*LEVELS, "value"]])
    strips = real[(real["storage"] == STRIPS) & (real["family"] == "uniform")]
    for name, solver in (("CU-CLASS", "mpi_classical"), ("CU-TREE", "mpi_tree")):
        mine = strips[strips["solver"] == f"datenagi2016:{solver}"]
        for ranks in RANKS:
            rows = mine[mine["options"] == f"ranks={ranks}"]
            found["sparse", f"{name} {ranks}"] = _run(rows, "0.1n", "n", "10n")
    alone = real[(real["solver"] == "datenagi2016:tree") & (real["options"] == "")]
    found["pair", "one"] = _run(alone[alone["storage"] == "host"], "10n")
    with_mpi = strips[strips["options"] == "ranks=1,exchange=gather"]
    found["pair", "ranks"] = _run(with_mpi[with_mpi["solver"] == "datenagi2016:mpi_tree"], "10n")


# ------------------------------------------------------------------------------- print


def printed(published: Published) -> Numbers:
    """Return print's own numbers, under the same names as far as print has them."""
    found = Numbers()

    def read(group: str, name: str, rows: pd.DataFrame, value: str = "time_s") -> None:
        rows = rows.rename(columns={value: "value"}).dropna(subset=["value"])
        kept = rows.assign(source=PRINT, seed=0)[[*LEVELS, "value"]]
        found[group, name] = series_of(kept.drop_duplicates(LEVELS))

    first = published("table1").assign(cost_range="n", step="total")
    third = published("table3")
    both = pd.concat([third, first[~first["n"].isin(third["n"])]])
    for (name, step), rows in both.groupby(["solver", "step"]):
        group = ("total", str(name)) if step == "total" else (str(name), str(step))
        read(*group, rows)
    for name in GPU:
        found[name, "all"] = found["total", name]
    initial = third.drop_duplicates(["n", "cost_range"])
    read("count", "initial_assignments", initial, "initial_assignments_mean")
    fifth = published("table5").assign(cost_range="10n")
    fifth = fifth.assign(step=fifth["step"].replace("augmenting_path_search", "ap_search"))
    for (name, step, gpus), rows in fifth.groupby(["solver", "step", "gpus"]):
        read(f"{name} on ranks", f"{step} {gpus}", rows)
    found["pair", "one"] = found["total", "CU-TREE"]
    fourth = published("table4").assign(cost_range="10n")
    chosen = (fourth["gpus"] == 1) & (fourth["solver"] == "CU-TREE") & (fourth["step"] == "overall")
    read("pair", "ranks", fourth[chosen])
    return found


# ------------------------------------------------------------------------------- formulas


def at(series: pd.Series, cost_range: str) -> pd.Series:
    """Return the values of one cost range, without that level."""
    mine = series.index.get_level_values("cost_range") == cost_range
    return series[mine].droplevel("cost_range")


def where_n(series: pd.Series, keep: Callable[[np.ndarray], np.ndarray]) -> pd.Series:
    """Return the values of the sizes that `keep` says yes to."""
    return series[np.asarray(keep(series.index.get_level_values("n").to_numpy()), bool)]


def least(series: Iterable[pd.Series]) -> pd.Series:
    """Return the least of several series, cell by cell, where all are known."""
    return pd.concat(list(series), axis=1).dropna().min(axis=1)


def largest(series: Iterable[pd.Series]) -> pd.Series:
    """Return the largest of several series, cell by cell, where all are known."""
    return pd.concat(list(series), axis=1).dropna().max(axis=1)


def slopes(series: pd.Series) -> pd.Series:
    """Return the exponent of n of each source, range and seed; a seed of one size has none."""
    levels = ["source", "cost_range", "seed"]
    logs = np.log(series[series > 0]).rename("y").reset_index()
    logs["x"] = np.log(logs["n"].astype(float))
    for name in ("x", "y"):
        logs[name] -= logs.groupby(levels)[name].transform("mean")
    sums = logs.assign(xy=logs["x"] * logs["y"], xx=logs["x"] ** 2).groupby(levels)[["xy", "xx"]]
    total = sums.sum()
    return (total["xy"] / total["xx"]).where(total["xx"] > 0)


def share(x: Numbers, name: str, step: str) -> pd.Series:
    """Return the share of a step in a code's time, in per cent."""
    return 100 * x[name, step] / x[name, "all"]


SHARES = tuple((name, step) for name in GPU for step in SHOWN if step in STEPS[name])
"""The steps whose shares Figure 3 prints, by code."""
