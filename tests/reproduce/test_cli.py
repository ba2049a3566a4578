"""Errors of usage: exit 2, one line, which names what is allowed."""

import io
import json
import multiprocessing
import os
import re
import subprocess
import sys

import pytest

import papers
from papers.reproduce import cli, running, solve
from papers.reproduce.measure import worker
from papers.reproduce.run import folder

UNKNOWN = [
    (["run", "nobody2020"], "unknown paper 'nobody2020'; there are: toy"),
    (["run", "toy:table9"], "no experiment 'table9'; it has: table1, fig1"),
    (["run", "toy:table1", "table9"], "no experiment 'table9'; it has: table1, fig1"),
    (["run", "toy", "--only", "colour=red"], "KEY of n, range, seed, solver, family"),
    (["run", "toy", "--only", "n"], "KEY=VALUE"),
    (["run", "toy", "--only", "n=8,"], "a value is empty"),
    (["run", "toy", "--seed", "-1"], "--seed"),
    (["run", "toy", "--retry"], "--retry goes with --resume"),
    (["readme", "toy"], "toy has no recorded run"),
    (["readme", "nobody2020"], "unknown paper"),
    (["run", "toy:table1", "--only", "n=9"], "--only n=9: the plan has n 8, 16, 32"),
    (["run", "toy:later"], "nothing can be measured: toy:later: needs more"),
    (["run", "toy", "--preset", "huge"], "'smoke', 'quick', 'paper'"),
    (["run", "toy", "--repeats", "0"], "--repeats"),
    (["run", "toy", "--nonsense"], "--nonsense"),
    (["list", "nobody2020"], "unknown paper"),
    (["report", "nowhere"], "nowhere is no run folder"),
    (["compare", "nowhere", "nowhere"], "nowhere is no run folder"),
    (["run", "--resume", "nowhere"], "nowhere is no run folder"),
    (["run", "toy", "--resume", "nowhere"], "takes only --device, --timeout, --retry and"),
    (["run", "--preset", "paper", "--resume", "nowhere"], "RUN's own plan"),
    (["run", "toy", "--force"], "--force goes with --resume"),
    (["verify", "nowhere"], "there is no record 'nowhere'"),
    (["solve", "nowhere.npy", "--with", "toy"], "No such file"),
    (["solve", "costs.txt", "--with", "toy"], "assignment: .npy, .csv"),
    (["solve", "nowhere.npz"], "No such file"),
    (["solve", "nowhere.max"], "No such file"),
    (["plot"], "plot"),
    (["run", "to"], "there are: toy; did you mean 'toy'?"),
    (["run", "toy:tabel1"], "did you mean 'table1'?"),
    (["list", "toy:tabel1"], "did you mean 'table1'?"),
    (["run", ":table1"], "':table1' is no target: PAPER, or PAPER:EXPERIMENT"),
    (["run", "toy:"], "'toy:' is no target"),
    (["run", "toy", "--only", "sed=1"], "did you mean 'seed'?"),
    (["run", "toy", "--only", "n=8,seed=5"], "--only seed=5: the plan has seed 1"),
    (["run", "toy", "--seed", str(2**32)], "--seed"),
    (["run", "toy", "--timeout", "inf"], "--timeout"),
    (["run", "toy", "--timeout", "nan"], "--timeout"),
    (["run", "toy", "--timeout", "1e9"], "--timeout"),
    (["run", "toy", "--repeats", "10001"], "--repeats"),
    (["verify", "--seconds", "nan"], "--seconds"),
    (["run", "toy", "--quiet", "--verbose"], "exclude one another"),
    (["run", "toy", "--json", "nowhere/a.json"], "there is no folder nowhere"),
    (["run", "toy", "--json", "."], "--json . is a folder"),
]


class Unused:
    """A worker that is there, and measures nothing: the command refuses before it is asked to."""

    device = worker.DeviceCard("CPU executor", False, "cpu-executor")
    on_timeout = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def measure_together(self, *_):
        raise AssertionError("a command that is refused has measured")


@pytest.fixture
def unused(monkeypatch):
    """No process is started for the cells."""
    monkeypatch.setattr(running, "worker_for", lambda choice: Unused())


