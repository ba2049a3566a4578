"""Every flow ends: at a bound on the work that a wrong kernel meets soon, or when its time is over.

The instances are the smallest on which the blocking version as printed climbs to |V|.
"""

import itertools

import numpy as np
import pytest
from nightly import first

from papers.common import deadline, instances
from papers.common.gpu import device
from papers.common.model import GivenUpError, Instance
from papers.common.problems import flow_proof
from papers.common.problems.network import FOUR, grid, network
from papers.lupinska_costscale.flow import bounds
from papers.lupinska_costscale.flow.baselines import push_relabel
from papers.lupinska_costscale.flow.kernels.lock_free import PUSHES, RELABELS
from papers.lupinska_costscale.flow.prepare import Tile
from papers.lupinska_costscale.flow.solver import SOLVERS

SMALL = {
    "lock_free": {"cycle": 50},
    "hybrid": {"cycle": 20},
    "blocking": {"tile": Tile(2, 4)},
    "async_relabel": {"cycle": 20, "waves": 2},
    "gpu_relabel": {"tile": Tile(2, 4), "rounds": 4, "sweeps": 3, "inner": 3},
}
every_version = pytest.mark.parametrize("name", list(SMALL))


@pytest.fixture(autouse=True)
def _on_executor():
    device.select("cpu")


@pytest.fixture
def clock(monkeypatch):
    """A clock on which every look takes a second."""
    ticks = itertools.count()
    monkeypatch.setattr(deadline.time, "perf_counter", lambda: float(next(ticks)))


def closed(height, width):
    """One unit in a corner, all arcs 1, no sink: the unit cannot go anywhere."""
    source = np.zeros((height, width), int)
    source[0, 0] = 1
    arcs = {name: np.ones((height, width), int) for name in FOUR}
    arcs["right"][:, -1] = arcs["left"][:, 0] = 0
    arcs["down"][-1] = arcs["up"][0] = 0
    return grid(source, np.zeros((height, width), int), arcs)


def restored(height, width, seed, blob=9):
    """Blobs of which a tenth of the pixels is flipped, as a binary image that is to be restored."""
    draw = np.random.default_rng(seed)
    rough = draw.random((height + 2 * blob, width + 2 * blob))
    sums = np.cumsum(np.cumsum(rough, 0), 1)
    blurred = sums[blob:, blob:] - sums[:-blob, blob:] - sums[blob:, :-blob] + sums[:-blob, :-blob]
    blurred = blurred[:height, :width]
    noisy = (blurred > np.median(blurred)) ^ (draw.random((height, width)) < 0.1)
    arcs = {name: np.full((height, width), 8) for name in FOUR}
    arcs["right"][:, -1] = arcs["left"][:, 0] = 0
    arcs["down"][-1] = arcs["up"][0] = 0
    return grid(np.where(noisy, 10, 0), np.where(noisy, 0, 10), arcs)


def proved(name, instance, **options):
    state = SOLVERS[name].upload(instance, **options)
    SOLVERS[name].run(state)
    answer = SOLVERS[name].download(state)
    assert flow_proof.flow(instance, answer).ok
    return answer


@pytest.mark.parametrize(
    "instance",
    first(2, [closed(5, 7), restored(8, 12, 3), closed(9, 33), restored(20, 33, 2)]),
    ids=["closed", "restored", "closed, larger", "restored, larger"],
)
def test_blocking_needs_no_climb_by_default(instance):
    assert proved("blocking", instance, tile=Tile(4, 8)).counters["kernel_launches"] <= 257


@pytest.mark.parametrize(("side", "seed"), [(4, 2), (6, 1), (5, 7), (6, 18)])
@pytest.mark.parametrize("redraw_every", [0, 16])
def test_a_turn_that_has_come_to_rest_is_not_held_against_the_bound(side, seed, redraw_every):
    """Found by a run: on these grids nothing is relabeled in the last turns, and all was right."""
    drawn = instances.draw(Instance("random_grid", side, "20", seed=seed))
    proved("blocking", drawn, redraw_every=redraw_every)


def test_blocking_as_printed_climbs_to_the_height_of_the_source():
    """Twice the square of the pixels: 288 phases to within a turn of 8, two launches each."""
    counters = proved("blocking", closed(3, 4), redraw_every=0, tile=Tile(4, 4)).counters
    assert counters["kernel_launches"] == 1 + 2 * 296
    assert proved("blocking", closed(3, 4), tile=Tile(4, 4)).counters["kernel_launches"] == 257


def test_blocking_as_printed_gives_up_by_name(clock):
    state = SOLVERS["blocking"].upload(closed(9, 33), redraw_every=0, tile=Tile(4, 8), seconds=4)
    with pytest.raises(GivenUpError, match=r"gave up after 5\.0 s .* may still reach") as told:
        SOLVERS["blocking"].run(state)
    assert told.value.reached["pushes"] > 0
    assert told.value.reached["arrived"] == 0


