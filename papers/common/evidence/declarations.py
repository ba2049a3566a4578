"""Declares a table of a paper in one line: `Ratio`, `Times`, `Counts`, `SameCounts`.

A declaration names the codes that are measured, the instances, and the CSV with the printed
numbers. It plans the cells, lays out the table (print beside measurement, a row for each origin),
compares the two, draws the curves, and gives the experiment::

    SPEEDUPS = Ratio("speedup", of=CPU, over=GPU, instances=SIZES, published="table2")
    EXPERIMENTS = (SPEEDUPS.experiment("table2", "Speedup of the GPU over the CPU"),)

A table that needs more than these is written by hand, in the paper's `evidence/tables.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd

from papers.common.evidence import comparisons
from papers.common.evidence.declared import Code, Declared, Instances
from papers.common.evidence.judges import (
    Judge,
    Verdicts,
    curves,
    each,
    each_time,
    judged,
    rankings,
)
from papers.common.evidence.tables import (
    KEY,
    Printed,
    Published,
    beside,
    joined,
    named,
    order,
    printed_values,
)
from papers.common.model import Cause, Comparison, Experiment

__all__ = ["Code", "Counts", "Instances", "Ratio", "SameCounts", "Times"]


@dataclass(frozen=True)
class Ratio(Declared):
    """The time of one code over that of another, instance by instance, then the median over seeds.

    Attributes
    ----------
    name : str
        The ratio's column; print's is ``published_<name>``.
    of, over : Code
        Numerator and denominator.
    instances : Instances
        The instances that both are measured on.
    by : tuple of str
        The columns that tell rows apart, in the table and in print.
    published : str
        The CSV with the printed ratios.
    printed : str
        Its column; default `name`.
    times : Printed, optional
        The printed times of both, and whatever else of print the table shows. The table then has
        ``<label>_gain``, the printed time over the measured one, which a difference's note tells.
    columns : tuple of str
        The columns after `by`, ``source``, ``device`` and the two ratios; default the two times,
        then the gains if there are `times`.
    title : str
        The ratio's name in comparisons; default `name`.
    factor : float
        The tolerance: measured over printed may lie in ``[1 / factor, factor]``.
    note : callable(row) -> Note, optional
        A remark on a difference; default: the gains, where there are `times`.
    cause : callable(row) -> Cause or None
        The measured cause of a difference.
    claims : tuple of Judge
        Further comparisons, made first.
    beside : tuple of Code
        More denominators: their ratios, ``<label>_<name>``, stand beside and are not compared.
    """

    name: str
    of: Code
    over: Code
    published: str
    printed: str = ""
    times: Printed | None = None
    columns: tuple[str, ...] = ()
    title: str = ""
    factor: float = comparisons.FACTOR
    note: Callable[[Any], comparisons.Note] | None = None
    cause: Callable[[Any], Cause | None] = lambda row: None
    claims: tuple[Judge, ...] = ()
    beside: tuple[Code, ...] = ()

    @property
    def codes(self) -> tuple[Code, ...]:
        """The denominator first: a speedup's rows are those of the faster code."""
        return self.over, *self.beside, self.of

    def table(self, summary: pd.DataFrame, published: Published) -> pd.DataFrame:
        """Return print beside measurement, a row for each origin."""
        by, column = list(self.by), f"published_{self.name}"
        printed = printed_values(self.published, by, {self.printed or self.name: column})(published)
        if self.times is not None:
            printed = printed.merge(self.times(published), on=by)
        family = self.instances.family
        of, over = f"{self.of.label}_ms", f"{self.over.label}_ms"
        both = self.over.rows(summary, family).rename(columns={"value": over})
        both = both.merge(named(self.of.rows(summary, family), of), on=[*KEY, "seed"])
        both = self.of_these(both)
        both = both.assign(**{self.name: both[of] / both[over]})
        measured = self.medians(both, [self.name, of, over])
        for code in self.beside:
            measured = measured.merge(self._beside(summary, code), on=["source", *by], how="left")
        table = self.in_order(beside(printed, measured, by))
        shown = [*(f"{code.label}_{self.name}" for code in self.beside), of, over]
        if self.times is not None:
            for code in (self.of, self.over):
                gain = table[f"published_{code.label}_ms"] / table[f"{code.label}_ms"]
                table = table.assign(**{f"{code.label}_gain": gain})
                shown.append(f"{code.label}_gain")
        return table[[*by, "source", "device", column, self.name, *(self.columns or shown)]]

    def _beside(self, summary: pd.DataFrame, code: Code) -> pd.DataFrame:
        """Return the ratio over another denominator: medians over the seeds that both ran."""
        family, name = self.instances.family, f"{code.label}_{self.name}"
        both = named(code.rows(summary, family), "_over").merge(
            named(self.of.rows(summary, family), "_of"), on=[*KEY, "seed"]
        )
        both = self.of_these(both).assign(**{name: both["_of"] / both["_over"]})
        return both.groupby(["source", *self.by], sort=False)[name].median().reset_index()

    def compare(self, table: pd.DataFrame) -> list[Comparison]:
        """Compare every row, then the growth with n."""
        pair, title = (f"published_{self.name}", self.name), self.title or self.name
        rows = each(
            f"{title}: {self.row}",
            *pair,
            partial(comparisons.ratio, factor=self.factor),
            self._remark,
            self.cause,
        )
        growth = curves(f"{title}: {self.growth}", *pair, self.series)
        return judged(title, *pair, *self.claims, rows, growth)(table)

    def _remark(self, row: Any) -> comparisons.Note:
        if self.note is not None:
            return self.note(row)
        if self.times is None:
            return ""
        over, of = (getattr(row, f"{code.label}_gain") for code in (self.over, self.of))
        return comparisons.gains(over, of, f"{self.over.spoken} time", f"{self.of.spoken} time")

    def experiment(
        self, name: str, title: str, *, plot: str = "", yscale: str = "log2", verdicts: bool = True
    ) -> Experiment:
        """Return the experiment.

        Parameters
        ----------
        name, title : str
            Its name and its caption.
        plot : str
            The title of its plot; without one it is a table.
        yscale : {"log2", "log", "linear"}
            The plot's axis.
        verdicts : bool
            Whether it compares; False where another experiment of this table does.
        """
        figure = self.curve_plot(self.name, yscale, self.title or self.name, plot) if plot else None
        return self.as_experiment(name, title, self.compare if verdicts else None, figure)


