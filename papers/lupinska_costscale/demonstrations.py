"""What the paper is for, on real pictures: segmentation by a cut, optical flow by assignment.

[LU11 sec.1] names two uses: minimum cuts that minimize energies over images, and optical flow as an
assignment. Both run on the images that come with scikit-image and write PNGs. Nothing is taken on
trust: each cut is proved by `papers.common.cut`, each energy is recomputed from the labels, and
both are set against PyMaxflow where it is installed (the caption says whether it was); assignments
are set against SciPy's. What does not agree raises.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from papers.common import figures
from papers.common.model import Assignment, Flow, Plan
from papers.common.network import Grid
from papers.lupinska_costscale import codes, energies

Pictures = Sequence[tuple[str, Path]]


class DisagreementError(RuntimeError):
    """A cut, an energy or an assignment is not what another way of computing it gives."""


# ------------------------------------------------------------------------------- cuts


@dataclass
class Cutter:
    """Cuts grids with one of our solvers, and checks every one.

    Attributes
    ----------
    title : str
        Which solver.
    solve : callable(Grid) -> Flow
    peer : callable(Grid) -> int, or None
        PyMaxflow's value, where it is installed.
    cuts : int
        How many there were.
    """

    title: str
    solve: Callable[[Grid], Flow]
    peer: Callable[[Grid], int] | None
    cuts: int = 0

    def __call__(self, graph: Grid) -> Flow:
        """Cut, and compare.

        Raises
        ------
        DisagreementError
            If the cut is not proved minimum, or PyMaxflow finds another value.
        """
        from papers.common import cut

        answer = self.solve(graph)
        verdict = cut.flow(graph, answer)
        if not verdict.ok:
            raise DisagreementError(f"{self.title}: {verdict.reason}")
        if self.peer is not None and (other := self.peer(graph)) != answer.value:
            raise DisagreementError(f"{self.title}: {answer.value}, PyMaxflow {other}")
        self.cuts += 1
        return answer

    @property
    def said(self) -> str:
        """What a caption says of the checks."""
        peer = "equal to PyMaxflow's" if self.peer else "PyMaxflow is not installed"
        what = "cut" if self.cuts == 1 else f"{self.cuts} cuts"
        return f"{what} by {self.title}, proved minimum, {peer}"


def _solve(code: str, graph: Grid) -> Flow:
    """Run one of the flow solvers on a grid."""
    from papers.lupinska_costscale import flow_cpu

    solvers = dict(flow_cpu.SOLVERS)
    name = codes.SOLVER_OF[code].partition(":")[2]
    if name not in solvers:
        from papers.lupinska_costscale import flow_solver  # Loads kernels.

        solvers.update(flow_solver.SOLVERS)
    solver = solvers[name]
    state = solver.upload(graph)
    solver.run(state)
    answer = solver.download(state)
    assert isinstance(answer, Flow)
    return answer


def cutter(plan: Plan) -> Cutter:
    """Return the fastest version there is: on a GPU that with relabeling there."""
    code = codes.GPU_RELABEL if plan.gpu else codes.ON_CPU
    installed = find_spec("maxflow") is not None
    peer = (lambda graph: _solve(codes.PYMAXFLOW, graph).value) if installed else None
    return Cutter(code, lambda graph: _solve(code, graph), peer)


# ------------------------------------------------------------------------------- segmentation

PHOTOS = {"smoke": ("camera",), "quick": ("camera", "chelsea"),
          "paper": ("camera", "astronaut", "coffee", "chelsea")}  # fmt: skip
SIDE = {"smoke": 64, "quick": 160, "paper": 512}


def photograph(name: str, side: int) -> np.ndarray:
    """Return a picture of scikit-image's, resized to side x side, uint8."""
    import skimage.data
    from skimage.transform import resize

    whole = getattr(skimage.data, name)()
    scaled = resize(whole, (side, side), anti_aliasing=True, preserve_range=True)
    return np.clip(np.rint(scaled), 0, 255).astype(np.uint8)


@figures.house_style()
def segmentation(folder: Path, plan: Plan) -> Pictures:
    """Cut photographs into object and background; draw each beside what the cut keeps."""
    from papers.common import generators

    cut, side, made = cutter(plan), SIDE[plan.preset], []
    for name in PHOTOS[plan.preset]:
        graph = generators.draw(codes.segmentation(side, name))
        if not isinstance(graph, Grid):
            raise TypeError(f"{name}: a {type(graph).__name__} is no grid")
        cut.cuts = 0
        answer = cut(graph)
        path = folder / f"lupinska_costscale_segmentation_{name}.png"
        figures.save(_two_halves(photograph(name, side), answer.source_side), path)
        share = 100 * float(answer.source_side.mean())
        made.append(
            (f"{name}, {side} x {side}: least energy {answer.value}, object {share:.1f} % of the "
             f"pixels; {cut.said}", path)
        )  # fmt: skip
    return made


