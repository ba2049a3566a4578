"""The sanitizer's program for several ranks: every way that is here is run and proved, on one."""

import pytest

from papers.common.gpu import device
from papers.common.mpi import ranks
from papers.datenagi2016 import sanitized_ranks as sanitized


def test_every_way_is_run_and_each_is_counted(monkeypatch, capsys, only_written):
    device.select("cpu")
    monkeypatch.setattr(ranks, "world", ranks.alone)
    asked, solve = [], sanitized.solver.solve

    def noted(cost, **options):
        asked.append((options["variant"], options.get("exchange", ""), options["dtype"]))
        return solve(cost, **options)

    monkeypatch.setattr(sanitized.solver, "solve", noted)
    sanitized.main(4)
    told = capsys.readouterr().out.splitlines()
    missing = sum(line.startswith("not here: ") for line in told)
    assert told[-1] == f"{len(asked) - missing} runs on 1 ranks, every answer proved"
    assert {way for _, way, _ in asked} == {*sanitized.WAYS, ""}
    assert len(set(asked)) == len(asked) == 3 * (len(sanitized.WAYS) + 1)


def test_a_wrong_answer_is_named(monkeypatch):
    device.select("cpu")
    monkeypatch.setattr(ranks, "world", ranks.alone)
    wrong = sanitized.assignment_proof.Proof(False, "lp-duals", "a pair is loose")
    monkeypatch.setattr(sanitized.assignment_proof, "assignment", lambda *given: wrong)
    with pytest.raises(RuntimeError, match=r"tree.*a pair is loose"):
        sanitized.main(3)
