"""What the page says of goals that are met and missed, beside the verdicts of the record."""

from pathlib import Path

import papers
from papers.reproduce.report import front
from papers.synthesis.evidence import batches, calls, families

HOME = Path(papers.__file__).parent / "synthesis"
PAGE = " ".join((HOME / "RESULTS.md").read_text(encoding="utf-8").split())
CHANGELOG = " ".join((Path(papers.__file__).parents[1] / "CHANGELOG.md").read_text().split())

MISSED: dict[str, str] = {}
"""Goals that the whole interval misses, and the words that say so."""

CROSSED = {
    "microseconds that linear_sum_assignment(on_device, solver='synthesis:dense') adds to "
    "synthesis:dense, run, n=64": "(goal: at most 100, which [one seed](#the-call) crosses)",
    **{
        f"the call over SciPy's, worst of real matrices, {ordering}":
            "which has 32 rows (goal: at most 2, crossed in both orders)."
        for ordering in ("original", "permuted")
    },
}  # fmt: skip
"""Goals that lie within the interval, and the words that say so."""


def test_the_readme_has_the_bounds_of_the_code():
    readme = " ".join((HOME / "README.md").read_text(encoding="utf-8").split())
    bounds = {
        name: {one.most_us for one in calls.BESIDE if one.call == f"synthesis:{name}"} - {None}
        for name in ("call_dense", "call_dense_device", "call_scipy", "call_cpu")
    }
    (host,), (there,), (scipy,), (cpu,) = bounds.values()
    assert scipy == cpu
    for words in (
        f"of 30 a side within {batches.MOST_END_TO_END_MS:.0f} ms from host to host.",
        f"best peer's time where that is over {families.LONG_MS:.0f} ms,",
        f"a call adds at most {host:.0f} us to a run of `synthesis:dense` from the host and "
        f"{there:.0f} us on the device, and {scipy:.0f} us to SciPy.",
    ):
        assert words in readme
    assert families.SHARE == 0.1


def test_the_page_says_which_goals_the_record_misses_and_no_other():
    goals = [item for _, item in front._comparisons("synthesis") if item.kind == "goal"]
    failed = [item for item in goals if item.verdict != "holds"]
    assert len(failed) == 3
    assert f"three of the {len(goals)} goals are crossed, none is missed, and all" in CHANGELOG
    crossed = {item.quantity: item for item in failed if item.remark}
    assert set(crossed) == set(CROSSED)
    assert {item.quantity for item in failed} - set(crossed) == set(MISSED)
    assert [words for words in (*MISSED.values(), *CROSSED.values()) if words not in PAGE] == []
    worst = [item.note for item in failed if item.quantity.startswith("the call over SciPy's")]
    assert [str(note).split()[0] for note in worst] == ["Hamrle1", "Hamrle1"]
    for words in ("worst of the real grids", "all real grids"):
        (item,) = [item for item in goals if item.quantity.endswith(f"estimated, {words}")]
        assert item.verdict == "holds"
        if words.startswith("worst"):
            assert f"the worst grid is `{str(item.note).split()[0]}`." in PAGE
    for words in (
        "The goal, 10, is met by the whole interval;",
        "(goal: at most 300).",
        "(goal: at most 20).",
        "of it (goal: below 1).",
        "The goal, three times in every batch, is met by every interval;",
        "(goal: at most 0.2, met by the whole intervals;",
        "(goal: 3, which the whole interval of the worst cell meets).",
    ):
        assert words in PAGE
