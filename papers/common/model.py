"""The vocabulary: what a paper, an experiment, an answer and a proof are.

Dataclasses without logic, and `lazily`, with which a card is written. Every other module can import
them without cost: this file imports neither Numba nor CUDA.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.figure import Figure

# --------------------------------------------------------------------------- answers and proofs


class GivenUpError(RuntimeError):
    """A solver has stopped at a limit of time or of work: no answer, and no fault.

    Parameters
    ----------
    message : str
    after_ms : float, optional
        Milliseconds that the run took until it stopped, where time was the limit.
    reached : mapping of str to int, optional
        Counts of what the run had reached, e.g. ``{"matched": 812, "dual_updates": 40}``.
    """

    def __init__(
        self,
        message: str,
        after_ms: float | None = None,
        reached: Mapping[str, int] | None = None,
    ) -> None:
        super().__init__(message)
        self.after_ms = after_ms
        self.reached = dict(reached or {})


GAVE_UP = "gave_up_ms"
"""The metric of a run that gave up after a time, instead of ``time_ms``."""


@dataclass(frozen=True)
class Proof:
    """The proof of one answer, or the reason why there is none.

    Attributes
    ----------
    ok : bool
        True only when the answer was proved right. There is no default on purpose.
    kind : {"lp-duals", "koenig-cover", "minimum-cut", "none"}
        The proof. ``"none"`` says that nothing was checked; ``ok`` is then False.
    reason : str
        One sentence: what was checked, or what failed and where.
    """

    ok: bool
    kind: Literal["lp-duals", "koenig-cover", "minimum-cut", "none"]
    reason: str


@dataclass(frozen=True)
class Assignment:
    """An optimal assignment of ``k = min(n, m)`` rows to columns, with its proof material.

    Attributes
    ----------
    row_ind, col_ind : int64[k]
        Row ``row_ind[t]`` is assigned column ``col_ind[t]``; `row_ind` is increasing, as in
        `scipy.optimize.linear_sum_assignment`.
    cost : int or float
        The sum of the assigned entries (maximized or minimized as asked): a Python int for
        integer costs, however large.
    row_duals, column_duals : int64[n] and int64[m], or float64, or None
        Dual variables with ``u[i] + v[j] <= cost[i, j]`` (``>=`` when maximizing).
    maximize : bool
        Whether the cost was maximized.
    counters : mapping of str to int
        Counts that the solver made on the way (iterations, launches, zeros ...).
    """

    row_ind: np.ndarray
    col_ind: np.ndarray
    cost: Any
    row_duals: np.ndarray | None
    column_duals: np.ndarray | None
    maximize: bool = False
    counters: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Matching:
    """A matching of maximum cardinality in a bipartite graph.

    Attributes
    ----------
    row_match : int32[rows]
        Column matched to each row, or -1 (the papers' ``rmatch``).
    column_match : int32[columns]
        Row matched to each column, or -1 (``cmatch``); the inverse of `row_match`.
    cardinality : int
        Number of matched pairs.
    counters : mapping of str to int
        Counts that the solver made on the way (searches, levels, launches, paths ...).
    """

    row_match: np.ndarray
    column_match: np.ndarray
    cardinality: int
    counters: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Flow:
    """A maximum flow, with its proof material.

    Attributes
    ----------
    value : int
        The units that arrive at the sink.
    residual : int64[arcs], or mapping of str to int64[height, width]
        Residual capacities in the instance's own form: by arc of a
        `papers.common.problems.network.Network`; of a `Grid` by its arrays' names (``source``,
        ``sink``, the directions), each direction seen from its own pixel. What leaves a node equals
        what enters it.
    source_side : bool[nodes] or bool[height, width]
        A minimum cut: the nodes (pixels) that the sink cannot be reached from.
    counters : mapping of str to int
        Counts that the solver made on the way (pushes, relabels, kernel runs ...).
    """

    value: int
    residual: Any
    source_side: np.ndarray
    counters: Mapping[str, int] = field(default_factory=dict)


# --------------------------------------------------------------------------- papers and solvers

ProblemName = Literal["assignment", "matching", "flow"]
"""The keys of `papers.common.problems.kinds.PROBLEMS`."""


Limit = Literal[
    "floats", "booleans", "rectangles", "large integers", "wide integers", "wide floats",
    "sides above 64", "networks", "wide capacities", "time limits",
]  # fmt: skip
"""Inputs that a solver may refuse by name, though its problem has them; see `Solver.limits`.

