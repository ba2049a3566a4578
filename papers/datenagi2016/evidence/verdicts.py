"""Comparisons of the tables and figures of [DN16] with print: counts, ratios, claims, times.

`judged` turns judges into the function that an experiment takes; a judge looks at the rows of one
source (this run, or a recorded one) that have both values. Times of the CPU executor are never
judged.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import pandas as pd

from papers.common.evidence import comparisons
from papers.common.evidence.comparisons import claim, gains, not_measured
from papers.common.evidence.judges import Judge, each, each_time, judged, rankings, without
from papers.common.model import Comparison
from papers.datenagi2016.evidence.tables import GPU, SHOWN

# ------------------------------------------------------------------------------- counts

SIGMAS = 3.0
OF_PRINT = 3
"""The number of instances behind each printed mean [DN16 sec.6.1]."""


def _tolerance(deviation: float, seeds: float, published: float) -> float:
    """Return the allowed distance, relative to print, of the means of two sets of instances."""
    return SIGMAS * deviation * math.sqrt(1 / OF_PRINT + 1 / seeds) / max(abs(published), 1e-9)


def _bands(rows: pd.DataFrame, source: str) -> Iterable[Comparison]:
    """Check Table 2's one instance against the range of ours, widened by three standard errors."""
    passes = rows[rows["counted_by"] != "dual update"]
    # A record from before passes were counted has dual updates only.
    shown = passes if (passes["counted_by"] == "forward pass").any() else rows
    for row in shown.itertuples(index=False):
        slack = max(SIGMAS * math.sqrt(row.mean), 0.015 * row.mean)
        far = max(row.min - row.published, row.published - row.max, 0.0)
        note = "the paper counts passes of its loop, of which a dual update begins several"
        yield claim(
            f"assignments, n={row.n} {row.band}", row.published, round(row.mean, 1),
            far <= slack, "count", note if row.counted_by == "dual update" else "",
        )  # fmt: skip


def _falling(rows: pd.DataFrame, source: str) -> Iterable[Comparison]:
    for n, column in rows[rows["counted_by"] != "dual update"].groupby("n"):
        values = list(column["mean"])
        falls = all(later <= earlier for earlier, later in pairwise(values))
        if len(values) > 1:
            yield claim(
                f"paths decrease with the iteration count, n={n}", "decrease",
                "decrease" if falls else "not in every band", falls,
                note="print itself rises once, from 10 to 22 at n = 5000" if n == 5000 else "",
            )  # fmt: skip


bands = judged("Table 2", "published", "mean", _bands, _falling)


def _sparser(rows: pd.DataFrame, source: str) -> Iterable[Comparison]:
    """Check that sparser zeros leave fewer initial assignments [DN16 sec.6.2]."""
    for n, column in rows.drop_duplicates(["n", "cost_range"]).groupby("n"):
        shares = dict(zip(column["cost_range"], column["measured"], strict=True))
        if len(shares) == 3:
            falls = shares["0.1n"] > shares["n"] > shares["10n"]
            found = " > ".join(f"{shares[label]:.0f}" for label in ("0.1n", "n", "10n"))
            yield claim(f"initial assignments fall with the range, n={n}", "fall", found, falls)


initial = judged(
    "initial assignments", "published", "measured",
    each("initial assignments, {table}, n={n} range {cost_range}", "published", "measured",
         lambda what, printed, ours, note: comparisons.count(what, printed, ours, 0.015, note)),
    _sparser,
)  # fmt: skip


def _objective(rows: pd.DataFrame, source: str) -> Iterable[Comparison]:
    for row in rows.itertuples(index=False):
        note = ""
        if row.cost_range == "10n":
            note = (
                f"DN1: print repeats the column of 0 to n; theory asks for {row.theory_low:.0f} to "
                f"{row.theory_high:.0f}, and the row minima alone add up to {row.row_minima:.0f}"
            )
        yield comparisons.count(
            f"objective, {row.table}, n={row.n} range {row.cost_range}",
            row.published, round(row.measured, 1),
            _tolerance(row.deviation, row.seeds, row.published), note,
        )  # fmt: skip


def _limits(rows: pd.DataFrame, source: str) -> Iterable[Comparison]:
    """Check that our own means lie within the bounds of theory, which hold from n = 500 on."""
    rows = rows[(rows["n"] >= 500) & (rows["cost_range"] != "0.1n")]
    for row in rows.drop_duplicates(["n", "cost_range"]).itertuples(index=False):
        slack = SIGMAS * row.deviation / math.sqrt(row.seeds)
        inside = row.theory_low - slack <= row.measured <= row.theory_high + slack
        yield comparisons.correct(
            f"mean objective beside theory, n={row.n} range {row.cost_range}",
            f"{row.theory_low:.0f} to {row.theory_high:.0f}, give or take {slack:.0f}",
            round(row.measured, 1), inside,
        )  # fmt: skip


_printed_objectives = judged("objectives", "published", "measured", _objective)


def objectives(table: pd.DataFrame) -> list[Comparison]:
    """Compare print with ours, and ours with theory."""
    ours = table.dropna(subset=["measured"]) if not table.empty else table
    found = _printed_objectives(table)
    for source, rows in ours.groupby("source", sort=False) if not ours.empty else ():
        found += _limits(rows, str(source))
    return found


