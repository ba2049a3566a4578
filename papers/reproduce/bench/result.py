"""The end of a bench: every instance's times side by side, what failed by name, the exit code."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pandas as pd

from papers.reproduce.bench.asked import CLOCK
from papers.reproduce.report.numbers import show_number
from papers.reproduce.run import measurements, runner
from papers.reproduce.run.runner import Run
from papers.reproduce.screen.tables import aligned

JSON_FORMAT = "reproduce bench, format 1"
"""The value of the key ``format`` of the file for programs."""

FAILED = 3
HERE = "this run"
COLD = "cold"
"""A word in the reason of a cell whose first run was long and stands as a repetition."""


@dataclass(frozen=True)
class Line:
    """One solver's time on one instance.

    Attributes
    ----------
    instance : str
        Its key.
    solver : str
        With its options.
    origin : str
        ``"this run"``, or the record of this machine.
    status, reason : str
    ms, q1, q3 : float
        Median and quartiles of the clock; NaN where there is none.
    repeats : int
    over_yours : float
        The time over that of the function on the same instance: above 1, the function is faster.
        NaN where one of the two is missing or wrong.
    """

    instance: str
    solver: str
    origin: str
    status: str
    reason: str
    ms: float
    q1: float
    q3: float
    repeats: int
    over_yours: float = math.nan


@dataclass(frozen=True)
class Result:
    """The result of a bench.

    Attributes
    ----------
    folder, machine, function : str
    lines : list of Line
        By instance; the function first, then the others of this run, then records.
    away : list of str
        Records of other machines, which are not compared.
    """

    folder: str
    machine: str
    function: str
    lines: list[Line]
    away: list[str]

    @property
    def bad(self) -> list[Line]:
        """The lines that are no right answer, by any of the solvers."""
        return [line for line in self.lines if line.status not in ("ok", "skipped")]

    @property
    def code(self) -> int:
        """The exit code: `FAILED` for a wrong, missing or failed answer, and for no answer."""
        return FAILED if self.bad or not any(one.status == "ok" for one in self.lines) else 0


def of(current: Run, recorded: pd.DataFrame, away: list[str], machine: str) -> Result:
    """Return the result of a bench whose cells have ended, or have not been reached.

    Parameters
    ----------
    current : Run
    recorded : DataFrame
        Rows of this machine's records, as `papers.reproduce.bench.records_here.times` gives them.
    away : list of str
    machine : str
    """
    told = current.meta["bench"]
    summary = measurements.summarize(current.measured())
    clock = summary[(summary["scope"] == CLOCK) & (summary["metric"] == "time_ms")]
    times = {row.cell: row for row in clock.itertuples()}
    costs = {(row.cell, row.metric): row.median for row in summary.itertuples()}
    mine: dict[str, float] = {}
    lines = []
    for job, status, reason in runner.ends(current):
        row = times.get(job.key)
        if status == "not-certified" and (job.key, "optimum") in costs:
            pair = (show_number(costs.get((job.key, name))) for name in ("cost", "optimum"))
            reason += " (it costs {}, the optimum {})".format(*pair)
        line = _line(job.cell.instance.key, _short(job.cell.solver, job.options), HERE, status,
                     reason, row)  # fmt: skip
        if job.cell.solver.startswith("yours:"):
            mine[line.instance] = line.ms
        lines.append(line)
    for row in recorded.itertuples():
        key = str(row.cell).partition("/")[2]
        origin, solver = str(row.source), _short(str(row.solver), str(row.options))
        lines.append(_line(key, solver, origin, "ok", str(row.reason), row))
    order = {job.cell.instance.key: place for place, job in enumerate(current.jobs)}
    lines = [_compared(line, mine) for line in lines]
    lines.sort(key=lambda one: (order[one.instance], one.origin != HERE,
                                one.solver != told["function"]))  # fmt: skip
    return Result(str(current.folder), machine, told["function"], lines, away)


def _short(solver: str, options: str) -> str:
    name = solver.removeprefix("yours:").partition("/")[2] or solver
    return f"{name}[{options}]" if options else name


def _line(
    instance: str, solver: str, origin: str, status: str, reason: str, row: Any
) -> Line:  # fmt: skip
    if row is None or status != "ok":
        return Line(instance, solver, origin, status, reason, math.nan, math.nan, math.nan, 0)
    middle, low, high = float(row.median), float(row.q1), float(row.q3)
    return Line(instance, solver, origin, status, reason, middle, low, high, int(row.count))


def _compared(line: Line, mine: dict[str, float]) -> Line:
    base = mine.get(line.instance, math.nan)
    return Line(**{**asdict(line), "over_yours": line.ms / base if base > 0 else math.nan})


# ------------------------------------------------------------------------------ lines

_HEADER = ("instance", "solver", "measured", "ms", "q1", "q3", "repeats", "over yours", "proof")


def lines(found: Result, width: int) -> list[str]:
    """Return the lines that a terminal shows: the table, the ratios, what is wrong, by name."""
    body = [
        [
            line.instance, line.solver, line.origin, show_number(line.ms), show_number(line.q1),
            show_number(line.q3), str(line.repeats), show_number(line.over_yours),
            _proof(line),
        ]
        for line in found.lines
    ]  # fmt: skip
    out = aligned([list(_HEADER), *body], width).split("\n")
    out += ["", *_ratios(found)]
    away = f"records of other machines, not compared: {', '.join(found.away)}"
    out += [away] if found.away else []
    out += [f"{one.status}: {one.solver} on {one.instance}: {one.reason}" for one in found.bad]
    out.append(f"clock {CLOCK} on {found.machine}; folder {found.folder}")
    return [*out, f"exit code {found.code}: {_why(found)}"]


def _proof(line: Line) -> str:
    """Return the status in a word, and whether a time is that of a first, cold run."""
    if line.status != "ok":
        return line.status
    return "proved, cold" if COLD in line.reason else "proved"


def _ratios(found: Result) -> list[str]:
    """Return a line a rival: the median over instances of its time over the function's."""
    groups: dict[tuple[str, str], list[float]] = {}
    for line in found.lines:
        if line.solver != found.function and not math.isnan(line.over_yours):
            groups.setdefault((line.solver, line.origin), []).append(line.over_yours)
    return [
        f"{solver} ({origin}) takes {show_number(statistics.median(values))} times as long as "
        f"{found.function}: median of {len(values)} instances, {show_number(min(values))} to "
        f"{show_number(max(values))}"
        for (solver, origin), values in groups.items()
    ]


def _why(found: Result) -> str:
    if found.bad:
        return f"{len(found.bad)} of {len(found.lines)} cells are wrong, failed or missing"
    return "nothing was measured" if found.code else "every answer is proved"


# ------------------------------------------------------------------------------ for programs


def as_json(found: Result) -> str:
    """Return a result as JSON; a number that is not finite is null."""
    value = {**asdict(found), "format": JSON_FORMAT, "clock": CLOCK, "exit_code": found.code}
    value["lines"] = [{name: _plain(one) for name, one in row.items()} for row in value["lines"]]
    ordered = {"format": value.pop("format"), **value}
    return json.dumps(ordered, indent=1, ensure_ascii=True, allow_nan=False) + "\n"


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def as_csv(found: Result) -> str:
    """Return the lines of a result as CSV."""
    rows: Sequence[dict[str, Any]] = [asdict(line) for line in found.lines]
    return pd.DataFrame(rows).to_csv(index=False, lineterminator="\n")
