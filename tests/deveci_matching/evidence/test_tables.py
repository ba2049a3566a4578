"""Tables 1 and 2 and Figure 2 with their verdicts, on made-up measurements and on print's own."""

import math

import numpy as np
import pytest
from deveci_matching.evidence.made_up import (
    BY_NAME,
    NUMBERS,
    PAPER,
    compared,
    eight,
    levels_of,
    matrices,
    name_of,
    printed_ms,
    summary,
    table,
)

from papers.common.evidence import plots
from papers.common.evidence.tables import NOT_MEASURED
from papers.common.model import Plan
from papers.deveci_matching.evidence import experiments, sets, tables, verdicts
from papers.deveci_matching.evidence.codes import cell


def test_published_numbers_are_whole():
    first, second = NUMBERS("table1"), NUMBERS("table2")
    assert len(first) == 4 * 8
    assert len(second) == 20 * 2 * 4
    assert first["geomean_time_s"].sum() == pytest.approx(126.90)
    # The one entry of Table 1 that Table 2 gives.
    gpu = second[(second["algorithm"] == "GPU") & (second["ordering"] == "original")]["time_s"]
    assert round(tables.geometric_mean(gpu), 2) == 1.93
    assert set(NUMBERS("text_claims")["id"]) == {f"DE-{letter}" for letter in "abcdefghijklmno"}


@pytest.mark.parametrize("count", [2, 8])
def test_p_dbfs_stands_beside_print_at_prints_threads_alone(monkeypatch, count):
    """Its time at two threads has a column of its own, which no comparison with print reads."""
    monkeypatch.setenv("NUMBA_NUM_THREADS", str(count))
    names = list(sets.twenty().index[:6])
    graphs = [sets.matrix(name) for name in names]
    codes_of_print = tables.OF_TABLE_2.values()
    rows = summary([cell(code, g) for g in graphs for code in codes_of_print], lambda *_: 4.0)
    found = table("table2", rows)
    mine = found[found["source"] == "this run"]
    own = "p_dbfs_s" if count == 8 else "p_dbfs_2_s"
    assert (mine[own] == 0.004).all()
    assert mine["p_dbfs_s"].notna().all() == (count == 8)
    assert {name for name in found if name.startswith("p_dbfs_")} == {
        own,
        "p_dbfs_s",
        "p_dbfs_16_s",
    }
    told = [c for c in compared("table2", rows) if c.verdict != "not measured"]
    told = [c.quantity for c in told if c.measured is not None]
    assert any("HK" in quantity for quantity in told)
    assert any("P-DBFS" in quantity for quantity in told) == (count == 8)


def test_geometric_means_of_the_variants():
    rows = eight(matrices(6), lambda place: 2000.0 if place <= 5 else 1.0)
    first = table("table1", rows)
    mine = first[first["source"] == "this run"]
    assert len(mine) == 6 * 8
    slow = mine[mine["instance_set"] == "O_S1"]
    of = slow.set_index(["algorithm", "bfs_kernel", "thread_mode"])
    assert set(slow["graphs"]) == {5}
    assert of.loc[("APFB", "GPUBFS", "MT"), "measured_s"] == pytest.approx(120 ** (1 / 5) / 1e3)
    assert of.loc[("APsB", "GPUBFS-WR", "CT"), "measured_s"] == pytest.approx(8 * 120**0.2 / 1e3)
    # APFB GPUBFS-WR CT is the fourth in order.
    assert of.loc[("APsB", "GPUBFS-WR", "CT"), "over_best"] == pytest.approx(2)
    assert of.loc[("APFB", "GPUBFS-WR", "CT"), "over_best"] == 1
    assert of.loc[("APFB", "GPUBFS", "MT"), "us_a_launch"] == pytest.approx(100 * 120**0.2)
    assert of.loc[("APsB", "GPUBFS", "MT"), "published_s"] == 3.68
    assert of.loc[("APsB", "GPUBFS", "MT"), "published_over_best"] == pytest.approx(3.68 / 1.34)
    whole = mine[mine["instance_set"] == "RCP_all"]
    assert set(whole["graphs"]) == {6}
    assert whole["measured_s"].iloc[0] == pytest.approx(720 ** (1 / 6) / 1e3)
    assert whole["published_s"].isna().all()


