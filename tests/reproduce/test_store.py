"""The run folder: appends, torn ends, locks."""

import pytest

from papers.reproduce import measurements, store
from papers.reproduce.measurements import COLUMNS
from papers.reproduce.registry import UsageError
from papers.reproduce.store import RunStore


def rows(cell, values=2, status="ok", reason="fine"):
    base = dict.fromkeys(COLUMNS, "")
    base |= {"cell": cell, "n": 8, "seed": 1, "repeat": 0, "status": status, "reason": reason}
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
    assert table["reason"].iloc[-1] == 'said "no", twice and again'


def test_every_possible_cut_is_repaired(filled):
    """Cut the file at every byte: a cell is either whole or measured again, never half there."""
    path = filled / "measurements.csv"
    full = path.read_bytes()
    ends = [full.index(b'\n"b, with') + 1, len(full)]
    for cut in range(len(full) + 1):
        path.write_bytes(full[:cut])
        results = RunStore(filled)
        expected = {
            name for name, end in zip(("a", "b, with a comma"), ends, strict=True) if cut >= end
        }
        assert results.finished == expected, cut
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


def test_two_writers_are_refused(filled):
    first = RunStore(filled)
    with pytest.raises(UsageError, match="another run is writing"):
        RunStore(filled)
    first.close()
    RunStore(filled).close()


def test_the_lock_outlives_a_repair(filled):
    path = filled / "measurements.csv"
    path.write_bytes(path.read_bytes()[:-3])
    first = RunStore(filled)
    with pytest.raises(UsageError, match="another run is writing"):
        RunStore(filled)
    first.close()


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "meta.json"
    store.write_atomically(path, "old")

    def fail(*_):
        raise OSError("no space")

    monkeypatch.setattr(store.os, "fsync", fail)
    with pytest.raises(OSError, match="no space"):
        store.write_atomically(path, "new and longer")
    assert path.read_text() == "old"


def test_a_damaged_meta_is_a_usage_error(tmp_path):
    (tmp_path / "meta.json").write_text('{"plan": [')
    with pytest.raises(UsageError, match="damaged"):
        store.read_meta(tmp_path)
