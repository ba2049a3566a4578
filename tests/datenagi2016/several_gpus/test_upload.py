"""Memory of a rank: what is checked before it is taken, and freed before it is taken again."""

import dataclasses
import weakref
from types import SimpleNamespace

import numpy as np
import pytest

from papers.common.gpu import device
from papers.common.instances.matrices import sources
from papers.common.model import Instance
from papers.common.mpi import ranks
from papers.datenagi2016.launches import Geometry
from papers.datenagi2016.several_gpus import launches, upload
from papers.datenagi2016.several_gpus.strip import Strip

pytest.importorskip("mpi4py")


@pytest.fixture(autouse=True)
def _on_executor():
    device.select("cpu")


@pytest.mark.parametrize("name", ["adjacency", "whole_adjacency"])
def test_a_list_that_grows_is_freed_before_there_is_a_new_one(name, monkeypatch):
    state = upload.upload(np.eye(6, dtype=int), variant="classical")
    old, there = weakref.ref(state.arrays[name]), []
    empty = device.empty

    def looking(size, dtype):
        there.append(old() is not None)
        return empty(size, dtype)

    monkeypatch.setattr(device, "empty", looking)
    user = "compression_scatter" if name == "adjacency" else "forward_pass"
    state.launches[user].count = 7
    state.variant.room_for_edges(name, 5000)
    assert there == [False]
    assert len(state.arrays[name]) >= 5000
    assert state.launches[user].count == 7
    with pytest.raises(ValueError, match="int32 pointers"):
        state.variant.room_for_edges(name, 2**31)


def counted(source, monkeypatch):
    """The blocks that a source is asked for from here on."""
    asked, block = [], source.block
    monkeypatch.setattr(source, "block", lambda *lines: asked.append(lines) or block(*lines))
    return asked


@pytest.mark.parametrize("variant", ["classical", "tree"])
def test_what_has_no_room_is_refused_before_it_is_drawn(variant, monkeypatch):
    n = 20
    strip = Strip(n, variant == "classical", 1, 0)
    width = Geometry.for_device(n, variant).stage_width

    def needed(order):
        other = dataclasses.replace(strip, n=order)
        return 4 * order * order + launches.state_bytes(other, 4, width)

    for spare, message in ((-1, f"order {n} needs .* n <= {n - 1}"), (0, "")):
        monkeypatch.setattr(ranks, "room_of", lambda comm, spare=spare: needed(n) + spare)
        source = sources.as_source(Instance("uniform", n, "10n"))
        asked = counted(source, monkeypatch)
        if message:
            with pytest.raises(ValueError, match=message):
                upload.upload(source, variant=variant)
            assert not asked
            with pytest.raises(ValueError, match=message):
                upload.upload(source.block((0, n), (0, n)), variant=variant)
        else:
            upload.upload(source, variant=variant)
            assert asked


class Host:
    """A communicator of several ranks, as one of them sees it: what the others say is given."""

    def __init__(self, rank, size, said=()):
        self.rank, self.size, self.said = rank, size, list(said)

    def allgather(self, value):
        found = self.said.pop(0) if self.said else [value] * self.size
        return [value if each is Ellipsis else each for each in found]

    def bcast(self, value, root=0):
        return value

    def Split_type(self, kind):
        return self

    def Free(self):
        pass


@pytest.fixture
def gpus(monkeypatch):
    """Four GPUs; records which of them is taken."""
    taken = []
    monkeypatch.setattr(device, "describe", lambda: SimpleNamespace(is_gpu=True))
    monkeypatch.setattr(device, "select", lambda kind, place: taken.append((kind, place % 4)) or 1)
    return taken


def test_ranks_of_a_host_take_its_gpus_in_turn(gpus):
    for rank in range(6):
        ranks.take_device(Host(rank, 6))
    assert gpus == [("auto", place) for place in (0, 1, 2, 3, 0, 1)]


def test_a_rank_without_a_device_takes_one_when_it_solves(gpus, monkeypatch):
    monkeypatch.setattr(device, "is_settled", lambda: False)
    ranks.settle_device(Host(2, 4))
    assert gpus == [("auto", 2)]
    ranks.settle_device(Host(0, 1))  # by itself: the current one
    monkeypatch.setattr(device, "is_settled", lambda: True)
    ranks.settle_device(Host(2, 4))
    ranks.settle_device(Host(2, 4, [[True, False, Ellipsis, False]]))  # others take theirs
    assert gpus == [("auto", 2)]


def test_gpus_are_told_apart_by_their_uuid(monkeypatch):
    monkeypatch.setattr(device, "identity", lambda: "GPU-a")
    monkeypatch.setattr(device, "free_bytes", lambda: 900)
    assert ranks.gpus_of(Host(0, 3, [["GPU-a", "GPU-b", "GPU-a"]])) == 2
    assert ranks.gpus_of(Host(0, 2, [["GPU-a", ""]])) == 0
    said = [("GPU-a", 900), ("GPU-b", 10), ("GPU-a", 800)]
    assert ranks.room_of(Host(0, 3, [said])) == 400


def test_cores_are_divided_among_the_ranks_that_have_the_same(monkeypatch):
    shares = []
    monkeypatch.setattr(ranks, "_share_cores", shares.append)
    for masks in ([(0, 1), (0, 1), (0, 1)], [(0,), (1,), (2,)], [(0, 1), (0, 1), (2, 3)]):
        ranks._place(Host(1, 3, [masks]))
    assert shares == [3, 1, 2]
