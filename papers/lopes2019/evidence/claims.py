"""Judges the testable sentences of [L19], the `statements`, on our numbers and on print's.

A sentence has as many figures as there are cells; the worst of them is shown and decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product

import numpy as np
import pandas as pd

from papers.common.evidence.comparisons import effect, not_measured, signs
from papers.common.evidence.tables import NOT_MEASURED, Published, beside
from papers.common.model import Cell, Comparison, Experiment, Instance, Plan, Scope
from papers.lopes2019.evidence.claim_numbers import LEVELS, WAY, Numbers, measured, printed
from papers.lopes2019.evidence.statements import STATEMENTS, Statement
from papers.lopes2019.evidence.tables import AS_PRINTED, LABELS

# ------------------------------------------------------------------------------- table, verdicts

KEYS = ["claim", "figure", "cell"]


def table(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return the figures behind the statements: medians over the seeds, print's own beside them.

    Returns
    -------
    DataFrame
        ``claim`` (its id), ``figure``, ``cell``, ``source``, ``published_figure``,
        ``measured_figure`` and ``says``: the sentence in our own words.
    """
    own = of_print(published)
    ours = _figures(measured(summary)).rename(columns={"value": "measured_figure"})
    own = own.rename(columns={"value": "published_figure"}).drop(columns="source")
    found = beside(own, ours, KEYS)
    place = {statement.claim: k for k, statement in enumerate(STATEMENTS)}
    found = found.sort_values("claim", key=lambda ids: ids.map(place), kind="stable")
    found = found.assign(says=found["claim"].map(sentences(published))).reset_index(drop=True)
    return found[[*KEYS, "source", "published_figure", "measured_figure", "says"]]


def sentences(published: Published) -> dict[str, str]:
    """Return the sentences in our own words by their ids, with the number if print has one."""
    rows = published("text_claims").itertuples(index=False)
    return {
        row.id: row.quantity + ("" if pd.isna(row.value) else f" {row.value:g}") for row in rows
    }


def of_print(published: Published) -> pd.DataFrame:
    """Return the figures of print's own numbers: `KEYS`, ``source`` and ``value``."""
    return _figures(printed(published))


def _figures(x: Numbers) -> pd.DataFrame:
    """Return all figures: medians over the seeds, with `KEYS`, ``source`` and ``value``."""
    parts = []
    for statement in STATEMENTS:
        for name, series in statement.of(x).items():
            parts.append(_rows(series).assign(claim=statement.claim, figure=name))
    return pd.concat(parts, ignore_index=True)[[*KEYS, "source", "value"]]


def _rows(series: pd.Series) -> pd.DataFrame:
    """Return the medians over the seeds, with ``source``, ``cell`` and ``value``."""
    levels = [name for name in LEVELS if name in series.index.names and name != "seed"]
    values = series.astype(float)
    known = values[np.isfinite(values)].groupby(level=levels, sort=False).median()
    rows = known.rename("value").reset_index()
    cell = pd.Series("", rows.index, dtype=object)
    for name, text in (("n", "n={} "), ("cost_range", "range {} ")):
        if name in rows and len(rows):
            cell += rows[name].map(text.format)
    return rows.assign(cell=cell.str.strip())[["source", "cell", "value"]]


def verdicts(table: pd.DataFrame) -> list[Comparison]:
    """Judge every statement of which there are figures; say where print's own do not keep it."""
    found: list[Comparison] = []
    known = table[table["source"] != NOT_MEASURED].dropna(subset=["measured_figure"])
    for _, rows in known.groupby("source", sort=False):
        for statement in STATEMENTS:
            mine = rows[rows["claim"] == statement.claim]
            if len(mine):
                found.append(judge(statement, mine, "measured_figure"))
    return found or not_measured("statements of sections 4 and 5 and of Appendix B", "claim")


