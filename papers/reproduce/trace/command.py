"""The command ``reproduce trace``; `cli` registers it."""

from __future__ import annotations

import importlib
import importlib.util
import json
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated

import typer

from papers.reproduce import registry, targets
from papers.reproduce.options import Interleavings, PaperArgument, examples
from papers.reproduce.registry import UsageError, meant
from papers.reproduce.screen.console import console

if TYPE_CHECKING:
    from papers.common.evidence.trace.story import Story, Trace

app = typer.Typer()


@app.command(
    epilog=examples(
        "reproduce trace lopes2019",
        "reproduce trace lopes2019 costs.npy --seed 3 --seed 4",
        "reproduce trace lopes2019 --story join --terminal",
    )
)
def trace(
    paper: PaperArgument,
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]", help="A small instance of your own; default the paper's stories."
        ),
    ] = None,
    seed: Interleavings = None,
    story: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this story; may be repeated.")
    ] = None,
    terminal: Annotated[
        bool, typer.Option("--terminal", help="Print the first run of each; write nothing.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(help="The page; the trace lies beside it. Default PAPER-trace.html."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Write over files that are there.")
    ] = False,
) -> int:
    """Step through a paper's kernels: run them on the CPU, write the trace and a page of it.

    Without `--seed` the page has the interleavings that its story is about, and others that differ
    from them.
    """
    from papers.reproduce.run.folder import write_atomically
    from papers.reproduce.trace import page
    from papers.reproduce.trace import terminal as text

    stories = chosen(paper, file, story)
    target = output or Path(f"{paper}-trace.html")
    if not terminal:
        probe(target, force)
    found = runs(stories, seed or [], 0 if terminal else None)
    out = console()
    if terminal:
        for told in found:
            for run in told if seed else told[:1]:
                for line in text.lines(run):
                    out.print(line, markup=False, highlight=False, soft_wrap=True)
        return 0
    write_atomically(target, page.html(registry.card(paper), found, target))
    write_atomically(target.with_suffix(".json"), json.dumps(text.as_json(paper, found)))
    for told in found:
        names = ", ".join(run.label for run in told)
        out.print(f"{told[0].story.name}: {names}", markup=False, soft_wrap=True)
    out.print(f"page   {target}", soft_wrap=True)
    out.print(f"trace  {target.with_suffix('.json')}", soft_wrap=True)
    return 0


def module_of(paper: str) -> ModuleType:
    """Return a paper's `evidence.trace`.

    Raises
    ------
    UsageError
        If it has none.
    """
    registry.card(paper)
    name = f"{registry.MODULES[paper]}.evidence.trace"
    try:
        there = importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # no evidence at all
        there = False
    if not there:
        raise UsageError(f"{paper} cannot be stepped through yet: it has no evidence/trace.py")
    return importlib.import_module(name)


def chosen(paper: str, file: Path | None, names: Sequence[str] | None) -> list[Story]:
    """Return the stories that are asked for: a file's, or a paper's of these names.

    Raises
    ------
    UsageError
        If there is no such story, or a page cannot show the file's instance.
    """
    module = module_of(paper)
    if file is not None:
        from papers.reproduce import solve

        if names:
            raise UsageError("--story and FILE exclude one another")
        try:
            return [module.story_of(solve.read(file))]
        except ValueError as error:
            raise UsageError(f"{file.name}: {error}") from None
    known = {story.name: story for story in module.STORIES}
    for name in names or ():
        if name not in known:
            listed, hint = ", ".join(known), meant(name, known)
            raise UsageError(f"{paper} has no story {name!r}; it has: {listed}{hint}")
    return [known[name] for name in names or known]


def runs(
    stories: Sequence[Story], seeds: Sequence[int], kept: int | None = None
) -> list[list[Trace]]:
    """Return the runs of each story that a page or a terminal shows."""
    from papers.common.evidence.trace import runs as telling

    found = []
    for one in stories:
        more = telling.KEPT if kept is None else 0 if one.tellings else 1
        found.append(telling.traces(one, seeds, more))
    return found


def probe(page: Path, force: bool) -> None:
    """Refuse a page, or the trace beside it, that cannot be written or would be written over.

    Raises
    ------
    UsageError
    """
    if page.suffix != ".html":
        raise UsageError(f"--output {page} is no .html file")
    for path in (page, page.with_suffix(".json")):
        targets.probe(path, "--output")
        if path.exists() and not force:
            raise UsageError(f"{path} exists already; --force writes over it")
