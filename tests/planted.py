"""Faults planted into recorded measurements, and whether the verdicts notice them."""

import functools
import itertools
import math
import re
from collections import defaultdict

import numpy as np
import pandas as pd

from papers.common.evidence import published
from papers.common.evidence.judges import by_origin
from papers.common.evidence.resamples import MARK
from papers.common.model import Plan
from papers.reproduce import registry
from papers.reproduce.run import measurements, records

WORSE = ("agrees", "differs", "open")
"""Verdicts with print, from the best to the worst."""


@functools.cache
def recorded(paper):
    """The usable rows of the recorded runs that the paper's experiments see."""
    return measurements.usable(records.seen_by(paper, records.summaries(records.owners(paper))))


def table_of(paper, name):
    """An experiment's table of the recorded runs, as it stands among those of the faults."""
    return tables_with_faults(paper, name, True)[""]


def comparisons(paper, experiment):
    """The comparisons of an experiment on the recorded runs, by the medians."""
    if experiment.compare is None or experiment.unavailable:
        return []
    return by_origin(experiment.compare, table_of(paper, experiment.name))


def has_recorded_rows(paper, name):
    """Whether the recorded runs fill an experiment's table."""
    table = table_of(paper, name)
    return not table.empty and table["source"].astype(str).str.startswith("recorded").any()


# ------------------------------------------------------------------------------- the faults


def scaled(solver, factor, answers=False):
    """All times of one solver (or all its counts) times a factor."""

    def plant(rows):
        hit = (rows["solver"] == solver) & ((rows["scope"] == "answer") == answers)
        return rows.assign(median=rows["median"].where(~hit, rows["median"] * factor))

    return plant


def scaled_at_the_largest(solver, factor):
    """The times of one solver on its largest instances (or on the most ranks) times a factor."""

    def plant(rows):
        mine = (rows["solver"] == solver) & (rows["scope"] != "answer")
        ranks = rows["options"].astype(str).str.extract(r"ranks=(\d+)")[0].astype(float)
        size = ranks if ranks[mine].nunique() > 1 else rows["n"]
        hit = mine & (size == size[mine].max())
        return rows.assign(median=rows["median"].where(~hit, rows["median"] * factor))

    return plant


def shuffled(solver):
    """The values of one solver go to other instances: the order of the rows is turned round."""

    def plant(rows):
        values = rows["median"].to_numpy(copy=True)
        mine = rows[rows["solver"] == solver]
        for places in mine.groupby(["options", "family", "scope", "metric"]).indices.values():
            at = mine.index[places]
            values[at] = values[at[::-1]]
        return rows.assign(median=values)

    return plant


_SAME = ["source", "family", "n", "label", "seed", "storage", "permuted", "scope", "metric"]
"""The columns that two solvers' rows share when they measure the same."""


def swapped(one, other):
    """The values of two solvers under one another's names, wherever both have one."""

    def plant(rows):
        values = rows["median"].to_numpy(copy=True)
        for mine, theirs in ((one, other), (other, one)):
            known = rows[rows["solver"] == theirs].drop_duplicates(_SAME)[[*_SAME, "median"]]
            places = np.flatnonzero(rows["solver"] == mine)
            found = rows.iloc[places][_SAME].merge(known, on=_SAME, how="left")["median"].to_numpy()
            values[places] = np.where(np.isnan(found), values[places], found)
        return rows.assign(median=values)

    return plant


EVERY_DAY = re.compile(r"[\w:]+('s counts)? times five$|[\w:]+mpi_\w+ at its largest times five$")
"""The faults that `make test` plants; `make test-all` plants all of them."""


def faults(solvers):
    """The faults of an experiment by their names."""
    found = {}
    for solver in solvers:
        found[f"{solver} times five"] = scaled(solver, 5.0)
        found[f"{solver} a fifth"] = scaled(solver, 0.2)
        found[f"{solver} at its largest times five"] = scaled_at_the_largest(solver, 5.0)
        found[f"{solver}'s counts times five"] = scaled(solver, 5.0, answers=True)
        found[f"{solver} shuffled"] = shuffled(solver)
    for one, other in itertools.pairwise(solvers):
        found[f"{one} and {other} swapped"] = swapped(one, other)
    return found


# ------------------------------------------------------------------------------- the verdicts


