"""`reproduce trace`: what it writes, prints and refuses."""

import contextlib
import io
import json

import numpy as np
import pytest

from papers.common.evidence.trace import runs as telling
from papers.reproduce import cli, registry

JOIN = ["lopes2019", "--story", "join"]


def give(*words):
    """The command in this process: exit code, standard output, standard error."""
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        pytest.raises(SystemExit) as ending,
    ):
        cli.main(["trace", *map(str, words)])
    return int(ending.value.code or 0), out.getvalue(), err.getvalue()


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    """A folder of its own; only the runs that stories ask for."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(telling, "KEPT", 1)


def test_a_page_and_a_trace_are_written_and_not_written_over(tmp_path):
    code, out, _ = give(*JOIN)
    page, trace = tmp_path / "lopes2019-trace.html", tmp_path / "lopes2019-trace.json"
    assert code == 0
    assert "join: row 0 wins, row 1 wins" in out
    kept = json.loads(trace.read_text(encoding="utf-8"))
    assert [run["label"] for run in kept["runs"]] == ["row 0 wins", "row 1 wins"]
    before = page.read_bytes()
    for path in (page, trace):
        path.write_text("somebody's")
        other = trace if path is page else page
        other.unlink(missing_ok=True)
        code, _, err = give(*JOIN)
        assert code == 2
        assert f"{path.name} exists already" in err
        assert path.read_text() == "somebody's"
    assert give(*JOIN, "--force")[0] == 0
    assert page.read_bytes() == before


def test_all_seeds_are_used_and_equal_runs_are_shown_once(tmp_path):
    assert give(*JOIN, "--seed", 8, "--seed", 44, "--seed", 8)[0] == 0
    kept = json.loads((tmp_path / "lopes2019-trace.json").read_text(encoding="utf-8"))
    assert [run["seed"] for run in kept["runs"]] == [8, 44]


def test_the_terminal_has_the_run_and_nothing_is_written(tmp_path):
    code, out, _ = give(*JOIN, "--terminal")
    assert code == 0
    assert "A join: column 0 had row" in out
    assert "papers/lopes2019/kernels/search.py:" in out
    assert "row 0 wins (seed 8)" in out
    assert "row 1 wins" not in out
    assert list(tmp_path.iterdir()) == []
    assert "seed 44" in give(*JOIN, "--terminal", "--seed", 44)[1]


def test_an_instance_of_ones_own(tmp_path):
    np.save(tmp_path / "costs.npy", np.array([[4, 1, 3], [2, 0, 5], [3, 2, 2]]))
    code, out, _ = give("datenagi2016", "costs.npy", "--seed", 3, "--output", "page.html")
    assert code == 0
    assert "yours: seed 3" in out
    assert (tmp_path / "page.html").exists()
    assert (tmp_path / "page.json").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nobody"], "unknown paper"),
        (["lopes2019", "--story", "joins"], "did you mean 'join'"),
        (["lopes2019", "large.npy"], "2 to 8 rows"),
        (["lopes2019", "large.npy", "--story", "join"], "exclude one another"),
        (["lopes2019", "none.npy"], "none.npy"),
        (["lopes2019", "--output", "page.txt"], "is no .html file"),
        (["lopes2019", "--output", "nowhere/page.html"], "there is no folder"),
        (["lopes2019", "--seed", "-1"], "seed"),
    ],
)
def test_refusals(words, message, tmp_path):
    np.save(tmp_path / "large.npy", np.zeros((9, 9), int))
    before = sorted(tmp_path.iterdir())
    code, out, err = give(*words)
    assert (code, out) == (2, "")
    assert message in err
    assert sorted(tmp_path.iterdir()) == before


def test_a_paper_without_a_trace_says_so(monkeypatch):
    monkeypatch.setitem(registry.MODULES, "bare", "papers.reproduce")
    monkeypatch.setattr(registry, "card", lambda name: None)
    code, _, err = give("bare")
    assert code == 2
    assert "it has no evidence/trace.py" in err
