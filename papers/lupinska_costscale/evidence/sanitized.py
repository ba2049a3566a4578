"""Runs every kernel of [LU11] once, small, for NVIDIA's compute-sanitizer.

::

    compute-sanitizer --tool memcheck python -m papers.lupinska_costscale.evidence.sanitized
    compute-sanitizer --tool synccheck python -m papers.lupinska_costscale.evidence.sanitized
    compute-sanitizer --tool initcheck python -m papers.lupinska_costscale.evidence.sanitized

racecheck looks at shared memory alone; the lock-free kernels race in global memory, on purpose.
The problems are small so that all three end: with twice the side memcheck takes over three minutes.
Every answer is proved. The logs are kept in `papers/lupinska_costscale/results/sanitizer/`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from papers.common.gpu import device
from papers.common.instances.matrices import uniform
from papers.common.problems import assignment_proof, flow_proof, kinds
from papers.common.problems.network import EIGHT, FOUR, Grid, Network, grid, inner, network
from papers.lupinska_costscale import solve_batch
from papers.lupinska_costscale.assignment import solver
from papers.lupinska_costscale.assignment.configuration import CONFIGURATIONS
from papers.lupinska_costscale.flow.solver import SOLVERS

FLOW_OPTIONS: dict[str, tuple[dict[str, Any], ...]] = {
    "lock_free": ({"cycle": 50},),
    "hybrid": ({"cycle": 50},),
    "blocking": ({}, {"redraw_every": 0}, {"pull": True}, {"m": 4}, {"tile": "32x16"}),
    "async_relabel": ({"cycle": 50},),
    "gpu_relabel": ({}, {"answer": "cut"}),
}
"""By solver: the options that it is run with."""


def main() -> None:
    """Solve small problems in every configuration, and flows by every version."""
    device.select("gpu")
    done = 0
    for part in (assignments, flows):
        done += part()
        print(f"{part.__name__}: {done} runs so far, every answer proved", flush=True)
    print(f"{done} runs, every answer proved")


def assignments(n: int = 10) -> int:
    """Solve assignments; return how many runs there were."""
    cost, done = uniform(n, 1, cost_range=100), 0
    for name in CONFIGURATIONS:
        done += _assigned(cost, solver.solve(cost, configuration=name, cycle=50))
    done += _assigned(cost, solver.solve(cost, loop="device"))
    for dtype in ("int32", "int64", "float64"):
        batch = np.stack([cost, cost.T]).astype(dtype)
        answers: Any = solve_batch(batch, dtype=dtype)
        done += sum(_assigned(one, answer) for one, answer in zip(batch, answers, strict=True))
    return done


def flows(side: int = 10) -> int:
    """Find maximum flows; return how many runs there were."""
    done = 0
    for scale in (1, 2**32):  # 32-bit and 64-bit residual capacities
        for instance in _grids(side, scale):
            done += _flows_of(instance, FLOW_OPTIONS)
        others = {name: several for name, several in FLOW_OPTIONS.items() if name != "blocking"}
        done += _flows_of(_network(8 * side, scale), others)
    return done


def _flows_of(instance: Any, wanted: dict[str, tuple[dict[str, Any], ...]]) -> int:
    return sum(
        _flowed(instance, name, options) for name, several in wanted.items() for options in several
    )


def _grids(side: int, scale: int) -> list[Grid]:
    draw = np.random.default_rng(2)
    made = []
    for names in (FOUR, EIGHT):
        ends = [draw.integers(0, 12, (side, side + 3)) * scale for _ in range(2)]
        arcs = {
            name: draw.integers(0, 12, ends[0].shape) * scale * inner(ends[0].shape, name)
            for name in names
        }
        made.append(grid(ends[0], ends[1], arcs))
    return made


def _network(nodes: int, scale: int) -> Network:
    draw = np.random.default_rng(3)
    tail, head, capacity = (draw.integers(0, most, 4 * nodes) for most in (nodes, nodes, 30))
    return network(tail, head, capacity * scale, nodes, 0, nodes - 1)


def _assigned(cost: np.ndarray, answer: Any) -> int:
    proof = assignment_proof.assignment(cost, answer)
    if not proof.ok:
        raise RuntimeError(proof.reason)
    return 1


def _flowed(instance: Any, name: str, options: dict[str, Any]) -> int:
    chosen = SOLVERS[name]
    state = chosen.upload(instance, **options)
    chosen.run(state)
    answer = kinds.answer_of(chosen, state)
    proof = flow_proof.flow(instance, answer)
    if not proof.ok:
        raise RuntimeError(f"{name} {options}: {proof.reason}")
    return 1


if __name__ == "__main__":
    main()
