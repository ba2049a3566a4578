"""`alpha_expansion`: an image with many labels, by minimum cuts of two.

A move offers one label to every pixel; the best set of pixels to take it is a minimum cut. Moves go
round the labels until none lowers the energy. Source: Y. Boykov, O. Veksler, R. Zabih, IEEE TPAMI
23, 2001; the arcs of a move: V. Kolmogorov, R. Zabih, IEEE TPAMI 26, 2004.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from papers.common.deadline import Deadline, check_seconds
from papers.common.problems.network import (
    CAPACITY_LIMIT,
    EIGHT,
    FOUR,
    Grid,
    NetworkError,
    whole_numbers,
)
from papers.synthesis.calls.choice import Machine
from papers.synthesis.calls.flow import Wishes, choice_for, run
from papers.synthesis.calls.places import place
from papers.synthesis.calls.recycling import carried_over, ends

TELLS_A_FLOW = ("lupinska_costscale:gpu_relabel", "lupinska_costscale:push_relabel")
"""Solvers whose residual capacities cost nothing more: the next move of the label starts there."""


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
    solver : str
    """

    labels: Any
    energy: int
    moves: int
    sweeps: int
    recycled: int
    solver: str


@dataclass(frozen=True)
class Energy:
    """The energy of labels, checked.

    Attributes
    ----------
    unary : int64[height, width, labels]
    weights : dict of str to int64[height, width]
        By forward direction; 0 where an arc would leave the image.
    metric : int64[labels, labels]
    """

    unary: np.ndarray
    weights: dict[str, np.ndarray]
    metric: np.ndarray

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width."""
        return self.unary.shape[0], self.unary.shape[1]

    def of(self, labels: np.ndarray) -> int:
        """Return the energy of some labels."""
        total = int(np.take_along_axis(self.unary, labels[:, :, None], axis=2).sum())
        for name, weight in self.weights.items():
            here, there = ends(self.shape, name)
            total += int((weight[here] * self.metric[labels[here], labels[there]]).sum())
        return total

    def move(self, labels: np.ndarray, alpha: int) -> Grid:
        """Return the grid whose minimum cut is the best expansion of a label.

        Pixels on the sink's side take the label. Of a pair with the energies ``a`` (both keep),
        ``b`` (the second takes it), ``c`` (the first does) and 0 (both do), the arc has the
        capacity ``b + c - a``, the first pixel pays ``c - a`` for the label, the second ``-c``.
        """
        takes = self.unary[:, :, alpha].copy()
        keeps = np.take_along_axis(self.unary, labels[:, :, None], axis=2)[:, :, 0]
        arcs = {name: np.zeros(self.shape, np.int64) for name in _directions(self.weights)}
        for name, weight in self.weights.items():
            here, there = ends(self.shape, name)
            first, second, share = labels[here], labels[there], weight[here]
            a = share * self.metric[first, second]
            b, c = share * self.metric[first, alpha], share * self.metric[alpha, second]
            arcs[name][here] = b + c - a
            takes[here] += c - a
            takes[there] -= c
        common = np.minimum(takes, keeps)
        return Grid(takes - common, keeps - common, arcs)


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
    if sweeps is not None and sweeps < 1:
        raise NetworkError(f"sweeps={sweeps!r} is no number of rounds")
    placed = place(unary)
    energy = energy_of(placed.on_host(), arcs, metric, connectivity)
    start = _start(energy, labels)
    found = _Moves(energy, Wishes(seconds, device, solver, explain=explain))
    rounds = found.until_still(start, sweeps)
    return Expansion(
        placed.back(start), energy.of(start), found.moves, rounds, found.recycled, found.solver
    )


class _Moves:
    """The moves of a call, with the last residual capacities of each label."""

    def __init__(self, energy: Energy, wishes: Wishes) -> None:
        self.energy, self.wishes = energy, wishes
        self.deadline = Deadline(wishes.seconds)
        self.kept: dict[int, tuple[Grid, Any]] = {}
        self.moves = self.recycled = 0
        choice = choice_for(energy.move(np.zeros(energy.shape, np.int64), 0), wishes)
        self.solver = choice.solver
        if wishes.explain:
            print(choice.line(f"moves on {energy.shape[0]} x {energy.shape[1]} pixels"))

    def until_still(self, labels: np.ndarray, sweeps: int | None) -> int:
        """Move, in place, until no label lowers the energy; return the rounds."""
        count, rounds, still = self.energy.metric.shape[0], 0, 0
        while sweeps is None or rounds < sweeps:
            rounds += 1
            for alpha in range(count):
                still = 0 if self.expand(labels, alpha) else still + 1
                if still >= count:
                    return rounds
        return rounds

    def expand(self, labels: np.ndarray, alpha: int) -> bool:
        """Expand a label, in place, if that lowers the energy; whether it does."""
        self.deadline.check(f"{self.moves} moves", reached={"moves": self.moves})
        takes = ~self.cut(self.energy.move(labels, alpha), alpha)
        self.moves += 1
        moved = np.where(takes, alpha, labels)
        lower = self.energy.of(moved) < self.energy.of(labels)
        if lower:
            labels[...] = moved
        return lower

    def left(self) -> float | None:
        """Seconds that are left of a limit; `expand` has checked that some are."""
        if self.deadline.seconds is None:
            return None
        return max(1e-9, self.deadline.seconds - (time.perf_counter() - self.deadline.began))

    def cut(self, grid: Grid, alpha: int) -> np.ndarray:
        """Return the source's side of a minimum cut, from the label's last flow if one is kept."""
        whole = grid
        if alpha in self.kept:
            whole = carried_over(grid, *self.kept[alpha])
            self.recycled += 1
        flow = run(self.solver, whole, replace(self.wishes, seconds=self.left()))
        if self.solver in TELLS_A_FLOW:
            self.kept[alpha] = grid, flow.residual
        return flow.source_side


# ------------------------------------------------------------------------------- checks


def energy_of(unary: np.ndarray, arcs: Any, metric: Any, connectivity: int) -> Energy:
    """Check the parts of an energy; see `alpha_expansion`."""
    unary = _whole(unary, "unary")
    if unary.ndim != 3 or 0 in unary.shape:
        raise NetworkError(f"unary has height, width and labels, not shape {unary.shape}")
    if isinstance(connectivity, bool) or connectivity not in (4, 8):
        raise NetworkError(f"connectivity={connectivity!r} is neither 4 nor 8")
    shape, count = unary.shape[:2], unary.shape[2]
    distances = 1 - np.eye(count, dtype=np.int64) if metric is None else _whole(metric, "metric")
    _check_metric(distances, count)
    names = (FOUR if connectivity == 4 else EIGHT)[::2]
    weights = {name: _weights(arcs, name, names, shape) for name in names}
    heaviest = int(distances.max(initial=0)) * sum(int(w.max()) for w in weights.values())
    if 4 * unary[:, :, 0].size * (2 * heaviest + int(np.abs(unary).max())) >= CAPACITY_LIMIT:
        raise NetworkError("the energies add up to 2**60 or more")
    return Energy(unary, weights, distances)


def _whole(values: Any, name: str) -> np.ndarray:
    """Return whole numbers of either sign as int64."""
    array = np.asarray(values)
    if array.dtype.kind == "f" and np.isfinite(array).all() and (array == np.floor(array)).all():
        array = array.astype(np.int64)
    if array.dtype.kind not in "biu":
        raise NetworkError(f"{name} holds a value that is no whole number: scale and round it")
    return array.astype(np.int64)


def _check_metric(metric: np.ndarray, count: int) -> None:
    if metric.shape != (count, count):
        raise NetworkError(f"metric has shape {metric.shape}, there are {count} labels")
    if (metric < 0).any() or metric.diagonal().any() or (metric != metric.T).any():
        raise NetworkError("metric is not symmetric, negative, or not 0 between equal labels")
    for alpha in range(count):
        if (metric > metric[:, alpha, None] + metric[alpha]).any():
            raise NetworkError(f"metric has a detour over label {alpha} that is shorter")


def _weights(arcs: Any, name: str, names: tuple[str, ...], shape: tuple[int, int]) -> np.ndarray:
    if hasattr(arcs, "items"):
        if set(arcs) != set(names):
            raise NetworkError(f"arcs have the directions {', '.join(names)}, not {list(arcs)}")
        arcs = arcs[name]
    given = whole_numbers(place(arcs).on_host(), name)
    try:
        whole = np.broadcast_to(given, shape)
    except ValueError:
        raise NetworkError(f"{name} has shape {given.shape}, unary {shape}") from None
    weights, (here, _) = np.zeros(shape, np.int64), ends(shape, name)
    weights[here] = whole[here]
    return weights


def _start(energy: Energy, labels: Any) -> np.ndarray:
    if labels is None:
        return energy.unary.argmin(axis=2).astype(np.int64)
    start = _whole(place(labels).on_host(), "labels").copy()
    count = energy.metric.shape[0]
    if start.shape != energy.shape or not 0 <= start.min() <= start.max() < count:
        raise NetworkError(f"labels are no numbers of 0 .. {count - 1} of shape {energy.shape}")
    return start


def _directions(weights: dict[str, np.ndarray]) -> tuple[str, ...]:
    return FOUR if len(weights) == 2 else EIGHT