``large integers`` lie beyond 2**53 and ``wide integers`` differ by 2**52 or more; ``wide floats``
differ by many orders of magnitude, as the forbidding costs of a big-M method do. Flows of
``wide capacities`` reach 2**31 or more. A solver that refuses ``networks`` takes grids alone; one
that refuses ``time limits``, the option ``seconds``, is other people's code that cannot be stopped.
"""


@dataclass(frozen=True)
class Solver:
    """One solver of a paper as the runner sees it: three stages, timed from outside.

    One suite of tests runs every solver of a problem by what is declared here.

    Attributes
    ----------
    name : str
        Unique within its paper, e.g. ``"gpu"`` or ``"cpu_o4"``.
    title : str
        Its name in tables and legends.
    device : {"cuda", "cpu"}
        ``"cuda"``: kernels (a GPU, or the CPU executor when there is none); ``"cpu"``: njit code.
    problem : {"assignment", "matching", "flow"}
        The problem that it solves: a key of `papers.common.problems.kinds.PROBLEMS`.
    upload : callable(costs, graph or network, **options) -> state
        Checks the input and allocates everything; host memory to device memory.
    run : callable(state, trace=None) -> None
        Device-resident input to device-resident answer; may be called again on the same state.
        ``trace(name)``, if given, is called whenever a step begins; what follows, up to the
        next call, belongs to that step.
    download : callable(state) -> Assignment, Matching or Flow
        Device memory to host memory.
    steps : tuple of str
        The names that `run` passes to ``trace``.
    ranks : {"", "rows", "columns"}
        The lines that are split among several MPI ranks: then all ranks of a communicator, which
        `upload` takes as ``comm``, call the three stages in step; a cell's option ``ranks`` says
        how many.
    variants : mapping of str to mapping
        Options of `upload` by a name: the forms of the solver, beside the default one, that are
        to be right as well, e.g. ``{"A": {"step_4": "A"}}``.
    limits : mapping of str to str
        Inputs that `upload` refuses with a `ValueError`, and a regular expression that its message
        contains: the paper's method, or the types it is compiled for, do not reach further.
    stack : bool
        Whether `upload` also takes a stack of matrices ``[k, n, m]``; `download` then returns a
        sequence of `k` answers.
    prepare : callable(data, **options) -> data, optional
        Makes the data that `upload` is given, of what was drawn: work that a measurement has and a
        caller has not. It takes the same options, and is called once, before every clock.
    proof : callable(state, answer) -> answer, optional
        Adds to a downloaded answer what its proof needs and its user does not (and brings the state
        back to where another run finds what the first one found). It is called after every
        download, outside every clock. Without one `download` returns all there is.
    """

    name: str
    title: str
    device: Literal["cuda", "cpu"]
    problem: ProblemName
    upload: Callable[..., Any]
    run: Callable[..., None]
    download: Callable[[Any], Assignment | Matching | Flow]
    steps: tuple[str, ...] = ()
    ranks: Literal["", "rows", "columns"] = ""
    variants: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, hash=False)
    limits: Mapping[Limit, str] = field(default_factory=dict, hash=False)
    stack: bool = False
    prepare: Callable[..., Any] | None = None
    proof: Callable[[Any, Any], Assignment | Matching | Flow] | None = None


@dataclass(frozen=True)
class Problem:
    """Everything that differs between assignment, matching and flow.

    The three records are `papers.common.problems.kinds.PROBLEMS`. Whoever measures, solves, plans
    or reports asks the record, never for the kind of an instance or of an answer.

    Attributes
    ----------
    name : {"assignment", "matching", "flow"}
    answer : type
        `Assignment`, `Matching` or `Flow`.
    objective : str
        The optimized quantity: the answer's attribute and the metric's name.
    growth : int
        A run's time is predicted to grow with ``n**growth``, unless a family knows better.
    endings : tuple of str
        The endings of the files that `read` takes.
    states : callable(Any) -> bool
        Whether a value is data of this problem in its own form. A matrix states an assignment.
    adopt : callable(Any) -> data
        Data in the problem's own form: a matrix becomes a graph for a matching. Raises ValueError
        for data that state another problem.
    shape : callable(data) -> tuple of int
        Rows and columns of a matrix or a graph, height and width of a grid, nodes of a network.
    size_bytes : callable(data) -> int
        Bytes that the data take.
    compiled_for : callable(data) -> str
        The type that compiled code depends on: that of the costs, or of the data.
    extent : callable(data) -> int
        The number that `Defaults.executor` limits: the longer side of a matrix or a graph, or the
        nodes of a network or a grid.
    each_is_proved : callable(data) -> bool
        Whether every repetition's answer is proved, or the last one only, because a proof costs as
        much as a run.
    prove : callable(data, answer, maximize) -> Proof
        The proof of an answer, outside every clock. Costs may be given as row strips, too.
    read : callable(path) -> data
        Reads a file; raises `papers.common.problems.formats.matrices.FileFormatError`.
    write : callable(path, data, answer) -> None
        Writes an answer as text, one line an assigned pair, a matched pair, an arc or a pixel row.
    written : callable(data) -> str
        A word for what `write` writes.
    """

    name: ProblemName
    answer: type
    objective: str
    growth: int
    endings: tuple[str, ...]
    states: Callable[[Any], bool]
    adopt: Callable[[Any], Any]
    shape: Callable[[Any], tuple[int, ...]]
    size_bytes: Callable[[Any], int]
    compiled_for: Callable[[Any], str]
    extent: Callable[[Any], int]
    each_is_proved: Callable[[Any], bool]
    prove: Callable[[Any, Any, bool], Proof]
    read: Callable[[Any], Any]
    write: Callable[[Any, Any, Any], None]
    written: Callable[[Any], str]


@dataclass(frozen=True)
class Defaults:
    """The solvers a paper takes for one problem when its caller names none.

    Attributes
    ----------
    gpu : str
        The name of a solver with kernels.
    cpu : str
        The name of a CPU solver, for sizes that the CPU executor would take too long for.
    executor : int
        The largest side of a matrix or graph, or number of nodes, that the kernels' solver answers
        within seconds in the CPU executor.
    """

    gpu: str
    cpu: str
    executor: int = 128


def lazily(module: str, attribute: str) -> Callable[[], Any]:
    """Return a function that imports `module` when it is called and returns that attribute."""
    return lambda: getattr(importlib.import_module(module), attribute)


@dataclass(frozen=True)
class MainClaim:
    """A claim by which a paper stands or falls: its verdict is told before all counts.

    Attributes
    ----------
    words : str
        The claim in our own words, a clause without a full stop.
    experiment : str
        The experiment that judges it.
    quantity : str
        The beginning of the quantities of its comparisons, e.g. ``"LO-n:"``.
    """

    words: str
    experiment: str
    quantity: str


@dataclass(frozen=True)
class Paper:
    """A paper's card.

    Attributes
    ----------
    name : str
        The subpackage of `papers`.
    tag : str
        The tag of citations in the code: ``"L19"`` for ``[L19 Alg.2]``.
    title, authors, venue, year, doi
        The publication; `doi` may be empty. A room of ours, of which nothing was printed, has a
        title alone.
    summary : str
        One sentence.
    experiments : callable() -> sequence of Experiment
        A callable, as `solvers`, so that the card itself imports nothing heavy; see `lazily`.
    solvers : callable() -> mapping of str to Solver
        By name.
    defaults : mapping of problem to Defaults
        The solvers that its public calls and the command take.
    status : {"complete", "draft"}
        A draft needs no recorded runs and no `RESULTS.md`; the tests ask everything else of it.
    claims : tuple of MainClaim
        Its main claims, the first one first; the first screen tells their verdicts.
    """

    name: str
    tag: str
    title: str
    authors: str
    venue: str
    year: int
    doi: str
    summary: str
    experiments: Callable[[], Sequence[Experiment]]
    solvers: Callable[[], Mapping[str, Solver]]
    defaults: Mapping[ProblemName, Defaults]
    status: Literal["complete", "draft"] = "complete"
    claims: tuple[MainClaim, ...] = ()

    @property
    def is_printed(self) -> bool:
        """Whether somebody published it; a room of ours has experiments, and no print."""
        return bool(self.authors)

    @property
    def publication(self) -> str:
        """Who published it where and when, behind its title: ``", authors, venue, year"``."""
        return f", {self.authors}, {self.venue}, {self.year}" if self.is_printed else ""


# --------------------------------------------------------------------------- experiments

Scope = Literal["run", "kernels", "end_to_end", "steps"]
"""Clocks, never mixed.

