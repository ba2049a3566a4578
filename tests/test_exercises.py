"""Every exercise is red as it stands, green with its solution, and red with wrong answers.

An exercise is a module; its check is a function of `test_exercises` in the same folder, which
asks that module for the answer. Here the solution takes the module's place.
"""

import ast
import importlib
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

import papers
from papers.reproduce import registry

ROOT = Path(papers.__file__).parent
NAMES = [*papers.PAPERS, "_template"]
EXERCISES = [
    (name, path.stem)
    for name in NAMES
    for path in sorted((ROOT / name / "exercises").glob("exercise_*.py"))
]


def part(paper, name):
    return importlib.import_module(f"papers.{paper}.exercises.{name}")


def check(paper, exercise, answer, monkeypatch):
    """Run the exercise's check on an answer."""
    checks = part(paper, "test_exercises")
    monkeypatch.setattr(checks, exercise, answer)
    getattr(checks, f"test_{exercise}")()


@pytest.mark.parametrize(("paper", "exercise"), EXERCISES)
def test_an_exercise_is_red_until_it_is_solved(paper, exercise, monkeypatch):
    with pytest.raises((AssertionError, NotImplementedError)):
        check(paper, exercise, part(paper, exercise), monkeypatch)


@pytest.mark.parametrize(("paper", "exercise"), EXERCISES)
def test_the_solution_makes_it_green(paper, exercise, monkeypatch):
    check(paper, exercise, part(paper, f"solutions.{exercise}"), monkeypatch)


def wrong_answers():
    for paper, exercise in EXERCISES:
        for name, answers in part(paper, f"solutions.{exercise}").WRONG.items():
            for answer in answers:
                label = answer.__name__ if hasattr(answer, "__name__") else repr(answer)
                yield pytest.param(
                    paper, exercise, name, answer, id=f"{paper}-{exercise}-{name}-{label[:40]}"
                )


@pytest.mark.parametrize(("paper", "exercise", "name", "answer"), list(wrong_answers()))
def test_an_answer_that_only_looks_right_is_refused(paper, exercise, name, answer, monkeypatch):
    solution = vars(part(paper, f"solutions.{exercise}"))
    assert name in solution
    with pytest.raises(AssertionError):
        check(paper, exercise, SimpleNamespace(**{**solution, name: answer}), monkeypatch)


# ------------------------------------------------------------------------------- their shape


def answers_of(paper, name):
    """The names that an exercise, or its solution, assigns or defines."""
    tree = ast.parse((ROOT / paper / "exercises" / f"{name}.py").read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.AnnAssign):
            yield node.target.id
        elif isinstance(node, ast.FunctionDef):
            yield node.name


@pytest.mark.parametrize(("paper", "exercise"), EXERCISES)
def test_a_solution_takes_the_exercise_s_place(paper, exercise):
    asked, solved = (set(answers_of(paper, n)) for n in (exercise, f"solutions/{exercise}"))
    assert asked
    assert asked <= solved
    wrong = part(paper, f"solutions.{exercise}").WRONG
    assert wrong
    assert set(wrong) <= asked


@pytest.mark.parametrize(("paper", "exercise"), EXERCISES)
def test_an_exercise_says_what_it_teaches(paper, exercise):
    words = part(paper, exercise).__doc__
    number = exercise.removeprefix("exercise_")
    assert words.startswith(f"Exercise {number}, ")
    assert len(re.findall(r"^It teaches ", words, re.MULTILINE)) == 1
    assert part(paper, f"solutions.{exercise}").__doc__.startswith(f"Solution {number}.\n")


@pytest.mark.parametrize("paper", NAMES)
def test_the_page_lists_its_exercises_and_their_command(paper):
    page = (ROOT / paper / "README.md").read_text(encoding="utf-8").split("## Exercises")[1]
    listed = [f"exercise_{number}" for number in re.findall(r"^(\d+)\. ", page, re.MULTILINE)]
    assert listed == [exercise for name, exercise in EXERCISES if name == paper]
    complete = paper in papers.PAPERS and registry.card(paper).status == "complete"
    assert len(listed) >= (4 if complete else 1)
    assert f"python -m pytest papers/{paper}/exercises" in page
    there = {path.stem for path in (ROOT / paper / "exercises/solutions").glob("exercise_*.py")}
    assert there == set(listed)
