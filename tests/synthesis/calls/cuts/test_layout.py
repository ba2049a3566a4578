"""One pass over each array lays an image out as `prepare` does, and sees what has to be known."""

import os
import signal
import threading
import time

import numpy as np
import pytest

from papers.common import cores
from papers.common.gpu import device
from papers.common.problems.network import EIGHT, FOUR, leaving
from papers.lupinska_costscale.flow.forms import grid_of
from papers.lupinska_costscale.flow.prepare import Tile, prepare
from papers.synthesis.calls.cuts import layout, loops
from papers.synthesis.calls.cuts.layout import Image, image_of, lay_out, shape_of

TILE = Tile(4, 8)


@pytest.fixture(autouse=True)
def _on_executor():
    device.select("cpu")


@pytest.fixture(autouse=True, params=["arrays", "loops"])
def passes(request, monkeypatch):
    """Both ways to lay out: by NumPy's passes, as a process begins, and by compiled loops."""
    monkeypatch.setattr(layout, "BY_ARRAYS", {"arrays": 2**62, "loops": 0}[request.param])
    return layout._passes(1)


def drawn(shape, names, seed=0, dtype=np.int64):
    draw = np.random.default_rng(seed)
    source, sink = draw.integers(0, 9, (2, *shape)) * (draw.random((2, *shape)) < 0.5)
    arcs = {name: draw.integers(0, 99, shape).astype(dtype) for name in names}
    return source.astype(dtype), sink.astype(dtype), arcs, len(names)


def lines_for(shape, names):
    """Places like those of a room: zero, in whole tiles."""
    height, width = (-(-size // of) * of for size, of in zip(shape, (4, 8), strict=True))
    return {name: np.zeros((height, width), np.int32) for name in ("source", "sink", *names)}


def laid(given, then=lambda band: None):
    shape = shape_of(given)
    image = image_of(given, shape)
    lines = lines_for(shape, tuple(image.arcs))
    return lines, lay_out(image, lines, then)


def as_prepared(given):
    """The host's other way to the same lines."""
    parts = prepare(grid_of(*given), TILE).parts
    return np.vstack([parts.source, parts.sink, parts.between.reshape(given[3], -1)])


def flat(lines):
    return np.vstack([line.ravel() for line in lines.values()])


@pytest.mark.parametrize("names", [FOUR, EIGHT], ids=["4", "8"])
@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (9, 1), (4, 8), (5, 17), (33, 6)])
@pytest.mark.parametrize("dtype", ["int64", "int32", "uint16", "float64", "uint64", "int8", ">i4"])
def test_capacities_lie_where_prepare_puts_them(shape, names, dtype):
    given = drawn(shape, names, dtype=dtype)
    lines, seen = laid(given)
    assert np.array_equal(flat(lines), as_prepared(given))
    assert seen.fits
    assert seen.tied == np.count_nonzero((given[0] > 0) | (given[1] > 0))
    assert seen.between == np.bitwise_or.reduce(np.array(list(given[2].values()), int), axis=None)
    assert seen.ends == np.bitwise_or.reduce(np.array(given[:2], int), axis=None)


def test_scalars_rows_views_and_frozen_arrays_are_read():
    source, sink, arcs, _ = drawn((6, 10), FOUR)
    frozen = source.copy()
    frozen.flags.writeable = False
    by_name = dict(zip(FOUR, (3, arcs["left"][:1], arcs["down"][:, :1], np.array(2)), strict=True))
    for given in (
        (source, sink, np.array(7), 4),
        (frozen, np.array(1), arcs["up"], 8),
        (np.asfortranarray(source), sink[::-1], {k: np.asarray(a) for k, a in by_name.items()}, 4),
        (source > 2, sink > 2, arcs["up"] > 5, 4),
    ):
        lines, seen = laid(given)
        padded = prepare(grid_of(*given), TILE).parts
        assert seen.fits
        assert np.array_equal(lines["source"].ravel(), padded.source)
        assert np.array_equal(flat(lines)[2:].ravel(), padded.between)


@pytest.mark.parametrize("name", ["source", "sink", "right", "up_left"])
@pytest.mark.parametrize("place", [(0, 0), (0, 9), (5, 3), (5, 9)])
def test_a_negative_capacity_is_seen_wherever_it_is(name, place):
    """Also on an arc that leaves the image."""
    for dtype in (np.int32, np.int64):
        source, sink, arcs, k = drawn((6, 10), EIGHT, dtype=dtype)
        {"source": source, "sink": sink, **arcs}[name][place] = -1
        assert not laid((source, sink, arcs, k))[1].fits


@pytest.mark.parametrize(("name", "most"), [("source", 31), ("sink", 31), ("down", 30)])
def test_capacities_fit_as_long_as_prepare_takes_32_bits(name, most):
    for value, fits in ((2**most - 1, True), (2**most, False), (2**62 - 1, False)):
        source, sink, arcs, _ = given = drawn((6, 10), FOUR)
        {"source": source, "sink": sink, **arcs}[name][2, 3] = value
        assert laid(given)[1].fits == fits
        if value < 2**60:
            assert (prepare(grid_of(*given), TILE).dtype == np.int32) == fits


