"""Exercise 6, a prediction: the launches of a run.

It teaches what the host loop costs, which the next paper (`kawtikwar_opts`) takes away.

Read `solver.run` and predict the launches of kernels from what a run has counted: how often steps
3, 4, 5 and 6 were done. A step 4 is a launch here, restarts included.
"""

from __future__ import annotations


def launches(step_3: int, step_4: int, step_5: int, step_6: int) -> int:
    """Return the launches of a whole run of a square matrix, as tuned."""
    raise NotImplementedError
