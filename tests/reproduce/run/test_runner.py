"""Runs of the toy paper: every way to end a cell, kills, resumes, exit codes."""

import errno
import json
import os
import shutil
import signal
import time
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
from toybox import toy

from papers.common.model import Plan
from papers.reproduce import running
from papers.reproduce.measure import worker
from papers.reproduce.measure.outcome import Outcome
from papers.reproduce.plan import cells as plan
from papers.reproduce.plan.estimate import Estimator
from papers.reproduce.registry import UsageError
from papers.reproduce.run import code, measurements, runner
from papers.reproduce.run.folder import Journal


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


def test_what_the_clock_says_is_what_the_solver_took(smoke_run):
    """The slow solver sleeps 50 ms, and all its repetitions take less than the whole command."""
    folder, result = smoke_run
    slow = table(folder).query("solver == 'toy:slow' and metric == 'time_ms'")["value"]
    assert (slow >= 50).all()
    assert slow.sum() <= 1e3 * result.seconds


@pytest.mark.parametrize(
    ("solver", "expected", "reason"),
    [
        ("fail", "failed", 'ValueError: planted, with a line break, "quotes" and a comma'),
        ("exhaust", "out-of-memory", "MemoryError: planted"),
        ("killed", "out-of-memory", "signal 9"),
        ("crash", "failed", "exit 7"),
        ("wrong", "not-certified", "run: "),
        ("unsteady", "not-certified", "run: "),
        ("nobody", "failed", "unknown solver 'toy:nobody'"),
        ("kernel", "skipped", "device time needs a GPU"),
    ],
)
def test_every_bad_end_is_a_status_and_the_run_goes_on(all_bad, solver, expected, reason):
    folder, result = all_bad
    row = status(folder, solver)
    assert row["status"] == expected
    assert reason in row["reason"]
    cell = f"toy:{solver}/uniform/n=8/range=n/seed=1"
    (line,) = [line for line in result.out.splitlines() if f" {cell}" in line and "/10 " in line]
    assert expected in line
    assert f"| {cell} | {expected} |" in (folder / "report.md").read_text()
    assert len(measured_cells(folder)) == 10
    assert status(folder, "good")["status"] == status(folder, "slow")["status"] == "ok"


@pytest.mark.parametrize(
    ("found", "problems", "code"),
    [
        (["ok", "skipped"], [], 0),
        (["ok", "failed"], [], 3),
        (["timeout"], [], 3),
        (["out-of-memory"], [], 3),
        (["ok", "missing"], [], 3),
        (["ok"], ["a table"], 3),
        (["ok", "weird"], [], 3),
        (["skipped", "skipped"], [], 3),
        ([], [], 3),
        (["failed", "not-certified", "missing"], ["a table"], 1),
    ],
)
def test_exit_codes(found, problems, code):
    assert runner.exit_code(found, problems)[0] == code


def test_doubts_are_no_proof():
    assert runner.exit_code(["ok"], [], doubts=["two costs"])[0] == 1
    assert runner.exit_code(["failed"], ["a table"], doubts=["two costs"])[0] == 1


def test_pictures_are_a_result_without_a_cell():
    assert runner.exit_code([], [], pictures=True)[0] == 0


def test_the_exit_code_of_a_run(all_bad, finished_run, smoke_run):
    """Not certified wins over failed; failed over ok."""
    assert [made[1].code for made in (all_bad, finished_run, smoke_run)] == [1, 3, 0]


@pytest.fixture
def stopped_clock(monkeypatch):
    """The parent's clock stands still, until the hanging solver has said that it begins to run."""
    now, true = [0.0], worker.Worker.measure_together

    def measure(self, group, pace, timeout_s, on_stage):
        def told(stage):
            on_stage(stage)
            if (group[0].solver, stage) == ("toy:hang", "upload and warm-up"):
                now[0] += timeout_s

        return true(self, group, pace, timeout_s, told)

    monkeypatch.setattr(worker.Worker, "measure_together", measure)
    monkeypatch.setattr(worker, "time", SimpleNamespace(monotonic=lambda: now[0]))


