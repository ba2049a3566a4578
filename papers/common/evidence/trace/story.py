"""A small instance, runs of the kernels on it under several interleavings, and their telling."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np

from papers.common.evidence.trace.panels import Arrays, Look, Panel
from papers.common.executor.recorder import Event, Recording, Site


def square_costs(data: Any, most: int, whole: bool = True) -> np.ndarray:
    """Return costs that a page can show.

    Parameters
    ----------
    data : array_like[n, n]
        Integers, or finite numbers.
    most : int
        The largest n; the smallest is 2.
    whole : bool
        Whether the costs have to be integers.

    Raises
    ------
    ValueError
        If it is no such matrix.
    """
    cost = np.asarray(data)
    n = len(cost) if cost.ndim == 2 else 0
    known = cost.dtype.kind in ("iu" if whole else "iufb") and np.isfinite(cost).all()
    if cost.shape != (n, n) or not 2 <= n <= most or not known:
        words = "integer" if whole else "finite"
        raise ValueError(f"a page shows square {words} costs of 2 to {most} rows")
    return cost


class Picture(NamedTuple):
    """The moment of a story that a paper's page shows as a picture.

    Attributes
    ----------
    story, run : str
        The story's name and the label of its run.
    sentence : str
        The beginning of the step's sentence; the first such step is meant.
    beside : str
        The label of the run that stands beside it, or "".
    """

    story: str
    run: str
    sentence: str
    beside: str = ""


PLAIN = ""
"""The kind of a step that no word is told of: changes, folded into one step."""


@dataclass(frozen=True)
class Word:
    """A kind of event in the paper's words.

    Attributes
    ----------
    title : str
        As a page's menu has it.
    paper : str
        Where the paper has it: a line of an algorithm.
    minor : bool
        Whether a page passes over it unless it is asked for all.
    """

    title: str
    paper: str
    minor: bool = False


@dataclass(frozen=True)
class Told:
    """The words of an interpreter about an event.

    Attributes
    ----------
    kind : str
        A word of the story's vocabulary.
    sentence : str
    focus : tuple of str
        Keys of the panels' parts that it is about.
    together : bool
        Whether further events of this launch that are told by the same kind, or not at all, belong
        to the same step; the last sentence stays.
    """

    kind: str
    sentence: str
    focus: tuple[str, ...] = ()
    together: bool = False


class Teller(Protocol):
    """The interpreter: called with each event in order, and the arrays after it."""

    def __call__(self, event: Event, now: Arrays) -> Told | None:
        """Tell an event, or nothing of it."""


@dataclass(frozen=True)
class Telling:
    """An interleaving that a story is told by.

    Attributes
    ----------
    label : str
        Its name on the page.
    seed : int or None
        The first that was found; None is the natural order.
    holds : callable(trace) -> bool
        Whether a run is the one: a changed kernel may need another seed.
    """

    label: str
    seed: int | None
    holds: Callable[[Trace], bool]


@dataclass(frozen=True)
class Story:
    """A small instance of a paper, and how its runs are told.

    Attributes
    ----------
    name, title, caption : str
        The caption says what to look at, in one or two sentences.
    run : callable(Recorder) -> answer
        Runs the paper's own solver, in the executor; it tells the recorder what to watch.
    teller : callable() -> Teller
        A new interpreter for each run; called with the variant's name, if there are variants.
    words : mapping of str to Word
        The vocabulary.
    panels : sequence of Panel
    outcome : sequence of str
        Arrays by which two interleavings differ: the histories of their words.
    answered : callable(answer, arrays) -> bool
        Whether the arrays hold the answer that the solver has returned.
    tellings : sequence of Telling
        Interleavings that must be shown.
    loads : sequence of str
        Arrays whose loads are told, too.
    switch : float
        Probability of another thread's turn before an access.
    variants : sequence of str
        Names of the runs, if the runs of a story are no interleavings: `run` is then called with
        the recorder and the name.
    rare : sequence of str
        Kinds of events by which two interleavings differ as well.
    """

    name: str
    title: str
    caption: str
    run: Callable[..., Any]
    teller: Callable[..., Teller]
    words: Mapping[str, Word]
    panels: Sequence[Panel]
    outcome: Sequence[str]
    answered: Callable[[Any, Arrays], bool]
    tellings: Sequence[Telling] = ()
    loads: Sequence[str] = ()
    switch: float = 0.3
    variants: Sequence[str] = ()
    rare: Sequence[str] = ()


@dataclass
class Step:
    """One step of a page: an event that is told, or several that are folded into one.

    Attributes
    ----------
    kind, sentence, focus
        As of `Told`; the kind is `PLAIN` for what nothing is told of.
    events : list of int
        Numbers of its events.
    launch : int
        Number of the launch.
    kernel : str
    block, thread : int
        Of the last event; -1: none.
    site : Site or None
        The line of the last event.
    looks : dict of str to Look
        What changes in the panels.
    """

    kind: str
    sentence: str
    focus: tuple[str, ...]
    events: list[int]
    launch: int
    kernel: str
    block: int
    thread: int
    site: Site | None
    looks: dict[str, Look] = field(default_factory=dict)


@dataclass
class Trace:
    """A run that is told.

    Attributes
    ----------
    story : Story
    seed : int or None
    label : str
        Its name on the page.
    recording : Recording
    steps : list of Step
    initial : dict of str to Look
        The panels before the first step.
    answer
        The solver's.
    outcome : tuple
        What tells two runs apart.
    """

    story: Story
    seed: int | None
    label: str
    recording: Recording
    steps: list[Step]
    initial: dict[str, Look]
    answer: Any
    outcome: tuple

    def of_kind(self, *kinds: str) -> list[Step]:
        """Return the steps of some kinds, in order."""
        return [step for step in self.steps if step.kind in kinds]

    def during(self, kernel: str, number: int = 0) -> list[Step]:
        """Return the steps of one launch of a kernel, the first by default; none if it has none."""
        launches = list(dict.fromkeys(s.launch for s in self.steps if s.kernel == kernel))
        if number >= len(launches):
            return []
        return [step for step in self.steps if step.launch == launches[number]]
