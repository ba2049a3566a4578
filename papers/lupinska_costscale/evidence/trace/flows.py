"""Maximum flows: the words of [LU11 sec.4.4], and panels of excess, capacity and height."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from papers.common.evidence.trace.panels import (
    NEVER,
    Arrays,
    Bars,
    Graph,
    Look,
    Panel,
    Vectors,
    shown,
    unset,
)
from papers.common.evidence.trace.story import Told, Word
from papers.common.executor.recorder import Event
from papers.lupinska_costscale.flow.prepare import Prepared
from papers.lupinska_costscale.flow.residuals import arc, degree, end, mate

WORDS = {
    "launch": Word("a launch", "Algorithms 4.5 and 4.6"),
    "restore": Word("saturate the source", "Algorithm 4.7"),
    "read_lowest": Word("read a height", "Algorithm 4.5, lines 3 to 9", minor=True),
    "push": Word("push", "Algorithm 4.5, lines 11 to 15"),
    "uphill": Word("push uphill", "Algorithm 4.5, lines 11 to 15; a height was read too early"),
    "home": Word("push home", "Algorithm 4.5: back to the source"),
    "lift": Word("lift", "Algorithm 4.5, line 17"),
    "cancel": Word("cancel", "Algorithm 4.8, global relabeling, lines 1 to 6"),
    "redraw": Word("draw heights anew", "Algorithm 4.8, lines 7 to 13, and Algorithm 4.4"),
}
"""Kinds of events in the order of the paper."""

LAUNCHES = {
    "restore": "Begin: the arcs from the source are saturated, all heights are 0.",
    "lock_free": "A thread a node operates it as long as it is active.",
    "hybrid": "A thread a node operates it CYCLE times; then the host relabels.",
}
"""The purpose of each launch."""

WIDTH = 5
"""Nodes in a row of the drawing of a network that is no grid."""


class Network:
    """The nodes and arcs of a prepared instance, by names and places for drawing.

    Attributes
    ----------
    names : list of str
        a, b, ... in the order of the nodes.
    arcs : dict of int to (int, int)
        Tail and head by the index of the arc, of those that can ever have capacity.
    """

    def __init__(self, ready: Prepared) -> None:
        self.ready, self.n, self.nodes = ready, ready.n, ready.nodes
        self.names = [chr(ord("a") + x) for x in range(ready.n)]
        arcs, between = ready.parts.arcs, ready.parts.between
        self.arcs: dict[int, tuple[int, int]] = {}
        for x in range(ready.n):
            for k in range(degree(arcs, x)):
                here, there = int(arc(arcs, x, k)), int(end(arcs, x, k))
                if between[here] or (0 <= there < ready.n and between[mate(arcs, x, k)]):
                    self.arcs[here] = x, there

    @cached_property
    def places(self) -> dict[str, tuple[float, float]]:
        """Where vertices are drawn: a grid as an image, between source and sink."""
        image = self.ready.image
        width = image.shape[1] if image is not None else min(self.n, WIDTH)
        rows = -(-self.n // width)
        step, beside = 1.35, rows > 1
        left, above = (1.2, 0.0) if beside else (0.0, 1.3)
        found = {
            name: (left + step * (x % width), above + step * (x // width))
            for x, name in enumerate(self.names)
        }
        middle, lower = step * (width - 1) / 2, step * (rows - 1) / 2
        if beside:
            return found | {"s": (0.0, lower), "t": (left + step * (width - 1) + 1.2, lower)}
        return found | {"s": (middle, 0.0), "t": (middle, above + 1.3)}

    @property
    def edges(self) -> list[tuple[str, str]]:
        """All arcs by names, those of the terminals too."""
        parts = self.ready.parts
        found = [(self.names[x], self.names[y]) for x, y in self.arcs.values()]
        found += [(self.names[x], "s") for x in range(self.n) if parts.source[x]]
        return found + [(self.names[x], "t") for x in range(self.n) if parts.sink[x]]

    def residual(self, now: Arrays, first: str, second: str) -> int:
        """Return what an arc still takes; 0 before the first launch."""
        x = self.names.index(first)
        if second in ("s", "t"):
            value = now["to_source" if second == "s" else "to_sink"][x]
        else:
            y = self.names.index(second)
            value = now["residual"][self.index[x, y]]
        return 0 if unset(value) else int(value)

    @cached_property
    def index(self) -> dict[tuple[int, int], int]:
        """The index of the arc between two nodes."""
        return {ends: here for here, ends in self.arcs.items()}


class Words:
    """Tells one run, event by event; see `papers.common.evidence.trace.story.Teller`."""

    def __init__(self, network: Network) -> None:
        self.net = network
        self.threads = 1
        self.sent: dict[int, tuple[str, int]] = {}  # by node: to whom it pushes, and the height

    def __call__(self, event: Event, now: Arrays) -> Told | None:
        """Tell an event, by its array."""
        if event.kind == "launch":
            self.threads, self.sent = event.new, {}
            size = f" {event.old} block{'s' * (event.old > 1)} of {event.new} threads."
            return Told("launch", LAUNCHES.get(event.kernel, event.kernel) + size)
        if event.kind == "host":
            return self._host(event)
        if event.site is None or event.array == "tally":
            return None
        if event.kernel == "restore":
            return self._restore(event)
        node = event.block * self.threads + event.thread
        if event.array == "height":
            return self._height(event, node)
        return self._push(event, node, now)

    def _restore(self, event: Event) -> Told | None:
        if event.array != "excess" or event.index >= self.net.n or not event.new:
            return None
        part = (f"g.{self.net.names[event.index]}",)
        return Told("restore", "What leaves the source lies at its neighbours now.", part, True)

    def _host(self, event: Event) -> Told | None:
        if event.array == "height":
            sentence = (
                "The host searches from the sink and draws all heights anew: the distance, or |V| "
                "where there is no way."
            )
            return Told("redraw", sentence, (f"h.{self.net.names[event.index]}",), True)
        if event.array in ("residual", "excess"):
            part: tuple[str, ...] = ()
            if event.array == "excess" and event.index < self.net.n:
                part = (f"g.{self.net.names[event.index]}",)
            elif event.array == "residual":
                x, y = self.net.arcs[event.index]
                part = (f"g.{self.net.names[x]}-{self.net.names[y]}",)
            sentence = (
                "The host cancels each residual arc that leads down more than one step: it pushes "
                "along it what lies at its tail."
            )
            return Told("cancel", sentence, part, True)
        return None

    def _height(self, event: Event, node: int) -> Told:
        name = self.net.names[event.index]
        if event.kind == "load":
            reader = self.net.names[node]
            return Told(
                "read_lowest", f"{reader} reads {name}'s height: {event.old}.", (f"h.{name}",)
            )
        return Told(
            "lift",
            f"Nothing that {name} may push to is lower: it is lifted from {event.old} to "
            f"{event.new}, just above the lowest.",
            (f"h.{name}", f"g.{name}"),
        )

    def _push(self, event: Event, node: int, now: Arrays) -> Told | None:
        name = self.net.names[node]
        if event.array in ("to_sink", "to_source"):
            self.sent[node] = ("t", 0) if event.array == "to_sink" else ("s", self.net.nodes)
            return None
        if event.array == "residual" and event.new < event.old:
            y = self.net.arcs[event.index][1]
            self.sent[node] = self.net.names[y], int(now["height"][y])
            return None
        if event.array != "excess" or event.new < event.old:
            return None
        to, height = self.sent[node]
        amount, own = event.new - event.old, int(now["height"][node])
        parts = (f"g.{name}-{to}", f"g.{to}", f"g.{name}")
        units = f"{amount} unit{'s' * (amount > 1)}"
        if to == "s":
            sentence = f"{name} pushes {units} home to the source: no other way is left."
            return Told("home", sentence, parts)
        if to != "t" and height >= own:
            return Told(
                "uphill",
                f"{name}, at {own}, pushes {units} to {to}, which stands at {height}: it was lower "
                "when its height was read.",
                parts,
            )
        where = "the sink" if to == "t" else f"{to}, at {height}"
        return Told("push", f"{name}, at {own}, pushes {units} down to {where}.", parts)


class Pictures:
    """The panels of a network."""

    def __init__(self, network: Network) -> None:
        self.net = network

    def panels(self) -> Sequence[Panel]:
        """Return the network, the heights and the arrays."""
        n = self.net.n
        return (
            Graph(
                "g", "Excess and residual capacity", self.net.places, self.net.edges,
                self._vertex, self._edge,
                "A vertex has its excess behind its name, an arc what it still takes. "
                '<span class="key reached">Filled</span> vertices are active.',
                directed=True,
            ),
            Bars(
                "h", "Heights", [*self.net.names, "s"], self._bar,
                "Flow runs down. The source stands at |V|; what is higher sends its excess home.",
            ),
            Vectors(
                "v", "Arrays", {"excess": n, "height": n, "to_source": n, "to_sink": n},
                self._element, "Node a is 0, b is 1, and so on.",
            ),
        )  # fmt: skip

    def _vertex(self, now: Arrays, vertex: str) -> Look:
        place = {"s": self.net.n, "t": self.net.n + 1}.get(vertex)
        excess = now["excess"][self.net.names.index(vertex) if place is None else place]
        if unset(excess):
            return Look(vertex)
        active = place is None and excess > 0
        classes = "reached" if active else "green" if vertex == "t" and excess else ""
        return Look(f"{vertex}\N{MIDDLE DOT}{excess}" if excess else vertex, classes)

    def _edge(self, now: Arrays, first: str, second: str) -> Look:
        left = self.net.residual(now, first, second)
        return Look(str(left), "on") if left else Look("", "off")

    def _bar(self, now: Arrays, bar: str) -> tuple[float, Look]:
        nodes = self.net.nodes
        if bar == "s":
            return nodes / (nodes + 3), Look(str(nodes), "free")
        x = self.net.names.index(bar)
        height = now["height"][x]
        if unset(height):
            return 0.0, NEVER
        active = now["excess"][x] > 0
        return float(height) / (nodes + 3), Look(str(height), "lost" if active else "")

    def _element(self, now: Arrays, line: str, index: int) -> Look:
        value = now[line][index]
        return NEVER if unset(value) else Look(shown(value.item()))
