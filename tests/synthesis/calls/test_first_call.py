"""What the first call of a process loads: on one core nothing of a GPU's."""

import subprocess
import sys

import pytest

CALLS = {
    "squares": "papers.linear_sum_assignment(draw.integers(0, 99, (100, 100)), {})",
    "squares with duals": (
        "papers.linear_sum_assignment(draw.random((120, 120)), return_duals=True, {})"
    ),
    "maximized": "papers.linear_sum_assignment(draw.random((120, 120)), True, {})",
    "graphs": "papers.maximum_bipartite_matching(csr_array(draw.random((60, 60)) < 0.1), {})",
}

PROGRAM = """
import sys
import numpy as np
import papers
from scipy.sparse import csr_array
draw = np.random.default_rng(1)
{call}
assert "numba" in sys.modules
assert "numba.cuda" not in sys.modules, "a GPU's compiler was loaded"
"""


def run_program(program, warnings="ignore"):
    command = [sys.executable, "-W", warnings, "-c", program]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def run(call):
    return run_program(PROGRAM.format(call=call), "error")


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_call_on_one_core_loads_no_compiler_of_a_gpu(call):
    """The first one would wait for it, and use nothing of it."""
    done = run(call.format("device='cpu'"))
    assert done.returncode == 0, done.stderr


def test_the_test_above_notices_one():
    done = run("import numba.cuda\n" + CALLS["squares"].format("device='cpu'"))
    assert "a GPU's compiler was loaded" in done.stderr


LOOKED_UP = """
import sys
import papers
papers.{call}
loaded = [name for name in {needless} if name in sys.modules]
assert not loaded, loaded
"""
"""A call's module alone: the driver can start only when its question is asked, and Numba's import
is what it starts beside."""

NEEDLESS = {
    "linear_sum_assignment": ("numba", "scipy"),
    "maximum_bipartite_matching": ("numba",),
    "maximum_flow": ("numba", "scipy"),
    "grid_cut": ("numba", "scipy"),
    "alpha_expansion": ("numba", "scipy"),
}


@pytest.mark.parametrize(("call", "needless"), NEEDLESS.items(), ids=NEEDLESS)
def test_looking_a_call_up_loads_nothing_that_takes_long(call, needless):
    program = LOOKED_UP.format(call=call, needless=needless)
    done = run_program(program)
    assert done.returncode == 0, done.stderr
    planted = program.replace("import papers\n", "import numba, papers\n")
    done = run_program(planted)
    assert "numba" in done.stderr


CUT = """
import sys
import numpy as np
import papers
from papers.common.gpu import device
device.select("cpu")
draw = np.random.default_rng(1)
source, sink, arcs = draw.integers(0, 9, (3, 9, 12))
mask = papers.grid_cut(source, sink, arcs, solver="lupinska_costscale:gpu_relabel").mask
assert mask.shape == (9, 12)
needless = "scipy.sparse", "papers.synthesis.calls.cuts.loops"
loaded = [name for name in needless if name in sys.modules]
assert not loaded, loaded
"""


def test_the_first_cut_on_a_gpu_waits_for_no_compiled_loop_and_no_sparse_matrices():
    done = run_program(CUT)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "call",
    [
        "papers.grid_cut(draw, draw, 1, device='cpu')",
        "papers.grid_cut(draw, draw, 1, solver='lupinska_costscale:gpu_relabel')",
        "papers.linear_sum_assignment(draw, solver='synthesis:one_core')",
    ],
)
def test_a_package_that_cannot_be_imported_is_no_wrong_name_of_a_solver(call):
    program = f"""
import sys
sys.modules["numba"] = None
import numpy as np
import papers
draw = np.ones((6, 6), np.int32)
{call}
"""
    done = run_program(program)
    assert done.stderr.strip().endswith("import of numba halted; None in sys.modules")
