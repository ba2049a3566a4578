"""Runs every kernel of the synthesis on one GPU once, small, for NVIDIA's compute-sanitizer.

::

    compute-sanitizer --tool memcheck python -m papers.synthesis.evidence.sanitized
    compute-sanitizer --tool synccheck python -m papers.synthesis.evidence.sanitized
    compute-sanitizer --tool racecheck python -m papers.synthesis.evidence.sanitized
    compute-sanitizer --tool initcheck python -m papers.synthesis.evidence.sanitized

Every answer is proved. The logs are kept in `papers/synthesis/results/sanitizer/`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np

from papers.common.gpu import device
from papers.common.problems import assignment_proof
from papers.synthesis.assignment import pairs, solver
from papers.synthesis.assignment.resident import adopt
from papers.synthesis.assignment.settings import CLUSTERED
from papers.synthesis.batch import solver as batch
from papers.synthesis.batch.resident import DeviceStack
from papers.synthesis.calls import answers, expansion

SIDES, BATCHES = (20, 70, 130), (12, 40, 100, 270)
"""Sides of matrices, of which the first is one block's; and of batches, for each of its kernels."""


CUTTERS = ("gpu_relabel", "push_relabel")
"""The solver of cuts on the GPU, and one on a CPU."""


def matrices(sides: Sequence[int] = SIDES) -> Iterator[np.ndarray]:
    """Matrices that take all ways: one block and a grid, all types, sorting, scales, rectangles."""
    g = np.random.default_rng(5)
    for n in sides:
        yield g.integers(0, 10 * n, (n, n))
        yield g.normal(size=(n, n))
        yield np.outer(np.arange(n), np.arange(n))  # sorted
        yield np.outer(np.arange(n), np.arange(n)) + g.integers(0, 3, (n, n))  # scaled
    most = max(sides)
    yield g.integers(0, 2**50, (most, most))
    yield g.integers(0, 9, (most // 2, most))
    yield np.where(g.random((most, most)) < 0.3, np.inf, g.random((most, most)))


def assignments(sides: Sequence[int] = SIDES) -> int:
    """Solve all matrices, those of an even number to be maximized; the number of answers."""
    done = 0
    for done, cost in enumerate(matrices(sides), 1):
        maximize = done % 2 == 0 and bool(np.isfinite(cost).all())
        _proved(cost, solver.solve(cost, maximize), maximize)
    return done


def on_device(n: int = SIDES[-1]) -> int:
    """Solve costs in device memory: those that are read as they lie, and those that are moved."""
    cost = np.random.default_rng(6).integers(0, 10 * n, (n, n))
    kinds: tuple[Any, ...] = (np.int32, np.int64, np.float32, np.float64)
    given = [cost.astype(kind) for kind in kinds] + [cost.astype(np.int64) << 30]
    for costs in given:
        for maximize in (False, True):  # which no kernel reads as they lie
            answer = solver.solve(adopt(device.to_device(costs)), maximize)
            _proved(costs, answer, maximize)
    return 2 * len(given)


def delivered(sides: Sequence[int] = (SIDES[0], SIDES[-1])) -> int:
    """Ask for the pairs alone, which a launch of their own delivers to the host or stays there."""
    g, done = np.random.default_rng(11), 0
    for n in sides:
        cost = g.integers(0, 10 * n, (n, n), dtype=np.int32)
        best = solver.solve(cost).cost
        for given in (cost, adopt(device.to_device(cost))):
            for room in (None, answers.room_for):
                _, columns, _ = pairs.solve(given, room)
                chosen = cost[np.arange(n), np.asarray(device.to_host(columns))].sum()
                if chosen != best:
                    raise RuntimeError(f"{n} x {n}: pairs of {chosen}, the least is {best}")
                done += 1
    return done


def in_turns(n: int = 270) -> int:
    """Solve with so few blocks that displaced rows of the opening auction wait their turn."""
    g = np.random.default_rng(8)
    few = dataclasses.replace(solver.default_settings(n, n), blocks=2)
    costs = (g.integers(0, n, (n, n)), g.integers(0, 10 * n, (n, n)), g.normal(size=(n, n)))
    for cost in costs:
        _proved(cost, solver.solve(cost, settings=few), False)
    return len(costs)


def by_marks(n: int = 150) -> int:
    """Solve by marks of near pairs: of one tile a block, where bids go by them, and of several."""
    g, few = np.random.default_rng(10), dataclasses.replace(solver.default_settings(n, n), tile=32)
    costs = (g.integers(0, 10 * n, (n, n)), g.integers(0, 2**50, (n, n)), g.normal(size=(n, n)))
    for cost in costs:
        for blocks in (2, -(-n // 32)):
            marked = dataclasses.replace(few, near=6, near_least=0, blocks=blocks, start_rounds=2)
            _proved(cost, solver.solve(cost, settings=marked), False)
    return 2 * len(costs)


def expansions(side: int = 12, labels: int = 3) -> int:
    """Expand labels on a grid, residuals kept between moves; a CPU's energy is the proof."""
    g = np.random.default_rng(9)
    points = np.arange(labels)
    unary, metric = g.integers(0, 30, (side, side, labels)), np.abs(points[:, None] - points)
    neighbours: tuple[Literal[4, 8], ...] = (4, 8)
    scales = (1, 2**31)  # capacities of 32 bits, and of 64
    for connectivity in neighbours:
        for scale in scales:
            energies = {
                name: expansion.alpha_expansion(
                    unary * scale, 6 * scale, metric, connectivity=connectivity,
                    solver=f"lupinska_costscale:{name}",
                ).energy
                for name in CUTTERS
            }  # fmt: skip
            if len(set(energies.values())) > 1:
                raise RuntimeError(f"{connectivity} neighbours: energies {energies}")
    return len(neighbours) * len(scales)


def in_strips(sides: tuple[int, int] = (650, 700)) -> int:
    """Solve what a cluster keeps in narrow strips, what does not fit these, and what none hold.

    Then three sizes by turns whose strips take more, less, and again more of a block's memory, and
    costs in no strip that are noted as they are read, too large ones among them.
    """
    g = np.random.default_rng(12)
    costs: list[np.ndarray] = [
        g.integers(0, 9_000, sides, dtype=np.int32), g.integers(0, 10**7, sides, dtype=np.int32),
        g.normal(size=sides),
    ]  # fmt: skip
    costs += [g.normal(size=(n, n)) for n in (300, 200, 300)]
    side = CLUSTERED + 50
    costs += [g.integers(0, most, (side, side), dtype=np.int32) for most in (10 * side, 2**29)]
    for cost in costs:
        _proved(cost, solver.solve(cost), False)
    return len(costs)


def batches(sides: Sequence[int] = BATCHES, problems: int = 5) -> int:
    """Solve a batch of each size and type, and a list of unequal ones; the number of answers."""
    g, done = np.random.default_rng(7), 0
    for n in sides:
        whole = g.integers(0, 9 * n, (problems, n, n))
        wide = g.integers(0, 2**40, whole.shape)
        for costs in (whole, wide, g.normal(size=whole.shape), [*whole, whole[0, : n // 2]]):
            answers: Any = batch.solve(costs)
            for cost, answer in zip(costs, answers, strict=True):
                _proved(cost, answer, False)
                done += 1
    return done


def stacks_on_device(n: int = BATCHES[0], problems: int = 5) -> int:
    """Solve batches that lie in device memory; the number of answers."""
    g, done = np.random.default_rng(12), 0
    whole = g.integers(0, 9 * n, (problems, n, n))
    kinds: tuple[Any, ...] = (np.int32, np.int64, np.float32, np.float64)
    for kind in kinds:
        costs = whole.astype(kind)
        answers: Any = batch.solve(DeviceStack(device.to_device(costs)))
        for cost, answer in zip(costs, answers, strict=True):
            _proved(cost, answer, False)
            done += 1
    return done


def _proved(cost: np.ndarray, answer: Any, maximize: bool) -> None:
    proof = assignment_proof.assignment(cost, answer, maximize)
    if not proof.ok:
        raise RuntimeError(f"{cost.dtype} {cost.shape}: {proof.reason}")


def main() -> None:
    """Solve small problems by every kernel."""
    device.select("gpu")
    done = assignments() + on_device() + delivered() + in_turns() + by_marks()
    done += in_strips()
    done += batches() + stacks_on_device() + expansions()
    print(f"{done} answers, every one proved")


if __name__ == "__main__":
    main()
