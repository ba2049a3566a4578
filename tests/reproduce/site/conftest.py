"""A site of the toy paper by two machines, made without measuring: its table is written here."""

from types import SimpleNamespace

import pandas as pd
import pytest
import toybox
from toybox import toy as paper

from papers.common.evidence import comparisons as compare
from papers.common.evidence import plots
from papers.common.evidence.intervals import Evidence
from papers.common.model import Cause, Experiment
from papers.reproduce.report import report, section
from papers.reproduce.site import site

HERE, RECORD = "this run", "recorded a-card"
CAUSE = Cause("toy:table2", 30.0, 90.0, "the pause is a sleep")
NUMBERS = {HERE: (1.1, 2.0, 40.0, 8.1), RECORD: (1.0, 2.2, 50.0, 0.5)}
"""Measured beside 1, 2, 4 and 8 of print: the third differs, the card's last is open."""


def table(measurements, published):
    """A row a machine and size; sizes of nobody's interest make the table long."""
    rows = [
        (origin, n, print_, ours, 2 * ours)
        for origin, numbers in NUMBERS.items()
        for n, print_, ours in zip((8, 16, 32, 64), (1.0, 2.0, 4.0, 8.0), numbers, strict=True)
    ]
    rows += [(HERE, n, None, float(n), None) for n in range(100, 112)]
    columns = ["source", "n", "published_speedup", "speedup", "tuned_speedup"]
    return pd.DataFrame(rows, columns=columns)


def judge(rows):
    """Ratios, one of them with a cause, a statement, and a goal of ours."""
    both = rows.dropna(subset=["published_speedup", "speedup"])
    found = [
        compare.ratio(
            f"speedup n={row.n}", row.published_speedup, row.speedup, factor=2,
            note="see T1, D1 and toy:table2; <i>no tag</i>", cause=CAUSE if row.n == 32 else None,
        )
        for row in both.itertuples()
    ]  # fmt: skip
    found.append(compare.claim("grows", "it grows", "it grows", True, kind="shape"))
    found.append(compare.goal("ours at most the goal", 1.5, at_most=1.0))
    return found


def draw(rows):
    return plots.line_plot(
        rows.assign(code="code"), "n", "published_speedup", "speedup", "code", yscale="log",
        xlabel="matrix size n", ylabel="speedup", title="Speedup",
    )  # fmt: skip


EXPERIMENTS = (
    Experiment("fig07", "Speedup against n", "figure", lambda plan: [], table, draw, judge),
    Experiment("table2", "Speedup of <two> codes", "table", lambda plan: [], table, None, judge),
    Experiment("later", "A later one", "table", lambda plan: [], table, unavailable="needs more"),
)
PRINTED = [["id", "where", "printed"], ["T1", "Table 1 against the text", "<b>2.1</b>"]]


def made(folder, registry):
    """Write the site of the toy paper into a folder; its page has one deviation, D1."""
    (folder / "paper").mkdir(parents=True)
    (folder / "paper" / "README.md").write_text(
        "# A toy\n\n## Deviations\n\n| | ours |\n| --- | --- |\n| D1 | a *sleep* |\n\n"
        "[results](RESULTS.md#table-2), [code](solver.py), [headings](#deviations)\n"
    )
    registry.setattr("papers.reproduce.registry.folder", lambda name: folder / "paper")
    for name in ("tables", "figures"):
        (folder / name).mkdir()
    run = SimpleNamespace(folder=folder)
    evidence = Evidence(pd.DataFrame(), draws=0)
    sections = [section._section(run, "toy", one, evidence) for one in EXPERIMENTS]
    assert not [one.problem for one in sections if one.problem]
    card = {"device": "A Card", "gpus": [{"name": "A Card"}], "versions": {"numba": "1"}}
    state = {"cell": "toy:good/x", "status": "ok", "certificate": "lp-duals", "run_ms": 1.5,
             "spread": "", "timed": "run", "count": 5, "device": "CPU executor",
             "reason": ""}  # fmt: skip
    site.write(folder, {
        "cards": [paper.PAPER], "sections": sections, "states": [state], "bad": [],
        "counts": {"ok": 1}, "verdicts": report.VERDICTS, "flags": ["A <flag>."],
        "tallies": report.tallies(c for one in sections for c in one.comparisons),
        "environment": {"device": "CPU executor", "cpu": "A CPU"},
        "records": {"toy": [(RECORD, card)]}, "inconsistencies": [("toy", PRINTED)],
        "options": {"preset": "quick"}, "command": "reproduce run",
        "commands": {one.name: [(HERE, f"reproduce run {one.name}")] for one in sections},
    })  # fmt: skip
    return folder / "site"


@pytest.fixture(scope="session")
def pages(tmp_path_factory):
    """The folder of the site, which nobody changes."""
    folder = tmp_path_factory.mktemp("site") / "run"
    with pytest.MonkeyPatch.context() as patch:
        for name, module in toybox.MODULES.items():
            patch.setitem(report.registry.MODULES, name, module)
        return made(folder, patch)