``run``: device-resident input to device-resident answer; ``kernels``: device time alone;
``end_to_end``: host to host; ``steps``: wall time of each step, with a synchronisation at every
step boundary (so their sum exceeds ``run``).
"""


Storage = Literal["host", "device", "strips"]
"""Where an instance's data is."""


@dataclass(frozen=True)
class Instance:
    """An instance by name, so that a row of measurements says how to draw it again.

    Attributes
    ----------
    family : str
        A key of `papers.common.instances.FAMILIES`.
    n : int
        Rows (and, but for matrices from files, columns).
    label : str
        The text that the paper gives to it: a cost range (``"0.1n"``, ``"n"``, ``"10n"``), the
        degree of a graph (``"d3"``), or a name. `papers.common.instances.labels` reads it.
    params : tuple of (str, value) pairs
        Keyword arguments of the family besides ``n`` and ``seed``; they overrule the label.
    seed : int
        Seed.
    storage : {"host", "device", "strips"}
        Where its data is: in the host's memory; drawn in the device's; or with several ranks, each
        of which draws its own strip.
    permuted : bool
        Whether rows and columns are in random order, by the same seed; for graphs.
    """

    family: str
    n: int
    label: str
    params: tuple[tuple[str, Any], ...] = ()
    seed: int = 1
    storage: Storage = "host"
    permuted: bool = False

    @property
    def key(self) -> str:
        """Canonical id, e.g. ``uniform/n=512/range=10n/seed=1``, then storage and permutation.

        ``/storage=device`` and ``/permuted`` stand at its end where the fields are not the usual.
        """
        stored = "" if self.storage == "host" else f"/storage={self.storage}"
        order = "/permuted" if self.permuted else ""
        return f"{self.family}/n={self.n}/range={self.label}/seed={self.seed}{stored}{order}"


