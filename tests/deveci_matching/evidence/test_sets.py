"""The graphs, their names and kinds, and the paper's sets rebuilt by its rule."""

import math

import pandas as pd
import pytest
from deveci_matching.evidence.made_up import (
    NUMBERS,
    graphs_of,
    table,
)

from papers.common.instances import catalogue, collection
from papers.common.model import Plan
from papers.deveci_matching.evidence import sets
from papers.reproduce import fetch as fetching


def test_hardest_is_the_longer_of_the_two_sequential_times():
    """Table 2 lists its matrices by the larger of PFP and HK: the rule that `sets.longest` has."""
    second = NUMBERS("table2")
    second = second[second["ordering"] == "original"]
    wide = second.pivot(index="matrix", columns="algorithm", values="time_s")
    in_order = wide.loc[list(sets.twenty()["in_paper"])]
    assert sets.longest(in_order).is_monotonic_increasing
    assert sets.longest(in_order).min() > 1


def test_facts_of_the_matrices():
    facts = sets.facts()
    assert facts.index.is_unique
    assert (len(sets.ours()), len(sets.twenty())) == (83, 20)
    small = facts[["rows", "columns"]].min(axis=1)
    assert (sets.ours()["maximum_matching"] <= small[sets.ours().index]).all()
    assert (facts["nonzeros"] <= facts["rows"] * facts["columns"]).all()
    assert (facts["kind"] != "").all()
    assert sets.maximum("copter2") == 55476
    assert sets.maximum("deb12-names-dirs") == 288166
    assert math.isnan(sets.maximum("patents"))
    assert set(sets.twenty()["in_paper"]) == set(NUMBERS("table2")["matrix"])
    instead = sets.twenty()["instead"].value_counts().to_dict()
    assert instead == {"stand-in": 16, "generated": 4}


def test_every_matrix_that_is_named_can_be_fetched_or_says_that_it_cannot():
    named = fetching.named("deveci_matching")
    assert set(sets.facts().index) <= set(named)
    without = [name for name in named if not catalogue.known(name).collection]
    assert set(without) < set(sets.ours().index)
    assert len(without) == 36
    for name in without:
        with pytest.raises(collection.NoRecipeError, match=f"^{name} has no recipe"):
            collection.fetch(name)


def test_stand_ins_are_no_larger_than_what_they_stand_for():
    for preset in ("quick", "paper"):
        graphs = sets.stand_ins(Plan(preset, gpu=True))
        assert len(graphs) == 2 * (16 if preset == "paper" else len(sets.SOME[preset]))
        for graph in graphs:
            of = sets.facts().loc[graph.label]
            assert graph.n <= of["rows"]
            assert graph.n * of["nonzeros"] / of["rows"] <= sets.STAND_IN_NONZEROS
    assert {graph.n for graph in sets.stand_ins(Plan("quick", gpu=False))} == {2000}


@pytest.mark.parametrize(
    ("family", "n", "label", "name", "kind"),
    [
        ("matrix", 55476, "copter2", "copter2", "real"),
        ("matrix", 3997962, "com-LiveJournal", "com-livejournal", "real"),
        ("stand_in", 2000, "com-LiveJournal", "com-livejournal stand-in", "stand-in"),
        ("stand_in", 2000, "italy_osm", "italy_osm stand-in", "stand-in"),
        ("delaunay", 2**23, "n23", "delaunay_n23", "generated"),
        ("rgg", 2**24, "n_2_24_s0", "rgg_n_2_24_s0", "generated"),
        ("kron", 2**21, "logn21", "kron_g500-logn21", "generated"),
        ("skew_graph", 2000, "d8", "skew_n2000_d8", "random"),
    ],
)
def test_names_and_kinds(family, n, label, name, kind):
    assert sets.name_of(family, n, label) == name
    assert sets.kind_of(family) == kind


def test_membership_by_the_papers_rule():
    times = [(100.0 * i, 50.0) for i in range(25)] + [(10.0, 5000.0)]
    rows = pd.concat([graphs_of(times), graphs_of(times[::-1], "permuted")])
    found = sets.rebuilt(rows)
    # HK above 1 s: 1100 to 2400 ms, and the one on which PFP takes 5 s.
    assert list(found["O_S1"]["name"]) == ["g25", *(f"g{i:02d}" for i in range(24, 10, -1))]
    assert len(found["O_Hardest20"]) == 20
    assert set(found["O_all"]["name"]) - set(found["O_Hardest20"]["name"]) == {
        f"g{i:02d}" for i in range(6)
    }
    assert found["RCP_S1"]["name"].iloc[0] == "g00"
    # Twins are the permuted graphs of the original's hardest, not the permuted ones' hardest.
    assert set(found[sets.TWINS]["name"]) == set(found["O_Hardest20"]["name"])
    assert set(found[sets.TWINS]["ordering"]) == {"permuted"}
    assert set(found["RCP_Hardest20"]["name"]) != set(found[sets.TWINS]["name"])


def test_who_gave_up_took_longest():
    rows = graphs_of([(1.0, 2.0), (math.nan, 3.0), (900.0, 1.0), (math.nan, math.nan)])
    found = sets.rebuilt(rows)
    assert list(found["O_all"]["name"]) == ["g01", "g02", "g00"]
    assert list(found["O_S1"]["name"]) == ["g01"]
    # A code that was never run gave up nowhere.
    rows["HK"] = math.nan
    assert sets.rebuilt(rows)["O_S1"].empty


def test_stand_ins_belong_to_no_set():
    rows = pd.concat(
        [graphs_of([(2000.0, 1.0)] * 3, kind=kind) for kind in ("stand-in", "random", "generated")]
    )
    found = sets.rebuilt(rows)
    assert len(found["O_all"]) == len(found["O_S1"]) == 3
    assert set(found["O_all"]["kind"]) == {"generated"}


def test_sets_of_a_whole_run(whole):
    found = table("table1", whole)
    mine = found[found["source"] == "this run"].drop_duplicates("instance_set")
    sizes = mine.set_index("instance_set")["graphs"]
    # All that can be had, and what is generated at two sizes.
    assert sizes["O_all"] == sizes["RCP_all"] == 83 + 3 + 4
    assert 0 < sizes["O_S1"] < sizes["RCP_S1"] < 83 + 3 + 4
    speedups = table("fig05", whole)
    counts = speedups[speedups["source"] == "this run"].set_index(["instance_set", "over"])[
        "graphs"
    ]
    # All real matrices, the paper's among them, and what is generated at two sizes.
    assert counts["O_all", "HK"] == 83 + 20 + 3 + 4
    assert counts["O_Hardest20", "HK"] == counts[sets.TWINS, "HK"] == 20
