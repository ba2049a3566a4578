"""What every interleaving of the flow kernels must keep to, checked at every store and launch.

Between two launches heights are a distance function but for the *transient case* [LU11 sec.4.4]:
x has read the height of y, y is lifted, and x then pushes up to it. The arc (y, x) that this opens
is violated, h(y) > h(x) + 1. By Hong's rule y pushes to its lowest neighbour first, so that the
arc is closed again by y's next pushes, or all that it can carry still lies at y: that is what the
host's cancelling relies on.
"""

import numpy as np

from papers.lupinska_costscale.flow import global_relabeling
from papers.lupinska_costscale.flow.residuals import Split
from papers.lupinska_costscale.flow.settle import excesses


class Watch:
    """Checks every store and every launch; its counts tell what has been seen.

    Heights never fall within a launch (but those of arrays in `falling`), nothing is ever negative,
    and no excess comes to a node before the arc back to where it came from is open.
    """

    def __init__(self, falling=()):
        self.falling, self.heights, self.stores = falling, {}, 0
        self.violated = self.cancelled = 0
        self.tails = self.heads = self.residual = self.excess = self.opened = None

    def __call__(self, kind, name, index, value):
        name = name.rpartition(".")[2]  # of a field of a named tuple: without the tuple's
        if name in ("excess", "residual", "to_sink", "to_source", "height"):
            self.stores += 1
            assert value >= 0, (name, index, value)
        if name == "height" and name not in self.falling:
            assert value >= self.heights.get(index, 0), (index, value)
            self.heights[index] = value
        if self.residual is not None and name == "residual":
            self.opened[self.tails[index]] += max(0, value - self.residual[index])
            self.residual[index] = value
        if self.residual is not None and name == "excess" and index < len(self.opened):
            self.opened[index] -= max(0, value - self.excess[index])
            self.excess[index] = value
            assert self.opened[index] >= 0, f"excess has come to node {index} before its arc"

    def over(self, state):
        """Have each of a state's launches checked."""
        self.tails, self.heads = (ends.tolist() for ends in ends_of(state.prepared.parts.arcs))
        for step, launch in state.launches.items():
            self._check(launch, state, step == "settle")

    def _check(self, launch, state, settling):
        problem, a = state.prepared, state.arrays
        pulled = "pull" not in state.launches or launch.name != "push_phase"

        def checking(enqueue):
            self.heights = {} if launch.name == "restore" else dict(enumerate(a["height"].tolist()))
            self.residual = None if launch.name == "restore" else a["residual"].tolist()
            self.excess, self.opened = a["excess"].tolist(), [0] * problem.n
            enqueue()
            if pulled:
                conserved(problem, a, settling)
                if (
                    launch.name != "hybrid_async"
                ):  # asynchronous searches may lift too high: see `wave`
                    self.explained(a["residual"], a["excess"], a["height"])

        launch.on_enqueue = checking

    def explained(self, residual, excess, height):
        """Every violated arc is a transient case: what it can carry lies at its tail."""
        tails, heads = np.array(self.tails, int), np.array(self.heads, int)
        violated = violations(tails, heads, residual, height)
        owed = np.bincount(tails[violated], residual[violated], height.size)
        self.violated += int(violated.sum())
        assert (owed <= excess[: height.size]).all(), "a violated arc outlives its excess"

    def cancel(self, arcs, between, excess, height):
        """The host's `cancel`, behind which Definition 4.1 must hold: h(x) <= h(y) + 1."""
        self.cancelled += HOST_CANCEL(arcs, between, excess, height)
        left = violations(*ends_of(arcs), between, height)
        assert not left.any(), "a violated arc is left behind cancelling"


HOST_CANCEL = global_relabeling.cancel


def ends_of(arcs):
    """Tails and heads of all arcs; an arc out of the image leads to its own tail."""
    nodes = np.arange(arcs.nodes)
    if arcs.offset.size:
        tails = np.tile(nodes, arcs.offset.size)
        heads = np.concatenate([nodes + step for step in arcs.offset])
        return tails, np.where((heads >= 0) & (heads < arcs.nodes), heads, tails)
    return np.repeat(nodes, np.diff(arcs.first)), arcs.head.astype(int)


def violations(tails, heads, residual, height):
    """Residual arcs with h(x) > h(y) + 1."""
    return (residual > 0) & (height[tails] > height[heads] + 1)


def conserved(problem, a, settling=False):
    """No unit is lost; excess is what came in less what went out; arc and mate keep their sum.

    When excess is sent back, the terminals are exchanged: what arrives is at the source.
    """
    parts = problem.parts
    at_sink = (parts.sink - a["to_sink"]).sum()
    if settling:
        back = (parts.source - a["to_source"]).sum()
        assert a["excess"][: problem.n].sum() + at_sink + back == problem.total
    else:
        # Grids by tiles keep no e(t).
        assert a["excess"][problem.n + 1] == (0 if "mask" in a or "waiting" in a else at_sink)
        assert a["excess"][:-1].sum() + at_sink == problem.total
    now = Split(
        parts.arcs, a["residual"].astype(np.int64), parts.source - a["to_source"],
        a["to_sink"].astype(np.int64), 0,
    )  # fmt: skip
    assert (excesses(parts, now) == a["excess"][: problem.n]).all()
    if parts.arcs.mate.size:
        mate = parts.arcs.mate
        assert (now.between + now.between[mate] == parts.between + parts.between[mate]).all()
