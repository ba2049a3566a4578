"""Bounds on the work of a maximum flow: a wrong kernel meets them soon, a right one never does.

``4 |V|^2 |E|`` operations [LU11 sec.4.4] are 4e17 for 512 x 512 pixels: no run can come so far. Two
smaller bounds hold as well, of which the second one is met within seconds.

**Relabels.** A relabel lifts a node by a level at least, and no node is ever above ``2 |V|``
[LU11 sec.4.1]: there are at most `most_relabels`, ``2 |V|^2``.

**Rounds in a row without a relabel.** A round lets every active node operate ``pushes`` times if it
stays active so long. As long as no height changes, excess only goes down. Consider the highest
level L that has active nodes: nothing comes to it from above. A push of a node there closes an
arc, for good as long as heights stand, or takes all of the node's excess; so after ``d + 3`` pushes
(``d`` arcs, those to the terminals, and the last one) the node is idle, or no lower neighbour is
left and the next operation is a relabel. Every ``(d + 3) / pushes`` rounds, rounded up, the highest
level falls. So without a relabel no node is active after `longest_stretch`, ``L + 1`` times as many
rounds. A kernel that pushes to and fro for ever is found out by this: L is some hundreds on an
image, and |V| at most.

Heights change by global relabeling, too. So the host looks at them before it gives up: a stretch
begins anew if their sum has changed. In the asynchronous version a search may lift nodes too high,
and the host lowers them again; should one launch after the other do that and nothing else, then
that counts as standing still. This is our bound: the paper has none.

Together they bound the rounds of every version: ``2 |V|^2`` relabels or other lifts, and a stretch
between two of them. Where a round pushes all that can go (`blocking`), levels fall by no more than
they were lifted before, so that all stretches together are no longer than ``|V|^2`` rounds.

The code on the CPU (`flow.baselines.push_relabel`) is held to the same: a pass of its queue is a
round that pushes all that can go, in at most a push for each arc and one for each node.
"""

from __future__ import annotations

import numpy as np

from papers.lupinska_costscale.flow.residuals import Arcs

ALL = 2**31 - 1
"""The pushes of a node in a round that sends on all that can go."""


def most_relabels(nodes: int) -> int:
    """Return how often nodes are relabeled in a run at most: ``2 |V|^2``."""
    return 2 * nodes * nodes


def largest_degree(arcs: Arcs) -> int:
    """Return the largest number of arcs of a node, those to the terminals not counted."""
    if arcs.offset.size:
        return int(arcs.offset.size)
    return int(np.diff(arcs.first).max(initial=0))


def longest_stretch(highest: int, degree: int, pushes: int) -> int:
    """Return how many rounds in a row there can be in which nodes are active and none is relabeled.

    Parameters
    ----------
    highest : int
        The height of the highest active node, or more.
    degree : int
        See `largest_degree`.
    pushes : int
        Operations of an active node in a round, at least 1; `ALL` of a round that sends on all.
    """
    return (highest + 1) * -(-(degree + 3) // pushes)


class Stretch:
    """The rounds that a run has just made without any relabel."""

    def __init__(self) -> None:
        self.rounds = self.before = 0.0
        self.most, self.climbed = 0, -1
        self.open = False

    def ends(self) -> None:
        """Note that a node was relabeled, or that none has moved."""
        self.open, self.rounds, self.before, self.climbed = False, 0.0, 0.0, -1

    def goes_on(self, rounds: float) -> bool:
        """Count rounds with a push; return whether the heights have to be looked at: `too_long`.

        The rounds of a turn on the device are counted together, and the push may be in the first
        of them: those before the turn must have been too many.
        """
        begins, self.open = not self.open, True
        self.before = self.rounds
        self.rounds += rounds
        return begins or self.before >= self.most

    def too_long(self, height: np.ndarray, highest: int, degree: int, pushes: int) -> bool:
        """Return whether it is; a stretch that has just begun, or whose heights moved, is not.

        Parameters
        ----------
        height : int32[n]
            The heights of now.
        highest, degree, pushes
            As in `longest_stretch`.
        """
        climbed = int(height.sum(dtype=np.int64))
        most = longest_stretch(highest, degree, pushes)
        if (climbed, most) == (self.climbed, self.most) and self.before >= most:
            return True
        self.climbed, self.most, self.rounds = climbed, most, 0.0
        return False
