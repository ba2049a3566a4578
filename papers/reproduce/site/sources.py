"""The code and the pages of the papers, copied into the site so that its links need no network."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt

import papers
from papers.common.model import Experiment

PACKAGE = Path(papers.__file__).resolve().parent
ROOT = PACKAGE.parent
"""The folder that holds the package: a source file is called by its path from here."""

ROLES = {
    "cells": "the plan", "table": "the table", "figure": "the figure", "compare": "the verdicts",
    "artifacts": "the picture",
}  # fmt: skip
"""The callables of an experiment, and what they make."""

_DEVIATION = re.compile(r"<td>(D\d+)</td>")
_HEADING = re.compile(r"<h([1-6])>(.*?)</h\1>", re.DOTALL)
_IMAGE = re.compile(r'<img src="([^"]*)"')
_LINK = re.compile(r'<a href="([^"]*)">(.*?)</a>', re.DOTALL)


# ------------------------------------------------------------------------------ code


def places(entry: Experiment) -> Iterator[tuple[str, Path, int]]:
    """Yield what an experiment's callables make, their files and lines; built-in ones have none."""
    for attribute, words in ROLES.items():
        found = _code(getattr(entry, attribute))
        if found is not None:
            path = Path(found.co_filename).resolve()
            if path.is_relative_to(PACKAGE) and path.is_file():
                yield words, path, found.co_firstlineno


def _code(call: Any) -> Any:
    """Return the code object behind a callable, through partials, methods and decorators."""
    while call is not None:
        if isinstance(call, functools.partial):
            call = call.func
        elif inspect.ismethod(call):
            call = call.__func__
        elif hasattr(call, "__wrapped__"):
            call = call.__wrapped__
        else:
            return getattr(call, "__code__", None)
    return None


def page_of(path: Path) -> str:
    """Return the name of the page of a source file, e.g. ``code/papers.lopes2019.solver.html``."""
    return f"code/{'.'.join(path.resolve().relative_to(ROOT).with_suffix('').parts)}.html"


def of_paper(folder: Path) -> list[Path]:
    """Return the files of a paper that its page names: reference, solver, launches, kernels."""
    named = [folder / f"{name}.py" for name in ("reference", "solver", "launches", "configuration")]
    kernels = sorted(folder.glob("**/kernels/*.py"))
    solvers = sorted(folder.glob("*/solver.py"))
    found = [*named, *solvers, *(path for path in kernels if path.name != "__init__.py")]
    return [path for path in found if path.is_file() and path.resolve().is_relative_to(PACKAGE)]


# ------------------------------------------------------------------------------ pages


def deviations(readme: Path) -> set[str]:
    """Return the ids of the deviations that a paper's page lists, ``D1`` ..."""
    text = readme.read_text(encoding="utf-8") if readme.is_file() else ""
    return set(re.findall(r"^\| (D\d+) \|", text, re.MULTILINE))


def rendered(readme: Path, results: str, pages: Collection[str]) -> str:
    """Return a paper's README as HTML, with ids for its headings and deviations.

    Its pictures are those of `pictures`. A link into `RESULTS.md` leads to the paper's page of the
    site, one to a source file to its copy; what is not in the site keeps its words and loses its
    link.

    Parameters
    ----------
    readme : Path
        The file.
    results : str
        The page that shows the paper's tables.
    pages : collection of str
        The pages of source files that there are, as `page_of` names them.
    """
    text = re.sub(r"<!--.*?-->", "", readme.read_text(encoding="utf-8"), flags=re.DOTALL)
    html = MarkdownIt("commonmark", {"html": False}).enable("table").render(text)
    html = _DEVIATION.sub(r'<td id="\1">\1</td>', html)
    html = _HEADING.sub(lambda found: _heading(found[1], found[2]), html)
    shown = {name: place for name, _, place in pictures(readme)}
    html = _IMAGE.sub(lambda found: f'<img src="{shown.get(found[1], found[1])}"', html)
    return _LINK.sub(lambda found: _link(readme, results, pages, found[1], found[2]), html)


def pictures(readme: Path) -> Iterator[tuple[str, Path, str]]:
    """Yield the pictures of a page: the link to it, its file, and its place in the site."""
    text = readme.read_text(encoding="utf-8")
    for name in dict.fromkeys(re.findall(r"!\[[^\]]*\]\(([^)]+)\)", text)):
        path = readme.parent / name
        if path.is_file():
            yield name, path, f"pictures/{readme.parent.name}-{name.replace('/', '-')}"


def _heading(level: str, words: str) -> str:
    return f'<h{level} id="{slug(words)}">{words}</h{level}>'


def slug(words: str) -> str:
    """Return a heading's id, as Git's pages make it."""
    plain = re.sub(r"<[^>]*>|&\w+;", "", words).lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def _link(readme: Path, results: str, pages: Collection[str], target: str, words: str) -> str:
    path = target.partition("#")[0]
    if not path or target.startswith(("http:", "https:")):
        return f'<a href="{target}">{words}</a>'
    if path == "RESULTS.md":
        return f'<a href="{results}">{words}</a>'
    full = (readme.parent / path).resolve()
    known = page_of(full) if full.suffix == ".py" and full.is_relative_to(PACKAGE) else ""
    return f'<a href="{known}">{words}</a>' if known in pages else words
