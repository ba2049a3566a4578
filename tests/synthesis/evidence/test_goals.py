"""What the page says of goals that are met and missed, beside the verdicts of the record."""

import math
import re
from pathlib import Path

import pandas as pd

import papers
from papers.reproduce.report import front
from papers.synthesis.evidence import batches, calls, families

HOME = Path(papers.__file__).parent / "synthesis"
RECORD = HOME / "results/nvidia-h200/measurements.csv.gz"
PAGE = " ".join((HOME / "RESULTS.md").read_text(encoding="utf-8").split())
CHANGELOG = " ".join((Path(papers.__file__).parents[1] / "CHANGELOG.md").read_text().split())

MISSED: dict[str, str] = {}
"""Goals that the whole interval misses, and the words that say so."""

CROSSED = {
    "the call over SciPy's, worst of real matrices, original":
        "crossed by a [single run](#matchings) on a graph of 32 rows",
    "microseconds that linear_sum_assignment(on_device) adds to synthesis:dense, run, n=64":
        "crossed by the interval of range n, which ends at 138 us",
    "ms of synthesis:dense, euclid n=2000":
        "crossed by one of five runs of euclid, which took 8.03 ms",
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
    by_time: dict[float, list[str]] = {}
    for (label, n), most in families.HARD.items():
        by_time.setdefault(most, []).append(f"{label} {n}")
    assert {most: sorted(names) for most, names in by_time.items()} == {
        8.0: ["clustered 1000", "colour_coffee_astronaut 1000", "euclid 2000"],
        3.0: ["lowrank 1000"], 20.0: ["clustered 2000"], 1.3: ["product 300"],
    }  # fmt: skip
    assert (
        "it should take at most 8 ms (`colour_coffee_astronaut`, `clustered` of n = 1000, `euclid` "
        "of n = 2000), 3 ms (`lowrank`, n = 1000), 20 ms (`clustered`, n = 2000) and 1.3 ms"
        in readme
    )


def test_the_page_says_which_goals_the_record_misses_and_no_other():
    goals = [item for _, item in front._comparisons("synthesis") if item.kind == "goal"]
    failed = [item for item in goals if item.verdict != "holds"]
    assert len(failed) == 3
    said = f"{len(goals) - 3} of the {len(goals)} goals are met by whole intervals, among them all"
    assert said in CHANGELOG
    assert (
        "three are crossed by a single run or the end of an interval: a graph of 32 rows, `euclid` "
        "of n = 2000 (8.03 ms of 8), and what a call on the device that chooses for itself adds at "
        "n = 64 in range n (138 us of 100)" in CHANGELOG
    )
    euclid = (
        pd.read_csv(RECORD, low_memory=False)
        .query(
            "solver == 'synthesis:dense' and label == 'euclid' and n == 2000 and scope == 'run'"
            " and metric == 'time_ms' and family == 'structured'"
        )["value"]
        .astype(float)
    )
    assert len(euclid) == 5
    assert (euclid > families.HARD["euclid", 2000]).sum() == 1
    assert f"crossed by one of five runs of euclid, which took {euclid.max():.2f} ms |" in PAGE
    beside = ("hylac-classical", "the best peer", "the peer's time", "ECL-MM")
    met = [item for item in goals if any(name in item.quantity for name in beside)]
    assert len(met) > 40
    assert {item.verdict for item in met} == {"holds"}
    crossed = {item.quantity: item for item in failed if item.remark}
    assert set(crossed) == set(CROSSED)
    by_itself = next(item for item in failed if "(on_device)" in item.quantity)
    assert f"{by_itself.high:.0f}" == "138"
    assert by_itself.note == "worst range n"
    assert {item.quantity for item in failed} - set(crossed) == set(MISSED)
    assert [words for words in (*MISSED.values(), *CROSSED.values()) if words not in PAGE] == []
    worst = [item.note for item in failed if item.quantity.startswith("the call over SciPy's")]
    assert [str(note).split()[0] for note in worst] == ["hangGlider_2"]
    worst, on_all = (
        next(item for item in goals if item.quantity.endswith(f"estimated, {words}"))
        for words in ("worst of the real grids", "all real grids")
    )
    assert worst.verdict == "holds"
    assert f"The worst grid is `{str(worst.note).split()[0]}`." in PAGE
    span = f"({on_all.measured:.3f}, interval {on_all.low:.3f} to {on_all.high:.3f})"
    assert f"{span} are met by whole intervals, as they are beside PyMaxflow" in PAGE
    assert on_all.verdict == "holds"
    for words in (
        "The goal, 10 times as fast in the geometric mean, is met by the whole interval;",
        "of it (goal: below 1).",
        "The goal, three times in every batch, is met by every interval.",
        "(goal: 3, which the whole interval of the worst cell meets).",
    ):
        assert words in PAGE


TABLE = {
    "uniform costs": ("synthesis:dense, .* of 15 cells",),
    "the same beside lapx": ("over the better of lapx's",),
    "points, clusters": ("best peer, (euclid|clustered|lowrank|hidden|two) n=",),
    "a colour matrix": ("best peer, colour_coffee_astronaut",),
    "six matrices": ("ms of synthesis:dense",),
    "a product": ("best peer, product n=300",),
    "weights of a sparse graph": ("best peer, lcsh2wiki",),
    "OR-Library's `assign100`": ("assign100",),
    "six families of floats": ("(normal|distances|ties|two_values|few_pairs) n=2000",),
    "a rectangle, 1000 x 3000": ("1000x3000",),
    "a rectangle, 3 x 7000": ("3x7000",),
    "batches": ("the peer's time (of an earlier day )?over a run's",),
    "10,000 matrices": ("10000 of 30 a side",),
    "what a call adds": (r"\(cost, solver='synthesis:dense'\)",),
    "the same, costs on the device": (r"\(on_device, .*synthesis:dense, run",),
    "the same, the solver by its own choice": (r"\(on_device\) .*synthesis:dense, run",),
    "`maximum_bipartite_matching`": ("the call over SciPy's",),
    "ECL-MM's three graphs": ("over ECL-MM's",),
    "`grid_cut`": ("(better|best) .*real grids",),
}
"""The beginnings of the first table's lines, and the goals that each of them is of."""


def test_the_first_table_s_verdicts_are_the_record_s():
    goals = [item for _, item in front._comparisons("synthesis") if item.kind == "goal"]
    page = (HOME / "RESULTS.md").read_text(encoding="utf-8")
    page = re.sub(r"<!--.*?-->", "", page[: page.index("## Where the numbers come from")])
    lines = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| ")]
    told = {re.sub(r"\[(.*?)\]\(.*?\)", r"\1", first): last for first, *_, last in lines[2:]}
    assert len(told) == len(TABLE) + 2  # first calls, of another test, and what is certified
    assert ": met" in next(last for first, last in told.items() if first.startswith("n = 100,000"))
    runs = pd.read_csv(RECORD, low_memory=False).query(
        "n == 100000 and solver == 'synthesis:dense'"
    )
    assert set(runs["label"]) == {"0.1n", "n", "10n"}
    assert (runs["status"] == "ok").all()
    assert set(runs["certificate"]) == {"lp-duals"}
    for begin, patterns in TABLE.items():
        (verdict,) = (last for first, last in told.items() if first.startswith(begin))
        mine = [item for item in goals if any(re.search(one, item.quantity) for one in patterns)]
        assert mine, begin
        met = all(item.verdict == "holds" for item in mine)
        assert met == (": met" in verdict), begin
        fault = ": missed" if any(item.quantity in MISSED for item in mine) else ": crossed"
        assert met != (fault in verdict), begin
        bounds = {round(bound, 6) for item in mine for bound in item.accept if math.isfinite(bound)}
        named = re.sub(r"\[(.*?)\]\(.*?\)", r"\1", verdict).split(":")[0]
        assert set(map(float, re.findall(r"\d+(?:\.\d+)?", named))) <= bounds, begin
