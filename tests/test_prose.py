"""No measured number in a sentence is typed by hand: it comes from a record, by a mark.

A number with a unit of time, a rate, a share or "times" counts as measured, unless it stands in
`ALLOWED` with the reason why it is none.
"""

import re
from pathlib import Path

import pytest

import papers as package
from papers.reproduce.report import front, readme, values

ROOT = Path(package.__file__).parents[1]
PAGES = sorted(
    path
    for pattern in ("README.md", "CONTRIBUTING.md", "papers/*/*.md", "papers/*/*/README.md")
    for path in ROOT.glob(pattern)
)
UNIT = r"(?:[mnuµ]?s|(?:micro|milli)?seconds?|cycles?|min|minutes?|hours?|times|[GT]B/s)\b|%"
MEASURED = re.compile(rf"(?<![\w.^=])\d[\d.,]*(?: to \d[\d.,]*| and \d[\d.,]*)? ?(?:{UNIT})")

INPUT, PREDICTED, PRINT = "input of a prediction", "predicted", "published"
GOAL = "a bound of ours; a test of its own sets it beside the code's"
TESTED = "measured; a test of its own sets it beside its file"
ALLOWED: dict[str, dict[str, str]] = {
    "papers/datenagi2016/README.md": {
        "for 2.96 TB/s read and a barrier of the grid of 1.7 us": INPUT,
        "read 4 n^2: 0.091 ms at n = 8192, 0.54 ms at 20000": PREDICTED,
        "the uncovered rows, at most 0.091 ms": PREDICTED,
        "twice 4 n^2: 1.08 ms": PREDICTED,
        "four barriers of a block: 2 to 3 us": PREDICTED,
        "a barrier and four dependent loads: 3 us": PREDICTED,
    },
    "papers/datenagi2016/several_gpus/README.md": {
        "the paper's own numbers (4.9 of 11 s at n = 10,000)": PRINT,
        "its search takes 15.2 s on one GPU and 16.2 s on 16": PRINT,
        "Predicted: a kernel of 10 us and an all-gather of 12, 22 to 25 a level": PREDICTED,
        "Predicted: the one-GPU solver's level of 8 to 9 us and 4 for the exchange": PREDICTED,
        "Predicted: 100 ms at n = 10,000 and 160 at 20,000": PREDICTED,
    },
    "papers/deveci_matching/README.md": {
        "for the levels and 20 us a launch": INPUT,
        "levels at 3 us, 50 to 100 us of memory traffic": INPUT,
    },
    "papers/kawtikwar_opts/README.md": {
        "They suppose 2.96 TB/s reading, 2.43 TB/s copying on an H100": INPUT,
        "(3.81 and 2.93 on an H200), a launch of 2 us": INPUT,
        "a barrier of the grid of 1.7 us": INPUT,
        "A barrier is not 1.7 us": INPUT,
        "times come to 0.45 to 0.80 us a zero": PRINT,
        "0.3 to 2 us a zero there": PREDICTED,
        "nothing to be seen (0.02 us)": PREDICTED,
    },
    "papers/lopes2019/README.md": {"for 3.81 TB/s (read) and 2.93 TB/s (copy)": INPUT},
    "papers/lupinska_costscale/README.md": {
        "what its 1/20 s includes": PRINT,
        "The claim** of 1/20 s": PRINT,
        "sweeps on 2048 x 2048 pixels, 20 to 40 ms": PREDICTED,
        "was predicted at 0.1 to 0.2 ms": PREDICTED,
    },
    "papers/lupinska_costscale/RESULTS.md": {"About 1/20 s for complete": PRINT},
    "papers/synthesis/README.md": {
        "10,000 matrices of 30 a side within 20 ms from host to host": GOAL,
        "of the best peer's time where that is over 50 ms": GOAL,
        "a call adds at most 300 us to a run of": GOAL,
        "that are hard for other codes it should take at most 8 ms (, of n = 1000, of n = 2000), "
        "3 ms (, n = 1000), 20 ms (, n = 2000) and 1.3 ms (, n = 300)": GOAL,
        "of SciPy's time in the mean and at most 1.3 times as long": TESTED,
        "from the host and 100 us on the device, and 100 us to SciPy": GOAL,
        "The look at the duals adds 9 to 188 us": TESTED,
    },
    "papers/synthesis/trust/README.md": {"more than 1.2 times the optimum": TESTED},
    "papers/synthesis/STEPS.md": {
        "1.03 and 1.11 times as long at n = 128 and 192. Twelve take up to 1.34 times": TESTED,
        "on the product 1.9 times as long there, and 47 times": TESTED,
        "Predicted was a level of 2,000 cycles": PREDICTED,
        "A level of one block takes some 5,000 cycles": TESTED,
        "structured costs take 1.16 to 1.55 times as long": TESTED,
    },
    "papers/synthesis/RESULTS.md": {
        "replaced by a stand-in, were 60 microseconds": PREDICTED,
        "each of its runs 4.4 times or more as long as any of ours": TESTED,
        "five runs of each kind, the usual ones up to 1.5 times apart": TESTED,
        "no two of five runs differ by more than 1.18 times": TESTED,
        "searches depth first in the geometric mean and 1.05 times at most": TESTED,
        "on the 113 others 1.04, and 12 times on": TESTED,
        "each edge is looked at 0.06 times in the mean, depth first 2.26 times": TESTED,
        "Predicted were 19 ms for a million lines of degree 3": PREDICTED,
        "Predicted were about 90 ms for the 18 grids together": PREDICTED,
        "Predicted were 40 to 55 ms for the 18 runs together": PREDICTED,
        "on the product of n = 300 16 times, and 276 times with n = 4000": TESTED,
        "The goal, 10 times as fast in the geometric mean, is met": GOAL,
        "Predicted were five barriers and one pass, 20 to 30 us at n = 300": PREDICTED,
        "beside some 100 us of the start": PREDICTED,
        "runs without it take 7.1 to 482 times as long": TESTED,
        "no repetition of 45 took more than 0.35 ms": TESTED,
        "On the device a call adds 43 to 51 us by seed in range 0.1n": TESTED,
        "ends at 138 us in range n": TESTED,
        "of range n, which ends at 138 us": TESTED,
        "which took 87 us, the other four": TESTED,
        "Predicted were 1.2 ms for a call at n = 1024": PREDICTED,
        "took 4.4 times as long as SciPy": TESTED,
        "Predicted was 1.7 times SciPy's time where it was 3.4": PREDICTED,
        "a process, by kind | 0.60 to 0.87 s": TESTED,
        "the longest took 0.98 s": TESTED,
        "batches had missed it, by 1.11 s": TESTED,
        "load in 0.03 s; by db74f41 on another machine they took 0.15 s": TESTED,
        "at most 8, 8, 3, 8, 20, 1.3 ms": GOAL,
        "the times here are 1.32 times those in the geometric mean": TESTED,
        "one of five runs of euclid, which took 8.03 ms": TESTED,
    },
}
"""Page -> words around a number -> why it is not measured."""


