"""Comparisons of Tables 4 and 5 and Figures 4 and 5 of [DN16] with print, and their plots.

Efficiencies are ratios redone on one machine, so they are judged; the note tells by how much the
time on one GPU and the time on several moved from print, which is arithmetic and no cause. The
model's predictions are judged against our measurements, in every phase, never against print.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import pandas as pd

from papers.common.evidence import comparisons, plots
from papers.common.evidence.cards import alike
from papers.common.evidence.comparisons import claim, gains, not_measured
from papers.common.evidence.judges import each_time, judged
from papers.common.evidence.tables import best_source, measured_by
from papers.common.gpu.device import EXECUTOR_NAME
from papers.common.model import Comparison
from papers.datenagi2016.evidence.card import efficiency
from papers.datenagi2016.evidence.card.efficiency import EFFICIENCY, SUPERLINEAR
from papers.datenagi2016.evidence.card.prices import BAND
from papers.datenagi2016.evidence.scaling_tables import BEYOND, PEERS, TOO_LARGE

PAIR = ("published_efficiency", "efficiency")

SCALES_WELL = 0.9
"""Print's least efficiency of matrix compression on 4 GPUs (weak; strong has 0.91 to 0.96)."""


def _efficiencies(rows: pd.DataFrame, source: str) -> Iterable[Comparison]:
    """Compare each efficiency on several GPUs; the notes rest on print's own one-GPU times."""
    one = {
        (row.solver, row.step, row.n): (row.published_s, row.time_s)
        for row in rows[rows["gpus"] == 1].itertuples(index=False)
    }
    for row in rows[rows["gpus"] > 1].itertuples(index=False):
        known = [times for key, times in one.items() if key[:2] == (row.solver, row.step)]
        printed, ours = one.get((row.solver, row.step, row.n), known[0] if known else (0, 1))
        note = gains(
            row.published_s / row.time_s, printed / ours,
            f"the time on {row.gpus:.0f} GPUs", "that on one",
        )  # fmt: skip
        yield comparisons.ratio(
            f"efficiency of {row.step}, {row.solver}, n={row.n} on {row.gpus:.0f} GPUs",
            row.published_efficiency, round(row.efficiency, 3), EFFICIENCY, note,
            cause=efficiency.cause_of(row), ceiling=SUPERLINEAR,
        )  # fmt: skip


def _statements(rows: pd.DataFrame, source: str) -> Iterable[Comparison]:
    """Judge the claims of [DN16 sec.6.3] about its tables."""
    for (name, step), part in rows.groupby(["solver", "step"], sort=False):
        several = part[part["gpus"] > 1]
        if several.empty:
            continue
        if step == "matrix_compression":
            most = several[several["gpus"] == several["gpus"].max()]
            yield comparisons.effect(
                f"matrix compression scales well, least efficiency on "
                f"{several['gpus'].max():.0f} GPUs", "scales well",
                round(float(most["efficiency"].min()), 3), SCALES_WELL, SUPERLINEAR,
                cause=efficiency.cause_of_least(most, SCALES_WELL),
            )  # fmt: skip
        if step == "overall":
            falls = _falls(part)
            yield claim(
                f"overall efficiency of {name} falls with the GPUs", "falls",
                "falls" if falls else "not everywhere", falls, "by 2 % or more at every step",
            )  # fmt: skip


def _falls(part: pd.DataFrame) -> bool:
    """Whether the efficiency falls along every chain of more and more GPUs."""
    is_weak = part["n"].nunique() == len(part)  # One chain if weak, else one for every n.
    chains = [part] if is_weak else [rows for _, rows in part.groupby("n")]
    return all(
        after <= before * 0.98
        for rows in chains
        for before, after in pairwise(rows.sort_values("gpus")["efficiency"])
    )


_times = each_time("{solver} {step}, s: n={n} on {gpus} GPUs", "published_s", "time_s")
table_4 = judged("weak scaling of Table 4", *PAIR, _efficiencies, _statements, _times)
table_5 = judged("strong scaling of Table 5", *PAIR, _efficiencies, _statements, _times)


