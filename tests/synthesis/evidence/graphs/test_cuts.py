"""The calls for cuts beside CPU codes, from a made-up summary."""

import pandas as pd
import pytest
from synthesis.evidence.graphs.made_up import CARD, PAPER, rows_of

from papers.common.evidence import published
from papers.common.evidence.judges import by_origin
from papers.lupinska_costscale.evidence.codes import WORST
from papers.synthesis.evidence.graphs import cuts

NUMBERS = published.loader("synthesis")
SHARE = 1101 / 2364


def table_of(ms, device=CARD, cells=None):
    chosen = {cuts.CALL: "lupinska_costscale:gpu_relabel"}
    wanted = cuts.cells(PAPER) if cells is None else cells
    return cuts.table(rows_of(wanted, ms, device, chosen, "value", lambda cell: 5), NUMBERS)


def times(call, pymaxflow=100.0, others=1000.0):
    known = {cuts.CALL: call, cuts.PYMAXFLOW: pymaxflow}
    return lambda cell: known.get(cell.solver, others)


@pytest.mark.parametrize(
    ("call_ms", "verdicts"),
    [(3.0, ["holds"] * 4), (8.0, ["holds", "holds", "holds", "fails"]),
     (20.0, ["holds", "fails", "holds", "fails"]), (60.0, ["fails"] * 4)],
)  # fmt: skip
def test_goals_on_the_real_grids(call_ms, verdicts):
    found = by_origin(cuts.compare, table_of(times(call_ms)))
    real = [item for item in found if "real grids" in item.quantity]
    assert [item.verdict for item in real] == verdicts
    assert real[1].measured == pytest.approx(call_ms / 100)
    assert real[3].measured == pytest.approx(call_ms / 100 / SHARE, abs=1e-4)
    assert real[1].note == f"{18 * call_ms:.4g} ms in all"


def test_one_slow_grid_fails_the_worst_and_is_named():
    def ms(cell):
        slow = cell.instance.label == "den_page" and cell.solver == cuts.CALL
        return 51.0 if slow else times(1.0)(cell)

    worst, every, _, _ = by_origin(cuts.compare, table_of(ms))[:4]
    assert (worst.verdict, every.verdict) == ("fails", "holds")
    assert worst.note == "den_page lupinska_costscale:gpu_relabel, the worst of 18"


@pytest.mark.parametrize(("call_ms", "verdict"), [(199.0, "holds"), (201.0, "fails")])
def test_goals_on_long_grids_and_the_worst_case(call_ms, verdict):
    found = [
        i for i in by_origin(cuts.compare, table_of(times(call_ms))) if "real" not in i.quantity
    ]
    assert {item.quantity.rpartition(", ")[2] for item in found} == {
        WORST, "oblong_grid 4x100000 4", "channel_grid 4x100000 4"
    }  # fmt: skip
    assert {item.verdict for item in found} == {verdict}


def test_the_best_code_is_the_fastest_that_was_measured():
    table = table_of(times(1.0, pymaxflow=100.0, others=40.0)).set_index("instance")
    assert table.loc["den_page", "best_ms"] == 40
    assert table.loc["seg_camera", "best_ms"] == 100
    assert pd.isna(table.loc["seg_camera", "scipy_ms"])
    assert table.loc["seg_camera", "better_ms"] == pytest.approx(100 * SHARE)
    assert pd.isna(table.loc[WORST, "better_ms"])


def test_only_cuts_of_the_gpu_have_a_floor(monkeypatch):
    """Of the counts that the record has of each answer, and the card's prices."""
    cells = cuts.cells(PAPER)[:6]
    summary = rows_of(cells, times(3.0), CARD, {cuts.CALL: cuts.GPU}, "value", lambda cell: 5)
    counts = {"pixels": 1000, "neighbours": 4, "device_relabels": 2, "bfs_levels": 7}
    usual = summary[summary["metric"] == "value"]
    more = [usual.assign(metric=name, median=float(count)) for name, count in counts.items()]
    prices = {CARD: {"barrier": 0.25, "byte": 0.001, "up": 0.01}}
    monkeypatch.setattr(cuts.peers, "prices", lambda published: prices)
    table = cuts.table(pd.concat([summary, *more]), NUMBERS)
    floor = 4 * 6 * 1000 * 0.01 + (3 * 2 + 7) * 0.25
    assert table["floor_ms"].tolist() == pytest.approx(len(table) * [floor])
    assert table["call_over_floor"].tolist() == pytest.approx(len(table) * [3.0 / floor])
    by_cpu = summary.assign(metric=summary["metric"].str.replace("gpu_relabel", "pymaxflow"))
    table = cuts.table(pd.concat([by_cpu, *more]), NUMBERS)
    assert table["floor_ms"].isna().all()


def test_grids_that_are_missing_leave_the_goals_unjudged():
    cells = [cell for cell in cuts.cells(PAPER) if cell.instance.label != "den_page"]
    found = by_origin(cuts.compare, table_of(times(1.0), cells=cells))
    assert not any("real grids" in item.quantity for item in found)


def test_without_a_gpu_nothing_is_judged():
    found = cuts.compare(table_of(times(1.0), "CPU executor"))
    assert [item.verdict for item in found] == ["not measured"]


def test_the_better_codes_times_are_those_of_the_papers_own_list():
    pd.testing.assert_frame_equal(
        published.load("synthesis", cuts.PEERS), published.load("lupinska_costscale", "peers")
    )
    assert cuts.share_of_better(NUMBERS) == pytest.approx(SHARE)
