"""What all tests share: the executor, one thread where many would spin, and a division of the work.

Tests that need the same compiled code or the same session's fixture run on one worker (pytest-xdist
with ``--dist loadgroup``), so that neither is made twice.
"""

import os
from pathlib import Path

# Workers share the cores: a thread that waits must sleep. Read when Numba and BLAS are loaded.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest

from papers.common.gpu import device

HERE = Path(__file__).parent

HANDFUL = 12
"""Tests of a file that are dealt out together, if nothing else binds them."""


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the groups
def pytest_collection_modifyitems(items):
    """Give every test a group, unless it has one: see the module."""
    for place, item in enumerate(items):
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(group_of(item, place)))


def group_of(item, place):
    """The group of a test: the code it compiles, the fixtures it shares, or its neighbours."""
    path = Path(item.path).relative_to(HERE)
    if path.name == "test_baselines.py":
        path = path.with_name("baselines") / path.name
    if "baselines" in path.parts:
        return "/".join(path.parts[: path.parts.index("baselines") + 1])
    if path.parts[:2] in (("reproduce", "run"), ("reproduce", "report")):
        return "the toy paper's runs"  # fixtures of the session
    if path.parts[0] in ("common", "reproduce"):
        return path.as_posix()
    return f"{path.as_posix()}:{place // HANDFUL}"


@pytest.fixture(autouse=True)
def _on_the_executor():
    """Kernels run in the executor, on machines with a GPU too; a test may select otherwise."""
    device.select("cpu")
