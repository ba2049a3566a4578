"""What the pages say of one core's searches, of moves on the device and of streams, as kept."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import papers
from papers.common.instances.drawing import draw
from papers.common.model import Instance
from papers.synthesis.assignment.kernels.grid import chains
from papers.synthesis.calls.lines import direct, scattered
from papers.synthesis.calls.matching import NEARLY, ON_GPU
from papers.synthesis.evidence.graphs import broad, left, looks

HOME = Path(papers.__file__).parent / "synthesis"
PAGE = " ".join((HOME / "README.md").read_text().split())
RESULTS = " ".join((HOME / "RESULTS.md").read_text().split())


@pytest.fixture(scope="module")
def table():
    return pd.read_csv(HOME / "evidence/graphs/looks.csv")


@pytest.fixture(scope="module")
def matrices(table):
    return table[~table["graph"].str.startswith("uniform_graph")]


def test_how_many_matrices_one_core_is_done_with(matrices):
    done = int(matrices["ended"].sum())
    alone = int((matrices["looks"] == 0).sum())
    assert f"{matrices['graph'].nunique()} real matrices, each in its own and in random" in PAGE
    assert f"are {len(matrices)} graphs" in PAGE
    assert f"{done} are done before a solver" in PAGE
    assert f"{alone} of them by the greedy pass alone" in PAGE
    assert 0.74 < done / len(matrices) < 0.78  # "three in four"
    assert matrices.loc[matrices["ended"], "looks"].quantile(0.95) < 3  # the last search may exceed
    assert matrices.loc[~matrices["ended"], "looks"].min() > 3


def test_how_long_that_takes_beside_scipy(matrices):
    times = (matrices["call_us"] / matrices["scipy_us"]).dropna()
    assert f"On the {len(times)} on which SciPy's call ends" in PAGE
    assert 0.38 < times.mean() < 0.5
    said = f"less than half of SciPy's time in the mean and at most {times.max():.1f} times as long"
    assert f"{said} (`evidence/graphs/looks.csv`" in PAGE


def test_random_graphs_go_to_the_gpu_at_once(table):
    random = table[table["graph"].str.startswith("uniform_graph")]
    assert (1 - random["after_greedy"] / random["possible"] > NEARLY).all()
    assert not random["ended"].any()


def test_the_table_is_made_by_the_program(tmp_path, monkeypatch):
    """Counts of a small graph, as the program writes them."""
    monkeypatch.setattr(looks, "RANDOM", (("uniform_graph", 2000, "d3"),))
    monkeypatch.setattr(looks.sets, "ORDERINGS", ())
    looks.main(str(tmp_path / "looks.csv"))
    (row,) = pd.read_csv(tmp_path / "looks.csv").to_dict("records")
    assert row["after_greedy"] < row["maximum"] <= row["possible"]
    assert not row["ended"]
    assert row["looks"] > 3


def test_the_rule_for_a_gpu_tells_the_calls_that_were_timed():
    found = pd.read_csv(HOME / "evidence/graphs/left.csv")
    found["ratio"] = found["gpu_ms"] / found["hk_ms"]
    rules = pd.read_csv(HOME / "calls/choices.csv").set_index("problem").loc["matching"]
    rule = rules[rules["runs_on"] == "gpu"].iloc[0]
    large = found[found["edges"] >= rule["least"]]
    small = found[found["edges"] < rule["least"]]
    mean = np.exp(np.log(large["ratio"]).mean())
    span = f"{large['edges'].min() / 1000:.0f},000 to {large['edges'].max() / 1000:.0f},000 edges"
    twice = large["graph"].duplicated().sum()
    names = large["graph"].nunique()
    assert (names, twice) == (8, 7)
    assert f"on 8 graphs, seven of them in two orders, of {span}" in rule["reason"]
    assert f"took {mean:.2f} of Hopcroft-Karp's time in the geometric mean" in rule["reason"]
    assert f"and {large['ratio'].max():.2f} times as long at most" in rule["reason"]
    span = f"{small['edges'].min() / 1000:.0f},000 to {small['edges'].max() / 1000:.0f},000 edges"
    assert small["graph"].nunique() == 7
    says = f"on seven of {span} {small['ratio'].min():.1f} to {small['ratio'].max():.1f} "
    assert says in rule["reason"]
    assert f"the GPU takes {mean:.2f} of Hopcroft-Karp's time in the geometric mean" in RESULTS
    between = small[small["edges"] >= 50_000].set_index("graph")["ratio"]
    real = between.drop("uniform_graph_30000")
    both = [f"{np.exp(np.log(each).mean()):.2f}" for each in (between, real)]
    assert f"it is {both[0]}, and {both[1]} without the random graph" in RESULTS
    assert f"from {rule['least']:,.0f} edges on" in RESULTS


def test_the_rules_for_searches_breadth_first():
    """As `calls.lines.direct.FEW` and `DEEP` say."""
    found = pd.read_csv(HOME / "evidence/graphs/broad.csv")
    few = direct.FEW * found["missing"] <= found["possible"]
    small = ~few & (found["edges"] < direct.SMALL)
    large = ~few & ~small
    ratio, both = found["broad_us"] / found["depth_us"], found["both_us"] / found["depth_us"]
    worst, best = found.loc[ratio[~few].idxmax()], found.loc[ratio[few].idxmin()]
    assert not found.loc[few, ["broad_left", "depth_left"]].any(axis=None)
    assert not found.loc[small, ["both_left", "depth_left"]].any(axis=None)
    assert (found.loc[large, "both_left"] > 0).sum() > (found.loc[large, "depth_left"] > 0).sum()
    assert (best["graph"], best["ordering"]) == ("rgg_n_2_15_s0", "original")
    over = {way: (found[f"{way}_us"] / found["scipy_us"])[small].max() for way in broad.WAYS}
    assert both[small].max() < 1.1
    for words in (
        f"On the {few.sum()} such graphs of up to 2.5 million edges it takes "
        f"{geomean(ratio[few]):.2f} of the time of searches depth first in the geometric mean and "
        f"{ratio[few].max():.2f} times at most,",
        f"on `rgg_n_2_15_s0` {ratio[few].min():.3f}: each edge is looked at "
        f"{best['broad_looks']:.2f} times in the mean, depth first "
        f"{best['depth_looks']:.2f} times.",
        f"on the {(~few).sum()} others {geomean(ratio[~few]):.2f}, and "
        f"{ratio[~few].max():.0f} times on `{worst['graph']}`",
        f"On the {small.sum()} of them with fewer than 20,000 edges two phases depth first and "
        f"then breadth first take {geomean(both[small]):.2f}; these searches alone then take at "
        f"most {over['both']:.2f} of SciPy's whole call, depth first {over['depth']:.2f}",
    ):
        assert words in RESULTS


def test_the_table_of_breadth_first_is_made_by_the_program(tmp_path, monkeypatch):
    graph = draw(Instance("uniform_graph", 2000, "d3"))
    monkeypatch.setattr(
        broad,
        "drawn",
        lambda graphs: [(Instance("uniform_graph", 2000, "d3"), graph.matrix().tocsr())],
    )
    broad.main(str(tmp_path / "broad.csv"))
    (row,) = pd.read_csv(tmp_path / "broad.csv").to_dict("records")
    assert list(row) == list(pd.read_csv(HOME / "evidence/graphs/broad.csv", nrows=0))
    assert 0 < row["missing"] < row["possible"]
    assert min(row[f"{way}_looks"] for way in broad.WAYS) > 3


def geomean(shares):
    return np.exp(np.log(shares.dropna()).mean())


def test_the_rule_that_was_taken_back_was_worse():
    found = pd.read_csv(HOME / "evidence/graphs/rule.csv")
    found = found.set_index(["graph", "ordering", "gpu_from"]).unstack("gpu_from")
    calls = found["call_ms"][50_000] / found["call_ms"][100_000]
    worst = found.loc[("mip_dano3mip", "original")]
    over = worst["call_ms"] / worst["scipy_ms"]
    assert calls.idxmax() == worst.name
    scipys = found["scipy_ms"][50_000] / found["scipy_ms"][100_000]
    beside = (calls / scipys).dropna()
    looked = pd.read_csv(HOME / "evidence/graphs/looks.csv").set_index(["graph", "ordering"])
    assert looked.loc[worst.name, "ended"]
    assert 160 < looked.loc[worst.name, "us"] < 210
    for words in (
        f"`mip_dano3mip` took {over[50_000]:.1f} times as long as SciPy",
        f"under which it takes {over[100_000]:.2f} of SciPy's time",
        f"On the {len(calls) // 2} graphs of 50,000 to 100,000 edges, each in two orders, calls "
        f"took {geomean(calls):.2f} of the time by the other rule;",
        f"SciPy's calls took {geomean(scipys):.2f} on the same one. Beside SciPy it is "
        f"{geomean(beside):.2f}, and {geomean(beside.drop(worst.name)):.2f} without",
    ):
        assert words in RESULTS


def test_graphs_that_are_left_open_are_timed_by_the_program(tmp_path, monkeypatch):
    """On a small graph in the executor, with a solver for the GPU that it has as well."""
    assert len(left.open_graphs()) > len(left.RANDOM)
    edges = pd.read_csv(HOME / "evidence/graphs/left.csv")["edges"]
    assert edges.max() <= left.MOST
    monkeypatch.setattr(left, "RANDOM", (("uniform_graph", 2000, "d3"),))
    monkeypatch.setattr(left, "open_graphs", lambda: [Instance(*one) for one in left.RANDOM])
    monkeypatch.setattr(left.device, "select", lambda kind: None)
    monkeypatch.setattr(left, "WARM", 0)
    left.main(str(tmp_path / "left.csv"), "1")
    (row,) = pd.read_csv(tmp_path / "left.csv").to_dict("records")
    kept = pd.read_csv(HOME / "evidence/graphs/left.csv")
    assert list(row) == list(kept)
    assert row["graph"] == "uniform_graph_2000"
    assert row["hk_ms"] > 0 < row["gpu_ms"]


def test_graphs_that_go_at_once_are_those_that_keep_a_core_busy(matrices):
    """As `calls.lines.scattered` says, where its thresholds stand."""
    many = matrices[matrices["rows"] >= scattered.MANY]
    at_once = many["far"] > scattered.MOST
    permuted, wide = many["ordering"] == "permuted", many["columns"] > 10_000
    assert (many.loc[permuted & wide, "far"] > 0.6).all()
    assert (permuted & ~wide).sum() == 1
    assert many.loc[~permuted & ~at_once, "far"].max() < 0.4
    assert many.loc[~permuted & ~at_once, "far"].median() < 0.2
    assert at_once.sum() == 17
    assert f"are 166 graphs. On {at_once.sum()} of them the sample says so" in PAGE
    gpus = pd.read_csv(HOME / "evidence/graphs/solvers.csv")
    least = gpus.loc[gpus["solver"] == ON_GPU, "ms"].min()
    assert 2 < least < 2.5
    assert many.loc[at_once, "us"].min() > 1000 * least
    assert many.loc[~at_once & many["ended"], "us"].min() < 1000 * least


def test_few_of_the_matrices_that_lack_more_end_by_searches(matrices):
    large = matrices[matrices["edges"] >= 100_000]
    more = large[1 - large["after_greedy"] / large["possible"] > NEARLY]
    assert more["ended"].mean() < 0.4


def test_turns_pay_from_so_many_rows_a_group_on():
    """As `kernels.grid.chains` says, where the threshold stands."""
    found = pd.read_csv(HOME / "evidence/openings_turns.csv")
    found = found.pivot_table("ms", ["rows_a_group", "costs"], "turns", "median")
    ratio = (found["yes"] / found["no"]).unstack()
    assert ratio.loc[:16].stack().between(1.05, 1.5).all()
    assert ratio.loc[17:24].stack().between(0.95, 1.05).all()
    assert ratio.loc[25:].stack().between(0.7, 1.1).all()
    assert ratio.loc[17:24].size == ratio.loc[25:].size == 2
    assert ratio.index[ratio.index < chains.DEEP].max() > 20


def test_moves_on_the_device():
    found = pd.read_csv(HOME / "evidence/graphs/moves.csv").set_index(["neighbours", "moves_are"])
    here, there = (found.xs(way, level="moves_are")["ms"]
                   for way in ("made on the device", "made on the host"))  # fmt: skip
    assert "took less than a fifth of the time" in PAGE
    assert here[4] < there[4] / 5
    assert "and a tenth with eight" in PAGE
    assert 0.09 < here[8] / there[8] < 0.11
    assert found.groupby("neighbours")["energy"].nunique().eq(1).all()


def test_calls_on_streams():
    found = pd.read_csv(HOME / "evidence/streams.csv")
    right = found[found["answer"] == "right"]
    assert f"{len(found)} calls of all four types: {len(right)} solved what" in PAGE
    assert len(found) - len(right) == 3
    assert set(right["library"]) == {"CuPy", "PyTorch", "Numba"}
    assert set(right["dtype"]) == {"int32", "int64", "float32", "float64"}
    assert set(found["answer"]) == {"right", "shows nothing"}