def counts(table: pd.DataFrame) -> list[Comparison]:
    """Check that all solvers share cost, initial assignments and number of dual updates."""
    found = []
    for (source, n, label), rows in table.groupby(["source", "n", "cost_range"], sort=False):
        solvers = " ".join(rows["solver"])
        alike, instances = int(rows["alike"].sum()), int(rows["instances"].sum())
        found.append(
            comparisons.correct(
                f"cost, initial assignments, dual updates of {solvers}: n={n} range {label} "
                f"", instances, alike, alike == instances,
            )
        )  # fmt: skip
    return found or not_measured("costs, initial assignments, dual updates", "correctness")


# ------------------------------------------------------------------------------- Table 1, Figure 2

TOTALS = ("published_s", "total_s")


def _wide(rows: pd.DataFrame, keys: list[str]) -> Iterable[tuple[Any, dict, dict]]:
    """Yield key, printed and measured totals by solver, of one source."""
    for key, group in rows.groupby(keys, sort=False):
        names = list(group["solver"])
        yield key, *(dict(zip(names, group[column], strict=True)) for column in TOTALS)


def _fewer_threads(rows: pd.DataFrame, slow: str, fast: str) -> comparisons.Note:
    """Return the note on OMP-8's ratios for a machine with fewer than eight cores."""
    count = rows.loc[rows["solver"] == "OMP-8", "threads"].min()
    if "OMP-8" not in (slow, fast) or not count < 8:
        return ""
    text = f"{count:.0f} threads here, 8 in print"
    return comparisons.if_larger(text) if slow == "OMP-8" else comparisons.if_smaller(text)


def _ratios(what: str, keys: list[str]) -> Judge:
    """Compare one code's time over another's, redone on one machine."""

    def judge(rows: pd.DataFrame, source: str) -> Iterable[Comparison]:
        for slow, fast in (("OMP-1", "OMP-8"), ("OMP-8", "CU-CLASS"), ("CU-TREE", "CU-CLASS")):
            for key, printed, ours in _wide(rows, keys):
                if not {slow, fast} <= {*printed}:
                    continue
                fell = {name: printed[name] / ours[name] for name in (slow, fast)}
                moved = gains(fell[fast], fell[slow], f"{fast}'s time", f"{slow}'s")
                yield comparisons.ratio(
                    f"{slow} over {fast}: {what.format(*key)}",
                    printed[slow] / printed[fast], ours[slow] / ours[fast],
note=comparisons.either(_fewer_threads(rows, slow, fast), moved),
                )  # fmt: skip

    return judge


def _small_claims(rows: pd.DataFrame, source: str) -> Iterable[Comparison]:
    """Judge the claims of [DN16 sec.6.1] about Table 1; DN2 and DN3 note where the two differ."""
    sizes = {n[0]: ours for n, _, ours in _wide(rows, ["n"]) if len(ours) == 4}
    if not sizes:
        return
    classical = [n for n, t in sizes.items() if t["CU-CLASS"] < t["CU-TREE"]]
    yield claim(
        f"classical faster than tree on small instances", "all sizes (7 of 10 in print)",
        f"{len(classical)} of {len(sizes)}", 2 * len(classical) > len(sizes),
        note="DN2, DN4: Tables 1 and 3 of print contradict the text and one another",
    )  # fmt: skip
    cuda = [n for n, t in sizes.items() if max(t[name] for name in GPU) < t["OMP-8"]]
    later = [n for n in sizes if n >= 2000]
    yield claim(
        f"both CUDA codes faster than OMP-8", "all sizes (from 2000 in print)",
        f"{len(cuda)} of {len(sizes)}", bool(later) and set(later) <= set(cuda),
        note="DN3: print has OMP-8 ahead up to n = 1500",
    )  # fmt: skip
    ahead = [n for n, t in sizes.items() if min(t[name] for name in GPU) < t["OMP-1"]]
    if ahead:
        yield comparisons.ratio(f"smallest n at which CUDA beats one thread", 1500, min(ahead))


run_times = judged(
    "times of Table 1", *TOTALS,
    _ratios("n={}", ["n"]), _small_claims,
    each_time("{solver}, s: n={n}", *TOTALS),
)  # fmt: skip

# ------------------------------------------------------------------------------- Table 3, Figure 3


def _large_claims(rows: pd.DataFrame, source: str) -> Iterable[Comparison]:
    """Judge the claims of [DN16 sec.6.2] about Table 3."""
    for (n, label), printed, ours in _wide(rows, ["n", "cost_range"]):
        if len(ours) < 3:
            continue
        theirs, mine = (dict(sorted(times.items())) for times in (printed, ours))
        what = f"order of the codes, n={n} range {label}"
        yield comparisons.ranking(what, theirs, mine, 0.1)
    classical = rows[(rows["solver"] == "CU-CLASS") & (rows["cost_range"] == "10n")]
    for row in classical[classical["n"] >= 15000].itertuples(index=False):
        larger = row.matrix_compression_s > max(row.forward_pass_s, row.dual_update_s)
        share = row.matrix_compression_s / row.total_s
        yield claim(
            f"matrix compression is the bottleneck, n={row.n} range 10n", "largest step",
            f"{100 * share:.0f} % of the run", larger,
            note="" if larger else _compression_note(row),
        )  # fmt: skip