@dataclass(frozen=True)
class Times(Declared):
    """Run times of several codes side by side, medians over the seeds.

    Attributes
    ----------
    measured : tuple of Code
        The codes; the device is that of the first. A code with the clock ``end_to_end`` has the
        column ``<label>_end_to_end_ms``, too.
    times : Printed
        The printed times, ``published_<label>_ms``; columns of no code stand before all codes'.
    instances, by
        As in `Ratio`. Of sizes that print does not have, rows without the first code are left out.
    """

    measured: tuple[Code, ...]
    times: Printed

    @property
    def codes(self) -> tuple[Code, ...]:
        """All of them."""
        return self.measured

    def table(self, summary: pd.DataFrame, published: Published) -> pd.DataFrame:
        """Return print beside measurement, a row for each origin."""
        printed, family = self.times(published), self.instances.family
        keys = ["source", *self.by]
        measured: pd.DataFrame | None = None
        columns: list[str] = []
        for code in self.measured:
            names = [f"{code.label}_ms"]
            if f"published_{code.label}_ms" in printed:
                columns.append(f"published_{code.label}_ms")
            if "end_to_end" in code.scopes:
                names.append(f"{code.label}_end_to_end_ms")
            columns += names
            for name, scope in zip(names, ("run", "end_to_end"), strict=False):
                rows = code.rows(summary, family, scope=scope).rename(columns={"value": name})
                part = self.medians(self.of_these(rows), [name])
                if measured is None:
                    measured = part
                else:
                    part = part.drop(columns="device")
                    measured = measured.merge(part, on=keys, how="outer")
        assert measured is not None, "a table of times has a code"
        first = measured[f"{self.measured[0].label}_ms"].notna()
        measured = measured[first | measured["n"].isin(printed["n"].unique())]
        table = self.in_order(beside(printed, measured, list(self.by)))
        others = [name for name in printed if name not in (*self.by, *columns)]
        return table[[*self.by, "source", "device", *others, *columns]]

    def compared(
        self, label: str, what: str, note: comparisons.Note = "", print_of: str = ""
    ) -> Verdicts:
        """Return the comparison of one code: growth with n, order of the ranges, absolute times.

        Parameters
        ----------
        label : str
            The code's.
        what : str
            The time's name in comparisons.
        note : Note
            A remark on another growth.
        print_of : str
            The label of the printed times, where it is another.
        """
        pair = f"published_{print_of or label}_ms", f"{label}_ms"
        judges = [curves(f"{what}: {self.growth}", *pair, self.series, note=note)]
        if "cost_range" in self.by:
            order_of = f"{what}: order of ranges, n={{}}"
            judges.append(rankings(order_of, *pair, "cost_range", "n", 0.05))
        return judged(what, *pair, *judges, each_time(f"{what}, ms: {self.row}", *pair))

    def experiment(
        self, name: str, title: str, *, verdicts: Verdicts | None = None, plot: str = "",
        label: str = "", yscale: str = "log",
    ) -> Experiment:  # fmt: skip
        """Return the experiment.

        Parameters
        ----------
        name, title : str
            Its name and its caption.
        verdicts : Verdicts, optional
            One of `compared`; None where another experiment of this table compares.
        plot : str
            The title of its plot; without one it is a table.
        label : str
            The code that is drawn; default the first.
        yscale : {"log2", "log", "linear"}
            The plot's axis.
        """
        drawn = f"{label or self.measured[0].label}_ms"
        figure = self.curve_plot(drawn, yscale, "time (ms)", plot) if plot else None
        return self.as_experiment(name, title, verdicts, figure)


