"""``mpiexec -n P reproduce run ...``: cells in step, refusals, resuming after a kill."""

import csv
import json
import os
import signal
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from datenagi2016.several_gpus.test_solver import ended, pytestmark, start  # noqa: F401

import papers
from papers.common.gpu.environment import MissingPackageError
from papers.common.mpi import job as launcher
from papers.common.mpi import ranks
from papers.datenagi2016.several_gpus import collectives
from papers.reproduce.measure.outcome import Outcome
from papers.reproduce.measure.team import Team, serve
from papers.reproduce.measure.worker import DeviceCard, WorkerError
from papers.reproduce.registry import UsageError
from papers.reproduce.run import runner
from papers.reproduce.run.runner import Run

COMMAND = (
    "-c",
    "from papers.reproduce.run import measurements; "
    "measurements.recorded_runs = lambda folder: []; "
    "from papers.reproduce.cli import main; main()",
    "run",
)
"""The command without the recorded runs, which take longer to read than the cells to measure."""


def states(folder):
    """Status of each finished cell, and the reason."""
    with (folder / "measurements.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["metric"] == "done"]
    return {row["cell"]: (row["status"], row["reason"]) for row in rows}


def test_three_ranks_measure_one_and_two_and_skip_four(tmp_path):
    folder = tmp_path / "run"
    process = start(3, *COMMAND, "datenagi2016:table4", "--preset", "smoke",
                    "--repeats", 1, "--device", "cpu", "--out", folder)  # fmt: skip
    code, out, err = ended(process)
    assert code == 0, err
    found = states(folder)
    assert len(found) == 9  # three solvers on 1, 2 and 4 ranks
    for cell, (status, reason) in found.items():
        if "ranks=4" in cell:
            told = "it is for 4 ranks: mpiexec -n 4 reproduce run ..."
            assert (status, reason) == ("skipped", told)
        else:
            assert status == "ok"
            assert ("strips of rows" in reason) == ("classical" in cell)
    environment = json.loads((folder / "environment.json").read_text())
    assert environment["ranks"] == 3
    assert environment["mpi"]
    meta = json.loads((folder / "meta.json").read_text())
    assert meta["device"]["ranks"] == 3
    assert (folder / "site" / "index.html").is_file()
    assert "report:" in out


def test_what_is_measured_in_one_process_is_refused():
    code, _, err = ended(start(2, *COMMAND, "datenagi2016:table1", "--preset", "smoke"))
    assert code == 2
    lines = [line for line in err.split("\n") if line.startswith("reproduce:")]
    assert lines == [
        "reproduce: datenagi2016:table1: measured in one process, start the command without mpiexec"
    ]


@pytest.mark.nightly
def test_a_killed_run_loses_no_finished_cell(tmp_path):
    folder = tmp_path / "run"
    process = start(2, *COMMAND, "datenagi2016:table5", "--preset", "smoke", "--device", "cpu",
                    "--repeats", 1, "--only", "n=8,11", "--only", "solver=mpi_tree",
                    "--out", folder)  # fmt: skip
    file, deadline = folder / "measurements.csv", time.monotonic() + 60
    while not (file.is_file() and len(states(folder)) >= 1):
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.05)
    os.kill(children(process.pid)[-1], signal.SIGKILL)
    code, _, _ = ended(process, 30)
    assert code != 0
    before = states(folder)
    kept = file.read_text()
    whole = kept[: kept.rindex(",done,")]
    process = start(2, *COMMAND, "--resume", folder)
    os.kill(process.pid, 0)
    code, _, err = ended(process)
    assert code == 0, err
    after = states(folder)
    assert len(after) == 12  # two solvers, two orders, 1, 2 and 4 ranks
    assert {cell: after[cell] for cell in before} == before
    assert file.read_text().startswith(whole[: whole.rindex("\n")])


