"""Runs of a story: recorded under an interleaving, told step by step, and told apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from papers.common.evidence.trace.panels import Arrays, Look
from papers.common.evidence.trace.story import PLAIN, Step, Story, Teller, Telling, Told, Trace
from papers.common.executor.recorder import Event, Recorder, Recording
from papers.common.gpu import device

MOST_SEEDS = 60
"""Interleavings that are run to find some that differ."""

KEPT = 8
"""Interleavings that a page shows at most, those that a story asks for apart."""


def tallies_of(teller: Teller) -> dict[str, np.ndarray]:
    """Return a copy of the arrays that an interpreter keeps beside the run's, for the panels."""
    return {name: array.copy() for name, array in getattr(teller, "tallies", {}).items()}


def record(story: Story, seed: int | None, variant: str = "") -> tuple[Recording, Any]:
    """Run a story's solver under one interleaving; return what was recorded, and the answer."""
    recorder = Recorder(seed, story.switch, story.loads)
    with device.executing(recorder.executor):
        answer = story.run(recorder, variant) if variant else story.run(recorder)
    return recorder.stop(), answer


def trace(story: Story, seed: int | None, label: str = "", variant: str = "") -> Trace:
    """Run a story's solver and tell the run.

    Parameters
    ----------
    story : Story
    seed : int or None
        Of the interleaving; None is the natural order.
    label : str
        Of the run, on a page.
    variant : str
        One of the story's variants.

    Raises
    ------
    ValueError
        If the events do not lead to the arrays that the run has left, and to its answer.
    """
    return tell(story, seed, *record(story, seed, variant), label or variant, variant)


def tell(
    story: Story,
    seed: int | None,
    recording: Recording,
    answer: Any,
    label: str = "",
    variant: str = "",
) -> Trace:
    """Tell a run that was recorded; errors are those of `trace`."""
    steps = _Folding(story, recording, variant)
    now: Arrays = recording.initial
    for number, (event, now) in enumerate(recording.replay()):
        steps.add(number, event, now)
    steps.close(now)
    check(recording, now)
    if not story.answered(answer, now):
        raise ValueError("the events do not lead to the answer that the solver has returned")
    left = outcome(story, recording)
    label = label or default_label(seed)
    return Trace(story, seed, label, recording, steps.done, steps.initial, answer, left)


def outcome(story: Story, recording: Recording) -> tuple:
    """Return what tells two runs apart: the kernels, and the history of each word.

    Two interleavings in which every word takes the same values in the same order are one, unless
    they differ in an event of a kind of ``story.rare``.
    """
    histories: dict[tuple[str, int], list[Any]] = {}
    for event in recording.events:
        if event.changes and event.old != event.new and event.array in story.outcome:
            histories.setdefault((event.array, event.index), []).append(event.new)
    kernels = tuple(event.kernel for event in recording.events if event.kind == "launch")
    words = frozenset((word, tuple(values)) for word, values in histories.items())
    return kernels, words, _of_interest(story, recording)


def _of_interest(story: Story, recording: Recording) -> tuple:
    """Return kind and focus of the events whose kinds tell two runs apart, too."""
    if not story.rare:
        return ()
    tell = story.teller()
    told = [tell(event, now) for event, now in recording.replay()]
    return tuple((one.kind, one.focus) for one in told if one and one.kind in story.rare)


def check(recording: Recording, now: Arrays) -> None:
    """Refuse a replay that does not end where the run has ended.

    Raises
    ------
    ValueError
        With the first array that differs.
    """
    for name, array in recording.final.items():
        if not np.array_equal(array, now[name], equal_nan=array.dtype.kind == "f"):
            raise ValueError(f"the events do not lead to the {name} that the run has left")


def default_label(seed: int | None) -> str:
    """Return the label of a run that no story names."""
    return "natural order" if seed is None else f"seed {seed}"


