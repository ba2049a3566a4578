"""The experiment `card`: run times, kernels and prices that the model expects, beside what we have.

The verdicts here are on the model, and it fails where its prices are wrong: a run or a kernel may
take `BAND` times the expected time or a `BAND`-th of it, on this card and on print's, and the two
measurements of a price may lie apart by no more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pandas as pd

from papers.common.evidence.comparisons import not_measured, predicted
from papers.common.evidence.tables import Published
from papers.common.model import Cell, Comparison, Experiment, Plan
from papers.kawtikwar_opts.evidence.card import expected, measured, printed
from papers.kawtikwar_opts.evidence.card.prices import BAND, PROFILED_N, Prices
from papers.kawtikwar_opts.evidence.card.work import Record
from papers.kawtikwar_opts.evidence.codes import VERSIONS
from papers.kawtikwar_opts.evidence.counter import CLOCKED_N

COLUMNS = ["what", "version", "n", "unit", "source", "device", "published", "print_model",
           "measured", "expected"]  # fmt: skip


def table(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return runs and kernels in ms as expected and measured, then prices in us, measured twice.

    A price stands under ``expected``, its second measurement under ``measured``, print's under
    ``print_model``. Without trusted prices, the prices stand alone.
    """
    rows = []
    for source, device, record in expected.records(summary):
        theirs, ours = printed.of_print(record, published), measured.of_record(record, published)
        if theirs is None:
            continue
        parts = _prices(record, theirs)
        parts += [
            *_runs(record, published, theirs, ours),
            *_kernels(record, published, theirs, ours),
        ]
        rows += [{**part, "source": source, "device": device} for part in parts]
    return pd.DataFrame(rows, columns=COLUMNS)


def _row(what: str, version: str, n: int, unit: str, *figures: float) -> dict[str, object]:
    names = ("published", "print_model", "measured", "expected")
    return {"what": what, "version": version, "n": n, "unit": unit,
            **dict(zip(names, figures, strict=True))}  # fmt: skip


def _prices(record: Record, theirs: Prices) -> list[dict[str, object]]:
    """Return the prices that are measured twice."""
    of_print = {
        "launch": theirs.launch, "megabyte": theirs.megabyte["opt1"], "turn": theirs.turn,
        "zero": theirs.zero.get(CLOCKED_N, np.nan), "held": theirs.held,
    }  # fmt: skip
    return [
        _row(name, "", each.n, "us", np.nan, of_print.get(name, np.nan), each.again, each.price)
        for name, each in measured.twice(record).items()
    ]


def _runs(
    record: Record, published: Published, theirs: Prices, ours: Prices | None
) -> Iterable[dict[str, object]]:
    times_of = published("table2").set_index(["version", "n"])["time_ms"]
    for version in VERSIONS:
        for n in record.sizes:
            counted = record.work(version, n)
            if counted is not None and n in theirs.zero:
                times = [
                    np.nan if x is None else x.run_ms(counted, version) for x in (theirs, ours)
                ]
                yield _row("run", version, n, "ms", times_of[version, n], times[0],
                           record(version, n), times[1])  # fmt: skip


def _kernels(
    record: Record, published: Published, theirs: Prices, ours: Prices | None
) -> Iterable[dict[str, object]]:
    for (version, kernel), ms in printed.kernels(published).items():
        counted = record.work(version, PROFILED_N)
        assert counted is not None, "print's prices need these counts"
        times = [
            np.nan if x is None else x.kernel_ms(counted, version, kernel) for x in (theirs, ours)
        ]
        ours_ms = record.kernel_ms(version, PROFILED_N, kernel)
        yield _row(kernel, version, PROFILED_N, "ms", ms, times[0], ours_ms, times[1])


def compare(found: pd.DataFrame) -> list[Comparison]:
    """Judge the model: runs and kernels of both cards, and the prices that are measured twice."""
    items = []
    for row in found.itertuples(index=False) if len(found) else ():
        where = f"{row.what} of {row.version}, n={row.n}" if row.version else f"price: {row.what}"
        band = measured.HELD_BAND if row.what == "held" else BAND
        items += _judged(f"measured over expected: {where}", row.measured, row.expected, band)
        items += _judged(f"print over its model: {where}", row.published, row.print_model, BAND)
    return items or not_measured("the prices of card and host, on an H200", "model")


def _judged(what: str, figure: float, model: float, band: float) -> list[Comparison]:
    if np.isnan(figure) or np.isnan(model):
        return []
    return [predicted(what, 1 / band, band, round(float(figure / model), 3))]


def experiment(*cells: Callable[[Plan], Sequence[Cell]]) -> Experiment:
    """Return the experiment; its cells are those of the tables that the model explains."""
    return Experiment(
        name="card", kind="table",
        title="Do the prices of card and host explain what print has not",
        cells=lambda plan: [cell for some in cells for cell in some(plan)],
        table=table, compare=compare,
    )  # fmt: skip
