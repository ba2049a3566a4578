"""The lock-free kernels under interleavings, with the lemmas of [LU11 sec.5.4] as invariants."""

import numpy as np
import pytest
from nightly import first
from scipy.optimize import linear_sum_assignment

from papers.common.executor.scheduler import Executor
from papers.common.gpu import device
from papers.common.problems import assignment_proof
from papers.lupinska_costscale.assignment import reference, solver
from papers.lupinska_costscale.assignment.baselines.refine import price_update
from papers.lupinska_costscale.assignment.costs import read
from papers.lupinska_costscale.assignment.kernels import lock_free, one_launch, prices
from papers.lupinska_costscale.assignment.kernels.arguments import Arcs, Lists, Vertices
from papers.lupinska_costscale.assignment.launches import Geometry

SEEDS = 500  # of the host loop, a thread a node
WIDE_SEEDS, BLOCK_SEEDS = 75, 40  # of several threads a node, and of the one launch: they take long


@pytest.fixture(autouse=True)
def _on_executor():
    device.select("cpu")


class Lemmas:
    """Watches every store and atomic of the refine kernel."""

    def __init__(self):
        self.eps = None
        self.transient = self.relabels = self.pushes = self.active = 0

    def attach(self, state):
        self.state = state
        for eps, launches in zip(state.epsilons, state.launches, strict=True):
            launches["refine"] = self.wrapped(eps, launches["refine"])

    def wrapped(self, eps, launch):
        def go():
            self.eps = eps
            self.before = self.state.arrays["price"].copy()
            self.units = self.state.arrays["excess"].copy()
            self.sending = set()  # nodes between the flow and the excess of a push
            launch()
            self.eps = None

        return go

    def __call__(self, kind, name, index, value):
        if self.eps is None:
            return
        name = name.rpartition(".")[2]  # of a field of a named tuple: without the tuple's
        if name == "price":
            # Lemma 5.2, and more: a relabel takes off eps at least.
            assert value <= self.before[index] - self.eps, (index, value, self.before[index])
            self.before[index] = value
            self.relabels += 1
            self.nearly_optimal()
        elif name == "flow":
            self.pushes += 1
            c = self.state.costs
            self.sending.add(int(c.tail[index] if value else c.n + c.tip[index]))
            self.nearly_optimal()
        elif name == "excess":
            if value < self.units[index]:
                self.sending.remove(index)
            self.units[index] = value
            self.an_operation_each()
        elif name == "flags":
            assert index == lock_free.LACKS, "Lemma 5.1: an active node had no residual arc"
            a = self.state.arrays
            assert value >= (a["excess"][self.state.costs.n :] < 0).sum()  # counted down late

    def an_operation_each(self):
        """Lemma 5.1: an active node has a residual arc, so a push or a relabel."""
        a, costs = self.state.arrays, self.state.costs
        flow, n = a["flow"], costs.n
        for v in set(np.flatnonzero(a["excess"] > 0).tolist()) - self.sending:
            arcs = a["arc"][costs.first[v] : a["last"][v]]
            assert (flow[arcs] == (0 if v < n else 1)).any(), v
            self.active += 1

    def nearly_optimal(self):
        """Lemma 5.5: c_p >= -eps, but for as many arcs as the node has units to send back."""
        a, c = self.state.arrays, self.state.costs
        flow, price = a["flow"], a["price"]
        reduced = c.cost + price[c.tail] - price[c.n + c.tip]
        forth = (flow == 0) & (reduced < -self.eps)
        assert not forth.any(), "an arc from an x, whose unit nobody else can send"
        back = (flow == 1) & (-reduced < -self.eps)
        if back.any():
            self.transient += 1
            units = np.bincount(c.tip[flow == 1], minlength=c.n) - 1
            assert (np.bincount(c.tip[back], minlength=c.n) <= np.maximum(units, 0)).all()


CONFIGURATIONS = ("paper", "alone_in_a_warp", "warp_a_node", "tuned")


