"""The experiment `card`: the steps' times that the model expects, beside print's and ours.

The verdicts here are on the model. It fails where its prices are wrong: for each step and range the
measured time may be `BAND` times the expected one or a `BAND`-th of it, in the geometric mean over
n; print's times, which are read from a figure, `PRINT_BAND` times. Two prices are measured once
more: the bandwidth by the device's clock, the wait by small instances of the authors' stream. Our
counts stand for print's, so that a run must wait as often on the authors' matrices, within
`STREAM_BAND`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pandas as pd

from papers.common.evidence.cards import alike
from papers.common.evidence.comparisons import not_measured, predicted
from papers.common.evidence.tables import KEY, Published, median
from papers.common.model import Cell, Comparison, Experiment, Plan
from papers.lopes2019.evidence import tables
from papers.lopes2019.evidence.card import causes, clocks, expected, model
from papers.lopes2019.evidence.card.model import BAND

PRINT_BAND = 2.0
STREAM_BAND = 1.25
COLUMNS = [
    "n", "cost_range", "step", "source", "device", *model.WORK, "published_ms", "print_model_ms",
    "cuda_ms", "expected_ms", "c_ms", "expected_c_ms", *model.PRICES, "clock_gb_s",
    "small_wait_us", "run_waits", "stream_waits",
]  # fmt: skip


def _medians(rows: pd.DataFrame, name: str, keep: Sequence[str] = ()) -> pd.DataFrame:
    return median(rows.rename(columns={name: "value"}), name, keep)


def table(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return a row for each step of each instance size, in print, in the model and measured."""
    rows = model.step_times(summary, published)
    rows = rows.merge(model.printed_steps(published), on=["n", "cost_range", "step"])
    c = _medians(tables.c_step_times(summary), "c_ms", ["step"])
    c = c.merge(model.c_times(summary, published), on=model.STEP)
    c = c[c["step"].isin(("step_1", "step_6"))]
    rows = rows.merge(_medians(tables.step_times(summary), "cuda_ms", ["step"]), on=model.STEP)
    rows = rows.merge(c[[*model.STEP, "c_ms", "expected_c_ms"]], on=model.STEP, how="left")
    runs = clocks.stream_runs(summary)
    for more in (clocks.by_device(summary), clocks.by_small_runs(runs)):
        rows = rows.merge(more, on="source", how="left")
    rows = rows.merge(_medians(runs, "stream_waits"), on=KEY, how="left")
    rows = rows.assign(run_waits=rows.groupby(KEY)["waits"].transform("sum"))
    return tables.order(rows, by=("n", "cost_range", "source"))[COLUMNS]


def compare(found: pd.DataFrame) -> list[Comparison]:
    """Judge the model: the times of both cards, of the C code, and two prices measured again."""
    if found.empty:
        return not_measured("the card's prices, on an H200", "model")
    items: list[Comparison] = []
    for _, rows in found.groupby("source", sort=False):
        by = ["step", "cost_range"]
        items += alike(rows, "measured time over expected", "cuda_ms", "expected_ms", by, BAND)
        items += alike(
            rows, "print's time over the model's", "published_ms", "print_model_ms", by, PRINT_BAND
        )
        items += alike(rows, "C time over expected", "c_ms", "expected_c_ms", by, BAND)
        runs = rows.drop_duplicates(["n", "cost_range"])
        items += alike(
            runs, "waits on the authors' matrices over ours", "stream_waits", "run_waits",
            ["cost_range"], STREAM_BAND,
        )  # fmt: skip
        one = rows.iloc[:1]
        for what, again, price in (
            ("bandwidth by the device's clock over the fitted one", "clock_gb_s", "gb_s"),
            ("wait of small runs over the fitted one", "small_wait_us", "wait_us"),
        ):
            for value in (one[again] / one[price]).dropna():
                items.append(predicted(what, 1 / BAND, BAND, round(float(value), 3)))
    return items


def experiment(*cells: Callable[[Plan], Sequence[Cell]]) -> Experiment:
    """Return the experiment; its cells are those of the tables that the model explains."""
    return Experiment(
        name="card", kind="table",
        title="Does the card explain the steps' times: waits, bytes and searches of each step",
        cells=lambda plan: [cell for some in cells for cell in some(plan)],
        table=table, compare=compare,
    )  # fmt: skip


def explained(
    experiment: Experiment, label: str, totals: expected.Table, print_of: str = ""
) -> Experiment:
    """Return an experiment of CUDA times with the expected ones beside them, and causes of growth.

    Parameters
    ----------
    experiment : Experiment
        Of `papers.common.evidence.declarations.Times`.
    label, print_of : str
        The labels of the measured times, and of the printed ones where it is another.
    totals : callable
        `expected.totals` or its like.
    """
    both = replace(experiment, table=expected.beside(experiment.table, totals))
    words = f"{causes.WORDS} as the exponent"
    pair = f"published_{print_of or label}_ms", f"{label}_ms"
    return causes.of_curves(both, *pair, words)


def explained_speedups(experiment: Experiment) -> Experiment:
    """Return Table 2 with the expected speedups beside it, and causes of its growth with n."""
    both = replace(experiment, table=expected.beside(experiment.table, expected.speedups))
    words = f"{causes.C_WORDS}; as the exponent"
    return causes.of_curves(both, "published_speedup", "speedup", words)
