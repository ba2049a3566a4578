"""`reproduce solve`: files of one's own."""

import gzip
import importlib
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.io import mmwrite
from scipy.sparse import coo_array, csr_array, save_npz

import papers
from papers.common.gpu import device
from papers.common.model import Defaults, GivenUpError
from papers.common.problems import kinds
from papers.common.problems.graph import bipartite
from papers.common.problems.network import FOUR, grid, network
from papers.reproduce import cli, registry, solve
from papers.reproduce.registry import UsageError

COSTS = np.array([[4, 1, 3], [2, 0, 5], [3, 2, 2]])


@pytest.fixture
def file(tmp_path):
    np.save(tmp_path / "costs.npy", COSTS)
    return tmp_path / "costs.npy"


@pytest.mark.parametrize(("words", "cost"), [([], 5), (["--maximize"], 11)])
def test_cost_proof_times_and_assignment(reproduce, file, words, cost):
    target = file.with_name("answer.csv")
    result = reproduce("solve", file, "--with", "toy:good", "--output", target, *words)
    assert result.code == 0, result.err
    lines = {line[:12].strip(): line[12:] for line in result.out.splitlines()}
    assert lines["cost"] == str(cost)
    assert lines["proof"].startswith("proved optimal (lp-duals)")
    assert lines["run"].endswith("ms (median of 5)")
    assert lines["end to end"].endswith("ms (median of 5)")
    table = pd.read_csv(target)
    assert list(table.columns) == ["row", "column", "cost"]
    assert table["cost"].sum() == cost
    assert sorted(table["column"]) == [0, 1, 2]
    assert (COSTS[table["row"], table["column"]] == table["cost"]).all()


TARGETS = {
    "the input": ("costs.npy", "is the input"),
    "a stranger's": ("precious.csv", "exists"),
    "a folder": ("folder", "is a folder"),
    "nowhere": ("nowhere/x.csv", "there is no folder"),
}


@pytest.mark.parametrize("what", TARGETS)
def test_a_target_that_cannot_be_had_is_told_before_anything_is_solved(
    reproduce, file, monkeypatch, what
):
    """Planted: the matrix was solved first, and the input was overwritten."""
    monkeypatch.setattr(solve, "solve", lambda *_: pytest.fail("solved"))
    (file.parent / "folder").mkdir()
    (file.parent / "precious.csv").write_text("precious")
    before = file.read_bytes()
    name, said = TARGETS[what]
    words = ["solve", file, "--with", "toy:good", "--output", file.parent / name]
    result = reproduce(*words)
    assert (result.code, said in result.err, result.out) == (2, True, "")
    assert file.read_bytes() == before
    assert (file.parent / "precious.csv").read_text() == "precious"


def test_a_form_that_no_answer_has_is_told_before_anything_is_solved(monkeypatch, tmp_path):
    monkeypatch.setattr(solve, "solve", lambda *_: pytest.fail("solved"))
    with pytest.raises(UsageError, match=r"a flow is written to .npz, .csv"):
        solve.target_for(tmp_path / "a.npz", FORMS["flow"](), None, tmp_path / "a.txt", False)


def test_an_answer_is_named_by_what_it_holds(tmp_path):
    """The flow of a network, and of a grid the cut."""
    arcs = network(np.array([0, 1]), np.array([1, 2]), np.array([3, 2]), 3, 0, 2)
    for data, word in (arcs, "flow"), (FORMS["flow"](), "cut"), (np.eye(3), "assignment"):
        target = solve.target_for(tmp_path / "given.npz", data, None, None, False)
        assert target == tmp_path / f"given_{word}.csv"


def test_the_default_target_is_not_overwritten_but_by_force(reproduce, file):
    target = file.with_name("costs_assignment.csv")
    target.write_text("precious")
    result = reproduce("solve", file, "--with", "toy:good")
    assert (result.code, "--force" in result.err) == (2, True)
    assert target.read_text() == "precious"
    assert reproduce("solve", file, "--with", "toy:good", "--force").code == 0
    assert target.read_text().startswith("row,column,cost")


