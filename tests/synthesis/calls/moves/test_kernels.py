"""Capacities that kernels make: every cut weighs what the energy says, whatever flow was kept."""

import inspect
from itertools import product

import numpy as np
import pytest
from synthesis.calls.test_expansion import energy, spelt_out, weight

from papers.common.executor.scheduler import Executor
from papers.common.gpu import device
from papers.common.gpu.launch import bind
from papers.common.problems import flow_proof
from papers.lupinska_costscale.flow import solver
from papers.lupinska_costscale.flow.prepare import known
from papers.synthesis.calls.moves import kernels, resident
from papers.synthesis.calls.moves.energies import energy_of
from papers.synthesis.calls.moves.recycling import carried_over


def adopted(seed, shape=(2, 3), connectivity=8):
    """An energy of three labels on the device, and labels drawn at random."""
    given = energy(seed, shape, connectivity=connectivity)
    labels = np.random.default_rng(seed).integers(0, 3, shape)
    return given, labels, resident.adopt(energy_of(*given, connectivity), labels)


def offered(moves, alpha, begun=False):
    """The grid that `offer` writes, and the sum of its capacities to the sink."""
    launch = moves.launches["offer"]
    for place, value in enumerate((np.int32(alpha), np.int32(begun))):
        launch.replace(place, value)
    moves.offered[0] = 0
    launch()
    return known(moves.state.prepared, moves.state.arrays).instance, int(moves.offered[0])


def same(one, other):
    pairs = [(one.source, other.source), (one.sink, other.sink)]
    pairs += [(one.arcs[name], other.arcs[name]) for name in other.arcs]
    return one.arcs.keys() == other.arcs.keys() and all((a == b).all() for a, b in pairs)


SHAPES = [(1, 1), (1, 5), (6, 1), (4, 8), (5, 9), (9, 17)]


@pytest.mark.parametrize("connectivity", [4, 8])
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: "x".join(map(str, shape)))
def test_a_first_move_has_the_host_s_capacities(shape, connectivity):
    """The same numbers, and 0 in whatever pads them to whole tiles."""
    given, labels, moves = adopted(len(SHAPES), shape, connectivity)
    for alpha in range(3):
        grid, total = offered(moves, alpha)
        assert same(grid, energy_of(*given, connectivity).move(labels, alpha))
        assert total == grid.sink.sum()
        for name in ("capacity", "source", "sink"):
            whole = [grid.source, grid.sink] if name != "capacity" else grid.arcs.values()
            told = sum(int(each.sum()) for each in whole)
            told = told if name == "capacity" else int(getattr(grid, name).sum())
            assert int(moves.state.arrays[name].sum()) == told


@pytest.mark.parametrize("connectivity", [4, 8])
@pytest.mark.parametrize("seed", range(6))
def test_a_flow_is_carried_over_as_on_the_host(seed, connectivity):
    """Residual capacities of a flow, mended by `recycling`, are those that `offer` writes."""
    given, labels, moves = adopted(seed, (5, 7), connectivity)
    whole, alpha = energy_of(*given, connectivity), seed % 3
    old, flow, draw = None, None, np.random.default_rng(seed)
    for _ in range(3):
        new = whole.move(labels, alpha)
        grid, total = offered(moves, alpha, begun=flow is not None)
        if flow is not None:
            assert same(grid, carried_over(new, old, flow.residual))
            assert total == grid.sink.sum()
        solver.run_gpu_relabel(moves.state)
        flow = solver.prove(moves.state, solver.download(moves.state))
        assert flow_proof.flow(grid, flow).ok
        moves.launches["keep"]()  # of what `prove` has made: excess was sent back
        old = new
        labels = np.where(
            draw.random(labels.shape) < 0.5, draw.integers(0, 3, labels.shape), labels
        )
        moves.scene.labels[:] = labels.ravel()


def weighed(seed, connectivity, switch=0.2):
    """All 64 cuts of a 2 x 3 move weigh what the labels they give cost, whatever was kept."""
    draw = np.random.default_rng(seed)
    with device.executing(Executor(seed, switch)):
        (unary, arcs, metric), labels, moves = adopted(seed, connectivity=connectivity)
        moves.passing[:] = draw.integers(0, 12, moves.passing.size)  # beyond capacities, too
        alpha = seed % 3
        grid, total = offered(moves, alpha, begun=seed % 4 > 0)
        for name in ("capacity", "source", "sink"):
            assert (moves.state.arrays[name] >= 0).all()
        before = spelt_out(unary, arcs, metric, labels)
        for mask in product((False, True), repeat=6):
            keeps = np.reshape(mask, (2, 3))
            after = spelt_out(unary, arcs, metric, np.where(keeps, labels, alpha))
            assert weight(grid, keeps) - total == after - before
        moves.scene.labels[:] = labels.ravel()
        solver.run_gpu_relabel(moves.state)
        side = solver.download(moves.state).source_side
        moves.give(alpha)
        assert (moves.scene.labels.reshape(2, 3) == np.where(side, labels, alpha)).all()
        moves.launches["keep"]()
        assert same(offered(moves, alpha, begun=False)[0], energy_of(
            unary, arcs, metric, connectivity
        ).move(moves.scene.labels.reshape(2, 3), alpha))  # fmt: skip
    return grid, moves


