"""The sanitizer's program runs every kernel of the paper: its answers hold in the executor, too."""

import pytest

from papers.common.gpu import device
from papers.common.gpu.launch import Launch
from papers.deveci_matching import sanitized
from papers.deveci_matching.beyond.kernels import grafting, turning
from papers.deveci_matching.kernels import bfs, fix_matching


def test_every_kernel_is_run(monkeypatch, only_written):
    device.select("cpu")
    run, jumps, within = set(), 0, 0

    def noted(self):
        run.add(self.name)
        return call(self)

    def counted(graph, answer):
        nonlocal jumps, within
        jumps += answer.counters.get("jumps", 0)
        within += answer.counters.get("levels_within", 0)
        return proof(graph, answer)

    call, proof = Launch.__call__, sanitized.matching_proof.matching
    monkeypatch.setattr(Launch, "__call__", noted)
    monkeypatch.setattr(sanitized.matching_proof, "matching", counted)
    assert sanitized.variants(5) == 4 * 2 * 26
    assert sanitized.beyonds(5, 6) == 5 * 3 * 12 + 5 * 2
    kernels = {
        kernel.py_func.__name__
        for module in (bfs, fix_matching, grafting, turning)
        for kernel in module.SIGNATURES
    }
    assert kernels <= run, kernels - run
    assert jumps > 0
    assert within > 0


def test_a_wrong_answer_is_named(monkeypatch):
    device.select("cpu")
    wrong = sanitized.matching_proof.Proof(False, "koenig-cover", "a pair is lost")
    monkeypatch.setattr(sanitized.matching_proof, "matching", lambda *given: wrong)
    with pytest.raises(RuntimeError, match=r"apfb.*a pair is lost"):
        sanitized.variants(4)
