"""The codes and the instances of a declared table, and the part that all declarations share.

A `Code` is a solver with its name in the table; `Instances` says on which instances it is measured,
by preset. `papers.common.evidence.declarations` has the declarations themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from papers.common.evidence import plots
from papers.common.evidence.judges import Verdicts
from papers.common.evidence.tables import Published, best_source, by_seed, measured_by, order
from papers.common.model import Cell, Experiment, Instance, Plan, Scope

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Preset = Literal["smoke", "quick", "paper"]
Plot = Callable[[pd.DataFrame], "Figure"]
"""Draws a table; the type of `papers.common.model.Experiment.figure`."""


@dataclass(frozen=True)
class Code:
    """One code of a table: a solver and the name that its columns begin with.

    Attributes
    ----------
    solver : str
        Full name, ``"paper:solver"``.
    label : str
        ``"cuda"`` gives the columns ``cuda_ms`` and ``published_cuda_ms``.
    title : str
        Its name in sentences; default `label`.
    kernels : bool
        Whether it has kernels: without a GPU they run in the CPU executor, on tiny instances.
    scopes : tuple of Scope
        The clocks.
    options : tuple of (str, value) pairs
        The solver's options.
    """

    solver: str
    label: str
    title: str = ""
    kernels: bool = False
    scopes: tuple[Scope, ...] = ("run",)
    options: tuple[tuple[str, Any], ...] = ()

    @property
    def spoken(self) -> str:
        """Its name in sentences."""
        return self.title or self.label

    def rows(
        self, summary: pd.DataFrame, family: str, metric: str = "time_ms", scope: str = "run"
    ) -> pd.DataFrame:
        """Return one metric of this code, a row a seed; see `papers.common.evidence.tables`."""
        options = ",".join(f"{key}={value}" for key, value in self.options)
        return by_seed(summary, self.solver, metric, scope, options, family)


@dataclass(frozen=True)
class Instances:
    """The instances of a table, by preset.

    Attributes
    ----------
    sizes : mapping of preset to tuple of int
        The orders n for a GPU and for CPU codes.
    executor : mapping of preset to tuple of int
        The orders for kernels where there is no GPU; CPU codes are then measured on these, too.
    labels : tuple of str
        The cost ranges, in the paper's order.
    family : str
        Name of the family.
    params : tuple of (str, value) pairs
        The family's other parameters.
    """

    sizes: Mapping[Preset, tuple[int, ...]]
    executor: Mapping[Preset, tuple[int, ...]]
    labels: tuple[str, ...]
    family: str = "uniform"
    params: tuple[tuple[str, Any], ...] = ()

    def cells(self, plan: Plan, code: Code) -> list[Cell]:
        """Return the cells of one code, with every seed of the plan."""
        sizes = self.sizes[plan.preset]
        if not plan.gpu:
            executor = self.executor[plan.preset]
            sizes = executor if code.kernels else (*executor, *sizes)
        return [
            Cell(
                code.solver,
                Instance(self.family, n, label, self.params, seed),
                code.scopes,
                code.options,
            )
            for n in sizes
            for label in self.labels
            for seed in plan.seeds
        ]


@dataclass(frozen=True, kw_only=True)
class Declared:
    """The part that all declarations share.

    Attributes
    ----------
    instances : Instances
        The instances that every code is measured on.
    by : tuple of str
        The columns that tell rows apart, in the table and in print: ``n``, or ``n`` and
        ``cost_range`` (the instance's label).
    """

    instances: Instances
    by: tuple[str, ...] = ("n", "cost_range")

    @property
    def codes(self) -> tuple[Code, ...]:
        """The codes that are measured."""
        raise NotImplementedError

    def table(self, summary: pd.DataFrame, published: Published) -> pd.DataFrame:
        """Return print beside measurement, a row for each origin."""
        raise NotImplementedError

    def cells(self, plan: Plan) -> list[Cell]:
        """Return what must be measured."""
        return [cell for code in self.codes for cell in self.instances.cells(plan, code)]

    @property
    def series(self) -> str:
        """The column that tells curves over n apart; without ranges an origin is one curve."""
        return "cost_range" if "cost_range" in self.by else "source"

    @property
    def row(self) -> str:
        """Format string over a row, for the text of a comparison."""
        return "n={n} range {cost_range}" if "cost_range" in self.by else "n={n}"

    @property
    def growth(self) -> str:
        """Format string over a curve's name, for the text of a comparison."""
        return "slope over n, range {}" if "cost_range" in self.by else "slope over n"

    def in_order(self, table: pd.DataFrame) -> pd.DataFrame:
        """Sort a table as the paper does."""
        return order(table, self.by, ranked={"cost_range": self.instances.labels})

    def of_these(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return the rows of this table's cost ranges."""
        return rows[rows["cost_range"].isin(self.instances.labels)]

    def medians(self, rows: pd.DataFrame, values: Sequence[str]) -> pd.DataFrame:
        """Return the medians over the seeds, a row for each origin and device."""
        keys = ["source", *self.by, "device"]
        return rows.groupby(keys, sort=False)[list(values)].median().reset_index()

    def as_experiment(
        self, name: str, title: str, compare: Verdicts | None, figure: Plot | None = None
    ) -> Experiment:
        """Return the experiment of this table; a figure if it is drawn.

        Its codes take turns on each instance.
        """
        return Experiment(
            name=name,
            title=title,
            kind="figure" if figure else "table",
            cells=self.cells,
            table=self.table,
            figure=figure,
            compare=compare,
            interleaved=len(self.codes) > 1,
        )

    def curve_plot(self, measured: str, yscale: str, ylabel: str, title: str) -> Plot:
        """Return a function that draws a curve over n for each cost range."""

        def draw(table: pd.DataFrame) -> Figure:
            shown = best_source(table, f"published_{measured}", measured)
            return plots.line_plot(
                shown, x="n", y_published=f"published_{measured}", y_measured=measured,
                series=self.series, xscale="log2", yscale=yscale, xlabel="matrix size n",
                ylabel=ylabel, title=f"{title}\n{measured_by(shown)}",
                known=self.instances.labels if self.series == "cost_range" else (),
            )  # fmt: skip

        return draw
