"""Reports: the same bytes from the same CSV, nothing missing, nothing private."""

import getpass
import platform
import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from papers.common.evidence import plots
from papers.common.evidence.published import Published
from papers.reproduce.report import numbers as text
from papers.reproduce.report import section
from papers.reproduce.run import folder as store
from papers.reproduce.run import measurements

DERIVED = ("summary.csv", "report.md", "site/**/*.*", "tables/*.csv", "figures/*.png")


def contents(folder):
    files = [path for pattern in DERIVED for path in folder.glob(pattern)]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def site(folder):
    """The text of all pages."""
    return "".join(path.read_text() for path in sorted(folder.glob("site/*.html")))


def test_the_same_csv_gives_the_same_bytes(reproduce, finished, tmp_path):
    before = contents(finished)
    # A clean copy elsewhere: no file of the first report, another path.
    copy = tmp_path / "elsewhere" / "copied"
    copy.mkdir(parents=True)
    for name in ("meta.json", "measurements.csv", "environment.json", "artifacts.json"):
        shutil.copy(finished / name, copy)
    shutil.copytree(finished / "artifacts", copy / "artifacts")
    for _ in range(2):
        reproduce("report", copy)
        assert contents(copy) == before
    assert {"tables/toy_table1.csv", "figures/toy_fig1.png", "site/index.html"} <= set(before)


def test_a_number_changed_in_the_csv_shows(reproduce, finished):
    before = contents(finished)
    path = finished / "measurements.csv"
    table = pd.read_csv(path, keep_default_na=False, dtype=str)
    hit = (table["solver"] == "toy:slow") & (table["metric"] == "time_ms")
    table.loc[hit, "value"] = "12345.0"
    table.to_csv(path, index=False)
    reproduce("report", finished)
    after = contents(finished)
    for name in ("summary.csv", "tables/toy_table1.csv", "figures/toy_fig1.png", "site/toy.html"):
        assert after[name] != before[name], name
    assert after["tables/toy_steps.csv"] == before["tables/toy_steps.csv"]


def test_two_optima_of_one_instance_are_told_and_end_in_their_exit_code(
    reproduce, smoke_run, tmp_path
):
    """Planted: the report said of such answers that they were proved."""
    folder = tmp_path / "run"
    shutil.copytree(smoke_run[0], folder)
    assert reproduce("report", folder).code == 0
    path = folder / "measurements.csv"
    table = pd.read_csv(path, keep_default_na=False, dtype=str)
    costs = table[table["metric"] == "cost"]
    one = costs[costs.duplicated(["family", "n", "label", "seed"])]["cell"].iloc[0]
    hit = (table["cell"] == one) & (table["metric"] == "cost")
    table.loc[hit, "value"] = "98765.0"
    table.to_csv(path, index=False)
    again = reproduce("report", folder)
    assert again.code == 1
    told = " ".join(again.out.split())
    assert "problem: different costs: " in told
    assert "98765" in told
    assert "exit code 1: checks of the answers failed: 1" in told


def test_no_picture_is_made_that_no_page_shows(finished_run):
    """Planted: pictures of tables, which took half of a report's time and of its room."""
    folder = finished_run[0]
    markdown = (folder / "report.md").read_text()
    pictures = [str(path.relative_to(folder)) for path in folder.glob("figures/*.png")]
    assert pictures == ["figures/toy_fig1.png"]
    assert all(f"]({name})" in markdown for name in pictures)


@pytest.mark.parametrize("cores", [1, 2])
def test_one_core_and_two_make_the_same_report(reproduce, finished, monkeypatch, capfd, cores):
    """Planted: the processes of the second core took their end for a batch system's."""
    before = contents(finished)
    monkeypatch.setattr(section.cores, "allowed", lambda: cores)
    monkeypatch.setattr(section.threading, "active_count", lambda: 1)
    assert reproduce("report", finished).code == 3
    assert contents(finished) == before
    assert "Traceback" not in capfd.readouterr().err


def test_the_page_says_everything(finished_run):
    finished = finished_run[0]
    for name in ("site", "report.md"):
        text = site(finished) if name == "site" else (finished / name).read_text()
        for part in (
            "failed",
            "ValueError: planted",
            "needs more",
            "lp-duals",
            "speedup n=8",
            "0.50",
            "speedup n=8 | ratio | this run | 0.50 |" if name == "report.md" else "speedup",
            "within a factor of 2",
            "the pause is a sleep (",
            "differs",
            "numba",
            "A straight line",
            "Table 1 against the text",
            "timed fewer than five times",
            "toy:slow",
        ):
            assert part in text, (name, part)


