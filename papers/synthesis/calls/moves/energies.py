"""The energy of an image's labels, checked, and the grid of a move that lowers it.

`expansion` has the moves and their sources. Where their capacities are made on the device
(`moves`), kernels do the arithmetic of `Energy.move`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from papers.common.problems.network import (
    CAPACITY_LIMIT,
    EIGHT,
    FOUR,
    Grid,
    NetworkError,
    whole_numbers,
)
from papers.synthesis.calls.moves.recycling import ends
from papers.synthesis.calls.places import place


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
    dearest = max(int(unary.max()), -int(unary.min()))
    if 4 * unary[:, :, 0].size * (2 * heaviest + dearest) >= CAPACITY_LIMIT:
        raise NetworkError("the energies add up to 2**60 or more")
    return Energy(unary, weights, distances)


def _whole(values: Any, name: str) -> np.ndarray:
    """Return whole numbers of either sign as int64; none is as large as an energy may be."""
    array = np.asarray(values)
    if array.size and array.dtype.kind in "iuf":
        most, least = array.max(), array.min()
        if np.isfinite([most, least]).all() and max(int(most), -int(least)) >= CAPACITY_LIMIT:
            raise NetworkError(f"{name} holds a value of 2**62 or more in size: energies overflow")
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


def labels_of(energy: Energy, labels: Any) -> np.ndarray:
    """Check labels to start from, or take the cheapest of each pixel; a new int64[height, width].

    Raises
    ------
    NetworkError
        For labels that are none.
    """
    if labels is None:
        return energy.unary.argmin(axis=2).astype(np.int64)
    start = _whole(place(labels).on_host(), "labels").copy()
    count = energy.metric.shape[0]
    if start.shape != energy.shape or not 0 <= start.min() <= start.max() < count:
        raise NetworkError(f"labels are no numbers of 0 .. {count - 1} of shape {energy.shape}")
    return start


def _directions(weights: dict[str, np.ndarray]) -> tuple[str, ...]:
    return FOUR if len(weights) == 2 else EIGHT
