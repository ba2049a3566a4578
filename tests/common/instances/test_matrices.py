"""The instance families, frozen bit for bit."""

import hashlib

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from papers.common.executor.scheduler import Executor
from papers.common.gpu import device
from papers.common.instances import generators
from papers.common.model import Instance


def digest(matrix):
    little_endian = np.ascontiguousarray(matrix, dtype=matrix.dtype.newbyteorder("<"))
    return hashlib.sha256(little_endian.tobytes()).hexdigest()


FROZEN = [
    ("uniform", 64, 1, {"cost_range": 640}, "int32",
     "ad0485d55aa2178f15d6480b5abbc0a68b6222005e8c7759c51871f94ea9744d"),
    ("uniform", 33, 7, {"cost_range": 2**31}, "int32",
     "9ab5d83c900b91de4056e9c0881c4c394a98dd425f22dcc1ad7b7c14712bd432"),
    ("uniform_double", 33, 2, {"cost_range": 10.0}, "float64",
     "0cd13ca8f4d53190b9f078a849d1eac37bdd319bf843d00641f3182a72d3f4fe"),
    ("lopes_cpp", 64, 45345, {"high": 640}, "int32",
     "b7d676981499b47327ed03476e862c0119987eff6d171ee0a8034949c38cb61f"),
    ("adversarial", 9, 1, {}, "int32",
     "8040f5c5ddd82cf83ecb4abad577edb69127dba317dba876fd95439546b529bb"),
    ("planted", 20, 3, {}, "int32",
     "a111ed9b869c409420edd47616a7975beeb1b029582d53ac9babcd787c1ddbf0"),
    ("geometric", 20, 3, {}, "int32",
     "a3d2a9f5b44e8a213533c67b58eb19a6a5e580b5854ed08de85ee794479e6f0a"),
]  # fmt: skip


@pytest.mark.parametrize(("family", "n", "seed", "params", "dtype", "frozen"), FROZEN)
def test_family_is_frozen(family, n, seed, params, dtype, frozen):
    matrix = generators.FAMILIES[family](n, seed=seed, **params)
    assert matrix.shape == (n, n)
    assert matrix.dtype == dtype
    assert digest(matrix) == frozen


def test_uniform_first_values():
    matrix = generators.uniform(64, seed=1, cost_range=640)
    assert matrix[0, :4].tolist() == [219, 535, 629, 488]


@pytest.mark.parametrize(
    ("n", "cost_range", "seed", "optimum"),
    [(512, 512, 1, 596), (512, 512, 2, 614), (512, 5120, 3, 8198)],
)
def test_uniform_has_the_reference_optimum(n, cost_range, seed, optimum):
    matrix = generators.uniform(n, seed, cost_range=cost_range)
    assert matrix[linear_sum_assignment(matrix)].sum() == optimum


def test_uniform_covers_its_range_evenly():
    counts = np.bincount(generators.uniform(300, 5, cost_range=10).ravel(), minlength=10)
    assert len(counts) == 10
    # 90000 draws: a tenth each, give or take six standard deviations.
    assert np.abs(counts - 9000).max() < 6 * np.sqrt(90000 * 0.09)


def test_seeds_sizes_and_ranges_give_different_streams():
    first = [
        generators.uniform(n, s, cost_range=r)[0, :8].tolist()
        for n, s, r in [(8, 1, 1000), (8, 2, 1000), (9, 1, 1000), (8, 1, 1001)]
    ]
    assert len({tuple(row) for row in first}) == 4


def test_rows_are_strips_of_the_whole():
    whole = generators.uniform(37, 4, cost_range=99)
    np.testing.assert_array_equal(generators.uniform_rows(37, 99, 4, 11, 30), whole[11:30])
    assert generators.uniform_rows(37, 99, 4, 5, 5).shape == (0, 37)


def test_all_cores_draw_the_same_bits_as_one():
    """Large matrices are drawn in chunks by all cores, small ones by one."""
    n = 700
    assert n * n > generators._CHUNK > 100 * n
    whole = generators.uniform(n, 4, cost_range=2**31)
    strips = [generators.uniform_rows(n, 2**31, 4, i, i + 100) for i in range(0, n, 100)]
    np.testing.assert_array_equal(whole, np.concatenate(strips))
    doubles = generators.uniform_double(n, 4, cost_range=8.0).reshape(-1)
    alone = np.empty_like(doubles)
    generators._fill_doubles(alone, np.uint64(generators.stream_key(n, 8, 4)), 8.0)
    np.testing.assert_array_equal(doubles, alone)