@pytest.mark.usefixtures("unused")
@pytest.mark.parametrize(("words", "message"), UNKNOWN, ids=lambda v: " ".join(v)[:40])
def test_usage_errors_are_one_line_and_exit_2(reproduce, words, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = reproduce(*words)
    assert result.code == 2
    assert message in result.err
    assert result.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("unused")
def test_a_folder_in_use_is_not_overwritten(reproduce, tmp_path):
    (tmp_path / "precious").write_text("x")
    result = reproduce("run", "toy:table1", "--out", tmp_path)
    assert result.code == 2
    assert "is not empty" in result.err
    assert [path.name for path in tmp_path.iterdir()] == ["precious"]


def test_a_worker_that_has_started_ends_with_a_command_that_is_refused(reproduce, tmp_path):
    result = reproduce("run", "toy:table1", "--only", "n=9", "--out", tmp_path / "run")
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert "--only n=9: the plan has n 8, 16, 32" in result.err
    assert multiprocessing.active_children() == []
    assert not (tmp_path / "run").exists()


def test_two_runs_cannot_claim_one_folder(reproduce, tmp_path):
    lock = folder.Lock(tmp_path)
    result = reproduce("run", "toy:table1", "--out", tmp_path)
    lock.release()
    assert (result.code, "in use" in result.err) == (2, True)
    assert [path.name for path in tmp_path.iterdir()] == [folder.LOCK]


@pytest.mark.usefixtures("unused")
def test_an_unwritable_place_is_one_line_that_names_it(reproduce, tmp_path):
    (tmp_path / "file").touch()
    result = reproduce("run", "toy:table1", "--out", tmp_path / "file" / "run")
    assert (result.code, result.err) == (2, "reproduce: run: Not a directory\n")


@pytest.mark.parametrize("debug", [False, True])
def test_what_nobody_foresaw_is_one_line_and_exits_3(reproduce, monkeypatch, debug):
    def stumble(*_):
        raise ZeroDivisionError("planted")

    monkeypatch.setenv(cli.DEBUG, "")
    monkeypatch.setattr(solve, "read", stumble)
    result = reproduce(*["--debug"] * debug, "solve", "a.npy", "--with", "toy")
    assert result.code == 3
    assert "reproduce: internal error: ZeroDivisionError: planted" in result.err
    assert ("Traceback" in result.err) == debug
    assert (result.err.count("\n") == 1) != debug


def test_the_version(reproduce):
    result = reproduce("--version")
    assert (result.code, result.out) == (0, f"reproduce {papers.__version__}\n")


def test_no_gpu_where_one_is_asked_for(reproduce, tmp_path):
    from papers.common.gpu import device

    if device.gpu_present():
        pytest.skip("there is a GPU")
    result = reproduce("run", "toy:table1", "--device", "gpu", "--out", tmp_path / "run")
    assert result.code == 2
    assert "--device gpu" in result.err
    assert not (tmp_path / "run").exists()


def test_list_shows_experiments_solvers_and_what_is_missing(reproduce):
    result = reproduce("list", "toy")
    assert result.code == 0
    for text in ("toy:table1", "toy:later", "needs more", "toy:good", "cuda"):
        assert text in result.out
    experiments, _, solvers = result.out.partition("solvers, for reproduce solve FILE --with\n")
    assert experiments.splitlines()[1] == "experiments, for reproduce run"
    assert "toy:table1" in experiments
    assert "toy:good" in solvers
    assert "toy:table1" not in solvers
    assert "for reproduce" not in reproduce("list").out


@pytest.mark.parametrize("words", [["--help"], ["run", "--help"], ["list"]])
def test_help_and_list_load_nothing_heavy(words, tmp_path):
    """Numba takes a second to import, and a listing must not wait for it; not even for pandas.

    The first listing has to import what states the experiments, and keeps their names.
    """
    program = (
        "import sys\n"
        "from papers.reproduce import cli, registry\n"
        "try: cli.main(sys.argv[1:])\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        "print('LOADED', sorted(set({}) & set(sys.modules)))\n"
    )
    light = ["numba", "numba_cuda", "skimage"]
    heavy = [*light, "pandas", "matplotlib", "scipy"]
    for names in [light, heavy] if words == ["list"] else [heavy]:
        done = subprocess.run(
            [sys.executable, "-c", program.format(names), *words],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PAPERS_CACHE": str(tmp_path)},
        )
        assert "LOADED []" in done.stdout


# ------------------------------------------------------------------------------ for the user


COMMANDS = sorted(
    command.name or command.callback.__name__ for command in cli.app.registered_commands
)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_help_has_examples_that_are_commands(reproduce, command):
    """Each line below "Examples:" begins with `reproduce` and names this command."""
    text = reproduce(command, "--help").out.partition("Examples:")[2]
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    assert lines
    for line in lines:
        assert re.match(rf"(\w+=\w+ )?reproduce {command}\b", line), line


def test_an_output_without_the_letter_ends_no_command(monkeypatch):
    """Planted: `Ł` in a card ended the command with an internal error."""
    stream = io.TextIOWrapper(io.BytesIO(), "ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    with pytest.raises(SystemExit) as ending:
        cli.main(["list", "lupinska_costscale:fig01"])
    assert not ending.value.code
    stream.flush()
    assert b"?upi" in stream.buffer.getvalue()


def test_completion_knows_commands_targets_and_solvers(monkeypatch, toy):
    from papers.reproduce import options

    assert options.complete_target("to") == ["toy"]
    assert options.complete_target("toy:ta") == ["toy:table1"]
    assert options.complete_solver("toy:goo") == ["toy:good"]
    assert options.complete_solver("au") == ["auto"]
    assert options.complete_target("nobody:") == []


def test_a_listing_is_kept_and_made_anew_for_other_sources(toy, tmp_path, monkeypatch):
    """Planted: a listing that outlives its sources shows experiments that are gone."""
    from papers.reproduce import catalogue

    monkeypatch.setenv("PAPERS_CACHE", str(tmp_path))
    first = catalogue.experiments("toy")
    made = []
    monkeypatch.setattr(catalogue, "_made", lambda paper, of: made.append(paper) or first)
    assert catalogue.experiments("toy") == first
    assert made == []
    monkeypatch.setenv("PAPERS_SOMETHING", "1")  # It may decide what is available.
    catalogue.experiments("toy")
    monkeypatch.setattr(catalogue, "_fingerprint", lambda paper: "other sources")
    catalogue.experiments("toy")
    assert made == ["toy", "toy"]
    next(tmp_path.rglob("*.json")).write_text("{")
    catalogue.experiments("toy")
    assert made == ["toy"] * 3


def test_quiet_says_nothing_and_json_says_all(reproduce, finished, tmp_path):
    target = tmp_path / "answer.json"
    for _ in range(2):  # Its own file may be replaced.
        result = reproduce("report", finished, "--quiet", "--json", target)
        assert (result.code, result.out, result.err) == (3, "", "")
    value = json.loads(target.read_text())
    assert value["exit_code"] == 3
    assert value["papers"]["toy"]["cells"] == {"ok": 6, "failed": 1}
    target.write_text("{}")
    result = reproduce("report", finished, "--json", target)
    assert (result.code, "is no such file" in result.err) == (2, True)
    assert target.read_text() == "{}"


@pytest.mark.parametrize("command", ["record", "readme"])
def test_maintainers_commands_refuse_an_installed_package(
    reproduce, finished_run, monkeypatch, tmp_path, command
):
    """Planted: `readme` rewrote a page in site-packages."""
    monkeypatch.setattr(papers, "__file__", str(tmp_path / "papers" / "__init__.py"))
    result = reproduce(command, finished_run[0])
    assert (result.code, "it needs a checkout" in result.err) == (2, True)


@pytest.mark.parametrize("words", [["list"], ["list", "lopes2019"], ["--help"]])
def test_a_reader_who_has_gone_is_no_uncertified_run(words):
    """As behind ``| head -1``: nothing is said, and the code is a signal's."""
    reading, writing = os.pipe()
    os.close(reading)
    left = subprocess.run(
        [sys.executable, "-m", "papers.reproduce.cli", *words],
        stdout=writing, stderr=subprocess.PIPE, timeout=120, check=False,
    )  # fmt: skip
    os.close(writing)
    assert (left.returncode, left.stderr) == (cli.READER_GONE, b"")
