"""Runs of the toy paper: every way to end a cell, kills, resumes, exit codes."""

import json
import os
import signal
import time
from pathlib import Path

import pandas as pd
import pytest

from papers.reproduce import measurements


def table(folder):
    return measurements.read(folder / "measurements.csv")


def status(folder, cell):
    done = table(folder).query("metric == 'done'").set_index("cell")
    return done.loc[f"toy:{cell}/uniform/n=8/range=n/seed=1"]


def measured_cells(folder):
    """The done rows in file order, from the raw text: a duplicate would show."""
    lines = (folder / "measurements.csv").read_text().splitlines()
    return [line.split(",")[0] for line in lines if ",answer,done," in line]


def test_a_clean_run_exits_0_and_measures_shared_cells_once(reproduce, tmp_path):
    result = reproduce("run", "toy:table1", "fig1", "--seed", 1, "--repeats", 3, "--out", tmp_path)
    assert result.code == 0, result.err
    cells = measured_cells(tmp_path)
    assert len(cells) == len(set(cells)) == 6
    rows = table(tmp_path).query("cell == 'toy:good/uniform/n=8/range=n/seed=1'")
    # table1 asks for run and end_to_end, fig1 for steps and run: one cell with all three.
    assert set(rows["scope"]) == {"run", "end_to_end", "steps", "answer"}
    counts = rows.groupby(["scope", "metric"]).size()
    assert counts["run", "time_ms"] == counts["end_to_end", "time_ms"] == 3
    assert counts["steps", "prepare_ms"] == 3
    assert (rows.query("metric == 'never_ms'")["value"] == 0).all()
    assert set(rows["certificate"]) == {"lp-duals"}


def test_what_the_clock_says_is_what_the_solver_took(reproduce, tmp_path):
    reproduce("run", "toy:table1", "--preset", "smoke", "--seed", 1, "--out", tmp_path)
    slow = table(tmp_path).query("solver == 'toy:slow' and metric == 'time_ms'")["value"]
    assert ((slow >= 50) & (slow < 1000)).all()


@pytest.mark.parametrize(
    ("experiment", "expected", "reason", "code"),
    [
        ("fail", "failed", 'ValueError: planted, with a line break, "quotes" and a comma', 3),
        ("exhaust", "out-of-memory", "MemoryError: planted", 3),
        ("killed", "out-of-memory", "signal 9", 3),
        ("crash", "failed", "exit 7", 3),
        ("wrong", "not-certified", "run: ", 1),
        ("unsteady", "not-certified", "run: ", 1),
        ("unknown", "failed", "unknown solver 'toy:nobody'", 3),
        ("device", "skipped", "device time needs a GPU", 0),
    ],
)
def test_every_bad_end_is_a_status_and_the_run_goes_on(
    reproduce, tmp_path, experiment, expected, reason, code
):
    words = ["toy:table1", experiment, "--preset", "smoke", "--seed", 1, "--device", "cpu"]
    result = reproduce("run", *words, "--out", tmp_path)
    assert result.code == code
    solver = {"unknown": "nobody", "device": "kernel"}.get(experiment, experiment)
    row = status(tmp_path, solver)
    assert row["status"] == expected
    assert reason in row["reason"]
    assert expected in result.out
    assert len(measured_cells(tmp_path)) == 3
    assert status(tmp_path, "good")["status"] == status(tmp_path, "slow")["status"] == "ok"
    assert expected in (tmp_path / "report.md").read_text()


def test_a_hanging_cell_is_killed_and_says_where_it_was(reproduce, tmp_path):
    begin = time.monotonic()
    words = ["toy:hang", "table1", "--preset", "smoke", "--seed", 1, "--timeout", 2]
    result = reproduce("run", *words, "--out", tmp_path)
    assert result.code == 3
    assert time.monotonic() - begin < 60
    row = status(tmp_path, "hang")
    assert (row["status"], row["reason"]) == ("timeout", "over 2 s, in: upload and warm-up")
    assert status(tmp_path, "good")["status"] == "ok"


def test_not_certified_wins_over_failed(reproduce, tmp_path):
    result = reproduce("run", "toy:fail", "wrong", "--preset", "smoke", "--out", tmp_path)
    assert result.code == 1


def test_uncertified_times_enter_no_table(reproduce, tmp_path):
    reproduce("run", "toy:wrong", "table1", "--preset", "smoke", "--seed", 1, "--out", tmp_path)
    summary = pd.read_csv(tmp_path / "summary.csv")
    wrong = summary[summary["solver"] == "toy:wrong"]
    assert (wrong["metric"] == "time_ms").any()
    assert set(measurements.usable(summary)["solver"]) == {"toy:good", "toy:slow"}


