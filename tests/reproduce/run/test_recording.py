"""Recording a run: only what is complete, certified and measured on a GPU."""

import json

import pytest

from papers.reproduce import registry
from papers.reproduce.run import code, measurements, packed, recording


def told(folder, **facts):
    """Change a run's environment."""
    path = folder / "environment.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **facts}))


@pytest.fixture
def copied(smoke, clean_tree):
    """A finished toy run that says it was measured on a card, with a clean commit."""
    told(smoke, device="A Card (TM) 80GB", gpus=[{"name": "A Card"}], **clean_tree.facts())
    return smoke


def test_a_finished_run_is_kept_under_its_card(copied, tmp_path, monkeypatch, reproduce):
    monkeypatch.setattr(registry, "folder", lambda name: tmp_path / name)
    meta = json.loads((copied / "meta.json").read_text())
    meta["experiments"].append("toy:fig1")  # A figure of the same cells.
    (copied / "meta.json").write_text(json.dumps(meta))
    result = reproduce("record", copied)
    assert result.code == 0, result.err
    (kept,) = tmp_path.glob("*/results/a-card-tm-80gb")
    assert (kept / "meta.json").read_bytes() == (copied / "meta.json").read_bytes()
    assert not (kept / packed.FILE).exists()
    assert packed.content(packed.in_folder(kept)) == (copied / packed.FILE).read_bytes()
    facts = [json.loads((f / "environment.json").read_text()) for f in (kept, copied)]
    assert facts[0] == facts[1]
    manifest = json.loads((kept / recording.MANIFEST).read_text())
    assert manifest["files"] == recording.hashes(kept)
    assert set(manifest["files"]) == {*recording.FILES, "figures/fig1.png"}
    ((source, table, _),) = measurements.recorded_runs(kept.parent)
    assert source == "recorded a-card-tm-80gb"
    assert len(table)


def test_a_run_without_a_gpu_is_refused(copied, reproduce):
    path = copied / "environment.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "gpus": []}))
    result = reproduce("record", copied)
    assert result.code == 2
    assert "not measured on a GPU" in result.err


def test_an_incomplete_run_is_refused_or_says_so(copied, tmp_path, monkeypatch, reproduce):
    monkeypatch.setattr(registry, "folder", lambda name: tmp_path / name)
    lines = (copied / "measurements.csv").read_text().splitlines(keepends=True)
    (copied / "measurements.csv").write_text("".join(lines[:-1]))  # The last cell lacks its end.
    result = reproduce("record", copied)
    assert result.code == 2
    assert "not complete" in result.err
    assert not (tmp_path / "toy").exists()
    assert reproduce("record", copied, "--anyway").code == 0
    (kept,) = tmp_path.glob("toy/results/*/environment.json")
    (fault,) = json.loads(kept.read_text())["anyway"]
    assert "cells are not measured yet" in fault


def test_a_cell_that_had_not_ended_in_time_is_recorded_if_the_record_may_say_so(
    copied, tmp_path, monkeypatch, reproduce
):
    monkeypatch.setattr(registry, "folder", lambda name: tmp_path / name)
    head, *lines = (copied / "measurements.csv").read_text().splitlines(keepends=True)
    cell = lines[-1].split(",")[0]
    late = [line.replace(",ok,", ",timeout,") if line.startswith(cell) else line for line in lines]
    assert late != lines
    (copied / "measurements.csv").write_text("".join([head, *late]))
    assert reproduce("record", copied).code == 2
    assert reproduce("record", copied, "--anyway").code == 0
    (kept,) = tmp_path.glob("toy/results/*/environment.json")
    (fault,) = json.loads(kept.read_text())["anyway"]
    assert fault.startswith("1 of ")
    assert fault.endswith(" cells had not ended in their time.")


@pytest.mark.parametrize("status", ["not-certified", "failed", "missing"])
def test_a_run_with_nothing_certified_is_refused_in_any_case(copied, status, reproduce):
    lines = (copied / "measurements.csv").read_text().splitlines(keepends=True)
    kept = (
        lines[:1]
        if status == "missing"
        else [line.replace(",ok,", f",{status},") for line in lines]
    )
    (copied / "measurements.csv").write_text("".join(kept))
    result = reproduce("record", copied, "--anyway")
    assert result.code == 2
    assert "not complete" in result.err


def test_a_new_record_replaces_the_old_one_whole(copied, tmp_path, monkeypatch, reproduce):
    monkeypatch.setattr(registry, "folder", lambda name: tmp_path / name)
    old = tmp_path / "toy" / "results" / "a-card-tm-80gb"
    old.mkdir(parents=True)
    (old / "tuning.csv").write_text("of another time")
    assert reproduce("record", copied).code == 0
    assert not (old / "tuning.csv").exists()
    assert sorted(old.parent.iterdir()) == [old]


def test_a_run_of_no_clean_commit_is_refused_or_says_so(
    copied, clean_tree, tmp_path, monkeypatch, reproduce
):
    monkeypatch.setattr(registry, "folder", lambda name: tmp_path / name)
    clean_tree.write("a = 3\n")
    told(copied, **clean_tree.facts())
    result = reproduce("record", copied)
    assert result.code == 2
    assert "of no clean commit: the tree was not clean" in result.err
    assert not (tmp_path / "toy").exists()
    assert reproduce("record", copied, "--anyway").code == 0
    (kept,) = tmp_path.glob("toy/results/*/environment.json")
    (fault,) = json.loads(kept.read_text())["anyway"]
    assert "no clean commit" in fault


def test_the_tree_that_records_names_the_commit_of_a_copy_outside_version_control(clean_tree):
    facts = clean_tree.facts()
    assert code.clean_commit(facts) == (facts["commit"], "")
    copied = {**facts, "commit": "", "clean": None}
    assert code.clean_commit(copied) == (facts["commit"], "")
    # The measuring machine may hold the files beside a history of another commit.
    beside = {**facts, "commit": "ab" * 20, "clean": False}
    assert code.clean_commit(beside) == (facts["commit"], "")
    # The tree may have moved on since; its history still names the commit.
    clean_tree.write("a = 3\n")
    assert code.clean_commit(copied) == code.clean_commit(beside) == (facts["commit"], "")
    unknown = {"sources": "0" * 64}
    for record, why in (
        ({**copied, **unknown}, "outside version control"),
        ({**beside, **unknown}, "not clean"),
        ({**facts, "sources": "0" * 64}, "not those of the commit"),
        ({"commit": "ab" * 20}, "does not say"),
    ):
        commit, told = code.clean_commit(record)
        assert (commit, why in told) == ("", True), told


def test_an_untracked_module_is_a_change_and_a_page_or_record_is_none(clean_tree):
    package = clean_tree.folder / "papers" / "one"
    (package / "README.md").write_text("words")
    (package / "results" / "card").mkdir(parents=True)
    (package / "results" / "card" / "meta.json").write_text("{}")
    assert clean_tree.facts()["clean"]
    (package / "more.py").write_text("")
    assert not clean_tree.facts()["clean"]


def test_several_cards_have_a_folder_of_their_own():
    one = {"device": "NVIDIA H200"}
    assert recording.folder_name(one) == "nvidia-h200"
    assert recording.folder_name({**one, "ranks": 4, "gpus_used": 1}) == "nvidia-h200"
    assert recording.folder_name({**one, "ranks": 4, "gpus_used": 4}) == "nvidia-h200-x4"
