"""Kernel = reference, step by step, on small inputs; searches = plain breadth-first search.

A search may find any of several forests, so its arrays are not compared one by one: what is reached
is (it does not depend on the order), and every tree must be one (`check_forest`).
"""

import dataclasses

import numpy as np
import pytest
from nightly import first

from papers.common.gpu import device
from papers.common.instances.matrices import uniform
from papers.datenagi2016 import host, reference, solver
from papers.datenagi2016.kernels import shared
from papers.datenagi2016.kernels.shared import Flag, Mark
from papers.datenagi2016.launches import VARIANTS, Geometry, bind_launches


@pytest.fixture(autouse=True)
def _on_executor():
    device.select("cpu")


SIZES = (1, 2, 31, 32, 33, 64, 129)  # around warps, blocks, and four loads in flight
DTYPES = ("int32", "int64", "float64")
variants = pytest.mark.parametrize("variant", VARIANTS)
dtypes = pytest.mark.parametrize("dtype", DTYPES)


def prepared(cost, variant="tree", dtype=None, **shapes):
    """A state whose kernels run one at a time."""
    geometry = dataclasses.replace(Geometry.for_device(len(cost), variant), **shapes)
    state = solver.upload(cost, dtype=dtype, variant=variant, geometry=geometry)
    return state, state.launches, state.arrays


def drawn(n, seed, dtype="int32", cost_range=None):
    """Costs whose arithmetic is exact in every type; eighths for doubles. Row 0 has a zero."""
    cost = uniform(n, seed, cost_range=cost_range or max(2, n))
    cost[0, 0] = 0  # so that nothing is shifted
    return cost / 8 if dtype == "float64" else cost


def quiet(step):
    """No trace."""


def reduce_(state):
    """Initial reduction and, for the classical variant, the list of edges."""
    state.forget()
    solver.initial_reduction(state.launches, quiet)
    if state.variant == "classical":
        solver.matrix_compression(state.launches, quiet)


def assign(state, pairs):
    """Make `pairs` the assignment."""
    a = state.arrays
    a["row_assignment"][:] = a["column_assignment"][:] = -1
    for i, j in pairs:
        a["row_assignment"][i], a["column_assignment"][j] = j, i


def tableau(state):
    """The reference's data structures with the contents of the device's."""
    a = state.arrays
    t = reference.tableau(state.problem.matrix)
    wide = t.C.dtype
    t.A_r, t.A_c = a["row_assignment"].astype(int), a["column_assignment"].astype(int)
    t.V_r, t.V_c = a["row_cover"] == 1, a["column_cover"] == 1
    t.D_r, t.D_c = a["row_dual"].astype(wide), a["column_dual"].astype(wide)
    t.P_r, t.P_c = a["row_predecessor"].astype(int), a["column_predecessor"].astype(int)
    t.slack = a["slack"].astype(wide)
    return t


def slacks(state):
    """Twice the slack of every edge, n by n."""
    a, n = state.arrays, state.n
    wide = np.float64 if a["cost"].dtype.kind == "f" else np.int64
    cost = a["cost"].reshape(n, n).astype(wide)
    return 2 * cost - a["row_dual"].astype(wide)[:, None] - a["column_dual"].astype(wide)


# ------------------------------------------------------------------------------- checks


def reachable(zero, row_assignment, column_assignment):
    """Rows, assigned columns and free columns on alternating paths from the unassigned rows."""
    rows = set(np.flatnonzero(row_assignment < 0).tolist())
    columns, free, frontier = set(), set(), list(rows)
    while frontier:
        found = np.flatnonzero(zero[frontier].any(axis=0)).tolist()
        new = [j for j in found if column_assignment[j] >= 0 and j not in columns]
        free.update(j for j in found if column_assignment[j] < 0)
        columns.update(new)
        frontier = [int(column_assignment[j]) for j in new]
        rows.update(frontier)
    return rows, columns, free