def test_text_of_others_is_escaped(finished_run):
    finished = finished_run[0]
    for shown in (site(finished), (finished / "report.md").read_text()):
        assert re.search("&lt;two(>|&gt;)", shown)
        assert "<two>" not in shown
        assert re.search("&lt;b(>|&gt;)2.1", shown)
        assert "<b>2.1</b>" not in shown


def test_nothing_private_is_kept(finished):
    words = {platform.node(), getpass.getuser(), str(Path.home()), str(finished), str(Path.cwd())}
    for path in (p for p in finished.rglob("*") if p.suffix in (".json", ".csv", ".md", ".html")):
        text = path.read_text()
        for word in words:
            assert not re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text), (path.name, word)


def test_an_unfinished_run_lists_what_is_missing(reproduce, finished):
    path = finished / "measurements.csv"
    lines = path.read_text().splitlines(keepends=True)
    kept = [line for line in lines if not line.startswith("toy:slow/uniform/n=32")]
    path.write_text("".join(kept))
    result = reproduce("report", finished)
    assert result.code == 3
    assert "1 missing" in result.out
    text = (finished / "report.md").read_text()
    assert "| toy:slow/uniform/n=32/range=n/seed=1 | missing |" in text


def test_derived_files_of_another_time_are_removed(reproduce, finished):
    (finished / "tables" / "toy_gone.csv").write_text("old")
    reproduce("report", finished)
    assert not (finished / "tables" / "toy_gone.csv").exists()


def test_recorded_runs_join_the_tables_and_not_the_runs_own_summary(
    reproduce, finished, tmp_path, monkeypatch
):
    recorded = tmp_path / "paper" / "results" / "some-gpu"
    recorded.mkdir(parents=True)
    table = pd.read_csv(finished / "measurements.csv", dtype=str, keep_default_na=False)
    table.assign(device="Some GPU").to_csv(recorded / "measurements.csv", index=False)
    (recorded / "environment.json").write_text('{"device": "Some GPU", "cpu": "Some CPU"}')
    monkeypatch.setattr("papers.reproduce.registry.folder", lambda name: tmp_path / "paper")
    before, rows = (finished / "summary.csv").read_bytes(), len(steps_of(finished))
    reproduce("report", finished)
    assert (finished / "summary.csv").read_bytes() == before
    assert len(steps_of(finished)) == 2 * rows > 0
    assert "Recorded some-gpu" in (finished / "site" / "cells.html").read_text()
    # Recorded cells are no cells of this run.
    assert (finished / "report.md").read_text().count("| toy:fail/") == 1


def steps_of(run):
    return pd.read_csv(run / "tables" / "toy_steps.csv")


def test_a_torn_file_is_reported_on_and_left_as_it_is(reproduce, finished):
    path = finished / "measurements.csv"
    damaged = path.read_bytes() + b"toy:good/uniform/n=8,toy\n\x00\xff\x00\n\xfe"
    path.write_bytes(damaged)
    before = (finished / "summary.csv").read_bytes()
    assert reproduce("report", finished).code == 3  # The planted failure's code, as before.
    assert path.read_bytes() == damaged
    assert (finished / "summary.csv").read_bytes() == before


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("measurements.csv", "cell,solver\n", "measurements.csv is damaged: its first line"),
        ("environment.json", "{", "environment.json is damaged"),
        ("environment.json", '{"gpus": {}}', "environment.json is damaged: gpus is dict, not list"),
        ("artifacts.json", '{"toy:drawn": [["x", 1]]}', "toy:drawn[0][1] is int, not str"),
        ("meta.json", '{"format": 1}', "meta.json is damaged: version is missing"),
    ],
)
def test_a_damaged_folder_is_one_line_that_names_the_file(reproduce, finished, name, text, message):
    (finished / name).write_text(text)
    result = reproduce("report", finished)
    assert result.code == 2
    assert message in result.err
    assert result.err.count("\n") == 1


def test_a_report_holds_the_folder(reproduce, finished):
    lock = store.Lock(finished)
    result = reproduce("report", finished)
    assert (result.code, "in use" in result.err) == (2, True)
    lock.release()
    assert reproduce("report", finished).code == 3


