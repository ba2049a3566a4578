"""Assignments: the words of [LU11 sec.5], and panels of reduced costs and prices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from papers.common.evidence.trace.panels import (
    NEVER,
    Arrays,
    Bars,
    Look,
    Matrix,
    Panel,
    Vectors,
    shown,
    unset,
)
from papers.common.evidence.trace.story import Told, Word
from papers.common.executor.recorder import Event
from papers.lupinska_costscale.assignment.costs import Costs

WORDS = {
    "launch": Word("a launch", "Algorithm 5.0, and section 5.5"),
    "start": Word("begin a refine", "Algorithm 5.2, lines 3 to 6"),
    "read_least": Word("read a price", "Algorithm 5.4, lines 5 to 10", minor=True),
    "push": Word("push", "Algorithm 5.4, lines 13 to 16"),
    "relabel": Word("relabel", "Algorithm 5.4, line 18"),
    "violated": Word("a violation", "Lemma 5.5, case 5"),
    "mended": Word("a violation ends", "Lemma 5.5, case 5"),
    "lack_filled": Word("a y gets its unit", "Algorithm 5.2: no node is active once no y lacks"),
}
"""Kinds of events in the order of the paper."""

LAUNCHES = {
    "start": "The whole residual graph, prices 0, no flow.",
    "start_refine": "A refine begins: epsilon is divided by ALPHA, the flow is taken back.",
    "refine": "A thread a node pushes and relabels until no node is active.",
}
"""The purpose of each launch."""


class Units:
    """The device's numbers as the page writes them.

    The device multiplies costs by |V| + 1, so that the last epsilon is 1, and shifts them.

    Attributes
    ----------
    n : int
        Nodes a side.
    factor : int
        |V| + 1.
    shift : int
        What the device's costs have more than the page's, which reduced costs do not show: the
        prices of the x have as much less.
    """

    def __init__(
        self, costs: Costs, given: np.ndarray, maximize: bool, epsilons: Sequence[int]
    ) -> None:
        self.n, self.factor, self.epsilons = costs.n, 2 * costs.n + 1, epsilons
        own = -int(given[0, 0]) if maximize else int(given[0, 0])
        self.shift = int(costs.cost[0]) // self.factor - own
        self.most = max(int(costs.cost.max()), 1)

    def name(self, node: int) -> str:
        """Return x1 ... or y1 ..., as the page counts."""
        return f"x{node + 1}" if node < self.n else f"y{node - self.n + 1}"

    def price(self, node: int, value: int) -> str:
        """Return a price as on the page."""
        return self.cost(value + (self.shift * self.factor if node < self.n else 0))

    def cost(self, value: int) -> str:
        """Return a cost, a reduced cost or an epsilon as on the page."""
        return shown(round(value / self.factor, 2))

    def reduced(self, now: Arrays, x: int, y: int) -> int:
        """Return the reduced cost of a pair, the device's."""
        price = now["price"]
        return int(now["cost"][x * self.n + y] + price[x] - price[self.n + y])

    def violated(self, now: Arrays, eps: int) -> set[tuple[int, int]]:
        """Return the pairs whose residual arc has a reduced cost below minus epsilon."""
        return {
            (x, y)
            for x in range(self.n)
            for y in range(self.n)
            if self.reduced(now, x, y) * (1 - 2 * int(now["flow"][x * self.n + y])) < -eps
        }


