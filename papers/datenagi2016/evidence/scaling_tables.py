"""Tables 4 and 5, Figures 4 and 5 of [DN16 sec.6.3] as tables, and four experiments of our own.

[DN16 Table 4] [DN16 Table 5] [DN16 Fig.4] [DN16 Fig.5]. Efficiencies by the paper's formulas: weak
``t_1 / t_p``, strong ``t_1 / (p t_p)``. Our own: `exchanges` (four ways to exchange a level's
frontier), `larger` (orders that several GPUs pay for), `model` (`evidence.scaling_model` beside the
runs that it has not seen) and `too_large_for_one`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from papers.common.evidence import tables as common_tables
from papers.common.evidence.tables import Published
from papers.common.gpu.device import EXECUTOR_NAME
from papers.common.model import Cell, Instance, Plan, Scope, Storage
from papers.datenagi2016.evidence import message_times, scaling_model
from papers.datenagi2016.evidence.theory import theory

PEERS = "CU-TREE by peers"
"""Our own way: the ranks' kernels exchange by themselves (`several_gpus.kernels.peers`).

CU-TREE itself exchanges as print does, by Gather and Broadcast."""

SOLVERS = {"CU-CLASS": "mpi_classical", "CU-TREE": "mpi_tree", PEERS: "mpi_tree"}
OPTIONS: dict[str, dict[str, Any]] = {
    "CU-TREE": {"exchange": "gather"}, PEERS: {"exchange": "peers"},
}  # fmt: skip
WITHOUT_HOST = {"nccl", "none", "peers"}
"""The ways of `several_gpus.exchange` that go from device to device; ``none`` occurs in records
only, for a lone rank that copied its messages within its own memory."""

BESIDE = {"CU-CLASS on one": "classical", "CU-TREE on one": "tree"}
"""One GPU's own solvers, which show the price of the ranks' code; no efficiency rests on them."""

RANKS = (1, 2, 4)
STRIPS: Storage = "strips"
ON_GPUS = {
    "smoke": (64, 91, 128), "quick": (1000, 1414, 2000), "paper": (10_000, 14_142, 20_000),
}  # fmt: skip
"""The orders on GPUs; the weak chain of preset paper has 1e8 entries a GPU [DN16 sec.6.3]."""

IN_EXECUTOR = {"smoke": (8, 11, 16), "quick": (12, 17, 24), "paper": (16, 23, 32)}
"""The orders of the weak chain on 1, 2 and 4 ranks; the strong one has all orders on each."""

BEYOND = (8, 16, 32)
"""The predicted numbers of GPUs; the paper has 8 and 16."""

TOO_LARGE = 200_000
"""The int32 costs of this order are 160 GB: no H100 or H200 holds them."""

LARGER = (40_000, 80_000)
"""Orders beyond the paper's with enough to read for two GPUs: 6.4 and 25.6 GB of costs."""

PHASES = {
    "matrix_compression": ("matrix_compression",),
    "ap_search": ("forward_pass", "reverse_pass", "augmentation"),
}
"""Our steps for each column of Tables 4 and 5."""

MODELLED = {
    **PHASES, "initial_reduction": ("initial_reduction",), "edge_gather": ("edge_gather",),
    "optimality_check": ("optimality_check",), "dual_update": ("dual_update",),
}  # fmt: skip

PRINTED = {"augmenting_path_search": "ap_search"}

# ------------------------------------------------------------------------------- what to measure


def chain(plan: Plan) -> tuple[int, ...]:
    """Return the orders on 1, 2 and 4 ranks with equal numbers of entries a rank."""
    return (ON_GPUS if plan.gpu else IN_EXECUTOR)[plan.preset]


def _cell(
    name: str, n: int, ranks: int, plan: Plan, scopes: tuple[Scope, ...], **options: Any
) -> Cell:
    label = options.pop("label", "10n")
    seed = options.pop("seed", plan.seeds[0])
    instance = Instance("uniform", n, label, seed=seed, storage=STRIPS)
    chosen = {"ranks": ranks, **OPTIONS.get(name, {}), **options}
    return Cell(f"datenagi2016:{SOLVERS[name]}", instance, scopes, tuple(chosen.items()))


