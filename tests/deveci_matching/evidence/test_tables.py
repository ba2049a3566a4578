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

from papers.common import cores
from papers.common.evidence import plots
from papers.common.evidence.tables import NOT_MEASURED
from papers.deveci_matching.evidence import sets, tables, verdicts
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
def test_p_dbfs_stands_beside_print_at_prints_threads_alone(count):
    """Its time at two threads has a column of its own, which no comparison with print reads."""
    names = list(sets.twenty().index[:6])
    graphs = [sets.matrix(name) for name in names]
    codes_of_print = tables.OF_TABLE_2.values()
    with cores.taken_as(count):
        cells = [cell(code, g) for g in graphs for code in codes_of_print]
    rows = summary(cells, lambda *_: 4.0)
    found = table("table2", rows)
    mine = found[found["source"] == "this run"]
    own = "p_dbfs_s" if count == 8 else "p_dbfs_2_s"
    assert (mine[own] == 0.004).all()
    assert mine["p_dbfs_s"].notna().all() == (count == 8)
    assert {name for name in found if name.startswith("p_dbfs_") and name.endswith("_s")} == {
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


@pytest.fixture(scope="module")
def as_printed():
    """Table 1 as if print's own means were measured."""
    of = NUMBERS("table1").set_index(["instance_set", "algorithm", "bfs_kernel", "thread_mode"])
    rows = table("table1", eight(matrices(6), lambda place: 2000.0))
    keys = list(zip(*(rows[name] for name in of.index.names), strict=True))
    means = [of["geomean_time_s"].get(key, math.nan) for key in keys]
    return rows.assign(measured_s=means, over_best=rows["published_over_best"])


def claims_of(rows):
    return {c.quantity.partition(",")[0]: c for c in verdicts.table_1(rows) if c.kind == "claim"}


def test_verdicts_on_table_1(as_printed):
    """Print's own means agree, the one pair that APsB wins in print included."""
    assert {c.verdict for c in verdicts.table_1(as_printed)} == {"agrees", "not comparable"}
    said = claims_of(as_printed)
    assert said["CT faster than MT"].measured == "16 of 16"
    assert said["GPUBFS-WR faster than GPUBFS"].measured == "16 of 16"
    assert said["APFB faster than APsB"].measured == "15 of 16"
    assert said["MT over CT"].measured == pytest.approx(1.2694, abs=1e-4)


def _scaled(rows, factor, **chosen):
    mine = np.logical_and.reduce([rows[name] == value for name, value in chosen.items()])
    return rows.assign(measured_s=rows["measured_s"] * np.where(mine, factor, 1.0))


def test_one_slower_mean_breaks_an_always(as_printed):
    """CT wins each pair but one: no "always", though the mean effect is what the words say."""
    one = {"instance_set": "RCP_S1", "algorithm": "APFB", "bfs_kernel": "GPUBFS"}
    said = claims_of(_scaled(as_printed, 1.2, thread_mode="CT", **one))
    assert (said["CT faster than MT"].measured, said["CT faster than MT"].verdict) == (
        "15 of 16", "open",
    )  # fmt: skip
    assert said["MT over CT"].verdict == "agrees"


def test_wins_without_an_effect_are_no_agreement(as_printed):
    """CT wins every pair by a hundredth: that is always, and no effect."""
    names = ["instance_set", "algorithm", "bfs_kernel"]
    slow = as_printed.groupby(names)["measured_s"].transform("max")
    near = as_printed.assign(
        measured_s=slow * np.where(as_printed["thread_mode"] == "CT", 0.99, 1.0)
    )
    said = claims_of(near)
    assert said["CT faster than MT"].verdict == "agrees"
    assert (said["MT over CT"].verdict, said["MT over CT"].measured) == ("open", 1.0101)


def test_more_suitable_asks_for_more_wins_than_by_chance(as_printed):
    said = claims_of(_scaled(as_printed, 1.0 + 1e-9, algorithm="APsB"))
    assert said["APFB faster than APsB"].verdict == "agrees"
    for count, verdict in ((3, "agrees"), (6, "open")):
        pairs = as_printed[as_printed["thread_mode"] == "CT"]
        some = pairs[pairs["algorithm"] == "APsB"].dropna(subset=["measured_s"]).index[:count]
        worse = as_printed.assign(
            measured_s=as_printed["measured_s"].where(~as_printed.index.isin(some), 1e-3)
        )
        assert claims_of(worse)["APFB faster than APsB"].verdict == verdict


@pytest.mark.parametrize(("factor", "verdict"), [(1.4, "agrees"), (1.6, "open"), (5.0, "open")])
def test_ratios_of_table_1_have_a_tolerance(as_printed, factor, verdict):
    rows = as_printed.assign(over_best=as_printed["published_over_best"] * factor)
    found = [c for c in verdicts.table_1(rows) if c.kind == "ratio"]
    assert {c.verdict for c in found} == {verdict}


def test_the_twenty_as_printed_agree(twenty):
    second = table("table2", twenty)
    assert len(second) == 40
    assert list(second["matrix"][:3]) == ["roadNet-CA", "delaunay_n23", "coPapersDBLP"]
    for code in ("gpu", "p_dbfs", "pfp", "hk"):
        np.testing.assert_allclose(second[f"{code}_s"], second[f"published_{code}_s"])
    found = compared("table2", twenty)
    assert len([c for c in found if c.kind == "ratio"]) == 3 * 40
    assert {c.verdict for c in found} == {"agrees", "not comparable"}
    for factor in (0.2, 5.0):
        faulty = twenty["median"].where(
            twenty["solver"] != "deveci_matching:gpu", twenty["median"] * factor
        )
        found = compared("table2", twenty.assign(median=faulty))
        assert {c.verdict for c in found if c.kind == "ratio"} == {"open"}


def test_ratios_of_table_2_are_of_one_seed():
    """The slower code of each seed is another: the median over seeds is of their ratios."""
    graphs = [sets.generated({"delaunay": (18,)}, seed)[0] for seed in (1, 2, 3)]
    cells = [cell(code, graph) for graph in graphs for code in ("APFB GPUBFS-WR CT", "HK")]
    times = {("HK", 1): 9.0, ("HK", 2): 8.0, ("HK", 3): 7.0}
    rows = summary(cells, lambda code, g: times.get((code, g.seed), {1: 1, 2: 10, 3: 5}[g.seed]))
    second = table("table2", rows)
    (mine,) = second[second["source"] == "this run"].itertuples(index=False)
    assert (mine.hk_s, mine.gpu_s, mine.hk_over_gpu) == (0.008, 0.005, 1.4)


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


def test_full_size_graphs_stand_beside_print():
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
    assert set(found["name"]) == {"Hamrle3", "Hamrle3 stand-in", "delaunay_n23"}
    mine = found[found["name"] == "delaunay_n23"]
    assert list(mine["what"]) == ["iterations", "launches"] + ["levels"] * 6
    sums = mine.set_index("what")["APsB GPUBFS CT"]
    assert (sums["iterations"], sums["launches"]) == (6, 210)
    third = mine[mine["iteration"] == 3].iloc[0]
    assert third["APFB GPUBFS-WR CT"] == third["APsB GPUBFS-WR CT"] == 30
    fourth = mine[mine["iteration"] == 4].iloc[0]
    assert math.isnan(fourth["APFB GPUBFS CT"])
    judged = verdicts.fig_2(found)
    assert [c.verdict for c in judged if c.kind == "claim"] == ["agrees"] * 2 + ["open"] * 2
    assert [c.verdict for c in judged if c.kind == "correctness"] == ["holds"] * 3 * 4
    assert plots.png(BY_NAME["fig02"].figure(found)).startswith(b"\x89PNG")


@pytest.mark.parametrize("turned", [False, True])
def test_figure_2_has_one_winner_a_panel(turned):
    """APFB needs fewer executions on Hamrle3, APsB on Delaunay; the stand-in says nothing."""

    def counters(code, graph):
        few = {"APFB": "Hamrle3", "APsB": "delaunay_n23"}[code.split()[0]] == name_of(graph)
        return {**levels_of(code, graph), "bfs_launches": 100 if few != turned else 150}

    rows = summary(BY_NAME["fig02"].cells(PAPER), lambda code, graph: 1.0, counters)
    found = [c for c in compared("fig02", rows) if c.kind == "claim"]
    assert {c.verdict for c in found} == {"open" if turned else "agrees"}
    assert {c.quantity.rpartition(", ")[2] for c in found} == {"Hamrle3", "delaunay_n23"}
    assert len(found) == 4


@pytest.mark.parametrize("metric", ["bfs_launches", "bfs_iterations", "levels_002"])
@pytest.mark.parametrize("factor", [0.2, 5.0])
def test_levels_that_do_not_add_up_are_seen(metric, factor):
    rows = summary(BY_NAME["fig02"].cells(PAPER), lambda code, graph: 1.0, levels_of)
    mine = (rows["metric"] == metric) & rows["options"].str.contains("algorithm=apsb,bfs=wr")
    mine &= rows["family"] == "delaunay"
    rows = rows.assign(median=rows["median"].where(~mine, factor * rows["median"]))
    wrong = [c for c in compared("fig02", rows) if c.verdict == "fails"]
    assert [c.quantity.rpartition("iterations, ")[2] for c in wrong] == [
        "APsB GPUBFS-WR CT, delaunay_n23"
    ]


def test_figure_2_shows_graphs_that_all_four_ran_on(whole):
    """Print's own Delaunay graph, not the larger one that all were run on as well."""
    found = table("fig02", whole)
    assert set(found["name"]) == {"Hamrle3", "Hamrle3 stand-in", "delaunay_n23"}
    sums = found[found["what"] != "levels"]
    assert sums[list(tables.OF_FIG_2)].notna().all(axis=None)