@dataclass(frozen=True)
class Cell:
    """One measurement to make: a solver on an instance, under some clocks.

    Experiments that share a cell (same `key`) share the measurement. ``repeats`` may ask for more
    repetitions than the preset has (`papers.reproduce.plan.pace`), never for fewer.
    """

    solver: str  # "lopes2019:gpu"
    instance: Instance
    scopes: tuple[Scope, ...] = ("run",)
    options: tuple[tuple[str, Any], ...] = ()
    repeats: int | None = None  # None: the preset's

    @property
    def key(self) -> str:
        """Canonical id, e.g. ``lopes2019:gpu[step4=A]/uniform/n=512/range=n/seed=1``."""
        opts = ",".join(f"{k}={v}" for k, v in self.options)
        return f"{self.solver}{f'[{opts}]' if opts else ''}/{self.instance.key}"


@dataclass(frozen=True)
class Plan:
    """The circumstances that an experiment plans its cells for.

    Attributes
    ----------
    preset : {"smoke", "quick", "paper"}
        smoke: seconds, everything tiny; quick: `make reproduce` without a GPU, a minute or two;
        paper: the sizes of the paper.
    gpu : bool
        Whether "cuda" cells run on a GPU (else in the CPU executor, which wants n <= 64).
    seeds : tuple of int
        Instance seeds: those of the command line, else those of the preset. A cell of a random
        instance is planned for each.
    seeds_given : bool
        Whether the command line names them: no experiment then adds seeds of its own.
    """

    preset: Literal["smoke", "quick", "paper"]
    gpu: bool
    seeds: tuple[int, ...] = (1, 2, 3)
    seeds_given: bool = False


ComparisonKind = Literal[
    "count", "ratio", "shape", "claim", "time", "model", "goal", "correctness"
]  # fmt: skip
"""The kinds of a comparison; the first five are with print, the most comparable across machines
first. ``model``: a prediction of ours beside our measurement. ``goal``: a goal that we have set.
``correctness``: two results of ours that must be equal, or a proof that must be there."""

Verdict = Literal["agrees", "differs", "open", "not comparable", "not measured", "holds", "fails"]
"""The verdict of a comparison, see `papers.common.evidence.verdicts`; the last two are not about
print."""


