"""The maximum flow's tables, from measurements; see `tables`."""

from __future__ import annotations

import pandas as pd

from papers.common.evidence.tables import Published
from papers.common.model import GAVE_UP
from papers.lupinska_costscale.evidence.codes import (
    ASYNC,
    BLOCKING,
    FLOW_ON_GPU,
    HONG,
    HYBRID,
    OF_FLOW,
    PYMAXFLOW,
    REAL,
    REDRAWN,
    REDRAWN_EVERY,
    SYNTHETIC,
    WORST,
    facts,
    known_value,
)
from papers.lupinska_costscale.evidence.tables import INSTANCE, measured, order, with_options

AT = ["source", *INSTANCE]

ALIKE = ("seconds",)
"""The option that makes no other version: the time limit."""

COLUMNS = (BLOCKING, REDRAWN, *(code for code in OF_FLOW if code != BLOCKING))

GAVE_UP_S = {code: f"{code} gave up, s" for code in (BLOCKING, HONG)}
"""The column of the time after which one of the paper's slow versions stopped without an answer."""

GAVE_UP_WORST_S = {code: f"{code} gave up, s" for code in FLOW_ON_GPU if code != BLOCKING}
"""The same of `ak-4102`, where every version has a limit of time."""


def _versions(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `COLUMNS`; the code of the blocking version names its option.

    A cell of that version without the option is left out: it would say nothing of its default.
    """
    every = {BLOCKING: "0", REDRAWN: str(REDRAWN_EVERY)}
    rows = with_options(rows, ALIKE, redraw_every=lambda of: of.get("redraw_every", ""))
    code = rows["code"].copy()
    for name, option in every.items():
        code[(rows["code"] == BLOCKING) & (rows["redraw_every"] == option)] = name
    known = (rows["code"] != BLOCKING) | rows["redraw_every"].isin(list(every.values()))
    return rows.assign(code=code)[known]


def _columns(rows: pd.DataFrame, codes: tuple[str, ...]) -> pd.DataFrame:
    """Return the values by instance, a column a code."""
    rows = rows.drop_duplicates([*AT, "code"])
    wide = rows.set_index([*AT, "code"])["value"].unstack("code").reindex(columns=list(codes))
    wide.columns.name = None
    return wide.reset_index()


def _values(summary: pd.DataFrame) -> pd.DataFrame:
    """Return the flow values by instance: least, most, and the number of codes."""
    rows = measured(summary, tuple(OF_FLOW), "value", "answer")
    rows = with_options(rows, (*ALIKE, "redraw_every"))
    grouped = rows.groupby(AT, sort=False)["value"]
    return grouped.agg(least="min", most="max", codes="size").reset_index()


def name_of(family: str, n: int, label: str) -> str:
    """Return the name of an instance in tables."""
    if family == SYNTHETIC:
        return f"{label} {n} x {n}"
    return label if family in (REAL, "dimacs_flow") else f"{family} {n} x {n}"


def kind_of(family: str, label: str) -> str:
    """Return the kind of an instance, such as segmentation or stereo."""
    if family == REAL and label in facts().index:
        return str(facts().loc[label, "kind"])
    return {SYNTHETIC: "segmentation", "dimacs_flow": "worst case"}.get(family, "random")


def _table(summary: pd.DataFrame, worst: bool) -> pd.DataFrame:
    rows = _versions(measured(summary, tuple(OF_FLOW)))
    kernels = dict(measured(summary, tuple(FLOW_ON_GPU))[["source", "device"]].to_numpy()[::-1])
    rows = rows[(rows["label"] == WORST) == worst]
    wide = _columns(rows, COLUMNS).merge(_values(summary), on=AT, how="left")
    instances = list(zip(wide["family"], wide["n"], wide["label"], strict=True))
    texts = {
        "instance": [name_of(*one) for one in instances],
        "kind": [kind_of(family, label) for family, _, label in instances],
        "known": [known_value(family, label) for family, _, label in instances],
    }
    wide = wide.assign(**{name: pd.Series(made, wide.index) for name, made in texts.items()})
    right = (wide["least"] == wide["most"]) & (
        wide["known"].isna() | (wide["known"] == wide["least"])
    )
    devices = wide["source"].map(kernels).astype(object).fillna("")
    return wide.assign(value=wide["least"], right=right, device=devices)


def _given_up(summary: pd.DataFrame, names: dict[str, str]) -> pd.DataFrame:
    """Return the seconds after which a version stopped at its limit, by instance: `names`."""
    rows = _versions(measured(summary, tuple(names), GAVE_UP))
    wide = _columns(rows.assign(value=rows["value"] / 1000), tuple(names))
    return wide.rename(columns=names)


def _origin(family: str) -> str:
    """Return where a grid comes from."""
    return {REAL: "real", SYNTHETIC: "drawn"}.get(family, "random")


def flow_versions(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return times in ms of every version by instance; PyMaxflow's over our best on the GPU.

    ``right`` tells that all codes found one value, the known one if there is one.
    ``grid`` is "real", "drawn" from a photograph, or "random". The columns of `GAVE_UP_S` say when
    a version stopped without an answer.
    """
    wide = _table(summary, worst=False).merge(_given_up(summary, GAVE_UP_S), on=AT, how="left")
    wide = wide.assign(grid=wide["family"].map(_origin))
    ours = wide[[*FLOW_ON_GPU, REDRAWN]]
    names = [
        row.dropna().astype(float).idxmin() if row.notna().any() else ""
        for _, row in ours.iterrows()
    ]
    table = wide.assign(
        best=pd.Series(names, wide.index, object),
        pymaxflow_over_best=wide[PYMAXFLOW] / ours.min(axis=1),
        async_over_hybrid=wide[ASYNC] / wide[HYBRID],
    )
    table = order(table, by=("kind", "n", "instance"))
    return table[
        ["instance", "kind", "grid", "n", "source", "device", "value", "known", "right", *COLUMNS,
         *GAVE_UP_S.values(), "best", "pymaxflow_over_best", "async_over_hybrid"]
    ]  # fmt: skip


def ak(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return the times in ms on `ak-4102`, and the value of all codes beside the known one.

    ``codes`` is the number of those that ended; the last columns say when the others gave up.
    """
    stopped = _given_up(summary, GAVE_UP_WORST_S)
    table = _table(summary, worst=True).merge(stopped, on=AT, how="left")
    table = order(table, by=("instance",))
    return table[
        ["instance", "source", "device", "known", "value", "right", "codes", *COLUMNS,
         *GAVE_UP_WORST_S.values()]
    ]  # fmt: skip