def judge(statement: Statement, rows: pd.DataFrame, column: str) -> Comparison:
    """Judge one statement by the figures of one column, none of which is missing.

    Parameters
    ----------
    statement : Statement
    rows : DataFrame
        Its rows of one source: columns of `table`.
    column : {"measured_figure", "published_figure"}
    """
    says, note = str(rows["says"].iloc[0]), _of_print(statement, rows)
    name = f"{statement.claim}: {statement.figure}"
    if statement.share is not None:
        wins = int(_kept(statement, rows[column]).sum())
        return signs(name, says, wins, len(rows), statement.share, note=note)
    worst = _worst(statement, rows, column)
    if len(rows) > 1:
        where = " ".join(filter(None, (worst["figure"], worst["cell"])))
        note = "; ".join(filter(None, (f"the worst of {len(rows)} figures: {where}", note)))
    return effect(
        name, says, round(float(worst[column]), 4), statement.at_least, statement.at_most, note
    )


def _kept(statement: Statement, values: pd.Series) -> pd.Series:
    """Whether each figure keeps the statement's bound."""
    if statement.at_least is not None:
        return values >= statement.at_least
    return values <= statement.at_most


def _worst(statement: Statement, rows: pd.DataFrame, column: str) -> pd.Series:
    """Return the row that is furthest on the wrong side of the bound, or nearest to it."""
    values = rows[column]
    return rows.loc[values.idxmin() if statement.at_least is not None else values.idxmax()]


def _of_print(statement: Statement, rows: pd.DataFrame) -> str:
    """Return a remark on print's own figures, where the same bound is too much for them."""
    own = rows.dropna(subset=["published_figure"])
    kept = _kept(statement, own["published_figure"])
    if kept.all() or (statement.share is not None and kept.mean() >= statement.share):
        return ""
    worst = _worst(statement, own, "published_figure")["published_figure"]
    return f"print keeps it in {kept.sum()} of its own {len(own)} figures, the worst is {worst:.3g}"


# ------------------------------------------------------------------------------- cells

SIZES: Mapping[str, tuple[int, ...]] = {
    "smoke": (), "quick": (512, 1024), "paper": (512, 1024, 2048, 4096, 8192),
}  # fmt: skip
STEPS_OF_C = 2048
"""The largest n of which the C code's steps are clocked at the ranges that Table 3 leaves out."""

WAY_SIZES = (512, 8192)
"""The sizes on which the configurations `WAY` are compared, those of the waterfall."""


def cells(plan: Plan) -> list[Cell]:
    """Plan the codes as printed with their steps, Appendix B's kernels, and `WAY`.

    Without a GPU these are the C code's: small counts and times of the executor judge nothing.
    """
    wanted: list[Cell] = []
    for n, label, seed in product(SIZES[plan.preset], LABELS, plan.seeds):
        instance = Instance("uniform", n, label, seed=seed)
        both: tuple[Scope, ...] = ("run", "steps")
        clocked = label == "n" or n <= STEPS_OF_C
        wanted.append(Cell("lopes2019:cpu_c", instance, both if clocked else ("run",)))
        if plan.gpu:
            wanted.append(Cell("datenagi2016:tree", instance))
            wanted.append(Cell("lopes2019:gpu", instance, both, AS_PRINTED))
            wanted += [Cell("lopes2019:gpu", instance, options=one) for one in _others(n)]
    return wanted


def _others(n: int) -> list[tuple[tuple[str, str], ...]]:
    """Return the options of the kernels beside the printed ones."""
    names = dict.fromkeys(name for pair in WAY.values() for name in pair if name != "paper")
    way = names if n in WAY_SIZES else ()
    return [
        *((*AS_PRINTED, ("step_4", name)) for name in "ABC"),
        *((("configuration", name),) for name in way),
    ]


def experiment(*codes: Callable[[Plan], list[Cell]]) -> Experiment:
    """Return the experiment.

    Parameters
    ----------
    *codes : callable(Plan) -> list of Cell
        Plans of the CPU codes, those of Figures 4 and 5.
    """
    return Experiment(
        name="claims", title="Statements of sections 4, 5 and Appendix B", kind="table",
        cells=lambda plan: [cell for part in (*codes, cells) for cell in part(plan)],
        table=table, compare=verdicts, interleaved=True,
    )  # fmt: skip
