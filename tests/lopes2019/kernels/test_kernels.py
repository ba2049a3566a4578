"""Kernel = reference, step by step, on small inputs."""

import numpy as np
import pytest

from papers.common.gpu import device
from papers.common.instances.matrices import uniform
from papers.lopes2019 import host, reference, solver
from papers.lopes2019.kernels import search


@pytest.fixture(autouse=True)
def _on_executor():
    device.select("cpu")


def prepared(cost, **options):
    """A state whose kernels run one at a time; the reference works on the transpose (D1)."""
    state = solver.upload(cost, **options)
    return state, state.launches, state.arrays


def zeros_of(state):
    """Positions in the zero list, bin by bin."""
    sizes = state.arrays["zeros_size"]
    width = solver.Geometry.for_device(state.n).lines_a_bin * state.n
    bins = [state.arrays["zeros"][b * width : b * width + size] for b, size in enumerate(sizes)]
    return bins


CASES = [(n, label, seed) for n in (1, 2, 3, 7, 16, 33) for label, seed in ((3, 1), (50, 2))]


@pytest.mark.parametrize(("n", "cost_range", "seed"), CASES)
@pytest.mark.parametrize("maximize", [False, True])
def test_step_1_equals_reference(n, cost_range, seed, maximize):
    cost = uniform(n, seed, cost_range=cost_range)
    state, _, arrays = prepared(cost, maximize=maximize)
    solver.step_1(state, lambda step: None)
    expected = reference.step_1((-cost if maximize else cost).T)
    assert np.array_equal(arrays["slack"].reshape(n, n).T, expected.slack)
    column_wise = np.flatnonzero(expected.slack.T.reshape(-1) == 0)
    assert sorted(np.concatenate(zeros_of(state))) == column_wise.tolist()


