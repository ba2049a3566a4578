"""`reproduce explain`: from a number to its origin."""

import json
import linecache
import shlex
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

import papers
from papers.common.model import Cell, Comparison, Experiment, Instance, Solver
from papers.reproduce import registry
from papers.reproduce.explain import basis, makers, named, places, provenance, text

ROOT = Path(papers.__file__).parents[1]


@pytest.fixture
def explained(reproduce, finished_run, tmp_path):
    """The printed lines and the JSON of one experiment of a finished run."""

    def explain(*words):
        file = tmp_path / "why.json"
        result = reproduce("explain", *words, "--run", finished_run[0], "--json", file)
        assert result.code == 0, result.err
        return result.out, json.loads(file.read_text())

    return explain


def test_a_table_leads_to_print_cells_solvers_code_and_the_command(explained, finished_run):
    out, found = explained("toy:table1")
    assert len(out.splitlines()) <= text.MOST
    assert "no table" not in out
    assert "[T26 Table 1]  papers/toy/published: speed.csv (3 rows)" in out
    assert "3 of uniform: n 8, 16, 32; range n; seed 1; in host memory" in out
    assert "toy:slow, Slow: 3 of 3 cells, clocks run" in out
    command = found["command"]
    assert shlex.split(command)[:3] == ["reproduce", "run", "toy:table1"]
    assert "--seed 1 --repeats 2" in command
    assert [row["quantity"] for row in found["rows"]]
    assert found["published"] == {"speed": 3}
    assert set(found["code"]) == {"entry", "table", "verdicts"}
    assert found["preset"] == "quick"
    line = int(found["code"]["table"].rpartition(":")[2])
    assert linecache.getline(registry_file(), line).startswith("def _table(")


def registry_file():
    import toybox.toy

    return toybox.toy.__file__


def test_a_row_is_made_of_its_own_cells(explained):
    out, found = explained("toy:table1", "--row", "n=16")
    (cells,) = found["made_of"].values()
    assert cells == [f"toy:{s}/uniform/n=16/range=n/seed=1" for s in ("good", "slow")]
    assert len(found["rows"]) == 1
    assert [one["sizes"] for one in found["instances"]] == [[16]]
    assert "made of   2 cells: speedup n=16" in out


def test_cells_that_the_table_reads_by_mistake_are_told(toy, finished_run):
    """Planted: a table that shows the times of n=32 in the row of n=16."""
    right = basis.of("toy:table1", finished_run[0])
    entry = right.experiment

    def mistaken(measurements, published):
        rows = entry.table(measurements, published)
        rows.loc[rows["n"] == 16, "speedup"] = rows.loc[rows["n"] == 32, "speedup"].to_numpy()
        return rows

    wrong = replace(right, experiment=replace(entry, table=mistaken))
    item = next(c for c in right.comparisons if "n=16" in c.quantity)
    cells = entry.cells(right.plan)
    assert {c.split("/")[2] for c in provenance.made_of(right, item, cells)} == {"n=16"}
    assert {c.split("/")[2] for c in provenance.made_of(wrong, item, cells)} == {"n=32"}
    # Cells that the experiment does not plan are found as well.
    few = [cell for cell in cells if cell.instance.n == 8]
    assert {c.split("/")[2] for c in provenance.made_of(wrong, item, few)} == {"n=32"}


