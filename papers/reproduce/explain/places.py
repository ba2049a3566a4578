"""Files and lines: of a kernel, of an experiment's entry, of its table and verdict functions."""

from __future__ import annotations

import ast
import functools
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

import papers
from papers.common.model import Experiment

PACKAGE = Path(papers.__file__).resolve().parent

ROLES = {"table": "table", "compare": "verdicts", "figure": "figure", "artifacts": "pictures"}
"""The callables of an experiment whose places are told, and what they make."""


class Place(NamedTuple):
    """A line of a source file.

    Attributes
    ----------
    name : str
        The function, or the module's name for it.
    file : str
        From the folder of the package on, or whole where it lies outside.
    line : int
    """

    name: str
    file: str
    line: int

    def __str__(self) -> str:
        """Return ``papers/.../search.py:267``."""
        return f"{self.file}:{self.line}"


def shown(path: Path) -> str:
    """Return a source file's name from ``papers`` on; whole where it is not the package's."""
    full = path.resolve()
    return str(full.relative_to(PACKAGE.parent) if full.is_relative_to(PACKAGE) else full)


@functools.cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def of_code(code: CodeType) -> Place:
    """Return the line of a function's ``def``; decorators stand above it."""
    path, line = Path(code.co_filename), code.co_firstlineno
    if path.is_file():
        for node in ast.walk(_tree(path)):
            if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
                first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
                if first <= line <= node.lineno:
                    return Place(code.co_name, shown(path), node.lineno)
    return Place(code.co_name, shown(path), line)


def code_behind(call: Any) -> CodeType | None:
    """Return the code behind a callable, through partials, methods, objects and decorators."""
    while call is not None:
        if isinstance(call, functools.partial):
            call = call.func
        elif inspect.ismethod(call):
            call = call.__func__
        elif hasattr(call, "__wrapped__") or hasattr(call, "py_func"):
            call = getattr(call, "__wrapped__", None) or call.py_func
        elif not hasattr(call, "__code__"):
            call = vars(type(call)).get("__call__")
        else:
            return call.__code__
    return None


def of_experiment(module: str, entry: Experiment) -> Iterator[tuple[str, Place]]:
    """Yield the places that make an experiment: its entry, its table, its verdicts, its pictures.

    A callable that a helper of `papers.common` has made is told where the paper names it.

    Parameters
    ----------
    module : str
        The paper's package, which is loaded.
    entry : Experiment
    """
    declared = _declared(module, entry.name)
    if declared is not None:
        yield "entry", declared
    for attribute, words in ROLES.items():
        found = _of_call(module, getattr(entry, attribute))
        if found is not None:
            yield words, found


def _of_call(module: str, call: Any) -> Place | None:
    code = code_behind(call)
    if code is None:
        return None
    place = of_code(code)
    home = Path(sys.modules[module].__file__ or "").resolve().parent
    if Path(code.co_filename).resolve().is_relative_to(home):
        return place
    return _named(module, call) or place


def _named(module: str, call: Any) -> Place | None:
    """Return the assignment of a paper's module that gives a callable its name, if there is one."""
    for name, loaded in list(sys.modules.items()):
        if not name.startswith(f"{module}.") or not getattr(loaded, "__file__", None):
            continue
        names = [key for key, value in vars(loaded).items() if value is call]
        for node in _tree(Path(str(loaded.__file__))).body if names else ():
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", 0)]
            told = [t.id for t in targets if isinstance(t, ast.Name) and t.id in names]
            if told:
                return Place(told[0], shown(Path(str(loaded.__file__))), node.lineno)
    return None


def _declared(module: str, name: str) -> Place | None:
    """Return the call in a paper's modules whose first argument, or ``name=``, is this name."""
    folder = Path(sys.modules[module].__file__ or "").resolve().parent
    for path in sorted({*folder.glob("evidence/**/*.py"), *folder.glob("*.py")}):
        for node in ast.walk(_tree(path)):
            if isinstance(node, ast.Call) and name in _names_given(node):
                return Place(name, shown(path), node.lineno)
    return None


def _names_given(call: ast.Call) -> set[Any]:
    """Return the name that a call gives to an experiment."""
    word = call.func.attr if isinstance(call.func, ast.Attribute) else ast.unparse(call.func)
    if word.lower() != "experiment":
        return set()
    given = [*call.args[:1], *(k.value for k in call.keywords if k.arg == "name")]
    return {one.value for one in given if isinstance(one, ast.Constant)}