class _Folding:
    """Steps out of events: what is told together, and what nothing is told of, becomes one."""

    def __init__(self, story: Story, recording: Recording, variant: str) -> None:
        self.panels = story.panels
        self.tell = story.teller(variant) if variant else story.teller()
        self.done: list[Step] = []
        self.open: Step | None = None
        self.together = False
        self.stale = False  # whether anything has changed since the panels were looked at
        self.tallies = tallies_of(self.tell)
        self.initial = self._looks(recording.initial)
        self.last = dict(self.initial)

    def _looks(self, now: Arrays) -> dict[str, Look]:
        seen = {**now, **self.tallies}
        return {key: look for panel in self.panels for key, look in panel.looks(seen).items()}

    def add(self, number: int, event: Event, now: Arrays) -> None:
        """Take an event; `now` are the arrays after it."""
        told = self.tell(event, now)
        after = tallies_of(self.tell)
        self._take(number, event, now, told)
        if event.changes or any((after[name] != self.tallies[name]).any() for name in after):
            self.stale = True
        self.tallies = after

    def _take(self, number: int, event: Event, now: Arrays, told: Told | None) -> None:
        if told is None and not event.changes:
            return  # a load, a barrier or an end of which there is nothing to say
        step = self.open
        if step is not None and step.launch == event.launch and self._continues(told):
            if told is not None:
                step.sentence, step.focus = told.sentence, _joined(step.focus, told.focus)
            step.events.append(number)
            step.block, step.thread, step.site = event.block, event.thread, event.site
            return
        self._close_before(event, now)
        kind, sentence, focus = (told.kind, told.sentence, told.focus) if told else (PLAIN, "", ())
        self.open = Step(
            kind, sentence, focus, [number], event.launch, event.kernel, event.block,
            event.thread, event.site,
        )  # fmt: skip
        self.together = told is None or told.together

    def _close_before(self, event: Event, now: Arrays) -> None:
        """End the open step with the arrays as they were before an event that `now` has."""
        if not event.changes:
            self.close(now)
            return
        flat = now[event.array].reshape(-1)
        flat[event.index] = event.old
        self.close(now)
        flat[event.index] = event.new

    def _continues(self, told: Told | None) -> bool:
        assert self.open is not None
        if not self.together:
            return False
        return told is None or (told.together and told.kind == self.open.kind)

    def close(self, now: Arrays) -> None:
        """End the open step: keep of the looks at `now` those that have changed."""
        step, self.open = self.open, None
        if step is None:
            return
        if step.kind == PLAIN:
            number = len(step.events)
            step.sentence = f"{number} change{'s' * (number > 1)} by {step.kernel or 'the host'}."
        looks = self._looks(now) if self.stale else self.last
        self.stale = False
        step.looks = {key: look for key, look in looks.items() if look != self.last.get(key)}
        self.last = looks
        self.done.append(step)


def _joined(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one + other))


# ------------------------------------------------------------------------------- interleavings


def told(story: Story, telling: Telling, most: int = 4000) -> Trace:
    """Return the run of a telling: under its seed, or under the first that holds.

    Raises
    ------
    LookupError
        If none of `most` interleavings is the one.
    """
    for seed in _tried(telling.seed, most):
        found = trace(story, seed, telling.label)
        if telling.holds(found):
            return found
    raise LookupError(f"{story.name}: no interleaving is {telling.label!r}")


def _tried(first: int | None, most: int) -> Iterator[int | None]:
    yield first
    yield from (seed for seed in range(most) if seed != first)


def traces(
    story: Story, seeds: Sequence[int] = (), kept: int = KEPT, most: int = MOST_SEEDS
) -> list[Trace]:
    """Return runs of a story that differ, each from all others, in the history of a word.

    Parameters
    ----------
    story : Story
    seeds : sequence of int
        The interleavings; by default the story's own, then natural order, then
        others.
    kept : int
        How many runs are kept, of those that the story does not ask for.
    most : int
        How many interleavings are tried.
    """
    if story.variants:
        pairs = [(name, seed) for name in story.variants for seed in seeds or (None,)]
        return [trace(story, seed, name, name) for name, seed in pairs]
    if seeds:
        return different(trace(story, seed) for seed in dict.fromkeys(seeds))
    found = different(told(story, telling) for telling in story.tellings)
    known = {run.outcome for run in found}
    for seed in (None, *range(most)):
        if len(found) >= kept:
            break
        recorded = record(story, seed)
        left = outcome(story, recorded[0])
        if left not in known:
            known.add(left)
            found.append(tell(story, seed, *recorded))
    return found


def different(runs: Iterable[Trace]) -> list[Trace]:
    """Return the runs without those that equal an earlier one."""
    kept: dict[tuple, Trace] = {}
    for run in runs:
        kept.setdefault(run.outcome, run)
    return list(kept.values())
