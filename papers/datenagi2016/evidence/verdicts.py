"""Comparisons of the tables and figures of [DN16] with print: counts, ratios, claims, times.

`judged` turns judges into the function that an experiment takes; a judge looks at the rows of one
source (this run, or a recorded one) that have both values. Times of the CPU executor are never
judged.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from papers.common.evidence import cards, comparisons
from papers.common.evidence.comparisons import claim, not_measured
from papers.common.evidence.judges import Judge, each, each_time, judged, rankings, without
from papers.common.model import Cause, Comparison
from papers.datenagi2016.evidence.card import causes
from papers.datenagi2016.evidence.card.prices import FIGURES, NEXT, SECONDS
from papers.datenagi2016.evidence.tables import SHOWN

# ------------------------------------------------------------------------------- counts

SIGMAS = 3.0
OF_PRINT = 3
"""The number of instances behind each printed mean [DN16 sec.6.1]."""


def _tolerance(deviation: float, seeds: float, published: float) -> float:
    """Return the allowed distance, relative to print, of the means of two sets of instances."""
    return SIGMAS * deviation * math.sqrt(1 / OF_PRINT + 1 / seeds) / max(abs(published), 1e-9)


def _bands(rows: pd.DataFrame, source: str) -> Iterable[Comparison]:
    """Check Table 2's one instance against the range of ours, widened by three standard errors."""
    for row in rows[rows["counted_by"].isin(["", "forward pass"])].itertuples(index=False):
        slack = max(SIGMAS * math.sqrt(row.mean), 0.015 * row.mean)
        far = max(row.min - row.published, row.published - row.max, 0.0)
        yield claim(
            f"assignments, n={row.n} {row.band}", row.published, round(row.mean, 1), far <= slack,
            f"from {row.min - slack:.0f} to {row.max + slack:.0f}: our instances and three errors",
            kind="count",
        )  # fmt: skip


def _falling(rows: pd.DataFrame, source: str) -> Iterable[Comparison]:
    for n, column in rows[rows["counted_by"].isin(["", "forward pass"])].groupby("n"):
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
         partial(comparisons.count, tolerance=0.015)),
    _sparser,
)  # fmt: skip


def _repeated_column(row: Any) -> Cause | None:
    """Return the measured cause of DN1: our means are the ones that theory asks for."""
    if row.cost_range != "10n" or row.n < ASYMPTOTIC:
        return None
    slack = SIGMAS * row.deviation / math.sqrt(row.seeds)
    return Cause(
        "datenagi2016:objectives", row.theory_low - slack, row.theory_high + slack,
        f"DN1: print repeats the column of 0 to n; theory asks for {row.theory_low:.0f} to "
        f"{row.theory_high:.0f}, and the row minima alone add up to {row.row_minima:.0f}",
    )  # fmt: skip


def _objective(rows: pd.DataFrame, source: str) -> Iterable[Comparison]:
    for row in rows.itertuples(index=False):
        yield comparisons.count(
            f"objective, {row.table}, n={row.n} range {row.cost_range}",
            row.published, round(row.measured, 1),
            _tolerance(row.deviation, row.seeds, row.published), cause=_repeated_column(row),
        )  # fmt: skip


ASYMPTOTIC = 500
"""From this order on the bounds of theory hold."""


def _limits(rows: pd.DataFrame) -> Iterable[Comparison]:
    """Check that our own means lie within the bounds of theory."""
    rows = rows[(rows["n"] >= ASYMPTOTIC) & (rows["cost_range"] != "0.1n")]
    for row in rows.drop_duplicates(["n", "cost_range"]).itertuples(index=False):
        slack = SIGMAS * row.deviation / math.sqrt(row.seeds)
        yield comparisons.predicted(
            f"mean objective beside theory, n={row.n} range {row.cost_range}",
            row.theory_low - slack, row.theory_high + slack, round(row.measured, 1),
        )  # fmt: skip


_printed_objectives = judged("objectives", "published", "measured", _objective)


def objectives(table: pd.DataFrame) -> list[Comparison]:
    """Compare print with ours, and ours with theory."""
    ours = table.dropna(subset=["measured"]) if not table.empty else table
    found = _printed_objectives(table)
    for _, rows in ours.groupby("source", sort=False) if not ours.empty else ():
        found += _limits(rows)
    return found


def counts(table: pd.DataFrame) -> list[Comparison]:
    """Check that all solvers share cost, initial assignments and number of dual updates."""
    found = []
    for (_, n, label), rows in table.groupby(["source", "n", "cost_range"], sort=False):
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


def _fewer_threads(row: Any) -> comparisons.Note:
    """Return the note on OMP-8's ratios for a machine with fewer than eight cores."""
    if row.solver != "OMP-8" or not row.threads < 8:
        return ""
    return comparisons.if_larger(f"{row.threads:.0f} threads here, 8 in print")


