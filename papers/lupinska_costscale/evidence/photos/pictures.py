"""Demonstrations with scores: objects cut out by strokes, and optical flow in two dimensions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.colors import hsv_to_rgb

from papers.common.evidence import plots
from papers.common.instances.flows import image_energies
from papers.common.model import Plan
from papers.lupinska_costscale.evidence.photos import mixtures, scenes
from papers.lupinska_costscale.evidence.photos.demonstrations import (
    Pictures,
    cutter,
    described,
    expand,
)

PHOTOS = {"smoke": ("camera",), "quick": ("astronaut",), "paper": tuple(scenes.STROKES)}
SIDE = {"smoke": 32, "quick": 96, "paper": 512}
HEIGHT = {"smoke": 41, "quick": 82, "paper": 328}
"""Rows of the made scene when its object is cut out."""

FLOW_HEIGHT = {"smoke": 20, "quick": 41, "paper": 164}
"""Rows of the made scene when its displacements are found."""

REACH = 4
"""The largest displacement tried, in rows and in columns."""


# ------------------------------------------------------------------------------- strokes


def strokes(folder: Path, plan: Plan) -> Pictures:
    """Cut objects out of photos by strokes, and one whose mask is known."""
    side, made = SIDE[plan.preset], []
    for name in PHOTOS[plan.preset]:
        photo = image_energies.portrait(name, side).reshape(side, side, -1)
        path = folder / f"lupinska_costscale_strokes_{name}.png"
        made.append(_one(path, name, photo, scenes.strokes_on(name, side), plan, None))
    pair = scenes.made_pair(HEIGHT[plan.preset])
    path = folder / "lupinska_costscale_strokes_horse.png"
    given = scenes.strokes_in(pair.mask)
    made.append(_one(path, "made scene", pair.first, given, plan, pair.mask))
    return made


@plots.house_style()
def _one(
    path: Path,
    name: str,
    photo: np.ndarray,
    given: tuple[np.ndarray, np.ndarray],
    plan: Plan,
    truth: np.ndarray | None,
) -> tuple[str, Path]:
    """Cut one object out, draw it, and say what was found."""
    cut = cutter(plan)
    rounds = mixtures.segment(photo, given, cut)
    colour = np.repeat(photo, 3, axis=2) if photo.shape[2] == 1 else photo
    drawn = colour.copy()
    drawn[given[0]], drawn[given[1]] = (0, 255, 0), (0, 0, 255)
    figure, panels = plots.new_figure(columns=3, size=(9.0, 3.2))
    ends = ((rounds[0], "round 1"), (rounds[-1], f"round {len(rounds)}"))
    cut_out = [(np.where(one.mask[..., None], colour, 255), title) for one, title in ends]
    shown = [(drawn, "strokes"), *cut_out]
    for axes, (image, title) in zip(panels[0], shown, strict=True):
        axes.imshow(image)
        axes.set_title(title)
        axes.set_axis_off()
    plots.save(figure, path)
    kept, anew = (sum(getattr(one, count) for one in rounds[1:]) for count in ("pushes", "anew"))
    text = (
        f"{name}, {photo.shape[1]} x {photo.shape[0]}, 8 neighbours, {len(rounds)} rounds: energy "
        f"{rounds[0].value} and {rounds[-1].value}; rounds after the first {kept} pushes with the "
        f"flow kept, {anew} anew; {cut.said}"
    )
    if truth is not None:
        text += (
            f". Overlap with the true mask: {mixtures.overlap(_pixelwise(photo, given), truth):.3f}"
            f" pixel by pixel, {mixtures.overlap(rounds[0].mask, truth):.3f} after round 1, "
            f"{mixtures.overlap(rounds[-1].mask, truth):.3f} at the end"
        )
    return described(path, text)


def _pixelwise(photo: np.ndarray, given: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """The object by the first mixtures alone: the plain minimum, without neighbours."""
    of = tuple(mixtures.fit(photo[part].astype(np.float64)) for part in given)
    source, sink = mixtures.terminals(photo, (of[0], of[1]), given)
    return source > sink


# ------------------------------------------------------------------------------- motion


@plots.house_style()
def motion(folder: Path, plan: Plan) -> Pictures:
    """Find displacements in rows and columns by expansion moves; draw them beside the true ones."""
    cut, pair = cutter(plan), scenes.made_pair(FLOW_HEIGHT[plan.preset])
    labels = scenes.shifts(REACH)
    if plan.preset == "smoke":
        labels = np.array([(0, 0), *scenes.MOVES])
    plain = labels[image_energies.cheapest(pair.first, pair.second, labels)]
    chosen, history = expand(pair.first, pair.second, labels, cut)
    found = labels[chosen]
    errors = [scenes.end_point_error(one, pair.truth) for one in (plain, found)]
    figure, panels = plots.new_figure(columns=3, rows=2, size=(9.0, 5.2))
    shown = (
        (pair.first, "first frame"), (pair.second, "second frame"),
        (coloured(pair.truth), "true displacement"),
        (coloured(plain), f"plain minimum: error {errors[0]:.2f}"),
        (coloured(found), f"expansion moves: error {errors[1]:.2f}"),
    )  # fmt: skip
    for axes in panels.ravel():
        axes.set_axis_off()
    for axes, (image, title) in zip(panels.ravel(), shown, strict=False):
        axes.imshow(image)
        axes.set_title(title)
    path = folder / "lupinska_costscale_motion.png"
    plots.save(figure, path)
    shape = pair.first.shape
    text = (
        f"A made scene of {shape[1]} x {shape[0]}, {len(labels)} displacements: energy from "
        f"{history[0]} to {history[-1]} in {len(history) - 1} moves; {cut.said}. Mean end-point "
        f"error, pixels: {errors[0]:.3f} by the plain minimum, {errors[1]:.3f} by expansion moves"
    )
    return [described(path, text)]


def coloured(moves: np.ndarray) -> np.ndarray:
    """Return a colour for each displacement: hue its direction, saturation its length."""
    down, right = moves[..., 0].astype(float), moves[..., 1].astype(float)
    hue = (np.arctan2(down, right) / (2 * np.pi)) % 1.0
    length = np.minimum(np.hypot(down, right) / (REACH * np.sqrt(2)), 1.0)
    return hsv_to_rgb(np.stack([hue, length, np.ones_like(hue)], axis=-1))