def test_counters_that_differ_are_kept_one_a_repeat(reproduce, tmp_path):
    reproduce("run", "toy:jittery", "--repeats", 3, "--out", tmp_path)
    rows = table(tmp_path).query("metric == 'augmentations'")
    # The warm-up was the first run on the state.
    assert list(rows["value"]) == [2, 3, 4]
    assert list(rows["repeat"]) == [0, 1, 2]


def test_a_broken_table_is_told_and_exits_3(reproduce, tmp_path):
    result = reproduce("run", "toy:broken", "--preset", "smoke", "--out", tmp_path)
    assert result.code == 3
    assert "no published numbers 'nothing'; there are: paper_inconsistencies, speed" in result.err
    assert "no published numbers" in (tmp_path / "report.html").read_text()


def test_only_keeps_matching_cells(reproduce, tmp_path):
    words = ["--only", "n=16", "--only", "n=32", "--only", "solver=good", "--seed", 4]
    assert reproduce("run", "toy:table1", *words, "--out", tmp_path).code == 0
    assert measured_cells(tmp_path) == [
        "toy:good/uniform/n=16/range=n/seed=4",
        "toy:good/uniform/n=32/range=n/seed=4",
    ]


def test_dry_run_measures_nothing(reproduce, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = reproduce("run", "toy:table1", "--dry-run")
    assert result.code == 0
    assert "18 cells" in result.out
    assert "unknown" in result.out
    assert list(tmp_path.iterdir()) == []


# ------------------------------------------------------------------------------ kills


def wait_for_cells(folder, number, process, limit=60):
    end = time.monotonic() + limit
    path = folder / "measurements.csv"
    while time.monotonic() < end:
        if path.is_file() and path.read_text().count(",answer,done,") >= number:
            return
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    raise AssertionError("the run made no progress")


def stat(pid):
    """State and parent of a process, from /proc; ("Z", 0) if it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return "Z", 0
    return fields[0], int(fields[1])


def children(pid):
    return [int(e) for e in os.listdir("/proc") if e.isdigit() and stat(e)[1] == pid]


def is_running(pid):
    return stat(pid)[0] != "Z"


def test_sigkill_loses_and_repeats_nothing(reproduce, start, tmp_path):
    folder = tmp_path / "run"
    process = start("run", "toy:table1", "--repeats", 4, "--out", folder)
    wait_for_cells(folder, 5, process)
    workers = children(process.pid)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = (folder / "measurements.csv").read_bytes()
    finished = measured_cells(folder)
    assert 5 <= len(finished) < 18
    assert not (folder / "report.html").exists()
    # The child must not live on and hold the device.
    assert workers
    end = time.monotonic() + 10
    while any(map(is_running, workers)) and time.monotonic() < end:
        time.sleep(0.05)
    assert not any(map(is_running, workers))
    with (folder / "measurements.csv").open("ab") as file:
        file.write(b"toy:good/uniform/n=32/range=n/seed=3,toy:good,,a torn li")
    assert reproduce("run", "--resume", folder).code == 0
    after = (folder / "measurements.csv").read_bytes()
    whole = before[: before.rfind(b"\n") + 1]
    assert after.startswith(whole)
    cells = measured_cells(folder)
    assert cells[: len(finished)] == finished
    assert len(cells) == len(set(cells)) == 18
    assert set(table(folder)["status"]) == {"ok"}


def test_resuming_a_finished_run_changes_nothing(reproduce, tmp_path):
    reproduce("run", "toy:table1", "--preset", "smoke", "--out", tmp_path)
    before = (tmp_path / "measurements.csv").read_bytes()
    result = reproduce("run", "--resume", tmp_path)
    assert result.code == 0
    assert (tmp_path / "measurements.csv").read_bytes() == before


def test_ctrl_c_keeps_finished_cells_and_exits_130(start, tmp_path):
    folder = tmp_path / "run"
    process = start(
        "run", "toy:table1", "hang", "--only", "seed=1", "--only", "n=8", "--out", folder
    )
    wait_for_cells(folder, 2, process)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert f"--resume {folder}" in err
    assert "Traceback" not in err
    assert len(measured_cells(folder)) == 2


def test_resume_refuses_another_device(reproduce, tmp_path):
    reproduce("run", "toy:device", "--out", tmp_path)
    meta = json.loads((tmp_path / "meta.json").read_text())
    meta["device"]["name"] = "Another GPU"
    (tmp_path / "meta.json").write_text(json.dumps(meta))
    result = reproduce("run", "--resume", tmp_path)
    assert result.code == 2
    assert "'Another GPU'" in result.err
