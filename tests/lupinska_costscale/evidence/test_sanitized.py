"""The sanitizer's program runs every kernel of the paper: its answers hold in the executor, too."""

import pytest

from papers.common.gpu import device
from papers.common.gpu.launch import Launch
from papers.lupinska_costscale.assignment.kernels import batch, lock_free, one_launch, prices, wide
from papers.lupinska_costscale.evidence import sanitized
from papers.lupinska_costscale.flow.kernels import blocking, cut, network
from papers.lupinska_costscale.flow.kernels import lock_free as flows
from papers.lupinska_costscale.flow.kernels import one_launch as tiles

MODULES = batch, lock_free, one_launch, prices, wide, blocking, cut, network, flows, tiles


@pytest.mark.nightly  # twenty seconds in the executor
def test_every_kernel_is_run(monkeypatch, only_written):
    device.select("cpu")
    run = set()

    def noted(self):
        run.add(self.name)
        return call(self)

    call = Launch.__call__
    monkeypatch.setattr(Launch, "__call__", noted)
    assert sanitized.assignments(4) == 15
    assert sanitized.flows(3) > 20
    kernels = {kernel.py_func.__name__ for module in MODULES for kernel in module.SIGNATURES}
    assert kernels <= run, kernels - run


def test_every_version_is_named():
    assert set(sanitized.FLOW_OPTIONS) == set(sanitized.SOLVERS)


def test_a_wrong_answer_is_named(monkeypatch):
    device.select("cpu")
    monkeypatch.setattr(sanitized, "FLOW_OPTIONS", {"hybrid": ({"cycle": 5},)})
    wrong = sanitized.flow_proof.Proof(False, "minimum-cut", "a unit is lost")
    monkeypatch.setattr(sanitized.flow_proof, "flow", lambda *given: wrong)
    with pytest.raises(RuntimeError, match=r"hybrid .*a unit is lost"):
        sanitized.flows(3)