def test_an_answer_is_printed_though_it_cannot_be_written(reproduce, file, monkeypatch):
    """Planted: a disk that fills up while the matrix is solved took the answer with it."""

    def full(path, *_):
        path.write_text("half an ans")
        raise OSError(28, "No space left on device")

    broken = replace(kinds.PROBLEMS["assignment"], write=full)
    monkeypatch.setitem(kinds.PROBLEMS, "assignment", broken)
    result = reproduce("solve", file, "--with", "toy:good")
    assert result.code == 2
    assert "cost        5" in result.out
    assert "cannot be written: No space left on device" in result.err
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_a_wrong_answer_exits_1(reproduce, file):
    result = reproduce("solve", file, "--with", "toy:wrong")
    assert result.code == 1
    assert "NOT PROVED" in result.out


def test_a_refused_matrix_exits_2_with_the_reason(reproduce, file, monkeypatch):
    from toybox import toy

    def refuse(cost, **options):
        raise ValueError("cost[0, 1] is NaN")

    monkeypatch.setattr(toy, "upload", refuse)
    result = reproduce("solve", file, "--with", "toy:good")
    assert (result.code, result.err) == (2, "reproduce: cost[0, 1] is NaN\n")


def test_a_run_that_gives_up_exits_2_with_one_sentence(reproduce, file, monkeypatch):
    from toybox import toy

    given = []

    def upload(cost, seconds=None):
        given.append(seconds)

    def run(state, trace=None):
        raise GivenUpError("gave up after 2.5 s and 1 of 3 rows matched", 2500)

    good = replace(toy.PAPER.solvers()["good"], upload=upload, run=run)
    monkeypatch.setattr(registry, "solver", lambda name: good)
    result = reproduce("solve", file, "--with", "toy:good", "--seconds", "2.5")
    said = "reproduce: toy:good: gave up after 2.5 s and 1 of 3 rows matched\n"
    assert (result.code, result.err) == (2, said)
    assert given == [2.5]
    reproduce("solve", file, "--with", "toy:good")
    assert given == [2.5, None]


@pytest.mark.parametrize("seconds", ["0", "-1", "nan"])
def test_a_limit_that_is_none_exits_2(reproduce, file, seconds):
    result = reproduce("solve", file, "--with", "toy:good", "--seconds", seconds)
    assert result.code == 2
    assert "--seconds" in result.err
    assert "no positive number" in result.err


def test_unknown_solver(reproduce, file):
    result = reproduce("solve", file, "--with", "toy:nobody")
    assert result.code == 2
    assert "there are: toy:kernel, toy:good" in result.err


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("4,1\n2,0\n", np.array([[4, 1], [2, 0]])),
        ("# costs\n4 1\n2 0\n", np.array([[4, 1], [2, 0]])),
        ("4,1.5\n2,inf\n", np.array([[4, 1.5], [2, np.inf]])),
        ("\ufeff4,1\n", np.array([[4, 1]])),
        ("9007199254740993,1\n", np.array([[9007199254740993, 1]])),
    ],
)
def test_text_keeps_its_type(tmp_path, text, expected):
    path = tmp_path / "costs.csv"
    path.write_text(text, encoding="utf-8")
    found = solve.read(path)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1,2\n3,9223372036854775808\n", "row 2: 9223372036854775808"),
        ("1.5 -99999999999999999999\n", "row 1: -99999999999999999999"),
    ],
)
def test_whole_numbers_beyond_int64_are_refused(tmp_path, text, number):
    path = tmp_path / "costs.csv"
    path.write_text(text)
    with pytest.raises(UsageError, match=f"{number} does not fit a 64-bit integer"):
        solve.read(path)


@pytest.mark.parametrize(
    "text",
    ["0.12345678901234567890\n", "1.2345678901234567890123e30\n", "1e5 # 99999999999999999999\n"],
)
def test_long_decimals_are_no_whole_numbers(tmp_path, text):
    path = tmp_path / "costs.csv"
    path.write_text(text)
    assert solve.read(path).dtype == np.float64


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n", "1,2\n3\n"])
def test_unreadable_text(tmp_path, text):
    path = tmp_path / "costs.csv"
    path.write_text(text)
    with pytest.raises(UsageError, match="cannot be read as a matrix"):
        solve.read(path)


@pytest.mark.parametrize(
    ("text", "word"), [("a,b\n1,2\n", "header 'a'"), ("1;2\n3;4\n", "separated by ';'"),
                       ('"x" y\n1 2\n', "header")],
)  # fmt: skip
def test_tables_of_other_programs_are_refused_by_name(tmp_path, text, word):
    path = tmp_path / "costs.csv"
    path.write_text(text)
    with pytest.raises(UsageError, match=word):
        solve.read(path)
    path.write_text("1,inf\n-Inf,.5  # a remark; here\n")
    assert solve.read(path).shape == (2, 2)


