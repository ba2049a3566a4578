"""Which solver runs: rules as data, the first that fits.

``choices.csv`` has a rule a line, in order of preference. Rules for a GPU stand on committed
records, which they name; those for a CPU on measurements that the commit of the line states.

| column | meaning |
| --- | --- |
| ``problem`` | ``assignment``, ``matching`` or ``flow`` |
| ``runs_on`` | ``gpu``, ``cpu``; ``gpu if asked``: only where the caller has written ``device="gpu"`` |
| ``place``, ``shape``, ``kinds`` | of the input; ``any`` takes all; ``kinds`` is how the type's name begins |
| ``least``, ``most`` | bounds of the size: shorter side, lines of a batch, edges, nodes |
| ``span`` | the largest range of the costs, as a multiple of the shorter side |
| ``only``, ``unless`` | traits of the question, one of which it must have, none of which it may have |
| ``package`` | a module that must be installed |
| ``solver`` | ``PAPER:SOLVER``, or ``scipy`` |
"""  # noqa: E501 - rows of a table

from __future__ import annotations

import csv
import functools
import importlib
import importlib.util
import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from papers.common.gpu.compiled import waking

Machine = Literal["auto", "gpu", "cpu"]

TABLE = Path(__file__).with_name("choices.csv")
COLUMNS = (
    "problem", "runs_on", "place", "shape", "kinds", "least", "most", "span", "only", "unless",
    "package", "solver", "record", "reason",
)  # fmt: skip


class NoGpuWarning(UserWarning):
    """There is no GPU: the calls run on the CPU. It is given once a process.

    Nobody is told who asks for ``device="cpu"``, or has selected it
    (`papers.common.gpu.device.select`). `warnings.simplefilter` silences it like any other.
    """


@dataclass(frozen=True)
class Rule:
    """A line of the table; see there."""

    problem: str
    runs_on: str
    place: str
    shape: str
    kinds: str
    least: float
    most: float
    span: float
    only: frozenset[str]
    unless: frozenset[str]
    package: str
    solver: str
    record: str
    reason: str

    def fits(self, question: Question) -> bool:
        """Whether this rule answers a question of its problem; dear tests come last."""
        return (
            self.shape in ("any", question.shape)
            and self.place in ("any", question.place)
            and self.least <= question.size <= self.most
            and (self.kinds == "any" or question.kind.startswith(self.kinds))
            and (not self.only or any(map(question.has, self.only)))
            and not any(map(question.has, self.unless))
            and (not self.package or _installed(self.package))
            and (self.span == float("inf") or question.span() <= self.span)
        )


@dataclass(frozen=True)
class Question:
    """All that a rule may ask about an input.

    Attributes
    ----------
    problem : {"assignment", "matching", "flow"}
    shape : {"square", "rectangle", "batch", "graph", "grid", "network"}
    size : int
        The shorter side, the longer sides of a batch's matrices added up, edges of a graph, nodes
        of a grid or a network.
    kind : str
        The type of the values, e.g. ``"int32"``; booleans and whole numbers without a sign are
        ``"int"``, too.
    place : {"host", "device"}
        The memory that the input lies in.
    traits : frozenset of str
        ``limited``: with a limit of time; ``maximize``; ``dense``, of a graph: more edges a line
        than `papers.synthesis.calls.matching.DENSE`; ``flow``: the answer holds one; ``middling``,
        of a rectangle: as many costs as `papers.synthesis.calls.one_matrix.MIDDLING`.
    span : callable() -> float
        The range of the costs over the shorter side; asked only if a rule needs it.
    also : mapping of str to callable() -> bool
        Traits that take a look at the values; asked only if a rule needs them: ``wide`` and
        ``seeded``, of `papers.synthesis.calls.cuts.choosing`; ``rounded``, of
        `papers.synthesis.calls.one_matrix`.
    """

    problem: str
    shape: str
    size: int
    kind: str = "any"
    place: str = "host"
    traits: frozenset[str] = frozenset()
    span: Callable[[], float] = lambda: float("inf")
    also: Mapping[str, Callable[[], bool]] = field(default_factory=dict)

    def has(self, trait: str) -> bool:
        """Whether the input has the trait."""
        return trait in self.traits or (trait in self.also and self.also[trait]())


@dataclass(frozen=True)
class Choice:
    """A solver by name, and why it was taken."""

    solver: str
    reason: str

    def line(self, subject: str) -> str:
        """Return the line that ``explain=True`` prints."""
        return f"papers: {subject}: {self.solver}, because: {self.reason}"


# ------------------------------------------------------------------------------- the rules


@functools.cache
def rules(path: Path = TABLE) -> tuple[Rule, ...]:
    """Read the table.

    Raises
    ------
    ValueError
        If its columns are not `COLUMNS`.
    """
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        if tuple(reader.fieldnames or ()) != COLUMNS:
            raise ValueError(f"{path.name} has the columns {reader.fieldnames}, not {COLUMNS}")
        return tuple(_rule(line) for line in reader)


def _rule(line: dict[str, str]) -> Rule:
    numbers = {
        name: float(line[name] or default)
        for name, default in (("least", "0"), ("most", "inf"), ("span", "inf"))
    }
    traits = {name: frozenset(line[name].split()) for name in ("only", "unless")}
    return Rule(**{**line, **numbers, **traits})  # type: ignore[arg-type]


@functools.cache
def _installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


@functools.cache
def _rules_for(problem: str, machines: tuple[str, ...]) -> tuple[Rule, ...]:
    return tuple(rule for rule in rules() if rule.problem == problem and rule.runs_on in machines)


