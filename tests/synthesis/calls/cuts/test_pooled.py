"""Memory that held other images answers as fresh memory does, and nobody shares it."""

import numpy as np
import pytest

from papers.common.gpu import device
from papers.common.model import GivenUpError
from papers.common.problems.network import EIGHT, FOUR
from papers.lupinska_costscale.flow import solver
from papers.lupinska_costscale.flow.forms import grid_of
from papers.synthesis.assignment import pool
from papers.synthesis.calls.cuts import pooled
from papers.synthesis.calls.cuts.pooled import Room, filled, is_kept, room_for
from papers.synthesis.calls.flow import CUTTER, grid_cut

PUSH = "lupinska_costscale:push_relabel"


@pytest.fixture(autouse=True)
def _empty():
    device.select("cpu")
    pool.clear()
    yield
    pool.clear()


def images(shape, connectivity, count=3):
    """Every other one has no arc to the sink, or none at all, so that what is left over shows."""
    draw = np.random.default_rng([*shape, connectivity])
    for k in range(count):
        source, sink = draw.integers(0, 30, (2, *shape))
        arcs = draw.integers(0, 20, shape)
        yield (source, sink, arcs) if k != 1 else (source, 0 * sink, 0 * arcs)


@pytest.mark.parametrize("connectivity", [4, 8])
@pytest.mark.parametrize("shape", [(1, 1), (5, 9), (4, 8), (3, 20)])
def test_used_memory_answers_as_fresh_memory(shape, connectivity):
    rooms = []
    for _ in range(2):
        for image in images(shape, connectivity):
            expected = grid_cut(*image, connectivity, solver=PUSH)
            found = grid_cut(*image, connectivity, solver=CUTTER)
            assert found.value == expected.value
            assert found.mask.shape == shape
            assert np.array_equal(found.mask, expected.mask)
            assert found.mask.flags.writeable
            rooms += [id(room) for room in pool._idle]
    assert len(set(rooms)) == 1
    assert len(rooms) == 6


def test_what_was_left_over_would_show(monkeypatch):
    """Planted: a line that is not sent."""
    first, second, _ = images((5, 9), 4)
    expected = grid_cut(*second, solver=PUSH)
    grid_cut(*first, solver=CUTTER)
    send = Room._send
    monkeypatch.setattr(
        Room, "_send", lambda self, band: None if "sink" in band.names else send(self, band)
    )
    assert grid_cut(*second, solver=CUTTER).value != expected.value


def test_an_answer_is_the_caller_s_alone():
    first, second, _ = images((5, 9), 4)
    found = grid_cut(*first, solver=CUTTER)
    before = found.mask.copy()
    grid_cut(*second, solver=CUTTER)
    assert np.array_equal(found.mask, before)
    assert not np.array_equal(grid_cut(*second, solver=PUSH).mask, before)


def test_capacities_go_up_once_and_without_the_rows_that_pad_them(monkeypatch):
    image = next(images((5, 9), 4))  # in 2 x 2 tiles of 4 x 8
    grid_cut(*image, solver=CUTTER)
    sent = []
    send = device.send_words
    monkeypatch.setattr(device, "send_words", lambda *given: (sent.append(given[3]), send(*given)))
    monkeypatch.setattr(device, "overwrite", lambda *given: pytest.fail("a second way up"))
    grid_cut(*image, solver=CUTTER)
    assert sent == [5 * 16] * 6


def test_after_a_limit_memory_is_not_used_again(monkeypatch):
    image = next(images((5, 9), 4))
    grid_cut(*image, solver=CUTTER)
    (room,) = pool._idle

    def give_up(state):
        assert state is room.state
        assert 5 < state.seconds <= 7
        raise GivenUpError("too long")

    with monkeypatch.context() as patch:
        patch.setattr(solver, "run_gpu_relabel", give_up)
        with pytest.raises(GivenUpError):
            grid_cut(*image, solver=CUTTER, seconds=7)
    assert not pool._idle
    assert not room.whole
    assert grid_cut(*image, solver=CUTTER).value == grid_cut(*image, solver=PUSH).value
    assert room not in pool._idle
    (room,) = pool._idle
    assert room.state.seconds is None


def test_refused_memory_is_waited_for_and_used_again(monkeypatch):
    waited = []
    monkeypatch.setattr(device, "synchronize", lambda *given: waited.append(given))
    source, sink, arcs = next(images((5, 9), 4))
    assert filled((source, sink - 99, arcs, 4), (5, 9)) is None
    (room,) = pool._idle
    assert room.whole
    assert waited == [()]
    assert filled((source, sink, arcs, 4), (5, 9)) is room


def test_rooms_are_told_apart_and_count_their_memory():
    one, two = room_for((5, 9), FOUR), room_for((5, 9), FOUR)
    other = room_for((5, 9), EIGHT)
    assert len({id(room) for room in (one, two, other)}) == 3
    padded = one.state.prepared.n
    for room, k in ((one, 4), (other, 8)):
        by_pixel = pooled.BYTES_OF_PIXEL + k * pooled.BYTES_OF_ARC
        assert by_pixel * padded < room.nbytes < by_pixel * padded + 1000


def test_images_whose_memory_is_not_kept_are_left_alone(monkeypatch):
    assert is_kept((2048, 2048), 4)
    assert not is_kept((4096, 4096), 4)
    image = next(images((5, 9), 4))
    monkeypatch.setattr(pool, "MOST_BYTES", 1000)
    monkeypatch.setattr(pooled, "image_of", lambda *given: pytest.fail("it was looked at"))
    found = grid_cut(*image, solver=CUTTER)
    assert not pool._idle
    assert found.value == grid_cut(*image, solver=PUSH).value


def test_a_room_is_filled_with_what_prepare_makes():
    draw = np.random.default_rng(8)
    source, sink = draw.integers(0, 9, (2, 6, 11))
    arcs = {name: draw.integers(0, 9, (6, 11)) for name in EIGHT}
    room = filled((source, sink, arcs, 8), (6, 11))
    state = solver.SOLVERS["gpu_relabel"].upload(grid_of(source, sink, arcs, 8))
    for name in ("source", "sink", "capacity"):
        assert np.array_equal(room.state.arrays[name], state.arrays[name])
        assert room.state.arrays[name].dtype == state.arrays[name].dtype == np.int32
