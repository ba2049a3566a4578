"""Every kernel of every paper compiles for the cards we name, without a GPU."""

import importlib
import pkgutil
import re

import pytest

import papers

cuda = pytest.importorskip("numba.cuda")


def kernel_modules():
    for paper in papers.PAPERS:
        package = importlib.import_module(f"papers.{paper}")
        for module in pkgutil.iter_modules(package.__path__):
            if module.name.startswith("kernels"):
                yield importlib.import_module(f"papers.{paper}.{module.name}")


def cases():
    for module in kernel_modules():
        for kernel, signature in module.SIGNATURES.items():
            kinds = module.SLACK_TYPES if re.search(r"\bT\b", signature) else ("int32",)
            for kind in kinds:
                name = f"{module.__name__.removeprefix('papers.')}.{kernel.py_func.__name__}-{kind}"
                yield pytest.param(kernel, re.sub(r"\bT\b", kind, signature), kind, id=name)


def dispatchers_of(module):
    """Every kernel defined in a module: a Dispatcher that is no device function."""
    kind = type(next(iter(module.SIGNATURES)))
    return {
        value
        for value in vars(module).values()
        if isinstance(value, kind)
        and value.py_func.__module__ == module.__name__
        and not value.targetoptions.get("device")
    }


@pytest.fixture
def _no_gpu_needed(monkeypatch):
    """The compiler asks the driver one thing, the compute capability: answer for it."""
    import numba.cuda.dispatcher as dispatcher

    class Card:
        compute_capability = (9, 0)

    monkeypatch.setattr(dispatcher, "get_current_device", lambda: Card)


@pytest.mark.usefixtures("_no_gpu_needed")
@pytest.mark.parametrize("capability", [(8, 0), (9, 0)], ids=["sm_80", "sm_90"])
@pytest.mark.parametrize(("kernel", "signature", "kind"), list(cases()))
def test_kernel_compiles(kernel, signature, kind, capability):
    ptx, _ = cuda.compile(kernel.py_func, signature, device=False, abi="numba", cc=capability)
    assert f".target sm_{capability[0]}{capability[1]}" in ptx
    assert kernel.py_func.__name__ in ptx
    if kind != "float64":
        assert ".f64" not in ptx, "floating point slipped into an integer kernel"


@pytest.mark.parametrize("module", list(kernel_modules()), ids=lambda module: module.__name__)
def test_every_kernel_has_a_signature(module):
    assert dispatchers_of(module) == set(module.SIGNATURES)


@pytest.mark.usefixtures("_no_gpu_needed")
def test_relaxed_loads_stay_in_loops():
    """The loads that step 4 spins on are emitted as such, and once per turn."""
    from papers.lopes2019 import kernels

    ptx, _ = cuda.compile(
        kernels.step_4.py_func, kernels.SIGNATURES[kernels.step_4], device=False, abi="numba",
        cc=(9, 0),
    )  # fmt: skip
    assert ptx.count("ld.relaxed.gpu.global.b32") >= 3
    assert "fence.sc.gpu" in ptx or "membar.gl" in ptx
    assert "st.release.sys.global.b64" in ptx