def weak(plan: Plan) -> list[Cell]:
    """Return the cells of Table 4: equal numbers of entries a GPU, on 1, 2 and 4 GPUs."""
    return [
        _cell(name, n, ranks, plan, ("run", "steps"), seed=seed)
        for n, ranks in zip(chain(plan), RANKS, strict=True)
        for name in SOLVERS
        for seed in plan.seeds
    ]


def strong(plan: Plan) -> list[Cell]:
    """Return the cells of Table 5: every order on 1, 2 and 4 GPUs."""
    return [
        _cell(name, n, ranks, plan, ("run", "steps"), seed=seed)
        for n in chain(plan)
        for ranks in RANKS
        for name in SOLVERS
        for seed in plan.seeds
    ]


def exchanges(plan: Plan) -> list[Cell]:
    """Return cells of each way of the tree variant's exchange, at the least and largest order."""
    ways = ("gather", "allgather", *(("nccl",) if plan.gpu else ()), "peers")
    sizes = (chain(plan)[0], chain(plan)[-1]) if plan.gpu else chain(plan)[:1]
    return [
        _cell("CU-TREE", n, ranks, plan, ("run",), exchange=way, seed=seed)
        for n in sizes
        for ranks in RANKS[1:]
        for way in ways
        for seed in plan.seeds
    ]


SPARSE = ("0.1n", "n")
"""The ranges of which [DN16 sec.6.3] says that they scale poorly."""


def sparse(plan: Plan) -> list[Cell]:
    """Return cells of both variants at the sparse ranges, on one GPU and on two; `strong` has 10n.

    The order is the least of the chain: "smaller problems with sparse cost structures".
    """
    return [
        _cell(name, chain(plan)[0], ranks, plan, ("run",), label=label, seed=seed)
        for label in SPARSE
        for ranks in RANKS[:2]
        for name in SOLVERS
        for seed in plan.seeds
    ]


def shared_gpus(plan: Plan) -> list[Cell]:
    """Return cells of more ranks than GPUs, for their answers' proofs, calls, bytes and memory.

    Ranks that share a GPU take turns, so their times say nothing; NCCL and the kernels that
    exchange by themselves want a GPU each.
    """
    sizes = {"smoke": (), "quick": (1000,), "paper": (5000,)}[plan.preset]
    return [
        _cell(name, n, ranks, plan, ("run",), seed=plan.seeds[0])
        for n in (sizes if plan.gpu else chain(plan)[:1])
        for ranks in ((4, 8, 16) if plan.gpu else RANKS[1:])
        for name in ("CU-CLASS", "CU-TREE")
    ]


COUNTED = (28_284, 40_000)
"""The orders of the weak chain on 8 and 16 GPUs: one GPU of today counts what happens there."""


def counted(plan: Plan) -> list[Cell]:
    """Return one run of each variant at the chain's larger orders, on one GPU, for its counts."""
    if not plan.gpu or plan.preset != "paper":
        return []
    return [
        Cell(f"datenagi2016:{solver}", Instance("uniform", n, "10n", seed=plan.seeds[0],
                                                storage="device"), ("run",), repeats=1)
        for n in COUNTED
        for solver in BESIDE.values()
    ]  # fmt: skip


def too_large(plan: Plan) -> list[Cell]:
    """Return cells of the tree variant at an order that no H100 or H200 holds; costs in [0, n)."""
    if not plan.gpu:
        return [_cell("CU-TREE", 24, 2, plan, ("run",), label="n")]
    if plan.preset != "paper":
        return []
    seed = plan.seeds[0]
    return [_cell(PEERS, TOO_LARGE, p, plan, ("run",), label="n", seed=seed) for p in RANKS[1:]]


def larger(plan: Plan) -> list[Cell]:
    """Return cells of our own way at orders with enough to read for two GPUs."""
    if not plan.gpu or plan.preset != "paper":
        return []
    return [
        _cell(PEERS, n, ranks, plan, ("run",), seed=seed)
        for n in LARGER
        for ranks in RANKS
        for seed in plan.seeds[:1]
    ]


# ------------------------------------------------------------------------------- from a summary


