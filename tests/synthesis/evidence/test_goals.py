"""What the page says of goals that are met and missed, beside the verdicts of the record."""

from pathlib import Path

import papers
from papers.reproduce.report import front

PAGE = " ".join(
    (Path(papers.__file__).parent / "synthesis/RESULTS.md").read_text(encoding="utf-8").split()
)

MISSED = {
    "synthesis:dense over the best peer, product n=300": "times as slow as LAP1015 on one core",
    "microseconds that linear_sum_assignment(on_device, solver='synthesis:dense') adds to "
    "synthesis:dense, run, n=64": "us (goal 100, missed on this host).",
    "a run over ECL-MM's, uniform_n100000_d4": "of ECL-MM's (goal 0.2, missed)",
    "a run over ECL-MM's, uniform_n1000000_d3": "of ECL-MM's (goal 0.2, missed)",
    "a run over ECL-MM's, skew_n1000000_d8": "of ECL-MM's (goal 0.2, missed)",
}  # fmt: skip
"""Goals that the whole interval misses, and the words that say so."""

CROSSED = {
    "synthesis:dense over the best peer, assign100 n=100": "an interval on both sides of 1.",
    "the peer's time over a run's, 1000 of 32 a side, range n":
        "is crossed by the intervals of two, of 32 a side in range n and of 100 a side in range "
        "10n, and met by the whole interval of every other one.",
    "the peer's time over a run's, 500 of 100 a side, range 10n":
        "of 100 a side in range 10n, and met by the whole interval of every other one.",
    "microseconds that linear_sum_assignment(cost, solver='synthesis:dense') adds to "
    "synthesis:dense, run, n=64": "(goal 300, which the interval of range n crosses).",
    "the call over SciPy's, worst of real matrices, original":
        "(goal 2, which the intervals of that one, `rgg_n_2_15_s0`, and of `ash219`, its rows and "
        "columns permuted, cross);",
    "the call over SciPy's, worst of real matrices, permuted":
        "and of `ash219`, its rows and columns permuted, cross);",
    "the call over better codes for one core, estimated, worst of the real grids":
        "the goal on all together is met, and the interval of the worst crosses its goal.",
}  # fmt: skip
"""Goals that lie within the interval, and the words that say so."""


def test_the_page_says_which_goals_the_record_misses_and_no_other():
    goals = [item for _, item in front._comparisons("synthesis") if item.kind == "goal"]
    failed = [item for item in goals if item.verdict != "holds"]
    assert len(goals) - len(failed) > 40
    crossed = {item.quantity: item for item in failed if item.remark}
    assert set(crossed) == set(CROSSED)
    assert {item.quantity for item in failed} - set(crossed) == set(MISSED)
    assert [words for words in (*MISSED.values(), *CROSSED.values()) if words not in PAGE] == []
    noted = [
        crossed[what] for what in CROSSED if what.startswith(("microseconds", "the call over S"))
    ]
    for item, word in zip(noted, ("worst range n", "rgg_n_2_15_s0", "ash219"), strict=True):
        assert word in str(item.note)
    (worst,) = [item for what, item in crossed.items() if "estimated, worst of" in what]
    assert f"the interval of the worst, `{str(worst.note).split()[0]}`, crosses half." in PAGE
    (whole,) = [item for item in goals if "estimated, all real grids" in item.quantity]
    assert whole.verdict == "holds"
    for words in (
        "The goal, 10, is met by the whole interval;",
        "(goal 20).",
        "(goal 3, which the whole interval of the worst cell meets).",
    ):
        assert words in PAGE
