"""Run under mpiexec: ``mpi_driver.py CASE [ARGUMENT]``. Every rank runs the case in step.

A case that is right ends with "ok CASE RANKS" from rank 0, and exit code 0.
"""

import contextlib
import ctypes
import dataclasses
import functools
import itertools
import os
import signal
import sys
import time

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from papers.common import deadline, instances
from papers.common.gpu import device, memory_order
from papers.common.instances.families import StorageError
from papers.common.instances.matrices import sources
from papers.common.model import Assignment, GivenUpError, Instance
from papers.common.mpi import ranks
from papers.common.mpi import windows as windows_of
from papers.common.problems import (
    assignment_proof,
    assignment_proof_by_strips,
    blocks,
    costs_on_device,
)
from papers.datenagi2016 import solve, solver
from papers.datenagi2016.kernels import shared
from papers.datenagi2016.several_gpus import collectives, upload
from papers.datenagi2016.several_gpus import exchange as mpi_exchange
from papers.datenagi2016.several_gpus import solver as mpi_solver
from papers.datenagi2016.several_gpus.exchange import AllgatherExchange, NcclExchange, PeerExchange
from papers.datenagi2016.several_gpus.exchange import host as by_host
from papers.datenagi2016.several_gpus.exchange import nccl as by_nccl
from papers.datenagi2016.several_gpus.exchange import peers as by_peers
from papers.datenagi2016.several_gpus.exchange.base import Level
from papers.datenagi2016.several_gpus.kernels import strips

COMM = ranks.mpi().COMM_WORLD
RANK, SIZE = COMM.rank, COMM.size


def check(answer, cost):
    """Proved, of SciPy's cost, and the same on all ranks."""
    verdict = assignment_proof.assignment(cost, answer)
    assert verdict.ok, verdict
    best = cost[linear_sum_assignment(cost)].sum()
    assert abs(best - answer.cost) <= 1e-9 * abs(best), (best, answer.cost)
    mine = answer.col_ind.tolist(), answer.row_duals.tolist(), answer.column_duals.tolist()
    assert COMM.bcast((mine, answer.counters)) == (mine, answer.counters)


def raises(kind, text, call):
    """The named error, on every rank."""
    with pytest.raises(kind, match=text) as found:
        call()
    assert found.type is kind


def solves(every="1"):
    """Both variants, all types, uneven splits, n = p, idle ranks; counts as on one GPU.

    Of the largest order the two variants take `every` second of the types, one those that the other
    leaves out.
    """
    kinds = ("int32", "10n"), ("int64", "n"), ("float64", "10n"), ("int32", "0.1n")
    for n in {1: (1, 5), 2: (2, 14), 3: (5, 14), 4: (4, 5)}[SIZE]:
        for turn, variant in enumerate(("classical", "tree")):
            for place, (dtype, label) in enumerate(kinds):
                if n == 14 and (place + turn) % int(every):
                    continue
                family = "uniform_double" if dtype == "float64" else "uniform"
                instance = Instance(family, n, label, seed=n)
                cost = instances.draw(instance)
                exchange = ("gather", "allgather")[place % 2]
                given = instance if place < 2 or dtype == "float64" else cost
                answer = solve(given, variant=variant, dtype=dtype, comm=COMM, exchange=exchange)
                check(answer, cost)
                if dtype != "float64" and RANK == 0 and n < 14:
                    one = solver.solve(cost, variant=variant, dtype=dtype).counters
                    for name in ("dual_updates", "initial_assignments"):
                        assert one[name] == answer.counters[name], (n, variant, name)


