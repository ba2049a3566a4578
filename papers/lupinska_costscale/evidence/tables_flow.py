"""From measurements to the maximum flow's tables; see `tables`."""

from __future__ import annotations

import pandas as pd

from papers.common.evidence.tables import Published
from papers.common.model import GAVE_UP
from papers.lupinska_costscale.evidence.codes import (
    ASYNC,
    FLOW_ON_GPU,
    HONG,
    HYBRID,
    OF_FLOW,
    PYMAXFLOW,
    REAL,
    SYNTHETIC,
    WORST,
    facts,
    known_value,
)
from papers.lupinska_costscale.evidence.tables import INSTANCE, measured, order, with_options

AT = ["source", *INSTANCE]

ALIKE = ("redraw_every", "seconds")
"""Options that make no other version: how often the blocking one's heights are drawn anew, and when
the lock-free one gives up."""


def _columns(rows: pd.DataFrame, codes: tuple[str, ...]) -> pd.DataFrame:
    """Return the values by instance, a column a code."""
    rows = rows.drop_duplicates([*AT, "code"])
    wide = rows.set_index([*AT, "code"])["value"].unstack("code").reindex(columns=list(codes))
    wide.columns.name = None
    return wide.reset_index()


def _values(summary: pd.DataFrame) -> pd.DataFrame:
    """Return the flow values that the codes found by instance: least, most, and how many codes."""
    rows = with_options(measured(summary, tuple(OF_FLOW), "value", "answer"), ALIKE)
    grouped = rows.groupby(AT, sort=False)["value"]
    return grouped.agg(least="min", most="max", codes="size").reset_index()


def name_of(family: str, n: int, label: str) -> str:
    """Return what tables call an instance."""
    if family == SYNTHETIC:
        return f"{label} {n} x {n}"
    return label if family in (REAL, "dimacs_flow") else f"{family} {n} x {n}"


def kind_of(family: str, label: str) -> str:
    """Return what an instance shows."""
    if family == REAL and label in facts().index:
        return str(facts().loc[label, "kind"])
    return {SYNTHETIC: "segmentation", "dimacs_flow": "worst case"}.get(family, "random")


def _table(summary: pd.DataFrame, worst: bool) -> pd.DataFrame:
    rows = with_options(measured(summary, tuple(OF_FLOW)), ALIKE)
    rows = rows[(rows["label"] == WORST) == worst]
    wide = _columns(rows, tuple(OF_FLOW)).merge(_values(summary), on=AT, how="left")
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
    kernels = rows[rows["code"].isin(FLOW_ON_GPU)].drop_duplicates("source").set_index("source")
    devices = wide["source"].map(kernels["device"].to_dict()).astype(object).fillna("")
    return wide.assign(value=wide["least"], right=right, device=devices)


def _given_up(summary: pd.DataFrame) -> pd.DataFrame:
    """Return after how many seconds the lock-free version gave up, by instance."""
    rows = with_options(measured(summary, (HONG,), GAVE_UP), ALIKE).drop_duplicates(AT)
    return rows.assign(lock_free_gave_up_s=rows["value"] / 1000)[[*AT, "lock_free_gave_up_s"]]


def flow_versions(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Times in ms of every version by instance; PyMaxflow's over the best of ours on the GPU.

    ``right``: all codes found one value, the known one where it is known.
    ``lock_free_gave_up_s``: seconds after which the lock-free version stopped without an answer.
    """
    wide = _table(summary, worst=False).merge(_given_up(summary), on=AT, how="left")
    ours = wide[list(FLOW_ON_GPU)]
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
        ["instance", "kind", "n", "source", "device", "value", "known", "right", *OF_FLOW,
         "lock_free_gave_up_s", "best", "pymaxflow_over_best", "async_over_hybrid"]
    ]  # fmt: skip


def ak(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """`ak-4102`: times in ms and the value that all codes found beside the known one."""
    table = order(_table(summary, worst=True), by=("instance",))
    return table[
        ["instance", "source", "device", "known", "value", "right", "codes", *OF_FLOW]
    ]  # fmt: skip
