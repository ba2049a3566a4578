"""Cells for several ranks in a run of one process: a job is started, obeyed, and ended."""

import os
import sys
from types import SimpleNamespace

import pytest

from papers.common.model import Cell, Instance
from papers.reproduce.measure import squad
from papers.reproduce.measure.outcome import Outcome
from papers.reproduce.measure.squad import Squad
from papers.reproduce.measure.worker import DeviceCard
from papers.reproduce.plan.pace import PACE

LAUNCHER = f"""#!{sys.executable}
import os, sys, time
sys.path[:0] = {sys.path!r}
from multiprocessing.connection import Client

if sys.argv[1:4] != ["-n", "4", sys.executable]:
    sys.exit(9)
with Client(sys.argv[-1], "AF_UNIX", authkey=os.environ["{squad.KEY}"].encode()) as line:
    modules = line.recv()
    FIRST
    while True:
        try:
            group, pace, limit = line.recv()
        except EOFError:
            break
        BODY
"""
OUTCOME = "from papers.reproduce.measure.outcome import Outcome"
ANSWERS = (
    'line.send(("stage", "run")); '
    'line.send(("done", [Outcome("ok", "none", str(os.getpid()), device="x") for _ in group]))'
)
LATE = (
    'line.send(("timeout", (1, Outcome("timeout", "none", f"over {limit:g} s")))); time.sleep(60)'
)


def cell(ranks):
    return Cell("toy:good", Instance("uniform", 8, "n"), ("run",), (("ranks", ranks),), 1)


@pytest.fixture
def made(tmp_path):
    """Make a squad whose launcher is a script; it is closed at the end."""
    squads = []

    def make(body, first=OUTCOME):
        path = tmp_path / "mpiexec"
        path.write_text(LAUNCHER.replace("BODY", body).replace("FIRST", first))
        path.chmod(0o755)
        device = DeviceCard("CPU executor", False, "cpu-executor")
        alone = lambda group, *_: [Outcome("ok", "none", "alone") for _ in group]  # noqa: E731
        worker = SimpleNamespace(device=device, measure_together=alone, close=lambda: None)
        squads.append(Squad(worker, str(path)))
        return squads[-1]

    yield make
    for one in squads:
        one.close()


def measure(one, group, stages=None):
    on_stage = (stages if stages is not None else []).append
    return one.measure_together(group, PACE["smoke"], 5.0, on_stage)


def is_there(pid):
    return os.path.exists(f"/proc/{pid}") and "Z" not in open(f"/proc/{pid}/stat").read().split()[2]


def test_one_job_measures_all_cells_for_several_ranks_and_no_other(made):
    one, stages = made(ANSWERS), []
    assert measure(one, [cell(1)])[0].reason == "alone"
    assert measure(one, [cell(squad.MOST + 1)])[0].reason == "alone"  # It skips them.
    first = measure(one, [cell(2), cell(2)], stages)
    again = measure(one, [cell(4)], stages)
    assert [outcome.status for outcome in first] == ["ok", "ok"]
    assert {outcome.reason for outcome in (*first, *again)} == {first[0].reason}
    assert stages == ["run", "run"]
    one.close()
    assert not is_there(first[0].reason)


def test_a_cell_that_takes_too_long_is_the_one_whose_turn_it_was(made):
    one = made(LATE)
    found = measure(one, [cell(2), cell(2)])
    assert [(o.status, o.reason) for o in found][1] == ("timeout", "over 5 s")
    assert found[0].status == "failed"
    assert one._job is None


def test_a_job_that_dies_is_a_failed_cell_and_the_next_cell_has_a_new_job(made):
    one = made("pass", first="sys.exit(7)")
    for _ in range(2):
        (found,) = measure(one, [cell(2)])
        assert (found.status, "has ended" in found.reason) == ("failed", True)


def test_a_launcher_that_cannot_start_is_a_failed_cell(made, tmp_path):
    one = made(ANSWERS)
    (tmp_path / "mpiexec").write_text(f"#!{sys.executable}\nraise SystemExit(5)\n")
    (found,) = measure(one, [cell(2)])
    assert "it ended at once, exit 5" in found.reason


@pytest.mark.nightly
def test_section_5_runs_on_cpu_ranks_without_being_asked(tmp_path):
    """The job itself, with MPI."""
    import subprocess

    if squad.launcher() is None:
        pytest.skip("there is no mpiexec, or no mpi4py")
    words = ["datenagi2016:table4", "--only", "n=16,23", "--device", "cpu", "--out", tmp_path]
    done = subprocess.run(
        [sys.executable, "-m", "papers.reproduce.cli", "run", *words], capture_output=True
    )
    assert done.returncode == 0, done.stderr
    rows = (tmp_path / "measurements.csv").read_text()
    assert "mpi_tree[ranks=2]" in rows
    assert ",skipped," not in rows