def forms():
    """Arrays of every sort, whole and by part, maximized, negative, rectangular, empty."""
    draw = np.random.default_rng(3)
    for variant in ("classical", "tree"):
        cost = draw.integers(-50, 50, (6, 9))
        answer = solve(cost, variant=variant, comm=COMM)
        assert answer.cost == cost[linear_sum_assignment(cost)].sum()
        forbidden = np.where(draw.random((7, 7)) < 0.3, np.inf, draw.random((7, 7)))
        np.fill_diagonal(forbidden, 0.5)
        check(solve(forbidden, variant=variant, comm=COMM), forbidden)
        assert solve(np.zeros((0, 4)), variant=variant, comm=COMM).cost == 0
        negative = draw.integers(-50, 50, (9, 9))
        source = _Negative(negative)
        check(solve(source, variant=variant, comm=COMM), negative)
        most = solve(source, maximize=True, variant=variant, comm=COMM)
        assert assignment_proof.assignment(negative, most, True).ok
    state = mpi_solver.upload(negative, variant="tree", comm=COMM)
    for _ in range(2):
        mpi_solver.run(state)
        check(mpi_solver.download(state), negative)


class _Negative:
    """A caller's own source."""

    def __init__(self, array):
        self.array, self.shape, self.dtype = array, array.shape, array.dtype

    def block(self, rows, columns):
        return self.array[slice(*rows), slice(*columns)]

    def fingerprint(self):
        return "negative"


def file(path):
    """A .npy file, of which a rank maps its strip; a file that one rank cannot read."""
    cost = np.load(path)
    for variant in ("classical", "tree"):
        check(solve(path, variant=variant, comm=COMM), cost)
    missing = path if RANK == 0 and SIZE > 1 else path + ".absent"
    raises(FileNotFoundError, "absent", lambda: solve(missing, comm=COMM))


def lists():
    """Messages longer than what the first call carries."""
    by_host.INLINE = 2
    for label in ("n", "0.1n"):
        instance = Instance("uniform", 24, label, seed=2)
        for way in ("gather", "allgather"):
            check(solve(instance, comm=COMM, exchange=way), instances.draw(instance))


def peers():
    """The kernels exchange by themselves: counts as through MPI; one pass is one launch."""
    kinds = (
        (SIZE, "n", "int64"),
        (17, "10n", "float64"),
        (17, "10n", "int64"),
        (24, "0.1n", "int32"),
    )
    for n, label, dtype in kinds:
        family = "uniform_double" if dtype == "float64" else "uniform"
        instance = Instance(family, n, label, seed=n)
        plain = solve(instance, comm=COMM, dtype=dtype, exchange="allgather")
        answer = solve(instance, comm=COMM, dtype=dtype, exchange="peers")
        check(answer, instances.draw(instance))
        for name in ("dual_updates", "initial_assignments"):
            assert answer.counters[name] == plain.counters[name], name
        assert (answer.counters["by_peers"], plain.counters["by_peers"]) == (1, 0)
    state = mpi_solver.upload(Instance("uniform", 17, "10n"), comm=COMM, exchange="peers")
    if RANK == SIZE - 1:
        state.launches["clear"] = Late(state.launches["clear"])
    for _ in range(2):  # a state runs again, and so does the window
        mpi_solver.run(state)
        passes = sum(state.launches[name].count for name in ("first_rows", "woken_rows"))
        found = mpi_solver.download(state)
        assert passes == found.counters["forward_passes"]
        assert found.counters["bfs_levels"] > passes
        counters, flags = found.counters, device.to_host(state.arrays["flags"])
        assert counters["exchange_calls"] == int(flags[strips.EXCHANGES])
        words = SIZE * (counters["exchange_calls"] + counters["dual_updates"])
        words += counters["frontier_rows"] + 2 * 17 * counters["augmentations"]
        assert counters["exchange_bytes"] == 8 * words
    states = [
        mpi_solver.upload(Instance("uniform", 12, "10n", seed=seed), comm=COMM, exchange="peers")
        for seed in (0, 5)
    ]
    for state in (1, 0, 1, 1, 0):  # they share a window
        mpi_solver.run(states[state])
        check(mpi_solver.download(states[state]),
              instances.draw(Instance("uniform", 12, "10n", seed=5 * state)))  # fmt: skip
    host, ranks.ranks_of_host = ranks.ranks_of_host, lambda comm: 1
    if SIZE > 1:
        call = functools.partial(solve, np.eye(9, dtype=int), comm=COMM, exchange="peers")
        raises(ranks.MissingPackageError, "several hosts", call)
    ranks.ranks_of_host = host


