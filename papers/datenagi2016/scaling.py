"""Tables 4 and 5, Figures 4 and 5 of [DN16 sec.6.3] as tables, and three experiments of our own.

[DN16 Table 4] [DN16 Table 5] [DN16 Fig.4] [DN16 Fig.5]. Efficiencies by the paper's formulas: weak
``t_1 / t_p``, strong ``t_1 / (p t_p)``. Our own: `exchanges` (three ways to exchange a level's
frontier), `model` (`scaling_model` beside the measurement it has not seen) and `too_large_for_one`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import pandas as pd

from papers.common import tables as common_tables
from papers.common.device import EXECUTOR_NAME
from papers.common.model import Cell, Instance, Plan, Scope
from papers.common.tables import Published
from papers.datenagi2016 import scaling_model
from papers.datenagi2016.theory import theory

SOLVERS = {"CU-CLASS": "mpi_classical", "CU-TREE": "mpi_tree"}
BESIDE = {"CU-CLASS on one": "classical", "CU-TREE on one": "tree"}
"""One GPU's own solvers: what a rank by itself pays for being one. Never a base of efficiencies."""

RANKS = (1, 2, 4)
FAMILY = "uniform_parts"
ON_GPUS = {
    "smoke": (64, 91, 128), "quick": (1000, 1414, 2000), "paper": (10_000, 14_142, 20_000),
}  # fmt: skip
"""Of preset paper: 100 million entries a GPU in the weak chain [DN16 sec.6.3]."""

IN_EXECUTOR = {"smoke": (8, 11, 16), "quick": (16, 23, 32), "paper": (16, 23, 32)}
"""Orders of the weak chain on 1, 2 and 4 ranks; the strong one has them all on each."""

BEYOND = (8, 16, 32)
"""GPUs that are predicted; the paper has 8 and 16."""

TOO_LARGE = 200_000
"""Its int32 costs are 160 GB: no H100 or H200 holds them."""

PHASES = {
    "matrix_compression": ("matrix_compression",),
    "ap_search": ("forward_pass", "reverse_pass", "augmentation"),
}
"""The columns of Tables 4 and 5 by our steps."""

MODELLED = {
    **PHASES, "initial_reduction": ("initial_reduction",), "edge_gather": ("edge_gather",),
    "optimality_check": ("optimality_check",), "dual_update": ("dual_update",),
}  # fmt: skip

PRINTED = {"augmenting_path_search": "ap_search"}

# ------------------------------------------------------------------------------- what to measure


def chain(plan: Plan) -> tuple[int, ...]:
    """Orders on 1, 2 and 4 ranks with as many entries a rank."""
    return (ON_GPUS if plan.gpu else IN_EXECUTOR)[plan.preset]


def _cell(
    name: str, n: int, ranks: int, plan: Plan, scopes: tuple[Scope, ...], **options: Any
) -> Cell:
    label = options.pop("label", "10n")
    repeats = options.pop("repeats", 3 if plan.gpu and plan.preset == "paper" else None)
    instance = Instance(FAMILY, n, label, seed=plan.seeds[0])
    chosen = (("ranks", ranks), *options.items())
    return Cell(f"datenagi2016:{SOLVERS[name]}", instance, scopes, chosen, repeats)


def _scopes(plan: Plan) -> tuple[Scope, ...]:
    return ("run", "steps", "end_to_end") if plan.gpu else ("run", "steps")


def weak(plan: Plan) -> list[Cell]:
    """Table 4: as many entries a GPU on 1, 2 and 4 of them."""
    return [
        _cell(name, n, ranks, plan, _scopes(plan))
        for n, ranks in zip(chain(plan), RANKS, strict=True)
        for name in SOLVERS
    ]


def strong(plan: Plan) -> list[Cell]:
    """Table 5: every order on 1, 2 and 4 GPUs."""
    return [
        _cell(name, n, ranks, plan, _scopes(plan))
        for n in chain(plan)
        for ranks in RANKS
        for name in SOLVERS
    ]


def exchanges(plan: Plan) -> list[Cell]:
    """The tree variant's exchange in each of its ways, at the smallest and the largest order."""
    ways = ("gather", "allgather", "nccl") if plan.gpu else ("gather", "allgather")
    sizes = (chain(plan)[0], chain(plan)[-1]) if plan.gpu else chain(plan)[:1]
    return [
        _cell("CU-TREE", n, ranks, plan, ("run",), exchange=way)
        for n in sizes
        for ranks in RANKS[1:]
        for way in ways
    ]


