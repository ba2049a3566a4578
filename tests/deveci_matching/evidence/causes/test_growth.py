"""The growth of the GPU's speedup with the columns, on made-up measurements."""

import pytest
from deveci_matching.evidence.made_up import NUMBERS, PAPER, matrices, name_of, printed_ms, summary

from papers.deveci_matching.evidence import experiments, sets
from papers.deveci_matching.evidence.causes import growth
from papers.deveci_matching.evidence.codes import BEST, cell

DRAWN = set(sets.twenty()["in_paper"][sets.twenty()["instead"] == sets.GENERATED])
CODES = (BEST, *growth.CODES)


def run(exponent=0.5, machine=2.0, of_matrices=None):
    """Speedups that grow by a power of the columns; on drawn graphs at print's size print's."""
    times = printed_ms()

    def milliseconds(code, graph):
        printed = (code, name_of(graph), sets.ordering_of(graph.permuted))
        if name_of(graph) in DRAWN:
            ms = times.get(printed)
            return ms and ms / (machine if code == BEST else 1.0)
        real = sets.kind_of(graph.family) == sets.REAL
        power = of_matrices if real and of_matrices is not None else exponent
        return 1.0 if code == BEST else 0.01 * graph.n**power

    cells = experiments.table_2(PAPER) + growth.cells(PAPER)
    chosen = [one for one in cells if one.instance.family != "matrix"]
    chosen += [cell(code, graph) for graph in matrices(30) for code in CODES]
    return summary(dict.fromkeys(chosen), milliseconds)


def means(rows):
    found = growth.table(rows, NUMBERS)
    return found[found["what"] == growth.ALL].set_index(["ordering", "code"])


def test_stand_ins_of_one_law_have_its_exponent():
    found = growth.table(run(), NUMBERS)
    stood = found[found["what"].str.endswith("stand-in")]
    assert len(stood) > 5
    assert stood["exponent"].to_numpy() == pytest.approx(0.5)
    assert (means(run())["graphs"] >= growth.FAMILIES).all()


@pytest.mark.parametrize(("of_matrices", "verdict"), [(0.5, "holds"), (-0.5, "fails")])
def test_the_matrices_at_hand_judge_the_exponent(of_matrices, verdict):
    judged = growth.compare(growth.table(run(of_matrices=of_matrices), NUMBERS))
    assert {item.verdict for item in judged} == {verdict}
    assert len(judged) == 6


def test_machines_are_told_apart_by_the_graphs_that_both_have():
    found = growth.machines(run(machine=3.0), NUMBERS)
    assert len(found) == 6
    assert found.to_numpy() == pytest.approx(3.0)


def test_an_exponent_that_is_none_gives_no_factor():
    assert set(growth.factors(run(), NUMBERS)["over"]) == set(growth.CODES)
    assert growth.factors(run(exponent=0.0), NUMBERS).empty


def test_an_exponent_that_the_matrices_contradict_gives_no_factor():
    assert growth.factors(run(of_matrices=-0.5), NUMBERS).empty
    found = growth.table(run(), NUMBERS)
    without = found[found["what"] != growth.AT_HAND]
    assert all(growth.is_trusted(rows) for _, rows in found.groupby(["ordering", "code"]))
    assert not any(growth.is_trusted(rows) for _, rows in without.groupby(["ordering", "code"]))


def test_size_is_no_cause_where_the_machines_turn_its_effect_round():
    assert not growth.factors(run(machine=2.0), NUMBERS).empty
    assert growth.factors(run(machine=200.0), NUMBERS).empty


def test_without_graphs_at_the_size_of_print_there_is_no_factor():
    rows = run()
    names = sets.FULL_SIZES["delaunay"]
    few = rows[~rows["label"].isin([f"n{x}" for x in names])]
    assert growth.factors(few, NUMBERS).empty


def test_smaller_graphs_have_smaller_speedups_than_print():
    found = growth.speedups(run(machine=1.0), NUMBERS).set_index(["instance_set", "over"])
    assert found.loc[("O_Hardest20", "HK"), "expected_speedup"] < 3.96
    shares = growth.shares(run(machine=1.0), NUMBERS)
    assert (shares["expected_GPU_low"] <= shares["expected_GPU"]).all()
    assert (shares["expected_GPU"] <= shares["expected_GPU_high"]).all()


def test_a_table_without_rows_is_judged_as_not_measured():
    judged = growth.compare(growth.table(run().iloc[:0], NUMBERS))
    assert [item.verdict for item in judged] == ["not measured"]