def check_forest(state):
    """After a forward pass, [DN16 Prop.1]: all that is reachable, in vertex-disjoint trees.

    Returns the root of every reached line, by ("row", i) or ("column", j).
    """
    a, n = state.arrays, state.n
    reduced = slacks(state)
    zero = reduced == 0
    row_of, column_of = a["column_assignment"], a["row_assignment"]
    rows, columns, free = reachable(zero, column_of, row_of)
    assert set(np.flatnonzero(a["row_cover"] == 0)) == rows
    assert set(np.flatnonzero(a["column_cover"])) == columns
    reverse = a["frontier_reverse"][: a["flags"][Flag.REVERSE]].tolist()
    assert sorted(reverse) == sorted(free), "F_rev: every free column reached, once"
    assert set(np.flatnonzero(a["column_mark"] == Mark.TO_REVERSE)) == free
    root = {("row", int(i)): int(i) for i in np.flatnonzero(column_of < 0)}

    def root_of(kind, k):
        way = []
        while (kind, k) not in root:
            way.append((kind, k))
            assert len(way) <= 2 * n, "predecessors run in a circle"
            array = a[f"{kind}_predecessor"]
            kind, k = ("column" if kind == "row" else "row"), int(array[k])
            assert k >= 0, "the walk broke off before an unassigned row"
        for line in way:
            root[line] = root[kind, k]
        return root[kind, k]

    for i in range(n):
        if i not in rows or column_of[i] < 0:
            assert a["row_predecessor"][i] == -1
        else:
            assert a["row_predecessor"][i] == column_of[i], "rows are reached by their own columns"
            root_of("row", i)
    for j in range(n):
        p = int(a["column_predecessor"][j])
        if j in columns or j in free:
            assert p in rows
            assert zero[p, j]
            assert p != row_of[j]
            root_of("column", j)
        elif state.variant == "classical":
            assert p == -1
    if state.variant == "tree" and rows:
        check_slack(state, reduced, rows, columns)
    return root


def check_slack(state, reduced, rows, columns):
    """Lawler's slacks: the least over the trees' rows, and a row that attains it."""
    a = state.arrays
    tree_rows = sorted(rows)
    for j in range(state.n):
        if j in columns:
            assert a["slack"][j] == 0
        else:
            assert a["slack"][j] == reduced[tree_rows, j].min()
        p = a["column_predecessor"][j]
        assert p in rows
        assert reduced[p, j] == a["slack"][j]


def paths(state):
    """After a reverse pass, [DN16 Prop.2]: the successor paths from F_aug, checked; pairs."""
    a = state.arrays
    roots = a["frontier_augment"][: a["flags"][Flag.AUGMENT]].tolist()
    assert len(set(roots)) == len(roots), "F_aug has duplicates"
    seen_rows, seen_columns, found = set(), set(), []
    for root in roots:
        assert a["row_assignment"][root] < 0
        row, path = root, []
        while row != -1:
            column = int(a["row_successor"][row])
            assert row not in seen_rows
            assert column not in seen_columns
            seen_rows.add(row)
            seen_columns.add(column)
            assert column >= 0
            path.append((row, column))
            following = int(a["column_successor"][column])
            assert following == a["column_assignment"][column], "on along the assigned edge"
            row = following
        assert a["column_assignment"][path[-1][1]] < 0, "a path ends in a free column"
        found.append(path)
    return found


def check_matching(state):
    """The two assignment arrays agree; returns the number of pairs."""
    row_of, column_of = state.arrays["column_assignment"], state.arrays["row_assignment"]
    rows = np.flatnonzero(column_of >= 0)
    assert np.array_equal(row_of[column_of[rows]], rows)
    assert (row_of >= 0).sum() == len(rows)
    return len(rows)


def augment_and_check(state, root):
    """Reverse pass and augmentation after a forward pass that found paths."""
    a = state.arrays
    free = a["frontier_reverse"][: a["flags"][Flag.REVERSE]].tolist()
    with_free_column = {root["column", j] for j in free}
    before, matched = check_matching(state), a["row_assignment"] >= 0
    state.launches["reverse_pass"]()
    found = paths(state)
    assert {path[0][0] for path in found} == with_free_column, "one path a tree with a free column"
    state.launches["augmentation"]()
    assert check_matching(state) == before + len(found)
    assert (a["row_assignment"][matched] >= 0).all(), "an assigned row lost its column"
    for path in found:
        for row, column in path:
            assert a["row_assignment"][row] == column
    rows = np.flatnonzero(a["row_assignment"] >= 0)
    assert not slacks(state)[rows, a["row_assignment"][rows]].any(), "an assigned edge has slack"
    assert a["flags"][Flag.MATCHES] == 0
    return len(found)


# ------------------------------------------------------------------------------- Alg. 1


