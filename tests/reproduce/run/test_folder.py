"""The run folder: appends, torn ends, locks."""

import copy
import json

import pytest

from papers.reproduce.registry import UsageError
from papers.reproduce.run import folder, measurements
from papers.reproduce.run.folder import RunStore
from papers.reproduce.run.measurements import COLUMNS


def rows(cell, values=2, status="ok", reason="fine"):
    base = dict.fromkeys(COLUMNS, "")
    base |= {
        "cell": cell,
        "n": 8,
        "seed": 1,
        "permuted": False,
        "repeat": 0,
        "status": status,
        "reason": reason,
    }
    timed = [{**base, "scope": "run", "metric": "time_ms", "value": 1.5} for _ in range(values)]
    return [*timed, {**base, "scope": "answer", "metric": "done", "value": 1}]


@pytest.fixture
def filled(tmp_path):
    results = RunStore(tmp_path)
    results.append(rows("a"))
    results.append(rows("b, with a comma", reason='said "no", twice\nand again'))
    results.close()
    return tmp_path


def test_what_is_appended_comes_back(filled):
    results = RunStore(filled)
    assert results.finished == {"a", "b, with a comma"}
    results.close()
    table = measurements.read(filled / "measurements.csv")
    assert len(table) == 6
    assert [str(table[name].dtype) for name in ("n", "seed", "value")] == [
        "int64",
        "int64",
        "float64",
    ]
    assert table["reason"].iloc[-1] == 'said "no", twice and again'


def test_every_possible_cut_is_repaired(filled):
    """Cut at every byte about a line's end, and at some more: a cell is whole or measured again."""
    path = filled / "measurements.csv"
    full = path.read_bytes()
    ends = [full.index(b'\n"b, with') + 1, len(full)]
    breaks = [place for place, byte in enumerate(full) if byte == ord("\n")]
    near = {place + step for place in breaks for step in (-1, 0, 1, 2)}
    for cut in sorted({*near, *range(0, len(full), 11)} & {*range(len(full) + 1)}):
        path.write_bytes(full[:cut])
        # A report on the torn file shows what a resumed run keeps.
        seen = measurements.parse(path).statuses
        results = RunStore(filled)
        expected = {
            name for name, end in zip(("a", "b, with a comma"), ends, strict=True) if cut >= end
        }
        assert results.finished == expected == set(seen), cut
        results.append(rows("c"))
        results.close()
        again = RunStore(filled)
        assert again.finished == expected | {"c"}, cut
        again.close()
        assert len(measurements.read(path)) == 3 * len(expected) + 3


def test_rows_without_done_are_refused(tmp_path):
    results = RunStore(tmp_path)
    with pytest.raises(ValueError, match="done row"):
        results.append(rows("a")[:-1])
    results.close()


def test_two_holders_are_refused(filled):
    first = folder.Lock(filled)
    with pytest.raises(UsageError, match="in use"):
        folder.Lock(filled)
    first.release()
    folder.Lock(filled).release()


@pytest.mark.parametrize(
    "tail",
    [
        b"\x00" * 40,
        b"\x00\xff\n\x80\n",
        b'c,"never closed\n',
        b"c,toy:x,,,uniform,eight,n,1,0,answer,done,1,ok,none,\n",
        "c,toy:x,\u2028,,uniform,8,n,1,0,run,time_ms,1,ok,none,\n".encode(),
    ],
)
def test_a_damaged_tail_hides_nothing_before_it(filled, tail):
    path = filled / "measurements.csv"
    full = path.read_bytes()
    path.write_bytes(full + tail)
    assert len(measurements.read(path)) == 6
    assert path.read_bytes() == full + tail  # Reading repairs nothing.
    RunStore(filled).close()
    assert path.read_bytes() == full


def test_a_cell_with_a_damaged_row_is_measured_again(filled):
    """Its done row is there, but one of its times is lost: five repeats would pass for six."""
    path = filled / "measurements.csv"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([lines[0], b"\x00\n", *lines[2:]]))
    results = RunStore(filled)
    assert results.finished == {"b, with a comma"}
    results.close()


