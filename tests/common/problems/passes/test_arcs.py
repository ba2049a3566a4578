"""The compiled passes over a network's arcs, beside NumPy's sorting of keys."""

import numpy as np
import pytest

from papers.common.problems.network import ArcList, flow_on_arcs, network
from papers.common.problems.passes import arcs as pairing


def by_sorting(tail, head, capacity, nodes):
    """`pairing.paired` by sorted keys: every proper arc, and its mate with nothing."""
    both = {}
    for x, y, c in zip(tail.tolist(), head.tolist(), capacity.tolist(), strict=True):
        if x != y:
            both[x, y] = both.get((x, y), 0) + c
            both.setdefault((y, x), 0)
    order = sorted(both)
    first = np.searchsorted([x for x, _ in order], np.arange(nodes + 1)).tolist()
    place = {ends: a for a, ends in enumerate(order)}
    return (
        first, [y for _, y in order], [place[y, x] for x, y in order],
        [both[ends] for ends in order],
    )  # fmt: skip


def drawn(seed, most=30):
    g = np.random.default_rng(seed)
    nodes = int(g.integers(1, most))
    arcs = int(g.integers(0, 4 * nodes))
    tail, head = g.integers(0, nodes, (2, arcs)).astype(np.int32)
    return tail, head, g.integers(0, 2**40, arcs), nodes


@pytest.mark.parametrize("seed", range(200))
def test_arcs_are_paired_as_by_sorting(seed):
    arcs = drawn(seed)
    found = pairing.paired(*arcs)
    assert [part.tolist() for part in found] == list(by_sorting(*arcs))
    assert [part.dtype for part in found] == [np.int32, np.int32, np.int32, np.int64]


@pytest.mark.parametrize("seed", range(100))
def test_flow_is_spread_over_parallel_arcs_in_their_order(seed):
    tail, head, capacity, nodes = drawn(seed, 8)
    first, ends, mate, both = pairing.paired(tail, head, capacity, nodes)
    share = np.random.default_rng(seed).random(ends.size)
    sent = (share * both).astype(np.int64)
    sent = np.where(np.arange(ends.size) < mate, sent, 0)
    sent -= sent[mate]  # one way only, and its negative at the mate
    sent[sent < -both[mate]] = 0
    found = pairing.spread(first, ends, sent, tail, head, capacity)
    left = {}
    starts = np.repeat(np.arange(nodes), np.diff(first))
    for x, y, amount in zip(starts.tolist(), ends.tolist(), sent.tolist(), strict=True):
        left[x, y] = max(amount, 0)
    for x, y, most, flow in zip(
        *(of.tolist() for of in (tail, head, capacity, found)), strict=True
    ):
        due = 0 if x == y else min(left[x, y], most)
        assert flow == due
        if x != y:
            left[x, y] -= due
    assert not any(left.values())


def test_arrays_of_other_kinds_are_narrowed_and_nothing_is_compiled_for_them():
    """Locked arrays and those of other types or layouts become what the passes have seen."""
    arcs = ArcList(*(np.array(part) for part in ([0, 1, 0], [1, 2, 1], [3, 4, 5])))
    usual = network(*arcs, 3, 0, 2)
    compiled = len(pairing.paired.signatures), len(pairing.spread.signatures)
    locked = ArcList(*(part.astype(np.int32) for part in arcs[:2]), arcs[2].copy())
    for part in locked:
        part.flags.writeable = False
    for other in (
        locked, ArcList(*(part.astype(">i8") for part in arcs)),
        ArcList(*(np.repeat(part, 2)[::2] for part in arcs)),
        ArcList(*(part.astype(np.uint8) for part in arcs)),
    ):  # fmt: skip
        net = network(*other, 3, 0, 2)
        for name in ("first", "head", "mate", "capacity"):
            assert np.array_equal(getattr(net, name), getattr(usual, name))
        assert flow_on_arcs(net, net.capacity - [4, -4, 4, -4], other).tolist() == [3, 4, 1]
    assert (len(pairing.paired.signatures), len(pairing.spread.signatures)) == compiled
