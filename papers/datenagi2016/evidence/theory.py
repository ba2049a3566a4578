"""The objective that theory predicts for every solver: the limits for large n.

Costs are uniform integers in ``[0, over_n * n)``, as in [DN16 sec.6.1] and [DN16 sec.6.2]. For real
costs D. J. Aldous derived the mean (The zeta(2) limit in the random assignment problem, 2001) and
J. Wastlund the deviation (2005).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

ZETA_2, ZETA_3 = math.pi**2 / 6, 1.2020569031595942
OVER_N = {"0.1n": 0.1, "n": 1.0, "10n": 10.0}
"""The paper's cost ranges as multiples of n."""


def edge_density(x: np.ndarray) -> np.ndarray:
    """Return the density of an edge of the optimum, x > 0 in mean spacings (Aldous 2001)."""
    shrunk = np.exp(-x)
    return shrunk * (shrunk - 1 + x) / (1 - shrunk) ** 2


@cache
def mean_floor(over_n: float) -> float:
    """Return the mean of ``floor(over_n * X)`` for the length X of an edge of the real optimum."""
    x, step = np.linspace(0.0, 60.0, 600_001, retstep=True)
    middle = x[:-1] + step / 2
    return float((edge_density(middle) * np.floor(over_n * middle)).sum() * step)


@dataclass(frozen=True)
class Theory:
    """Bounds of the objective for costs that are uniform integers in [0, over_n * n), n large.

    Add an independent uniform fraction to every cost: now the costs are real and their optimum has
    the mean ``zeta(2) * over_n * n`` (Aldous 2001). The integer optimum plus n fractions of mean
    1/2 cannot be below it. Round the edges of the real optimum down: the integer optimum cannot be
    above their sum.

    Attributes
    ----------
    theory_low, theory_high : float
        The bounds of the mean.
    row_minima : float
        Mean sum of the row minima, a lower bound that arithmetic alone proves.
    deviation : float
        Standard deviation of one instance: ``sqrt((4 zeta(2) - 4 zeta(3)) / n)`` of the range
        (Wastlund 2005); if zeros abound, the deviation of the few rows and columns without one.
    """

    theory_low: float
    theory_high: float
    row_minima: float
    deviation: float


def theory(n: int, over_n: float) -> Theory:
    """Return the limits for order `n` and a cost range of `over_n` times n."""
    row_minima = n / math.expm1(1 / over_n)
    low = max(n * (ZETA_2 * over_n - 0.5), row_minima)
    deviation = over_n * math.sqrt(4 * (ZETA_2 - ZETA_3) * n)
    if over_n < 0.5:
        deviation = math.sqrt(2 * n * math.exp(-1 / over_n))
    return Theory(low, n * mean_floor(over_n), row_minima, deviation)
