"""What the mix of graphs in a set does to Table 1, on made-up measurements."""

import numpy as np
import pandas as pd
import pytest
from deveci_matching.evidence.made_up import NUMBERS, PAPER, compared, name_of, summary

from papers.deveci_matching.evidence import at_size, experiments, sets
from papers.deveci_matching.evidence.causes import classes
from papers.deveci_matching.evidence.codes import BEST, VARIANTS, cell

SLOWER = 3.0
"""APsB over APFB in the made-up run, but on points in their own order."""


def run(on_points=0.05, members=SLOWER, gpu_ms=10.0):
    """All eight variants on all graphs: alike but for APsB; the largest graphs are the hardest."""

    def milliseconds(code, graph):
        kind = classes.class_of(name_of(graph), graph.n, sets.ordering_of(graph.permuted))
        if code in ("HK", "PFP"):
            # Two graphs are too few for a mean: they belong to no set.
            return graph.n if code == "HK" and kind != "middle points" else 1.0
        ratio = on_points if kind.endswith("points") else members
        return gpu_ms * (ratio if code.startswith("APsB") else 1.0)

    cells = experiments.variants(PAPER) + at_size.full_size(PAPER) + experiments.peers(PAPER)
    wanted = {*VARIANTS, "HK", "PFP"}
    chosen = [one for one in cells if one in {cell(c, one.instance) for c in wanted}]
    chosen += [cell(c, g, limit=None) for g in sets.generated(sets.FULL_SIZES, 1) for c in wanted]
    return summary(dict.fromkeys(chosen), milliseconds, lambda code, graph: {"bfs_launches": 10})


@pytest.mark.parametrize(
    ("name", "n", "ordering", "expected"),
    [
        ("delaunay_n16", 2**16, "original", "one grid points"),
        ("delaunay_n16", 2**16, "permuted", "one grid"),
        ("rgg_n_2_24_s0", 2**24, "original", "large points"),
        ("mdual", 258_569, "original", "middle"),
        ("amazon0505", 410_236, "original", "large"),
    ],
)
def test_a_class_is_told_by_columns_order_and_family(name, n, ordering, expected):
    assert classes.class_of(name, n, ordering) == expected


def test_print_names_twenty_large_matrices_of_which_three_are_points_in_order():
    assert classes.least_of_print() == 410_236
    assert classes.of_print("original").value_counts().to_dict() == {"large": 17, "large points": 3}
    assert classes.of_print("permuted").value_counts().to_dict() == {"large": 20}


def test_a_mix_is_the_weighted_mean_of_its_classes_and_unknown_with_an_unknown_class():
    index = pd.MultiIndex.from_tuples([("original", "large"), ("original", "middle")])
    means = pd.DataFrame({BEST: [0.0, 0.0], "APsB GPUBFS CT": np.log([8.0, 1.0])}, index=index)
    mix = pd.Series(["large", "middle", "middle"])
    found = classes.mixed(means, mix, "original")
    assert found["APsB GPUBFS CT"] == pytest.approx(2.0)
    assert found[BEST] == 1.0
    assert classes.mixed(means, mix, "permuted").isna().all()
    assert classes.mixed(means, pd.Series(["large", "other"]), "original").isna().all()


def test_a_mix_leaves_out_the_few_graphs_of_a_class_without_a_mean():
    index = pd.MultiIndex.from_tuples([("original", "large")])
    means = pd.DataFrame({BEST: [0.0], "APsB GPUBFS CT": [np.log(3.0)]}, index=index)
    most = pd.Series(["large"] * 19 + ["other"])
    assert classes.mixed(means, most, "original")["APsB GPUBFS CT"] == pytest.approx(3.0)
    assert classes.mixed(means, most[10:], "original")["APsB GPUBFS CT"] == pytest.approx(3.0)
    assert classes.mixed(means, most[11:], "original").isna().all()


def test_the_expected_means_are_those_of_the_shares_of_points():
    rows = classes.expected(run(), NUMBERS)
    rows = rows[rows["instance_set"] == "O_Hardest20"]
    slow = rows[rows["algorithm"] == "APsB"]
    assert np.allclose(slow["print_model_over_best"], 0.05 ** (3 / 20) * SLOWER ** (17 / 20))
    assert (slow["expected_over_best"] < slow["print_model_over_best"]).all()
    assert np.allclose(rows.loc[rows["algorithm"] == "APFB", classes.FIGURES], 1.0)


def verdicts(rows):
    found = [c for c in compared("table1", rows) if c.origin in ("", "this run")]
    return {c.quantity: c.verdict for c in found}


def test_points_that_are_half_of_our_set_are_a_cause_only_where_print_keeps_its_own_mix():
    name = f"APsB GPUBFS-WR MT over {BEST}, O_Hardest20"
    assert verdicts(run(on_points=0.001, members=6.0))[name] == "differs"
    # Print's own mix would then give another figure than print's.
    assert verdicts(run(on_points=0.001, members=0.5))[name] == "open"
    assert verdicts(run(on_points=2.0, members=2.0))[name] == "agrees"