def test_small_sets_say_so():
    rows = eight(matrices(6), lambda place: 2000.0 if place == 1 else 1.0)
    first = table("table1", rows).drop_duplicates("instance_set").set_index("instance_set")
    assert first.loc["O_S1", "note"] == "only 1 graphs"
    assert first.loc["O_Hardest20", "note"] == "only 6 graphs"
    assert first.loc["O_all", "note"].startswith("not in print")
    none = table("table1", eight(matrices(6), lambda place: 1.0))
    empty = none[none["instance_set"] == "RCP_S1"]
    assert set(empty["note"]) == {"empty: on none of 6 graphs HK or PFP took over a second"}
    assert set(empty["graphs"]) == {0}
    assert empty["measured_s"].isna().all()
    assert (empty["published_s"] > 1).all()
    # Nothing is said of a set of one or none.
    judged = compared("table1", rows)
    assert not [c for c in judged if "O_S1" in c.quantity and c.kind == "ratio"]
    assert [c for c in judged if "O_Hardest20" in c.quantity and c.kind == "ratio"]


def test_verdicts_on_table_1():
    """Print's own means, as if measured, agree in all but what print itself contradicts."""
    first = NUMBERS("table1")
    of = first.set_index(["instance_set", "algorithm", "bfs_kernel", "thread_mode"])
    rows = table("table1", eight(matrices(6), lambda place: 2000.0))
    keys = list(zip(*(rows[name] for name in of.index.names), strict=True))
    means = [of["geomean_time_s"].get(key, math.nan) for key in keys]
    rows = rows.assign(measured_s=means, over_best=rows["published_over_best"])
    found = verdicts.table_1(rows)
    assert {c.verdict for c in found} == {"agrees", "not comparable"}
    said = {c.quantity.partition(",")[0]: c.measured for c in found if c.kind == "shape"}
    assert said["CT no slower than MT"] == "16 of 16"
    assert said["GPUBFS-WR no slower than GPUBFS"] == "16 of 16"
    assert said["APFB no slower than APsB"] == "16 of 16"  # 4 per cent are within the slack
    worse = rows.assign(measured_s=np.where(rows["thread_mode"] == "CT", 99.0, rows["measured_s"]))
    claims = {c.quantity.partition(",")[0]: c.verdict for c in verdicts.table_1(worse)}
    assert claims["CT no slower than MT"] == "open"


def test_a_ratio_near_one_is_explained_by_the_launch_alone():
    rows = table("table1", eight(matrices(6), lambda place: 2000.0))
    ratios = rows[rows["source"] == "this run"].assign(over_best=1.0)
    for us, verdict in ((5.0, "differs"), (500.0, "open")):
        found = [c for c in verdicts.table_1(ratios.assign(us_a_launch=us)) if c.kind == "ratio"]
        worst = max(found, key=lambda c: c.published)
        assert (worst.published > 4, worst.verdict) == (True, verdict)


def test_the_twenty_as_printed_agree(twenty):
    second = table("table2", twenty)
    assert len(second) == 40
    assert list(second["matrix"][:3]) == ["roadNet-CA", "delaunay_n23", "coPapersDBLP"]
    for code in ("gpu", "p_dbfs", "pfp", "hk"):
        np.testing.assert_allclose(second[f"{code}_s"], second[f"published_{code}_s"])
    found = compared("table2", twenty)
    assert len([c for c in found if c.kind == "ratio"]) == 3 * 40
    assert {c.verdict for c in found} == {"agrees", "not comparable"}