def _compression_note(row: Any) -> str:
    """Return the note on compression if it gained more than the forward pass did."""
    ours = row.published_matrix_compression_s / row.matrix_compression_s
    other = row.published_forward_pass_s / row.forward_pass_s
    if not ours > other > 1:
        return ""
    return f"it fell {ours:.3g} times below print, the forward pass {other:.3g} times"


def _steps(rows: pd.DataFrame, source: str) -> Iterable[Comparison]:
    for step in SHOWN:
        pair = (f"published_{step}_s", f"{step}_s")
        judge = each_time(f"{{solver}} {step}, s: n={{n}} range {{cost_range}}", *pair)
        yield from judge(rows.dropna(subset=[*pair]), source)


def step_times(table: pd.DataFrame) -> list[Comparison]:
    """Compare ratios and claims on print's times, host to host if we have that; then the times."""
    if not table.empty:
        table = table.assign(
            published_s=table["published_total_s"],
            total_s=table["end_to_end_s"].fillna(table["total_s"]),
            run_s=table["total_s"],
        )
    return judged(
        "times of Table 3", *TOTALS,
        _ratios("n={} range {}", ["n", "cost_range"]), _large_claims,
        each_time("{solver} total, s: n={n} range {cost_range}", *TOTALS),
        _steps,
    )(table)  # fmt: skip


_OF_THREE = ("published_share_of_three_pct", "share_of_three_pct")
step_shares = judged(
    "shares of the steps", "published_share_pct", "share_pct",
    without(rankings("order of the steps, {} range {}", *_OF_THREE, "step",
                     ["solver", "cost_range"], 0.25), "step", "other"),
    without(each("share of {step} in the three steps, {solver} range {cost_range}", *_OF_THREE,
                 comparisons.share), "step", "other"),
)  # fmt: skip

# ------------------------------------------------------------------------------- our own


def _limit_note(row: Any) -> comparisons.Note:
    return comparisons.if_larger(
        f"print stores the costs and the adjacency list of the zeros; ours needs "
        f"{row.over_costs:.2g} of the costs besides them"
    )


memory = judged(
    "largest n on 6 GB", "published_limit_6gb", "largest_n_6gb",
    each("largest n on 6 GB: {solver} range {cost_range}", "published_limit_6gb", "largest_n_6gb",
         lambda what, printed, ours, note: comparisons.ratio(what, printed, ours, 1.25, note),
         _limit_note),
)  # fmt: skip


def large(table: pd.DataFrame) -> list[Comparison]:
    """Check that the largest instance is solved and proved, and costs what theory predicts."""
    found = []
    for row in table.itertuples(index=False) if not table.empty else ():
        proved = row.certificate == "lp-duals"
        inside = 0.98 * row.theory_low <= row.cost <= 1.02 * row.theory_high
        found += [
            comparisons.correct(
                f"proof at n={row.n}", "lp-duals", row.certificate, proved
            ),
            comparisons.correct(
                f"objective beside theory, n={row.n}",
                f"{row.theory_low:.0f} to {row.theory_high:.0f}, within 2 %", row.cost, inside,
            ),
        ]  # fmt: skip
    return found or not_measured("n = 70000 on a GPU of 80 GB", "correctness")


def doubles(table: pd.DataFrame) -> list[Comparison]:
    """Check that both variants prove their answers on doubles, at the same cost."""
    found = []
    for row in table.itertuples(index=False) if not table.empty else ():
        found.append(
            comparisons.correct(
                f"proof of {row.solver} on doubles in {row.cost_range}, n={row.n}",
                "lp-duals", row.certificate, row.certificate == "lp-duals",
            )
        )  # fmt: skip
    for key, rows in table.groupby(["source", "n"]) if not table.empty else ():
        spread = float(rows["cost"].max() - rows["cost"].min())
        limit = 1e-9 * float(rows["cost"].max())
        found.append(
            comparisons.correct(
                f"costs of the two variants on doubles, n={key[1]}",
                f"at most {limit:.2g} apart", spread, len(rows) > 1 and spread <= limit,
            )
        )  # fmt: skip
    return found or not_measured("doubles", "correctness")


AUTHORS_CELLS = 27
"""The number of cells for each variant: nine sizes by three ranges."""


def authors(table: pd.DataFrame) -> list[Comparison]:
    """Check our goal: half the authors' time in the geometric mean, and no cell slower."""
    found = []
    for (source, name), rows in table.groupby(["source", "solver"], sort=False):
        if len(rows) < AUTHORS_CELLS or not rows["device"].str.contains("H100").all():
            continue
        what = f"{name}, our time over the authors'"
        found += comparisons.goal(what, str(source), rows["ours_over_authors"], 0.5, 1.0)
    return found or not_measured("our time over the authors': all 27 cells, an H100", "correctness")