@dataclass(frozen=True)
class Cause:
    """The measured cause of a difference from print.

    Attributes
    ----------
    experiment : str
        The recorded experiment that bounds the effect, ``"<paper>:<experiment>"``.
    low, high : float
        The figure that this experiment lets us expect, instead of print's: a measured figure
        outside is not explained.
    words : str
        One sentence: the cause.
    says : str
        The measured text that the experiment lets us expect, of a comparison that has no figure.
    """

    experiment: str
    low: float
    high: float
    words: str
    says: str = ""


@dataclass(frozen=True)
class Comparison:
    """One published quantity beside the measured one, or one check of our own.

    Made by the functions of `papers.common.evidence.comparisons`; the verdict is decided by
    `papers.common.evidence.verdicts.decide`, again once the interval is known.

    Attributes
    ----------
    quantity : str
        The compared quantity with its cell, e.g. ``"speedup n=512 range=n"``. It names no origin.
    kind : ComparisonKind
        For a ``model``, a ``goal`` and ``correctness`` `published` holds the expected value.
    published, measured : float or str or None
        The two values; None where one is missing.
    verdict : Verdict
        Its verdict.
    note : str
        A remark on a difference, for the reader. It never changes the verdict.
    remark : str
        Why the interval settles nothing, or "".
    origin : str
        Whose measurement it is: ``"this run"`` or ``"recorded <slug>"``. Experiments may leave it
        empty: `papers.common.evidence.judges.by_origin`, which calls them, sets it.
    tolerance : str
        The tolerance in words, as every row shows it.
    accept : (float, float) or None
        The measured figures that agree, ends included. None: `holds` decides.
    whole : bool
        Whether the whole interval has to lie in `accept`, as a claim in words asks, or whether it
        is enough that the two meet.
    holds : bool or None
        Of a statement that is no number: whether it holds of the measured values.
    low, high : float or None
        The interval of the measured figure over instances and repetitions; None: there is none,
        because nothing was repeated or because the figure is a count.
    steady : float or None
        Of a statement: the share of the resamples in which it holds.
    cause : Cause or None
        The measured cause of a difference.
    """

    quantity: str
    kind: ComparisonKind
    published: float | str | None
    measured: float | str | None
    verdict: Verdict
    note: str = ""
    remark: str = ""
    origin: str = ""
    tolerance: str = ""
    accept: tuple[float, float] | None = None
    whole: bool = False
    holds: bool | None = None
    low: float | None = None
    high: float | None = None
    steady: float | None = None
    cause: Cause | None = None


@dataclass(frozen=True)
class Experiment:
    """One table or figure of a paper (or an experiment of our own), as data.

    Attributes
    ----------
    name : str
        ``"table1"``, ``"fig05"``, ``"photos"`` ...
    title : str
        The caption in our own words.
    kind : {"table", "figure", "picture"}
        Figures and pictures also write a PNG.
    cells : callable(Plan) -> sequence of Cell
        The cells that must be measured.
    table : callable(measurements, published) -> DataFrame
        `measurements`: the certified rows of the run and of the recorded runs, reduced to medians
        per cell and metric (columns: `papers.reproduce.run.measurements.SUMMARY`); `published`:
        callable(name) -> DataFrame, the paper's CSV of that name. Returns a tidy table with the
        published and the measured columns side by side.
    figure : callable(table) -> matplotlib Figure, or None
        Drawn from the table alone, like the paper's.
    compare : callable(table) -> sequence of Comparison
        From the table alone; it is given the rows of one origin at a time.
    artifacts : callable(run directory, Plan) -> sequence of (caption, PNG path), or None
        For pictures: writes files of its own under the given directory.
    unavailable : str
        Why the experiment cannot be measured yet; empty when it can.
    interleaved : bool
        Whether a ratio of its cells is the result: those of one instance are then measured in turn,
        the first repetition of all, then the second of all, so that a machine that becomes slower
        or faster meanwhile does so for all of them.
    """

    name: str
    title: str
    kind: Literal["table", "figure", "picture"]
    cells: Callable[[Plan], Sequence[Cell]]
    table: Callable[[pd.DataFrame, Callable[[str], pd.DataFrame]], pd.DataFrame]
    figure: Callable[[pd.DataFrame], Figure] | None = None
    compare: Callable[[pd.DataFrame], Sequence[Comparison]] | None = None
    artifacts: Callable[[Any, Plan], Sequence[tuple[str, Any]]] | None = None
    unavailable: str = ""
    interleaved: bool = False
