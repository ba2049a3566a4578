"""``reproduce verify`` on a record of the toy paper: each check, with the faults it is for."""

import json
import shutil
from types import SimpleNamespace

import pytest

from papers.common.instances.files import MissingInstanceError
from papers.common.model import Instance
from papers.reproduce import registry
from papers.reproduce.report import readme
from papers.reproduce.run import identities, packed, recording
from papers.reproduce.verify import checks

PAGE = "# Toy\n\n<!-- results: table1 -->\n<!-- end -->\n"


@pytest.fixture
def record(smoke, clean_tree, tmp_path, monkeypatch, reproduce, toy):
    """A record of the toy paper, of the clean commit of a tree that is here, and its page."""
    path = smoke / "environment.json"
    facts = {**json.loads(path.read_text()), "device": "A Card", "gpus": [{"name": "A Card"}]}
    path.write_text(json.dumps({**facts, **clean_tree.facts()}))
    monkeypatch.setattr(registry, "folder", lambda name: tmp_path / name)
    result = reproduce("record", smoke)
    assert result.code == 0, result.err
    (tmp_path / "toy" / "RESULTS.md").write_text(PAGE)
    readme.fill("toy")
    kept = tmp_path / "toy" / "results" / "a-card"
    (kept / packed.FILE).write_bytes(packed.content(kept / packed.PACKED))
    (kept / packed.PACKED).unlink()  # A test changes its text.
    return kept


@pytest.fixture
def verified(reproduce):
    """Verify a record; return the exit code and result and reason by check."""

    def verify(folder, seconds=0):
        result = reproduce("verify", folder, "--seconds", seconds)
        assert not result.err, result.err
        lines = [line.strip().split("  ") for line in result.out.splitlines()[1:]]
        cut = [[word.strip() for word in words if word] for words in lines]
        return result.code, {name: (state, why) for state, name, why in cut}

    return verify


def changed(path, old, new, count=-1):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, count))


def sealed(record):
    """Write the manifest anew, as somebody would who hides a change."""
    text = json.dumps({"format": 1, "files": recording.hashes(record)})
    (record / recording.MANIFEST).write_text(text)


def test_a_good_record_passes_every_check(record, verified):
    code, found = verified(record, 3600)
    assert code == 0
    assert {name: state for name, (state, _) in found.items()} == dict.fromkeys(
        ["files", "code", "code here", "cells", "objectives", "sample", "tables"], "ok"
    )
    assert found["cells"][1] == "2 cells are proved, 0 were skipped"
    assert found["sample"][1].startswith("1 of 1 instances were drawn and solved anew by 1 codes")
    assert found["sample"][1].endswith("1 counters are the recorded ones")


def test_records_are_named_by_paper_card_or_folder(record, reproduce, monkeypatch):
    for words in ([], ["toy"], ["a-card"], ["toy/a-card"], [record]):
        result = reproduce("verify", *words, "--seconds", 0)
        assert "toy/a-card\n" in result.out
    monkeypatch.chdir(record.parent)
    result = reproduce("verify", "a-card", "--seconds", 0)  # A folder, by one word.
    assert (result.code, result.err) == (0, "")
    monkeypatch.chdir(record.parents[2])
    result = reproduce("verify", "toy", "--seconds", 0)  # A paper; its sources' folder is here.
    assert (result.code, "toy/a-card\n" in result.out) == (0, True)
    result = reproduce("verify", "nobody")
    assert (result.code, "there are: toy/a-card" in result.err) == (2, True)


def test_logs_beside_the_records_are_no_record(monkeypatch, tmp_path):
    """Planted: a folder of logs was a record without measurements; an emptied one still is."""
    for name, file in (("card", "meta.json"), ("sanitizer", "memcheck.log"), ("emptied", "")):
        (tmp_path / "results" / name).mkdir(parents=True)
        if file:
            (tmp_path / "results" / name / file).write_text("")
    (tmp_path / "results/sanitizer/racecheck_pairs.csv").write_text("")
    monkeypatch.setattr(checks.registry, "MODULES", {"toy": "toy"})
    monkeypatch.setattr(checks.registry, "folder", lambda paper: tmp_path)
    assert [path.name for path in checks.found(None)] == ["card", "emptied"]


def of_one(record, cell):
    """The time of the first repetition of a cell, as the file has it."""
    rows = [line.split(",") for line in (record / "measurements.csv").read_text().splitlines()]
    return next(",".join(row[10:14]) for row in rows if row[0].startswith(cell) and "run" in row)