def choose(question: Question, device: Machine = "auto", solver: str | None = None) -> Choice:
    """Return the solver that answers a question.

    Parameters
    ----------
    question : Question
    device : {"auto", "gpu", "cpu"}
    solver : str, optional
        The caller's own choice.

    Raises
    ------
    ValueError
        For an unknown device, or a solver that is none or solves another problem.
    RuntimeError
        For ``"gpu"`` where there is none.
    """
    here = machines(device)
    if solver is not None:
        check_name(solver)
        if solver != "scipy" and solver_of(solver).problem != question.problem:
            raise ValueError(f"solver={solver!r} solves no {question.problem}")
        return Choice(solver, "the caller has named it")
    rule = rule_for(question, here)
    if rule.runs_on.startswith("gpu"):
        waking.begin()
    record = f" [papers/{rule.record}]" if rule.record else ""
    return Choice(rule.solver, rule.reason + record)


def rule_for(question: Question, here: tuple[str, ...]) -> Rule:
    """Return the first rule that fits, of those for these machines (`machines`)."""
    for rule in _rules_for(question.problem, here):
        if rule.fits(question):
            return rule
    raise ValueError(f"no rule of {TABLE.name} fits {question}")


def expect(
    device: Machine,
    solver: str | None,
    question: Callable[[], Question],
    modules: str = "numba.cuda",
) -> None:
    """Start the driver, and import Numba meanwhile, if a GPU would be asked to answer a question.

    This is for the first call of a process: all others know whether there is a GPU, for which the
    first one has to wait until the driver has started.

    Parameters
    ----------
    device : {"auto", "gpu", "cpu"}
    solver : str or None
        The caller's own choice: one that no rule names for a GPU needs none.
    question : callable() -> Question
        What would be asked; called only where it matters.
    modules : str
        What is imported of Numba; a call that may end on one core needs no more of it than that.
    """
    if device == "cpu" or not waking.is_asleep() or _is_settled():
        return
    if solver is not None:
        by_gpu = isinstance(solver, str) and solver in _solvers_on_gpus()
    else:
        here = ("gpu", "gpu if asked") if device == "gpu" else ("gpu", "cpu")
        by_gpu = rule_for(question(), here).runs_on != "cpu"
    if by_gpu:
        waking.hasten(modules)


@functools.cache
def _solvers_on_gpus() -> frozenset[str]:
    return frozenset(rule.solver for rule in rules() if rule.runs_on != "cpu")


def _is_settled() -> bool:
    from papers.common.gpu import device

    return device.is_settled()


def machines(device: Machine) -> tuple[str, ...]:
    """The values of ``runs_on`` that rules may have here.

    Raises
    ------
    ValueError, RuntimeError
        As `choose`, for a device.
    """
    if device == "cpu":
        return ("cpu",)
    if device not in ("auto", "gpu"):
        raise ValueError(f"device={device!r} is not one of 'auto', 'gpu', 'cpu'")
    if device == "gpu":
        if not _has_gpu():
            raise RuntimeError("no CUDA GPU was found; use device 'cpu' or 'auto'")
        return ("gpu", "gpu if asked")
    if _has_gpu():
        return ("gpu", "cpu")
    _say_so_once()
    return ("cpu",)


def _has_gpu() -> bool:
    from papers.common.gpu import device

    return device.describe().is_gpu if device.is_settled() else device.gpu_present()


@functools.cache
def _say_so_once() -> None:
    from papers.common.gpu import device

    if not device.is_settled():
        warnings.warn(
            "there is no CUDA GPU: the calls of `papers` run on the CPU (said once; device='cpu' "
            "asks for it)",
            NoGpuWarning,
            stacklevel=_callers_level(),
        )


def _callers_level() -> int:
    """Count the frames from `_say_so_once` up to the first one outside of these calls."""
    frame, level = sys._getframe(1), 1
    home = str(TABLE.parent)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(home):
        frame, level = frame.f_back, level + 1
    return level


# ------------------------------------------------------------------------------- solvers


def check_name(solver: Any) -> None:
    """Refuse what is no name, before it is looked up.

    Parameters
    ----------
    solver : str
        What a caller has given as one.

    Raises
    ------
    ValueError
    """
    if not isinstance(solver, str):
        raise ValueError(f"solver={solver!r} is no name, such as 'synthesis:dense' or 'scipy'")


def _paper(name: str) -> Any:
    """Return the `papers.common.model.Paper` of a subpackage; None if there is none so called."""
    try:
        return getattr(importlib.import_module(f"papers.{name}"), "PAPER", None)
    except ModuleNotFoundError as error:
        if not f"papers.{name}".startswith(str(error.name)):
            raise  # something that it needs is missing
        return None


@functools.cache
def solver_of(name: str) -> Any:
    """Return the `papers.common.model.Solver` called ``PAPER:SOLVER``.

    Raises
    ------
    ValueError
        If there is none.
    """
    home, _, short = str(name).partition(":")
    solvers: Mapping[str, Any] = {}
    with waking.uncollected():  # what fails to be imported is told as that, not as a wrong name
        if home == "synthesis":
            solvers = importlib.import_module("papers.synthesis.solvers").SOLVERS
        elif (paper := _paper(home)) is not None:
            solvers = paper.solvers()
        if short in solvers:
            return solvers[short]
    told = f"there is no solver {name!r}"
    if home == "synthesis":
        raise ValueError(
            f"{told}: synthesis has {', '.join(solvers)} for calls; 'scipy' is SciPy's"
        )
    told += ": they are called PAPER:SOLVER, and `reproduce list PAPER` names them"
    raise ValueError(f"{told}; 'scipy' is SciPy's")