@pytest.mark.parametrize("ending", [".mtx", ".mtx.gz"])
def test_matrix_market_is_costs_to_a_solver_of_assignments(tmp_path, ending):
    """Planted: the costs of an array were a graph to everybody, and refused."""
    path = tmp_path / f"costs{ending}"
    text = "%%MatrixMarket matrix array integer general\n2 3\n4\n2\n1\n0\n3\n5\n"
    with gzip.open(path, "wt") if ending.endswith("gz") else path.open("w") as file:
        file.write(text)
    for name in ("lopes2019", "lupinska_costscale:refine"):
        assert solve.read(path, name).tolist() == [[4, 1, 3], [2, 0, 5]]
    for name in (None, "deveci_matching", "deveci_matching:hk"):
        assert solve.read(path, name).shape == (2, 3)
        assert not isinstance(solve.read(path, name), np.ndarray)


def test_coordinates_are_no_costs(tmp_path):
    path = tmp_path / "costs.mtx"
    path.write_text("%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 1 4\n")
    with pytest.raises(UsageError, match="a pair that is not stored has no cost"):
        solve.read(path, "lopes2019")
    assert solve.read(path).shape == (2, 2)


def test_pickles_are_refused(tmp_path):
    np.save(tmp_path / "costs.npy", np.array([{}], dtype=object))
    with pytest.raises(UsageError, match="cannot be read"):
        solve.read(tmp_path / "costs.npy")


@pytest.mark.parametrize(
    ("name", "n", "gpu", "solver", "told"),
    [
        ("toy", 128, False, "toy:kernel", False),
        ("toy", 129, False, "toy:good", True),
        ("toy", 129, True, "toy:kernel", False),
        ("toy:kernel", 129, False, "toy:kernel", False),
    ],
)
def test_a_paper_alone_names_what_can_run_here(toy, monkeypatch, name, n, gpu, solver, told):
    card = device.Device("a card", gpu, 1, 1 << 30, (9, 0))
    monkeypatch.setattr(kinds.device, "describe", lambda: card)
    found, problem, note = solve.choose(name, np.zeros((n, n)))
    assert (found, problem.name) == (solver, "assignment")
    assert ("toy:kernel runs the kernels" in note) == told
    assert bool(note) == told


def test_a_solver_taken_for_want_of_a_gpu_is_told(reproduce, file, monkeypatch):
    from toybox import toy

    low = replace(toy.PAPER, defaults={"assignment": Defaults("kernel", "good", executor=2)})
    monkeypatch.setattr(toy, "PAPER", low)
    result = reproduce("solve", file, "--with", "toy", "--device", "cpu")
    assert result.code == 0
    (line,) = [line for line in result.out.splitlines() if line.startswith("there is no GPU")]
    assert "3 x 3 is too large for the CPU executor" in line
    assert "toy:kernel runs the kernels" in line


def solved_as_the_calls(path, capsys):
    """Give the command with all papers; returns the lines that it prints."""
    with pytest.raises(SystemExit) as ending:
        cli.main(["solve", str(path), "--with", "auto", "--device", "cpu"])
    told = capsys.readouterr()
    assert not ending.value.code, told.err
    return told.out.splitlines()


@pytest.mark.parametrize(
    ("n", "solver"), [(8, "synthesis:scipy"), (120, "synthesis:one_core")], ids=str
)
def test_auto_takes_what_the_calls_take(tmp_path, capsys, n, solver):
    costs = np.random.default_rng(n).integers(0, 50, (n, n))
    np.save(tmp_path / "costs.npy", costs)
    papers.linear_sum_assignment(costs, device="cpu", explain=True)
    _, _, reason = capsys.readouterr().out.strip().partition("because: ")
    head, note, cost, proof, *_ = solved_as_the_calls(tmp_path / "costs.npy", capsys)
    assert head.startswith(f"assignment of {n} x {n}, {solver} on ")
    assert note == f"the calls' table names it: {reason}"
    rows, columns = papers.linear_sum_assignment(costs)
    assert cost.split() == ["cost", str(costs[rows, columns].sum())]
    assert "proved optimal" in proof