def one_of(seed, name):
    """Options of a run: a thread a node, or groups of two or four, with both price updates."""
    n = 2 + seed % 4
    lanes = 1 if name == "paper" else (2, 4)[seed // 5 % 2]
    lookers = 1 if name == "alone_in_a_warp" else lanes
    return {
        "configuration": name,
        "cycle": (100_000, 6)[seed % 2],
        "price_updates": ("every", "none", "first")[seed // 2 % 3],
        "arc_fixing": seed % 5 > 0,
        "geometry": Geometry(n * lanes, lanes, lookers),
    }


def optimal_flow(state):
    """c_p >= -1 on every residual arc that was not fixed: eps below 1/n, nothing transient left."""
    a, c = state.arrays, state.costs
    reduced = c.cost + a["price"][c.tail] - a["price"][c.n + c.tip]
    assert (reduced[a["flow"] == 0] >= -1).all()
    assert (reduced[a["flow"] == 1] <= 1).all()


@pytest.mark.parametrize("name", CONFIGURATIONS)
@pytest.mark.parametrize("part", first(2, range(5)))
def test_the_lemmas_hold_in_every_interleaving(part, name):
    seen = set()
    total = np.zeros(4, int)
    for seed in range(part, SEEDS if name == "paper" else WIDE_SEEDS, 5):
        draw = np.random.default_rng(seed)
        n = 2 + seed % 4
        cost = draw.integers(0, (2, 4, 30)[seed % 3], (n, n))
        lemmas = Lemmas()
        executor = Executor(seed=seed, switch=(0.1, 0.3, 0.6)[seed // 3 % 3], on_access=lemmas)
        with device.executing(executor):
            state = solver.upload(cost, **one_of(seed, name))
            lemmas.attach(state)
            solver.run(state)
            answer = solver.download(state)
        optimal_flow(state)
        assert assignment_proof.assignment(cost, answer).ok, seed
        assert answer.cost == cost[linear_sum_assignment(cost)].sum()
        assert lemmas.relabels == answer.counters["relabels"]
        assert lemmas.pushes == answer.counters["pushes"]
        total += lemmas.transient, lemmas.relabels, lemmas.pushes, lemmas.active
        seen.add((seed % 4, answer.counters["relabels"]))
    assert len(seen) > 8, "the interleavings did not differ: the test would prove nothing"
    assert (total[1:] > 0).all()


def test_the_transient_case_happens():
    """[LU11 Lemma 5.5], case 5: a push meets the relabel of the node that it goes to."""
    for seed in range(60):
        lemmas = Lemmas()
        cost = np.random.default_rng(seed).integers(0, 30, (5, 5))
        with device.executing(Executor(seed=seed, switch=0.1, on_access=lemmas)):
            state = solver.upload(cost, geometry=Geometry(5), configuration="paper")
            lemmas.attach(state)
            solver.run(state)
        optimal_flow(state)
        if lemmas.transient:
            return
    pytest.fail("no interleaving went through the transient case")


@pytest.mark.parametrize("part", first(2, range(4)))
def test_the_one_launch_in_every_interleaving(part):
    """Warps preempted anywhere: prices never rise within a refine, the answer is proved."""
    seen = set()
    for seed in range(part, BLOCK_SEEDS, 4):
        draw = np.random.default_rng(seed)
        n = 2 + seed % 3
        cost = draw.integers(0, (2, 5, 20)[seed % 3], (n, n))
        with device.executing(Executor(seed=seed, switch=0.2, warp_size=32)):
            state = solver.upload(cost, loop="device", geometry=Geometry(64))
            solver.run(state)
            answer = solver.download(state)
        assert assignment_proof.assignment(cost, answer).ok, seed
        seen.add((seed % 3, answer.counters["relabels"], answer.counters["pushes"]))
    assert len(seen) > 5


def interrupted(seed, lanes=2):
    """A run that was stopped after some turns, and its arrays."""
    n = 3 + seed % 4
    cost = np.random.default_rng(seed).integers(0, (5, 40, 300)[seed % 3], (n, n))
    state = solver.upload(cost, cycle=3 + seed % 5, geometry=Geometry(8 * lanes, lanes))
    state.start()
    launches = state.launches[seed % len(state.launches)]
    launches["start_refine"]()
    launches["refine"]()
    return state, launches, state.epsilons[seed % len(state.launches)]


def of(kind, arrays):
    return kind(*(arrays[name] for name in kind._fields))


def test_the_device_s_price_update_is_the_host_s():
    """The same price of every node, however the threads meet, and of unreached nodes as well."""
    updated = cut_off = 0
    for seed in range(60):
        with device.executing(Executor(seed=seed, switch=(0.1, 0.5)[seed % 2])):
            state, launches, eps = interrupted(seed, (1, 2, 4)[seed % 3])
            a = state.arrays
            wanted = {name: a[name].copy() for name in ("price", "flow", "excess")}
            lists, arcs = of(Lists, a), Arcs(state.costs.cost, wanted["flow"])
            vertices = Vertices(wanted["price"], wanted["excess"])
            assert price_update(state.costs.n, lists, arcs, vertices, np.int64(eps))
            before = a["price"].copy()
            launches["update_prices"]()
        for name, values in wanted.items():
            assert (a[name] == values).all(), (seed, name)
        if a["flags"][lock_free.LACKS]:
            updated += 1
            last = a["control"][prices.LAST]
            cut_off += int((a["label"] > last).any())
            assert ((before - a["price"]) == eps * np.minimum(a["label"], last + 1)).all()
        else:
            assert (before == a["price"]).all()
    assert 20 < updated < 60
    assert cut_off > 5


def test_a_price_update_without_a_way_to_a_lack_says_so():
    state, launches, _ = interrupted(1)
    a = state.arrays
    assert a["flags"][lock_free.LACKS] > 0
    v = int(np.flatnonzero(a["excess"] > 0)[0])
    a["last"][v] = state.costs.first[v]
    before = a["price"].copy()
    launches["update_prices"]()
    assert a["flags"][lock_free.STUCK] == 1
    assert (a["price"] == before).all()


def test_start_refine_is_the_reference_s():
    cost = np.random.default_rng(3).integers(0, 50, (6, 6))
    costs = read(cost)
    state = solver.upload(cost, configuration="paper")
    a = state.arrays
    state.start()
    a["price"][6:] = [0, -50, 7, -3, 0, -100]
    state.launches[0]["start_refine"]()
    run = reference.Run(costs, "5.2", [0] * 36, [0] * 6 + [0, -50, 7, -3, 0, -100])
    run.eps = state.epsilons[0]
    reference.start_5_2(run)
    assert a["price"].tolist() == run.p
    assert a["excess"].tolist() == run.e
    assert a["flow"].tolist() == run.f
    assert a["flags"].tolist() == [6, 0]


@pytest.mark.parametrize("seed", range(4))
def test_arc_fixing_is_the_reference_s(seed):
    """Same arcs fixed, both lists without them, however the threads meet."""
    cost = np.random.default_rng(seed).integers(0, 1000, (7, 7))
    with device.executing(Executor(seed=seed, switch=0.5)):
        state = solver.upload(cost, arc_fixing=False, configuration="paper")
        state.start()
        for launches in state.launches[:3]:
            launches["start_refine"]()
            launches["refine"]()
        a, c = state.arrays, state.costs
        run = reference.Run(c, "5.2", a["flow"].tolist(), a["price"].tolist())
        run.eps = state.epsilons[2]
        state.launches[2]["arc_fixing"]()
    assert reference.fix_arcs(run) == a["tally"][lock_free.ARCS_FIXED] > 0
    assert a["flow"].tolist() == run.f
    for v in range(14):
        kept = a["arc"][c.first[v] : a["last"][v]].tolist()
        assert kept == [
            k for k in c.arc[c.first[v] : c.first[v + 1]] if run.f[k] != lock_free.FIXED
        ]


def test_a_bound_on_sweeps_ends_the_one_launch():
    state = solver.upload(np.outer(np.arange(1, 9), np.arange(1, 9)), loop="device", operations=1)
    with pytest.raises(RuntimeError, match="exceeded 1 sweeps"):
        solver.run(state)
    assert state.arrays["ended"][0] == one_launch.RAN_OVER
    with pytest.raises(RuntimeError, match="no run has ended"):
        solver.download(state)
