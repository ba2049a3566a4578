"""Both variants on 1 to 4 ranks of the executor; what ends a job, and how [DN16 sec.5].

The assertions are in `mpi_driver.py`, which every rank runs; here ranks are started and their end
is awaited. One start has many cases, for starting takes longer than solving.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from nightly import first

DRIVER = Path(__file__).with_name("mpi_driver.py")
BESIDE = Path(sys.executable).with_name("mpiexec")
MPIEXEC = str(BESIDE) if BESIDE.is_file() else shutil.which("mpiexec")

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("mpi4py") is None or MPIEXEC is None,
    reason="needs mpi4py and mpiexec (make install EXTRAS=mpi)",
)


def start(ranks, *command, **environment):
    root = str(DRIVER.parents[3])
    path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH", "")]))
    return subprocess.Popen(
        [MPIEXEC, "-n", str(ranks), sys.executable, *map(str, command)],
        env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1",
             **environment},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def ended(process, limit=280):
    try:
        out, err = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise AssertionError(f"no end within {limit} s") from None
    return process.returncode, out, err


IN_VAIN = ["endless", "gives_up", "limited"]
"""Cases in which ranks wait in vain, or too long: all of them end by name."""


@pytest.mark.parametrize("ranks", first(1, [3, 2, 1, 4]))
def test_solves(ranks, tmp_path):
    path = tmp_path / "costs.npy"
    np.save(path, np.random.default_rng(1).integers(0, 90, (13, 13)).astype(np.int32))
    solves = "solves=2" if ranks == 3 else "solves"  # by day: it takes half of the job's time
    cases = [solves, "errors", "certificates", "peers", "fastest", "given_in_device_memory"]
    if ranks in (1, 3):
        cases += ["forms", f"file={path}"]
    cases += {
        1: ["interrupted", "stuck"], 2: ["windows", "stuck", "nccl"], 3: ["lists", *IN_VAIN],
        4: ["nccl"],
    }[ranks]  # fmt: skip
    cases += ["aware"] if ranks < 3 else []
    patience = {"PAPERS_MPI_TIMEOUT_S": "2"} if ranks == 1 else {}
    code, out, err = ended(start(ranks, DRIVER, *cases, **patience))
    assert code == 0, err
    assert out.split("\n")[:-1] == [f"ok {c.partition('=')[0]} {ranks}" for c in cases], err


@pytest.mark.parametrize("ranks", first(0, [2, 1]))  # three ranks do them by day, in `test_solves`
def test_waits_in_vain_and_limits_end_by_name_on_all_ranks(ranks):
    code, out, err = ended(start(ranks, DRIVER, *IN_VAIN))
    assert code == 0, err
    assert out.split("\n")[:-1] == [f"ok {case} {ranks}" for case in IN_VAIN], err


@pytest.mark.parametrize(
    ("case", "message", "seconds"),
    [
        ("alone_raises", "rank 1: OSError: the driver is gone", 2),
        ("killed", "", 2),
        ("silent", "Allgather has waited 2 s for the other ranks", 2),
        pytest.param(
            "alone_gives_up",
            "in vain; not every rank has given up within 6 s",
            6,
            marks=pytest.mark.nightly,
        ),
        pytest.param(
            "silent_nccl",
            "NCCL all-gather has waited 2 s for the other ranks",
            2,
            marks=pytest.mark.nightly,
        ),
        pytest.param(
            "silent_peers",
            "a forward pass of all ranks has waited 2 s for the other ranks",
            2,
            marks=pytest.mark.nightly,
        ),
    ],
)
def test_a_fault_of_one_rank_ends_the_job(case, message, seconds):
    code, out, err = ended(start(2, DRIVER, case, PAPERS_MPI_TIMEOUT_S=str(seconds)))
    assert code != 0
    assert "ok" not in out
    if message:
        lines = [line for line in err.split("\n") if line.startswith("rank ")]
        assert len(lines) == 1, err
        assert message in lines[0]
    else:
        assert "KILLED" in err + out or "signal 9" in err + out, (out, err)  # the launcher's line


def test_collectives_are_timed_on_two_ranks():
    """A row for each collective and size; rank 0 alone prints."""
    from papers.datenagi2016.evidence import message_times
    from papers.datenagi2016.several_gpus.time_collectives import SIZES

    rows = message_times.start(2, repeats=3)
    assert {row["ranks"] for row in rows} == {"2"}
    assert {int(row["bytes"]) for row in rows} == set(SIZES)
    assert len(rows) == 3 * len(SIZES) + 1
    assert all(float(row["us"]) > 0 for row in rows)