def prose(text):
    """A page's sentences and tables without what is made from records, code and links."""
    text = front.BLOCK.sub("", readme.ANSWER.sub("", readme.BLOCK.sub("", text)))
    text = values.MARK.sub("(a value)", text)
    text = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"`[^`\n]*`|\]\([^)]*\)|<!--.*?-->", "", text)
    return " ".join(text.split())


def typed(text, allowed=()):
    """The numbers of a page that look measured and do not stand in allowed words."""
    words = prose(text)
    for fragment in allowed:
        words = words.replace(fragment, "")
    return [words[max(0, m.start() - 60) : m.end() + 25] for m in MEASURED.finditer(words)]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_measured_numbers_come_from_records(path):
    allowed = ALLOWED.get(path.relative_to(ROOT).as_posix(), {})
    text = path.read_text(encoding="utf-8")
    assert typed(text, allowed) == []
    assert [words for words in allowed if words not in prose(text)] == [], "no longer needed"


def test_a_typed_number_is_found_and_what_a_mark_or_code_has_is_not():
    mark = "<!-- value: table1 min(x) n=8 -->1.25<!-- /value -->"
    for good in (f"It takes {mark} ms.", "`--timeout 5 s`", "n = 8192", "```\n5 ms\n```\n"):
        assert typed(good) == [], good
    for bad in (
        "It takes 1.25 ms.", "It takes 3 to 4 us a level.", "a third, 33 %", "2,000 times faster",
        f"{mark} ms, and 7 s beyond", "| step | 0.3 ms |", "2.96 TB/s",
    ):  # fmt: skip
        assert len(typed(bad)) == 1, bad
    assert typed("print has 3 s", ["print has 3 s"]) == []


def test_pages_without_marks_hold_no_marks_that_nobody_fills():
    """Marks stand in the pages that `reproduce readme` writes: those of papers with records."""
    filled = {
        path
        for name in (*package.PAPERS, "synthesis")
        for path in (ROOT / "papers" / name).rglob("*.md")
    }
    for path in PAGES:
        if path not in filled:
            text = re.sub(r"`[^`]*`", "", path.read_text(encoding="utf-8"))
            assert "<!-- value:" not in text, path
