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


def run(call):
    program = PROGRAM.format(call=call)
    command = [sys.executable, "-W", "error", "-c", program]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_call_on_one_core_loads_no_compiler_of_a_gpu(call):
    """The first one would wait for it, and use nothing of it."""
    done = run(call.format("device='cpu'"))
    assert done.returncode == 0, done.stderr


def test_the_test_above_notices_one():
    done = run("import numba.cuda\n" + CALLS["squares"].format("device='cpu'"))
    assert "a GPU's compiler was loaded" in done.stderr
