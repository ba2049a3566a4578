"""What the sanitizer runs: every kernel, every answer proved, in the executor."""

import pytest

from papers.common.gpu import device
from papers.synthesis.evidence import sanitized


@pytest.fixture(autouse=True)
def _in_the_executor():
    device.select("cpu")


def test_all_ways_are_taken_and_proved():
    assert sanitized.assignments((5, 9)) == 9
    assert sanitized.on_device(6) == 4
    assert sanitized.in_turns(8) == 3
    assert sanitized.by_marks(40) == 6
    assert sanitized.batches((4, 6), problems=2) == 2 * (2 + 2 + 3)
    assert sanitized.expansions(4, 2) == 2


def test_an_answer_that_is_not_proved_ends_the_run(monkeypatch):
    wrong = sanitized.assignment_proof.Proof(False, "lp-duals", "a pair is too dear")
    monkeypatch.setattr(sanitized.assignment_proof, "assignment", lambda *given: wrong)
    with pytest.raises(RuntimeError, match="a pair is too dear"):
        sanitized.assignments((5,))