def _ratios(what: str) -> Judge:
    """Compare one code's time over another's, redone on one machine on the same instances."""
    judge = each(
        f"{{solver}} over {{over}}: {what}", "published_over", "measured_over",
        note=_fewer_threads, cause=causes.of_ratio,
    )  # fmt: skip
    return lambda rows, source: judge(rows.dropna(subset=["measured_over"]), source)


def _by_size(rows: pd.DataFrame, column: str = "measured_over") -> pd.DataFrame:
    """Return the paired ratios of Table 1, a row a size that all four codes have solved."""
    wide = rows.pivot_table(index="n", columns="solver", values=column, observed=True)
    wide = wide.reindex(columns=["OMP-1", "OMP-8", "CU-TREE"]).dropna()
    both = wide["OMP-8"], wide["OMP-8"] / wide["CU-TREE"]
    return wide.assign(slower_cuda=pd.concat(both, axis=1).min(axis=1))


def _small_claims(rows: pd.DataFrame, source: str) -> Iterable[Comparison]:
    """Judge the claims of [DN16 sec.6.1] about Table 1; DN2 and DN3 note where the two differ."""
    sizes = _by_size(rows)
    if sizes.empty:
        return
    known = {name for name in FIGURES if name in rows and rows[name].notna().any()}
    others = [_by_size(rows, name) if name in {"published_over", *known} else None
              for name in ("published_over", *FIGURES)]  # fmt: skip
    yield comparisons.signs(
        "classical faster than tree on small instances", "all sizes (7 of 10 in print)",
        int((sizes["CU-TREE"] > 1).sum()), len(sizes), 0.5,
        note="DN2, DN4: Tables 1 and 3 of print contradict the text and one another",
    )  # fmt: skip
    least = _least_later(sizes)
    if least is not None:
        yield comparisons.effect(
            "OMP-8 over the slower CUDA code from n = 2000 on, the least",
            "faster at all sizes (from 2000 in print)", round(least, 3),
            at_least=comparisons.EFFECT, note="DN3: print has OMP-8 ahead up to n = 1500",
            cause=causes.of_bound(_of_all(others, _least_later), at_least=comparisons.EFFECT),
        )  # fmt: skip
    ahead = _first_ahead(sizes)
    if ahead is not None:
        found = _of_all(others, _first_ahead)
        yield comparisons.ratio(
            "smallest n at which CUDA beats one thread", 1500, int(ahead),
            cause=causes.of_size(found, comparisons.FACTOR),
        )  # fmt: skip


def _least_later(sizes: pd.DataFrame) -> float | None:
    """Return OMP-8's least time over the slower CUDA code's from n = 2000 on."""
    later = sizes[sizes.index >= 2000]
    return float(later["slower_cuda"].min()) if len(later) else None


def _first_ahead(sizes: pd.DataFrame) -> float | None:
    """Return the least n at which a CUDA code beats one thread."""
    one_thread = sizes["OMP-1"] * sizes["OMP-8"] / sizes["CU-TREE"].clip(upper=1)
    ahead = sizes.index[one_thread > 1]
    return float(min(ahead)) if len(ahead) else None


def _of_all(
    tables: list[pd.DataFrame | None], figure: Callable[[pd.DataFrame], float | None]
) -> tuple[Any, Any, Any]:
    """Return a figure of print's ratios and of those of both models; None where there are none."""
    first, second, third = (None if table is None or table.empty else figure(table)
                            for table in tables)  # fmt: skip
    return first, second, third


run_times = judged(
    "times of Table 1", *TOTALS,
    _ratios("n={n}"), _small_claims,
    each_time("{solver}, s: n={n}", *TOTALS),
)  # fmt: skip

# ------------------------------------------------------------------------------- Table 3, Figure 3


CODES_SLACK = 0.1
"""The gap below which two codes are not ranked."""


def _large_claims(rows: pd.DataFrame, source: str) -> Iterable[Comparison]:
    """Judge the claims of [DN16 sec.6.2] about Table 3, on the instances that all codes solved."""
    for (n, label), group in rows.dropna(subset=["shared_s"]).groupby(["n", "cost_range"]):
        if len(group) < 3:
            continue
        printed, ours = (
            dict(sorted(zip(group["solver"], group[column], strict=True)))
            for column in ("published_s", "shared_s")
        )
        found = causes.of_order(group, "solver", "published_s", SECONDS, CODES_SLACK)
        yield comparisons.ranking(
            f"order of the codes, n={n} range {label}", printed, ours, CODES_SLACK, cause=found
        )
    classical = rows[(rows["solver"] == "CU-CLASS") & (rows["cost_range"] == "10n")]
    for row in classical[classical["n"] >= 15000].itertuples(index=False):
        second = max(row.forward_pass_s, row.dual_update_s)
        yield comparisons.effect(
            f"matrix compression over the next step, n={row.n} range 10n",
            "the bottleneck", round(row.matrix_compression_s / second, 3), at_least=1.0,
            cause=_of_bottleneck(row),
        )  # fmt: skip