def test_another_header_is_an_error_that_names_the_file(filled):
    path = filled / "measurements.csv"
    text = path.read_text().replace("certificate", "proof", 1)
    path.write_text(text)
    for read in (lambda: RunStore(filled), lambda: measurements.read(path)):
        with pytest.raises(UsageError, match=r"measurements\.csv is damaged: its first line"):
            read()
    assert path.read_text() == text


def test_retried_statuses_are_dropped(tmp_path):
    results = RunStore(tmp_path)
    for cell, status in (("a", "ok"), ("b", "timeout"), ("c", "failed")):
        results.append(rows(cell, status=status))
    results.close()
    RunStore(tmp_path, retry=("timeout", "failed")).close()
    assert measurements.parse(tmp_path / "measurements.csv").statuses == {"a": "ok"}


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "meta.json"
    folder.write_atomically(path, "old")

    def fail(*_):
        raise OSError("no space")

    monkeypatch.setattr(folder.os, "fsync", fail)
    with pytest.raises(OSError, match="no space"):
        folder.write_atomically(path, "new and longer")
    assert path.read_text() == "old"


def test_a_damaged_meta_is_a_usage_error(tmp_path):
    (tmp_path / "meta.json").write_text('{"plan": [')
    with pytest.raises(UsageError, match="damaged"):
        folder.read_meta(tmp_path)


CELL = {"solver": "toy:x", "family": "uniform", "n": 8, "label": "n", "seed": 1, "params": []}
CELL |= {"options": [["step4", "A"]], "scopes": ["run"], "repeats": 2, "experiments": ["toy:a"]}
OPTIONS = {"preset": "smoke", "only": [], "repeats": None, "seeds": [], "timeout_s": 60.0}
META = {
    "format": 1,
    "version": "0",
    "experiments": ["toy:a"],
    "options": {**OPTIONS, "device": "auto"},
    "device": {"name": "x", "is_gpu": False, "slug": "x"},
    "plan": [CELL],
}


def test_a_cell_of_the_plan_is_a_line(tmp_path):
    meta = {**copy.deepcopy(META), "plan": [copy.deepcopy(META["plan"][0]) for _ in range(3)]}
    folder.write_meta(tmp_path, meta)
    assert folder.read_meta(tmp_path) == meta
    lines = (tmp_path / "meta.json").read_text().splitlines()
    jobs = [line for line in lines if line.startswith('{"')]
    assert [json.loads(line.rstrip(",")) for line in jobs] == meta["plan"]
    folder.write_meta(tmp_path, {**meta, "plan": []})
    assert folder.read_meta(tmp_path)["plan"] == []


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        ((), [], "the whole is list, not dict"),
        (("plan",), None, "plan is NoneType, not list"),
        (("plan", 0, "n"), "8", r"plan\[0\].n is str, not int"),
        (("plan", 0, "n"), True, r"plan\[0\].n is bool, not int"),
        (("plan", 0, "scopes"), [1], r"plan\[0\].scopes\[0\] is int, not str"),
        (("options", "preset"), "huge", "preset is none of smoke, quick, paper"),
        (("device", "is_gpu"), 0, "device.is_gpu is int, not bool"),
        (("format",), 2, "format 2, not 1"),
    ],
)
def test_a_meta_of_other_types_is_a_usage_error(tmp_path, place, value, message):
    meta = copy.deepcopy(META)
    folder.write_meta(tmp_path, meta)
    assert folder.read_meta(tmp_path) == meta
    inner = meta
    for key in place[:-1]:
        inner = inner[key]
    if place:
        inner[place[-1]] = value
    (tmp_path / "meta.json").write_text(folder.dump_json(meta if place else value))
    with pytest.raises(UsageError, match=message):
        folder.read_meta(tmp_path)