@pytest.mark.parametrize("of", ["median", "ratio of medians"])
def test_every_seed_of_a_median_is_part_of_it(of):
    """The largest of three moves their median only downwards, and two solvers must not cancel."""
    values = {"a": (1.0, 2.0, 3.0), "b": (5.0, 4.0, 6.0), "idle": (7.0, 8.0, 9.0)}
    cells = [Cell(f"toy:{name}", Instance("uniform", 8, "n", seed=k)) for name in values
             for k in (1, 2, 3)]  # fmt: skip
    numbers = [value for three in values.values() for value in three]
    seen = pd.DataFrame({
        "cell": [cell.key for cell in cells], "solver": [cell.solver for cell in cells],
        "options": "", "metric": "time_ms", "median": numbers, "q1": numbers, "q3": numbers,
        "values": [(value,) for value in numbers],
    })  # fmt: skip

    def compared(rows):
        of_solver = rows.groupby("solver")["median"].median()
        ratio = of_solver["toy:a"] / (of_solver["toy:b"] if of != "median" else 1.0)
        return [Comparison("q", "ratio", 1.0, float(ratio), "open")]

    basis = SimpleNamespace(seen=seen, compared=compared)
    found = provenance.made_of(basis, compared(seen)[0], cells)
    wanted = 3 if of == "median" else 6
    assert found == [cell.key for cell in cells[:wanted]]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["toy:tabel1"], "did you mean 'table1'?"),
        (["toy"], "'toy' is no PAPER:EXPERIMENT; toy has: table1"),
        (["tyo:table1"], "did you mean 'toy'?"),
        (["toy:table1,fig1"], "is no PAPER:EXPERIMENT"),
        (["toy:table1"], "toy has no recorded run; explain a run of yours by --run"),
        (["toy:table1", "--record", "h100"], "no record of 'h100'"),
        (["toy:table1", "--run", "nowhere"], "nowhere is no run folder"),
        (["toy:table1", "--run", "x", "--record", "y"], "exclude one another"),
        (["toy:table1", "--json", "nowhere/x.json"], "there is no folder nowhere"),
    ],
)
def test_wrong_names_are_one_line_and_exit_2(reproduce, words, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = reproduce("explain", *words)
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert message in result.err


def test_a_row_or_an_experiment_that_is_not_there_is_named(reproduce, finished_run, tmp_path):
    run = finished_run[0]
    result = reproduce("explain", "toy:table1", "--run", run, "--row", "n=9")
    assert (result.code, "'n=9' is no row of this table" in result.err) == (2, True)
    result = reproduce("explain", "toy:graphs", "--run", run)
    assert (result.code, "has not measured toy:graphs; it has: toy:table1" in result.err) == (
        2,
        True,
    )
    precious = tmp_path / "precious.json"
    precious.write_text("{}")
    result = reproduce("explain", "toy:table1", "--run", run, "--json", precious)
    assert (result.code, precious.read_text()) == (2, "{}")


def test_kernels_are_those_that_the_options_launch():
    """The two configurations of one solver launch kernels of two modules, of the same names."""
    solver = registry.solver("lopes2019:gpu")
    tuned, why = makers.launched(solver, {})
    printed, _ = makers.launched(solver, {"configuration": "paper"})
    assert why == ""
    assert {p.file.rpartition("/")[2] for p in tuned} == {"search.py", "matrix.py"}
    assert "papers/lopes2019/kernels/printed.py" in {p.file for p in printed}
    for place in {*tuned, *printed}:
        line = linecache.getline(str(ROOT / place.file), place.line)
        assert line.startswith(f"def {place.name}("), place


def test_the_explanation_says_where_kernels_were_seen():
    none = makers.Maker("toy:good", "", "Good", "cpu", ("run",), 1, 1, None)
    some = replace(none, kernels=(places.Place("assign", "papers/toy.py", 7),))
    first, second = text._kernels([none, some], verbose=False)
    assert first.split() == ["kernels", "papers/toy.py:", "assign:7"]
    assert second.strip().startswith("seen on a few rows in the CPU executor")
    assert text._kernels([none], verbose=False) == []


def test_a_solver_that_fails_or_launches_nothing_is_told():
    def fail(state, trace=None):
        raise ValueError("planted")

    def quiet(state, trace=None):
        pass

    def solver(run):
        return Solver("x", "X", "cuda", "assignment", lambda costs: costs, run, lambda state: state)

    assert makers.launched(solver(fail), {})[1].endswith("(ValueError: planted)")
    assert makers.launched(solver(quiet), {}) == ((), "it launches nothing there")


def test_verdicts_of_a_helper_are_told_where_the_paper_names_them():
    """The code of `judged` is in `papers.common`; the reader wants the paper's line."""
    entry = registry.experiments("lopes2019")["table3"]
    found = dict(places.of_experiment("papers.lopes2019", entry))
    assert found["verdicts"].file.startswith("papers/lopes2019/")
    for place in found.values():
        line = linecache.getline(str(ROOT / place.file), place.line)
        assert place.name in line or "Experiment(" in line, place


def test_notes_name_deviations_and_places_where_print_disagrees_with_itself():
    entry = Experiment("table3", "Steps", "table", None, None)
    item = Comparison("q", "ratio", 1.0, 2.0, "open", note="as D4 says, not D99")
    found = named.told("lopes2019", entry, [item])
    assert list(found) == ["D4", "LO4"]
    assert found["LO4"].startswith("Fig 11 and Table 3 against Tables 2 and 3: printed ")
    other = Experiment("fig01", "Flow", "picture", None, None)
    assert dict(named.told("lopes2019", other, [])) == {}  # Fig 11 is not Fig 1


def test_a_recorded_number_needs_no_gpu_and_forty_lines(monkeypatch):
    """The one test that reads a record: its machine, commit, command, and what it is made of."""
    from papers.reproduce.explain import explanation

    monkeypatch.setattr(explanation.measured, "Evidence", lambda rows: _NoIntervals(rows))
    found = explanation.explain("lopes2019:table3")
    told = "\n".join(text.lines(found, verbose=False))
    assert len(told.splitlines()) <= text.MOST
    assert f"commit {found.basis.environment['commit'][:12]}" in told
    assert "anew      reproduce run lopes2019:table3 --preset paper" in told
    assert {"table3"} <= set(found.sources)
    assert "step_6_reduction_1" in told
    assert len(text.lines(found, verbose=True)) > len(text.lines(found, verbose=False))
    json.loads(text.as_json(found))


class _NoIntervals:
    """The comparisons of the medians; resampling a record takes a second."""

    def __init__(self, rows):
        from papers.common.evidence.intervals import Evidence

        self.compare = Evidence(rows, draws=0).compare


def test_instances_are_grouped_by_what_tells_them_apart():
    cells = [
        Cell("a:b", Instance("uniform", n, label, seed=seed))
        for n in (8, 16) for label in ("n", "10n") for seed in (1, 2)
    ]  # fmt: skip
    cells.append(Cell("a:b", Instance("uniform", 8, "n", storage="device")))
    host, device = makers.instances_of([*cells, *cells])
    assert (host.count, host.sizes, host.ranges, host.seeds) == (8, (8, 16), ("n", "10n"), (1, 2))
    assert (device.storage, device.count) == ("device", 1)