def test_what_is_no_image_is_left_to_grid_of():
    ok = np.ones((3, 4), int)
    for given in (
        (ok, ok, ok, 5),
        (ok, ok, {"right": ok}, 4),
        (ok, np.ones((4, 3), int), ok, 4),
        (np.array(1), np.array(1), np.array(1), 4),
        (np.ones((0, 3), int), ok[:0, :3], np.array(1), 4),
        (np.ones(3, int), np.array(1), np.array(1), 4),
    ):
        assert shape_of(given) is None
    for wrong in (ok + 0.5, ok - 2.0, ok.astype(object), np.full((3, 4), np.nan)):
        assert image_of((ok, wrong, ok, 4), (3, 4)) is None


# ------------------------------------------------------------------------------- by threads


@pytest.fixture
def many_bands(monkeypatch):
    monkeypatch.setattr(layout, "LEAST", 1)
    monkeypatch.setattr(layout, "BAND", 20)
    monkeypatch.setattr(cores, "threads", lambda wanted: 3)


@pytest.mark.parametrize("names", [FOUR, EIGHT], ids=["4", "8"])
@pytest.mark.parametrize("shape", [(9, 6), (7, 33), (1, 5)])
@pytest.mark.usefixtures("many_bands")
def test_threads_lay_out_alike(shape, names):
    given = drawn(shape, names, seed=3)
    done = []
    lines, seen = laid(given, done.append)
    assert np.array_equal(flat(lines), as_prepared(given))
    assert seen.tied == np.count_nonzero((given[0] > 0) | (given[1] > 0))
    rows = {}
    for band in done:
        for name in band.names:
            rows.setdefault(name, []).extend(range(band.first, band.stop))
    assert rows == {name: list(range(shape[0])) for name in lines}


@pytest.mark.usefixtures("many_bands")
def test_a_band_goes_on_when_it_is_laid_out_and_not_before(passes, monkeypatch):
    """Planted: threads that are late."""
    of_ends, of_arcs = passes
    here = threading.get_ident()
    others = set()

    def late(*args):
        time.sleep(0.002)
        others.add(threading.get_ident())
        return of_arcs(*args)

    monkeypatch.setattr(layout, "_passes", lambda entries: (of_ends, late))
    given = drawn((9, 6), FOUR)
    image = image_of(given, (9, 6))
    lines = lines_for((9, 6), FOUR)
    expected = {name: array.copy() for name, array in given[2].items()}
    for name, array in expected.items():
        for part in leaving(array, name):
            part[...] = 0

    def then(band):
        assert threading.get_ident() == here
        for name in set(band.names) & set(FOUR):
            rows = slice(band.first, band.stop)
            assert np.array_equal(lines[name][rows, :6], expected[name][rows])

    lay_out(image, lines, then)
    assert here not in others


@pytest.mark.usefixtures("many_bands")
def test_what_fails_in_a_thread_is_raised(passes, monkeypatch):
    def fail(*args):
        raise MemoryError("no room")

    monkeypatch.setattr(layout, "_passes", lambda entries: (fail, passes[1]))
    with pytest.raises(MemoryError, match="no room"):
        laid(drawn((9, 6), FOUR))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
@pytest.mark.usefixtures("many_bands")
def test_a_child_process_has_threads_of_its_own():
    given = drawn((9, 6), FOUR)
    expected = flat(laid(given)[0])
    child = os.fork()
    if not child:
        signal.alarm(60)  # without the parent's threads it would wait for ever
        os._exit(0 if np.array_equal(flat(laid(given)[0]), expected) else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_a_small_image_is_laid_out_without_threads(monkeypatch):
    monkeypatch.setattr(layout, "_helpers", lambda threads: pytest.fail("a thread was asked"))
    source, sink, arcs, _ = drawn((9, 6), FOUR)
    lay_out(Image(source, sink, arcs), lines_for((9, 6), FOUR), lambda band: None)


def test_compiled_loops_are_loaded_when_a_process_has_laid_out_many_capacities(monkeypatch):
    monkeypatch.setattr(layout, "BY_ARRAYS", 400)
    monkeypatch.setattr(layout, "_laid_out", 0)
    source, sink, arcs, _ = drawn((9, 6), FOUR)  # 324 capacities
    seen = []
    for _ in range(3):
        seen.append(lay_out(Image(source, sink, arcs), lines_for((9, 6), FOUR), lambda band: None))
        seen.append(layout._passes(0))
    by_arrays = layout.ends_by_arrays, layout.arcs_by_arrays
    by_loops = loops.lay_ends, loops.lay_arcs
    assert seen[1::2] == [by_arrays, by_loops, by_loops]
    assert seen[0] == seen[2] == seen[4]
