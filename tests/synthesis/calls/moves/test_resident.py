"""Moves on the device: the host's answers, the bytes that travel, and the bound on what stays."""

import numpy as np
import pytest
from nightly import first
from synthesis.calls.test_expansion import energy, spelt_out

from papers.common.executor.scheduler import Executor
from papers.common.gpu import device
from papers.common.model import GivenUpError
from papers.common.problems import flow_proof
from papers.common.problems.network import FlowError
from papers.lupinska_costscale.flow import solver
from papers.lupinska_costscale.flow.prepare import known
from papers.synthesis.calls import expansion
from papers.synthesis.calls.expansion import alpha_expansion
from papers.synthesis.calls.moves import resident
from papers.synthesis.calls.moves.energies import energy_of
from papers.synthesis.calls.moves.resident import bytes_of, element_type

GPU = "lupinska_costscale:gpu_relabel"

FORMS = ("small", "potts", "line", "column", "wide", "one label", "large")


def given(form, seed=0):
    """Unary terms, weights, a metric or None, and the neighbours of a pixel."""
    draw, connectivity = np.random.default_rng(seed), 8 if seed % 2 else 4
    if form == "potts":  # four patches, and noise
        truth = np.kron(draw.integers(0, 4, (2, 2)), np.ones((4, 5), int))
        far = np.abs(truth[:, :, None] - np.arange(4))
        return 8 * far + draw.integers(0, 20, (8, 10, 4)), 7, None, connectivity
    if form == "large":  # several rounds of five labels
        points = np.array([0, 2, 3, 5, 9])
        far = np.minimum(np.abs(points[:, None] - points), 6)
        return draw.integers(-20, 20, (7, 11, 5)), 1, far, connectivity
    shape = {"line": (1, 9), "column": (9, 1)}.get(form, (4, 5))
    count = 1 if form == "one label" else 3
    unary, arcs, metric = energy(seed, shape, count, connectivity)
    scale = 2**28 if form == "wide" else 1
    return scale * unary, arcs, scale * metric, connectivity


def expanded(form, seed=0, **wishes):
    unary, arcs, metric, connectivity = given(form, seed)
    return alpha_expansion(unary, arcs, metric, connectivity=connectivity, solver=GPU, **wishes)


def on_the_host(monkeypatch, form, seed=0):
    """The present way's answer: capacities are made on the host, and travel."""
    with monkeypatch.context() as patch:
        patch.setattr(expansion, "ON_DEVICE", ())
        return expanded(form, seed)


def alike(one, other):
    assert (one.labels == other.labels).all()
    assert (one.energy, one.moves, one.sweeps) == (other.energy, other.moves, other.sweeps)
    assert one.recycled == other.recycled


@pytest.mark.parametrize("form", first(6, FORMS))
@pytest.mark.parametrize("seed", first(2, range(6)))
@pytest.mark.usefixtures("only_written")
def test_the_answer_is_the_host_s(form, seed, monkeypatch):
    """Move by move: of all minimum cuts both ways tell the one with the fewest pixels that move."""
    there, here = expanded(form, seed), on_the_host(monkeypatch, form, seed)
    alike(there, here)
    assert (there.resident, here.resident) == (there.recycled, 0)
    whole = energy_of(*given(form, seed))
    assert element_type(whole) == (np.int64 if form == "wide" else np.int32)


@pytest.mark.parametrize("seed", first(2, range(8)))
def test_every_order_of_the_threads_gives_the_same(seed, monkeypatch):
    here = on_the_host(monkeypatch, "potts", seed)
    with device.executing(Executor(seed, 0.2)):
        alike(expanded("potts", seed), here)


def test_every_move_is_proved(monkeypatch):
    """The flow is one of the capacities on the device, and its cut weighs as much."""
    proofs, right = [], resident.Resident.cut

    def proved(moves, alpha, seconds):
        answer = right(moves, alpha, seconds)
        grid = known(moves.state.prepared, moves.state.arrays).instance
        flow = solver.prove(moves.state, solver.download(moves.state))
        proofs.append(flow_proof.flow(grid, flow))
        return answer

    monkeypatch.setattr(resident.Resident, "cut", proved)
    found = expanded("potts", 1)
    assert len(proofs) == found.moves > 4
    assert all(proof.ok for proof in proofs)
    assert found.recycled > 0


# ------------------------------------------------------------------------------- what travels


@pytest.fixture
def travelled(monkeypatch):
    """Bytes up and down, copy by copy; a call of `Resident.cut` or `adopt` begins a new list."""
    stages = []

    def counted(name, way, size_of):
        right = getattr(device, name)

        def copy(*args):
            if stages:
                stages[-1][way].append(size_of(*args))
            return right(*args)

        monkeypatch.setattr(device, name, copy)

    counted("to_device", "up", lambda array: array.nbytes)
    counted("overwrite", "up", lambda target, array, *rest: array.nbytes)
    counted("to_host", "down", lambda array: array.nbytes)
    counted("fetch", "down", lambda array, target: array.nbytes)
    for name in ("copy_words", "mapped", "managed", "staging"):
        monkeypatch.setattr(device, name, None)  # other ways are not taken

    def begun(owner, name):
        right = getattr(owner, name)

        def call(*args):
            stages.append({"up": [], "down": []})
            return right(*args)

        monkeypatch.setattr(owner, name, call)

    begun(resident, "adopt")
    begun(resident.Resident, "cut")
    return stages


