"""The uses of the paper on real photos: segmentation by a cut, optical flow by assignment.

[LU11 sec.1] names two uses: minimum cuts that minimize energies over images, and optical flow as an
assignment. Both run on the images that come with scikit-image and write PNGs. Nothing is taken on
trust: each cut is proved by `papers.common.problems.flow_proof`, each energy is recomputed from the
labels, and both are set against PyMaxflow where it is installed (the caption says whether it was);
assignments are set against SciPy's. What does not agree raises.

Each picture's caption, with its scores, also stands in its file (text ``Description``), so that a
record of pictures is a record of their numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from papers.common.evidence import plots
from papers.common.instances.flows import image_energies
from papers.common.model import Assignment, Flow, Plan
from papers.common.problems.network import Grid
from papers.lupinska_costscale.evidence import codes
from papers.lupinska_costscale.evidence.photos.patches import patch_costs

Pictures = Sequence[tuple[str, Path]]


class DisagreementError(RuntimeError):
    """A cut, an energy or an assignment is not what another way of computing it gives."""


def described(path: Path, caption: str) -> tuple[str, Path]:
    """Write a picture's caption into its file; return both."""
    from PIL import Image
    from PIL.PngImagePlugin import PngInfo

    with Image.open(path) as image:
        text = PngInfo()
        text.add_text("Description", caption)
        image.copy().save(path, pnginfo=text)
    return caption, path


def description(path: Path) -> str:
    """Return the caption in a picture's file."""
    from PIL import Image

    with Image.open(path) as image:
        return str(image.info["Description"])


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
        Number of cuts so far.
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
        from papers.common.problems import flow_proof  # `reproduce list` does without Numba

        answer = self.solve(graph)
        proof = flow_proof.flow(graph, answer)
        if not proof.ok:
            raise DisagreementError(f"{self.title}: {proof.reason}")
        if self.peer is not None and (other := self.peer(graph)) != answer.value:
            raise DisagreementError(f"{self.title}: {answer.value}, PyMaxflow {other}")
        self.cuts += 1
        return answer

    @property
    def said(self) -> str:
        """The sentence of a caption about the checks."""
        peer = "equal to PyMaxflow's" if self.peer else "PyMaxflow is not installed"
        what = "cut" if self.cuts == 1 else f"{self.cuts} cuts"
        return f"{what} by {self.title}, proved minimum, {peer}"


def _solve(code: str, graph: Grid) -> Flow:
    """Run one of the flow solvers on a grid."""
    from papers.lupinska_costscale.flow.baselines import solvers as on_cpu

    solvers = dict(on_cpu.SOLVERS)
    name = codes.SOLVER_OF[code].partition(":")[2]
    if name not in solvers:
        from papers.lupinska_costscale.flow import solver as flow_solver  # Loads kernels.

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


@plots.house_style()
def segmentation(folder: Path, plan: Plan) -> Pictures:
    """Cut photographs into object and background; draw each beside what the cut keeps."""
    cut, side, made = cutter(plan), SIDE[plan.preset], []
    for name in PHOTOS[plan.preset]:
        cut.cuts = 0
        answer = cut(image_energies.segmentation(side, name))
        path = folder / f"lupinska_costscale_segmentation_{name}.png"
        plots.save(_two_halves(image_energies.portrait(name, side), answer.source_side), path)
        share = 100 * float(answer.source_side.mean())
        text = (
            f"{name}, {side} x {side}: least energy {answer.value}, object {share:.1f} % of the "
            f"pixels; {cut.said}"
        )
        made.append(described(path, text))
    return made


def _two_halves(photo: np.ndarray, inside: np.ndarray) -> Figure:
    """Draw a photo, its outline and what lies inside the cut."""
    figure, panels = plots.new_figure(columns=3, size=(9.0, 3.2))
    grey = "gray" if photo.ndim == 2 else None
    kept = np.where(inside if photo.ndim == 2 else inside[..., None], photo, 255)
    for axes, shown, title in zip(
        panels[0], (photo, photo, kept), ("photograph", "the cut", "source side"), strict=True
    ):
        axes.imshow(shown, cmap=grey, vmin=0, vmax=255)
        axes.set_title(title)
        axes.set_axis_off()
    if 0 < inside.mean() < 1:
        panels[0][1].contour(inside.astype(float), [0.5], colors=[plots.COLOURS[1]], linewidths=1)
    return figure


# ------------------------------------------------------------------------------- optical flow

HEIGHT = {"smoke": 62, "quick": 100, "paper": 250}
EVERY = {"smoke": 7, "quick": 4, "paper": 1}
"""One in so many of the labels of `image_energies.stereo_shifts` is used."""