class Words:
    """Tells one run, event by event; see `papers.common.evidence.trace.story.Teller`.

    Attributes
    ----------
    tallies : dict of str to ndarray
        ``eps``: epsilon, the device's; 0 before the first refine.
    """

    def __init__(self, units: Units) -> None:
        self.units = units
        self.threads, self.refines = 1, 0
        self.wrong: set[tuple[int, int]] = set()
        self.tallies = {"eps": np.zeros(1, np.int64)}

    def __call__(self, event: Event, now: Arrays) -> Told | None:
        """Tell an event, by its kernel and array."""
        if event.kind == "launch":
            return self._launch(event, now)
        if event.site is None or event.kind == "barrier":
            return None
        if event.kernel == "start_refine":
            return self._start(event)
        if event.kernel != "refine":
            return None
        if event.array == "flags":
            return self._lack(event)
        if event.kind == "load":
            return self._read(event)
        if event.array not in ("flow", "price"):
            return None
        told = self._push(event) if event.array == "flow" else self._relabel(event)
        return self._judged(now, told)

    def _launch(self, event: Event, now: Arrays) -> Told:
        self.threads = event.new
        if event.kernel == "refine":
            self.wrong = self.units.violated(now, int(self.tallies["eps"][0]))
        more = ""
        if event.kernel == "start_refine":
            eps = self.units.epsilons[self.refines]
            self.tallies["eps"][0] = eps
            self.refines += 1
            more = f" Epsilon is {self.units.cost(eps)}."
        return Told("launch", LAUNCHES.get(event.kernel, event.kernel) + more)

    def _start(self, event: Event) -> Told | None:
        if event.array != "price" or not event.changes:
            return None
        sentence = (
            "Every x holds a unit, and prices itself so that its cheapest arc costs minus epsilon; "
            "every y lacks one."
        )
        return Told("start", sentence, (f"m.r{event.index}",), True)

    def _lack(self, event: Event) -> Told:
        count = int(event.new)
        left = f"{count} of the y still lack" if count else "None lacks: the pseudoflow is a flow"
        return Told("lack_filled", f"A y that lacked its unit has it. {left}.")

    def _read(self, event: Event) -> Told | None:
        assert event.site is not None
        if event.site.function != "least_arc":
            return None
        reader = self.units.name(event.block * self.threads + event.thread)
        name, value = self.units.name(event.index), self.units.price(event.index, event.old)
        sentence = f"{reader} reads {name}'s price: {value}."
        return Told("read_least", sentence, self._head(event.index))

    def _head(self, node: int) -> tuple[str, ...]:
        n = self.units.n
        return (f"m.r{node}" if node < n else f"m.c{node - n}", f"p.{self.units.name(node)}")

    def _push(self, event: Event) -> Told:
        x, y = divmod(event.index, self.units.n)
        part = (f"m.{x}.{y}",)
        if event.new == 1:
            sentence = f"x{x + 1} sends its unit to y{y + 1}: that arc is admissible."
        else:
            sentence = f"y{y + 1} sends the unit of x{x + 1} back: it has one too many."
        return Told("push", sentence, part)

    def _relabel(self, event: Event) -> Told:
        name = self.units.name(event.index)
        before = self.units.price(event.index, event.old)
        after = self.units.price(event.index, event.new)
        return Told(
            "relabel",
            f"{name} lowers its price from {before} to {after}: its least arc costs minus epsilon "
            "then.",
            self._head(event.index),
        )

    def _judged(self, now: Arrays, told: Told) -> Told:
        """Add to what is told whether a residual arc has come to lie below minus epsilon."""
        before, self.wrong = self.wrong, self.units.violated(now, int(self.tallies["eps"][0]))
        for x, y in self.wrong - before:
            cost = self.units.reduced(now, x, y) * (1 - 2 * int(now["flow"][x * self.units.n + y]))
            return Told(
                "violated",
                f"{told.sentence} Others have moved since it looked: the residual arc between "
                f"x{x + 1} and y{y + 1} costs {self.units.cost(cost)}, less than minus epsilon.",
                (*told.focus, f"m.{x}.{y}"),
            )
        if before - self.wrong:
            sentence = f"{told.sentence} The violation has ended."
            return Told("mended", sentence, told.focus)
        return told


class Pictures:
    """The panels of an assignment."""

    def __init__(self, units: Units) -> None:
        self.units = units

    def panels(self) -> Sequence[Panel]:
        """Return reduced costs, prices and arrays."""
        n = self.units.n
        names = [self.units.name(node) for node in range(2 * n)]
        lines = {"price of x": n, "price of y": n, "excess of x": n, "excess of y": n}
        return (
            Matrix(
                "m", "Reduced costs", names[:n], names[n:], self._cell, self._row, self._column,
                '<span class="key star">\N{BLACK STAR}</span> holds a unit of flow; '
                '<span class="key prime">blue</span> is admissible; '
                '<span class="key lost">red</span> lies below minus epsilon. A head that is '
                '<span class="key reached">filled</span> is active.',
            ),
            Bars("p", "Prices", names, self._bar, "Prices only fall (Lemma 5.2)."),
            Vectors(
                "v", "Arrays", lines | {"epsilon": 1, "y that lack": 1}, self._element,
                "As on the page: the device multiplies costs by |V| + 1 and shifts them, so that "
                "the last epsilon is 1 there.", 1,
            ),
        )  # fmt: skip

    def _cell(self, now: Arrays, x: int, y: int) -> Look:
        if unset(now["price"][0]) or not now["eps"][0]:
            cost = int(now["cost"][x * self.units.n + y])
            return Look(self.units.cost(cost - self.units.shift * self.units.factor), "unset")
        value, eps = self.units.reduced(now, x, y), int(now["eps"][0])
        full = now["flow"][x * self.units.n + y] == 1
        residual = -value if full else value
        classes = ["star"] if full else ["prime"] if residual < 0 else []
        if residual < -eps:
            classes = ["lost"]
        text = self.units.cost(value) + ("\N{BLACK STAR}" if full else "")
        return Look(text, " ".join(classes))

    def _row(self, now: Arrays, x: int) -> Look:
        return Look(self.units.name(x), self._active(now, x))

    def _column(self, now: Arrays, y: int) -> Look:
        return Look(self.units.name(self.units.n + y), self._active(now, self.units.n + y))

    def _active(self, now: Arrays, node: int) -> str:
        value = now["excess"][node]
        return "" if unset(value) else "reached" if value > 0 else "free" if value < 0 else ""

    def _bar(self, now: Arrays, bar: str) -> tuple[float, Look]:
        node = int(bar[1:]) - 1 + (self.units.n if bar[0] == "y" else 0)
        value = now["price"][node]
        if unset(value):
            return 0.0, NEVER
        own = int(value) + (self.units.shift * self.units.factor if bar[0] == "x" else 0)
        high = (own + 2 * self.units.most) / (4 * self.units.most)
        return high, Look(self.units.cost(own), "free" if bar[0] == "y" else "")

    def _element(self, now: Arrays, line: str, index: int) -> Look:
        if line == "epsilon":
            return Look(self.units.cost(int(now["eps"][0]))) if now["eps"][0] else NEVER
        if line == "y that lack":
            return Look(str(now["flags"][0]))
        array, _, side = line.partition(" of ")
        node = index + (self.units.n if side == "y" else 0)
        value = now[array][node]
        if unset(value):
            return NEVER
        return Look(self.units.price(node, int(value)) if array == "price" else shown(value.item()))
