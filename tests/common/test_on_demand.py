"""Solvers that are imported when they are asked for are those that their modules have."""

import importlib
import subprocess
import sys

import pytest

import papers
from papers.common.on_demand import OnDemand, solvers_of

BY_PARTS = ("lupinska_costscale", "deveci_matching")


@pytest.mark.parametrize("name", BY_PARTS)
def test_a_paper_lists_all_solvers_of_the_modules_that_it_names(name):
    solvers = importlib.import_module(f"papers.{name}.solvers").SOLVERS
    by_module = {}
    for solver, loader in solvers._loaders.items():
        by_module.setdefault(loader.args[0], []).append(solver)
    for module, listed in by_module.items():
        there = importlib.import_module(module).SOLVERS
        assert listed == list(there)
        assert all(solvers[each] is there[each] for each in listed)


def test_a_mapping_loads_nothing_before_it_is_asked_and_has_no_others():
    asked = []
    solvers = OnDemand({"a": lambda: asked.append("a") or "solver"})
    assert (list(solvers), len(solvers), "a" in solvers, asked) == (["a"], 1, True, [])
    assert solvers["a"] == "solver"
    with pytest.raises(KeyError):
        solvers["b"]


def test_a_name_that_its_module_does_not_have_is_no_solver():
    solvers = OnDemand(solvers_of("papers.deveci_matching.beyond.solver", "beyond", "behind"))
    assert solvers["beyond"].name == "beyond"
    with pytest.raises(KeyError, match="behind"):
        solvers["behind"]


LISTED = """
import sys
from papers.{paper}.solvers import SOLVERS
assert len(SOLVERS) > 3
assert "numba" not in sys.modules
SOLVERS["{solver}"]
loaded = [name for name in sys.modules if "{elsewhere}" in name]
assert not loaded, loaded
"""


@pytest.mark.parametrize(
    ("paper", "solver", "elsewhere"),
    [
        ("lupinska_costscale", "gpu_relabel", "lupinska_costscale.assignment"),
        ("deveci_matching", "beyond", "deveci_matching.baselines.solvers"),
    ],
)
def test_a_paper_lists_its_solvers_without_numba_and_loads_one_alone(paper, solver, elsewhere):
    assert paper in papers.PAPERS
    program = LISTED.format(paper=paper, solver=solver, elsewhere=elsewhere)
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