@pytest.mark.usefixtures("stopped_clock")
def test_a_hanging_cell_is_killed_and_says_where_it_was(reproduce, tmp_path):
    words = ["toy:hang", "table1", "--preset", "smoke", "--seed", 1, "--timeout", 3600]
    result = reproduce("run", *words, "--out", tmp_path)
    assert result.code == 3
    row = status(tmp_path, "hang")
    assert (row["status"], row["reason"]) == ("timeout", "over 3600 s, in: upload and warm-up")
    assert status(tmp_path, "good")["status"] == "ok"


def test_uncertified_times_enter_no_table(all_bad):
    summary = pd.read_csv(all_bad[0] / "summary.csv")
    wrong = summary[summary["solver"] == "toy:wrong"]
    assert (wrong["metric"] == "time_ms").any()
    assert set(measurements.usable(summary)["solver"]) == {"toy:good", "toy:slow"}


def test_counters_that_differ_are_kept_one_a_repeat(reproduce, tmp_path):
    reproduce("run", "toy:jittery", "--repeats", 3, "--out", tmp_path)
    rows = table(tmp_path).query("metric == 'augmentations'")
    # The first run on the state warms it up, and so does one before each repetition.
    assert list(rows["value"]) == [3, 5, 7]
    assert list(rows["repeat"]) == [0, 1, 2]
    assert list(table(tmp_path).query("metric == 'cost'")["repeat"]) == [0]


def test_a_broken_table_is_told_and_exits_3(reproduce, tmp_path):
    result = reproduce("run", "toy:broken", "--preset", "smoke", "--out", tmp_path)
    assert result.code == 3
    assert "no published numbers 'nothing'; there are: paper_inconsistencies, speed" in result.out
    assert "no published numbers" in (tmp_path / "site" / "toy.html").read_text()


def test_only_keeps_matching_cells(reproduce, tmp_path):
    words = ["--only", "n=16,32", "--only", "solver=good", "--seed", 4]
    assert reproduce("run", "toy:table1", *words, "--out", tmp_path).code == 0
    assert measured_cells(tmp_path) == [
        "toy:good/uniform/n=16/range=n/seed=4",
        "toy:good/uniform/n=32/range=n/seed=4",
    ]