def too_large(plan: Plan) -> list[Cell]:
    """One order that no H100 or H200 holds, the tree variant; costs in [0, n)."""
    if not plan.gpu:
        return [_cell("CU-TREE", 24, 2, plan, ("run",), label="n", repeats=1)]
    if plan.preset != "paper":
        return []
    return [
        _cell("CU-TREE", TOO_LARGE, ranks, plan, ("run",), label="n", repeats=1)
        for ranks in RANKS[1:]
    ]


# ------------------------------------------------------------------------------- from a summary


def runs(summary: pd.DataFrame) -> pd.DataFrame:
    """Every measured run of Tables 4 and 5: seconds by step, counts, a row a cell.

    One GPU's own solvers (`BESIDE`) are there at the same orders, if they were measured: of equal
    seed, ``uniform`` and ``uniform_parts`` are the same matrices. Their ``end_to_end`` is left out:
    it holds a copy from the host.

    Returns
    -------
    DataFrame
        ``source``, ``device``, ``solver`` (the paper's name), ``n``, ``gpus`` (ranks), ``seed``,
        ``exchange`` (how the ranks do it: one by itself never through NCCL), the steps' seconds by
        `MODELLED`, ``overall`` (the run) and ``end_to_end``, and the counts.
    """
    names = {f"datenagi2016:{solver}": name for name, solver in {**SOLVERS, **BESIDE}.items()}
    rows = summary[summary["solver"].isin(names) & (summary["label"] == "10n")]
    options = rows["options"].astype(str)
    several = (rows["family"] == FAMILY) & options.str.fullmatch(r"ranks=\d+")
    alone = (
        rows["solver"].isin([f"datenagi2016:{solver}" for solver in BESIDE.values()])
        & (rows["family"] == "uniform")
        & (options.isin(("", "nan")) & rows["n"].isin(rows[several]["n"]))
    )
    rows = rows[several | alone]
    found = []
    keys = ["source", "device", "solver", "n", "options", "seed"]
    for (source, device, solver, n, options, seed), part in rows.groupby(keys, sort=False):
        values = {
            (scope, metric): median
            for scope, metric, median in zip(
                part["scope"], part["metric"], part["median"], strict=True
            )
        }
        row = {
            "source": source, "device": device, "solver": names[str(solver)], "n": int(n),
            "gpus": int(str(options).partition("=")[2] or 1), "seed": seed,
            "exchange": _exchange(names[str(solver)], values),
            "overall": values.get(("run", "time_ms"), math.nan) / 1e3,
            "end_to_end": math.nan if names[str(solver)] in BESIDE else (
                values.get(("end_to_end", "time_ms"), math.nan) / 1e3
            ),
        }  # fmt: skip
        for phase, steps in MODELLED.items():
            parts = [values.get(("steps", f"{step}_ms")) for step in steps]
            known = [value for value in parts if value is not None]
            row[phase] = sum(known) / 1e3 if known else math.nan
        for count in scaling_model.COUNTS:
            row[count] = values.get(("answer", count), math.nan)
        found.append(row)
    columns = [
        "source", "device", "solver", "n", "gpus", "seed", "exchange", "overall", "end_to_end",
        *MODELLED, *scaling_model.COUNTS,
    ]  # fmt: skip
    return pd.DataFrame(found, columns=columns)


def _exchange(name: str, values: dict[tuple[str, str], float]) -> str:
    """How a run's ranks exchanged: `mpi_exchange`'s ways (tree), MPI's by name (classical)."""
    if name in BESIDE:
        return "none"
    by_nccl = values.get(("answer", "by_nccl"), math.nan)
    if name == "CU-CLASS":
        return "gather"
    return "" if math.isnan(by_nccl) else ("nccl" if by_nccl else "allgather")


def chains() -> dict[tuple[int, int], int]:
    """Order on one rank of the weak chain that an order and a number of ranks belong to."""
    sizes = [*ON_GPUS.values(), *IN_EXECUTOR.values()]
    return {
        (n, ranks): orders[0] for orders in sizes for n, ranks in zip(orders, RANKS, strict=True)
    }


def _long(table: pd.DataFrame, steps: Iterable[str]) -> pd.DataFrame:
    kept = ["source", "device", "solver", "n", "gpus", "exchange"]
    medians = table.groupby(kept, sort=False)[list(steps)].median().reset_index()
    long = medians.melt(kept, var_name="step", value_name="time_s")
    return long.dropna(subset=["time_s"])


