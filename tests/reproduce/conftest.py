"""The toy paper in the registry's place, and two ways to give the command."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import toybox

from papers.reproduce import cli, registry

HERE = Path(__file__).parent
PROGRAM = """
import sys
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


@pytest.fixture
def toy(monkeypatch):
    """The registry knows the toy paper alone."""
    for name in list(registry.MODULES):
        monkeypatch.delitem(registry.MODULES, name)
    for name, module in toybox.MODULES.items():
        monkeypatch.setitem(registry.MODULES, name, module)


@pytest.fixture
def reproduce(toy, capsys):
    """Give the command in this process; its cells still run in a child."""

    def give(*words):
        with pytest.raises(SystemExit) as ending:
            cli.main([str(word) for word in words])
        text = capsys.readouterr()
        return Result(int(ending.value.code or 0), text.out, text.err)

    return give


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