def test_a_changed_time_is_noticed_by_hash_and_by_table(record, verified):
    row = of_one(record, "toy:slow")
    changed(record / "measurements.csv", row, row.rpartition(",")[0] + ",1e6")
    code, found = verified(record)
    assert code == 1
    assert found["files"] == ("failed", "measurements.csv was changed")
    assert found["tables"][0] == "failed"
    assert "RESULTS.md differs in 1 lines" in found["tables"][1]
    sealed(record)
    code, found = verified(record)
    assert (code, found["files"][0], found["tables"][0]) == (1, "ok", "failed")


def test_packed_measurements_have_the_hash_of_their_content(record, verified):
    plain = (record / packed.FILE).read_bytes()
    packed.pack(record)
    first = (record / packed.PACKED).read_bytes()
    assert len(first) < len(plain) / 3
    assert [name for name, (state, _) in verified(record)[1].items() if state == "failed"] == []
    (record / packed.FILE).write_bytes(plain)
    assert verified(record)[1]["files"] == ("failed", "measurements.csv.gz is not in the manifest")
    packed.pack(record)
    assert (record / packed.PACKED).read_bytes() == first
    (record / packed.FILE).write_bytes(plain.replace(b",ok,", b",bad,", 1))
    packed.pack(record)
    assert verified(record)[1]["files"] == ("failed", "measurements.csv was changed")
    for damaged in (first[:-9], b"no gzip", first[:40] + b"xxxx" + first[44:]):
        (record / packed.PACKED).write_bytes(damaged)
        state, why = verified(record)[1]["files"]
        assert (state, "cannot be unpacked" in why) == ("failed", True)


def test_an_objective_changed_in_one_cell_or_in_all_is_noticed(record, verified):
    path = record / "measurements.csv"
    (line,) = {row.split(",cost,")[1] for row in path.read_text().splitlines() if ",cost," in row}
    value = line.partition(",")[0]
    changed(path, f",cost,{value},", ",cost,1,", 1)
    sealed(record)
    code, found = verified(record)
    assert (code, found["objectives"][0]) == (1, "failed")
    assert f"costs 1, {value}" in found["objectives"][1]
    changed(path, f",cost,{value},", ",cost,1,")
    sealed(record)
    code, found = verified(record, 3600)
    assert (code, found["objectives"][0], found["sample"][0]) == (1, "ok", "failed")
    assert f"cost is recorded as 1, and toy:good has {value}" in found["sample"][1]


def test_an_objective_that_nobody_recorded_is_noticed(record, verified):
    """Planted: without an objective nothing was compared, and all was well."""
    changed(record / "measurements.csv", ",answer,cost,", ",answer,price,")
    found = verified(record, 3600)[1]
    assert (found["sample"][0], "no cost is recorded" in found["sample"][1]) == ("failed", True)


def test_a_changed_counter_is_noticed(record, verified):
    changed(record / "measurements.csv", ",augmentations,8,", ",augmentations,7,")
    found = verified(record, 3600)[1]
    assert found["sample"][0] == "failed"
    assert "augmentations is recorded as 7, and toy:good has 8" in found["sample"][1]


def test_a_sample_of_no_time_says_nothing(record, verified):
    assert verified(record)[1]["sample"] == (
        "cannot be said",
        "none of 1 instances could be solved here",
    )


def test_missing_and_foreign_files_are_noticed(record, verified):
    (record / "tuning.csv").write_text("a,b\n")
    assert verified(record)[1]["files"] == ("failed", "tuning.csv is not in the manifest")
    (record / "tuning.csv").unlink()
    kept = (record / "meta.json").read_bytes()
    (record / "meta.json").unlink()
    code, found = verified(record)
    assert code == 1
    assert found == {
        "files": ("failed", "meta.json is missing"),
        "record": ("failed", "it has no meta.json"),
    }
    (record / "meta.json").write_bytes(kept)
    (record / recording.MANIFEST).unlink()
    code, found = verified(record)
    assert (code, found["files"][0]) == (0, "cannot be said")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (",ok,", ",weird,", "is 'weird'"),
        (",ok,", ",failed,", "is 'failed'"),
        (",lp-duals,", ",none,", "is ok without a proof"),
        ("toy:slow", "toy:other", "was not measured"),
    ],
)
def test_cells_that_are_not_proved_or_not_planned_are_noticed(record, verified, old, new, message):
    changed(record / "measurements.csv", old, new)
    code, found = verified(record)
    assert (code, found["cells"][0]) == (1, "failed")
    assert message in found["cells"][1]


def test_a_cell_with_two_statuses_is_noticed(record, verified):
    changed(record / "measurements.csv", ",ok,", ",weird,", 1)
    assert "has two statuses" in verified(record)[1]["cells"][1]


