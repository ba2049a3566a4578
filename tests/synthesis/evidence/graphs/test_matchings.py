"""The call for matchings beside SciPy's and ECL-MM, from a made-up summary."""

import pandas as pd
import pytest
from synthesis.evidence.graphs.made_up import CARD, PAPER, rows_of

from papers.common.evidence import published
from papers.common.evidence.judges import by_origin
from papers.common.model import Plan
from papers.deveci_matching.evidence import sets
from papers.synthesis.evidence.graphs import matchings
from papers.synthesis.evidence.measured.rows import read

NUMBERS = published.loader("synthesis")
ECL = {"uniform_n100000_d4": 9.0514, "uniform_n1000000_d3": 42.2729, "skew_n1000000_d8": 86.5589}
"""ECL-MM's medians on the H200."""
MATCHED = {
    (row.n, row.degree, row.kind): row.cardinality for row in NUMBERS(matchings.PEERS).itertuples()
}


def size_of(cell):
    one = cell.instance
    if one.family == "matrix":
        return sets.maximum(one.label)
    key = (one.n, int(one.label[1:]), one.family.partition("_")[0]) if one.label[0:2] != "de" else 0
    return MATCHED.get(key, 1)


def made(ms, device=CARD, sizes=size_of, plan=PAPER):
    chosen = {matchings.CALL: "deveci_matching:beyond"}
    return rows_of(matchings.cells(plan), ms, device, chosen, "cardinality", sizes)


def table_of(call_ms, scipy_ms=1.0, run_ms=1.0, **more):
    times = {matchings.CALL: call_ms, matchings.SCIPY: scipy_ms, matchings.RUN: run_ms}
    return matchings.table(made(lambda cell: times[cell.solver], **more), NUMBERS)


@pytest.mark.parametrize(
    ("call_ms", "run_ms", "ecl", "scipy"),
    [(1.5, 1.5, ["holds"] * 3, "holds"), (2.5, 2.0, ["fails", "holds", "holds"], "fails"),
     (1.5, 20.0, ["fails"] * 3, "holds"), (20.0, 1.0, ["holds"] * 3, "fails")],
)  # fmt: skip
def test_goals_beside_ecl_mm_and_scipy(call_ms, run_ms, ecl, scipy):
    """Beside ECL-MM a run is judged, and not the call."""
    table = table_of(call_ms, run_ms=run_ms)
    goals = [i for i in by_origin(matchings.compare, table) if i.kind == "goal"]
    beside = {i.quantity: i for i in goals if "ECL-MM" in i.quantity}
    assert sorted(i.verdict for i in beside.values()) == sorted(ecl)
    for graph, theirs in ECL.items():
        item = beside[f"a run over ECL-MM's, {graph}"]
        assert item.measured == pytest.approx(run_ms / theirs, abs=1e-4)
        assert item.note.startswith("by deveci_matching:beyond")
    shares = table.dropna(subset=["over_ecl_mm"])
    assert table["run_ms"].notna().sum() == len(shares) == 3
    assert sorted(shares["over_ecl_mm"]) == pytest.approx(sorted(call_ms / t for t in ECL.values()))
    others = {i.quantity: i.verdict for i in goals if "ECL-MM" not in i.quantity}
    start = "the call over SciPy's, worst of "
    assert set(others) == {
        start + group
        for group in (
            "real matrices, original", "real matrices, permuted", "paths, original",
            "paths, permuted", "meshes, original", "triangles, original", "layers, original",
                "layers, permuted", "random graphs, original",
        )
    }  # fmt: skip
    assert set(others.values()) == {scipy}


def test_one_slow_graph_fails_its_group_and_is_named():
    def ms(cell):
        slow = cell.instance.label == "wing" and cell.instance.permuted
        return (3.0 if slow else 0.5) if cell.solver == matchings.CALL else 1.0

    found = by_origin(matchings.compare, matchings.table(made(ms), NUMBERS))
    failed = [item for item in found if item.verdict == "fails"]
    assert [i.quantity for i in failed] == [
        "the call over SciPy's, worst of real matrices, permuted"
    ]
    assert failed[0].note.startswith("wing deveci_matching:beyond, the worst of ")


