"""The environment record: complete, and without names."""

import getpass
import json
import os
import platform
import subprocess
from pathlib import Path

import numpy as np

from papers.common.gpu import environment


def test_the_record_holds_what_a_measurement_depends_on():
    record = json.loads(json.dumps(environment.record()))
    assert record["versions"]["numpy"] == np.__version__
    assert record["versions"]["python"] == platform.python_version()
    assert {"numba", "numba-cuda", "scipy"} <= set(record["versions"])
    assert 1 <= record["cores"] <= (os.cpu_count() or 1)
    assert record["cpu"] not in ("", "unknown CPU")
    assert isinstance(record["gpus"], list)


def test_the_record_tells_sources_apart(tmp_path, monkeypatch):
    monkeypatch.setattr(environment, "_ROOT", tmp_path)
    (tmp_path / "papers" / "one").mkdir(parents=True)
    file = tmp_path / "papers" / "one" / "kernels.py"
    found = {environment.sources()}
    for text in ("a = 1\n", "a = 2\n"):
        file.write_text(text)
        found.add(environment.sources())
    file.rename(file.with_name("other.py"))
    found.add(environment.sources())
    assert len(found) == 4
    assert environment.record()["sources"] == environment.sources()
    (tmp_path / "papers" / "one" / "exercises").mkdir()
    (tmp_path / "papers" / "one" / "exercises" / "exercise_1.py").write_text("ANSWER = 7\n")
    assert environment.sources() in found, "an answer to an exercise measures nothing"


def test_the_record_names_no_host_user_or_path():
    def strings(value):
        if isinstance(value, dict):
            return [s for v in value.values() for s in strings(v)]
        if isinstance(value, list):
            return [s for v in value for s in strings(v)]
        return [str(value)]

    private = {platform.node(), getpass.getuser(), os.environ.get("HOSTNAME", platform.node())}
    for text in strings(environment.record()):
        assert "/" not in text, text
        assert not private & set(text.replace(",", " ").split()), text
        assert str(Path.home()) not in text


def test_gpus_are_read_from_the_drivers_tool(monkeypatch):
    line = "NVIDIA H100 80GB HBM3, 580.95.05, 81559 MiB, 9.0, 1980 MHz, Disabled\n"

    def answer(command, **keywords):
        assert command[0] == "nvidia-smi"
        return subprocess.CompletedProcess(command, 0, stdout=line + line, stderr="")

    monkeypatch.setattr(environment.subprocess, "run", answer)
    found = environment.gpus()
    assert len(found) == 2
    assert found[0]["name"] == "NVIDIA H100 80GB HBM3"
    assert found[0]["driver_version"] == "580.95.05"


def test_a_missing_tool_means_no_gpu(monkeypatch):
    def missing(command, **keywords):
        raise FileNotFoundError(command[0])

    monkeypatch.setattr(environment.subprocess, "run", missing)
    assert environment.gpus() == []