def test_a_cell_that_was_measured_twice_is_noticed(record, verified):
    path = record / "measurements.csv"
    whole = path.read_text()
    path.write_text(whole + whole.partition("\n")[2])
    assert "was measured more than once" in verified(record)[1]["cells"][1]


def test_a_record_names_its_commit_and_is_compared_with_it(record, verified, clean_tree):
    facts = json.loads((record / "environment.json").read_text())
    first = facts["commit"]
    clean_tree.commit("b = 2\n")
    code, found = verified(record)
    assert (code, found["code"][0]) == (0, "ok")
    assert found["code here"][0] == "cannot be said"
    assert "changed in 1 files since" in found["code here"][1]
    for change, state, message in (
        ({"commit": clean_tree.head()}, "failed", "its sources are not those of the commit"),
        ({"commit": "0" * 40}, "cannot be said", "is not here"),
        ({"commit": "--output=/x"}, "cannot be said", "is not here"),
        ({"clean": False}, "failed", "the tree had changes"),
        ({"commit": first + "+changes"}, "failed", "the tree had changes"),
        ({"anyway": ["Two codes."]}, "failed", "Two codes."),
        ({"sources": ""}, "cannot be said", "no hash of its sources"),
    ):
        (record / "environment.json").write_text(json.dumps({**facts, **change}))
        sealed(record)
        code, found = verified(record)
        assert (found["code"][0], message in found["code"][1]) == (state, True), found
        assert code == (state == "failed")


def test_a_page_that_was_edited_is_noticed(record, verified):
    changed(record.parents[1] / "RESULTS.md", "| 8 | n |", "| 8 | n | ")
    assert verified(record)[1]["tables"][0] == "failed"


def test_of_a_copy_only_its_page_cannot_be_checked(record, verified, tmp_path):
    copy = shutil.copytree(record, tmp_path / "copies" / "deep" / "a-card")
    code, found = verified(copy)
    assert (code, found["tables"][0], found["files"][0]) == (0, "cannot be said", "ok")


# ------------------------------------------------------------------------------- instances


def with_checksums(folder, *rows):
    lines = [",".join((*identities.NAMED_BY, *identities.FOUND)), *rows]
    (folder / identities.FILE).write_text("\n".join(lines) + "\n")


PLANNED = Instance("matrix", 3, "path")
ROW = "matrix,3,path,1,False,3,3,5,"


@pytest.mark.parametrize(
    ("sha", "here", "result"),
    [("a" * 64, "a" * 64, "ok"), ("a" * 64, "b" * 64, "failed"), ("a" * 64, "", "cannot be said")],
)
def test_the_data_of_files_are_compared_with_the_recorded_checksums(
    tmp_path, monkeypatch, sha, here, result
):
    def identify(instance):
        if not here:
            raise MissingInstanceError("it is not here")
        return {"rows": 3, "columns": 3, "entries": 5, "sha256": here}

    monkeypatch.setattr(checks.instances, "identify", identify)
    with_checksums(tmp_path, ROW + sha)
    job = SimpleNamespace(cell=SimpleNamespace(instance=PLANNED))
    record = SimpleNamespace(folder=tmp_path, jobs=[job])
    found = checks.check_instances(record)
    assert found.result == result
    assert ("path has other data here" in found.why) == (result == "failed")
    record.jobs = []
    assert checks.check_instances(record).result == "failed"  # It was not planned.


@pytest.mark.parametrize("damage", [ROW.rpartition(",5,")[0], "a" * 64 + "," + ROW + "a" * 64])
def test_a_damaged_list_of_checksums_is_told(tmp_path, damage):
    with_checksums(tmp_path, damage)
    found = checks.check_instances(SimpleNamespace(folder=tmp_path, jobs=[]))
    assert (found.result, "instances.csv is damaged" in found.why) == ("failed", True)


def test_a_record_keeps_the_checksums_and_lists_them(
    smoke, clean_tree, tmp_path, monkeypatch, reproduce, toy
):
    path = smoke / "environment.json"
    facts = {**json.loads(path.read_text()), "device": "A Card", "gpus": [{"name": "A Card"}]}
    path.write_text(json.dumps({**facts, **clean_tree.facts()}))
    with_checksums(smoke, ROW + "a" * 64)
    monkeypatch.setattr(registry, "folder", lambda name: tmp_path / name)
    assert reproduce("record", smoke).code == 0
    record = tmp_path / "toy" / "results" / "a-card"
    assert identities.read(record)[identities.key_of(PLANNED)]["sha256"] == "a" * 64
    assert identities.FILE in json.loads((record / recording.MANIFEST).read_text())["files"]
