"""The spread of counts between repetitions, on made-up measurements."""

import pandas as pd
import pytest
from deveci_matching.evidence.made_up import matrices, summary

from papers.deveci_matching.evidence.causes import races
from papers.deveci_matching.evidence.codes import VARIANTS, cell

GRAPHS = matrices(6, ("original",))


def run(apfb, apsb):
    cells = [cell(code, graph) for graph in GRAPHS for code in (*VARIANTS, "HK", "PFP")]
    rows = summary(
        cells, lambda code, graph: 2000.0,
        lambda code, graph: {"bfs_iterations": 1} if code in VARIANTS else {},
    )  # fmt: skip

    def counted(metric, options, given):
        if metric != "bfs_iterations":
            return given
        return apsb if "=apsb" in options else apfb

    columns = rows["metric"], rows["options"], rows["values"]
    values = [counted(*each) for each in zip(*columns, strict=True)]
    return rows.assign(values=pd.Series(values, rows.index))


@pytest.mark.parametrize(
    ("apfb", "apsb", "overlap", "crossed"),
    [
        ((3, 3, 2), (2, 2, 2), True, True),
        ((3, 3, 3), (2, 2, 2), False, True),
        ((3, 4, 5), (1, 3, 1), True, True),
        ((2, 2, 3), (3, 4, 5), True, False),
    ],
)
def test_counts_overlap_where_some_repetitions_meet(apfb, apsb, overlap, crossed):
    found = races.overlaps(run(apfb, apsb))
    assert len(found) == len(GRAPHS)
    assert (found["GPUBFS CT overlap"] == overlap).all()
    assert (found["GPUBFS CT crossed"] == crossed).all()