@every_version
def test_a_limit_of_time_is_kept_and_the_next_run_is_right(name, clock):
    instance = restored(4, 6, 1)
    state = SOLVERS[name].upload(instance, **hurried(name), seconds=2)
    with pytest.raises(GivenUpError, match=r"gave up after 3\.0 s and .* operations") as told:
        SOLVERS[name].run(state)
    assert {"pushes", "relabels"} <= set(told.value.reached)
    assert sum(told.value.reached.values()) > 0
    with pytest.raises(RuntimeError, match="no run has ended"):
        SOLVERS[name].download(state)
    state.seconds = None
    SOLVERS[name].run(state)
    assert flow_proof.flow(instance, SOLVERS[name].download(state)).ok


def hurried(name):
    """Options with which a run takes several launches."""
    cycles = {"lock_free", "hybrid", "async_relabel"}
    few = {"cycle": 1} if name in cycles else {"rounds": 1, "sweeps": 1, "inner": 1}
    return (
        {"waves": 1} | few
        if name == "async_relabel"
        else ({"tile": Tile(2, 4), "patience": 1} if name == "blocking" else few)
    )


# ------------------------------------------------------------------------------- wrong kernels


def plant(state, word, often):
    """Let the kernels do nothing but say that they push, or lift, `often` a launch."""

    def spoilt(enqueue):
        state.arrays["tally"][word] += often

    for part, launch in state.launches.items():
        if part != "restore":
            launch.on_enqueue = spoilt


@every_version
def test_a_kernel_that_pushes_to_and_fro_is_found_out(name):
    instance = restored(4, 6, 1)
    state = SOLVERS[name].upload(instance, **SMALL[name])
    plant(state, PUSHES, 5)
    with pytest.raises(GivenUpError, match="rounds and no relabel in a row") as told:
        SOLVERS[name].run(state)
    assert 0 < told.value.reached["pushes"] < 500
    assert proved(name, instance, **SMALL[name]).value > 0


@every_version
def test_a_kernel_that_lifts_for_ever_is_found_out(name):
    state = SOLVERS[name].upload(restored(4, 6, 1), **SMALL[name])
    most = bounds.most_relabels(state.prepared.nodes)
    plant(state, RELABELS, 100)
    with pytest.raises(GivenUpError, match=f"relabels, the bound is {most}") as told:
        SOLVERS[name].run(state)
    assert most < told.value.reached["relabels"] <= most + 1700


def test_the_cpu_s_code_is_held_to_the_bounds_too(monkeypatch):
    graph = network([0, 1, 2, 1], [1, 2, 3, 3], [5, 4, 3, 1], 4, 0, 3)
    state = push_relabel.upload(graph)
    for word, words in ((push_relabel.PUSHES, "no relabel in a row"),
                        (push_relabel.RELABELS, "more than 32 relabels")):  # fmt: skip

        def endless(*arguments, word=word):
            arguments[-1][word] = arguments[-3] + 1
            return False

        with monkeypatch.context() as patch:
            patch.setattr(push_relabel, "push_relabel", endless)
            patch.setattr(push_relabel, "SLICE", 10)
            with pytest.raises(GivenUpError, match=words) as told:
                push_relabel.run(state)
        assert max(told.value.reached.values()) > 10
    push_relabel.run(state)
    assert flow_proof.flow(graph, push_relabel.download(state)).ok


# ------------------------------------------------------------------------------- the bounds


def test_a_stretch_begins_anew_when_heights_have_moved():
    """Two levels of one arc each and one push a round: (1 + 1) (1 + 3) = 8 rounds, and no ninth."""
    height, stretch = np.array([0, 1]), bounds.Stretch()
    assert bounds.longest_stretch(1, 1, 1) == 8
    assert stretch.goes_on(1)
    assert not stretch.too_long(height, 1, 1, 1)
    assert not any(stretch.goes_on(1) for _ in range(8))
    assert stretch.goes_on(1)
    height[0] = 1
    assert not stretch.too_long(height, 1, 1, 1)
    assert not any(stretch.goes_on(1) for _ in range(8))
    assert stretch.goes_on(1)
    assert stretch.too_long(height, 1, 1, 1)
    stretch.ends()
    assert stretch.goes_on(1)
    assert not stretch.too_long(height, 1, 1, 1)


def test_the_longest_stretch_is_reached_by_a_right_kernel():
    """A path downhill, a push a round: as many rounds without a relabel as it is high, or more."""
    n = 6  # thread 1 goes first, so that what comes to a node goes on in the next launch
    tail, head = np.arange(n + 1, 0, -1), np.arange(n, -1, -1)
    state = SOLVERS["hybrid"].upload(
        network(tail, head, np.full(n + 1, 1), n + 2, n + 1, 0), cycle=1
    )
    state.begin(lambda step: None)
    state.arrays["height"][1 : n + 1] = np.arange(1, n + 1)
    quiet = 0
    while state.at_terminals() < 1:
        state.launches["kernel"]()
        assert state.count_operations() > 0
        quiet += 1
    assert state.relabels == 0
    assert n == quiet <= bounds.longest_stretch(n, 2, 1)