def efficiencies(table: pd.DataFrame, is_weak: bool) -> pd.DataFrame:
    """Add ``efficiency`` to rows of (source, solver, n, gpus, step, time_s).

    Rows outside of the weak chain are dropped if `is_weak`.
    """
    known = {
        (row.source, row.solver, row.step, row.n): row.time_s
        for row in table[table["gpus"] == 1].itertuples(index=False)
    }
    bases = chains()
    found = []
    for row in table.itertuples(index=False):
        base = bases.get((row.n, row.gpus)) if is_weak else row.n
        if base is None:
            continue
        one = known.get((row.source, row.solver, row.step, base), math.nan)
        one = math.nan if row.solver in BESIDE else one
        scale = 1 if is_weak else row.gpus
        found.append({**row._asdict(), "base": base, "efficiency": one / (scale * row.time_s)})
    return pd.DataFrame(found, columns=[*table.columns, "base", "efficiency"])


def printed(published: Published, name: str) -> pd.DataFrame:
    """Table 4 or 5 of the paper: times and efficiencies by n, GPUs, solver and step."""
    rows = published(name)
    rows = rows.assign(step=rows["step"].replace(PRINTED))
    rows = rows.rename(
        columns={"time_s": "published_s", "scaling_efficiency": "published_efficiency"}
    )
    return rows[["n", "gpus", "solver", "step", "published_s", "published_efficiency"]]


def _table(summary: pd.DataFrame, published: Published, is_weak: bool) -> pd.DataFrame:
    long = _long(runs(summary), (*PHASES, "overall", "end_to_end"))
    # The tree variant has no matrix compression.
    long = long[long["solver"].str.startswith("CU-CLASS") | (long["step"] != "matrix_compression")]
    measured = efficiencies(long, is_weak).drop(columns="base")
    keys = ["n", "gpus", "solver", "step"]
    beside = common_tables.beside(printed(published, "table4" if is_weak else "table5"),
                                  measured, keys)  # fmt: skip
    solvers = (*SOLVERS, *BESIDE)
    ranked = {"step": (*PHASES, "overall", "end_to_end"), "solver": solvers}
    by = ("solver", "step", "n", "gpus")
    table = common_tables.order(beside, by=by, ranked=ranked)
    return table[
        ["solver", "step", "n", "gpus", "source", "device", "exchange", "published_s", "time_s",
         "published_efficiency", "efficiency"]
    ]  # fmt: skip