def test_stand_ins_never_stand_beside_print():
    graphs = sets.stand_ins(PAPER)
    cells = [cell(code, g, 3) for g in graphs for code in tables.OF_TABLE_2.values()]
    rows = summary(cells, lambda code, graph: 1.0)
    second = table("table2", rows)
    mine = second[second["source"] == "this run"]
    assert len(mine) == 32
    assert mine["matrix"].str.endswith(" stand-in").all()
    assert set(mine["instance"]) == {"stand-in"}
    assert mine[[c for c in mine if c.startswith("published")]].isna().all(axis=None)
    assert (second["source"] == NOT_MEASURED).sum() == 40
    assert {c.verdict for c in compared("table2", rows)} == {"not measured"}
    # Not even if a table did set them beside one another.
    forged = mine.assign(published_gpu_s=1.0, published_hk_s=1.0)
    assert {c.verdict for c in verdicts.table_2(forged)} == {"not measured"}
    # Nor do they enter any set, and with it a mean beside print's.
    for name in ("table1", "fig03", "fig04", "fig05", "claims"):
        ours = table(name, rows)
        assert ours["graphs"].fillna(0).max() == 0, name
        assert {c.verdict for c in compared(name, rows)} == {"not measured"}


def test_a_smaller_generated_graph_keeps_its_own_name():
    graphs = sets.generated(sets.SIZES["paper"])
    cells = [cell(code, g, 3) for g in graphs for code in tables.OF_TABLE_2.values()]
    second = table("table2", summary(cells, lambda code, graph: 1.0))
    mine = second[second["source"] == "this run"]
    assert set(mine["matrix"]) == {"delaunay_n18", "rgg_n_2_18_s0", "kron_g500-logn16"}
    assert mine["published_gpu_s"].isna().all()


def test_full_size_graphs_stand_beside_print(monkeypatch):
    monkeypatch.setenv(experiments.FULL_SIZE, "1")
    times = printed_ms()
    rows = summary(
        BY_NAME["full_size"].cells(PAPER),
        lambda code, graph: times.get(
            (code, name_of(graph), sets.ordering_of(graph.permuted)), 1.0
        ),
    )
    found = table("full_size", rows)
    assert len(found) == 8
    np.testing.assert_allclose(found["gpu_s"], found["published_gpu_s"])
    assert {c.verdict for c in compared("full_size", rows)} == {"agrees", "not comparable"}
    # Table 2 leaves them to that table.
    assert set(table("table2", rows)["source"]) == {NOT_MEASURED}


def test_levels_by_iteration():
    rows = summary(BY_NAME["fig02"].cells(PAPER), lambda code, graph: 1.0, levels_of)
    found = table("fig02", rows)
    assert set(found["name"]) == {"Hamrle3", "Hamrle3 stand-in", "delaunay_n18"}
    mine = found[found["name"] == "delaunay_n18"]
    assert list(mine["what"]) == ["iterations", "launches"] + ["levels"] * 6
    sums = mine.set_index("what")["APsB GPUBFS CT"]
    assert (sums["iterations"], sums["launches"]) == (6, 210)
    third = mine[mine["iteration"] == 3].iloc[0]
    assert third["APFB GPUBFS-WR CT"] == third["APsB GPUBFS-WR CT"] == 30
    fourth = mine[mine["iteration"] == 4].iloc[0]
    assert math.isnan(fourth["APFB GPUBFS CT"])
    assert {c.verdict for c in verdicts.fig_2(found)} == {"agrees"}
    assert plots.png(BY_NAME["fig02"].figure(found)).startswith(b"\x89PNG")


def test_more_iterations_of_apfb_are_seen():
    def turned(code, graph):
        other = code.replace("APFB", "?").replace("APsB", "APFB").replace("?", "APsB")
        return levels_of(other, graph)

    rows = summary(BY_NAME["fig02"].cells(Plan("quick", gpu=True)), lambda c, g: 1.0, turned)
    found = compared("fig02", rows)
    assert [c.verdict for c in found if "iterations" in c.quantity] == ["open"] * 4
    assert [c.verdict for c in found if "executions" in c.quantity] == ["differs"] * 2  # stand-in


def test_figure_2_shows_graphs_that_all_four_ran_on(whole):
    """The paper's Delaunay graphs are larger, but only the best variant is timed on them."""
    found = table("fig02", whole)
    assert set(found["name"]) == {"Hamrle3", "Hamrle3 stand-in", "delaunay_n18"}
    sums = found[found["what"] != "levels"]
    assert sums[list(tables.OF_FIG_2)].notna().all(axis=None)