class Late:
    """A launch that comes late."""

    def __init__(self, launch):
        self.launch, self.count, self.reset = launch, 0, launch.reset

    def __call__(self):
        time.sleep(0.02)
        self.launch()


def windows():
    """Every rank reaches every rank's part; a larger window does not end a smaller one."""
    comm = COMM.Dup()
    small = windows_of.window(comm, 3)
    large = windows_of.window(comm, small.words.size + 1)
    assert windows_of.window(comm, 5) is large
    assert (small.words.size, large.words.size) == (windows_of.LEAST, 2 * windows_of.LEAST)
    for window in (small, large):
        assert len(window.addresses) == SIZE
        for rank, address in enumerate(window.addresses):
            memory_order.store_at.__executor__(address, RANK + 2, 10 * rank + RANK)
            COMM.Barrier()
        size = min(SIZE, window.words.size - 2)
        assert window.words[2 : 2 + size].tolist() == [10 * RANK + r for r in range(size)]


class FakeNccl:
    """The calls of nccl4py's bindings that are used, over MPI; enqueued means done here."""

    calls = 0

    def get_version(self):
        return 22700

    def get_unique_id(self):
        return b"k" * 128

    def comm_init_rank_scalable(self, size, rank, count, key, config):
        assert (size, rank, count, bytes(key), config) == (SIZE, RANK, 1, b"k" * 128, 0)
        return COMM

    def all_gather(self, sent, received, size, kind, comm, stream):
        assert (kind, stream) == (0, 0)
        self.calls += 1
        part = np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(sent))
        whole = np.ctypeslib.as_array((ctypes.c_uint8 * (size * SIZE)).from_address(received))
        comm.Allgather(part, whole)

    def broadcast(self, sent, received, size, kind, root, comm, stream):
        assert (sent, kind, root, stream) == (received, by_nccl.NCCL_BYTE, 0, 0)
        comm.Bcast(np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(sent)))


class Unfit(FakeNccl):
    """A library one of whose calls fails."""

    def __init__(self, fails):
        if fails:
            setattr(self, fails, self.fail)

    def fail(self, *_):
        raise RuntimeError("the driver is old")


def with_nccl(library):
    """Let a stand-in be NCCL; none is given back, for its address names it."""
    LIBRARIES.append(library)
    by_nccl.nccl_library = lambda: library
    return library


LIBRARIES = []


def nccl():
    """The way without the host, by a stand-in; chosen if every rank has a GPU of its own host."""
    instance = Instance("uniform", 22, "10n", seed=5)
    plain = solve(instance, comm=COMM, exchange="allgather")
    beside, apart = windows_of.why_not, lambda comm: "the ranks are on several hosts"
    mpi_exchange.FASTEST["peers"] = apart
    state = mpi_solver.upload(instance, comm=COMM)
    why = "the ranks do not have a GPU each" if SIZE > 1 else "one rank has nobody to exchange with"
    assert type(state.exchange) is AllgatherExchange
    assert state.reason == (
        f"peers is not possible: the ranks are on several hosts; nccl is not possible: {why}"
    )
    raises(ranks.MissingPackageError, "nccl", lambda: solve(instance, comm=COMM, exchange="nccl"))
    ranks.gpus_of = lambda comm: comm.size
    for fails in ("get_version", "get_unique_id", "comm_init_rank_scalable") if SIZE > 1 else ():
        if RANK == 0 or fails != "get_unique_id":
            with_nccl(Unfit(fails if SIZE - 1 == RANK or fails == "get_unique_id" else ""))
        else:
            with_nccl(Unfit(""))
        for _ in range(2):  # what has failed is not tried again, or on all ranks
            state = mpi_solver.upload(instance, comm=COMM)
            assert type(state.exchange) is AllgatherExchange
            assert "driver is old" in state.reason
        raises(ranks.MissingPackageError, "driver is old",
               lambda: solve(instance, comm=COMM, exchange="nccl"))  # fmt: skip
    fake = with_nccl(FakeNccl())
    if SIZE > 1:
        state = mpi_solver.upload(instance, comm=COMM)
        assert type(state.exchange) is NcclExchange
        assert state.reason == "peers is not possible: the ranks are on several hosts"
    for n in {1: (1, 6), 2: (3, 7), 4: (5, 9)}[SIZE]:  # uneven, and with an idle rank
        for way in ("auto", "peers"):
            mpi_exchange.FASTEST["peers"] = beside if way == "peers" else apart
            answer = solve(Instance("uniform", n, "n", seed=n), comm=COMM, exchange=way)
            check(answer, instances.draw(Instance("uniform", n, "n", seed=n)))
    mpi_exchange.FASTEST["peers"] = apart
    for dtype in ("int32", "int64", "float64"):
        answer = solve(instance, comm=COMM, dtype=dtype)
        check(answer, instances.draw(instance))
        assert answer.counters["by_nccl"] == (SIZE > 1)
        for name in ("dual_updates", *(["bfs_levels", "frontier_rows"] if SIZE < 3 else [])):
            assert answer.counters[name] == plain.counters[name], name
    if SIZE > 1:
        assert fake.calls > answer.counters["bfs_levels"]


