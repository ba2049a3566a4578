"""The strips' kernels beside those of one GPU; the one that races, under interleavings."""

import dataclasses
import threading
import types

import numpy as np
import pytest
from nightly import first
from numba import cuda

from papers.common.executor.scheduler import Executor
from papers.common.gpu import device
from papers.common.gpu.launch import bind
from papers.common.gpu.signatures import argument_types
from papers.common.instances.matrices import uniform
from papers.datenagi2016 import launches as one_gpu
from papers.datenagi2016.kernels import classical, shared
from papers.datenagi2016.kernels import tree as one_tree
from papers.datenagi2016.kernels.arguments import (
    Assignments,
    Covers,
    Duals,
    Forest,
    Limits,
    Lines,
    Marks,
    Matrix,
    Messages,
    Predecessors,
    Share,
    Split,
    Successors,
    Window,
)
from papers.datenagi2016.launches import Geometry
from papers.datenagi2016.several_gpus.kernels import peers, peers_root, tree, window
from papers.datenagi2016.several_gpus.kernels import strips as mpi_kernels
from papers.datenagi2016.several_gpus.kernels.strips import MPI_FLAGS
from papers.datenagi2016.several_gpus.strip import Strip

TOP = np.int32(2**31 - 1)
i32 = np.int32
LONG = i32(2**30)
"""Looks at a word that comes."""


@pytest.fixture(autouse=True)
def _on_executor():
    device.select("cpu")