@pytest.mark.parametrize("connectivity", [4, 8])
@pytest.mark.parametrize("seed", range(16))
def test_every_cut_weighs_what_its_labels_cost(seed, connectivity):
    weighed(seed, connectivity)


def kept(shape, connectivity):
    """A pair's flow is what its arc has lost, and 0 where there is no arc."""
    _, _, moves = adopted(2, shape, connectivity)
    moves.passing[:] = -1
    grid, _ = offered(moves, 1)
    solver.run_gpu_relabel(moves.state)
    flow = solver.prove(moves.state, solver.download(moves.state))
    moves.launches["keep"]()
    names = list(grid.arcs)
    for name, mine in zip(names[::2], moves.passing.reshape(-1, *shape), strict=True):
        assert (mine == grid.arcs[name] - flow.residual[name]).all()
    assert moves.passing.any(), "the test would prove nothing"


@pytest.mark.parametrize("connectivity", [4, 8])
@pytest.mark.parametrize("shape", [(5, 7), (4, 8)], ids=["padded", "whole tiles"])
def test_the_flow_that_is_kept_is_the_one_that_was_found(shape, connectivity):
    kept(shape, connectivity)


def by_a_warp():
    """The three kernels by 32 threads, which stride, and by a thread an item: the same words."""
    _, _, moves = adopted(3, (9, 17))
    for launch in moves.launches.values():
        few = bind(launch.kernel, 1, 32, *launch.arguments)
        told = []
        for each in (launch, few):
            moves.offered[0], moves.passing[:] = 0, 3
            moves.scene.labels[:] = np.arange(moves.scene.labels.size) % 3
            each()
            arrays = [*moves.state.arrays.values(), moves.passing, moves.scene.labels]
            told.append([int(moves.offered[0]), *(array.tobytes() for array in arrays)])
        assert told[0] == told[1]
        if launch.name == "offer":
            solver.run_gpu_relabel(moves.state)
            solver.download(moves.state)


def test_few_threads_do_the_work_of_many():
    by_a_warp()


# ------------------------------------------------------------------------------- planted faults

FAULTS = {
    "a flow is not cut off at the arc it begins on": (
        "offer", "sent = min(int64(flow[pair]), left)", "sent = int64(flow[pair])"
    ),
    "a flow is not cut off at the arc it ends on": (
        "offer", "back = min(int64(flow[pair]), most)", "back = int64(flow[pair])"
    ),
    "the first pixel does not pay for the flow": ("offer", "surplus -= sent", "pass"),
    "the second pixel does not get the flow": ("offer", "surplus += back", "pass"),
    "the flow is another pair's": (
        "offer", "pair = d * pixels + i - step", "pair = d * pixels + i"
    ),
    "a first move has a flow": ("offer", "if begun:", "if True:"),
    "the first pixel does not pay for the pair": ("offer", "surplus += c - a", "pass"),
    "the second pixel does not pay for the pair": ("offer", "surplus -= c\n", "pass\n"),
    "labels of a pair are exchanged": (
        "offer", "pair_terms(mine, int64(labels[i + step])",
        "pair_terms(int64(labels[i + step]), mine"
    ),
    "the label's own cost is left out": (
        "offer", "int64(scene.unary[place + alpha])", "0"
    ),
    "an arc is the opposite one": (
        "offer", "int64(2 * d) * n + x] = left", "int64(2 * d) * n + x] = back"
    ),
    "arcs leave the image": (
        "offer", "if own and inside(row + DOWN[2 * d], column + RIGHT[2 * d], height, width):",
        "if own:",
    ),
    "what the sink is offered is not added up": ("offer", "total += max", "total = max"),
    "what the lanes have is not added up": ("offer", "total = warp_sum(total)", "pass"),
    "the arc's own capacity is kept": ("keep", "int64(2 * d + 1) * n", "int64(2 * d) * n"),
    "the first pixel's arc is kept": ("keep", "int64(down) * pitch + right", "row * pitch + i"),
    "a pair has a flow where it leaves": (
        "keep", "if inside(down, right, height, width):", "if True:"
    ),
    "the label goes to the other side": ("give", "& 1 == 0", "& 1 == 1"),
    "rows of the image and of the grid are confused": (
        "give", "int64(row) * pitch + i - row * scene.width", "i"
    ),
}  # fmt: skip
"""A kernel, words of it, and wrong ones: some cut, or some label, is then another."""


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_noticed(fault, monkeypatch):
    plant(fault, monkeypatch)
    with pytest.raises(Exception) as told:
        all_of_it()
    assert not isinstance(told.value, (NameError, SyntaxError, TypeError))


def all_of_it():
    for seed in range(16):
        weighed(seed, 8, 0)
    by_a_warp()
    kept((5, 7), 8)
    kept((4, 8), 8)


def plant(fault, monkeypatch):
    name, right, wrong = FAULTS[fault]
    text = inspect.getsource(getattr(kernels, name).py_func)
    assert right in text
    namespace = dict(vars(kernels))
    exec(text.replace(right, wrong), namespace)
    monkeypatch.setattr(kernels, name, namespace[name])