def test_a_cell_that_ends_the_job_twice_has_failed(tmp_path):
    _, jobs = runner.planned(runner.Choice(("datenagi2016:table4",), "smoke"), gpu=False)
    measured = []

    class Crew:
        device = DeviceCard("A", False, "a", 2, 2)
        on_timeout = None

        def measure_together(self, group, *_):
            (cell,) = group
            measured.append(cell.key)
            if cell.key == jobs[1].cell.key:
                raise SystemExit  # as the job's end
            return [Outcome("ok", "none", "", device="A")]

    listener = SimpleNamespace(begins=print, stage=print, ended=lambda job, outcome: None)
    options = {"preset": "smoke", "timeout_s": 1.0, "seeds": [], "repeats": None}
    meta = {"options": options}
    run = Run(tmp_path, meta, jobs[:3])
    for _ in range(2):
        with pytest.raises(SystemExit):
            run.execute(Crew(), listener)
    run.execute(Crew(), listener)
    first, second, third = (job.key for job in jobs[:3])
    assert [states(tmp_path)[key][0] for key in (first, second, third)] == ["ok", "failed", "ok"]
    assert states(tmp_path)[second][1] == "the job has ended 2 times while it was measured"
    assert len(measured) == 4
    assert not (tmp_path / "begun.json").exists()
    assert [job.key for job in run.left(runner.RETRIED)] == [second]


def test_a_run_goes_on_with_as_many_ranks_as_it_began_with():
    run = Run(Path("run"), {"version": papers.__version__, "device": {"name": "A", "ranks": 2}})
    run.check(SimpleNamespace(device=DeviceCard("A", True, "a", 2, 2)))
    with pytest.raises(UsageError, match="began with 2 ranks, here are 3"):
        run.check(SimpleNamespace(device=DeviceCard("A", True, "a", 3, 3)))


def children(pid):
    """Process ids of the ranks: the descendants that run Python."""
    found, waiting = [], [pid]
    while waiting:
        parent = waiting.pop()
        try:
            with open(f"/proc/{parent}/task/{parent}/children") as file:
                below = [int(word) for word in file.read().split()]
        except OSError:
            pytest.skip("this system does not list a process's children")
        waiting += below
        found += below
    return [each for each in sorted(found) if "python" in os.readlink(f"/proc/{each}/exe")]


def test_without_mpi4py_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    with pytest.raises(MissingPackageError, match="make install EXTRAS=mpi"):
        ranks.mpi()


class Query:
    """A stand-in for MPIX_Query_cuda_support in a library with CUDA."""

    def __call__(self):
        return 1


def test_a_launcher_of_another_library_is_named(monkeypatch):
    ranks.mpi()
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "2")
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "1")
    with pytest.raises(WorkerError, match=r"has started 2 ranks, the MPI library .* sees 1: use"):
        Team("cpu")
    serve()  # the other ranks leave in silence


@pytest.mark.parametrize(
    ("given", "size", "rank"),
    [
        ({}, 1, 0),
        ({"PMI_SIZE": "4", "PMI_RANK": "3"}, 4, 3),
        ({"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "1", "PMIX_RANK": "1"}, 2, 1),
        ({"SLURM_STEP_NUM_TASKS": "8", "SLURM_PROCID": "5"}, 8, 5),
        ({"SLURM_NTASKS": "8", "SLURM_PROCID": "0"}, 1, 0),  # a batch script's own process
    ],
)
def test_the_launchers_variables(monkeypatch, given, size, rank):
    for name in [*launcher.SIZES, *launcher.RANKS]:
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert (launcher.size_of_job(), launcher.rank_of_job()) == (size, rank)
    monkeypatch.setattr(launcher.os, "environ", dict(os.environ))  # not this process's own
    launcher.leave_job()
    assert (launcher.size_of_job(), launcher.rank_of_job()) == (1, 0)


def test_what_the_library_says_of_itself_can_be_overridden(monkeypatch):
    pytest.importorskip("mpi4py")
    monkeypatch.delenv(collectives.AWARE, raising=False)
    # A library without CUDA has no query; one with it answers.
    asked = []
    monkeypatch.setattr(collectives, "_loaded_libraries", lambda name: asked.append(name) or [])
    assert collectives.cuda_aware() is False
    assert asked == ["libmpi"]
    library = SimpleNamespace(MPIX_Query_cuda_support=Query())
    monkeypatch.setattr(collectives, "_loaded_libraries", lambda name: ["libmpi.so"])
    monkeypatch.setattr(collectives.ctypes, "CDLL", lambda path: library)
    assert collectives.cuda_aware() is True
    for word, wanted in (("1", True), ("0", False)):
        monkeypatch.setenv(collectives.AWARE, word)
        assert collectives.cuda_aware() is wanted
