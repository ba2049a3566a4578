"""When a slack counts as a zero: the report's ``near_zero`` [K21 Listing 1].

A double that should be zero after hundreds of additions and subtractions may miss it by a few
roundings, so the released code asks for ``|x| < eps``. Integers are exact: with ``eps`` 1 the
same test is ``x == 0``.

**How large eps may be.** An assigned pair then has a slack below eps, so the answer costs at most
``n eps`` more than the optimum. Two bounds keep that out of sight of the certificate
(`papers.common.problems.assignment_proof`, 1e-10 of the assigned costs' sizes) and of the costs
themselves:

* ``n eps`` at most 2**-36 of the sum of the least sizes of each line of the shorter side, which no
  assignment undercuts: a seventh of the certificate's tolerance. Costs with a few huge entries do
  not widen it, and neither do signs.
* eps at most 2**-46 of the range: 64 units in the last place of the largest slack, of which every
  dual update loses at most half a unit. An offset common to all costs does not widen it.
"""

from __future__ import annotations

import numpy as np
from numba import cuda

from papers.common.problems.assignment import Problem

SHARE_OF_OPTIMUM = 2.0**-36
SHARE_OF_RANGE = 2.0**-46


@cuda.jit(device=True)
def near_zero(x, eps):
    """Whether a slack counts as a zero: ``|x| < eps``."""
    return abs(x) < eps


def threshold(problem: Problem) -> np.generic:
    """``eps`` for a problem, in its working type: 1 for integers, see above for doubles.

    Never 0: a slack that is exactly zero always passes. If eps is the smallest denormal, its least
    value, nothing else does.
    """
    kind = problem.matrix.dtype
    if kind.kind != "f":
        return kind.type(1)
    finite = np.isfinite(problem.cost)
    spread = float(np.ptp(problem.cost[finite]))
    sizes = np.where(finite, np.abs(problem.cost), np.inf)
    rows, columns = problem.cost.shape
    bound = float(sizes.min(axis=1 if rows <= columns else 0).sum())
    eps = min(SHARE_OF_RANGE * spread, SHARE_OF_OPTIMUM * bound / problem.size)
    return kind.type(max(eps, np.finfo(kind).smallest_subnormal))