def distance(item):
    """How far an open figure lies from what agrees, in powers of e; None for statements."""
    if item.accept is None or item.measured is None:
        return None
    low, high = item.accept
    bound = high if item.measured > high else low
    if item.measured > 0 and bound > 0 and math.isfinite(bound):
        return abs(math.log(item.measured / bound))
    return abs(item.measured - bound) / (abs(bound) + 1e-9)


def is_worse(before, after):
    """Whether a comparison says of the second value that it is worse than the first."""
    if before.verdict == "holds":
        return after.verdict == "fails"
    if before.verdict not in WORSE or after.verdict not in WORSE:
        return before.verdict in WORSE and after.verdict == "not measured"
    if WORSE.index(after.verdict) > WORSE.index(before.verdict):
        return True
    distances = distance(before), distance(after)
    return (
        before.verdict == after.verdict == "open"
        and None not in distances
        and distances[1] > distances[0] + 0.3
    )


def keyed(items):
    seen = defaultdict(int)
    for item in items:
        yield (
            (item.origin.partition(MARK)[0], item.quantity, seen[item.origin, item.quantity]),
            item,
        )
        seen[item.origin, item.quantity] += 1


NOTICED = "noticed"
"""A verdict is worse, or an open figure lies further off."""
UNMOVED = "unmoved"
"""No figure that is judged depends on it: a share of one code does not see that code's speed."""
ALREADY = "already open"
"""Only figures that are open (or fail) move, none of them further off."""
ONE_SIDED = "one-sided"
"""Besides those only goals and claims move that ask for a bound on one side, and still meet it."""
BLIND = "blind"
"""A figure that agrees moves, and agrees all the same."""


@functools.cache
def tables_with_faults(paper, name, every_day):
    """Plant faults into what an experiment measures; return its tables by fault.

    The table without a fault has the name "". All are made at once: a fault is a source.
    """
    experiment, summary = registry.experiments(paper)[name], recorded(paper)
    numbers = published.loader(registry.MODULES[paper])
    solvers = list(dict.fromkeys(c.solver for c in experiment.cells(Plan("paper", gpu=True))))
    of_solvers = summary["solver"].isin(solvers)
    mine = summary[of_solvers].reset_index(drop=True)
    stack = [
        plant(mine).assign(source=mine["source"] + MARK + fault)
        for fault, plant in faults(solvers).items()
        if not every_day or EVERY_DAY.match(fault)
    ]
    whole = pd.concat([summary, *stack], ignore_index=True)
    table = experiment.table(whole, numbers)
    if table.empty or "source" not in table:
        return {"": table}
    parts = defaultdict(list, {"": []})
    for source, rows in table.groupby("source", sort=False):
        parts[str(source).partition(MARK)[2]].append(rows)
    return {fault: pd.concat(rows or [table.iloc[:0]]) for fault, rows in parts.items()}


def outcomes(paper, name, every_day):
    """Plant faults into what an experiment measures; return the outcome by fault.

    A fault that changes no row of the experiment's table has no outcome: it is none of its own.
    """
    experiment = registry.experiments(paper)[name]
    parts = dict(tables_with_faults(paper, name, every_day))
    true = parts.pop("")
    if not parts:
        return {}
    before = dict(keyed(by_origin(experiment.compare, true)))
    shown = true.reset_index(drop=True).drop(columns="source")
    found = {}
    for fault, faulty in parts.items():
        if not faulty.reset_index(drop=True).drop(columns="source").equals(shown):
            after = dict(keyed(by_origin(experiment.compare, faulty)))
            found[fault] = outcome(before, after)
    return found


def outcome(before, after):
    """The outcome of one fault, of the comparisons without it and with it."""
    if any(key not in after or is_worse(item, after[key]) for key, item in before.items()):
        return NOTICED
    moved = [
        item
        for key, item in before.items()
        if item.verdict != "not comparable" and has_moved(item.measured, after[key].measured)
    ]
    if not moved:
        return UNMOVED
    steady = [item for item in moved if item.verdict not in ("open", "fails")]
    if not steady:
        return ALREADY
    return ONE_SIDED if all(map(is_one_sided, steady)) else BLIND


def is_one_sided(item):
    """Whether a figure may be as large, or as small, as it likes."""
    return item.accept is not None and any(map(math.isinf, item.accept))


def has_moved(before, after):
    """Whether a figure has changed by more than its sums round."""
    if isinstance(before, float) and isinstance(after, float):
        return not math.isclose(before, after, rel_tol=1e-3)
    return before != after