@pytest.mark.parametrize("size", [2**18 - 1, 2**18, 2**18 + 1, 2**20, 2**20 + 5])
def test_chunks_meet_without_a_gap(size):
    counter = np.uint64(2**64 - 2**19 - 3)  # the counters wrap on the way
    one, all_cores = np.full(size, -1, np.int32), np.full(size, -1, np.int32)
    generators._fill_integers(one, counter, np.uint64(1000))
    generators._fill_integers_by_all(all_cores, counter, np.uint64(1000))
    np.testing.assert_array_equal(all_cores, one)
    assert one.min() >= 0


def test_rows_are_drawn_into_given_memory():
    memory = np.full(100, -1, np.int32)
    rows = generators.uniform_rows(9, 99, 4, 2, 7, memory)
    np.testing.assert_array_equal(rows, generators.uniform_rows(9, 99, 4, 2, 7))
    assert np.shares_memory(rows, memory)
    assert (memory[45:] == -1).all()


def test_counters_are_wider_than_32_bits():
    strip = generators.uniform_rows(70000, 70000, 1, 69999, 70000)
    assert strip[0, -3:].tolist() == [46756, 62315, 41372]


@pytest.mark.parametrize(("start", "stop"), [(-1, 3), (3, 2), (0, 6)])
def test_rows_outside_are_refused(start, stop):
    with pytest.raises(ValueError, match="rows"):
        generators.uniform_rows(5, 10, 1, start, stop)


@pytest.mark.parametrize("cost_range", [0, -1, 2**31 + 1])
def test_uniform_refuses_ranges_that_do_not_fit(cost_range):
    with pytest.raises(ValueError, match="cost_range"):
        generators.uniform(3, cost_range=cost_range)


@pytest.mark.parametrize("cost_range", [0.0, -1.0, float("inf"), float("nan")])
def test_uniform_double_refuses_ranges_without_meaning(cost_range):
    with pytest.raises(ValueError, match="cost_range"):
        generators.uniform_double(3, cost_range=cost_range)


def test_doubles_and_integers_share_their_counters():
    integers = generators.uniform(40, 6, cost_range=1000)
    doubles = generators.uniform_double(40, 6, cost_range=1000.0)
    # Same upper 32 bits: they differ by less than the 21 bits below can add.
    assert np.abs(np.floor(doubles) - integers).max() <= 1
    assert (np.floor(doubles) == integers).mean() > 0.99
    assert doubles.max() < 1000.0


# Values printed by a C++ program (g++ 12, libstdc++): minstd_rand0 seeded with 45345 and
# uniform_int_distribution<int>(low, high).
CPP = [
    (0, 51, [18, 30, 48, 25, 17, 36, 12, 6, 36, 33, 46, 48]),
    (0, 512, [182, 298, 473, 251, 169, 361, 122, 61, 356, 333, 462, 479]),
    (0, 5120, [1817, 2975, 4728, 2510, 1691, 3606, 1219, 617, 3561, 3325, 4617, 4790]),
    (1, 100, [36, 59, 93, 50, 34, 71, 24, 13, 70, 65, 91, 94]),
    (-5, 5, [-2, 1, 5, 0, -2, 2, -3, -4, 2, 2, 4, 5]),
    (0, 2**31 - 4, [762113414, 1247695196, 1982846670, 1052765350]),
    (0, 2**31 - 3, [762113414, 1247695196, 1982846670, 1052765350]),
]


@pytest.mark.parametrize(("low", "high", "values"), CPP)
def test_lopes_cpp_is_the_standard_library_stream(low, high, values):
    drawn = generators.lopes_cpp(4, low=low, high=high).ravel()
    assert drawn[: len(values)].tolist() == values


@pytest.mark.parametrize("seed", [0, 1, 2**31 - 1, 2**32 - 1])
def test_lopes_cpp_seeds_congruent_to_zero_or_one(seed):
    drawn = generators.lopes_cpp(3, seed, high=1000).ravel()
    assert drawn[:8].tolist() == [0, 131, 756, 459, 533, 219, 47, 679]