def table_4(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Weak scaling: times by step, and t_1 / t_p."""
    return _table(summary, published, is_weak=True)


def table_5(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Strong scaling: times by step, and t_1 / (p t_p)."""
    return _table(summary, published, is_weak=False)


# ------------------------------------------------------------------------------- the model


def observations(table: pd.DataFrame, name: str) -> list[scaling_model.Observation]:
    """One variant's rows of `runs` as the model takes them; rows without steps are left out."""
    variant = SOLVERS[name].removeprefix("mpi_")
    phases = scaling_model.phases(variant)
    mine = table[table["solver"] == name].dropna(subset=[*phases, "overall"])
    return [
        scaling_model.Observation(
            int(row["n"]), int(row["gpus"]),
            {count: float(row[count]) for count in scaling_model.COUNTS},
            {phase: float(row[phase]) for phase in phases}, float(row["overall"]),
        )
        for _, row in mine.iterrows()
    ]  # fmt: skip


def models(
    summary: pd.DataFrame,
) -> Iterable[tuple[str, str, scaling_model.Model, scaling_model.Observation]]:
    """Source, solver, model and the held-back run: the largest order on the most GPUs.

    Runs in the executor, and sources with too few runs, give none.
    """
    table = runs(summary)
    table = table[table["device"] != EXECUTOR_NAME]
    for source, mine in table.groupby("source", sort=False):
        for name in SOLVERS:
            found = observations(mine, name)
            if len(found) <= len(scaling_model.PRICES):
                continue
            held = max(found, key=lambda run: (run.n, run.p))
            rest = [run for run in found if (run.n, run.p) != (held.n, held.p)]
            if held.p > 1 and len(rest) >= len(scaling_model.PRICES):
                variant = SOLVERS[name].removeprefix("mpi_")
                yield str(source), name, scaling_model.fitted(variant, rest), held


def _figure(summary: pd.DataFrame, published: Published, is_weak: bool) -> pd.DataFrame:
    """A table of efficiencies: print, measured, and the model's band, never in one column."""
    table = _table(summary, published, is_weak)
    table = table[(table["step"] != "end_to_end") & table["solver"].isin(SOLVERS)]
    columns = ["model_low", "model", "model_high"]
    rows = []
    for source, name, model, _ in models(summary):
        steps = [*(PHASES if name == "CU-CLASS" else ["ap_search"]), "overall"]
        for step in steps:
            for base in ON_GPUS["paper"][:1] if is_weak else ON_GPUS["paper"]:
                for gpus in (*RANKS, *BEYOND):
                    n = round(base * math.sqrt(gpus)) if is_weak else base
                    band = model.efficiency(step, base, n, gpus, is_weak)
                    rows.append(
                        {"solver": name, "step": step, "n": n, "gpus": gpus, "source": source}
                        | dict(zip(columns, band, strict=True))
                    )
    predicted = pd.DataFrame(rows, columns=["solver", "step", "n", "gpus", "source", *columns])
    keys = ["solver", "step", "n", "gpus", "source"]
    table = table.merge(predicted, on=keys, how="outer") if rows else table.assign(
        **dict.fromkeys(columns, math.nan)
    )  # fmt: skip
    ranked = {"step": (*PHASES, "overall"), "solver": tuple(SOLVERS)}
    table = common_tables.order(table, by=("solver", "step", "n", "gpus"), ranked=ranked)
    return table[
        ["solver", "step", "n", "gpus", "source", "device", "published_efficiency", "efficiency",
         *columns]
    ]  # fmt: skip


def figure_4(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Weak efficiency over GPUs, and the model's band."""
    return _figure(summary, published, is_weak=True)


def figure_5(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Strong efficiency over GPUs, and the model's band."""
    return _figure(summary, published, is_weak=False)


def model_table(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """The held-back run beside the model's band; what the prices come to."""
    rows = []
    for source, name, model, held in models(summary):
        for step in (*scaling_model.phases(model.fit.variant), "overall"):
            low, middle, high = model.band(step, held.n, held.p)
            price = model.fit.prices.get(step, [math.nan] * 4)
            bandwidth = 1e-9 / price[0] if price[0] > 0 else math.nan
            rows.append(
                {
                    "solver": name, "step": step, "n": held.n, "gpus": held.p, "source": source,
                    "measured_s": held.overall if step == "overall" else held.seconds[step],
                    "predicted_s": middle, "low_s": low, "high_s": high, "gb_a_s": bandwidth,
                    "event_us": 1e6 * price[1], "message_us": 1e6 * price[2],
                    "residual": model.fit.residuals[step],
                }
            )  # fmt: skip
    return pd.DataFrame(rows)


# ------------------------------------------------------------------------------- our own


def exchange_table(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Seconds of a run, and the whole run over its levels, by the way of the exchange."""
    rows = summary[(summary["solver"] == "datenagi2016:mpi_tree") & (summary["family"] == FAMILY)]
    rows = rows[rows["options"].astype(str).str.contains("exchange=")]
    found = []
    keys = ["source", "device", "n", "options"]
    for (source, device, n, options), part in rows.groupby(keys, sort=False):
        values = part.set_index(["scope", "metric"])["median"]
        chosen = dict(word.split("=") for word in str(options).split(","))
        seconds = values.get(("run", "time_ms"), math.nan) / 1e3
        levels = values.get(("answer", "bfs_levels"), math.nan)
        found.append(
            {
                "n": int(n), "gpus": int(chosen["ranks"]), "exchange": chosen["exchange"],
                "source": source, "device": device, "run_s": seconds, "bfs_levels": levels,
                "run_us_over_levels": 1e6 * seconds / levels,
            }
        )  # fmt: skip
    table = pd.DataFrame(found)
    if table.empty:
        return table
    return common_tables.order(table, by=("n", "gpus", "exchange"), ranked={})


def too_large_table(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """The order that no H100 or H200 holds: time, cost beside theory, memory, proof."""
    rows = summary[(summary["solver"] == "datenagi2016:mpi_tree") & (summary["family"] == FAMILY)]
    rows = rows[(rows["label"] == "n") & rows["n"].isin((TOO_LARGE, 24))]
    found = []
    keys = ["source", "device", "n", "options", "seed"]
    for (source, device, n, options, seed), part in rows.groupby(keys, sort=False):
        values = part.set_index(["scope", "metric"])["median"]
        limits = theory(int(n), 1.0)
        found.append(
            {
                "n": int(n), "gpus": int(str(options).partition("=")[2]), "seed": seed,
                "source": source, "device": device, "costs_gb": 4e-9 * int(n) ** 2,
                "gb_a_gpu": 1e-9 * (
                    values.get(("answer", "cost_bytes"), math.nan)
                    + values.get(("answer", "state_bytes"), math.nan)
                ),
                "run_s": values.get(("run", "time_ms"), math.nan) / 1e3,
                "cost": values.get(("answer", "cost"), math.nan),
                "theory_low": limits.theory_low, "theory_high": limits.theory_high,
                "dual_updates": values.get(("answer", "dual_updates"), math.nan),
                "certificate": part["certificate"].iloc[0],
            }
        )  # fmt: skip
    return pd.DataFrame(found)