def _two_halves(picture: np.ndarray, inside: np.ndarray):
    """Draw a picture, its outline and what lies inside the cut."""
    figure, panels = figures.new_figure(columns=3, size=(9.0, 3.2))
    grey = "gray" if picture.ndim == 2 else None
    kept = np.where(inside if picture.ndim == 2 else inside[..., None], picture, 255)
    for axes, shown, title in zip(
        panels[0], (picture, picture, kept), ("photograph", "the cut", "source side"), strict=True
    ):
        axes.imshow(shown, cmap=grey, vmin=0, vmax=255)
        axes.set_title(title)
        axes.set_axis_off()
    if 0 < inside.mean() < 1:
        panels[0][1].contour(inside.astype(float), [0.5], colors=[figures.COLOURS[1]], linewidths=1)
    return figure


# ------------------------------------------------------------------------------- optical flow

SHRINK = {"smoke": 8, "quick": 4, "paper": 2}
LABELS = {"smoke": 5, "quick": 9, "paper": 34}
LARGEST = 68
"""Largest displacement between the frames, in pixels of the whole picture."""

WEIGHT = 6
PATCH, PATCH_STEP = 24, 12
"""Side and distance of the patches, in pixels of the whole picture: 60 a row, some 40 rows."""


@dataclass
class Scene:
    """Two grey frames, their true displacement (NaN where unknown), and what we found.

    Attributes
    ----------
    first, second : uint8[height, width]
    truth : float64[height, width]
        In pixels of these frames.
    found : dict of str to float64 array
    """

    first: np.ndarray
    second: np.ndarray
    truth: np.ndarray
    found: dict[str, np.ndarray] = field(default_factory=dict)