@dataclass(frozen=True)
class Counts(Declared):
    """Counters of one code, which no hardware changes, stand beside print: medians over the seeds.

    Attributes
    ----------
    code : Code
        Its counters are `papers.common.model.Assignment.counters` and the like.
    published : str
        The CSV with the printed counts.
    printed : mapping of str to str
        Counter to column of the CSV.
    tolerance : float
        Relative difference allowed: 0 on the paper's own instances.
    note : str
        A remark on a difference.
    instances, by
        As in `Ratio`.
    """

    code: Code
    published: str
    printed: Mapping[str, str]
    tolerance: float = 0.0
    note: str = ""

    @property
    def codes(self) -> tuple[Code, ...]:
        """The one code."""
        return (self.code,)

    def table(self, summary: pd.DataFrame, published: Published) -> pd.DataFrame:
        """Return print beside measurement, a row for each origin."""
        by, family = list(self.by), self.instances.family
        columns = {column: f"published_{counter}" for counter, column in self.printed.items()}
        parts = [
            self.code.rows(summary, family, counter, "answer").rename(columns={"value": counter})
            for counter in self.printed
        ]
        measured = parts[0]
        for part in parts[1:]:
            measured = measured.merge(part.drop(columns="device"), on=[*KEY, "seed"])
        measured = self.medians(self.of_these(measured), list(self.printed))
        table = self.in_order(
            beside(printed_values(self.published, by, columns)(published), measured, by)
        )
        pairs = [name for counter in self.printed for name in (f"published_{counter}", counter)]
        return table[[*by, "source", "device", *pairs]]

    def compare(self, table: pd.DataFrame) -> list[Comparison]:
        """Compare every count; those of the CPU executor count as well."""
        found: list[Comparison] = []
        for counter in self.printed:
            pair = f"published_{counter}", counter
            verdict = partial(comparisons.count, tolerance=self.tolerance)
            judge = each(f"{counter}: {self.row}", *pair, verdict, lambda row: self.note)
            found += judged(counter, *pair, judge)(table.drop(columns="device"))
        return found

    def experiment(self, name: str, title: str) -> Experiment:
        """Return the experiment with this name and caption."""
        return self.as_experiment(name, title, self.compare)


@dataclass(frozen=True)
class SameCounts(Declared):
    """Counters of two solvers on the same instances stand side by side: ours against ours.

    Attributes
    ----------
    measured : tuple of two Code
        The code that is checked, and the one that says what is expected; two solvers.
    counters : tuple of str
        The counters that the table shows.
    same : tuple of str
        Those that must be equal, seed by seed.
    instances, by
        As in `Ratio`.
    """

    measured: tuple[Code, Code]
    counters: tuple[str, ...]
    same: tuple[str, ...]

    @property
    def codes(self) -> tuple[Code, ...]:
        """Both."""
        return self.measured

    def table(self, summary: pd.DataFrame, published: Published) -> pd.DataFrame:
        """Return a row for each code, seed and origin, of the instances that both ran on."""
        family, parts = self.instances.family, []
        for code in self.measured:
            columns = {name: code.rows(summary, family, name, "answer") for name in self.counters}
            parts.append(joined(columns).assign(solver=code.solver.partition(":")[2]))
        keys = [*self.by, "seed"]
        ranked = {"cost_range": self.instances.labels}
        table = order(pd.concat(parts, ignore_index=True), keys, ranked=ranked)
        both_ran = table.groupby([*KEY, "seed"])["solver"].transform("nunique") == 2
        return table[both_ran][[*keys, "source", "solver", *self.counters]]

    def compare(self, table: pd.DataFrame) -> list[Comparison]:
        """Check that the counters agree exactly on every instance."""
        mine, other = (code.solver.partition(":")[2] for code in self.measured)
        names = f"{self.measured[1].spoken}, {self.measured[0].spoken}"
        found = []
        for _, rows in table.groupby(["source", *self.by, "seed"], sort=False):
            got = rows[rows["solver"] == mine].iloc[0]
            expected = rows[rows["solver"] == other].iloc[0]
            where = f"{self.row.format(**got)} seed {got['seed']}"
            found += [
                comparisons.correct(
                    f"{counter}, {where}: {names}",
                    expected[counter], got[counter], expected[counter] == got[counter],
                )
                for counter in self.same
            ]  # fmt: skip
        return found or comparisons.not_measured(f"{', '.join(self.same)}: {names}", "correctness")

    def experiment(self, name: str, title: str) -> Experiment:
        """Return the experiment with this name and caption."""
        return self.as_experiment(name, title, self.compare)
