"""The proof of all answers of one clock."""

from __future__ import annotations

from typing import Any

from papers.common.model import Instance, Proof, Solver
from papers.common.problems import kinds
from papers.reproduce.measure.clockwork import Clockwork
from papers.reproduce.measure.outcome import Answer, same_cost


class Prover:
    """Has the answers of one clock proved, and keeps the first proof that fails."""

    def __init__(
        self, clockwork: Clockwork, solver: Solver, instance: Instance, data: Any, maximize: bool
    ) -> None:
        self._prove = lambda answer: clockwork.prove(solver, instance, data, answer, maximize)
        self._each = kinds.stated_by(data).each_is_proved(data)
        self._values: list[Any] = []
        self._last: Answer | None = None
        self._proof: Proof | None = None

    def hear(self, answer: Answer) -> None:
        """Take one repetition's answer."""
        self._values.append(kinds.objective(answer)[1])
        self._last = answer
        if self._each and (self._proof is None or self._proof.ok):
            self._proof = self._prove(answer)

    def conclude(self) -> Proof:
        """Return the proof of all answers heard."""
        if self._last is None:
            return Proof(False, "none", "no answer")
        if not self._each:
            self._proof = self._prove(self._last)
        assert self._proof is not None
        if not self._proof.ok:
            return self._proof
        name, proved = kinds.objective(self._last)
        for repeat, value in enumerate(self._values):
            if not same_cost(value, proved):
                what = f"repeat {repeat} has {name} {value}, the certified answer {proved}"
                return Proof(False, "none", what)
        return self._proof