def interrupted():
    """A run that is broken off, on one rank, and the next one on the same state."""
    instance = Instance("uniform", 14, "10n", seed=3)
    for way in ("auto", "gather", "allgather", "peers"):
        state = mpi_solver.upload(instance, comm=COMM, exchange=way)
        wait = state.exchange.mailbox.wait
        for stop in (0, 1, 4, 9):
            heard = iter(range(100))

            def broken(heard=heard, stop=stop, wait=wait):
                if next(heard) == stop:
                    raise KeyboardInterrupt
                return wait()

            state.exchange.mailbox.wait = broken
            with pytest.raises(KeyboardInterrupt):
                mpi_solver.run(state)
            state.exchange.mailbox.wait = wait
            flags = device.to_host(state.arrays["flags"])
            kept = flags[shared.SIGNALS]
            flags[:] = 7
            flags[shared.SIGNALS] = kept
            device.overwrite(state.arrays["flags"], flags)
            mpi_solver.run(state)
            check(mpi_solver.download(state), instances.draw(instance))
    time.sleep(2.5)  # the watch of PAPERS_MPI_TIMEOUT_S does not run on


def fastest():
    """By itself the fastest way is taken, and says nothing; others are taken where it cannot be."""
    instance = Instance("uniform", 17, "10n", seed=3)
    state = mpi_solver.upload(instance, comm=COMM)
    assert type(state.exchange) is PeerExchange
    assert state.reason == ""
    mpi_solver.run(state)
    answer = mpi_solver.download(state)
    check(answer, instances.draw(instance))
    assert (answer.counters["by_peers"], answer.counters["by_nccl"]) == (1, 0)
    if SIZE > 1:
        host, ranks.ranks_of_host = ranks.ranks_of_host, lambda comm: 1
        state = mpi_solver.upload(instance, comm=COMM)
        assert type(state.exchange) is AllgatherExchange
        assert state.reason == (
            "peers is not possible: the ranks are on several hosts; "
            "nccl is not possible: the ranks do not have a GPU each"
        )
        ranks.ranks_of_host = host
    classical = mpi_solver.upload(instance, variant="classical", comm=COMM, exchange="peers")
    assert (type(classical.exchange), classical.reason) == (mpi_exchange.Exchange, "")


def given_in_device_memory():
    """A matrix that every rank's device memory holds: whole, cut by rows, cut by columns."""
    for n in (SIZE, 14):
        cost = instances.draw(Instance("uniform", n, "10n", seed=n))
        costs = costs_on_device.adopt(cost)
        for variant in ("classical", "tree"):
            check(solve(costs, variant=variant, comm=COMM), cost)
        refused = functools.partial(solve, costs, maximize=True, comm=COMM)
        raises(ValueError, "are minimized, as int32", refused)
    large = costs_on_device.adopt(np.full((5, 5), 2**30, np.int32))
    raises(ValueError, "would overflow", lambda: solve(large, comm=COMM))
    if SIZE > 1:
        other = costs_on_device.adopt(np.eye(14, dtype=np.int32) * (RANK == 1))
        raises(blocks.DisagreementError, "costs", lambda: solve(other, comm=COMM))


