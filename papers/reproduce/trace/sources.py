"""The source lines that events name: the function around a line, and a link to its file."""

from __future__ import annotations

import ast
import os
from functools import cache
from pathlib import Path
from typing import NamedTuple

import papers
from papers.common.executor.recorder import Site

ROOT = Path(papers.__file__).resolve().parents[1]
"""The folder that holds the package: a checkout, or where packages are installed."""


class Excerpt(NamedTuple):
    """A function's text.

    Attributes
    ----------
    file : str
        Relative to `ROOT`.
    first : int
        Number of its first line.
    lines : tuple of str
        Without its docstring.
    numbers : tuple of int
        Number of each line.
    """

    file: str
    first: int
    lines: tuple[str, ...]
    numbers: tuple[int, ...]


def name_of(file: str) -> str:
    """Return a file's name as a page says it: from ``papers`` on."""
    return Path(file).resolve().relative_to(ROOT).as_posix()


def place(site: Site) -> str:
    """Return ``papers/.../search.py:267``."""
    return f"{name_of(site.file)}:{site.line}"


def link(name: str, page: Path) -> str:
    """Return the address of a source file as seen from the folder of a page."""
    return Path(os.path.relpath(ROOT / name, page.resolve().parent)).as_posix()


@cache
def _functions(file: str) -> tuple[ast.FunctionDef, ...]:
    tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    return tuple(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


@cache
def excerpt(file: str, line: int) -> Excerpt:
    """Return the innermost function around a line, or the line alone."""
    text = Path(file).read_text(encoding="utf-8").splitlines()
    around = [f for f in _functions(file) if f.lineno <= line <= (f.end_lineno or f.lineno)]
    if not around:
        return Excerpt(name_of(file), line, (text[line - 1],), (line,))
    function = max(around, key=lambda f: f.lineno)
    first, last = function.lineno, function.end_lineno or function.lineno
    numbers = [k for k in range(first, last + 1) if k not in _docstring(function)]
    return Excerpt(name_of(file), first, tuple(text[k - 1] for k in numbers), tuple(numbers))


def _docstring(function: ast.FunctionDef) -> range:
    if ast.get_docstring(function) is None:
        return range(0)
    node = function.body[0]
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)
