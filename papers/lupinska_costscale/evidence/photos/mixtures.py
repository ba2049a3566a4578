"""Segmentation as in the paper's reference 17 (GrabCut): mixtures, strokes, rounds of cuts.

The colours of object and background are mixtures of Gaussians. They begin with a user's strokes;
each round cuts the grid of 8 neighbours and fits both mixtures anew to the two sides. A round
keeps the flow of the one before: arcs between pixels stay, and where a pixel's new capacity to a
terminal is below its flow, the same amount is added to both, which changes every cut alike
(Kohli and Torr, PAMI 2007).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from papers.common.instances.flows.image_energies import SEED_COST
from papers.common.model import Flow
from papers.common.problems.network import EIGHT, STEP, Grid, grid, inner

COMPONENTS = 5
SCALE = 10
"""Capacity of a unit of -log p."""

SMOOTHNESS = 50
"""The weight of a pair of neighbours of equal colour one pixel apart, in units of -log p."""

ROUNDS = 4


@dataclass(frozen=True)
class Mixture:
    """A mixture of Gaussians.

    Attributes
    ----------
    share : float64[k]
    mean : float64[k, channels]
    inverse : float64[k, channels, channels]
        Of the covariances.
    size : float64[k]
        Logarithms of the determinants of the covariances.
    """

    share: np.ndarray
    mean: np.ndarray
    inverse: np.ndarray
    size: np.ndarray

    def costs(self, colours: np.ndarray) -> np.ndarray:
        """Return -log p of the likeliest component of each colour, float64[pixels, k]."""
        away = colours[:, None] - self.mean
        distance = np.einsum("pki,kij,pkj->pk", away, self.inverse, away)
        return 0.5 * (distance + self.size) - np.log(self.share)


def fit(colours: np.ndarray, before: Mixture | None = None) -> Mixture:
    """Fit a mixture: components by the last one, or by k-means from far points.

    Parameters
    ----------
    colours : float64[pixels, channels]
    before : Mixture, optional
    """
    part = _k_means(colours) if before is None else before.costs(colours).argmin(axis=1)
    groups = [colours[part == k] for k in np.unique(part)]
    least = np.eye(colours.shape[1])  # a grey level or so: no covariance is singular
    spread = [np.atleast_2d(np.cov(g.T, bias=True)) + least for g in groups]
    share = np.array([len(g) for g in groups]) / len(colours)
    mean = np.array([g.mean(axis=0) for g in groups])
    size = np.array([np.linalg.slogdet(one)[1] for one in spread])
    return Mixture(share, mean, np.array([np.linalg.inv(one) for one in spread]), size)


def _k_means(colours: np.ndarray, turns: int = 10) -> np.ndarray:
    """The nearest of `COMPONENTS` centres, which begin far apart; no chance is in it."""
    centres = [colours.mean(axis=0)]
    for _ in range(COMPONENTS - 1):
        apart = np.min([((colours - c) ** 2).sum(axis=1) for c in centres], axis=0)
        centres.append(colours[apart.argmax()])
    place = np.array(centres)
    for _ in range(turns):
        part = ((colours[:, None] - place) ** 2).sum(axis=2).argmin(axis=1)
        for k in np.unique(part):
            place[k] = colours[part == k].mean(axis=0)
    return part


def pair_weights(photo: np.ndarray) -> dict[str, np.ndarray]:
    """Return the capacities between 8 neighbours: less where colours differ, less diagonally."""
    values = photo.astype(np.float64)
    apart = {name: ((values - _moved(values, *STEP[name])) ** 2).sum(axis=2) for name in EIGHT}
    inside = {name: inner(photo.shape[:2], name) for name in EIGHT}
    mean = np.mean(np.concatenate([apart[name][inside[name] > 0] for name in EIGHT])) or 1.0
    made = {}
    for name in EIGHT:
        weight = SMOOTHNESS * SCALE / np.hypot(*STEP[name]) * np.exp(-apart[name] / (2 * mean))
        made[name] = np.rint(weight).astype(np.int64) * inside[name]
    return made


def _moved(values: np.ndarray, down: int, right: int) -> np.ndarray:
    """Each pixel's neighbour; anything beyond the edge."""
    return np.roll(values, (-down, -right), axis=(0, 1))


