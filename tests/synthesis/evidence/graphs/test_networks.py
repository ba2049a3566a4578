"""What the pages say of calls on networks, as kept, and the program that makes the file."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.sparse.csgraph import maximum_flow as scipys

import papers
from papers.synthesis.calls.choice import Question, choose, rules
from papers.synthesis.evidence.graphs import networks
from papers.synthesis.evidence.measured.graphs import FEW_NODES, over_scipy

HOME = Path(papers.__file__).parent / "synthesis"
PAGE = " ".join((HOME / "RESULTS.md").read_text(encoding="utf-8").split())


@pytest.fixture(scope="module")
def found():
    """The rows of before and of now, with times over SciPy's."""
    found = over_scipy()
    assert found["code"].unique().tolist() == ["e7ab938", "6fcb800"]
    assert (found.groupby("code").size() == 45).all()
    return found[found["code"] == "e7ab938"], found[found["code"] == "6fcb800"]


def test_the_page_says_what_was_predicted(found):
    at = [one[(one["kind"] == "random, degree 10") & (one["n"] == 4000)].iloc[0] for one in found]
    (before, now), arcs = (one["flow"] for one in at), at[1]["arcs"]
    assert f"on one of {arcs:,}, {now:.2f} where it was {before:.2f}." in PAGE


def mean_of(values):
    return np.exp(np.log(values).mean())


def test_the_page_says_what_a_call_takes_of_scipy_s_time(found):
    before, now = found
    assert (
        f"a flow takes {now['flow'].min():.2f} to {now['flow'].max():.2f} of SciPy's time, "
        f"{mean_of(now['flow']):.2f} in the geometric mean of the 45 networks; before, it took "
        f"{before['flow'].min():.2f} to {before['flow'].max():.2f}, and "
        f"{mean_of(before['flow']):.2f} in the mean. A cut takes {mean_of(now['cut']):.2f} of it "
        f"in the mean; before, {mean_of(before['cut']):.2f}." in PAGE
    )


def test_few_nodes_go_to_push_and_relabel(found):
    _, now = found
    few = now[now["nodes"] <= FEW_NODES]
    (rule,) = [rule for rule in rules() if rule.problem == "flow" and rule.shape == "network"]
    assert rule.most == FEW_NODES
    mine, theirs = (few[name] for name in ("by_push_relabel", "by_scipy"))
    assert (mine < theirs).all()
    assert (
        f"took {mine.min():.2f} to {mine.max():.2f} of SciPy's time on {len(few)} networks, and "
        f"one by SciPy's code {theirs.min():.2f} to {theirs.max():.2f} (" in rule.reason
    )
    more = now[now["nodes"] > FEW_NODES]
    share = more["by_push_relabel"] / more["by_scipy"]
    (other,) = [rule for rule in rules() if rule.solver == networks.SOLVERS["by_scipy_us"]]
    assert (more["nodes"].min(), more["nodes"].max(), len(more)) == (102, 16_004, 27)
    assert (
        f"on 27 networks of 102 to 16,004 nodes it took {share.min():.2f} to {share.max():.2f} of "
        f"this code's time, less on random ones, but at worst {more['by_push_relabel'].max():.1f} "
        f"times that of SciPy's call, this code {more['by_scipy'].max():.1f} (" in other.reason
    )
    assert (share[more["kind"].str.startswith("random")] < 1).all()
    names = {
        size: choose(Question("flow", "network", size, traits=frozenset({"flow"})), "cpu").solver
        for size in (FEW_NODES, FEW_NODES + 1)
    }
    assert list(names.values()) == list(networks.SOLVERS.values())[::-1]


@pytest.mark.parametrize("kind", networks.KINDS)
@pytest.mark.parametrize("n", [6, 50])
def test_every_kind_has_a_flow(kind, n):
    net = networks.KINDS[kind](n)
    matrix = networks.matrix_of(net)
    assert abs(net.nodes - n) <= max(2, n // 20)
    assert scipys(matrix, net.source, net.sink).flow_value > 0


def test_the_table_is_made_by_the_program(tmp_path, monkeypatch):
    monkeypatch.setattr(networks, "NODES", (9,))
    networks.main(str(tmp_path / "networks.csv"), "1")
    made = pd.read_csv(tmp_path / "networks.csv")
    assert list(made) == list(pd.read_csv(HOME / "evidence/graphs/networks.csv", nrows=0))
    assert made["kind"].tolist() == list(networks.KINDS)
    assert (made.filter(like="_us") > 0).all(axis=None)
