"""Small matrices of many kinds, and what an answer to them must be."""

import inspect

import numpy as np
from scipy.optimize import linear_sum_assignment

from papers.common.problems import assignment_proof


def euclid(g, n, m):
    left, right = g.random((n, 1, 2)), g.random((1, m, 2))
    return np.rint(1000 * np.sqrt(((left - right) ** 2).sum(-1))).astype(np.int64)


def forbidden(g, n, m):
    """A third of the pairs is forbidden; some of these matrices have no assignment."""
    return np.where(g.random((n, m)) < 0.33, np.inf, g.random((n, m)))


def big_m(g, n, m):
    return np.where(g.random((n, m)) < 0.5, 1e9, g.random((n, m)))


def nearly_sorted(g, n, m):
    """A product but for one pair, which is far from the diagonal of the sorted lines."""
    cost = np.outer(np.arange(1, n + 1), np.arange(1, m + 1))
    if min(n, m) > 6:
        cost[1, 1] -= 10 * n * m
    return cost


KINDS = {
    "uniform": lambda g, n, m: g.integers(0, 10 * m, (n, m)),
    "narrow": lambda g, n, m: g.integers(0, 4, (n, m), dtype=np.int32),
    "two values": lambda g, n, m: g.integers(0, 2, (n, m), dtype=np.int8),
    "product": lambda g, n, m: np.outer(np.arange(1, n + 1), np.arange(1, m + 1)),
    "low rank": lambda g, n, m: g.integers(0, 100, (n, 2)) @ g.integers(0, 100, (2, m)),
    "euclid": euclid,
    "line": lambda g, n, m: np.abs(g.integers(0, 999, (n, 1)) - g.integers(0, 999, (1, m))),
    "wide": lambda g, n, m: g.integers(-(2**50), 2**50, (n, m)),
    "all equal": lambda g, n, m: np.full((n, m), 7),
    "floats": lambda g, n, m: g.normal(size=(n, m)),
    "twelve decades": lambda g, n, m: np.exp(4.6 * g.normal(size=(n, m))),
    "big M": big_m,
    "forbidden": forbidden,
}
"""Makers of a matrix by kind: (generator, rows, columns)."""

NEARLY_SORTED = "nearly sorted"
ALL_KINDS = KINDS | {NEARLY_SORTED: nearly_sorted}
"""With one that takes long in the executor."""


def draw(kind, seed, most=12, least=1):
    """A matrix of that kind, square two times in three, and whether to maximize."""
    g = np.random.default_rng([seed, list(ALL_KINDS).index(kind)])
    n, m = g.integers(least, most + 1, 2)
    if seed % 3:
        m = n
    maximize = bool(seed % 2)
    cost = ALL_KINDS[kind](g, int(n), int(m))
    return (-cost if maximize and kind == "forbidden" else cost), maximize


def has_assignment(cost, maximize):
    try:
        linear_sum_assignment(cost, maximize)
    except ValueError:
        return False
    return True


def assert_optimal(cost, answer, maximize=False):
    """The answer has SciPy's cost, and its duals prove it."""
    verdict = assignment_proof.assignment(cost, answer, maximize)
    assert verdict.ok, verdict.reason
    best = cost[linear_sum_assignment(cost, maximize)]
    if cost.dtype.kind == "f":
        assert np.isclose(answer.cost, best.sum(), rtol=1e-9, atol=0)
    else:
        assert answer.cost == best.astype(np.int64).sum()


def spoiled(module, name, right, wrong, known=()):
    """A function of a module with other words in its text, which may use what is `known`, too."""
    function = getattr(module, name)
    function = getattr(function, "py_func", function)
    text = inspect.getsource(function)
    assert right in text
    namespace = dict(function.__globals__) | dict(known)
    exec(text.replace(right, wrong), namespace)
    return namespace[name]
