"""A paper is added by the recipe of CONTRIBUTING.md: a copied folder and one line elsewhere."""

import filecmp
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from test_architecture import RULES

from papers._template import reference
from papers._template.solvers import SOLVERS
from papers.common.gpu import device

ROOT = Path(__file__).parents[1]
NAME = "hopcroft1973"
COMMANDS = """
import contextlib, io, sys
from pathlib import Path
from papers.reproduce import cli

def give(*words):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            cli.main(list(words))
        except SystemExit as end:
            assert not end.code, (words, end.code, out.getvalue())
    return out.getvalue()

name = sys.argv[1]
listed = give("list", name)
assert "(draft)" in listed, listed
assert f"{name}:table1" in listed and f"{name}:gpu" in listed, listed
made = give("run", name, "--preset", "smoke", "--device", "cpu", "--out", "run")
assert "2 / 0 / 0" in made, made
before = Path("run/report.md").read_bytes()
assert "## " in before.decode()
give("report", "run")
assert Path("run/report.md").read_bytes() == before
assert "takes column" in give("trace", name, "--terminal")
"""


def recipe():
    """The commands that copy the template, as CONTRIBUTING.md prints them."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (block,) = [b for b in re.findall(r"```sh\n(.*?)```", page, re.DOTALL) if "cp -r" in b]
    return block.replace(".venv/bin/", f"{Path(sys.executable).parent}/")


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """The project in a folder of its own, without recorded runs, after the recipe."""
    clone = tmp_path_factory.mktemp("clone")
    # What Numba has compiled comes along: the files keep their times.
    for folder in ("papers", "tests"):
        shutil.copytree(
            ROOT / folder, clone / folder, ignore=shutil.ignore_patterns("results", "*.png")
        )
    shutil.copy(ROOT / "pyproject.toml", clone)
    subprocess.run(["bash", "-euc", recipe()], cwd=clone, check=True)
    return clone


def python(clone, *words):
    """Run Python in the clone; return what it printed."""
    done = subprocess.run(
        [sys.executable, *words],
        cwd=clone,
        env={**os.environ, "PYTHONPATH": str(clone), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


def test_the_recipe_changes_one_line_elsewhere(clone):
    changed = []
    for path in sorted((ROOT / "papers").rglob("*.py")):
        there = clone / path.relative_to(ROOT)
        if there.exists() and not filecmp.cmp(path, there, shallow=False):
            changed.append(path.relative_to(ROOT).as_posix())
    assert changed == ["papers/__init__.py"]
    before = (ROOT / "papers/__init__.py").read_text().splitlines()
    after = (clone / "papers/__init__.py").read_text().splitlines()
    assert [line for line in after if line not in before] == [f'    "{NAME}",']
    assert len(after) == len(before) + 1
    left = [
        path.name
        for path in (clone / "papers" / NAME).rglob("*.*")
        if path.suffix in (".py", ".md", ".toml") and re.search("_template|T00", path.read_text())
    ]
    assert left == []


def test_list_run_and_report(clone):
    python(clone, "-c", COMMANDS, NAME)


def test_every_test_of_all_papers_takes_it_and_passes(clone):
    """Citations, compilation, the contract of its problem: whatever is asked of each paper."""
    files = sorted(path.name for path in (ROOT / "tests").glob("test_*.py"))
    files.remove(Path(__file__).name)
    words = ["-p", "no:cacheprovider", "-n", "0", "-vv", "-k", NAME]
    files.append("reproduce/test_solve.py")  # other tests of the command read recorded runs
    out = python(clone, "-m", "pytest", *words, *(f"tests/{name}" for name in files))
    for test in (
        f"test_correspondence_table_lists_the_tags_of_the_code[{NAME}] PASSED",
        f"test_every_numbered_item_is_cited[{NAME}] PASSED",
        f"test_readme_has_the_same_headings_as_all[{NAME}] PASSED",
        f"[{NAME}.kernels.search.search-float64-sm_90] PASSED",
        f"-{NAME}:gpu] PASSED",
        f"-{NAME}:cpu] PASSED",
        f"test_the_events_of_a_run_lead_to_the_solvers_answer[{NAME}-worked] PASSED",
        f"test_a_page_asks_for_nothing[{NAME}] PASSED",
        f"test_the_command_and_the_call_take_the_same_solver[{NAME}-assignment-large] PASSED",
    ):
        assert test in out, test
    # A draft has no recorded results to be compared with.
    assert f"test_results_come_from_the_recorded_runs[{NAME}]" not in out


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_house_keeps_its_shape(rule, clone):
    assert [fault for fault in rule(clone) if NAME in fault] == []


# ------------------------------------------------------------------------------- the template


def test_the_template_is_no_paper():
    import papers

    assert not {"_template", NAME} & set(papers.PAPERS)


def test_the_worked_example_of_the_template():
    cost = np.array([[8, 6, 5, 3], [3, 1, 1, 1], [2, 8, 6, 9], [5, 6, 9, 7]])
    t = reference.Tableau(cost)
    for root in range(3):
        reference.augment(t, root, *reference.search(t, root))
    assert (t.row_of_column.tolist(), t.u.tolist()) == ([2, 1, -1, 0], [3, 1, 2, 0])
    end, before = reference.search(t, 3)
    assert (end, before.tolist()) == (2, [-1, -1, 1, 1])
    reference.augment(t, 3, end, before)
    assert t.row_of_column.tolist() == [2, 3, 1, 0]
    assert (t.u.tolist(), t.v.tolist()) == ([3, 1, 3, 6], [-1, 0, 0, 0])


@pytest.mark.parametrize("name", SOLVERS)
def test_the_template_s_solvers_are_its_reference(name):
    device.select("cpu")
    draw = np.random.default_rng(6)
    for n in (1, 2, 7, 19):
        cost = draw.integers(0, n + 1, (n, n))
        state = SOLVERS[name].upload(cost)
        SOLVERS[name].run(state)
        answer = SOLVERS[name].download(state)
        ours = reference.solve(cost)
        assert ours.cost[ours.row_of_column, np.arange(n)].sum() == answer.cost
        assert cost[linear_sum_assignment(cost)].sum() == answer.cost
        assert answer.counters["stages"] == n
