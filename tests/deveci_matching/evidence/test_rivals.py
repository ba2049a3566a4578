"""Today's rivals, PFP's memory and the stand-ins' fit, on made-up measurements."""

import pytest
from deveci_matching.evidence.made_up import PAPER, compared, name_of, summary, table

from papers.common.model import Plan
from papers.deveci_matching.evidence import at_size, codes, rivals, sets
from papers.deveci_matching.evidence.codes import BEYOND, GRAFT

FAST = {BEYOND: 1.0, GRAFT: 3.0}


@pytest.mark.parametrize(("graft", "verdict"), [(3.0, "holds"), (0.5, "fails")])
def test_the_fastest_rival_with_any_start_is_the_one_to_beat(graft, verdict):
    times = FAST | {GRAFT: graft}
    rows = summary(rivals.cells(PAPER), lambda code, graph: times.get(code, 9.0))
    found = table("rivals", rows)
    assert {(row.code, row.start) for row in found.itertuples()} == set(rivals.STARTED)
    judged = compared("rivals", rows)
    assert {c.verdict for c in judged} == {verdict}
    assert len(judged) == 2 * len(rivals.GRAPHS["paper"])
    assert all(GRAFT in c.note for c in judged)


def test_every_start_is_known_again():
    for code, start in rivals.STARTED:
        one = codes.cell(code, sets.generated({"delaunay": (8,)})[0], start=start)
        options = ",".join(f"{name}={value}" for name, value in one.options)
        assert codes.code_of(one.solver, options) == (code, start)


@pytest.mark.parametrize(("large", "verdict"), [(100.0, "holds"), (10.0, "fails")])
def test_memory_is_the_cause_if_an_edge_takes_longer_in_a_larger_graph(large, verdict):
    rows = summary(
        rivals.latency_cells(PAPER),
        lambda code, graph: (large if graph.n == 2**20 else 5.0) * graph.n / 1e5,
        lambda code, graph: {"edges_scanned": 10 * graph.n},
    )
    found = table("latency", rows).set_index(["n", "ordering"])
    assert found.loc[(2**20, "original"), "pfp_ns"] == pytest.approx(large)
    assert {c.verdict for c in compared("latency", rows)} == {verdict}


@pytest.mark.parametrize(("share", "verdict"), [(1.0, "holds"), (0.8, "fails")])
def test_a_stand_in_with_another_structural_rank_is_seen(share, verdict):
    def counters(code, graph):
        return {"cardinality": int(share * graph.n), "initial_cardinality": graph.n // 2}

    rows = summary(at_size.stand_ins(PAPER), lambda code, graph: 2.0, counters)
    found = table("stand_ins", rows)
    means = found[found["name"] == "all at full size"]
    assert means[["gpu_ms", "hk_ms"]].to_numpy().tolist() == [[pytest.approx(2.0)] * 2] * 2
    assert found["full_size"].all()
    judged = compared("stand_ins", rows)
    assert {c.quantity.split(",")[0] for c in judged} == {"matched share of Hamrle3 stand-in"}
    assert {c.verdict for c in judged} == {verdict}


def test_stand_ins_of_full_size_have_their_matrices_rows_and_are_in_no_set():
    planned = {one.instance for one in at_size.stand_ins(PAPER)}
    assert len(planned) == 2 * 16
    for graph in planned:
        assert graph.n == sets.facts().loc[graph.label, "rows"]
        assert sets.kind_of(graph.family) == sets.STAND_IN
        assert name_of(graph).endswith("stand-in")
    assert at_size.stand_ins(Plan("quick", gpu=True)) == []
