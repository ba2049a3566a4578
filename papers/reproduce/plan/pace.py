"""The pace of a preset: how often a cell is repeated, when it counts as long, which seeds it has.

The rules
---------
- A cell begins with a run under its first clock that is not counted: it warms caches, memory and a
  GPU's clock up, and its time says how long the cell is.
- A run shorter than `papers.reproduce.measure.notebook.SHORT_S` comes right behind another one that
  is not counted and not proved. Longer ones have no such run: it would double their time.
- A cell whose first run takes less than `Pace.long_s` is repeated `Pace.repeats` times under each
  clock. A cell may ask for more by `papers.common.model.Cell.repeats`.
- A longer one keeps its first run as the first repetition, because a second one would cost as much
  as it says. Its rows say so: the metric `COLD`, and the sentence in ``reason``. It is repeated
  as often, but no repetition begins when `Pace.budget_s` is over, for each of its clocks.
- A run that compiles is not kept: neither the first one in a process, nor a long one if the next
  turns out to be short. Where the budget allows no next one, it cannot be told.
- Kernels in the CPU executor run `Pace.in_executor` times, without a warm-up: nothing is compiled
  there, and the time is that of an interpreter.
- Each random instance is measured with every seed of the plan. Where a cell with the first seed
  takes `Pace.long_s` or more, its further seeds are skipped, and say so; not where the command line
  names the seeds. See `papers.reproduce.plan.seeds`.

Preset paper obeys the design: five repetitions and three seeds for all that takes under ten
seconds. The two others are there to show that things work, and keep to their minutes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

COLD = "cold"
"""The metric (its value is 1) of a cell whose first repetition was not warmed up."""

SEEDS = {"smoke": (1,), "quick": (1,), "paper": (1, 2, 3)}
"""Instance seeds of a preset, where the command line names none."""


@dataclass(frozen=True)
class Pace:
    """The numbers behind the rules of this module.

    Attributes
    ----------
    repeats : int
        Repetitions of a clock. Two give no quartiles.
    long_s : float
        Seconds from which a run is long.
    budget_s : float
        Seconds of a clock of a long cell after which it starts no further repetition; one is made
        at least. The column ``count`` of a summary says how many were made.
    in_executor : int
        Repetitions of kernels in the CPU executor.
    """

    repeats: int
    long_s: float
    budget_s: float
    in_executor: int = 1

    def exactly(self, repeats: int | None) -> Pace:
        """Return this pace with the repetitions of the command line; None changes nothing."""
        return self if repeats is None else replace(self, repeats=repeats, in_executor=repeats)


PACE = {
    "smoke": Pace(2, 0.5, 2.0),
    "quick": Pace(5, 0.5, 2.0),
    "paper": Pace(5, 10.0, 60.0),
}
"""By preset."""