def model(table: pd.DataFrame) -> list[Comparison]:
    """Check that the held-back run lies within the model's band, as a whole and in every phase."""
    found = []
    for row in table.itertuples(index=False) if not table.empty else ():
        if row.measured_s > 0:
            found.append(
                comparisons.predicted(
                    f"seconds of the held-back run, {row.step} of {row.solver}, n={row.n} on "
                    f"{row.gpus} GPUs", row.low_s, row.high_s, round(row.measured_s, 6),
                )
            )  # fmt: skip
    return found or not_measured(
        "the model on GPUs: four configurations and one held back", "model"
    )


def bands(table: pd.DataFrame) -> list[Comparison]:
    """Check every measured efficiency on several GPUs against the model's band."""
    found = []
    if not table.empty:
        rows = table[(table["gpus"] > 1) & (table["device"] != EXECUTOR_NAME)]
        rows = rows.dropna(subset=["efficiency", "model_low"])
        found = [
            comparisons.predicted(
                f"efficiency of {row.step}, {row.solver}, n={row.n} on {row.gpus:.0f} GPUs",
                row.model_low, row.model_high, round(row.efficiency, 4),
            )
            for row in rows.itertuples(index=False)
        ]  # fmt: skip
    return found or not_measured("efficiencies in the model's band, on several GPUs", "model")


WIDEST = 3.0
"""The largest factor between the ends of a band that says something."""


def widths(table: pd.DataFrame) -> list[Comparison]:
    """Check that the bands of what was not measured are narrow enough to fail."""
    if table.empty:
        return []
    rows = table[(table["row"] == "predicted") & (table["gpus"] > 1)]
    rows = rows[rows["model_low"] > 0]
    rows = rows.assign(width=rows["model_high"] / rows["model_low"])
    return [
        comparisons.predicted(
            f"width of the predicted band, {step} of {solver} on {gpus:.0f} GPUs", 1.0, WIDEST,
            round(float(part["width"].max()), 3), words=f"at most a factor of {WIDEST:g}",
        )
        for (_, solver, step, gpus), part in rows.groupby(["source", "solver", "step", "gpus"])
    ]  # fmt: skip


def figures(table: pd.DataFrame) -> list[Comparison]:
    """Check every measured point against its band, and every band's width."""
    return bands(table) + widths(table)


POOR = 0.9
"""The largest efficiency at a sparse range over that at 10n, for a range that scales worse."""


def sparse(table: pd.DataFrame) -> list[Comparison]:
    """Judge that the sparse ranges scale worse than 10n over GPUs [DN16 sec.6.3].

    Their times are held against the prices of the dense range, too: see `card.efficiency`.
    """
    found = []
    on_gpus = table[table["device"] != EXECUTOR_NAME] if not table.empty else table
    for count, name in (("one", "one GPU"), ("two", "two GPUs")):
        if f"{count}_expected_s" in on_gpus:
            found += alike(
                on_gpus, f"run over its expected time, by the prices of 10n, on {name}",
                f"{count}_s", f"{count}_expected_s", ("solver", "cost_range"), BAND,
            )  # fmt: skip
    for (name, n, _), rows in on_gpus.groupby(["solver", "n", "source"], sort=False):
        known = dict(zip(rows["cost_range"], rows["efficiency"], strict=True))
        if name == "CU-CLASS" and "10n" in known:
            found += [
                comparisons.effect(
                    f"efficiency at range {label} over that at 10n, {name}, n={n} on two GPUs",
                    "poor", round(known[label] / known["10n"], 3), at_most=POOR,
                )
                for label in ("0.1n", "n") if label in known
            ]  # fmt: skip
    return found or not_measured("sparse ranges on two GPUs", "claim")