def scene(shrink: int) -> Scene:
    """Return scikit-image's stereo pair, whose displacement is known, smaller by `shrink`."""
    import skimage.data
    from skimage.color import rgb2gray
    from skimage.transform import resize

    left, right, truth = skimage.data.stereo_motorcycle()
    size = tuple(edge // shrink for edge in left.shape[:2])
    frames = [
        np.rint(255 * resize(rgb2gray(frame), size, anti_aliasing=True)).astype(np.uint8)
        for frame in (left, right)
    ]
    known = np.where(np.isfinite(truth), truth, np.nan)
    rows, columns = (np.arange(edge) * shrink + shrink // 2 for edge in size)
    return Scene(frames[0], frames[1], known[np.ix_(rows, columns)] / shrink)


def by_cuts(pair: Scene, labels: int, largest: int, cut: Cutter) -> tuple[np.ndarray, list[int]]:
    """Label each pixel with a displacement by expansion moves until none lowers the energy.

    Parameters
    ----------
    pair : Scene
    labels, largest : int
        How many displacements, up to the largest, in pixels of the frames.
    cut : Cutter

    Returns
    -------
    float64[height, width], list of int
        Displacements, and the energy before the first and after every move that was made.

    Raises
    ------
    DisagreementError
        If the energy after a move is not what its cut promised.
    """
    steps = np.unique(np.rint(np.linspace(0, largest, labels)).astype(int))
    data = energies.displacements(pair.first, pair.second, steps)
    weights = energies.potts(pair.first, WEIGHT)
    chosen = data.argmin(axis=0)
    history = [energies.energy(data, weights, chosen)]
    for _ in range(SWEEPS):
        before = history[-1]
        for alpha in range(len(steps)):
            graph, constant = energies.expansion(data, weights, chosen, alpha)
            answer = cut(graph)
            chosen = np.where(answer.source_side, chosen, alpha)
            history.append(energies.energy(data, weights, chosen))
            if history[-1] != answer.value + constant:
                raise DisagreementError(
                    f"label {alpha}: energy {history[-1]}, its cut {answer.value + constant}"
                )
            if history[-1] > history[-2]:
                raise DisagreementError(f"label {alpha}: the energy rose to {history[-1]}")
        if history[-1] == before:
            break
    return steps[chosen].astype(float), history


SWEEPS = 2


def by_assignment(
    pair: Scene, side: int, step: int, largest: int, solve: Callable[[np.ndarray], Assignment]
) -> tuple[np.ndarray, int, int]:
    """Assign the patches of one frame to those of the other, row by row.

    Parameters
    ----------
    pair : Scene
    side, step, largest : int
        Side and distance of the patches and largest displacement, in pixels of the frames.
    solve : callable(int64[n, n]) -> Assignment

    Returns
    -------
    float64[rows, n], int, int
        Displacement of each patch, patches a row, and the sum of all costs.

    Raises
    ------
    DisagreementError
        If SciPy finds a cheaper assignment of a row.
    """
    from scipy.optimize import linear_sum_assignment

    problems = energies.patch_costs(pair.first, pair.second, side, step, largest // step)
    n, whole = problems.shape[1], 0
    found = np.empty(problems.shape[:2])
    for row, cost in enumerate(problems):
        answer = solve(cost)
        least = int(cost[linear_sum_assignment(cost)].sum())
        if answer.cost != least:
            raise DisagreementError(f"row {row}: cost {answer.cost}, SciPy {least}")
        whole += least
        shift = (np.arange(n) - np.asarray(answer.col_ind)) * float(step)
        outside = (shift < 0) | (shift > largest)
        found[row] = np.where(outside, np.nan, shift)
    return found, n, whole


def _assign(cost: np.ndarray, gpu: bool) -> Assignment:
    """Solve by the paper's lock-free kernel on a GPU, else by its sequential form."""
    if gpu:
        from papers.lupinska_costscale import solver

        chosen = solver.SOLVERS["refine"]
    else:
        from papers.lupinska_costscale import cpu

        chosen = cpu.SOLVERS["cost_scaling"]
    state = chosen.upload(cost)
    chosen.run(state)
    answer = chosen.download(state)
    assert isinstance(answer, Assignment)
    return answer


def error(found: np.ndarray, truth: np.ndarray) -> float:
    """Return the median distance of displacements from the true ones, in pixels."""
    return float(np.nanmedian(np.abs(found - truth)))


@figures.house_style()
def optical_flow(folder: Path, plan: Plan) -> Pictures:
    """Find displacements between two frames both ways, and draw them beside the true ones."""
    shrink, cut = SHRINK[plan.preset], cutter(plan)
    pair = scene(shrink)
    largest = LARGEST // shrink
    labelled, history = by_cuts(pair, LABELS[plan.preset], largest, cut)
    coarse = SHRINK["quick"] if plan.preset == "smoke" else 1
    whole = scene(coarse) if coarse != shrink else pair
    side, step = max(4, PATCH // coarse), max(2, PATCH_STEP // coarse)
    patches, n, cost = by_assignment(
        whole, side, step, LARGEST // coarse, lambda problem: _assign(problem, plan.gpu)
    )
    spread = patches.repeat(step, axis=0).repeat(step, axis=1)
    height, width = spread.shape
    around = np.full(whole.truth.shape, np.nan)
    top, left = (side - step) // 2, (side - step) // 2
    around[top : top + height, left : left + width] = spread
    path = folder / "lupinska_costscale_optical_flow.png"
    figures.save(_maps(pair, labelled * shrink, around * coarse, pair.truth * shrink), path)
    solver = codes.LOCK_FREE if plan.gpu else codes.SEQUENTIAL
    return [
        (f"Two frames, {pair.first.shape[1]} x {pair.first.shape[0]}; energy from {history[0]} to "
         f"{history[-1]} in {len(history) - 1} moves, {cut.said}; {len(patches)} assignments of "
         f"{n} patches a side by {solver}, cost {cost} as SciPy's. Median distance from the truth "
         f"{error(labelled, pair.truth) * shrink:.1f} and "
         f"{error(around, whole.truth) * coarse:.1f} pixels", path)
    ]  # fmt: skip


def _maps(pair: Scene, labelled: np.ndarray, patches: np.ndarray, truth: np.ndarray):
    """Draw both frames and three maps of displacements in pixels of the whole picture."""
    figure, panels = figures.new_figure(columns=3, rows=2, size=(10.0, 5.0))
    for axes, shown, title in zip(
        panels[0], (pair.first, pair.second, truth),
        ("first frame", "second frame", "true displacement"), strict=True,
    ):  # fmt: skip
        axes.set_title(title)
        _show(axes, shown)
    _show(panels[1][0], labelled)
    panels[1][0].set_title("by expansion moves (cuts)")
    image = _show(panels[1][1], patches)
    panels[1][1].set_title("by assignment of patches")
    panels[1][2].hist(
        [(labelled - truth)[np.isfinite(truth)]], bins=np.arange(-20.5, 21), density=True,
        color=figures.COLOURS[0], label="cuts",
    )  # fmt: skip
    panels[1][2].set_title("cuts: distance from the truth, pixels")
    figure.colorbar(image, ax=panels[:, 2], shrink=0.6, label="pixels to the left")
    for axes in panels.ravel()[:5]:
        axes.set_axis_off()
    return figure


def _show(axes, values: np.ndarray):
    if values.dtype == np.uint8:
        return axes.imshow(values, cmap="gray", vmin=0, vmax=255)
    return axes.imshow(values, cmap="viridis", vmin=0, vmax=LARGEST)