def runs(summary: pd.DataFrame) -> pd.DataFrame:
    """Return every measured run of Tables 4 and 5: seconds by step, counts, a row a cell.

    One GPU's own solvers (`BESIDE`) stand there at the same orders, if they were measured: matrices
    of equal seed are the same in every storage. Their ``end_to_end`` is left out, because it
    includes a copy from the host.

    Returns
    -------
    DataFrame
        ``source``, ``device``, ``solver`` (the paper's name), ``n``, ``gpus`` (ranks), ``seed``,
        ``exchange`` (its way, see `_exchange`), the steps' seconds by `MODELLED`,
        ``overall`` (the run) and ``end_to_end``, and the counts.
    """
    rows = summary[(summary["label"] == "10n") & (summary["family"] == "uniform")]
    named = [
        _named(str(solver), str(storage), str(options))
        for solver, storage, options in zip(
            rows["solver"], rows["storage"], rows["options"], strict=True
        )
    ]
    rows = rows.assign(name=[name for name, _ in named], gpus=[gpus for _, gpus in named])
    rows = rows[rows["name"] != ""]
    orders = rows[~rows["name"].isin(BESIDE)]["n"]
    rows = rows[~rows["name"].isin(BESIDE) | rows["n"].isin(orders)]
    found = []
    keys = ["source", "device", "name", "n", "gpus", "seed"]
    for (source, device, name, n, gpus, seed), part in rows.groupby(keys, sort=False):
        values = {
            (scope, metric): median
            for scope, metric, median in zip(
                part["scope"], part["metric"], part["median"], strict=True
            )
        }
        row = {
            "source": source, "device": device, "solver": name, "n": int(n), "gpus": int(gpus),
            "seed": seed, "exchange": _exchange(str(name), int(gpus), values),
            "overall": values.get(("run", "time_ms"), math.nan) / 1e3,
            "end_to_end": math.nan if name in BESIDE else (
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


def _named(solver: str, storage: str, options: str) -> tuple[str, int]:
    """Return the name of a cell's solver in our tables, and its ranks; ``("", 0)`` for none."""
    if storage == "host" and options in ("", "nan"):
        names = {f"datenagi2016:{one}": name for name, one in BESIDE.items()}
        return names.get(solver, ""), 1
    if storage != STRIPS or "=" not in options:
        return "", 0
    chosen = dict(word.split("=") for word in options.split(","))
    ranks = int(chosen.pop("ranks", 0))
    for name, one in SOLVERS.items():
        if solver == f"datenagi2016:{one}" and chosen == OPTIONS.get(name, {}):
            return name, ranks
    return "", 0


def _exchange(name: str, ranks: int, values: dict[tuple[str, str], float]) -> str:
    """Name the way of a run's exchange, one of `several_gpus.exchange` or (classical) MPI's."""
    if name in BESIDE:
        return "none"
    by_nccl = values.get(("answer", "by_nccl"), math.nan)
    by_peers = values.get(("answer", "by_peers"), 0.0)
    if name in ("CU-CLASS", "CU-TREE"):
        return "gather"
    if name == PEERS or by_peers:
        return "peers"
    if math.isnan(by_nccl):
        return ""
    return "none" if ranks == 1 else "nccl" if by_nccl else "allgather"


def chains() -> dict[tuple[int, int], int]:
    """Return the order on one rank of the weak chain that an order and its ranks belong to."""
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

    If `is_weak`, rows outside the weak chain are dropped.
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
    """Return Table 4 or 5 of the paper: times and efficiencies by n, GPUs, solver and step."""
    rows = published(name)
    rows = rows.assign(step=rows["step"].replace(PRINTED))
    rows = rows.rename(
        columns={"time_s": "published_s", "scaling_efficiency": "published_efficiency"}
    )
    return rows[["n", "gpus", "solver", "step", "published_s", "published_efficiency"]]


def _table(summary: pd.DataFrame, published: Published, is_weak: bool) -> pd.DataFrame:
    measured_runs = runs(summary)
    measured_runs = measured_runs[~measured_runs["n"].isin(LARGER)]
    long = _long(measured_runs, (*PHASES, "overall", "end_to_end"))
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
    """Return the weak scaling: times by step, and t_1 / t_p."""
    return _table(summary, published, is_weak=True)


def table_5(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return the strong scaling: times by step, and t_1 / (p t_p)."""
    return _table(summary, published, is_weak=False)


# ------------------------------------------------------------------------------- the model


def observations(table: pd.DataFrame, name: str) -> list[scaling_model.Observation]:
    """Return one variant's rows of `runs` as the model takes them, without rows that lack steps."""
    phases = scaling_model.phases("classical" if name == "CU-CLASS" else "tree")
    mine = table[table["solver"] == name].dropna(subset=[*phases, "overall"])
    return [
        scaling_model.Observation(
            int(row["n"]), int(row["gpus"]),
            {count: float(row[count]) for count in scaling_model.COUNTS},
            {phase: float(row[phase]) for phase in phases}, float(row["overall"]),
            str(row["exchange"]),
        )
        for _, row in mine.iterrows()
    ]  # fmt: skip


def counted_on_one(summary: pd.DataFrame, source: str, name: str) -> scaling_model.Counted:
    """Return the counts of one GPU's own solver at the chain's larger orders; see `counted`."""
    solver = f"datenagi2016:{BESIDE['CU-CLASS on one' if name == 'CU-CLASS' else 'CU-TREE on one']}"
    rows = summary[(summary["source"] == source) & (summary["solver"] == solver)]
    rows = rows[(rows["storage"] == "device") & (rows["label"] == "10n")]
    rows = rows[(rows["scope"] == "answer") & rows["metric"].isin(scaling_model.COUNTS)]
    found: dict[int, dict[str, float]] = {}
    for (n, metric), values in rows.groupby(["n", "metric"])["median"]:
        found.setdefault(int(n), {})[str(metric)] = float(values.median())
    return found


def models(
    summary: pd.DataFrame, published: Published
) -> Iterable[tuple[str, str, scaling_model.Model, list[scaling_model.Observation]]]:
    """Yield source, solver, model and the held-back runs: the largest order on the most GPUs.

    Orders that only several GPUs will solve take their counts from `counted`, where it was run, and
    messages grow as `message_times` says. Runs in the executor and sources with too few runs yield
    nothing.
    """
    table = runs(summary)
    table = table[table["device"] != EXECUTOR_NAME]
    messages = message_times.known(published)
    growth = None if messages is None else message_times.growth(messages)
    for source, mine in table.groupby("source", sort=False):
        for name in SOLVERS:
            found = observations(mine, name)
            last = max(((run.n, run.p) for run in found), default=(0, 1))
            held = [run for run in found if (run.n, run.p) == last]
            rest = [run for run in found if (run.n, run.p) != last]
            if last[1] > 1 and len({(run.n, run.p) for run in rest}) >= scaling_model.FEWEST:
                ways = {run.way for run in found}
                tree = "device" if ways <= WITHOUT_HOST else "tree"
                variant = "classical" if name == "CU-CLASS" else tree
                counts = counted_on_one(summary, str(source), name)
                model = scaling_model.fitted(variant, rest, counts, growth)
                yield str(source), name, model, held


def _figure(summary: pd.DataFrame, published: Published, is_weak: bool) -> pd.DataFrame:
    """Return efficiencies: print, measured, and the model's band, never in one column."""
    table = _table(summary, published, is_weak)
    table = table[(table["step"] != "end_to_end") & table["solver"].isin(SOLVERS)]
    columns = ["model_low", "model", "model_high"]
    rows = []
    for source, name, model, _ in models(summary, published):
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
    measured = table["efficiency"].notna()
    rows_of = np.where(measured, "measured", np.where(table["model"].notna(), "predicted", "print"))
    return table.assign(row=rows_of)[
        ["solver", "step", "n", "gpus", "row", "source", "device", "published_efficiency",
         "efficiency", *columns]
    ]  # fmt: skip


def figure_4(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return the weak efficiency over GPUs, and the model's band."""
    return _figure(summary, published, is_weak=True)


def figure_5(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return the strong efficiency over GPUs, and the model's band."""
    return _figure(summary, published, is_weak=False)


def model_table(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return the median of the held-back runs beside the model's band, and the prices."""
    rows = []
    for source, name, model, runs_held in models(summary, published):
        held = runs_held[0]
        for step in (*scaling_model.phases(model.fit.variant), "overall"):
            low, middle, high = model.band(step, held.n, held.p)
            seconds = [run.overall if step == "overall" else run.seconds[step] for run in runs_held]
            price = model.fit.prices.get(step, [math.nan] * len(scaling_model.PRICES))
            bandwidth = 1e-9 / price[0] if price[0] > 0 else math.nan
            rows.append(
                {
                    "solver": name, "step": step, "n": held.n, "gpus": held.p, "source": source,
                    "runs": len(runs_held), "measured_s": float(np.median(seconds)),
                    "predicted_s": middle, "low_s": low, "high_s": high, "gb_a_s": bandwidth,
                    "event_us": 1e6 * price[1], "message_us": 1e6 * price[2],
                    "exchange_us": 1e6 * price[3],
                    "residual": model.fit.residuals[step],
                }
            )  # fmt: skip
    return pd.DataFrame(rows)


# ------------------------------------------------------------------------------- our own


def exchange_table(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return the seconds of a run, and the whole run over its levels, by the way of the exchange.

    Only matrices that were solved in several ways count: Tables 4 and 5 have more seeds in one way.
    """
    rows = summary[(summary["solver"] == "datenagi2016:mpi_tree") & (summary["storage"] == STRIPS)]
    rows = rows[rows["options"].astype(str).str.contains("exchange=") & (rows["label"] == "10n")]
    found = []
    keys = ["source", "device", "n", "options", "seed"]
    for (source, device, n, options, seed), part in rows.groupby(keys, sort=False):
        values = part.set_index(["scope", "metric"])["median"]
        chosen = dict(word.split("=") for word in str(options).split(","))
        seconds = values.get(("run", "time_ms"), math.nan) / 1e3
        levels = values.get(("answer", "bfs_levels"), math.nan)
        found.append(
            {
                "n": int(n), "gpus": int(chosen["ranks"]), "exchange": chosen["exchange"],
                "source": source, "device": device, "seed": seed, "run_s": seconds,
                "bfs_levels": levels,
            }
        )  # fmt: skip
    table = pd.DataFrame(found)
    if table.empty:
        return table
    table = table.dropna(subset=["run_s"])
    same = table.groupby(["source", "device", "n", "gpus", "seed"])
    table = table[same["exchange"].transform("nunique") > 1]
    keys = ["source", "device", "n", "gpus", "exchange"]
    table = table.groupby(keys, sort=False)[["run_s", "bfs_levels"]].median().reset_index()
    table["run_us_over_levels"] = 1e6 * table["run_s"] / table["bfs_levels"]
    table = table[[*keys[2:], *keys[:2], "run_s", "bfs_levels", "run_us_over_levels"]]
    return common_tables.order(table, by=("n", "gpus", "exchange"), ranked={})


def larger_table(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return seconds of a run at orders beyond the paper's, microseconds a level, efficiency."""
    table = runs(summary)
    table = table[table["n"].isin(LARGER) & table["overall"].notna()]
    one = {
        (row.source, row.solver, row.n): row.overall
        for row in table[table["gpus"] == 1].itertuples(index=False)
    }
    keys = zip(table["source"], table["solver"], table["n"], strict=True)
    alone = np.array([one.get(key, math.nan) for key in keys], float)
    table = table.assign(
        run_s=table["overall"], costs_gb=4e-9 * table["n"].astype(float) ** 2,
        run_us_over_levels=1e6 * table["overall"] / table["bfs_levels"],
        efficiency=alone / (table["gpus"] * table["overall"]),
    )  # fmt: skip
    columns = [
        "solver", "n", "gpus", "source", "device", "exchange", "costs_gb", "run_s", "bfs_levels",
        "run_us_over_levels", "efficiency",
    ]  # fmt: skip
    if table.empty:
        return table[columns]
    ranked = {"solver": tuple(SOLVERS)}
    return common_tables.order(table[columns], by=("solver", "n", "gpus"), ranked=ranked)


def sparse_table(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return the runs on one GPU and on two at each range, and the efficiency, seed by seed."""
    rows = summary[(summary["storage"] == STRIPS) & (summary["family"] == "uniform")]
    rows = rows[(rows["scope"] == "run") & (rows["metric"] == "time_ms")]
    names = [
        _named(str(solver), STRIPS, str(options))
        for solver, options in zip(rows["solver"], rows["options"], strict=True)
    ]
    rows = rows.assign(
        name=[name for name, _ in names], gpus=[gpus for _, gpus in names],
        run_s=rows["median"] / 1e3, cost_range=rows["label"],
    )  # fmt: skip
    keys = ["name", "n", "cost_range", "source", "device", "seed"]
    wide = rows[rows["name"] != ""].pivot_table(index=keys, columns="gpus", values="run_s")
    wide = wide.reindex(columns=[1, 2]).dropna().rename(columns={1: "one_s", 2: "two_s"})
    wide = wide.assign(efficiency=wide["one_s"] / (2 * wide["two_s"]))
    medians = wide.groupby(level=keys[:-1], sort=False).median().reset_index()
    both = medians.groupby(["name", "n", "source"])["cost_range"].transform("nunique") > 1
    table = medians[both].rename(columns={"name": "solver"})
    ranked = {"solver": tuple(SOLVERS), "cost_range": (*SPARSE, "10n")}
    return common_tables.order(table, by=("solver", "n", "cost_range"), ranked=ranked)


def sharing_table(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return what many ranks count and hold: calls and bytes of messages, memory, the proof.

    ``moved_bytes`` are those of rank 0's buffers in Gather, Reduce and Broadcast; ``model_calls``
    is the number of messages that the scaling model says, with the tree variant's frontiers and
    thetas, which go the same way here.
    """
    rows = summary[(summary["storage"] == STRIPS) & (summary["scope"] == "answer")]
    rows = rows[rows["label"] == "10n"]
    found = []
    keys = ["source", "device", "solver", "options", "n", "seed"]
    for (source, device, solver, options, n, seed), part in rows.groupby(keys, sort=False):
        name, ranks = _named(str(solver), STRIPS, str(options))
        if name not in ("CU-CLASS", "CU-TREE"):
            continue
        values = part.set_index("metric")["median"]
        collectives = ("gather", "reduce", "broadcast")
        calls = sum(values.get(f"{kind}_calls", math.nan) for kind in collectives)
        known = {count: float(values.get(count, math.nan)) for count in scaling_model.COUNTS}
        variant = "classical" if name == "CU-CLASS" else "tree"
        told = scaling_model.quantities(variant, int(n), 2, known)
        met = scaling_model.gathered(known) if variant == "tree" else 0.0
        found.append(
            {
                "solver": name, "n": int(n), "gpus": ranks, "seed": seed, "source": source,
                "device": device, "calls": calls,
                "exchange_calls": values.get("exchange_calls", math.nan),
                "model_calls": met + sum(row[2] for row in told.values()),
                "moved_bytes": sum(values.get(f"{k}_bytes", math.nan) for k in collectives),
                "mb_a_rank": 1e-6 * (
                    values.get("cost_bytes", math.nan) + values.get("state_bytes", math.nan)
                ),
                "cost": values.get("cost", math.nan), "certificate": part["certificate"].iloc[0],
            }
        )  # fmt: skip
    table = pd.DataFrame(found)
    if table.empty:
        return table
    most = table.groupby(["source", "solver", "n", "seed"])["gpus"].transform("max")
    table = table[most > 2]
    return common_tables.order(table, by=("solver", "n", "gpus"), ranked={})


def counted_table(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return counts at the chain's larger orders beside the power laws through the measured ones.

    ``law`` is what the model would say without the runs on one GPU.
    """
    found = []
    for source, name, model, _ in models(summary, published):
        for n, counts in sorted(counted_on_one(summary, source, name).items()):
            for count, value in counts.items():
                a, b = model.fit.laws[count]
                found.append(
                    {"solver": name, "n": n, "count": count, "source": source, "measured": value,
                     "law": a * n**b, "law_over_measured": a * n**b / value if value else math.nan}
                )  # fmt: skip
    columns = ["solver", "n", "count", "source", "measured", "law", "law_over_measured"]
    return pd.DataFrame(found, columns=columns)


def too_large_table(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return the order that no H100 or H200 holds: time, cost beside theory, memory, proof."""
    rows = summary[(summary["solver"] == "datenagi2016:mpi_tree") & (summary["storage"] == STRIPS)]
    rows = rows[(rows["label"] == "n") & rows["n"].isin((TOO_LARGE, 24))]
    found = []
    keys = ["source", "device", "n", "options", "seed"]
    for (source, device, n, options, seed), part in rows.groupby(keys, sort=False):
        values = part.set_index(["scope", "metric"])["median"]
        limits = theory(int(n), 1.0)
        name, gpus = _named("datenagi2016:mpi_tree", STRIPS, str(options))
        found.append(
            {
                "n": int(n), "gpus": gpus, "solver": name, "seed": seed, "source": source,
                "device": device, "costs_gb": 4e-9 * int(n) ** 2,
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
