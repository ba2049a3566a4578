"""The outcome of a cell: its status, its proof, and rows of (clock, repetition, metric, value)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from papers.common.model import Assignment, Flow, Matching
from papers.common.problems.kinds import objective

Answer: TypeAlias = Assignment | Matching | Flow
Value = tuple[str, int, str, Any]
"""Clock, repetition, metric, value."""


@dataclass(frozen=True)
class Outcome:
    """The end of a cell: its status, the proof of its answers, and the measured values.

    Attributes
    ----------
    status : str
        ``ok``, ``not-certified``, ``skipped``, ``failed``, ``timeout`` or ``out-of-memory``.
    certificate : str
        The kind of the proof, or ``"none"``.
    reason : str
        One sentence: the proof, or why there is none.
    values : tuple of Value
    device : str
        The name of the GPU or the CPU, or ``"CPU executor"``.
    identity : mapping of str to int or str
        The size and the checksum of the data that were measured, where they do not follow from the
        instance's name: see `papers.common.instances.drawing.identify`.
    """

    status: str
    certificate: str
    reason: str
    values: tuple[Value, ...] = ()
    device: str = ""
    identity: Mapping[str, int | str] = field(default_factory=dict)


def failure(error: BaseException) -> Outcome:
    """Return the outcome of an exception: its type and message are the reason."""
    text = " ".join(str(error).split()) or "no message"
    reason = f"{type(error).__name__}: {text}"
    memory = isinstance(error, MemoryError) or "OUT_OF_MEMORY" in reason.upper().replace(" ", "_")
    return Outcome("out-of-memory" if memory else "failed", "none", reason)


def same_cost(first: Any, second: Any) -> bool:
    """Whether two costs are equal: exactly for integers, within a relative 1e-9 for floats."""
    if isinstance(first, (int, np.integer)) and isinstance(second, (int, np.integer)):
        return int(first) == int(second)
    return bool(np.isclose(float(first), float(second), rtol=1e-9, atol=0.0))


def answer_rows(answers: Sequence[Answer]) -> list[Value]:
    """Return the optimum and the counters of the answers of one clock.

    A value that is equal in all repetitions is stored once: its median and quartiles are the same.
    """
    facts: list[dict[str, Any]] = [dict([objective(a)]) | dict(a.counters) for a in answers]
    metrics = dict.fromkeys(metric for fact in facts for metric in fact)
    differing = {m for m in metrics if any(fact.get(m) != facts[0].get(m) for fact in facts)}
    return [
        ("answer", repeat, metric, value)
        for repeat, fact in enumerate(facts)
        for metric, value in fact.items()
        if repeat == 0 or metric in differing
    ]
