"""The share of a run that its copies take, on made-up measurements."""

import pandas as pd
import pytest
from deveci_matching.evidence.made_up import NUMBERS, matrices, name_of, summary

from papers.deveci_matching.evidence import codes, sets
from papers.deveci_matching.evidence.causes import copies
from papers.deveci_matching.evidence.codes import BEST, cell

SIZES = copies.megabytes(sets.facts())


def run(fixed, rate):
    """Runs of 10 ms, with copies at a fixed time and a time a MB."""
    graphs = matrices(20, ("original",))
    plain = [cell(code, graph) for graph in graphs for code in (BEST, "HK", "PFP")]
    copied = [cell(BEST, graph, start=codes.COPIED) for graph in graphs]
    of = {name_of(graph): 10.0 + fixed + rate * SIZES[graph.label] for graph in graphs}
    return pd.concat([
        summary(plain, lambda code, graph: 10.0),
        summary(copied, lambda code, graph: of[name_of(graph)]),
    ])  # fmt: skip


def test_graph_start_and_answer_are_words_of_four_bytes():
    facts = pd.DataFrame({"rows": [100_000], "columns": [200_000], "nonzeros": [1_000_000]})
    assert copies.megabytes(facts)[0] == pytest.approx(4e-6 * (1_200_001 + 600_000))


def test_the_prices_are_those_of_the_runs_and_never_negative():
    found = copies.prices(pd.DataFrame({"megabytes": [1.0, 2.0, 4.0], "extra": [1.5, 2.5, 4.5]}))
    assert found == pytest.approx((0.5, 1.0))
    found = copies.prices(pd.DataFrame({"megabytes": [1.0, 2.0, 4.0], "extra": [0.0, 2.0, 6.0]}))
    assert found == pytest.approx((0.0, 2.0))


def test_the_expected_drop_is_the_one_of_the_prices():
    found = copies.expected(run(2.5, 0.0), NUMBERS)
    assert found["id"].tolist() == ["DE-n"]
    assert found["expected_measured"].iloc[0] == pytest.approx(20.0)
    assert 0 < found["print_model_measured"].iloc[0] < 6


def test_without_runs_with_copies_nothing_is_expected():
    rows = run(2.5, 0.0)
    rows = rows[~rows["options"].str.contains("timed_copies")]
    assert copies.expected(rows, NUMBERS).empty
