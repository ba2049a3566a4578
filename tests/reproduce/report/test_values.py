"""Numbers in sentences come from the record's tables by marks."""

import pandas as pd
import pytest

from papers.reproduce.registry import UsageError
from papers.reproduce.report import readme, values

TABLE = pd.DataFrame(
    {
        "n": [8, 8, 16],
        "name": ["two words", "a, b", "c"],
        "time_ms": [1.0, 4.0, 12.3456],
        "blocked by": [1.0, None, None],
        "none": [None, None, None],
    }
)


def tables(experiment):
    if experiment != "table1":
        raise UsageError(f"there is no experiment {experiment!r}")
    return TABLE


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("table1 time_ms n=16", "12.35"),
        ("table1 time_ms n=16 digits=2", "12"),
        ("table1 time_ms n=16 scale=1000 digits=3", "12300"),
        ("table1 time_ms name=two_words", "1"),
        ("table1 time_ms name=a,_b", "4"),
        ("table1 median(time_ms) n=8", "2.5"),
        ("table1 geomean(time_ms) n=8", "2"),
        ("table1 min(time_ms)", "1"),
        ("table1 max(time_ms) n=8", "4"),
        ("table1 sum(time_ms) n=8;16", "17.35"),
        ("table1 rows(time_ms)", "3"),
        ("table1 rows(blocked_by)", "1"),
        ("table1 name n=16", "c"),
    ],
)
def test_a_mark_names_a_column_an_aggregate_and_filters(words, shown):
    assert values.value(words, tables) == shown
    page = f"It takes <!-- value: {words} -->9<!-- /value --> ms.\n"
    assert values.filled(page, tables) == page.replace(">9<", f">{shown}<")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("table2 time_ms", "no experiment 'table2'"),
        ("table1 speed", "there is no column speed; there are: n, name, time_ms, blocked_by"),
        ("table1 time_ms m=8", "there is no column m"),
        ("table1 time_ms n=9", "no recorded row is left"),
        ("table1 time_ms n=8", "time_ms has 2 values there; name an aggregate"),
        ("table1 mode(time_ms)", "is no column and no median, geomean"),
        ("table1 min(none)", "none has no value there"),
        ("table1", "not enough values"),
        ("table1 time_ms n", "value: table1 time_ms n: "),
    ],
)
def test_a_mark_that_says_nothing_is_named(words, message):
    with pytest.raises(UsageError, match="value: ") as told:
        values.filled(f"<!-- value: {words} -->1<!-- /value -->", tables)
    assert message in str(told.value)


def test_a_mark_without_its_end_is_named():
    with pytest.raises(UsageError, match="lacks its"):
        values.filled("<!-- value: table1 time_ms n=16 -->1 ms", tables)


def test_all_pages_of_a_paper_are_filled(finished_run, toy, tmp_path, monkeypatch, reproduce):
    record = tmp_path / "results" / "some-gpu"
    record.mkdir(parents=True)
    text = (finished_run[0] / "measurements.csv").read_text()
    (record / "measurements.csv").write_text(text)
    monkeypatch.setattr("papers.reproduce.registry.folder", lambda name: tmp_path)
    page = "Here <!-- value: steps rows(count) metric=prepare_ms -->0<!-- /value --> rows.\n"
    (tmp_path / "RESULTS.md").write_text(page)
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / "README.md").write_text(page)
    (tmp_path / "README.md").write_text("No mark.\n")
    assert set(readme.pages("toy")) == {tmp_path / "RESULTS.md", tmp_path / "part" / "README.md"}
    assert reproduce("readme", "toy").code == 0
    for path in readme.pages("toy"):
        assert path.read_text() == page.replace(">0<", ">1<")
    (tmp_path / "part" / "README.md").write_text(page.replace("steps", "nothing"))
    result = reproduce("readme", "toy")
    assert (result.code, "no experiment 'nothing'" in result.err) == (2, True)
    assert (tmp_path / "RESULTS.md").read_text() == page.replace(">0<", ">1<")