def words_down(pixels):
    """The control words, the solver's tally, the cut, the value, and what the sink was offered."""
    return [60, 16, 4 * -(-pixels // 32), 8, 8]


def test_no_capacity_travels_between_moves(travelled):
    """Energy and labels go up once, nothing comes down then; a move's words do not grow."""
    found = expanded("large", 1)
    whole = energy_of(*given("large", 1))
    begin, *moves = travelled
    assert len(moves) == found.moves > found.recycled > 4
    capacities = 77 * (2 + 8) * 4
    assert found.resident == found.recycled
    assert bytes_of(whole)[0] <= sum(begin["up"]) < bytes_of(whole)[0] + 1000
    assert begin["down"] == []
    for move in moves:
        assert move["up"] == []  # words that begin as zeros are cleared there
        assert move["down"] == words_down(8 * 16)  # whole tiles of the executor
        assert sum(move["down"]) < capacities / 10


def test_flows_beyond_the_bound_travel_and_are_counted(travelled, monkeypatch):
    """Two labels' flows have room; the other three come and go by way of one array."""
    whole = energy_of(*given("large", 1))
    taken, flow = bytes_of(whole)
    here = on_the_host(monkeypatch, "large", 1)
    monkeypatch.setattr(resident, "MOST_BYTES", taken + flow + 2 * flow + flow // 2)
    found = expanded("large", 1)
    alike(found, here)
    assert 0 < found.resident < found.recycled
    _, *moves = travelled
    for number, move in enumerate(moves):
        alpha, again = number % 5, number >= 5
        assert move["up"] == ([flow] if alpha > 1 and again else [])
        words = words_down(8 * 16)
        assert move["down"] == ([*words[:-1], flow, *words[-1:]] if alpha > 1 else words)
    assert found.recycled - found.resident == sum(flow in move["up"] for move in moves)


def test_an_energy_beyond_the_bound_is_moved_on_the_host(monkeypatch):
    here = on_the_host(monkeypatch, "small")
    for most in (0, sum(bytes_of(energy_of(*given("small")))) - 1):
        monkeypatch.setattr(resident, "MOST_BYTES", most)
        found = expanded("small")
        alike(found, here)
        assert (found.resident, found.recycled > 0) == (0, True)
    monkeypatch.setattr(resident, "MOST_BYTES", 1 << 30)
    monkeypatch.setattr(device, "free_bytes", lambda: 16 * 1024)  # enough for the solver alone
    unary, arcs, metric, connectivity = given("small")
    many = np.repeat(unary, 40, axis=2), arcs, np.repeat(np.repeat(metric, 40, 0), 40, 1)
    assert resident.adopt(energy_of(*many, connectivity), np.zeros((4, 5), np.int64)) is None


# ------------------------------------------------------------------------------- types, faults


@pytest.mark.parametrize("connectivity", [4, 8])
@pytest.mark.parametrize("sign", [-1, 1])
def test_the_narrow_type_holds_the_largest_surplus(sign, connectivity):
    """A pixel all of whose pairs pull one way; the executor refuses a store that does not fit."""
    pairs, weight = connectivity, 2**20
    left = (2**31 - 1 - pairs * weight) // 2
    unary = np.zeros((3, 3, 2), np.int64)
    unary[1, 1] = sign * left, -sign * left
    labels = np.zeros((3, 3), np.int64)
    for more, kind in ((0, np.int32), (1, np.int64)):
        unary[0, 0, 0] = left + more
        whole = energy_of(unary, weight, None, connectivity)
        assert element_type(whole) == kind
        moves = resident.adopt(whole, labels)
        assert moves.state.arrays["residual"].dtype == kind
        for alpha in (1, 0, 1):
            takes, lowered = moves.cut(alpha, None)
            after = np.where(takes, alpha, labels)
            assert whole.of(labels) - whole.of(after) == lowered


MISCOUNTED = {
    "the sum is not cleared": lambda moves: moves.offered,
    "the value is not cleared": lambda moves: moves.state.arrays["told"],
}
"""Words that begin at 0."""


@pytest.mark.parametrize("fault", MISCOUNTED)
def test_a_miscount_is_found(fault, monkeypatch):
    right, moves = device.clear, []

    def forgetful(array, *rest):
        if not any(array is MISCOUNTED[fault](each) for each in moves):
            right(array, *rest)

    def remembered(*args, _right=resident.adopt):
        moves.append(_right(*args))
        return moves[-1]

    monkeypatch.setattr(device, "clear", forgetful)
    monkeypatch.setattr(resident, "adopt", remembered)
    with pytest.raises(FlowError, match="not the best"):
        expanded("potts", 1)


FORGOTTEN = {"keep": "a flow is not kept", "give": "the labels stay"}
"""Launches that are left out."""


@pytest.mark.parametrize("launch", FORGOTTEN, ids=FORGOTTEN.values())
def test_a_launch_that_is_left_out_is_found(launch, monkeypatch):
    def lamed(*args, _right=resident.adopt):
        moves = _right(*args)
        moves.launches[launch].on_enqueue = lambda enqueue: None
        return moves

    monkeypatch.setattr(resident, "adopt", lamed)
    with pytest.raises((FlowError, OverflowError, RuntimeError)):
        expanded("potts", 1)


def test_limits_of_time_are_kept():
    with pytest.raises(GivenUpError):
        expanded("potts", seconds=1e-9)
    found = expanded("potts", seconds=600)
    unary, weight, _, _ = given("potts")
    arcs = {name: np.full((8, 10), weight) for name in ("right", "down")}
    assert found.energy == spelt_out(unary, arcs, 1 - np.eye(4, dtype=int), found.labels)