REACH = 68
"""Largest displacement in the patches' assignment, in pixels of the whole photo."""

PATCH, PATCH_STEP = 24, 12
"""Side and distance of the patches, in pixels of the whole photo: 60 a row, 40 rows."""

PATCH_HEIGHT = {"smoke": 125, "quick": 125, "paper": 500}


@dataclass
class Scene:
    """Two frames and how far the first one's pixels lie to the left in the second.

    Attributes
    ----------
    first, second : uint8[height, width, 3]
    truth : float64[height, width]
        In pixels of these frames; NaN where it is not known.
    scale : float
        Pixels of the whole photo to one of these.
    """

    first: np.ndarray
    second: np.ndarray
    truth: np.ndarray
    scale: float


def scene(height: int) -> Scene:
    """Return scikit-image's stereo pair, whose displacement is known, scaled to a height."""
    import skimage.data

    first, second = image_energies.stereo_pair(height)
    whole = skimage.data.stereo_motorcycle()[2]
    scale = whole.shape[0] / height
    rows, columns = (
        np.minimum((np.arange(edge) + 0.5) * full / edge, full - 1).astype(int)
        for edge, full in zip(first.shape[:2], whole.shape, strict=True)
    )
    truth = np.where(np.isfinite(whole), whole, np.nan)[np.ix_(rows, columns)] / scale
    return Scene(first, second, truth, scale)


def by_cuts(pair: Scene, every: int, cut: Cutter) -> tuple[np.ndarray, list[int]]:
    """Label each pixel with a displacement by expansion moves until none lowers the energy.

    Parameters
    ----------
    pair : Scene
    every : int
        One in so many labels is used.
    cut : Cutter

    Returns
    -------
    float64[height, width], list of int
        Displacements, and the energy before the first and after every move that was made.

    Raises
    ------
    DisagreementError
        If the energy after a move is not what its cut promised, or has risen.
    """
    shifts = np.unique(image_energies.stereo_shifts(pair.first.shape[1])[::every], axis=0)
    chosen, history = expand(pair.first, pair.second, shifts, cut)
    return -shifts[chosen, 1].astype(float), history


