"""Matching sizes, other people's GPU codes, SciPy and `beyond`: the experiments of our own."""

import pytest
from deveci_matching.evidence.made_up import (
    BY_NAME,
    NUMBERS,
    PAPER,
    compared,
    eight,
    matrices,
    summary,
    table,
)

from papers.deveci_matching.evidence import sets, tables
from papers.deveci_matching.evidence.codes import BEST, BEYOND, cell


def sized(change=None):
    cells = [cell(code, g) for g in matrices(3) for code in (BEST, "HK", "SciPy")]

    def counters(code, graph):
        size = int(sets.maximum(graph.label))
        wrong = change(code, graph) if change else 0
        return {"cardinality": size + wrong, "initial_cardinality": 0 if code == "SciPy" else 7}

    return summary(cells, lambda code, graph: 1.0, counters)


def test_matching_sizes_are_the_known_ones():
    found = table("counts", sized())
    assert len(found) == 6
    assert found["equal"].all()
    assert found["same_start"].all()
    assert set(found["cells"]) == {3}
    assert set(found["known"]) == set(sets.ours()["maximum_matching"][:3])
    found = compared("counts", sized())
    assert {c.verdict for c in found} == {"holds"}
    assert {c.kind for c in found} == {"correctness"}


@pytest.mark.parametrize("who", [("HK",), (BEST, "HK", "SciPy")])
def test_a_wrong_size_is_seen(who):
    """One code off, or all of them off the known maximum."""
    real = [graph for graph in sets.thorough(PAPER) if graph.family == "matrix"]
    off = {graph for graph in real if not graph.permuted}
    rows = sized(lambda code, graph: -1 if code in who and graph in off else 0)
    bad = [c for c in compared("counts", rows) if c.verdict == "fails"]
    assert len(bad) == 1 + 3
    assert sum("original" in c.quantity for c in bad) == 3


def test_a_start_larger_than_the_maximum_is_seen():
    rows = sized()
    starts = rows["metric"] == "initial_cardinality"
    rows = rows.assign(median=rows["median"].where(~starts, 10**9))
    assert {c.verdict for c in compared("counts", rows)} == {"holds", "fails"}


def test_peers_know_the_sizes_of_their_graphs():
    known = tables.known_maxima(NUMBERS)
    assert known["uniform_n2000_d3", 2000, 1] == 1862
    assert known["skew_n10000_d8", 10000, 1] == 9216  # one peer's 9217 is wrong
    assert known["skew_n1000000_d8", 1000000, 1] == 925322


TIMES = {
    "NVIDIA H100 80GB HBM3": {"d4": 7.799, "d3": 40.763, "d8": 84.495},
    "NVIDIA H200": {"d4": 9.0514, "d3": 42.2729, "d8": 86.5589},
}
"""Medians of ECL-MM, by card and label."""


@pytest.mark.parametrize("card", TIMES)
def test_the_goals_beside_ecl_mm(card):
    """Each card has its own times; those of the other differ by 2 to 16 per cent."""
    theirs = TIMES[card]
    cells = BY_NAME["peers"].cells(PAPER)

    def milliseconds(best, beyond):
        def of(code, graph):
            return theirs[graph.label] * {BEST: best, BEYOND: beyond}.get(code, 9.0)

        return of

    rows = summary(cells, milliseconds(2.99, 0.99), card=card)
    found = compared("peers", rows)
    assert [(c.kind, c.verdict) for c in found] == [("goal", "holds")] * 6
    assert {c.note for c in found if c.quantity.startswith("best variant over")} == {BEST}
    peers = table("peers", rows)
    starts = peers[peers["code"] == BEYOND].groupby("graph")["start"].apply(list)
    assert set(map(tuple, starts)) == {("excluded", "included", "on the device")}
    medians = peers.drop_duplicates("graph").set_index("graph")["published_ecl_mm_ms"]
    assert {graph.split("_")[2]: time for graph, time in medians.items()} == theirs
    found = compared("peers", summary(cells, milliseconds(3.01, 1.01), card=card))
    assert [c.verdict for c in found] == ["fails"] * 6
    other = compared("peers", summary(cells, milliseconds(1, 1), card="Another card"))
    assert {c.verdict for c in other} == {"not measured"}


def test_copter2_beside_scipy():
    rows = summary(BY_NAME["copter2"].cells(PAPER), lambda code, graph: 4460.0)
    found = table("copter2", rows)
    mine = found[found["source"] == "this run"].set_index(["ordering", "code"])
    assert mine.loc[("original", BEST), "scipy_over_ours"] == pytest.approx(50)
    assert mine.loc[("permuted", "HK"), "published_scipy_s"] == 780
    assert set(mine["bound"]) == {"exact", "above"}
    assert {c.verdict for c in compared("copter2", rows)} == {"fails"}  # 50 and 175 times


@pytest.mark.parametrize(("slow_ms", "verdict"), [(222.0, "holds"), (224.0, "fails")])
def test_one_slow_code_on_copter2_is_enough(slow_ms, verdict):
    rows = summary(
        BY_NAME["copter2"].cells(PAPER), lambda code, graph: slow_ms if code == "HKDW" else 1.0
    )
    judged = {c.quantity.rpartition(", ")[2]: c for c in compared("copter2", rows)}
    assert judged["original"].verdict == verdict
    assert judged["original"].note == "HKDW; SciPy's time is exact"
    assert judged["permuted"].verdict == "holds"
    assert judged["permuted"].note == "HKDW; SciPy's time is a lower bound"


def test_beyond_beside_the_best_of_the_eight():
    rows = eight(matrices(4), lambda place: 0.25)
    found = table("beyond", rows)
    assert set(found["best_variant"]) == {"APFB GPUBFS MT"}
    first = found[found["name"] == sets.ours().index[1]].iloc[0]
    assert (first["best_ms"], first["beyond_ms"], first["cpu_ms"]) == (2, 0.5, 0.25)
    assert (first["beyond_over_best"], first["beyond_over_cpu"]) == (0.25, 2)
    judged = compared("beyond", rows)
    assert [c.measured for c in judged] == [pytest.approx(0.5 / 24**0.25, abs=1e-4)] * 2
    assert {(c.kind, c.verdict) for c in judged} == {("goal", "holds")}
    slower = rows.assign(median=rows["median"].where(rows["solver"] != "deveci_matching:beyond", 9))
    assert {c.verdict for c in compared("beyond", slower)} == {"fails"}