def gives_up():
    """Ranks whose stores go astray wait in vain, in kernels: all raise by name, and go on."""
    instance = Instance("uniform", 15, "10n", seed=2)
    looks, by_peers.most_looks = by_peers.most_looks, lambda: 300
    for step in ("first_rows", "share_theta", "take_assignment"):
        state = mpi_solver.upload(instance, comm=COMM, exchange="peers")
        window = state.exchange._window
        astray = np.zeros(window.words.size, np.int64)
        state.launches[step] = Astray(state.launches[step], window.addresses, astray)
        if step == "take_assignment" and RANK == 0:  # what it waits for is sent by the root
            name = "send_assignment"
            state.launches[name] = Astray(state.launches[name], window.addresses, astray)
        raises(GivenUpError, "looked 300 times .* in vain", lambda: mpi_solver.run(state))  # noqa: B023
        raises(RuntimeError, "no run has ended", lambda: mpi_solver.download(state))  # noqa: B023
    by_peers.most_looks = looks
    state = mpi_solver.upload(instance, comm=COMM, exchange="peers")
    mpi_solver.run(state)
    check(mpi_solver.download(state), instances.draw(instance))


def limited():
    """The root's clock decides, for all ranks and all ways; the next run is right."""
    instance = Instance("uniform", 15, "10n", seed=2)
    ways = [("classical", "gather"), ("tree", "gather"), ("tree", "allgather"), ("tree", "peers")]
    for variant, way in ways[: 3 + (windows_of.why_not(COMM) == "")]:
        state = mpi_solver.upload(instance, variant=variant, comm=COMM, exchange=way, seconds=50)
        with slow_clock(RANK == 0):
            raises(GivenUpError, "gave up after .* of 15 rows", lambda: mpi_solver.run(state))  # noqa: B023
        raises(RuntimeError, "no run has ended", lambda: mpi_solver.download(state))  # noqa: B023
        with slow_clock(RANK > 0):
            mpi_solver.run(state)
        check(mpi_solver.download(state), instances.draw(instance))
    raises(ValueError, "seconds=0", lambda: solve(instance, comm=COMM, seconds=0))
    if SIZE > 1:
        kind, other = blocks.DisagreementError, "was given other options"
        raises(kind, other, lambda: solve(instance, comm=COMM, seconds=1 + RANK))


@contextlib.contextmanager
def slow_clock(here):
    """A clock on which every look takes a minute, on the ranks that say so."""
    ticks = itertools.count(0, 60)
    with pytest.MonkeyPatch.context() as patch:
        if here:
            patch.setattr(deadline.time, "perf_counter", lambda: float(next(ticks)))
        yield


class Astray:
    """A launch whose stores reach no other rank, nor this one's window."""

    def __init__(self, launch, addresses, astray):
        self.launch, self.addresses, self.astray = launch, addresses, astray
        self.count, self.reset = 0, launch.reset

    def __call__(self):
        kept = self.addresses.copy()
        self.addresses[:] = self.astray.ctypes.data
        self.launch()
        self.addresses[:] = kept


def endless():
    """A search that goes on and on, as no search of rows and columns can, ends by name."""
    for way in ("allgather", "gather"):
        state = mpi_solver.upload(Instance("uniform", 9, "10n"), comm=COMM, exchange=way)
        state.exchange._brought = lambda: Level(1, False)
        raises(GivenUpError, "has gone on for 11 levels", lambda: mpi_solver.run(state))  # noqa: B023


def stuck():
    """Updates that bring nothing end in an error, on all ranks, whichever way they exchange."""
    for way in ("allgather", "peers", *(["auto"] if SIZE == 1 else [])):
        state = mpi_solver.upload(Instance("uniform", 12, "10n"), comm=COMM, exchange=way)
        state.launches["dual_update"] = Nothing()
        raises(RuntimeError, "made no progress", lambda state=state: mpi_solver.run(state))