def test_print_recorded_runs_and_checks_of_our_own_are_counted_apart(finished_run):
    folder, result = finished_run
    closing = result.out[result.out.index("paper  cells") :].splitlines()
    assert re.fullmatch(r"paper  cells +this run +on some-gpu", closing[0])
    assert re.fullmatch(r"toy    6 ok, 1 failed +\d+ / [1-9] / \d+ +1 / 0 / 0", closing[1])
    markdown = (folder / "report.md").read_text()
    head = markdown[: markdown.index("## Cells")]
    assert "Correctness, this run: 1 holds.\n" in head
    assert "Comparisons with print, recorded some-gpu: 1 agrees.\n" in head
    last = markdown[markdown.rindex("Comparisons with print\n") :]
    assert "speedup at n=1024" in last
    checks = last[last.index("Correctness") :]
    for part in ("expected", "found", "two codes, one cost"):
        assert part in checks
    assert "speedup at" not in checks
    own = (folder / "site" / "own.html").read_text()
    assert "two codes, one cost" in own
    assert "ours at most the goal" in own
    assert "speedup at" not in own


def test_the_terminal_shows_rows_of_this_run_only(finished_run):
    part = finished_run[1].out.partition("toy:empty  No numbers")[2]
    assert "two codes, one cost" in part
    assert "speedup at n=1024" not in finished_run[1].out
    assert "ours at most the goal" not in finished_run[1].out


def test_an_experiment_without_numbers_shows_no_table(finished_run):
    folder, _ = finished_run
    assert not list(folder.glob("*/toy_empty.*"))
    markdown = (folder / "report.md").read_text()
    section = markdown.partition("T26 empty\n")[2].partition("\n## ")[0]
    assert section.split("\n\n")[:2] == ["\nNo numbers", "### Comparisons with print"]
    assert "toy_empty.png" not in site(folder)


def test_markdown_aligns_numbers_and_captions_pictures(finished_run):
    markdown = (finished_run[0] / "report.md").read_text()
    assert (
        "| n | range | published_speedup | speedup |\n| ---: | --- | ---: | ---: |\n| 8 | n |"
        in markdown
    )
    after = markdown.partition("![Speedup over n](figures/toy_fig1.png)\n\n")[2]
    assert after.startswith("Speedup over n. Published hollow, measured filled.\n")
    after = markdown.partition("![A straight line](artifacts/toy/line.png)\n\n")[2]
    assert after.startswith("A straight line\n")


def test_pictures_are_taken_from_the_runs_own_folder_only(reproduce, finished):
    (finished / "secret.png").write_bytes((finished / "artifacts/toy/line.png").read_bytes())
    (finished / "artifacts.json").write_text('{"toy:drawn": [["A secret", "../secret.png"]]}')
    reproduce("report", finished)
    assert "A secret" not in site(finished)


# ------------------------------------------------------------------------------ pieces


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3, "3"),
        (np.int64(12345678), "12345678"),
        (0.012345, "0.01235"),
        (1234.5, "1234"),
        (2.0, "2"),
        (1.5e-12, "1.500e-12"),
        (float("nan"), ""),
        (None, ""),
        ("10n", "10n"),
        (float("inf"), "inf"),
    ],
)
def test_numbers_as_shown(value, expected):
    assert text.show_number(value) == expected


def test_published_columns_keep_their_decimals():
    numbers = Published("toybox.toy")
    table = numbers("speed").rename(columns={"speedup": "speedup_published"})
    table["speedup"] = 0.5
    rows = text.shown(table, numbers)
    assert [row[2] for row in rows] == ["speedup_published", "0.50", "2.0", "3.25"]
    assert rows[1][3] == "0.5"


def long_table(values, **fixed):
    base = dict.fromkeys(measurements.COLUMNS, "") | {"cell": "c", "n": 8, "seed": 1} | fixed
    rows = [
        {**base, "repeat": i, "scope": "run", "metric": "time_ms", "value": v, "status": "ok"}
        for i, v in enumerate(values)
    ]
    rows.append({**rows[-1], "scope": "answer", "metric": "done", "value": 1})
    return pd.DataFrame(rows)


