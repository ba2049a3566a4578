"""A trace as text, every event of it, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from papers.common.evidence.trace.panels import unset
from papers.common.evidence.trace.story import Step, Trace
from papers.common.executor.recorder import Event, Site
from papers.reproduce.trace import sources


def lines(run: Trace) -> Iterator[str]:
    """Give a run's lines: a step's sentence, then its events.

    A step that nothing is told of has its events alone. Loads, barriers and ends of blocks are
    there if something is told of them.
    """
    seed = "natural order" if run.seed is None else f"seed {run.seed}"
    name = run.label if run.label == seed else f"{run.label} ({seed})"
    yield f"{run.story.title}: {name}"
    for step in run.steps:
        if step.kind:
            yield _sentence(step, run)
        for number in step.events:
            yield _event(run.recording.events[number], run)
    yield ""


def _sentence(step: Step, run: Trace) -> str:
    word = run.story.words[step.kind]
    if step.site is None:
        return f"launch {step.launch}  {step.sentence}"
    return f"  {word.title}: {step.sentence} [{word.paper}]"


def _event(event: Event, run: Trace) -> str:
    if event.kind in ("launch", "block_ends"):
        return f"    {event.kernel}: {event.kind.replace('_', ' ')}"
    if event.kind == "host":
        return f"    host: {_change(event, run)}"
    assert event.site is not None
    who = f"block {event.block}, thread {event.thread}"
    where = sources.place(event.site)
    if event.kind == "barrier":
        return f"    {where} barrier of block {event.block}"
    if event.kind == "load":
        return f"    {where} {who} reads {event.array}[{event.index}] = {event.old}"
    return f"    {where} {who}: {_change(event, run)}"


def _change(event: Event, run: Trace) -> str:
    never = unset(run.recording.initial[event.array].dtype.type(event.old))
    old = "unset" if never else event.old
    return f"{event.array}[{event.index}] {old} -> {event.new}"


def as_json(paper: str, stories: Sequence[Sequence[Trace]]) -> dict[str, Any]:
    """Return traces for programs: arrays before and after, every event, and the steps.

    An event is kind, launch, kernel, block, thread, array, index, old, new, number of its site;
    a step is kind, sentence, numbers of its events.
    """
    return {"paper": paper, "runs": [_run(run) for runs in stories for run in runs]}


def _run(run: Trace) -> dict[str, Any]:
    recording = run.recording
    sites: dict[Site, int] = {}
    events = []
    for e in recording.events:
        site = -1 if e.site is None else sites.setdefault(e.site, len(sites))
        events.append(
            [e.kind, e.launch, e.kernel, e.block, e.thread, e.array, e.index, e.old, e.new, site]
        )
    return {
        "story": run.story.name,
        "title": run.story.title,
        "label": run.label,
        "seed": run.seed,
        "initial": {name: array.tolist() for name, array in recording.initial.items()},
        "final": {name: array.tolist() for name, array in recording.final.items()},
        "sites": [[sources.name_of(site.file), site.line, site.function] for site in sites],
        "events": events,
        "steps": [[step.kind, step.sentence, step.events] for step in run.steps],
    }