def terminals(
    photo: np.ndarray, of: tuple[Mixture, Mixture], strokes: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the capacities from the source and to the sink; the source's side is the object."""
    colours = photo.reshape(-1, photo.shape[2]).astype(np.float64)
    costs = [np.rint(SCALE * one.costs(colours).min(axis=1)).astype(np.int64) for one in of]
    least = np.minimum(*costs)
    as_object, as_background = ((one - least).reshape(photo.shape[:2]) for one in costs)
    as_background, as_object = np.minimum([as_background, as_object], SEED_COST)
    as_background[strokes[0]], as_object[strokes[0]] = SEED_COST, 0
    as_object[strokes[1]], as_background[strokes[1]] = SEED_COST, 0
    return as_background, as_object


def kept_flow(before: Grid, found: Flow, source: np.ndarray, sink: np.ndarray) -> tuple[Grid, int]:
    """Return what is left of a grid with new terminals when it keeps the flow of the last cut.

    Parameters
    ----------
    before : Grid
    found : Flow
        A maximum flow of `before`.
    source, sink : int64[height, width]
        The new capacities.

    Returns
    -------
    Grid
    constant : int
        The value of the new grid with these terminals is that of the one returned plus this.
    """
    left = found.residual
    from_source = source - (before.source - left["source"])
    to_sink = sink - (before.sink - left["sink"])
    added = np.maximum(0, -np.minimum(from_source, to_sink))
    arcs = {name: np.asarray(left[name]) for name in before.arcs}
    return grid(from_source + added, to_sink + added, arcs), found.value - int(added.sum())


@dataclass(frozen=True)
class Round:
    """A round: its value, its work, and the object.

    Attributes
    ----------
    value : int
        Of the minimum cut.
    pushes, anew : int
        Pushes with the flow of the round before, and without.
    mask : bool[height, width]
    """

    value: int
    pushes: int
    anew: int
    mask: np.ndarray


def segment(
    photo: np.ndarray,
    strokes: tuple[np.ndarray, np.ndarray],
    cut: Callable[[Grid], Flow],
    rounds: int = ROUNDS,
) -> list[Round]:
    """Cut an object out of a photo by a user's strokes.

    Parameters
    ----------
    photo : uint8[height, width, channels]
    strokes : (bool[height, width], bool[height, width])
        Pixels that are object, and pixels that are background.
    cut : callable(Grid) -> Flow
        Each round is cut with the flow of the one before and, for comparison, without.
    rounds : int
        At most; it ends earlier where a round changes nothing.

    Raises
    ------
    ValueError
        If both ways find cuts of different value.
    """
    arcs, values = pair_weights(photo), photo.astype(np.float64)
    of = fit(values[strokes[0]]), fit(values[strokes[1]])
    made: list[Round] = []
    last: tuple[Grid, Flow] | None = None
    for _ in range(rounds):
        source, sink = terminals(photo, of, strokes)
        whole = grid(source, sink, arcs)
        found = cut(whole)
        pushes = found.counters.get("pushes", 0)
        if last is not None:
            rest, constant = kept_flow(*last, source, sink)
            again = cut(rest)
            pushes = again.counters.get("pushes", 0)
            if again.value + constant != found.value:
                raise ValueError(f"with the kept flow {again.value + constant}, not {found.value}")
        mask = found.source_side
        made.append(Round(found.value, pushes, found.counters.get("pushes", 0), mask))
        if len(made) > 1 and (made[-2].mask == mask).all():
            break
        last = whole, found
        if 0 < mask.sum() < mask.size:
            of = fit(values[mask], of[0]), fit(values[~mask], of[1])
    return made


def overlap(mask: np.ndarray, truth: np.ndarray) -> float:
    """Return the pixels of both over the pixels of either."""
    return float((mask & truth).sum() / max((mask | truth).sum(), 1))