class Nothing:
    """A launch that does nothing."""

    count = 0

    def __call__(self):
        pass

    def reset(self):
        pass


def aware():
    """Arrays handed to MPI as they are, without host memory between: NumPy's stand in."""

    class Aware(collectives.Collectives):
        def __init__(self, comm):
            super().__init__(comm)
            self.aware = True

        def stage(self, name, size, dtype):
            assert name in ("varying", "varied", "theta", "least"), name
            return super().stage(name, size, dtype)

    upload.Collectives = Aware
    instance = Instance("uniform", 17, "10n", seed=9)
    for variant, way in (("classical", "auto"), ("tree", "gather"), ("tree", "allgather")):
        answer = solve(instance, variant=variant, comm=COMM, exchange=way)
        check(answer, instances.draw(instance))


def errors():
    """An error that all ranks agree on is raised on all, by name."""
    if SIZE > 1:
        raises(blocks.SplitError, "smaller than the number of ranks",
               lambda: solve(np.zeros((1, 1), int), comm=COMM))  # fmt: skip
        raises(blocks.DisagreementError, "costs",
               lambda: solve(np.eye(5, dtype=int) * (RANK == 1), comm=COMM))  # fmt: skip
        raises(blocks.DisagreementError, "options",
               lambda: solve(np.eye(5), comm=COMM, maximize=RANK == 1))  # fmt: skip
        bad = np.full((5, 5), np.nan)
        raises(ValueError, "NaN", lambda: solve(bad, comm=COMM))
    for variant in ("classical", "tree"):
        call = functools.partial(solve, np.eye(5), comm=COMM, variant=variant, exchange="pigeon")
        raises(ValueError, "exchange='pigeon' is not one of auto, gather", call)
    raises(ValueError, "variant", lambda: solve(np.eye(5), comm=COMM, variant="pigeon"))
    raises(StorageError, "by block", lambda: solve(Instance("lopes_cpp", 5, "n"), comm=COMM))
    state = mpi_solver.upload(np.eye(5, dtype=int), variant="classical", comm=COMM)
    state.launches["compression_predicate"] = Flood(state.arrays["counts"])
    raises(ValueError, "too many for int32 pointers", lambda: mpi_solver.run(state))
    raises(RuntimeError, "no run has ended",
           lambda: mpi_solver.download(mpi_solver.upload(np.eye(5), comm=COMM)))  # fmt: skip
    check(solve(np.eye(6, dtype=int), comm=COMM), np.eye(6, dtype=int))  # and all goes on


class Flood:
    """A compression that finds more edges than int32 holds, on one rank as on all."""

    def __init__(self, counts):
        self.counts = counts

    def __call__(self):
        self.counts[:] = 2**30

    def reset(self):
        pass


