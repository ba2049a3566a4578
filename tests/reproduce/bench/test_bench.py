"""`reproduce bench`: somebody's function beside the papers' codes, in the runner's own folder."""

import numpy as np
import pytest

from papers.reproduce.bench import asked, records_here
from papers.reproduce.bench.asked import Asked
from papers.reproduce.registry import UsageError
from papers.reproduce.run import packed, runner
from papers.reproduce.run.runner import Choice

RIGHT = "toybox.functions:right"


def test_wrong_and_failing_answers_are_named_and_exit_3(benched):
    _, result, found = benched
    assert result.code == found["exit_code"] == 3
    ends = {(one["instance"].split("/")[1], one["solver"]): one["status"] for one in found["lines"]}
    name = "toybox.functions:by_size"
    assert ends == {
        ("n=8", name): "ok", ("n=16", name): "not-certified", ("n=32", name): "failed",
        **{(f"n={n}", "toy:good"): "ok" for n in (8, 16, 32)},
    }  # fmt: skip
    assert f"not-certified: {name} on uniform/n=16/range=n/seed=1: end_to_end: row " in result.out
    assert "the optimum" in result.out
    assert f"failed: {name} on uniform/n=32/range=n/seed=1: ValueError: planted" in result.out
    assert "exit code 3: 2 of 6 cells are wrong, failed or missing" in result.out


def test_times_are_compared_where_both_answers_are_proved(benched):
    _, _, found = benched
    ratios = {
        (one["instance"].split("/")[1], one["solver"]): one["over_yours"] for one in found["lines"]
    }
    ours, other = (
        next(o["ms"] for o in found["lines"] if o["solver"] == solver and "n=8/" in o["instance"])
        for solver in ("toybox.functions:by_size", "toy:good")
    )
    assert ratios["n=8", "toy:good"] == pytest.approx(other / ours)
    assert ratios["n=16", "toy:good"] is None  # The function was wrong there.
    assert all(one["q1"] <= one["ms"] <= one["q3"] for one in found["lines"] if one["ms"])


def test_a_bench_is_no_run_of_a_paper(benched, reproduce):
    """Planted: `record` would have kept somebody's function as a paper's record."""
    folder = benched[0]
    before = sorted(path.name for path in folder.iterdir())
    for words in (["report", folder], ["run", "--resume", folder], ["record", folder]):
        result = reproduce(*words)
        assert (result.code, result.err.count("\n")) == (2, 1)
    assert "is a run of reproduce bench" in reproduce("report", folder).err
    assert sorted(path.name for path in folder.iterdir()) == before


MINE = "from scipy.optimize import linear_sum_assignment\n\n\ndef solve(costs):\n    return linear"