@dtypes
@pytest.mark.parametrize("n", SIZES)
def test_initial_reduction_equals_reference(n, dtype):
    for cost_range, shapes in ((None, {}), (3, {"rows_a_block": 3, "column_threads": 24})):
        cost = drawn(n, 4, dtype, cost_range)
        state, launches, a = prepared(cost, dtype=dtype, **shapes)
        t = reference.tableau(cost)
        reference.initial_reduction(t)
        launches["init"]()
        launches["row_reduction"]()
        assert np.array_equal(a["row_dual"], t.D_r)
        launches["column_reduction"]()
        assert np.array_equal(a["column_dual"], t.D_c)
        assert a["row_dual"].dtype == dtype
        assert np.array_equal(slacks(state), t.C - t.D_r[:, None] - t.D_c)
        assert (a["row_assignment"] == -1).all()
        assert (a["column_assignment"] == -1).all()


def test_the_least_of_a_line_is_found_wherever_it_is():
    n = 133  # four loads in flight, then one, then part of a warp
    for k in (0, 32, 95, 127, 128, 132):
        cost = np.full((n, n), 9, np.int32)
        cost[5, k] = 1
        _, launches, a = prepared(cost, rows_a_block=7)
        launches["init"]()
        a["cost"] += 1  # the upload has taken 1 from every cost
        launches["row_reduction"]()
        assert a["row_dual"].tolist() == [18 if i != 5 else 2 for i in range(n)]
        cost = np.full((n, n), 9, np.int32)
        cost[k, 5] = 1
        a["cost"][:] = cost.reshape(-1)
        a["row_dual"][:] = 0
        launches["column_reduction"]()
        assert a["column_dual"].tolist() == [18 if j != 5 else 2 for j in range(n)]


# ------------------------------------------------------------------------------- Alg. 2