def sharing(table: pd.DataFrame) -> list[Comparison]:
    """Check that many ranks prove their answers, at one cost, with as many calls as the model."""
    found = []
    for row in table.itertuples(index=False) if not table.empty else ():
        what = f"{row.solver}, n={row.n}, {row.gpus} ranks"
        proved = row.certificate == "lp-duals"
        found.append(comparisons.correct(f"proof, {what}", "lp-duals", row.certificate, proved))
    groups = table.groupby(["source", "n", "seed"], sort=False) if not table.empty else ()
    for (_, n, seed), rows in groups:
        costs = sorted(rows["cost"].unique())
        found.append(
            comparisons.correct(
                f"costs of all ranks and variants, n={n}, seed {seed}", "one", len(costs),
                len(costs) == 1,
            )
        )  # fmt: skip
        for (name, ranks), part in rows.groupby(["solver", "gpus"], sort=False):
            told, calls = float(part["model_calls"].iloc[0]), float(part["calls"].iloc[0])
            found.append(
                comparisons.predicted(
                    f"messages of {name}, n={n}, {ranks} ranks", 0.9 * told, 1.1 * told, calls
                )
            )  # fmt: skip
    return found or not_measured("ranks that share GPUs", "correctness")


def counted(table: pd.DataFrame) -> list[Comparison]:
    """Check the power laws of the model against counts that they have not seen."""
    found = [
        comparisons.predicted(
            f"{row.count} of {row.solver} at n={row.n}: law over count", 1 / 1.5, 1.5,
            round(row.law_over_measured, 3),
        )
        for row in table.itertuples(index=False)
    ]  # fmt: skip
    return found or not_measured("counts at orders for many GPUs", "model")


WITH_LESS_HOST = ("peers", "nccl", "allgather", "gather")


def exchanges(table: pd.DataFrame) -> list[Comparison]:
    """Check that an exchange is faster the less the host takes part, on a GPU for each rank."""
    found = []
    if not table.empty:
        on_gpus = table[table["device"] != EXECUTOR_NAME]
        for (_, n, gpus), rows in on_gpus.groupby(["source", "n", "gpus"], sort=False):
            times = dict(zip(rows["exchange"], rows["run_s"], strict=True))
            known = [way for way in WITH_LESS_HOST if way in times]
            found += [
                comparisons.predicted(
                    f"time of {less} over that of {more}, n={n} on {gpus} GPUs", 0.0, 1.0,
                    round(times[less] / times[more], 4), words="below 1: less is left to the host",
                )
                for less, more in pairwise(known)
            ]  # fmt: skip
    return found or not_measured("ways to exchange a frontier, on GPUs", "model")


def larger(table: pd.DataFrame) -> list[Comparison]:
    """Check that more GPUs are faster than one, at orders with enough to read."""
    found = []
    for row in table.itertuples(index=False):
        if row.gpus > 1 and row.efficiency == row.efficiency:  # One GPU was measured, too.
            gain = round(row.gpus * row.efficiency, 2)
            what = f"{row.solver}, n={row.n}: {row.gpus} GPUs over one"
            found.append(comparisons.goal(what, gain, at_least=1.0))
    return found or not_measured("orders beyond the paper's on several GPUs", "goal")


def too_large(table: pd.DataFrame) -> list[Comparison]:
    """Check that the instance is solved and proved, and has the cost that theory predicts."""
    found = []
    for row in table.itertuples(index=False) if not table.empty else ():
        if row.n < TOO_LARGE:
            continue
        what = f"n={row.n} on {row.gpus} GPUs, {row.solver}"
        found += [
            comparisons.correct(f"proof at {what}", "lp-duals", row.certificate,
                                row.certificate == "lp-duals"),
            comparisons.predicted(
                f"objective beside theory, {what}", 0.98 * row.theory_low, 1.02 * row.theory_high,
                row.cost,
            ),
        ]  # fmt: skip
    return found or not_measured(f"n = {TOO_LARGE} on several GPUs", "correctness")


# ------------------------------------------------------------------------------- figures


