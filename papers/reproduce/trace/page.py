"""One HTML file, with all that it needs inside: panels, steps, sources, the player."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from jinja2 import Environment

from papers.common.evidence.trace.story import Step, Trace
from papers.common.model import Paper
from papers.reproduce.trace import sources


def html(paper: Paper, stories: Sequence[Sequence[Trace]], page: Path) -> str:
    """Return the page.

    Parameters
    ----------
    paper : Paper
    stories : sequence of sequence of Trace
        A story's runs, each; none is empty.
    page : Path
        Where it will be: links to sources are relative to it.
    """
    data = content(paper, stories, page)
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return (
        Environment(autoescape=False)
        .from_string(_file("page.html.j2"))
        .render(
            paper=paper, style=_file("page.css"), script=_file("page.js"),
            data=text.replace("<", "\\u003c"),
        )
    )  # fmt: skip


def _file(name: str) -> str:
    folder = resources.files("papers.reproduce.trace") / "templates"
    return (folder / name).read_text(encoding="utf-8")


def content(paper: Paper, stories: Sequence[Sequence[Trace]], page: Path) -> dict[str, Any]:
    """Return what the player plays."""
    book = _Book(page)
    told = [_story(runs, book) for runs in stories]
    words = {kind: word for runs in stories for kind, word in runs[0].story.words.items()}
    return {
        "paper": paper.name,
        "words": {kind: [w.title, w.paper, w.minor] for kind, w in words.items()},
        "stories": told,
        "sites": book.sites,
        "functions": book.functions,
    }


class _Book:
    """Sites and functions, each once."""

    def __init__(self, page: Path) -> None:
        self.page = page
        self.sites: list[list[Any]] = []
        self.functions: list[dict[str, Any]] = []
        self._site_of: dict[Any, int] = {}
        self._function_of: dict[Any, int] = {}

    def site(self, step: Step) -> int:
        """Return the number of a step's line; -1 if it has none."""
        if step.site is None:
            return -1
        if step.site not in self._site_of:
            text = sources.excerpt(step.site.file, step.site.line)
            if text not in self._function_of:
                self._function_of[text] = len(self.functions)
                link = sources.link(text.file, self.page)
                function = {"file": text.file, "link": link}
                self.functions.append(function | {"lines": text.lines, "numbers": text.numbers})
            self._site_of[step.site] = len(self.sites)
            line = [self._function_of[text], step.site.line, step.site.function]
            self.sites.append(line)
        return self._site_of[step.site]


def _story(runs: Sequence[Trace], book: _Book) -> dict[str, Any]:
    story = runs[0].story
    return {
        "name": story.name,
        "title": story.title,
        "caption": story.caption,
        "axis": "version" if story.variants else "interleaving",
        "panels": [[p.name, p.title, p.skeleton()] for p in story.panels],
        "runs": [_run(run, runs[0], book) for run in runs],
    }


def _run(run: Trace, first: Trace, book: _Book) -> dict[str, Any]:
    seed = "natural order" if run.seed is None else f"seed {run.seed}"
    name = run.label if run.label == seed or run.story.variants else f"{run.label} ({seed})"
    return {
        "label": name,
        "differs": None if run is first else differs(run, first),
        "initial": _looks(run.initial),
        "steps": [
            [
                step.kind, step.sentence, step.launch, step.kernel, step.block, step.thread,
                book.site(step), len(step.events), list(step.focus), _looks(step.looks),
            ]
            for step in run.steps
        ],
    }  # fmt: skip


def _looks(looks: dict[str, Any]) -> list[list[str]]:
    return [[key, *look] if look.style else [key, *look[:2]] for key, look in looks.items()]


def differs(run: Trace, first: Trace) -> int:
    """Return the number of a run's first step that another does not take, minor ones apart."""
    one = [step.sentence for step in first.steps if _major(first, step)]
    for number, step in enumerate(step for step in run.steps if _major(run, step)):
        if number >= len(one) or step.sentence != one[number]:
            return run.steps.index(step)
    return len(run.steps) - 1


def _major(run: Trace, step: Step) -> bool:
    word = run.story.words.get(step.kind)
    return word is not None and not word.minor