def test_auto_takes_graphs_and_networks_too(tmp_path, capsys):
    edges = np.random.default_rng(1).random((40, 40)) < 0.1
    save_npz(tmp_path / "graph.npz", csr_array(edges))
    papers.maximum_bipartite_matching(csr_array(edges), device="cpu", explain=True)
    assert "deveci_matching:hk, because: " in capsys.readouterr().out
    head, note, *_ = solved_as_the_calls(tmp_path / "graph.npz", capsys)
    assert head.startswith("matching of 40 x 40, deveci_matching:hk on ")
    assert note.startswith("the calls' table names it: Hopcroft-Karp")
    (tmp_path / "n.max").write_text("p max 3 2\nn 1 s\nn 3 t\na 1 2 5\na 2 3 4\n")
    head, note, value, *_ = solved_as_the_calls(tmp_path / "n.max", capsys)
    papers.maximum_flow(
        csr_array([[0, 5, 0], [0, 0, 4], [0, 0, 0]]), 0, 2, device="cpu", explain=True
    )
    named = capsys.readouterr().out.split(", because: ")[0].split()[-1]
    assert f", {named} on " in head
    assert note.startswith("the calls' table names it: ")
    assert value.split() == ["value", "4"]


def test_auto_cuts_a_grid_as_the_call_does(tmp_path, capsys):
    """Planted: a grid, whose answer is a cut, was asked for a flow, which fewer solvers tell."""
    source, sink = np.random.default_rng(2).integers(0, 9, (2, 6, 8))
    arcs = {name: np.full((6, 8), 2) for name in ("left", "right", "up", "down")}
    arcs["left"][:, 0] = arcs["right"][:, -1] = arcs["up"][0] = arcs["down"][-1] = 0
    np.savez(tmp_path / "grid.npz", source=source, sink=sink, **arcs)
    papers.grid_cut(source, sink, 2, device="cpu", explain=True)
    named = capsys.readouterr().out.split(", because: ")[0].split()[-1]
    head, *_ = solved_as_the_calls(tmp_path / "grid.npz", capsys)
    assert f", {named} on " in head


def test_auto_refuses_in_a_sentence(tmp_path, capsys):
    forbidden = np.full((5, 5), np.inf)
    forbidden[:, 0] = forbidden[0] = 1
    for costs, said in (
        (np.zeros((2, 3, 3)), "expected a cost matrix (2-D array), got a 3-D array"),
        (forbidden, "cost matrix is infeasible"),
    ):
        np.save(tmp_path / "costs.npy", costs)
        with pytest.raises(SystemExit) as ending:
            cli.main(["solve", str(tmp_path / "costs.npy"), "--with", "auto", "--device", "cpu"])
        assert ending.value.code == 2
        assert said in capsys.readouterr().err


# ------------------------------------------------------------------------------- graphs

EDGES = np.array([[1, 1, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]])


@pytest.fixture(params=["g.mtx", "g.mtx.gz", "g.npz", "g.npy", "g.csv"])
def graph_file(tmp_path, request):
    path = tmp_path / request.param
    if path.suffix == ".npz":
        save_npz(path, csr_array(EDGES))
    elif path.suffix == ".npy":
        np.save(path, EDGES)
    elif path.suffix == ".csv":
        np.savetxt(path, EDGES, fmt="%d", delimiter=",")
    else:
        mmwrite(tmp_path / "g.mtx", coo_array(EDGES))
        if path.suffix == ".gz":
            path.write_bytes(gzip.compress((tmp_path / "g.mtx").read_bytes()))
    return path


def test_a_graph_is_matched_and_proved(reproduce, graph_file):
    result = reproduce("solve", graph_file, "--with", "toy:matcher")
    assert result.code == 0, result.err
    lines = {line[:12].strip(): line[12:] for line in result.out.splitlines()}
    assert lines["cardinality"] == "2"
    assert lines["proof"].startswith("proved optimal (koenig-cover): 2 pairs")
    assert lines["matching"].endswith("g_matching.csv")
    pairs = pd.read_csv(graph_file.with_name("g_matching.csv"))
    assert list(pairs.columns) == ["row", "column"]
    assert len(pairs) == 2
    assert EDGES[pairs["row"], pairs["column"]].all()


def test_a_matching_that_is_too_small_exits_1(reproduce, graph_file):
    result = reproduce("solve", graph_file, "--with", "toy:mismatcher")
    assert result.code == 1
    assert "NOT PROVED" in result.out