@dtypes
@variants
@pytest.mark.parametrize("n", SIZES)
def test_optimality_check_equals_reference(n, variant, dtype):
    rng = np.random.default_rng(n)
    for pairs in (0, n // 2, n):
        state, launches, a = prepared(drawn(n, 1, dtype), variant, dtype)
        launches["init"]()
        rows, columns = rng.permutation(n)[:pairs], rng.permutation(n)[:pairs]
        assign(state, zip(rows, columns, strict=True))
        assigned = a["row_assignment"].copy()
        for name in ("row_predecessor", "column_successor", "row_mark", "slack", "row_cover"):
            a[name][:] = 3
        a["flags"][[Flag.REVERSE, Flag.AUGMENT, Flag.LEVELS]] = 5
        launches["optimality_check"]()
        t = reference.tableau(state.problem.matrix)
        t.A_r = a["row_assignment"].astype(int)
        assert a["flags"][Flag.MATCHES] == reference.optimality_check(t) == pairs
        assert np.array_equal(a["row_cover"], t.V_r)
        assert not a["column_cover"].any()
        for name in ("row_predecessor", "column_predecessor", "row_successor", "column_successor"):
            assert (a[name] == -1).all()
        assert np.array_equal(a["row_mark"], np.where(t.V_r, Mark.INACTIVE, Mark.ACTIVE))
        assert (a["column_mark"] == Mark.INACTIVE).all()
        top = np.inf if dtype == "float64" else np.iinfo(dtype).max
        assert (a["slack"] == top).all()
        wanted = {Flag.MATCHES: pairs, Flag.LEVELS: 5}
        assert a["flags"].tolist() == [wanted.get(k, 0) for k in range(shared.FLAGS)]
        assert np.array_equal(a["row_assignment"], assigned)


# ------------------------------------------------------------------------------- CSR


def check_csr(state):
    """Pointers and edges are those of `np.flatnonzero`, row by row; nothing beyond is written."""
    a = state.arrays
    rows = [np.flatnonzero(row == 0) for row in slacks(state)]
    counts = [len(row) for row in rows]
    assert a["counts"].tolist() == counts
    assert a["pointers"].tolist() == [0, *np.cumsum(counts)]
    edges = np.concatenate(rows)
    assert np.array_equal(a["adjacency"][: len(edges)], edges)
    assert (a["adjacency"][len(edges) :] == np.int32(-1515870811)).all()
    return counts


@dtypes
@pytest.mark.parametrize("n", SIZES)
def test_compressed_edges_are_those_without_slack(n, dtype):
    for cost_range, width in ((3, 4), (3, 40), (n + 1, 1)) if n < 100 else ((3, 40), (n // 2, 1)):
        state, launches, _ = prepared(
            drawn(n, 6, dtype, cost_range), "classical", dtype, stage_width=width
        )
        solver.initial_reduction(launches, quiet)
        solver.matrix_compression(launches, quiet)
        check_csr(state)


@pytest.mark.parametrize("width", [1, 16, 130])
def test_compression_of_a_constant_matrix(width):
    for n in (1, 33, 130):
        state, launches, _ = prepared(np.full((n, n), 5), "classical", stage_width=width)
        solver.initial_reduction(launches, quiet)
        solver.matrix_compression(launches, quiet)
        assert check_csr(state) == [n] * n


@dtypes
def test_compression_of_rows_without_edges(dtype):
    """Duals that leave slack everywhere in some rows: first, last, and two in the middle."""
    n = 70
    state, launches, a = prepared(drawn(n, 8, dtype, 3), "classical", dtype, stage_width=3)
    solver.initial_reduction(launches, quiet)
    empty = [0, 31, 32, n - 1]
    a["row_dual"][empty] -= 2
    solver.matrix_compression(launches, quiet)
    counts = check_csr(state)
    assert [i for i in range(n) if counts[i] == 0] == empty
    assert max(counts) > 3, "no row overflows its stage"


def test_a_double_is_zero_up_to_a_few_units_in_the_last_place():
    """0.1 + 0.2 - 0.3 is an edge, a cost that is really larger is not."""
    cost = np.array([[0.3, 0.3 + 1e-14], [1.0, 0.7]])
    _, launches, a = prepared(cost, "classical")
    a["cost"][:] = cost.reshape(-1)
    a["row_dual"][:], a["column_dual"][:] = (0.2, 1.0), (0.1 * 2 + 0.2, 0.1 * 2 + 0.2)
    assert 2 * 0.3 - 0.2 - (0.1 * 2 + 0.2) != 0
    solver.matrix_compression(launches, quiet)
    assert a["pointers"].tolist() == [0, 1, 2]
    assert a["adjacency"][:2].tolist() == [0, 1]


# ------------------------------------------------------------------------------- whole searches


CASES = [(1, 3), (7, 3), (20, 4), (32, 200), (65, 30), (2, 2), (31, 31), (33, 10)]


def walk(state, look=None):
    """Run a solve kernel by kernel and check each; returns (updates, passes, paths)."""
    launches, a, n = state.launches, state.arrays, state.n
    updates, passes, found = [], 0, 0
    reduce_(state)
    for _ in range(n + 1):
        launches["optimality_check"]()
        matches = check_matching(state)
        for _ in range(n + 1):
            launches["forward_pass"]()
            signal = state.wait()
            passes += 1
            root = check_forest(state)
            assert signal == (matches, bool(a["flags"][Flag.REVERSE]), False)
            if matches == n:
                return updates, passes, found
            if signal.path_found:
                break
            updates.append(matches)
            update_and_check(state)
        found += augment_and_check(state, root)
        if look:
            look(state)
    raise AssertionError("no end")


def update_and_check(state):
    """Alg. 7 and 8, or Alg. 9: theta, duals, slacks and marks are the reference's."""
    launches, a = state.launches, state.arrays
    t = tableau(state)
    duals = t.D_r.copy()
    marked = a["row_mark"].copy()
    woken = []
    if state.variant == "classical":
        reference.update(t)
        launches["dual_update_stage_1"]()
        reduced = slacks(state)
        for i in np.flatnonzero(~t.V_r):
            assert a["slack"][i] == reduced[i][~t.V_c].min(), "U"
        launches["minimum"]()
        launches["dual_update_stage_2"]()
    else:
        reference.update_2(t, woken)
        launches["minimum"]()
        launches["dual_update"]()
        assert np.array_equal(a["slack"], t.slack)
        marked[woken] = Mark.ACTIVE
        assert woken
        assert np.array_equal(a["row_mark"], marked)
    row = np.flatnonzero(~t.V_r)[0]
    assert a["theta"][0] == 2 * (t.D_r - duals)[row] > 0
    assert np.array_equal(a["row_dual"], t.D_r)
    assert np.array_equal(a["column_dual"], t.D_c)
    assert slacks(state).min() >= 0
    assert a["flags"][Flag.UPDATED] == 1
    if state.variant == "classical":
        solver.matrix_compression(launches, quiet)


@dtypes
@variants
@pytest.mark.parametrize(
    ("n", "cost_range"),
    [*CASES[:5], *(pytest.param(*case, marks=pytest.mark.nightly) for case in CASES[5:])],
)
def test_every_step_of_a_solve_equals_reference(n, cost_range, variant, dtype):
    """Forward passes = reachability, updates = reference; and the same updates as the reference."""
    cost = drawn(n, n + 3, dtype, cost_range)
    state, _, a = prepared(cost, variant, dtype)
    updates, passes, found = walk(state)
    t = getattr(
        reference, "classical_hungarian" if variant == "classical" else "alternating_tree_hungarian"
    )(cost)
    assert updates == t.updates
    assert found == n
    assert passes > len(updates)
    assert np.array_equal(a["row_dual"], t.D_r)
    assert np.array_equal(a["column_dual"], t.D_c)


@variants
def test_the_cases_above_make_dual_updates(variant):
    """Two in a row within one search, too: trees and slacks go on growing."""
    state, _, _ = prepared(drawn(20, 5, cost_range=100), variant)
    updates, _, _ = walk(state)
    assert len(updates) > len(set(updates)) > 1


# ------------------------------------------------------------------------------- Alg. 3 and 4


def searching(variant, zero, pairs, executor=None, **shapes):
    """A state after a forward pass over given zero-slack edges and a given assignment.

    From the pass on, all launches run in `executor` if there is one.
    """
    zero = np.asarray(zero, bool)
    state, launches, a = prepared(np.zeros(zero.shape, np.int32), variant, "int32", **shapes)
    a["cost"][:] = np.where(zero, 0, 4).reshape(-1)
    state.forget()
    launches["init"]()
    state.arrays["row_dual"][:] = state.arrays["column_dual"][:] = 0
    assign(state, pairs)
    if variant == "classical":
        solver.matrix_compression(launches, quiet)
    launches["optimality_check"]()
    if executor:
        shape = dataclasses.replace(Geometry.for_device(len(zero), variant), **shapes)
        with device.executing(executor):
            state.launches = bind_launches(
                (state.n, state.n), a["cost"].dtype, a, state.mailbox, variant, shape, 0.0
            )
    state.launches["forward_pass"]()
    return state, check_forest(state)


@variants
@pytest.mark.parametrize("n", [2, 17, 32, 33, 66, 97])
def test_a_chain_takes_a_level_a_row(n, variant):
    """Row 0 is free; column j leads on to row j + 1; the last column is free."""
    zero = np.eye(n, dtype=bool)
    pairs = [(i + 1, i) for i in range(n - 1)]
    for i, j in pairs:
        zero[i, j] = True
    state, root = searching(variant, zero, pairs)
    assert state.arrays["flags"][Flag.LEVELS] == n
    assert augment_and_check(state, root) == 1
    assert state.arrays["row_assignment"].tolist() == list(range(n))


@variants
def test_a_search_without_edges_reaches_nothing(variant):
    n = 40
    state, root = searching(variant, np.zeros((n, n)), [])
    assert len(root) == n
    assert state.arrays["flags"][Flag.REVERSE] == 0
    if variant == "classical":
        assert (state.arrays["row_mark"] == Mark.VISITED).all(), "rows without an edge"
        assert state.arrays["flags"][Flag.LEVELS] == 0


@variants
@pytest.mark.parametrize("seed", range(12))
def test_searches_from_any_matching(seed, variant):
    """Random zeros of several densities, and a matching on them that is not maximum."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(20, 75))
    zero = rng.random((n, n)) < rng.choice([1.0, 2.0, 4.0, n]) / n
    free_rows, free_columns = set(range(n)), set(range(n))
    pairs = []
    for i, j in rng.permutation(np.argwhere(zero)):
        if i in free_rows and j in free_columns and len(pairs) < 0.8 * n:
            pairs.append((i, j))
            free_rows.remove(i)
            free_columns.remove(j)
    state, root = searching(variant, zero, pairs)
    if state.arrays["flags"][Flag.REVERSE]:
        assert augment_and_check(state, root) >= 1


@pytest.mark.parametrize(
    ("threads", "blocks"), [(32, 1), (32, 4), (64, 3), (128, 1), (128, 2), (256, 1)]
)
def test_tree_search_however_the_columns_are_dealt_out(threads, blocks):
    """More column groups than warps, as many, fewer: then warps share a group's rows."""
    for n, cost_range in ((33, 5), (70, 20)):
        cost = drawn(n, threads + blocks, cost_range=cost_range)
        state, _, _ = prepared(cost, search_threads=threads, search_blocks=blocks)
        updates, _, _ = walk(state)
        assert updates == reference.alternating_tree_hungarian(cost).updates


@pytest.mark.parametrize("threads", [32, 128, 256])
def test_classical_search_of_any_number_of_warps(threads):
    for n, cost_range in ((33, 5), (70, 30)) if threads < 256 else ((40, 12),):
        cost = drawn(n, threads, cost_range=cost_range)
        state, _, _ = prepared(cost, "classical", search_threads=threads, scan_threads=threads)
        updates, _, _ = walk(state)
        assert updates == reference.classical_hungarian(cost).updates


# ------------------------------------------------------------------------------- Alg. 5 and 6


def hand_made():
    """Two trees on ten rows and columns; the wanted pairs of rows and columns.

    Rows 0 and 1 are free. Tree 0: row 0 - column 0 - row 2, which finds the free columns 4 and 5,
    and column 1 - row 3, which finds the free column 6. Tree 1: row 1 - column 2 - row 4, which
    finds column 3 - row 5, a dead end, and the free column 7. Row 6 is free and finds nothing.
    """
    zero = np.zeros((10, 10), bool)
    pairs = [(2, 0), (3, 1), (4, 2), (5, 3), (7, 8), (8, 9)]
    edges = [(0, 0), (2, 4), (2, 5), (2, 1), (3, 6), (1, 2), (4, 3), (4, 7)]
    for i, j in pairs + edges:
        zero[i, j] = True
    return zero, pairs


@variants
def test_reverse_pass_of_two_trees(variant):
    state, root = searching(variant, *hand_made())
    assert root["column", 6] == root["row", 3] == 0
    assert root["column", 7] == root["row", 5] == 1
    before = state.arrays["row_assignment"].copy()
    assert augment_and_check(state, root) == 2
    after = state.arrays["row_assignment"]
    assert after[0] == 0
    assert after[2] in (1, 4, 5)
    assert after[3] == (6 if after[2] == 1 else 1)
    assert (after[1], after[4], after[5], after[6]) == (2, 7, 3, -1)
    assert np.array_equal(after[[7, 8, 9]], before[[7, 8, 9]])


@variants
def test_reverse_pass_of_many_free_columns(variant):
    """One root that sees every column: one path, whichever thread wins."""
    n = 40
    zero = np.zeros((n, n), bool)
    zero[5] = True
    state, root = searching(variant, zero, [])
    assert state.arrays["flags"][Flag.REVERSE] == n
    assert augment_and_check(state, root) == 1


# ------------------------------------------------------------------------------- Alg. 7 to 9


@dtypes
@pytest.mark.parametrize("n", first(4, SIZES))
def test_least_uncovered_slack_equals_reference(n, dtype):
    """Alg. 7 and the minimum under random covers: theta, wherever it is."""
    rng = np.random.default_rng(n)
    state, launches, a = prepared(
        drawn(n, 2, dtype, 1000), "classical", dtype, reduction_threads=32
    )
    for _ in range(4):
        solver.initial_reduction(launches, quiet)
        launches["optimality_check"]()
        a["row_dual"] -= 2  # no edge is without slack
        a["row_cover"][:], a["column_cover"][:] = rng.random((2, n)) < 0.5
        a["row_cover"][n // 2], a["column_cover"][n // 3] = 0, 0
        t = tableau(state)
        expected = slacks(state)[np.ix_(~t.V_r, ~t.V_c)].min()
        launches["dual_update_stage_1"]()
        launches["minimum"]()
        assert a["theta"][0] == expected
        top = np.inf if dtype == "float64" else np.iinfo(dtype).max
        assert (a["slack"][t.V_r] == top).all()
        reference.update(t)
        launches["dual_update_stage_2"]()
        assert np.array_equal(a["row_dual"], t.D_r)
        assert np.array_equal(a["column_dual"], t.D_c)


@pytest.mark.parametrize("n", [133, 160])
def test_stage_1_finds_the_least_wherever_it_is(n):
    state, launches, a = prepared(np.full((n, n), 0), "classical", "int32")
    launches["init"]()
    launches["optimality_check"]()
    a["row_dual"][:] = a["column_dual"][:] = 0
    assert state.n == n
    for k in (0, 31, 32, 64, 96, 127, 128, n - 1):
        a["cost"][:] = 9
        a["cost"][3 * n + k] = 1
        a["cost"][4 * n + (k + 1) % n] = 0  # in a covered column
        a["column_cover"][:] = 0
        a["column_cover"][(k + 1) % n] = 1
        launches["dual_update_stage_1"]()
        assert a["slack"][[2, 3, 4]].tolist() == [18, 2, 18]


@variants
@dtypes
@pytest.mark.parametrize("threads", [1, 4, 32])
def test_minimum_takes_the_least_positive_value(threads, dtype, variant):
    n = 70
    top = np.inf if dtype == "float64" else np.iinfo(dtype).max
    _, launches, a = prepared(drawn(n, 1, dtype), variant, dtype, reduction_threads=threads)
    for k in range(n):
        a["slack"][:] = np.arange(n) % 3 * 10
        a["slack"][k] = 2
        launches["minimum"]()
        assert a["theta"][0] == 2
    a["slack"][:] = 0
    a["slack"][5] = top
    launches["minimum"]()
    assert a["theta"][0] == top


@dtypes
@pytest.mark.parametrize("n", [1, 2, 33, 40])
def test_alternating_tree_update_equals_reference(n, dtype):
    """Alg. 9 on random slacks and covers: several columns run out of slack, some have none."""
    rng = np.random.default_rng(n)
    state, launches, a = prepared(drawn(n, 3, dtype), "tree", dtype)
    solver.initial_reduction(launches, quiet)
    launches["optimality_check"]()
    for _ in range(5):
        a["row_cover"][:], a["column_cover"][:] = rng.random((2, n)) < 0.5
        a["slack"][:] = 2 * rng.integers(0, 4, n)
        a["slack"][0] = 6
        a["column_predecessor"][:] = rng.integers(0, n, n)
        a["row_mark"][:] = Mark.VISITED
        t, woken = tableau(state), []
        reference.update_2(t, woken)
        launches["minimum"]()
        launches["dual_update"]()
        assert np.array_equal(a["slack"], t.slack)
        assert np.array_equal(a["row_dual"], t.D_r)
        assert np.array_equal(a["column_dual"], t.D_c)
        assert set(np.flatnonzero(a["row_mark"] == Mark.ACTIVE)) == set(woken)


@variants
def test_an_infinite_theta_moves_nothing(variant):
    n = 12
    state, launches, a = prepared(drawn(n, 3), variant)
    reduce_(state)
    launches["optimality_check"]()
    before = a["row_dual"].copy(), a["column_dual"].copy(), a["slack"].copy()
    a["theta"][0] = np.iinfo(np.int32).max
    launches["dual_update" if variant == "tree" else "dual_update_stage_2"]()
    for old, name in zip(before, ("row_dual", "column_dual", "slack"), strict=True):
        assert np.array_equal(a[name], old)
    assert a["flags"][Flag.UPDATED] == 1


# ------------------------------------------------------------------------------- the signal


@pytest.mark.parametrize("matches", [0, 1, 46340, 2**30])
@pytest.mark.parametrize(("path", "stuck"), [(False, False), (True, False), (False, True)])
def test_signal_round_trip(matches, path, stuck):
    payload = stuck << 33 | path << 32 | matches
    assert host.decode_signal(payload) == host.Signal(matches, path, stuck)


@variants
def test_a_pass_after_an_update_that_reaches_nothing_is_stuck(variant):
    """An update is claimed, but no edge was added: the same pass again says so, once."""
    n = 20
    state, _ = searching(variant, np.zeros((n, n)), [])
    assert state.wait() == (0, False, False)
    state.arrays["flags"][Flag.UPDATED] = 1
    state.launches["forward_pass"]()
    assert state.wait() == (0, False, True)
    state.launches["forward_pass"]()
    assert state.wait() == (0, False, False)


def test_the_reference_solves_to_the_optimum():
    from scipy.optimize import linear_sum_assignment

    for seed in range(20):
        cost = uniform(11, seed, cost_range=(3, 12, 400)[seed % 3])
        best = cost[linear_sum_assignment(cost)].sum()
        for solve in (reference.classical_hungarian, reference.alternating_tree_hungarian):
            for t in (solve(cost), solve(cost / 4)):
                scale = 4 if t.C.dtype.kind == "f" else 1
                assert scale * (cost / scale)[np.arange(11), t.A_r].sum() == best
                assert scale * (t.D_r.sum() + t.D_c.sum()) == 2 * best