@pytest.mark.parametrize("n", [1, 33, 130])
@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_minima_of_strips_make_those_of_the_whole(n, ranks):
    if n < ranks:
        return
    cost = uniform(n, 5, cost_range=10 * n)
    whole_rows = np.zeros(n, i32)
    flat = cost.reshape(-1)
    bind(shared.row_reduction, -(-32 * n // 64), 64, i32(n), i32(n), TOP, i32(0), flat,
         whole_rows)()  # fmt: skip
    whole_columns = np.full(n, TOP)
    groups = -(-n // 32) * -(-n // 8)
    bind(shared.column_reduction, groups, 32, i32(n), i32(n), i32(0), i32(8), TOP, i32(0), flat,
         whole_rows, whole_columns)()  # fmt: skip
    for by_rows in (True, False):
        rows, columns = [], []
        for rank in range(ranks):
            strip = Strip(n, by_rows, ranks, rank)
            k, m = strip.shape
            part = np.ascontiguousarray(cost[slice(*strip.rows), slice(*strip.columns)]).ravel()
            part = part if part.size else np.zeros(1, i32)
            found = np.zeros(max(k, 1), i32)
            bind(shared.row_reduction, max(1, -(-32 * k // 64)), 64, i32(k), i32(m), TOP, i32(0),
                 part, found)()  # fmt: skip
            rows.append(found[:k])
            least = np.full(max(m, 1), TOP)
            shape = max(1, -(-m // 32) * -(-k // 8)), 32
            bind(shared.column_reduction, *shape, i32(k), i32(m), i32(strip.rows[0]), i32(8),
                 TOP, i32(0), part, whole_rows, least)()  # fmt: skip
            columns.append(least[:m])
        if by_rows:
            assert np.array_equal(np.concatenate(rows), whole_rows)
            assert np.array_equal(np.min(columns, axis=0), whole_columns)
        else:
            least = np.zeros(n, i32)
            bind(mpi_kernels.least_of_parts, -(-n // 16), 16, i32(n), i32(ranks), i32(n), TOP,
                 np.concatenate(rows), least)()  # fmt: skip
            assert np.array_equal(least, whole_rows)
            assert np.array_equal(np.concatenate(columns), whole_columns)


def level_of(seed, cost, messages, parts, tell):
    """One level on a strip that is the whole, and what it had before and has after."""
    draw = np.random.default_rng(seed)
    n = len(cost)
    rows_of = draw.permutation(n).astype(i32)
    rows_of[draw.random(n) < 0.3] = -1
    of_columns = np.full(n, -1, i32)
    of_columns[rows_of[rows_of >= 0]] = np.flatnonzero(rows_of >= 0)
    covered = (draw.random(n) < 0.3).astype(i32)
    slack = draw.integers(0, 9, n).astype(i32)
    slack[draw.random(n) < 0.4] = TOP
    marks = np.where(draw.random(n) < 0.2, shared.TO_REVERSE, shared.INACTIVE).astype(i32)
    before = {"covered": covered.copy(), "slack": slack.copy(), "marks": marks.copy(),
              "rows_of": rows_of, "of_columns": of_columns}  # fmt: skip
    row_cover, row_before, row_mark = np.ones(n, i32), np.full(n, -7, i32), np.zeros(n, i32)
    column_before, out = np.full(n, -7, i32), np.full(n + 2, -7, i32)
    reverse, flags, word = np.full(n, -7, i32), np.zeros(MPI_FLAGS, i32), np.zeros(1, np.int64)
    split = Split(i32(parts), i32(len(messages) // parts), i32(n))
    matrix = Matrix(cost.reshape(-1), Duals(np.zeros(n, i32), np.zeros(n, i32)))
    forest = Forest(
        Covers(row_cover, covered), Predecessors(row_before, column_before), slack,
        Marks(row_mark, marks),
    )  # fmt: skip
    bind(tree.search_level, 3, 64, split, Limits(TOP, i32(0)), matrix,
         Assignments(rows_of, of_columns), forest, Messages(messages, out), reverse, flags,
         i32(tell), word)()  # fmt: skip
    after = {"covered": covered, "slack": slack, "marks": marks, "row_cover": row_cover,
             "row_before": row_before, "row_mark": row_mark,
             "column_before": column_before}  # fmt: skip
    return before, after, out, reverse, flags, int(word[0])


@pytest.mark.parametrize("seed", range(25))
def test_a_level_of_the_rows_that_several_ranks_send(seed):
    """Beside the definition; a row may come twice; messages may be empty, all of them."""
    draw = np.random.default_rng(seed)
    n, parts, room = 40, 1 + seed % 4, 20
    stride = room + tree.HEADER
    messages = np.full(parts * stride, -7, i32)
    wanted, total = set(), 0
    for part in range(parts):
        many = 0 if seed % 5 == 0 else draw.integers(0, room + 1)
        rows = draw.permutation(n)[:many]
        messages[part * stride : part * stride + 2] = many, part == 1
        messages[part * stride + 2 : part * stride + 2 + many] = rows
        wanted |= set(rows.tolist())
        total += int(many)
    cost = draw.integers(0, 6, (n, n)).astype(i32)
    by_host = seed // 4 % 2
    tell = (tree.WHAT_CAME, tree.WHAT_GOES)[by_host]
    with device.executing(Executor(seed=seed, switch=0.2)):
        before, after, out, reverse, flags, word = level_of(seed, cost, messages, parts, tell)
    inside = np.isin(np.arange(n), list(wanted))
    assert np.array_equal(after["row_cover"] == 0, inside)
    assert np.array_equal(after["row_mark"] == shared.VISITED, inside)
    assert np.array_equal(after["row_before"][inside], before["rows_of"][inside])
    found, ends = [], []
    for j in range(n):
        least = min((2 * int(cost[i, j]) for i in wanted), default=int(TOP))
        old, left = int(before["slack"][j]), int(after["slack"][j])
        if before["covered"][j] or not wanted:
            assert (left, after["covered"][j]) == (old, before["covered"][j])
            continue
        assert left == min(old, least)
        if left < old:
            assert 2 * cost[after["column_before"][j], j] == least
            assert after["column_before"][j] in wanted
        row = before["of_columns"][j]
        assert after["covered"][j] == (left == 0 and row != -1)
        if left == 0 and row != -1:
            found.append(int(row))
        elif left == 0 and before["marks"][j] == shared.INACTIVE:
            ends.append(j)
    assert out[0] == len(found)
    assert sorted(out[2 : 2 + len(found)].tolist()) == sorted(found)
    assert sorted(reverse[: len(ends)].tolist()) == ends
    assert out[1] == flags[shared.REVERSE] == len(ends)
    assert flags[mpi_kernels.OUT] == flags[mpi_kernels.ARRIVED] == 0
    path, rows = (len(ends) > 0, len(found)) if by_host else (parts > 1, total)
    assert word == 1 << 34 | path << 33 | rows


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("variant", ["classical", "tree"])
def test_a_whole_run_under_interleavings(seed, variant):
    pytest.importorskip("mpi4py")
    from papers.common.problems import assignment_proof
    from papers.datenagi2016.several_gpus import solver

    cost = uniform(9, seed, cost_range=20)
    shapes = dataclasses.replace(
        Geometry.for_device(9, variant), line_threads=9, row_threads=32, column_threads=8,
        rows_a_block=5, scan_threads=32, stage_width=2, search_blocks=3,
    )  # fmt: skip
    with device.executing(Executor(seed=seed, switch=0.2)):
        answer = solver.solve(cost, variant=variant, geometry=shapes)
    assert assignment_proof.assignment(cost, answer).ok


def at_once(work, parts, without=None):
    """Call ``work(rank)`` in a thread for every rank; fail if one waits for ever."""
    threads = [
        threading.Thread(target=work, args=(rank,), daemon=True)
        for rank in range(parts)
        if rank != without
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join(90)
        assert not one.is_alive(), "a rank waits for what does not come"


def passes_of_peers(seed, parts, cost, matched, patience=LONG, silent=None):
    """One first forward pass on `parts` ranks, each a thread with an executor of its own.

    A rank may be silent: it launches nothing. Returns each other rank's signal, rows' covers and
    columns' predecessors, and their slacks.
    """
    n = len(cost)
    strips = [Strip(n, False, parts, rank) for rank in range(parts)]
    block = strips[0].block
    turns = 2 * parts
    lists = window.lists_at.py_func(parts)
    windows = [np.zeros(lists + turns * block, np.int64) for _ in range(parts)]
    addresses = np.array([each.ctypes.data for each in windows], np.int64)
    rows_of = np.full(parts * block, -1, i32)  # columns of rows
    rows_of[: len(matched)] = matched
    found, gave_up = [None] * parts, [None] * parts

    def search(rank):
        strip = strips[rank]
        first, last = strip.columns
        columns = last - first
        part = np.ascontiguousarray(2 * cost[:, first:last]).ravel()
        of_columns = np.full(block, -1, i32)
        for row, column in enumerate(matched):
            if first <= column < last:
                of_columns[column - first] = row
        cover = (rows_of >= 0).astype(i32)
        mark = np.where(rows_of >= 0, 0, shared.ACTIVE).astype(i32)
        row_before = rows_of.copy()
        column_cover, column_before = np.zeros(block, i32), np.full(block, -1, i32)
        column_mark, reverse = np.zeros(block, i32), np.full(block, -1, i32)
        slack, flags = np.full(block, TOP), np.zeros(MPI_FLAGS, i32)
        word, mine = np.zeros(1, np.int64), windows[rank]
        share = Strip(n, True, parts, rank).bounds
        duals = Duals(np.zeros(parts * block, i32), np.zeros(block, i32))
        forest = Forest(
            Covers(cover, column_cover), Predecessors(row_before, column_before), slack,
            Marks(mark, column_mark),
        )  # fmt: skip
        arguments = (
            Share(*map(i32, (*share, rank, parts, block, columns))), Limits(TOP, i32(0)), patience,
            Matrix(part if columns else np.zeros(1, i32), duals), Assignments(rows_of, of_columns),
            forest, Window(mine[:turns], mine[lists:], addresses), reverse, flags, word,
        )  # fmt: skip
        one = Executor(seed=10 * seed + rank, switch=0.1)
        one.launch(peers.forward_pass, 2, 64, arguments, 0)
        found[rank] = (
            int(word[0]), cover[:n], row_before[:n], column_before[:columns],
            column_cover[:columns], slack[:columns], int(flags[shared.LEVELS]),
            int(flags[mpi_kernels.ROWS]),
        )  # fmt: skip
        gave_up[rank] = int(flags[mpi_kernels.GAVE_UP])

    at_once(search, parts, without=silent)
    assert all(gave_up[rank] == (silent is not None) for rank in range(parts) if rank != silent)
    return found


def reached_by(cost, matched):
    """Rows and columns that alternating paths of zero costs from unmatched rows reach."""
    of_columns = {column: row for row, column in enumerate(matched) if column >= 0}
    rows = {row for row, column in enumerate(matched) if column < 0}
    columns, last, levels, expanded = {}, rows, 0, 0
    while last:
        levels += 1
        expanded += len(last)
        fresh = set()
        for row in last:
            for column in np.flatnonzero(cost[row] == 0):
                columns.setdefault(int(column), set()).add(row)
        for column in columns:
            row = of_columns.get(column)
            if row is not None and row not in rows:
                fresh.add(row)
        rows |= fresh
        last = fresh
    return rows, columns, levels, expanded


@pytest.mark.parametrize("seed", first(4, range(40)))
def test_ranks_that_write_each_others_lists_search_the_same_trees(seed):
    """Threads stand for ranks: executors' seeds and the system's scheduler interleave them."""
    draw = np.random.default_rng(seed)
    parts = 1 + seed % 4
    n = int(draw.integers(parts, 70))
    cost = draw.integers(0, max(2, n // 2), (n, n)).astype(i32)
    matched = np.full(n, -1, i32)
    for row in range(n):
        free = np.setdiff1d(np.flatnonzero(cost[row] == 0), matched)
        if len(free) and draw.random() < 0.8:
            matched[row] = free[0]
    rows, columns, levels, expanded = reached_by(cost, matched)
    free = [column for column in columns if column not in set(matched.tolist())]
    found = passes_of_peers(seed, parts, cost, matched)
    at = 0
    new = len(rows) - int((matched < 0).sum())
    for word, cover, row_before, before, column_cover, slack, of_levels, of_rows in found:
        assert word == 1 << 34 | bool(free) << 33 | new
        assert set(np.flatnonzero(cover == 0).tolist()) == rows
        assert np.array_equal(row_before, matched)
        assert (of_levels, of_rows) == (levels, expanded)
        for j, (parent, covered, left) in enumerate(zip(before, column_cover, slack, strict=True)):
            column = at + j
            assert covered == (column in columns and column not in free)
            assert (column in columns) == (left == 0)
            if column in columns:
                assert parent in columns[column]
        at += len(before)
    assert at == n


@pytest.mark.parametrize("seed", first(6, range(12)))
def test_a_pass_whose_peer_never_answers_ends_and_says_so(seed):
    """No rank's kernel is left waiting, in whatever block; what it has written are rows."""
    parts = 2 + seed % 3
    cost = np.random.default_rng(seed).integers(0, 9, (30, 30)).astype(i32)
    silent = seed % parts
    nobody = np.full(30, -1, i32)
    found = passes_of_peers(seed, parts, cost, nobody, patience=i32(200), silent=silent)
    for rank, mine in enumerate(found):
        assert (mine is None) == (rank == silent)
        assert mine is None or mine[0] == 1 << 34 | mpi_kernels.GIVEN_UP


def test_a_row_that_never_comes_ends_a_pass():
    """The counts have come, one of the rows has not: all blocks end, on rows that are rows."""
    n, parts, block = 40, 2, 20
    mine = np.zeros(window.words_of.py_func(parts, block), np.int64)
    other, lists = np.zeros_like(mine), window.lists_at.py_func(parts)
    addresses = np.array([mine.ctypes.data, other.ctypes.data], np.int64)
    mine[parts + 1] = 1 << 34 | 5  # rank 1 in exchange 1: five rows, of which one has come
    mine[lists + (parts + 1) * block] = 1 << 32 | 30
    rows_of, flags, word = np.full(n, -1, i32), np.zeros(MPI_FLAGS, i32), np.zeros(1, np.int64)
    marks, covers = np.full(n, shared.ACTIVE, i32), np.zeros(n, i32)
    column = {name: np.zeros(block, i32) for name in ("cover", "before", "mark", "reverse")}
    forest = Forest(
        Covers(covers, column["cover"]), Predecessors(np.full(n, -1, i32), column["before"]),
        np.full(block, TOP), Marks(marks, column["mark"]),
    )  # fmt: skip
    arguments = (
        Share(*map(i32, (0, 20, 0, parts, block, block))), Limits(TOP, i32(0)), i32(100),
        Matrix(np.ones(n * block, i32), Duals(np.zeros(n, i32), np.zeros(block, i32))),
        Assignments(rows_of, np.full(block, -1, i32)), forest,
        Window(mine[: 2 * parts], mine[lists:], addresses), column["reverse"], flags, word,
    )  # fmt: skip
    Executor(seed=3, switch=0.1).launch(peers.forward_pass, 3, 64, arguments, 0)
    assert flags[mpi_kernels.GAVE_UP] == 1
    assert int(word[0]) == 1 << 34 | mpi_kernels.GIVEN_UP


def test_a_theta_and_a_value_that_never_come_end_their_kernels():
    n, parts, block = 8, 2, 4
    mine = np.zeros(window.words_of.py_func(parts, block), np.int64)
    other = np.zeros_like(mine)
    addresses = np.array([mine.ctypes.data, other.ctypes.data], np.int64)
    flags, root_flags = np.zeros(MPI_FLAGS, i32), np.zeros(MPI_FLAGS, i32)
    thetas = mine[2 * parts : 4 * parts]
    bind(peers.share_theta, 1, 32, i32(0), i32(parts), i32(50), mine[: 2 * parts], thetas,
         addresses, np.full(1, 6, i32), flags)()  # fmt: skip
    assert flags[mpi_kernels.GAVE_UP] == 1
    trees = mine[window.trees_at.py_func(parts, block) :]
    for kernel in ("free_columns", "take_assignment"):
        flags[mpi_kernels.GAVE_UP] = 0
        before, rows, columns = np.full(n, 5, i32), np.full(n, 5, i32), np.full(block, 7, i32)
        if kernel == "free_columns":
            bind(peers_root.free_columns, 1, 32, i32(n), i32(50), trees, before,
                 np.full(n, -1, i32), np.zeros(n, i32), flags, root_flags)()  # fmt: skip
            assert (before == -1).all()
            assert root_flags[shared.REVERSE] == 0
        else:
            bind(peers_root.take_assignment, 1, 32, i32(n), i32(block), i32(0), i32(50), trees,
                 rows, columns, flags)()  # fmt: skip
            assert (rows == -1).all()
            assert (columns == 7).all()
        assert flags[mpi_kernels.GAVE_UP] == 1


def between_searches(seed, parts, n, rounds):
    """Run the steps between `rounds` searches on ranks: threads with an executor each.

    A barrier stands for a search.

    Returns what went in (by round), and what each rank had after each round.
    """
    draw = np.random.default_rng(seed)
    strips = [Strip(n, False, parts, rank) for rank in range(parts)]
    block = strips[0].block
    begin = window.trees_at.py_func(parts, block)
    end = window.assignment_at.py_func(parts, block)
    whole = end - begin
    windows = [np.zeros(window.words_of.py_func(parts, block), np.int64) for _ in range(parts)]
    addresses = np.array([each.ctypes.data for each in windows], np.int64)
    given = [
        {
            "before": draw.integers(-1, n, n).astype(i32),
            "cover": draw.integers(0, 2, n).astype(i32),
            "mark": draw.choice([shared.INACTIVE, shared.TO_REVERSE], n).astype(i32),
            "free": draw.integers(0, 2, n).astype(bool),
            "rows": np.where(draw.random(n) < 0.8, draw.permutation(n), -1).astype(i32),
        }
        for _ in range(rounds)
    ]
    found, barrier = [[] for _ in range(parts)], threading.Barrier(parts)

    def work(rank):
        first, last = strips[rank].columns
        columns, one = last - first, Executor(seed=10 * seed + rank, switch=0.1)
        flags, root_flags = np.zeros(MPI_FLAGS, i32), np.zeros(MPI_FLAGS, i32)
        mine, word = windows[rank], np.zeros(1, np.int64)
        trees, assignment = mine[begin:end], mine[end:]
        rows_of, of_columns = np.full(whole, -1, i32), np.full(block, -1, i32)

        def go(kernel, *arguments):
            one.launch(kernel, -(-n // 32), 32, arguments, 0)

        for turn, here in enumerate(given):
            barrier.wait(60)
            flags[mpi_kernels.EXCHANGES] = 3 * turn + 2
            flags[mpi_kernels.ARRIVED] = 5  # as a search leaves it
            cover, mark, before = (
                np.resize(here[name][first:last], block).astype(i32) if columns
                else np.zeros(block, i32) for name in ("cover", "mark", "before")
            )  # fmt: skip
            root_flags[shared.AUGMENT] = root_flags[shared.REVERSE] = 3
            go(peers_root.send_trees, i32(columns), i32(first), i32(parts), i32(block), cover, mark,
               before, addresses, flags, root_flags)  # fmt: skip
            assert not root_flags.any()
            if rank == 0:
                all_before, reverse = np.full(whole, -7, i32), np.full(whole, -1, i32)
                inverse = np.where(here["free"], -1, 0).astype(i32)
                go(peers_root.free_columns, i32(n), LONG, trees, all_before, inverse, reverse,
                   flags, root_flags)  # fmt: skip
                ends = reverse[: root_flags[shared.REVERSE]]
                found[0].append((all_before[:n].copy(), sorted(ends.tolist())))
                rows_of[:n] = here["rows"]
                go(peers_root.send_assignment, i32(n), i32(parts), i32(block), rows_of,
                   addresses, flags)  # fmt: skip
            flags[shared.MATCHES] = 9
            go(peers_root.take_assignment, i32(n), i32(columns), i32(first), LONG, assignment,
               rows_of, of_columns, flags)  # fmt: skip
            row_lines = [np.full(whole, 7, i32) for _ in range(4)]
            column_lines = [np.full(whole, 7, i32) for _ in range(4)]
            slack = np.zeros(block, i32)
            cover, before, after, mark = zip(row_lines, column_lines, strict=True)
            go(mpi_kernels.optimality_check_of_all, Lines(i32(n), i32(columns)), TOP, rows_of,
               Covers(*cover), Predecessors(*before), Successors(*after), Marks(*mark), slack,
               flags, word)  # fmt: skip
            found[rank].append(
                (rows_of[:n].copy(), of_columns[:columns].copy(), int(word[0]),
                 row_lines[0][:n].copy(), slack[:columns].copy())
            )  # fmt: skip

    at_once(work, parts)
    return given, found


@pytest.mark.parametrize("seed", first(8, range(20)))
def test_ranks_send_trees_and_take_the_assignment_through_windows(seed):
    """Threads stand for ranks: executors' seeds and the system's scheduler interleave them."""
    parts, n, rounds = 1 + seed % 4, (5, 40, 66)[seed % 3], 4
    given, found = between_searches(seed, parts, n, rounds)
    owned = np.full(n, -1, i32)
    for turn, here in enumerate(given):
        inside = (here["cover"] == 1) | (here["mark"] != shared.INACTIVE)
        before = np.where(inside, here["before"], -1)
        assert np.array_equal(found[0][2 * turn][0], before)
        assert found[0][2 * turn][1] == np.flatnonzero((before != -1) & here["free"]).tolist()
        for row, column in enumerate(here["rows"]):
            if column != -1:
                owned[column] = row
        at, matches = 0, int((here["rows"] != -1).sum())
        for rank in range(parts):
            rows, columns, word, cover, slack = found[rank][2 * turn + 1 if rank == 0 else turn]
            assert np.array_equal(rows, here["rows"])
            assert np.array_equal(columns, owned[at : at + len(columns)])
            assert word == (turn + 1) << 34 | matches
            assert np.array_equal(cover, (here["rows"] != -1).astype(i32))
            assert (slack == TOP).all()
            at += len(columns)
        assert at == n


def test_the_kernels_take_what_they_are_given(monkeypatch):
    """Types of the bound arguments beside `SIGNATURES`; a theta of 64 bits, too."""
    pytest.importorskip("mpi4py")
    from papers.common.mpi import ranks
    from papers.datenagi2016.several_gpus import exchange, upload

    card = types.SimpleNamespace(compute_capability=(9, 0))
    monkeypatch.setattr("numba.cuda.dispatcher.get_current_device", lambda: card)
    bound = []

    def recording(kernel, *args):
        bound.append((kernel, args[2:]))
        return bind(kernel, *args)

    monkeypatch.setattr(one_gpu, "bind", recording)
    monkeypatch.setattr(exchange.nccl, "_communicator", lambda library, comm: (None, ""))
    monkeypatch.setattr(exchange.nccl, "nccl_library", lambda: None)
    monkeypatch.setitem(exchange.FASTEST, "nccl", lambda comm: "")
    modules = mpi_kernels, peers, tree, peers_root, shared, classical, one_tree
    signatures = {kernel: found for one in modules for kernel, found in one.SIGNATURES.items()}
    elsewhere = {mpi_kernels.take_columns, one_tree.forward_pass}
    for dtype in (np.int32, np.int64, np.float64):
        kind = np.dtype(dtype)
        cost = uniform(20, 3, cost_range=9).astype(float if kind.kind == "f" else i32)
        bound.clear()
        for way in ("allgather", "nccl", "peers"):
            upload.upload(cost, dtype=kind.name, exchange=way, comm=ranks.alone())
        upload.upload(cost, dtype=kind.name, variant="classical", comm=ranks.alone())
        mine = [one for one in bound if one[0] in signatures]
        assert {kernel for kernel, _ in mine} == set(signatures) - elsewhere
        for kernel, arguments in mine:
            found = [kernel.typeof_pyval(argument) for argument in arguments]
            wanted = list(argument_types(signatures[kernel], kind.name))
            if kernel is peers.share_theta:
                wanted[6] = argument_types(f"void(int{8 * kind.itemsize}[::1])")[0]
                ptx, _ = cuda.compile(
                    kernel.py_func, tuple(wanted), device=False, abi="numba", cc=(9, 0)
                )
                assert "st.release.sys" in ptx
            assert found == wanted, kernel