def test_what_a_solver_does_not_take(reproduce, tmp_path):
    save_npz(tmp_path / "g.npz", csr_array(EDGES))
    result = reproduce("solve", tmp_path / "g.npz", "--with", "toy:matcher", "--maximize")
    assert (result.code, result.err) == (2, "reproduce: toy:matcher does not take --maximize\n")
    result = reproduce("solve", tmp_path / "g.npz", "--with", "toy:matcher", "--seconds", "1")
    assert (result.code, result.err) == (2, "reproduce: toy:matcher does not take --seconds\n")
    result = reproduce("solve", tmp_path / "g.npz", "--with", "lopes2019:cpu_sp")
    assert result.code == 2


def test_a_solver_of_costs_takes_no_graph(tmp_path):
    save_npz(tmp_path / "g.npz", csr_array(EDGES))
    graph = solve.read(tmp_path / "g.npz")
    with pytest.raises(UsageError, match="lopes2019:cpu_sp: costs are a matrix, not a Graph"):
        solve.solve(graph, "lopes2019:cpu_sp", False, "cpu")


def test_a_broken_graph_file(reproduce, tmp_path):
    (tmp_path / "g.mtx").write_text("nothing")
    result = reproduce("solve", tmp_path / "g.mtx", "--with", "toy:matcher")
    assert result.code == 2
    assert result.err.startswith("reproduce: g.mtx: ")
    assert result.err.count("\n") == 1


@pytest.mark.parametrize("name", ["g.mtx", "g.mtx.gz", "n.max"])
def test_a_header_that_claims_a_hundred_thousand_million_exits_2(reproduce, tmp_path, name):
    words = "%%MatrixMarket matrix coordinate pattern general\n3 3 99999999999\n1 1\n"
    if name == "n.max":
        words = "p max 2 99999999999\nn 1 s\nn 2 t\na 1 2 1\n"
    data = words.encode()
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    result = reproduce("solve", tmp_path / name)
    assert result.code == 2
    assert result.err.startswith(f"reproduce: {name}: the header claims 99999999999 ")
    assert result.err.count("\n") == 1


def test_memory_that_does_not_last_is_no_internal_error(reproduce, file, monkeypatch):
    def read(path):
        raise MemoryError("Unable to allocate 373. GiB")

    monkeypatch.setattr(kinds, "read", read)
    result = reproduce("solve", file)
    assert result.code == 2
    assert result.err == "reproduce: costs.npy: this machine's memory does not hold it\n"


# ------------------------------------------------------------------------------- defaults

PUBLIC = [(name, problem) for name in papers.PAPERS for problem in registry.card(name).defaults]
FORMS = {
    "assignment": lambda: np.arange(36).reshape(6, 6) % 7,
    "matching": lambda: bipartite(np.eye(6)),
    "flow": lambda: grid(
        np.eye(4, dtype=int), np.eye(4, dtype=int)[::-1], dict.fromkeys(FOUR, np.zeros((4, 4), int))
    ),
}


def call(name, problem, data):
    """The paper's public call for a problem."""
    module = importlib.import_module(f"papers.{name}")
    if problem == "flow":
        return module.grid_cut(data.source, data.sink, 0)
    return module.solve(data)


@pytest.mark.parametrize("large", [False, True], ids=["small", "large"])
@pytest.mark.parametrize(("name", "problem"), PUBLIC)
def test_the_command_and_the_call_take_the_same_solver(monkeypatch, name, problem, large):
    """Both ask the card: the kernels where the executor is quick, else the CPU's solver.

    The call ends when it has asked: that solvers are right is said elsewhere, and Numba would
    compile each of them here.
    """
    device.select("cpu")
    taken, true = [], kinds.default_solver

    def default(paper, problem, data):
        taken.append(true(paper, problem, data)[0])
        if len(taken) == 1:
            raise InterruptedError
        return taken[-1], ""

    data = FORMS[problem]()
    card = registry.card(name)
    limit = replace(card.defaults[problem], executor=1 if large else 10_000)
    monkeypatch.setitem(card.defaults, problem, limit)
    monkeypatch.setattr(kinds, "default_solver", default)
    with pytest.raises(InterruptedError):
        call(name, problem, data)
    full, _, _ = solve.choose(name, data)
    wanted = limit.cpu if large else limit.gpu
    assert taken == [wanted, wanted]
    assert full == f"{name}:{wanted}"
