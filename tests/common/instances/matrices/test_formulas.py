"""The families given by formula, frozen bit for bit: whole, by block and by entry."""

import hashlib

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from papers.common.instances import FAMILIES, matrices
from papers.common.instances.counter_rng import mix_int
from papers.common.instances.matrices import streams
from papers.common.instances.matrices.formulas import (
    Adversarial,
    Constant,
    Geometric,
    Planted,
    Uniform,
    UniformDouble,
)


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
    ("lopes_authors", 64, 2, {"high": 640}, "int32",
     "ac295990e818cd166e39f21db51b2de816b2600392daa1953a0115846fb858d2"),
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
    matrix = FAMILIES[family].make(n, seed=seed, **params)
    assert matrix.shape == (n, n)
    assert matrix.dtype == dtype
    assert digest(matrix) == frozen


def test_uniform_first_values():
    matrix = matrices.uniform(64, seed=1, cost_range=640)
    assert matrix[0, :4].tolist() == [219, 535, 629, 488]


@pytest.mark.parametrize(
    ("n", "cost_range", "seed", "optimum"),
    [(512, 512, 1, 596), (512, 512, 2, 614), (512, 5120, 3, 8198)],
)
def test_uniform_has_the_reference_optimum(n, cost_range, seed, optimum):
    matrix = matrices.uniform(n, seed, cost_range=cost_range)
    assert matrix[linear_sum_assignment(matrix)].sum() == optimum


def test_uniform_covers_its_range_evenly():
    counts = np.bincount(matrices.uniform(300, 5, cost_range=10).ravel(), minlength=10)
    assert len(counts) == 10
    # 90000 draws: a tenth each, give or take six standard deviations.
    assert np.abs(counts - 9000).max() < 6 * np.sqrt(90000 * 0.09)


def test_seeds_sizes_and_ranges_give_different_streams():
    first = [
        matrices.uniform(n, s, cost_range=r)[0, :8].tolist()
        for n, s, r in [(8, 1, 1000), (8, 2, 1000), (9, 1, 1000), (8, 1, 1001)]
    ]
    assert len({tuple(row) for row in first}) == 4


def test_rows_are_strips_of_the_whole():
    formula = Uniform(37, 4, cost_range=99)
    whole = matrices.uniform(37, 4, cost_range=99)
    np.testing.assert_array_equal(formula.block((11, 30), (0, 37)), whole[11:30])
    assert formula.block((5, 5), (0, 37)).shape == (0, 37)


def alone(formula, i, j):
    """Draw one entry without the package's loops: arithmetic on Python's integers."""
    n, wide = formula.n, formula.params["cost_range"]
    drawn = mix_int(streams.stream_key(n, int(wide), formula.seed) + i * n + j)
    is_double = formula.dtype.kind == "f"
    return (drawn >> 11) * 2.0**-53 * wide if is_double else (drawn >> 32) * wide >> 32