def test_lopes_cpp_rejects_like_the_standard_library():
    """With span + 1 just over half the engine's range, nearly half of the draws are rejected."""
    span = 2**30
    state, expected = 45345, []
    while len(expected) < 16:
        state = 16807 * state % (2**31 - 1)
        if state - 1 < span + 1:
            expected.append(state - 1)
    assert generators.lopes_cpp(4, high=span).ravel().tolist() == expected


@pytest.mark.parametrize(("low", "high"), [(3, 2), (0, 2**31 - 2), (0, 2**31), (-(2**31) - 1, 0)])
def test_lopes_cpp_refuses_bounds(low, high):
    with pytest.raises(ValueError, match="high"):
        generators.lopes_cpp(2, low=low, high=high)


@pytest.mark.parametrize("n", [1, 2, 7, 40])
def test_adversarial_minimum(n):
    matrix = generators.adversarial(n)
    assert matrix[linear_sum_assignment(matrix)].sum() == n * (n + 1) * (n + 2) // 6


def test_constant_is_constant():
    matrix = generators.constant(5, value=7)
    assert matrix.dtype == np.int32
    assert (matrix == 7).all()


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("cost_range", [3, 1000, 2**31])
def test_planted_optimum(seed, cost_range):
    permutation, u, v, slack = generators.planted_parts(30, seed, cost_range)
    matrix = generators.planted(30, seed, cost_range=cost_range)
    np.testing.assert_array_equal(matrix, u[:, None] + v[None, :] + slack)
    assert sorted(permutation) == list(range(30))
    assert slack.min() == 0
    assert matrix[linear_sum_assignment(matrix)].sum() == u.sum() + v.sum()
    assert matrix[np.arange(30), permutation].sum() == u.sum() + v.sum()


def test_geometric_is_made_of_squared_distances():
    matrix = generators.geometric(25, 3, cost_range=50).astype(np.float64)
    assert matrix.max() <= 2 * 49**2
    # |p - q|^2 = |p|^2 + |q|^2 - 2 p.q : rank 4 at most.
    assert np.linalg.matrix_rank(matrix) == 4


@pytest.mark.parametrize(
    ("label", "expected"),
    [("0.1n", 51), ("n", 512), ("10n", 5120), ("n/64", 8), ("16n", 8192), ("16384n", 8388608),
     ("100", 100), ("n/1000", 1)],
)  # fmt: skip
def test_label_range(label, expected):
    assert generators.label_range(512, label) == expected


def test_label_range_is_at_least_one():
    assert generators.label_range(5, "0.1n") == 1
    assert generators.label_range(0, "n") == 1


@pytest.mark.parametrize("label", ["", "m", "n64", "0n", "-1n", "n/0", "0.1", "n/n", "0"])
def test_label_range_refuses(label):
    with pytest.raises(ValueError, match="cost range"):
        generators.label_range(512, label)


def test_draw_takes_the_range_from_the_label_or_from_the_parameters():
    by_label = generators.draw(Instance("uniform", 40, "10n", seed=2))
    by_params = generators.draw(Instance("uniform", 40, "x", (("cost_range", 400),), seed=2))
    np.testing.assert_array_equal(by_label, generators.uniform(40, 2, cost_range=400))
    np.testing.assert_array_equal(by_label, by_params)


def test_draw_names_the_range_of_the_cpp_program():
    drawn = generators.draw(Instance("lopes_cpp", 16, "n", seed=45345))
    np.testing.assert_array_equal(drawn, generators.lopes_cpp(16, high=15))


def test_uniform_in_device_memory_takes_its_range_from_the_label_too():
    with device.executing(Executor()):
        drawn = generators.draw(Instance("uniform_resident", 12, "10n", seed=2))
    np.testing.assert_array_equal(drawn.array, generators.uniform(12, 2, cost_range=120))


@pytest.mark.parametrize("family", sorted(generators.FAMILIES))
def test_every_family_draws_square_matrices(family):
    for n in (0, 1, 16):
        assert generators.draw(Instance(family, n, "100", seed=3)).shape == (n, n)


def test_draw_refuses_unknown_families():
    with pytest.raises(ValueError, match="uniform_double"):
        generators.draw(Instance("gaussian", 4, "n"))