def _curve(axes: Any, rows: pd.DataFrame, place: int, name: str) -> None:
    """Plot one curve: print hollow and dashed, measured filled, the model's band behind both."""
    colour, marker = plots.COLOURS[place], plots.MARKERS[place]
    for column, line, hollow in (("published_efficiency", "--", True), ("efficiency", "-", False)):
        points = rows.dropna(subset=[column]).sort_values("gpus")
        points = points.drop_duplicates("gpus")
        if len(points):
            axes.plot(
                points["gpus"], points[column], linestyle=line, color=colour, marker=marker,
                markerfacecolor="white" if hollow else None,
                label=f"{name}, {'published' if hollow else 'measured'}",
            )  # fmt: skip
    band = rows.dropna(subset=["model_low"]).sort_values("gpus").drop_duplicates("gpus")
    if len(band):
        axes.fill_between(
            band["gpus"], band["model_low"], band["model_high"], color=colour, alpha=0.15,
            linewidth=0, label=f"{name}, model",
        )  # fmt: skip


def _shown(table: pd.DataFrame) -> pd.DataFrame:
    """Return print's rows, and those of the source that has measured the most of them."""
    mine = best_source(table, "efficiency")
    printed = table.dropna(subset=["published_efficiency"])
    printed = printed.assign(efficiency=float("nan"), model_low=float("nan"))
    return pd.concat([mine, printed], ignore_index=True)


CURVES = (
    ("CU-CLASS", "matrix_compression"), ("CU-CLASS", "overall"), ("CU-TREE", "overall"),
    (PEERS, "overall"),
)  # fmt: skip
"""The curves of Figures 4 and 5, and our own."""


@plots.house_style()
def draw_fig_4(table: pd.DataFrame):
    """Plot weak efficiency over the number of GPUs, a panel a variant as in print."""
    figure, panels = plots.new_figure(columns=2, size=(9.6, 4.0), sharey=True)
    shown = _shown(table)
    for axes, name in zip(panels[0], ("CU-CLASS", "CU-TREE"), strict=True):
        for place, (solver, step) in enumerate(CURVES):
            if solver.startswith(name):
                rows = shown[(shown["solver"] == solver) & (shown["step"] == step)]
                _curve(axes, rows, place, step.replace("_", " ") + solver.removeprefix(name))
        _label(axes, f"{name}, weak scaling")
    figure.suptitle(measured_by(best_source(table, "efficiency")), fontsize=9)
    return figure


@plots.house_style()
def draw_fig_5(table: pd.DataFrame):
    """Plot strong efficiency over the number of GPUs, a panel an order as in print."""
    shown = _shown(table)
    measured = sorted(shown.dropna(subset=["efficiency"])["n"].unique())
    sizes = measured or sorted(shown["n"].unique())
    figure, panels = plots.new_figure(
        columns=max(len(sizes), 1), size=(4.0 * max(len(sizes), 1) + 1, 4.0), sharey=True
    )
    for axes, n in zip(panels[0], sizes, strict=False):
        for place, (solver, step) in enumerate(CURVES):
            chosen = (shown["solver"] == solver) & (shown["step"] == step) & (shown["n"] == n)
            _curve(axes, shown[chosen], place, f"{solver} {step.replace('_', ' ')}")
        _label(axes, f"n = {n}, strong scaling", legend=False)
    handles, names = panels[0][0].get_legend_handles_labels()
    if handles:
        figure.legend(handles, names, loc="outside lower center", ncols=3)
    figure.suptitle(measured_by(best_source(table, "efficiency")), fontsize=9)
    return figure


def _label(axes: Any, title: str, legend: bool = True) -> None:
    axes.set_title(title)
    axes.set_xscale("log", base=2)
    axes.set_xticks([1, 2, 4, *BEYOND], [str(p) for p in (1, 2, 4, *BEYOND)])
    axes.set_xlabel("GPUs")
    axes.set_ylabel("efficiency")
    axes.set_ylim(0, None)
    axes.axhline(1.0, color="#999999", linewidth=0.8)
    handles, _ = axes.get_legend_handles_labels()
    if handles and legend:
        axes.legend()
