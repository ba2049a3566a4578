"""`reproduce solve`: files of one's own."""

import numpy as np
import pandas as pd
import pytest

from papers.reproduce import matrix
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
    assert lines["run"].endswith("ms")
    assert lines["end to end"].endswith("ms")
    table = pd.read_csv(target)
    assert list(table.columns) == ["row", "column", "cost"]
    assert table["cost"].sum() == cost
    assert sorted(table["column"]) == [0, 1, 2]
    assert (COSTS[table["row"], table["column"]] == table["cost"]).all()


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
    found = matrix.read(path)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n", "1,2\n3\n"])
def test_unreadable_text(tmp_path, text):
    path = tmp_path / "costs.csv"
    path.write_text(text)
    with pytest.raises(UsageError, match="cannot be read as a matrix"):
        matrix.read(path)


def test_pickles_are_refused(tmp_path):
    np.save(tmp_path / "costs.npy", np.array([{}], dtype=object))
    with pytest.raises(UsageError, match="cannot be read"):
        matrix.read(tmp_path / "costs.npy")


@pytest.mark.parametrize(
    ("n", "gpu", "solver"),
    [(64, False, "toy:kernel"), (65, False, "toy:good"), (65, True, "toy:kernel")],
)
def test_a_paper_alone_names_what_can_run_here(toy, n, gpu, solver):
    assert matrix.choose("toy", n, gpu)[0] == solver