@pytest.mark.parametrize("step_4", ["paper", "A"])
def test_zeros_stand_in_the_bin_of_their_line(step_4):
    n = 20
    state, _, _ = prepared(uniform(n, 3, cost_range=4), step_4=step_4)
    solver.step_1(state, lambda step: None)
    lines = solver.Geometry.for_device(n).lines_a_bin
    bins = zeros_of(state)
    assert len(bins) > 1
    for b, positions in enumerate(bins):
        assert len(positions)
        line = positions // n if step_4 == "paper" else positions % n
        assert set(line // lines) == {b}


@pytest.mark.parametrize(("n", "cost_range", "seed"), CASES)
def test_step_2_stars_a_maximal_set_of_zeros(n, cost_range, seed):
    state, launches, arrays = prepared(uniform(n, seed, cost_range=cost_range))
    solver.step_1(state, lambda step: None)
    launches["step_2"]()
    slack = arrays["slack"].reshape(n, n)  # [column, row]
    row_of, column_of = arrays["row_of_star_at_column"], arrays["column_of_star_at_row"]
    for column in range(n):
        if row_of[column] >= 0:
            assert column_of[row_of[column]] == column
            assert slack[column, row_of[column]] == 0
    assert (row_of >= 0).sum() == (column_of >= 0).sum()
    free = slack[np.ix_(row_of < 0, column_of < 0)]
    assert not (free == 0).any(), "a zero could still be starred"
    assert arrays["flags"][search.Flag.ZEROS] == (slack == 0).sum()


def in_step_4(cost, step_4="paper"):
    """Kernel state and reference tableau before a search, with the same stars."""
    state, launches, arrays = prepared(cost, step_4=step_4)
    solver.step_1(state, lambda step: None)
    launches["step_2"]()
    launches["step_3_init"]()
    launches["step_3"]()
    tableau = reference.step_1(cost.T)
    tableau.row_of_star_at_column[:] = arrays["row_of_star_at_column"]
    tableau.column_of_star_at_row[:] = arrays["column_of_star_at_row"]
    return state, tableau


@pytest.mark.parametrize(("n", "cost_range", "seed"), CASES)
def test_step_3_equals_reference(n, cost_range, seed):
    state, tableau = in_step_4(uniform(n, seed, cost_range=cost_range))
    reference.step_3(tableau)
    assert np.array_equal(state.arrays["covered_column"], tableau.covered_column)
    assert not state.arrays["covered_row"].any()
    assert state.arrays["flags"][search.Flag.MATCHES] == (tableau.row_of_star_at_column >= 0).sum()


@pytest.mark.parametrize("step_4", solver.STEP_4)
@pytest.mark.parametrize(("n", "cost_range", "seed"), CASES)
def test_searches_equal_reference(n, cost_range, seed, step_4):
    """A search that finds nothing covers what the reference covers; one that finds, is right.

    Without a path the covers are Koenig's, which do not depend on the order of the zeros; the
    dual update must then agree entry by entry. With one, every prime must be a zero that the
    alternating walk reaches.
    """
    state, tableau = in_step_4(uniform(n, seed, cost_range=cost_range), step_4)
    launches, arrays = state.launches, state.arrays
    for _ in range(4 * n + 4):
        reference.step_3(tableau)
        launches["step_3_init"]()
        launches["step_3"]()
        launches["step_4"]()
        signal = state.signal()
        if signal.matches == n:
            break
        while not signal.path_found:
            if not signal.zero_found:
                assert reference.step_4(tableau) == -1
                assert np.array_equal(arrays["covered_row"], tableau.covered_row)
                assert np.array_equal(arrays["covered_column"], tableau.covered_column)
                for name in ("reduction_1", "reduction_2", "add_sub"):
                    launches[f"step_6_{name}"]()
                launches["compress_matrix"]()
                reference.step_6(tableau)
                assert np.array_equal(arrays["slack"].reshape(n, n).T, tableau.slack)
            launches["step_4"]()
            signal = state.signal()
        check_primes(state, n)
        launches["step_5a"]()
        launches["step_5b"]()
        check_augmented(state, tableau, n)
    assert signal.matches == n


def check_primes(state, n):
    slack, prime = state.arrays["slack"], state.arrays["column_of_prime_at_row"]
    star_at_column = state.arrays["row_of_star_at_column"]
    for row in np.flatnonzero(prime >= 0):
        assert slack[prime[row] * n + row] == 0
        for _ in range(n):  # the walk along primes and stars ends in a free column
            column = prime[row]
            row = star_at_column[column]
            if row < 0:
                break
            assert prime[row] >= 0, "the walk broke off"
        assert row < 0, "the walk runs in a circle"


def check_augmented(state, tableau, n):
    """More stars than before, on zeros; hand them to the reference."""
    row_of = state.arrays["row_of_star_at_column"]
    column_of = state.arrays["column_of_star_at_row"]
    before = (tableau.row_of_star_at_column >= 0).sum()
    assert (row_of >= 0).sum() > before
    columns = np.flatnonzero(row_of >= 0)
    assert np.array_equal(column_of[row_of[columns]], columns)
    assert (column_of >= 0).sum() == len(columns)
    assert not state.arrays["slack"][columns * n + row_of[columns]].any()
    # What was matched stays matched.
    assert (row_of[tableau.row_of_star_at_column >= 0] >= 0).all()
    tableau.row_of_star_at_column[:] = row_of
    tableau.column_of_star_at_row[:] = column_of


def test_step_6_minimum_covers_every_entry():
    """The smallest uncovered slack is found wherever it stands."""
    n = 21
    _, launches, arrays = prepared(np.full((n, n), 9))
    rng = np.random.default_rng(5)
    for position in range(n * n):
        arrays["slack"][:] = rng.integers(5, 50, n * n)
        arrays["slack"][position] = 1
        arrays["covered_row"][:] = rng.random(n) < 0.5
        arrays["covered_column"][:] = rng.random(n) < 0.5
        arrays["covered_row"][position % n] = arrays["covered_column"][position // n] = 0
        launches["step_6_reduction_1"]()
        launches["step_6_reduction_2"]()
        assert arrays["minimum"][0] == 1


def test_signal_word_round_trip():
    for found, zero, matches in ((0, 0, 0), (1, 1, 20000), (0, 1, 46340)):
        payload = (found << 33) | (zero << 32) | matches
        assert host.decode_signal(payload) == host.Signal(matches, bool(zero), bool(found))


def test_reference_solves_to_the_optimum():
    from scipy.optimize import linear_sum_assignment

    for seed in range(20):
        cost = uniform(9, seed, cost_range=12)
        columns, tableau = reference.solve(cost)
        assert cost[np.arange(9), columns].sum() == cost[linear_sum_assignment(cost)].sum()
        assert tableau.slack.min() == 0
