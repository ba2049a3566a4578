"""Recording a run: only what is complete, certified and measured on a GPU."""

import json

import pytest

from papers.reproduce import registry
from papers.reproduce.run import measurements, recording


@pytest.fixture
def copied(smoke):
    """A finished toy run that says it was measured on a card."""
    folder = smoke
    path = folder / "environment.json"
    environment = json.loads(path.read_text())
    environment["device"], environment["gpus"] = "A Card (TM) 80GB", [{"name": "A Card"}]
    path.write_text(json.dumps(environment))
    return folder


def test_a_finished_run_is_kept_under_its_card(copied, tmp_path, monkeypatch, reproduce):
    monkeypatch.setattr(registry, "folder", lambda name: tmp_path / name)
    result = reproduce("record", copied)
    assert result.code == 0, result.err
    (kept,) = tmp_path.glob("*/results/a-card-tm-80gb")
    for name in recording.FILES:
        assert (kept / name).read_bytes() == (copied / name).read_bytes()
    ((source, table, _),) = measurements.recorded_runs(kept.parent)
    assert source == "recorded a-card-tm-80gb"
    assert len(table)


def test_a_run_without_a_gpu_is_refused(copied, reproduce):
    path = copied / "environment.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "gpus": []}))
    result = reproduce("record", copied)
    assert result.code == 2
    assert "not measured on a GPU" in result.err


def test_an_incomplete_run_is_refused(copied, reproduce):
    lines = (copied / "measurements.csv").read_text().splitlines(keepends=True)
    (copied / "measurements.csv").write_text("".join(lines[: len(lines) // 2]))
    result = reproduce("record", copied)
    assert result.code == 2
    assert "not complete" in result.err


def test_several_cards_have_a_folder_of_their_own():
    one = {"device": "NVIDIA H200"}
    assert recording.folder_name(one) == "nvidia-h200"
    assert recording.folder_name({**one, "ranks": 4, "gpus_used": 1}) == "nvidia-h200"
    assert recording.folder_name({**one, "ranks": 4, "gpus_used": 4}) == "nvidia-h200-x4"
