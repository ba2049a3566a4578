"""The stream of the authors' C++ program, value by value."""

import pytest

from papers.common.instances import matrices

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
    drawn = matrices.lopes_cpp(4, low=low, high=high).ravel()
    assert drawn[: len(values)].tolist() == values


@pytest.mark.parametrize("seed", [0, 1, 2**31 - 1, 2**32 - 1])
def test_lopes_cpp_seeds_congruent_to_zero_or_one(seed):
    drawn = matrices.lopes_cpp(3, seed, high=1000).ravel()
    assert drawn[:8].tolist() == [0, 131, 756, 459, 533, 219, 47, 679]


def test_lopes_cpp_rejects_like_the_standard_library():
    """With span + 1 just over half the engine's range, nearly half of the draws are rejected."""
    span = 2**30
    state, expected = 45345, []
    while len(expected) < 16:
        state = 16807 * state % (2**31 - 1)
        if state - 1 < span + 1:
            expected.append(state - 1)
    assert matrices.lopes_cpp(4, high=span).ravel().tolist() == expected


@pytest.mark.parametrize(("low", "high"), [(3, 2), (0, 2**31 - 2), (0, 2**31), (-(2**31) - 1, 0)])
def test_lopes_cpp_refuses_bounds(low, high):
    with pytest.raises(ValueError, match="high"):
        matrices.lopes_cpp(2, low=low, high=high)