@pytest.mark.parametrize("make", [Uniform, UniformDouble])
@pytest.mark.parametrize("n", [3, 700])
def test_all_cores_draw_what_the_definition_says(make, n):
    formula = make(n, 4, cost_range=2**31)
    whole = formula.whole()
    for i, j in [(0, 0), (0, n - 1), (n - 1, 0), (n // 2, n // 3), (n - 1, n - 1)]:
        assert whole[i, j] == alone(formula, i, j)
    strips = [formula.block((i, min(i + 100, n)), (0, n)) for i in range(0, n, 100)]
    np.testing.assert_array_equal(whole, np.concatenate(strips))


@pytest.mark.parametrize("count", [0, 1, 9, 2**18 + 5])
def test_counters_wrap_without_a_gap(count):
    counter = 2**64 - 5
    drawn = streams.integers(count, 1000, counter)
    assert drawn.dtype == np.int32
    wanted = [mix_int(counter + k) >> 32 for k in range(min(count, 9))]
    assert drawn[:9].tolist() == [high * 1000 >> 32 for high in wanted]
    assert count == 0 or 0 <= drawn.min() <= drawn.max() < 1000
    np.testing.assert_array_equal(drawn, streams.integers(count, 1000, counter - 2**64))


def test_a_block_is_drawn_into_given_memory():
    memory = np.full(100, -1, np.int32)
    formula = Uniform(9, 4, cost_range=99)
    rows = formula.block((2, 7), (0, 9), memory)
    np.testing.assert_array_equal(rows, formula.block((2, 7), (0, 9)))
    assert np.shares_memory(rows, memory)
    assert (memory[45:] == -1).all()


def test_counters_are_wider_than_32_bits():
    strip = Uniform(70000, cost_range=70000).block((69999, 70000), (0, 70000))
    assert strip[0, -3:].tolist() == [46756, 62315, 41372]


@pytest.mark.parametrize(("start", "stop"), [(-1, 3), (3, 2), (0, 6)])
def test_lines_outside_are_refused(start, stop):
    for lines in (((start, stop), (0, 5)), ((0, 5), (start, stop))):
        with pytest.raises(ValueError, match="not lines of an n = 5 matrix"):
            Uniform(5, cost_range=10).block(*lines)


CASES = {
    "uniform": lambda: Uniform(18, 6, cost_range=180),
    "uniform_double": lambda: UniformDouble(18, 6, cost_range=180.0),
    "adversarial": lambda: Adversarial(18),
    "adversarial, 64 bits": lambda: Adversarial(46341),
    "constant": lambda: Constant(18, value=-7),
    "planted": lambda: Planted(18, 6, cost_range=500),
    "planted, 64 bits": lambda: Planted(18, 6, cost_range=2**31),
    "geometric": lambda: Geometric(18, 6, cost_range=1000),
    "geometric, 64 bits": lambda: Geometric(18, 6, cost_range=2**31),
}


@pytest.mark.parametrize("case", CASES)
def test_blocks_and_entries_are_those_of_the_whole(case):
    formula = CASES[case]()
    n = min(formula.n, 18)
    whole = formula.block((0, n), (0, n))
    assert whole.dtype == formula.dtype == ("int64" if "64" in case else whole.dtype)
    for rows in ((0, n), (n // 3, n), (4, 5), (0, 0)):
        for columns in ((0, n), (n // 2, n), (7, 8)):
            block = formula.block(rows, columns)
            assert block.dtype == whole.dtype
            np.testing.assert_array_equal(block, whole[slice(*rows), slice(*columns)])
    some = np.arange(n), np.arange(n)[::-1].copy()
    found = formula.entries(*some)
    assert found.dtype == whole.dtype
    np.testing.assert_array_equal(found, whole[some])
    assert formula.entries(some[0][:0], some[1][:0]).shape == (0,)


def test_only_a_matrix_of_counters_has_them():
    assert {name for name, make in CASES.items() if make().counters} == {"uniform"}


def test_fingerprints_tell_matrices_apart():
    like = [(18, 6, 181), (18, 7, 180), (17, 6, 180)]
    others = [Uniform(n, seed, cost_range=wide) for n, seed, wide in like]
    prints = [one.fingerprint() for one in (*(make() for make in CASES.values()), *others)]
    assert len(set(prints)) == len(prints)
    assert Uniform(18, 6, cost_range=180).fingerprint() == prints[0]


@pytest.mark.parametrize("cost_range", [0, -1, 2**31 + 1])
def test_uniform_refuses_ranges_that_do_not_fit(cost_range):
    with pytest.raises(ValueError, match="cost_range"):
        matrices.uniform(3, cost_range=cost_range)


@pytest.mark.parametrize("cost_range", [0.0, -1.0, float("inf"), float("nan")])
def test_uniform_double_refuses_ranges_without_meaning(cost_range):
    with pytest.raises(ValueError, match="cost_range"):
        matrices.uniform_double(3, cost_range=cost_range)


def test_doubles_and_integers_share_their_counters():
    integers = matrices.uniform(40, 6, cost_range=1000)
    doubles = matrices.uniform_double(40, 6, cost_range=1000.0)
    # Same upper 32 bits: they differ by less than the 21 bits below can add.
    assert np.abs(np.floor(doubles) - integers).max() <= 1
    assert (np.floor(doubles) == integers).mean() > 0.99
    assert doubles.max() < 1000.0


@pytest.mark.parametrize("n", [1, 2, 7, 40])
def test_adversarial_minimum(n):
    matrix = matrices.adversarial(n)
    assert matrix[linear_sum_assignment(matrix)].sum() == n * (n + 1) * (n + 2) // 6


def test_constant_is_constant():
    matrix = matrices.constant(5, value=7)
    assert matrix.dtype == np.int32
    assert (matrix == 7).all()


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("cost_range", [3, 1000, 2**31])
def test_planted_optimum(seed, cost_range):
    formula = Planted(30, seed, cost_range=cost_range)
    permutation, u, v = formula.permutation, formula.u, formula.v
    matrix = matrices.planted(30, seed, cost_range=cost_range)
    slack = matrices.uniform(30, seed, cost_range=cost_range).astype(np.int64)
    slack[np.arange(30), permutation] = 0
    np.testing.assert_array_equal(matrix, u[:, None] + v[None, :] + slack)
    assert sorted(permutation) == list(range(30))
    assert slack.min() == 0
    assert matrix[linear_sum_assignment(matrix)].sum() == u.sum() + v.sum()
    assert matrix[np.arange(30), permutation].sum() == u.sum() + v.sum()


def test_geometric_is_made_of_squared_distances():
    matrix = matrices.geometric(25, 3, cost_range=50).astype(np.float64)
    assert matrix.max() <= 2 * 49**2
    # |p - q|^2 = |p|^2 + |q|^2 - 2 p.q : rank 4 at most.
    assert np.linalg.matrix_rank(matrix) == 4