def test_dry_run_measures_nothing(reproduce, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(running, "worker_for", lambda choice: Spoiling())
    result = reproduce("run", "toy:table1", "--dry-run")
    assert result.code == 0
    assert "6 cells" in result.out
    assert "unknown" in result.out
    assert list(tmp_path.iterdir()) == []


def test_a_plan_says_what_takes_under_a_second(reproduce, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(running, "worker_for", lambda choice: Spoiling())
    for seconds, told in ((0.4, "< 1 s"), (0.6, "1 s"), (3.0, "3 s")):
        monkeypatch.setattr(Estimator, "seconds", lambda *given, seconds=seconds: seconds)
        lines = reproduce("run", "toy:table1", "--dry-run").out.splitlines()
        assert [line.endswith(f"  {told}") for line in lines].count(True) == 6, lines


# ------------------------------------------------------------------------------ kills


PATIENCE_S = 240
"""No bound on anything that is tested: after so long a test would never end."""


def wait_until(happened, what):
    end = time.monotonic() + PATIENCE_S
    while not happened():
        assert time.monotonic() < end, f"{what}: not within {PATIENCE_S} s"
        time.sleep(0.01)


def wait_for_cells(folder, number, process):
    path = folder / "measurements.csv"

    def done():
        assert process.poll() is None, process.communicate()
        return path.is_file() and path.read_text().count(",answer,done,") >= number

    wait_until(done, f"{number} cells")


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
    seeds = [word for seed in (1, 2, 3) for word in ("--seed", seed)]
    process = start("run", "toy:table1", "--repeats", 4, *seeds, "--out", folder)
    wait_for_cells(folder, 5, process)
    workers = children(process.pid)
    for words in (["report", folder], ["run", "--resume", folder]):
        refused = reproduce(*words)
        assert (refused.code, "in use" in refused.err) == (2, True)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = (folder / "measurements.csv").read_bytes()
    finished = measured_cells(folder)
    assert 5 <= len(finished) < 18
    assert not (folder / "site").exists()
    # The child must not live on and hold the device.
    assert workers
    wait_until(lambda: not any(map(is_running, workers)), "the end of the child")
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


class Spoiling:
    """A worker in this process all of whose answers are wrong."""

    device = worker.DeviceCard("CPU executor", False, "cpu-executor")
    on_timeout = None

    def measure_together(self, group, *_):
        return [Outcome("not-certified", "none", "run: planted") for _ in group]

    def close(self):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


def test_resuming_a_finished_run_changes_nothing(reproduce, smoke, monkeypatch):
    monkeypatch.setattr(running, "worker_for", lambda choice: Spoiling())
    before = (smoke / "measurements.csv").read_bytes()
    result = reproduce("run", "--resume", smoke)
    assert result.code == 0
    assert (smoke / "measurements.csv").read_bytes() == before


def test_retry_measures_again_what_was_not_ok_and_nothing_else(
    reproduce, all_bad, tmp_path, monkeypatch
):
    monkeypatch.setattr(running, "worker_for", lambda choice: Spoiling())
    folder = shutil.copytree(all_bad[0], tmp_path / "run")
    before = table(folder)
    result = reproduce("run", "--resume", folder, "--retry", "--timeout", 3000)
    assert result.code == 1
    assert "7 of 10 cells" in result.out
    cells = measured_cells(folder)
    assert len(cells) == len(set(cells)) == 10
    good = before["status"].isin(["ok", "skipped"])
    kept = table(folder).iloc[: good.sum()]
    assert kept.equals(before[good].reset_index(drop=True))
    assert set(table(folder).iloc[good.sum() :]["reason"]) == {"run: planted"}
    assert json.loads((folder / "meta.json").read_text())["options"]["timeout_s"] == 3000


def test_a_longer_timeout_rescues_a_cell(reproduce, tmp_path):
    """The slow solver sleeps 50 ms a run, so 20 ms are not enough for it."""
    words = ["toy:table1", "--preset", "smoke", "--seed", 1, "--only", "solver=slow"]
    assert reproduce("run", *words, "--timeout", 0.02, "--out", tmp_path).code == 3
    assert status(tmp_path, "slow")["status"] == "timeout"
    assert reproduce("run", "--resume", tmp_path, "--retry", "--timeout", 3600).code == 0
    assert status(tmp_path, "slow")["status"] == "ok"


def test_a_batch_system_s_end_keeps_finished_cells_and_says_how_to_go_on(
    start, tmp_path, monkeypatch
):
    """SIGTERM comes to the child first: it must not die of it, and its cell must not fail."""
    folder, hangs = tmp_path / "a run", tmp_path / "hangs"
    monkeypatch.setenv(toy.HANGS, str(hangs))
    process = start(
        "run", "toy:table1", "hang", "--only", "seed=1", "--only", "n=8", "--out", folder
    )
    wait_for_cells(folder, 2, process)
    wait_until(hangs.exists, "the cell that hangs")
    workers = children(process.pid)
    for pid in [*workers, process.pid]:
        os.kill(pid, signal.SIGTERM)
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 128 + signal.SIGTERM, err
    assert err == (
        f"stopped by SIGTERM; finished cells are kept: reproduce run --resume '{folder}'\n"
    )
    assert len(measured_cells(folder)) == 2
    wait_until(lambda: not any(map(is_running, workers)), "the end of the child")


class Ending:
    """A worker that measures two cells, and then something happens."""

    def __init__(self, what):
        self.what, self.left = what, 2
        self.device = worker.DeviceCard("CPU executor", False, "cpu-executor")
        self.on_timeout = None

    def measure_together(self, group, *_):
        self.left -= len(group)
        if self.left < 0:
            self.what()
        return [Outcome("ok", "none", "", device="A") for _ in group]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.left = 2


def _full():
    raise OSError(errno.ENOSPC, "No space left on device")


ENDS = {
    "SIGINT": (lambda: os.kill(os.getpid(), signal.SIGINT), 130, "stopped; "),
    "SIGTERM": (lambda: os.kill(os.getpid(), signal.SIGTERM), 143, "stopped by SIGTERM; "),
    "SIGHUP": (lambda: os.kill(os.getpid(), signal.SIGHUP), 129, "stopped by SIGHUP; "),
    "a full disk": (_full, 3, "reproduce: No space left on device; "),
}


@pytest.fixture
def hears_interrupts():
    """Let SIGINT interrupt: a shell starts commands in the background deaf to it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("hears_interrupts")
@pytest.mark.parametrize("end", ENDS)
def test_ends_that_nobody_chose_say_how_to_go_on(reproduce, tmp_path, monkeypatch, end):
    """Planted: SIGTERM killed the command without a word, a full disk was an error of usage."""
    what, code, said = ENDS[end]
    monkeypatch.setattr(running, "worker_for", lambda choice: Ending(what))
    before = signal.getsignal(signal.SIGTERM)
    result = reproduce("run", "toy:table1", "--out", tmp_path / "run")
    assert result.code == code
    how = f"finished cells are kept: reproduce run --resume {tmp_path / 'run'}\n"
    assert result.err == said + how
    assert len(measured_cells(tmp_path / "run")) == 2
    assert signal.getsignal(signal.SIGTERM) is before
    assert reproduce("run", "--resume", tmp_path / "run").code == code  # Two more, and again.
    assert len(measured_cells(tmp_path / "run")) == 4


def test_a_stop_before_anything_has_begun_is_told(reproduce, monkeypatch):
    def stop(choice):
        raise KeyboardInterrupt

    monkeypatch.setattr(running, "worker_for", stop)
    result = reproduce("run", "toy:table1")
    assert (result.code, result.err) == (130, "stopped\n")


def test_a_run_of_which_nothing_was_measured_is_no_success(reproduce, tmp_path):
    """Planted: a plan without a cell, and one of skipped cells alone, had the exit code 0."""
    result = reproduce("run", "toy:device", "--preset", "smoke", "--out", tmp_path / "run")
    assert (result.code, "exit code 3: nothing was measured" in result.out) == (3, True)


OTHERWISE = {
    "device": "its device is Another GPU, here is CPU executor",
    "version": "its version is 0.0.1, here is",
    "sources": "its sources are 0123456789ab, here are",
    "cpu": "its cpu is Another CPU, here is ",
    "packages": "its packages are numpy 1.0, here are numpy",
}
"""What may differ when a run goes on, and what is said."""


def begun_otherwise(folder, what):
    """Change what a run folder says it began with."""
    meta, facts = (json.loads((folder / f"{n}.json").read_text()) for n in ("meta", "environment"))
    planted = "0123456789abcdef" * 4
    facts |= {what: planted} if what == "sources" else {}
    facts |= {"cpu": "Another CPU"} if what == "cpu" else {}
    meta |= {"version": "0.0.1"} if what == "version" else {}
    if what == "device":
        meta["device"]["name"] = "Another GPU"
    if what == "packages":
        facts["versions"]["numpy"] = "1.0"
    (folder / "meta.json").write_text(json.dumps(meta))
    (folder / "environment.json").write_text(json.dumps(facts))


@pytest.mark.parametrize("what", OTHERWISE)
def test_resume_refuses_other_code_or_another_device(smoke, what):
    begun_otherwise(smoke, what)
    card = worker.DeviceCard("CPU executor", False, "cpu-executor")
    with pytest.raises(UsageError, match="--force") as refused:
        runner.Run.load(smoke).check(SimpleNamespace(device=card))
    assert OTHERWISE[what] in str(refused.value)
    assert "parts" not in json.loads((smoke / "meta.json").read_text())


def test_a_commit_decides_only_where_the_hash_of_the_sources_is_not_known():
    """Planted: equal sources of two commits, of which one added a page, were not one code."""
    before, now = {"commit": "a" * 40, "sources": "s"}, {"commit": "b" * 40, "sources": "s"}
    assert code.differences(before, now) == []
    (clause,) = code.differences(before | {"sources": ""}, now)
    assert clause == f"its commit is {'a' * 12}, here is {'b' * 12}"
    first, second = code.differences(before | {"sources": "t"}, now)
    assert (first[:10], second[:11]) == ("its commit", "its sources")


def test_the_command_refuses_it_with_exit_2(reproduce, smoke, monkeypatch):
    monkeypatch.setattr(running, "worker_for", lambda choice: Spoiling())
    begun_otherwise(smoke, "device")
    result = reproduce("run", "--resume", smoke)
    assert (result.code, OTHERWISE["device"] in result.err) == (2, True)


def test_a_run_forced_on_under_other_code_says_which_cells_and_is_not_recorded(reproduce, smoke):
    lines = (smoke / "measurements.csv").read_text().splitlines(keepends=True)
    first = [line for line in lines if line.startswith(("cell,", "toy:good/"))]
    (smoke / "measurements.csv").write_text("".join(first))
    begun_otherwise(smoke, "sources")
    assert reproduce("run", "--resume", smoke, "--force").code == 0
    (part,) = json.loads((smoke / "meta.json").read_text())["parts"]
    assert part["cells"] == ["toy:slow/uniform/n=8/range=n/seed=1"]
    told = "1 of 2 cells were measured in a later part: its sources are 0123456789ab, here are"
    for name in ("report.md", "site/index.html"):
        assert told in (smoke / name).read_text()
    # The code that is here is the latest part's, so that nothing has to be forced again.
    card = worker.DeviceCard("CPU executor", False, "cpu-executor")
    runner.Run.load(smoke).check(SimpleNamespace(device=card))
    facts = json.loads((smoke / "environment.json").read_text())
    facts["gpus"] = [{"name": "A Card"}]
    (smoke / "environment.json").write_text(json.dumps(facts))
    result = reproduce("record", smoke)
    assert (result.code, told in result.err) == (2, True)


def test_a_status_that_nobody_knows_is_no_success(reproduce, smoke):
    path = smoke / "measurements.csv"
    lines = path.read_text().splitlines(keepends=True)
    changed = [x.replace(",ok,", ",weird,") if x.startswith("toy:slow") else x for x in lines]
    path.write_text("".join(changed))
    result = reproduce("report", smoke)
    assert result.code == 3
    assert "1 weird" in result.out
    assert "Cells: 1 ok, 1 weird." in (smoke / "report.md").read_text()
    summary = pd.read_csv(smoke / "summary.csv")
    assert set(measurements.usable(summary)["solver"]) == {"toy:good"}
    assert reproduce("record", smoke).code == 2
    again = runner.Run.load(smoke)
    assert again.left() == []
    assert [job.cell.solver for job in again.left(runner.RETRIED)] == ["toy:slow"]


def test_two_runs_of_one_second_have_two_folders(toy, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(runner, "time", SimpleNamespace(strftime=lambda form: "now"))
    card = worker.DeviceCard("A", False, "a")
    made = []
    for _ in range(3):
        choice = runner.Choice(("toy:table1",), "smoke")
        made.append(runner.create(choice, SimpleNamespace(device=card)))
    names = [run.folder.name for run in made]
    for run in made:
        run.lock.release()
    assert names == ["toy-smoke-now", "toy-smoke-now-2", "toy-smoke-now-3"]


# ------------------------------------------------------------------------------ groups and seeds


def executed(folder, asked_seeds, run_ms, planned):
    """Execute a plan with a worker whose runs take `run_ms`; return the groups it was given."""
    groups = []

    def measure(group, pace, *_):
        groups.append([cell.key for cell in group])
        return [
            Outcome("ok", "none", "", (("run", 0, "time_ms", run_ms(cell)),), "A") for cell in group
        ]

    worker_ = SimpleNamespace(
        measure_together=measure, device=SimpleNamespace(ranks=1, name="A"), on_timeout=None
    )
    listener = SimpleNamespace(begins=lambda job: None, stage=print, ended=lambda *_: None)
    options = {"preset": "paper", "timeout_s": 1.0, "seeds": asked_seeds, "repeats": None}
    runner.Run(folder, {"options": options}, planned).execute(worker_, listener)
    return groups


@pytest.mark.parametrize(("asked", "skipped"), [([], 2), ([1, 2, 3], 0)])
def test_further_seeds_of_long_cells_are_skipped_unless_asked_for(tmp_path, asked, skipped):
    """The slow one takes ten seconds; the good one keeps its three seeds, and its turns."""
    (table1,) = (one for one in toy.experiments() if one.name == "table1")
    planned = plan.jobs([("toy", table1)], Plan("smoke", False, (1, 2, 3)))
    ms = lambda cell: 1e4 if cell.solver == "toy:slow" else 1.0  # noqa: E731
    groups = executed(tmp_path, asked, ms, planned)
    assert [len(group) for group in groups] == ([2, 1, 1] if skipped else [2, 2, 2])
    done = table(tmp_path).query("metric == 'done'")
    gone = done[done["status"] == "skipped"]
    assert len(done) == 6
    assert len(gone) == skipped
    assert all("seed 1 took 10 s a run" in reason for reason in gone["reason"])
    # Going on with the run, the first seed's time is read from its rows.
    if skipped:
        lines = (tmp_path / "measurements.csv").read_text().splitlines(keepends=True)
        first = [line for line in lines if "seed=2" not in line and "seed=3" not in line]
        (tmp_path / "measurements.csv").write_text("".join(first))
        assert [len(group) for group in executed(tmp_path, asked, ms, planned)] == [1, 1]


def test_a_timeout_behind_a_cell_that_is_given_up_is_kept_under_its_own_name(tmp_path):
    """Planted: places were counted in the whole group, the cell that is given up with them."""
    (table1,) = (one for one in toy.experiments() if one.name == "table1")
    planned = plan.jobs([("toy", table1)], Plan("smoke", False, (1,)))
    first, second = planned
    journal = Journal(tmp_path)
    for _ in range(runner.TRIES):
        journal.begins(first.key)

    def measure(group, *_):
        assert [cell.key for cell in group] == [second.cell.key]
        ranks.on_timeout(0, Outcome("timeout", "none", "over 1 s", device="A"))
        raise SystemExit  # As the job's end.

    ranks = SimpleNamespace(
        measure_together=measure, device=SimpleNamespace(ranks=2, name="A"), on_timeout=None
    )
    listener = SimpleNamespace(begins=lambda job: None, stage=print, ended=lambda *_: None)
    options = {"preset": "smoke", "timeout_s": 1.0, "seeds": [], "repeats": None}
    with pytest.raises(SystemExit):
        runner.Run(tmp_path, {"options": options}, planned).execute(ranks, listener)
    done = table(tmp_path).query("metric == 'done'")
    assert dict(zip(done["cell"], done["status"], strict=True)) == {
        first.key: "failed",
        second.key: "timeout",
    }
    assert Journal(tmp_path).begins(first.key) == 0  # The reason of the end is known.