def _of_bottleneck(row: Any) -> Cause | None:
    """Return the cause of another step's being the bottleneck."""
    printed = row.published_matrix_compression_s / max(
        row.published_forward_pass_s, row.published_dual_update_s
    )
    _, *models = cards.figures_of(row, "n", *NEXT)
    return causes.of_bound((printed, *models), at_least=1.0)


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
        _ratios("n={n} range {cost_range}"), _large_claims,
        each_time("{solver} total, s: n={n} range {cost_range}", *TOTALS),
        _steps,
    )(table)  # fmt: skip


_OF_THREE = ("published_share_of_three_pct", "share_of_three_pct")
step_shares = judged(
    "shares of the steps", "published_share_pct", "share_pct",
    without(rankings("order of the steps, {} range {}", *_OF_THREE, "step",
                     ["solver", "cost_range"], causes.STEPS_SLACK, cause=causes.of_steps),
            "step", "other"),
    without(each("share of {step} in the three steps, {solver} range {cost_range}", *_OF_THREE,
                 comparisons.share, cause=causes.of_share), "step", "other"),
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
         partial(comparisons.ratio, factor=1.25),
         _limit_note),
)  # fmt: skip


def large(table: pd.DataFrame) -> list[Comparison]:
    """Check that the largest instance is solved and proved, and costs what theory predicts."""
    found = []
    for row in table.itertuples(index=False) if not table.empty else ():
        proved = row.certificate == "lp-duals"
        found += [
            comparisons.correct(
                f"proof at n={row.n}", "lp-duals", row.certificate, proved
            ),
            comparisons.predicted(
                f"objective beside theory, n={row.n}", 0.98 * row.theory_low,
                1.02 * row.theory_high, row.cost,
            ),
        ]  # fmt: skip
    return found or not_measured("n = 70000 on a GPU of 80 GB", "correctness")


def doubles(table: pd.DataFrame) -> list[Comparison]:
    """Check that each answer on doubles is proved, and both variants' costs of one matrix equal."""
    found = []
    for row in table.itertuples(index=False) if not table.empty else ():
        found.append(
            comparisons.correct(
                f"proof of {row.solver} on doubles in {row.cost_range}, n={row.n}, "
                f"seed {row.seed}",
                "lp-duals", row.certificate, row.certificate == "lp-duals",
            )
        )  # fmt: skip
    matrix = ["source", "device", "n", "cost_range", "seed"]
    for (_, _, n, _, seed), rows in table.groupby(matrix) if not table.empty else ():
        if rows["solver"].nunique() < 2:
            continue  # The largest size has one variant by plan.
        spread = float(rows["cost"].max() - rows["cost"].min())
        limit = 1e-9 * float(rows["cost"].max())
        found.append(
            comparisons.correct(
                f"costs of the two variants on doubles, n={n}, seed {seed}",
                f"at most {limit:.2g} apart", spread, spread <= limit,
            )
        )  # fmt: skip
    return found or not_measured("doubles", "correctness")


AUTHORS_CELLS = {"NVIDIA H100 80GB HBM3": 27, "NVIDIA H200": 21}
"""The number of cells for each variant, by card: sizes by three ranges."""

LIKE_THEIRS = 2.0
"""The factor within which a code as printed takes the time of the authors' program."""


def authors(table: pd.DataFrame) -> list[Comparison]:
    """Check our goal, half the authors' time in the geometric mean and no cell slower.

    The codes as printed are a check of our reading: they should take what the authors' take.
    """
    found = []
    for (_, name, card), rows in table.groupby(["source", "solver", "device"], sort=False):
        what, ratios = f"{name}, our time over the authors'", rows["ours_over_authors"]
        if not name.startswith("tuned "):
            mean = float(np.exp(np.log(ratios).mean()))
            found.append(
                comparisons.predicted(
                    f"{what}, as printed, geometric mean of {len(rows)} cells",
                    1 / LIKE_THEIRS, LIKE_THEIRS, round(mean, 3),
                )
            )  # fmt: skip
        elif len(rows) >= AUTHORS_CELLS.get(card, math.inf):
            found += comparisons.goal_of_cells(what, ratios, 0.5, 1.0)
    return found or not_measured("our time over the authors': all cells, on their card", "goal")
