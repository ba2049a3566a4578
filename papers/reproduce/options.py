"""Arguments and options of the command, their bounds, examples and completions."""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from papers.reproduce import catalogue, registry
from papers.reproduce.catalogue import Entry
from papers.reproduce.registry import UsageError

MOST_SEED = 2**32 - 1
"""The largest seed: a 32-bit word, which every generator takes and every table holds."""

MOST_SECONDS = 2_000_000.0
"""Twenty-three days. Longer waits exceed what the operating system counts in milliseconds."""

MOST_REPEATS = 10_000
MOST_JOBS = 256


class Preset(StrEnum):
    """The amount of work: three sizes of a run."""

    smoke = "smoke"
    quick = "quick"
    paper = "paper"


class Device(StrEnum):
    """Where kernels run."""

    auto = "auto"
    gpu = "gpu"
    cpu = "cpu"


def _finite(value: float | None) -> float | None:
    if value is not None and not math.isfinite(value):
        raise UsageError(f"{value} is no number of seconds")
    return value


def complete_paper(incomplete: str) -> list[str]:
    """Return the papers that begin so."""
    return [name for name in registry.MODULES if name.startswith(incomplete)]


def complete_target(incomplete: str) -> list[str]:
    """Return the papers, or the experiments of the paper before the colon, that begin so."""
    return _completed(incomplete, catalogue.experiments)


def complete_solver(incomplete: str) -> list[str]:
    """Return auto and the papers, or the solvers of the paper before the colon, that begin so."""
    auto = ["auto"] if "auto".startswith(incomplete) else []
    return auto + _completed(incomplete, catalogue.solvers)


def _completed(incomplete: str, of: Callable[[str], tuple[Entry, ...]]) -> list[str]:
    paper, colon, _ = incomplete.partition(":")
    if not colon or paper not in registry.MODULES:
        return complete_paper(incomplete)
    found = (f"{paper}:{entry.name}" for entry in of(paper))
    return [name for name in found if name.startswith(incomplete)]


DeviceOption = Annotated[Device, typer.Option(help="Where kernels run; cpu is the executor.")]
PaperArgument = Annotated[str, typer.Argument(help="A paper.", autocompletion=complete_paper)]
Targets = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[PAPER[:EXPERIMENT] ...]", help="Default all.", autocompletion=complete_target
    ),
]
Seeds = Annotated[
    list[int] | None,
    typer.Option(
        min=0, max=MOST_SEED, help="Instance seed instead of the preset's; may be repeated."
    ),
]
Interleavings = Annotated[
    list[int] | None,
    typer.Option(
        "--seed", min=0, max=MOST_SEED, help="The threads' order, by a number; may be repeated."
    ),
]
Only = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KEY=VALUE,...",
        help="Keep cells by n, range, seed, solver, family, storage, permuted; not by options.",
    ),
]
Repeats = Annotated[
    int | None, typer.Option(min=1, max=MOST_REPEATS, help="Repetitions of a clock.")
]
Timeout = Annotated[
    float | None,
    typer.Option(
        min=0.001,
        max=MOST_SECONDS,
        callback=_finite,
        help="Seconds a cell may take; default by preset.",
    ),
]
Seconds = Annotated[
    float,
    typer.Option(
        min=0,
        max=MOST_SECONDS,
        callback=_finite,
        help="How long each record's instances are solved anew.",
    ),
]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Print every cell and table, too.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
Json = Annotated[
    Path | None, typer.Option("--json", metavar="FILE", help="Write the answer for programs.")
]


def examples(*lines: str) -> str:
    """Return the examples at the end of a command's help, a line each."""
    return "\n\n".join(["Examples:", *lines])