def test_summaries_are_medians_and_quartiles():
    summary = measurements.summarize(long_table([5.0, 1.0, 4.0, 2.0, 3.0]))
    row = summary[summary["metric"] == "time_ms"].iloc[0]
    assert (row["q1"], row["median"], row["q3"], row["count"]) == (2.0, 3.0, 4.0, 5)
    assert set(summary.columns) == {*measurements.SUMMARY, measurements.VALUES}
    assert row[measurements.VALUES] == (5.0, 1.0, 4.0, 2.0, 3.0)


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([5.0, 1.0, 4.0, 2.0, 3.0], "2 to 4"),
        ([15.1, 23.9, 15.0, 23.9, 15.2], "bimodal: 3 at 15.1, 2 at 23.9 ms"),
        ([1.0], ""),
    ],
)
def test_cells_show_their_quartiles_or_that_they_are_bimodal(values, shown):
    """Planted: two modes of 15 and 24 ms, of which a median showed one."""
    (row,) = measurements.cells(measurements.summarize(long_table(values))).to_dict("records")
    assert row["spread"] == shown


def test_summaries_keep_devices_apart():
    both = pd.concat([long_table([1.0], device="a"), long_table([9.0], device="b")])
    times = measurements.summarize(both).query("metric == 'time_ms'")
    assert sorted(times["median"]) == [1.0, 9.0]


def colours(png):
    """The set of colours that fill more than a trace of a picture."""
    pixels = np.asarray(Image.open(png).convert("RGB")).reshape(-1, 3)
    values, counts = np.unique(pixels, axis=0, return_counts=True)
    return {"#" + bytes(v).hex() for v, c in zip(values, counts, strict=True) if c > 200}


def shares():
    steps = [(n, step) for n in (8, 16) for step in ("s1", "s2")]
    table = pd.DataFrame(steps, columns=["n", "step"])
    return table.assign(printed=[40.0, 60.0, 30.0, 70.0], ours=[20.0, 80.0, 10.0, 90.0])


def test_bars_are_stacked_in_pairs():
    axes = plots.stacked_bars(shares(), "n", "printed", "ours", "step").axes[0]
    bars = [(b.get_y(), b.get_height(), b.get_hatch()) for b in axes.patches]
    assert sorted(bars, key=str) == sorted(
        [
            (0.0, 40.0, "////"),
            (0.0, 30.0, "////"),
            (40.0, 60.0, "////"),
            (30.0, 70.0, "////"),
            (0.0, 20.0, None),
            (0.0, 10.0, None),
            (20.0, 80.0, None),
            (10.0, 90.0, None),
        ],
        key=str,
    )
    centres = sorted({round(b.get_x() + b.get_width() / 2, 6) for b in axes.patches})
    assert centres == [-0.2, 0.2, 0.8, 1.2]


def test_lines_are_hollow_as_published_and_filled_as_measured(tmp_path):
    figure = plots.line_plot(shares(), "n", "printed", "ours", "step", ylim=(0, 100))
    axes = figure.axes[0]
    lines = {line.get_markerfacecolor(): list(line.get_ydata()) for line in axes.lines[:2]}
    assert lines == {"white": [40.0, 30.0], plots.COLOURS[0]: [20.0, 10.0]}
    assert axes.get_xscale() == "log"
    assert axes.get_ylim() == (0, 100)
    plots.save(figure, tmp_path / "a.png")
    assert {plots.COLOURS[0].lower(), plots.COLOURS[1].lower()} <= colours(tmp_path / "a.png")


def test_pictures_of_tables_align_by_type_and_read_as_words():
    rows = [["cost_range", "published_ms"], ["10n", "1.50"]]
    drawn = plots.table_image(rows, "A table", [False, True]).axes[0].texts
    assert [(text.get_text(), text.get_ha()) for text in drawn] == [
        ("cost range\n10n", "left"),
        ("published ms\n1.50", "right"),
    ]


def test_a_missing_value_leaves_no_point():
    table = shares()
    table.loc[0, "ours"] = np.nan
    lines = plots.line_plot(table, "n", None, "ours", "step").axes[0].lines
    assert [list(line.get_xdata()) for line in lines] == [[16.0], [8.0, 16.0]]


def test_the_users_matplotlibrc_plays_no_part():
    import matplotlib as mpl

    plain = plots.png(plots.line_plot(shares(), "n", "printed", "ours", "step"))
    with mpl.rc_context({"font.size": 30, "axes.facecolor": "red", "lines.linewidth": 9}):
        assert plots.png(plots.line_plot(shares(), "n", "printed", "ours", "step")) == plain
