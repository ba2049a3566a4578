"""The toy paper in the registry's place, and two ways to give the command.

A run of the toy paper takes seconds, most of them the child's imports. Tests that only read what a
run left behind share one: `finished_run`, `all_bad` and `smoke_run` are made once a session.
"""

import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import toybox

from papers.common.gpu import environment
from papers.reproduce import cli, registry
from papers.reproduce.plan import pace

HERE = Path(__file__).parent
PROGRAM = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever this process's parent ignores
from papers.reproduce import cli, registry
import toybox
registry.MODULES.clear()
registry.MODULES.update(toybox.MODULES)
cli.main(sys.argv[1:])
"""


@dataclass
class Result:
    code: int
    out: str
    err: str
    seconds: float


@contextlib.contextmanager
def toy_registry():
    """The registry knows the toy paper alone; no budget stops its repetitions on a busy machine."""
    with pytest.MonkeyPatch.context() as patch:
        for preset, usual in pace.PACE.items():
            patch.setitem(pace.PACE, preset, replace(usual, budget_s=3600.0, long_s=3600.0))
        for name in list(registry.MODULES):
            patch.delitem(registry.MODULES, name)
        for name, module in toybox.MODULES.items():
            patch.setitem(registry.MODULES, name, module)
        yield


@pytest.fixture
def toy():
    with toy_registry():
        yield


def give(*words):
    """Give the command in this process; its cells still run in a child."""
    out, err, begin = io.StringIO(), io.StringIO(), time.perf_counter()
    with (
        toy_registry(),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        pytest.raises(SystemExit) as ending,
    ):
        cli.main([str(word) for word in words])
    seconds = time.perf_counter() - begin
    return Result(int(ending.value.code or 0), out.getvalue(), err.getvalue(), seconds)


@pytest.fixture
def reproduce():
    return give


BAD = ("fail", "exhaust", "killed", "crash", "wrong", "unsteady", "unknown", "device")


def _made(factory, *words):
    folder = factory.mktemp("session") / "run"
    return folder, give("run", *words, "--out", folder)


@pytest.fixture(scope="session")
def finished_run(tmp_path_factory):
    """Folder and result of a run of every sort of experiment, one of which fails."""
    words = ["toy:table1", "fig1", "steps", "later", "drawn", "empty", "fail"]
    return _made(tmp_path_factory, *words, "--seed", 1, "--repeats", 2, "--verbose")


@pytest.fixture(scope="session")
def all_bad(tmp_path_factory):
    """Folder and result of a run in which cells end in every bad way but a hang."""
    words = ["toy:table1", *BAD, "--preset", "smoke", "--seed", 1, "--device", "cpu", "--verbose"]
    return _made(tmp_path_factory, *words)


@pytest.fixture(scope="session")
def smoke_run(tmp_path_factory):
    """Folder and result of the shortest run that is all good."""
    return _made(tmp_path_factory, "toy:table1", "--preset", "smoke", "--seed", 1)


@pytest.fixture(scope="session")
def benched(tmp_path_factory):
    """Folder, result and JSON of a bench: a function that is right, wrong and failing by size."""
    folder = tmp_path_factory.mktemp("bench")
    words = ["toybox.functions:by_size", "--on", "toy:table1", "--against", "toy:good"]
    end = ["--repeats", 2, "--device", "cpu", "--json", folder / "a.json", "--out", folder / "run"]
    result = give("bench", *words, *end)
    return folder / "run", result, json.loads((folder / "a.json").read_text())


@pytest.fixture
def finished(finished_run, tmp_path):
    """A copy of `finished_run`, to be changed."""
    return shutil.copytree(finished_run[0], tmp_path / "run")


@pytest.fixture
def smoke(smoke_run, tmp_path):
    """A copy of `smoke_run`, to be changed."""
    return shutil.copytree(smoke_run[0], tmp_path / "smoke")


class Tree:
    """A git repository in the place of this package's own."""

    def __init__(self, folder):
        self.folder = folder
        (folder / "papers" / "one").mkdir(parents=True)
        (folder / "pyproject.toml").write_text("[project]\n")
        self.git("init", "-q")
        self.commit("a = 1\n")

    def git(self, *words):
        names = ["-c", "user.name=N", "-c", "user.email=n@n", "-c", "commit.gpgsign=false"]
        command = ["git", *names, *words]
        return subprocess.run(
            command, cwd=self.folder, check=True, capture_output=True, text=True
        ).stdout.strip()

    def write(self, text):
        (self.folder / "papers" / "one" / "kernels.py").write_text(text)

    def commit(self, text):
        self.write(text)
        self.git("add", ".")
        self.git("commit", "-q", "-m", "x")

    def head(self):
        return self.git("rev-parse", "HEAD")

    def facts(self):
        """The entries of an environment that tell the code."""
        names = ("commit", "clean", "sources")
        return {name: value for name, value in environment.record().items() if name in names}


@pytest.fixture
def clean_tree(tmp_path, monkeypatch):
    """A git repository of one module, which stands for the package's own and is clean."""
    if shutil.which("git") is None:
        pytest.skip("there is no git")
    tree = Tree(tmp_path / "tree")
    monkeypatch.setattr(environment, "_ROOT", tree.folder)
    return tree


@pytest.fixture
def start():
    """Start the command in a process of its own, to be killed."""
    started = []

    def give(*words):
        path = os.pathsep.join([str(HERE), str(HERE.parents[1])])
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *map(str, words)],
            env={**os.environ, "PYTHONPATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield give
    for process in started:
        process.kill()
        process.communicate()
