"""`alpha_expansion`: an image with many labels, by minimum cuts of two.

A move offers one label to every pixel; the best set of pixels to take it is a minimum cut. Moves go
round the labels until none lowers the energy. Source: Y. Boykov, O. Veksler, R. Zabih, IEEE TPAMI
23, 2001; the arcs of a move: V. Kolmogorov, R. Zabih, IEEE TPAMI 26, 2004.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from papers.common.deadline import Deadline, check_seconds
from papers.common.problems.network import FlowError, Grid, NetworkError
from papers.synthesis.calls.choice import Machine
from papers.synthesis.calls.cuts.choosing import CUTTER, Wishes, choice_for
from papers.synthesis.calls.flow import run
from papers.synthesis.calls.moves.energies import Energy, energy_of, labels_of
from papers.synthesis.calls.moves.recycling import carried_over
from papers.synthesis.calls.places import place

TELLS_A_FLOW = (CUTTER, "lupinska_costscale:push_relabel")
"""Solvers whose residual capacities cost nothing more: the next move of the label starts there."""

ON_DEVICE = (CUTTER,)
"""Those of them whose moves are made on the device: see `papers.synthesis.calls.moves`."""


@dataclass(frozen=True)
class Expansion:
    """Labels that no expansion of one label improves.

    Attributes
    ----------
    labels : int64[height, width]
    energy : int
        Of these labels.
    moves, sweeps : int
        The minimum cuts that were found, and the rounds of all labels.
    recycled : int
        The moves that started from residual capacities.
    resident : int
        Those of them whose residual capacities had stayed on the device; the others' came from the
        host.
    solver : str
    """

    labels: Any
    energy: int
    moves: int
    sweeps: int
    recycled: int
    resident: int
    solver: str


def alpha_expansion(
    unary: Any,
    arcs: Any,
    metric: Any = None,
    labels: Any = None,
    connectivity: Literal[4, 8] = 4,
    *,
    sweeps: int | None = None,
    seconds: float | None = None,
    device: Machine = "auto",
    solver: str | None = None,
    explain: bool = False,
) -> Expansion:
    """Label an image so that no expansion of one label lowers the energy.

    The energy is the sum of ``unary[y, x, label]`` over pixels and of ``arcs * metric[label, other
    label]`` over neighbours. With the Potts metric it is at most twice the least there is.

    Parameters
    ----------
    unary : array_like of int[height, width, labels]
        The cost of each label at each pixel, of either sign; an array on a device is copied to the
        host.
    arcs : int, array_like of int[height, width], or mapping of str to either
        The weight of each pair of neighbours, not negative: of all, of the pairs in which a pixel
        is the first, or by direction (``right``, ``down``, and with 8 neighbours ``down_right``,
        ``down_left``).
    metric : array_like of int[labels, labels], optional
        A metric on labels; by default that of Potts, 1 for different ones.
    labels : array_like of int[height, width], optional
        The labels to start from; by default the cheapest of each pixel.
    connectivity : {4, 8}
        Neighbours of a pixel.
    sweeps : int, optional
        The most rounds of all labels; by default as many as lower the energy.
    seconds : float, optional
        The call gives up after so long.
    device, solver, explain
        As in `papers.grid_cut`.

    Returns
    -------
    Expansion

    Raises
    ------
    papers.common.problems.network.NetworkError
        A `ValueError`. For shapes that do not go together, values that are no whole numbers,
        negative weights, no metric, labels that are none, energies that would overflow.
    ValueError, RuntimeError
        As `papers.grid_cut`.
    papers.common.model.GivenUpError
        After `seconds`.

    Examples
    --------
    >>> from papers import alpha_expansion
    >>> alpha_expansion([[[0, 9, 5], [3, 2, 9], [9, 9, 0]]], arcs=3).labels.tolist()
    [[0, 0, 2]]
    """
    check_seconds(seconds)
    deadline = Deadline(seconds)
    whole = isinstance(sweeps, int | np.integer) and not isinstance(sweeps, bool)
    if sweeps is not None and not (whole and sweeps >= 1):
        raise NetworkError(f"sweeps={sweeps!r} is no number of rounds")
    placed = place(unary)
    energy = energy_of(placed.on_host(), arcs, metric, connectivity)
    start = labels_of(energy, labels)
    wishes = Wishes(seconds, device, solver, explain=explain)
    found = _Moves(energy, start, wishes, deadline)
    rounds = found.until_still(sweeps)
    return Expansion(
        placed.back(start), energy.of(start), found.moves, rounds,
        found.way.recycled, found.way.resident, found.solver,
    )  # fmt: skip


class _Moves:
    """The moves of a call, which changes its labels in place."""

    def __init__(
        self, energy: Energy, labels: np.ndarray, wishes: Wishes, deadline: Deadline
    ) -> None:
        self.energy, self.labels, self.now = energy, labels, energy.of(labels)
        self.deadline, self.moves = deadline, 0
        # The rules look at a move to another label: one to the label they have ties no pixel.
        another = energy.unary.shape[2] - 1
        choice = choice_for(energy.move(np.zeros(energy.shape, np.int64), another), wishes)
        self.solver = choice.solver
        if wishes.explain:
            print(choice.line(f"moves on {energy.shape[0]} x {energy.shape[1]} pixels"))
        self.way = self._on_device() or _OnHost(energy, labels, self.solver, wishes)

    def _on_device(self) -> Any:
        """The way of moves on the device; None where the solver, or the memory, has none."""
        if self.solver not in ON_DEVICE:
            return None
        from papers.synthesis.calls.moves import resident  # loads numba.cuda

        return resident.adopt(self.energy, self.labels)

    def until_still(self, sweeps: int | None) -> int:
        """Move until no label lowers the energy; return the rounds."""
        count, rounds, still = self.energy.metric.shape[0], 0, 0
        while sweeps is None or rounds < sweeps:
            rounds += 1
            for alpha in range(count):
                still = 0 if self.expand(alpha) else still + 1
                if still >= count:
                    return rounds
        return rounds

    def expand(self, alpha: int) -> bool:
        """Expand a label if that lowers the energy; whether it does.

        No flow is worth more than a cut weighs. So if the energy, added up anew, falls by as much
        as the flow's value says, the move is the best one; that the flow fits its capacities is the
        solver's word here.
        """
        left = self.deadline.left(f"{self.moves} moves", {"moves": self.moves})
        takes, lowered = self.way.cut(alpha, left)
        self.moves += 1
        moved = np.where(takes, alpha, self.labels)
        after = self.energy.of(moved) if takes.any() else self.now
        if not 0 <= lowered == self.now - after:
            told = f"its flow lowers the energy by {lowered}, its cut by {self.now - after}"
            raise FlowError(f"{self.solver}: move {self.moves} is not the best: {told}")
        if lowered:
            self.labels[...], self.now = moved, after
            self.way.give(alpha)
        return lowered > 0


class _OnHost:
    """Moves whose capacities are made on the host, with each label's last residual capacities.

    The attributes and methods are those of `moves.resident.Resident`.
    """

    def __init__(self, energy: Energy, labels: np.ndarray, solver: str, wishes: Wishes) -> None:
        self.energy, self.labels = energy, labels
        self.solver, self.wishes = solver, wishes
        self.kept: dict[int, tuple[Grid, Any]] = {}
        self.recycled = self.resident = 0

    def cut(self, alpha: int, seconds: float | None) -> tuple[np.ndarray, int]:
        """Return the pixels that take a label, and by how much the energy falls then."""
        whole = grid = self.energy.move(self.labels, alpha)
        if alpha in self.kept:
            whole = carried_over(grid, *self.kept[alpha])
            self.recycled += 1
        tells = self.solver in TELLS_A_FLOW
        flow = run(self.solver, whole, replace(self.wishes, seconds=seconds, flow=tells))
        if tells:
            self.kept[alpha] = grid, flow.residual
        return ~flow.source_side, int(whole.sink.sum()) - flow.value

    def give(self, alpha: int) -> None:
        """Do nothing: the labels are the caller's own."""
