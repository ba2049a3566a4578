"""The bar: the time left follows how true the predictions were."""

import io
from types import SimpleNamespace

import pytest
from rich.console import Console

from papers.reproduce.measure.outcome import Outcome
from papers.reproduce.screen.console import Volume, console
from papers.reproduce.screen.live import Live, Remaining


def test_predictions_are_stretched_as_the_finished_ones_were():
    left = Remaining({"a": 1.0, "b": 2.0, "c": 3.0})
    assert left.seconds() == 6.0
    left.ended("a", 4.0)
    assert left.seconds() == 20.0


def test_cells_without_a_prediction_last_as_those_without_one_did():
    left = Remaining({"a": None, "b": None, "c": 5.0, "d": None})
    assert left.seconds() == 20.0  # As long as the known one, so far.
    left.ended("a", 7.0)
    assert left.seconds() == 5.0 + 2 * 7.0
    assert Remaining({"a": None}).seconds() is None
    assert Remaining({"a": None}).text() == ""


def test_at_the_end_nothing_is_left():
    left = Remaining({"a": 1.0})
    left.ended("a", 2.0)
    assert (left.seconds(), left.text()) == (0.0, "done")


@pytest.mark.parametrize(
    ("volume", "lines"), [(Volume.answer, 11), (Volume.verbose, 30), (Volume.quiet, 0)]
)
def test_elsewhere_than_on_a_terminal_there_is_a_line_at_each_tenth(volume, lines):
    """Planted: a line a cell, of which a plan has hundreds. A failed cell has its line always."""
    out = Console(file=io.StringIO(), width=120)
    jobs = [SimpleNamespace(key=f"cell {i}") for i in range(30)]
    shown = Console(file=io.StringIO()) if volume is Volume.quiet else out
    with Live(shown, jobs, Remaining({job.key: 1.0 for job in jobs}), 30, volume) as live:
        for place, job in enumerate(jobs):
            live.begins(job)
            status = "failed" if place == 5 else "ok"
            live.ended(job, Outcome(status, "none", "planted" if place == 5 else ""))
    found = out.file.getvalue().splitlines()
    assert len(found) == lines
    assert not lines or [line for line in found if "cell 5" in line and "planted" in line]


def test_a_terminal_has_one_bar_with_the_time_left():
    out = Console(file=io.StringIO(), width=120, force_terminal=True)
    jobs = [SimpleNamespace(key=f"cell {i}") for i in range(3)]
    with Live(out, jobs, Remaining({job.key: 100.0 for job in jobs}), 3) as live:
        live.begins(jobs[0])
        live.ended(jobs[0], Outcome("ok", "none", ""))
        live.stage("run")
        live._bar.refresh()
    text = out.file.getvalue()
    assert "about 5 min left" in text
    assert "1/3" in text


def test_the_options_of_a_cell_are_no_markup(capsys):
    """Planted: two cells of other options had one name, since the console took them for styles."""
    console().print("toy:x[threads=2]/uniform was not measured")
    assert capsys.readouterr().out == "toy:x[threads=2]/uniform was not measured\n"
