"""What the sanitizer runs: every kernel, every answer proved, in the executor."""

import csv
import inspect
import re
from pathlib import Path

import pytest

import papers
from papers.common.gpu import device
from papers.synthesis.assignment.kernels import rounds, search
from papers.synthesis.evidence import sanitized

LOGS = Path(papers.__file__).parent / "synthesis/results/sanitizer"
KERNELS = {"rounds": rounds, "search": search}


@pytest.fixture(autouse=True)
def _in_the_executor():
    device.select("cpu")


def test_all_ways_are_taken_and_proved():
    assert sanitized.assignments((5, 9)) == 9
    assert sanitized.on_device(6) == 4
    assert sanitized.delivered((5, 7)) == 8
    assert sanitized.in_turns(8) == 3
    assert sanitized.by_marks(40) == 6
    assert sanitized.batches((4, 6), problems=2) == 2 * (2 + 2 + 3)
    assert sanitized.expansions(4, 2) == 2


def test_an_answer_that_is_not_proved_ends_the_run(monkeypatch):
    wrong = sanitized.assignment_proof.Proof(False, "lp-duals", "a pair is too dear")
    monkeypatch.setattr(sanitized.assignment_proof, "assignment", lambda *given: wrong)
    with pytest.raises(RuntimeError, match="a pair is too dear"):
        sanitized.assignments((5,))


def test_every_race_of_the_log_is_told(tmp_path):
    """Each pair of accesses that racecheck names stands in the table, and no other does."""
    pair = re.compile(
        r"Race reported between (\w+) access at .*?::(each_\w+)::.*?\+(0x[0-9a-f]+)\n"
        r"=+ +and (\w+) access at .*?::(each_\w+)::.*?\+(0x[0-9a-f]+) \["
    )
    log = (LOGS / "racecheck.log").read_text()
    named = pair.findall(log)
    assert len(named) == log.count("Race reported") == 9
    with (LOGS / "racecheck_pairs.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    places = ("first", "kernel", "first_at", "second", "kernel", "second_at")
    assert {tuple(line[name] for name in places) for line in lines} == set(named)
    for line in lines:
        module, function = line["function"].split(".")
        found = getattr(KERNELS[module], function)
        code = inspect.getsource(getattr(found, "py_func", found))
        if module == "rounds":
            assert line["what_is_read"] in code
            assert line["what_is_written"] in code
        assert code.count("Race:") == 1