def test_a_kill_loses_no_finished_cell_and_a_changed_function_is_refused(
    reproduce, tmp_path, monkeypatch
):
    """The file of a killed bench ends in a torn cell; only that one is measured again."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine_of_a_kill.py").write_text(f"{MINE}_sum_assignment(costs)\n")
    np.save("costs.npy", np.arange(16).reshape(4, 4) ** 2 % 7)
    words = ["mine_of_a_kill:solve", "--file", "costs.npy", "--against", "toy:good"]
    first = reproduce("bench", *words, "--repeats", 2, "--device", "cpu", "--out", "run")
    assert (first.code, "2 of 2 cells" in first.out) == (0, True)
    path = tmp_path / "run" / "measurements.csv"
    lines = path.read_text().splitlines(keepends=True)
    ends = [place for place, line in enumerate(lines) if ",done," in line]
    path.write_text("".join(lines[: ends[0] + 2])[:-5])
    kept = lines[: ends[0] + 1]
    again = reproduce("bench", "--resume", "run", "--device", "cpu")
    assert "1 of 2 cells" in again.out
    assert path.read_text().splitlines(keepends=True)[: len(kept)] == kept
    (tmp_path / "mine_of_a_kill.py").write_text(f"{MINE}_sum_assignment(costs + 1)\n")
    changed = reproduce("bench", "--resume", "run", "--device", "cpu")
    assert (changed.code, "has changed since this run began" in changed.err) == (2, True)


def test_a_function_that_takes_too_long_is_stopped_and_named(reproduce, tmp_path):
    words = ["toybox.functions:hangs", "--on", "toy:table1", "--only", "n=8", "--timeout", 0.5]
    result = reproduce("bench", *words, "--device", "cpu", "--out", tmp_path / "run", "--quiet")
    assert (result.code, result.out) == (3, "")
    assert "timeout: toybox.functions:hangs on uniform/n=8/range=n/seed=1: over 0.5 s" in result.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "bench what? MODULE:FUNCTION"),
        ([RIGHT], "give either --on PAPER:EXPERIMENT or --file FILE"),
        ([RIGHT, "--on", "toy", "--file", "x.npy"], "give either --on"),
        ([RIGHT, "--file", "x.npy", "--only", "n=8"], "--only and --seed choose instances"),
        ([RIGHT, "--on", "toy", "--retry"], "--retry goes with --resume"),
        ([RIGHT, "--resume", "x"], "goes on with RUN's own plan"),
        (["--resume", "nowhere"], "nowhere is no run folder"),
        (["toybox.functions:rigth", "--on", "toy"], "did you mean 'right'?"),
        ([RIGHT, "--on", "toy", "--against", "toy:god"], "did you mean 'good'?"),
        ([RIGHT, "--on", "toy", "--problem", "sorting"], "'assignment', 'matching', 'flow'"),
        ([RIGHT, "--on", "toy", "--json", "nowhere/x"], "there is no folder nowhere"),
    ],
)
def test_usage_errors_are_one_line_and_exit_2(reproduce, words, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = reproduce("bench", *words)
    assert (result.code, result.err.count("\n")) == (2, 1), result.err
    assert message in result.err
    assert list(tmp_path.iterdir()) == []


# ------------------------------------------------------------------------------ the plan


def planned(**words):
    targets = words.pop("on", ())
    choice = Choice(targets=targets, only=words.pop("only", ()), preset="smoke")
    return asked.planned(Asked(RIGHT, choice, **words), gpu=words.pop("gpu", False))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"on": ("toy:tabel1",)}, "did you mean 'table1'"),
        ({"on": ("toy:table1",), "only": ("n=9",)}, "the plan has n 8"),
        ({"on": ("toy:table1",), "problem": "flow"}, "no instance is of the problem flow"),
        ({"on": ("toy:table1", "graphs")}, "several problems .matching, assignment.*--problem"),
        ({"on": ("toy:table1",), "against": ("toy:kernel",)}, "kernels needs a GPU"),
        ({"on": ("toy:table1",), "against": ("toy:matcher",)}, "for matching, not for assignment"),
        ({"on": ("toy:later",)}, "no cell is planned"),
    ],
)
def test_plans_that_cannot_be_are_refused(toy, words, message):
    with pytest.raises(UsageError, match=message):
        planned(**words)


def test_rivals_have_the_options_of_the_experiment_and_all_take_turns():
    problem, jobs, _ = planned(
        on=("lopes2019:fig05", "lopes2019:counts"), only=("range=n",),
        against=("lopes2019:cpu_c", "datenagi2016:cpu_omp"),
    )  # fmt: skip
    keys = [job.cell.instance.key for job in jobs]
    mine = [job.cell.instance.key for job in jobs if job.cell.solver.startswith("yours:")]
    assert (problem, len(set(mine))) == ("assignment", len(mine))
    assert set(keys) == set(mine)
    assert {job.cell.scopes for job in jobs} == {("end_to_end",)}
    from papers.reproduce.plan import cells

    assert [len({job.cell.instance for job in group}) for group in cells.groups(jobs)] == [1] * len(
        mine
    )
    # Nobody maximizes: a function of SciPy's form does not.
    _, jobs, _ = planned(on=("lopes2019:authors_stream",), against=("lopes2019:cpu_c",))
    rivals = [job.cell for job in jobs if job.cell.solver == "lopes2019:cpu_c"]
    assert rivals
    assert not any("maximize" in dict(cell.options) for cell in rivals)


# ------------------------------------------------------------------------------ records


def test_records_count_on_their_own_machine_alone(benched, monkeypatch, tmp_path):
    """Planted: another number of cores, another GPU, and a machine that does not say what it is."""
    folder = benched[0]
    place = tmp_path / "results" / "a-card"
    place.mkdir(parents=True)
    for name in ("measurements.csv", "environment.json"):
        (place / name).write_bytes((folder / name).read_bytes())
    packed.pack(place)  # As `record` leaves it.
    monkeypatch.setattr(records_here.registry, "MODULES", {"toy": "toybox.toy"})
    monkeypatch.setattr(records_here.registry, "folder", lambda name: tmp_path)
    here = runner.load_environment(folder)
    rows, away = records_here.times(here, "end_to_end", {"uniform/n=8/range=n/seed=1"})
    assert "toy:good" in set(rows["solver"])
    assert (set(rows["n"]), away) == ({8}, [])
    for other in ({"cores": here["cores"] + 1}, {"gpus": [{"name": "X"}]}, {"cpu": ""}):
        rows, away = records_here.times({**here, **other}, "end_to_end", {"uniform/n=8"})
        assert (len(rows), away) == (0, ["toy on a-card"])
    rows, _ = records_here.times(here, "run", {"uniform/n=8/range=n/seed=1"})
    assert rows.empty  # Clocks are never mixed.