def test_a_matching_that_is_too_small_is_told():
    def sizes(cell):
        return size_of(cell) - (cell.instance.label == "wing")

    found = matchings.compare(table_of(1.0, sizes=sizes))
    (sizes,) = [item for item in found if item.kind == "correctness"]
    assert (sizes.verdict, sizes.published - sizes.measured) == ("fails", 2)
    (sizes,) = [i for i in matchings.compare(table_of(1.0)) if i.kind == "correctness"]
    assert sizes.verdict == "holds"


@pytest.mark.parametrize("device", ["NVIDIA A100", "CPU executor"])
def test_ecl_mm_stands_beside_its_own_card_alone(device):
    table = table_of(1.0, device=device)
    assert table["ecl_mm_ms"].isna().all()
    goals = [item for item in matchings.compare(table) if item.kind == "goal"]
    assert not any("over ECL-MM" in item.quantity for item in goals[device == "CPU executor" :])
    assert (device == "CPU executor") == (goals[0].verdict == "not measured")


def test_the_run_alone_is_timed_where_ecl_mm_was_and_on_a_gpu():
    cells = [cell for cell in matchings.cells(PAPER) if cell.solver == matchings.RUN]
    assert [(c.instance.family, c.instance.n, c.instance.label) for c in cells] == list(
        matchings.ECL_GRAPHS
    )
    assert {(cell.scopes, cell.options, cell.instance.permuted) for cell in cells} == {
        (("run",), (), False)
    }
    for preset in ("smoke", "quick", "paper"):
        solvers = {cell.solver for cell in matchings.cells(Plan(preset, False))}
        assert matchings.RUN not in solvers


def test_a_record_without_runs_makes_its_table_and_judges_none_of_them():
    summary = made(lambda cell: 1.0)
    table = matchings.table(summary[summary["solver"] != matchings.RUN], NUMBERS)
    assert table[["run_ms", "run_over_ecl_mm"]].isna().all(axis=None)
    assert table["over_ecl_mm"].notna().sum() == 3
    goals = [item for item in matchings.compare(table) if item.kind == "goal"]
    assert len(goals) == 9
    assert not any("ECL-MM" in item.quantity for item in goals)


def test_graphs_of_a_run_are_told_apart():
    table = table_of(1.0)
    assert len(table) == 2 * 83 + 3 + 8
    assert not table.duplicated(["graph", "ordering", "n"]).any()
    assert set(table["chosen"]) == {"deveci_matching:beyond"}
    with_scipy = table.dropna(subset=["scipy_ms"])
    assert 130 < len(with_scipy) < len(table)
    permuted = with_scipy[with_scipy["ordering"] == "permuted"]
    assert not permuted["graph"].isin(["copter2", "grid_n490000", "triangle_n2000"]).any()


def test_ecl_mms_times_are_those_of_the_papers_own_list():
    theirs = published.load("deveci_matching", "peers")
    ours = published.load("synthesis", matchings.PEERS)
    wanted = theirs[(theirs["peer"] == "ecl-mm") & theirs["graph"].isin(ours["graph"])]
    pd.testing.assert_frame_equal(ours, wanted.reset_index(drop=True))
    assert len(ours) == 18


def test_without_a_gpu_files_are_left_alone():
    for preset in ("smoke", "quick", "paper"):
        families = {one.family for one in matchings.graphs(Plan(preset, False))}
        assert "matrix" not in families


def test_turning_on_the_device_saves_most_of_a_large_graph_s_call_and_slows_none():
    found = read("graphs/turned")
    ratio = found["call_ms"] / found["before_ms"]
    assert ratio.max() < 1.1  # what one core looks at first takes what it took
    assert (ratio[(found["way"] == "at once") & (found["n"] == 1_000_000)] < 0.15).all()