def expand(
    first: np.ndarray, second: np.ndarray, shifts: np.ndarray, cut: Callable[[Grid], Flow]
) -> tuple[np.ndarray, list[int]]:
    """Make expansion moves from the cheapest labels until none lowers the energy.

    Parameters
    ----------
    first, second : uint8[height, width, 3]
    shifts : int64[labels, 2]
        Rows and columns.
    cut : callable(Grid) -> Flow

    Returns
    -------
    int64[height, width], list of int
        Rows of `shifts`, and the energy before the first and after every move that was made.

    Raises
    ------
    DisagreementError
        As `by_cuts`.
    """
    frames = first, second, shifts
    chosen = image_energies.cheapest(*frames)
    history = [image_energies.labelling_energy(*frames, chosen)]
    for _ in range(SWEEPS):
        before = history[-1]
        for alpha in range(len(shifts)):
            graph, constant = image_energies.expansion_move(*frames, chosen, alpha)
            answer = cut(graph)
            chosen = np.where(answer.source_side, chosen, alpha)
            found = image_energies.labelling_energy(*frames, chosen)
            if found != answer.value + constant:
                raise DisagreementError(
                    f"label {alpha}: energy {found}, its cut {answer.value + constant}"
                )
            if found > history[-1]:
                raise DisagreementError(f"label {alpha}: the energy rose to {found}")
            history.append(found)
        if history[-1] == before:
            break
    return chosen, history


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

    first, second = (
        np.rint(frame.mean(axis=2)).astype(np.uint8) for frame in (pair.first, pair.second)
    )
    problems = patch_costs(first, second, side, step, largest // step)
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


def plain_minimum(pair: Scene, side: int, step: int, largest: int) -> np.ndarray:
    """Take for each patch the cheapest of the other frame: the plain minimum, without one to one.

    Parameters
    ----------
    pair, side, step, largest
        As in `by_assignment`.

    Returns
    -------
    float64[rows, n]
        Displacement of each patch; of several cheapest ones the least.
    """
    first, second = (
        np.rint(frame.mean(axis=2)).astype(np.uint8) for frame in (pair.first, pair.second)
    )
    problems = patch_costs(first, second, side, step, largest // step)
    n = problems.shape[1]
    # From the patch's own place leftwards: the first of equal ones is the nearest.
    nearest = n - 1 - np.argmin(problems[:, :, ::-1], axis=2)
    shift = (np.arange(n) - nearest) * float(step)
    return np.where((shift < 0) | (shift > largest), np.nan, shift)


def plain_labels(pair: Scene, every: int) -> np.ndarray:
    """Label each pixel with its cheapest displacement: what `by_cuts` begins with."""
    shifts = np.unique(image_energies.stereo_shifts(pair.first.shape[1])[::every], axis=0)
    return -shifts[image_energies.cheapest(pair.first, pair.second, shifts), 1].astype(float)


def _in_place(patches: np.ndarray, whole: Scene, side: int, step: int) -> np.ndarray:
    """Spread the patches' displacements over the middles of the patches; NaN around them."""
    spread = np.full(whole.truth.shape, np.nan)
    inner = patches.repeat(step, axis=0).repeat(step, axis=1)
    corner = (side - step) // 2
    spread[corner : corner + inner.shape[0], corner : corner + inner.shape[1]] = inner
    return spread


def _assign(cost: np.ndarray, gpu: bool) -> Assignment:
    """Solve by the lock-free kernel on a GPU, a warp a node, else by its sequential form."""
    if gpu:
        from papers.lupinska_costscale.assignment import solver

        chosen = solver.SOLVERS["refine"]
    else:
        from papers.lupinska_costscale.assignment.baselines import cost_scaling

        chosen = cost_scaling.SOLVERS["cost_scaling"]
    state = chosen.upload(cost)
    chosen.run(state)
    answer = chosen.download(state)
    assert isinstance(answer, Assignment)
    return answer


def error(found: np.ndarray, pair: Scene) -> float:
    """Return the median distance from the true displacements, in pixels of the whole photo."""
    return pair.scale * float(np.nanmedian(np.abs(found - pair.truth)))


@plots.house_style()
def optical_flow(folder: Path, plan: Plan) -> Pictures:
    """Find displacements between two frames both ways, and draw them beside the true ones."""
    cut, pair = cutter(plan), scene(HEIGHT[plan.preset])
    labelled, history = by_cuts(pair, EVERY[plan.preset], cut)
    whole = scene(PATCH_HEIGHT[plan.preset])
    side, step, reach = (round(size / whole.scale) for size in (PATCH, PATCH_STEP, REACH))
    patches, n, cost = by_assignment(
        whole, side, step, reach, lambda problem: _assign(problem, plan.gpu)
    )
    spread = _in_place(patches, whole, side, step)
    path = folder / "lupinska_costscale_optical_flow.png"
    plots.save(_maps(pair, labelled, spread * whole.scale), path)
    solver = codes.TUNED if plan.gpu else codes.SEQUENTIAL
    errors = error(labelled, pair), error(spread, whole)
    plain = plain_minimum(whole, side, step, reach), plain_labels(pair, EVERY[plan.preset])
    alone = error(_in_place(plain[0], whole, side, step), whole), error(plain[1], pair)
    text = (
        f"Two frames of {pair.first.shape[1]} x {pair.first.shape[0]}: energy from {history[0]} "
        f"to {history[-1]} in {len(history) - 1} moves; {cut.said}. {len(patches)} assignments "
        f"of {n} patches a side by {solver}, cost {cost} as SciPy's. Median distance from the "
        f"truth, pixels of the whole photo: {errors[0]:.2f} by cuts ({alone[1]:.2f} by each "
        f"pixel's cheapest label), {errors[1]:.2f} by assignment ({alone[0]:.2f} by each "
        "patch's cheapest one, which several may share)"
    )
    return [described(path, text)]


def _maps(pair: Scene, labelled: np.ndarray, patches: np.ndarray) -> Figure:
    """Draw both frames and three maps of displacements, in pixels of the whole photo."""
    figure, panels = plots.new_figure(columns=3, rows=2, size=(10.0, 5.0))
    truth, found = pair.truth * pair.scale, labelled * pair.scale
    shown = (
        (pair.first, "first frame"), (pair.second, "second frame"), (truth, "true displacement"),
        (found, "by expansion moves (cuts)"), (patches, "by assignment of patches"),
    )  # fmt: skip
    for axes, (values, title) in zip(panels.ravel(), shown, strict=False):
        axes.set_axis_off()
        axes.set_title(title)
        look = {"cmap": "viridis", "vmin": 0, "vmax": REACH} if values.ndim == 2 else {}
        image = axes.imshow(values, **look)
    last = panels[1][2]
    last.hist((found - truth)[np.isfinite(truth)], bins=np.arange(-20.5, 21), density=True,
              color=plots.COLOURS[0])  # fmt: skip
    last.set_title("cuts: distance from the truth, pixels")
    figure.colorbar(image, ax=panels[:, 2], shrink=0.6, label="pixels to the left")
    return figure