def certificates():
    """Duals that are wrong in one strip, or on one rank, are refuted on all."""
    for family, by_rows in (("uniform", True), ("uniform_double", False)):
        instance = Instance(family, 21, "10n", seed=4)
        source = sources.as_source(instance)
        answer = solve(instance, comm=COMM, variant="classical" if by_rows else "tree")
        good = assignment_proof_by_strips.assignment(COMM, source, answer, by_rows)
        assert good.ok, good
        assert str(SIZE) in good.reason
        duals = answer.row_duals if by_rows else answer.column_duals
        for line in range(0, 21, 4):
            duals[line] += 1
            verdict = assignment_proof_by_strips.assignment(COMM, source, answer, by_rows)
            assert not verdict.ok
            assert COMM.bcast(verdict) == verdict
            if by_rows:
                owner = next(r for r, (a, b) in enumerate(blocks.split(21, SIZE)) if a <= line < b)
                assert verdict.reason.startswith(f"rank {owner}:"), verdict
            duals[line] -= 1
        if SIZE - 1 == RANK:
            duals[20] += 3
        refused = assignment_proof_by_strips.assignment(COMM, source, answer, by_rows)
        assert not refused.ok
        if SIZE > 1:
            assert (refused.kind, "another answer" in refused.reason) == ("none", True)
            duals[20] -= 3 * (SIZE - 1 == RANK)
            other = dataclasses.replace(answer, cost=answer.cost + (RANK == 1))
            refused = assignment_proof_by_strips.assignment(COMM, source, other, by_rows)
            assert refused.reason == "rank 1 has another answer than rank 0"
    huge = np.full((5, 5), 1e308)
    lines = np.arange(5), np.arange(5), 1.0
    claimed = Assignment(*lines, np.full(5, 1e308), np.zeros(5))
    verdict = assignment_proof_by_strips.assignment(COMM, sources.as_source(huge), claimed, True)
    assert (verdict.ok, "overflow" in verdict.reason) == (False, True), verdict
    if SIZE == 2:  # each strip is right by its own rank's duals: cost 2, where 0 is possible
        u, v = (np.array([0, 1]), np.array([1, 0]))[:: 1 if RANK == 0 else -1]
        claimed = Assignment(np.arange(2), np.arange(2), 2, u, v)
        two = sources.as_source(np.eye(2, dtype=int))
        assert not assignment_proof_by_strips.assignment(COMM, two, claimed, True).ok


class Broken:
    """A launch that fails."""

    def __call__(self):
        raise OSError("the driver\nis gone")

    def reset(self):
        pass


def alone_raises():
    """One rank meets what the others do not."""
    state = mpi_solver.upload(Instance("uniform", 20, "10n"), comm=COMM)
    if RANK == SIZE - 1:
        state.launches["dual_update"] = Broken()
    mpi_solver.run(state)


def killed():
    """One rank is killed in the middle of the search."""
    state = mpi_solver.upload(Instance("uniform", 24, "10n"), comm=COMM)
    while True:
        mpi_solver.run(state)
        if RANK == SIZE - 1:
            os.kill(os.getpid(), signal.SIGKILL)


def silent():
    """One rank does not answer."""
    if RANK == SIZE - 1:
        time.sleep(600)
    solve(np.eye(12, dtype=int), comm=COMM)


class Sleep:
    """A launch that does not come back."""

    def __call__(self):
        time.sleep(600)

    def reset(self):
        pass


def silent_nccl():
    """One rank does not answer in an exchange through NCCL."""
    ranks.gpus_of = lambda comm: comm.size
    with_nccl(FakeNccl())
    state = mpi_solver.upload(Instance("uniform", 20, "10n"), comm=COMM, exchange="nccl")
    if RANK == SIZE - 1:
        state.launches["level"] = Sleep()
    mpi_solver.run(state)


def alone_gives_up():
    """One rank's kernels wait for a rank that has gone to sleep, and give up by themselves."""
    by_peers.most_looks = lambda: 3000 if RANK == 0 else 2**30
    state = mpi_solver.upload(Instance("uniform", 20, "10n"), comm=COMM, exchange="peers")
    if RANK == SIZE - 1:
        state.launches["dual_update"] = Sleep()
    mpi_solver.run(state)


def silent_peers():
    """One rank's kernel is not launched, and the others' wait for it."""
    state = mpi_solver.upload(Instance("uniform", 20, "10n"), comm=COMM, exchange="peers")
    if RANK == SIZE - 1:
        state.launches["first_rows"] = Sleep()
    mpi_solver.run(state)


CASES = {
    case.__name__: case
    for case in (
        solves, forms, file, lists, peers, windows, fastest, nccl, aware, interrupted, stuck,
        given_in_device_memory, gives_up, endless, limited, errors, certificates, alone_raises,
        killed, silent, silent_nccl, silent_peers, alone_gives_up,
    )
}  # fmt: skip

if __name__ == "__main__":
    device.select("cpu")
    for word in sys.argv[1:]:
        name, _, argument = word.partition("=")
        CASES[name](*([argument] if argument else []))
        if RANK == 0:
            print(f"ok {name} {SIZE}", flush=True)
