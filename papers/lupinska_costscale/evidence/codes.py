"""The codes that the experiments compare, by their names in tables, and how cells ask for them.

A code is a solver; what else a cell asks for stands in its options. What a table is about is read
back from a measurement's solver and options, so that a recorded run needs no list of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from papers.common.model import Cell, Instance, Scope

PAPER = "lupinska_costscale"

# ------------------------------------------------------------------------------- assignment

LOCK_FREE = "lock-free refine"
TUNED = "refine, a warp a node"
ONE_LAUNCH = "refine in one launch"
SEQUENTIAL = "sequential cost scaling"
SCIPY = "SciPy"
BATCH, LOOP = "batch", "SciPy's loop"
RIVALS = {
    "Lopes et al.": "lopes2019:gpu",
    "Date & Nagi": "datenagi2016:tree",
    "Kawtikwar et al.": "kawtikwar_opts:opt4",
}
"""GPU assignment solvers of other papers."""

OF_ASSIGNMENT = {
    LOCK_FREE: f"{PAPER}:refine",
    TUNED: f"{PAPER}:refine",
    ONE_LAUNCH: f"{PAPER}:refine",
    SEQUENTIAL: f"{PAPER}:cost_scaling",
    **RIVALS,
    SCIPY: f"{PAPER}:scipy",
    BATCH: f"{PAPER}:batch_of_many",
    LOOP: f"{PAPER}:scipy_loop",
}
"""Solver by code, in the order in which tables name them."""

OURS = (LOCK_FREE, SEQUENTIAL)
"""The paper's two halves; `TUNED` and `ONE_LAUNCH` are ours instead of the first."""

TOLD_BY = {
    LOCK_FREE: ("configuration", "paper"),
    TUNED: ("configuration", "tuned"),
    ONE_LAUNCH: ("loop", "device"),
}
"""The option that tells these three, which one solver has. Runs that were recorded before there
were configurations have none: they are the paper's."""

# ------------------------------------------------------------------------------- maximum flow

HYBRID, GPU_RELABEL, ASYNC, PYMAXFLOW = "hybrid", "GPU relabel", "async relabel", "PyMaxflow"
BLOCKING, HONG, ON_CPU, SCIPY_FLOW = (
    "blocking",
    "lock-free",
    "sequential push-relabel",
    "SciPy flow",
)
FLOW_ON_GPU = {
    BLOCKING: f"{PAPER}:blocking",
    HONG: f"{PAPER}:lock_free",
    HYBRID: f"{PAPER}:hybrid",
    ASYNC: f"{PAPER}:async_relabel",
    GPU_RELABEL: f"{PAPER}:gpu_relabel",
}
"""The versions that the author compares, and the one past her."""

REDRAWN_EVERY = 16
REDRAWN = f"{BLOCKING}, redraw_every={REDRAWN_EVERY}"
"""The blocking version with heights that the host draws anew every so many turns, which is ours.
The paper's has ``redraw_every=0``; without new heights it is as slow as the lock-free one."""

OF_FLOW = {
    **FLOW_ON_GPU,
    ON_CPU: f"{PAPER}:push_relabel",
    PYMAXFLOW: f"{PAPER}:pymaxflow",
    SCIPY_FLOW: f"{PAPER}:scipy_flow",
}

SOLVER_OF = {**OF_ASSIGNMENT, **OF_FLOW}
CODE_OF = {s: code for code, s in SOLVER_OF.items() if code not in (TUNED, ONE_LAUNCH)}
KERNELS = (LOCK_FREE, TUNED, ONE_LAUNCH, BATCH, *RIVALS, *FLOW_ON_GPU)
"""Codes that run on the GPU, or in the executor where there is none."""

# ------------------------------------------------------------------------------- print

ALPHA = 10
CYCLE_ASSIGNMENT = 500_000
CYCLE_FLOW = 7000
CLAIMED_S, CLAIMED_N, CLAIMED_C = 1 / 20, 30, 100
"""[LU11 sec.6]: about 1/20 s for up to 30 vertices a side and costs up to 100."""

EVERY = "both, after every run"
HEURISTICS: dict[str, tuple[str, bool]] = {
    "none": ("none", False),
    "price updates": ("first", False),
    "arc fixing": ("none", True),
    "both": ("first", True),
    EVERY: ("every", True),
}
"""Names of the combinations of [LU11 sec.5.2]: (price_updates, arc_fixing). Print has ``both``, and
says that running them more often was no better."""

VERSIONS = ("5.0", "5.1", "5.2")
"""Algorithms of [LU11 sec.5.1]; the last is the author's."""

# ------------------------------------------------------------------------------- cells


def cell(
    code: str,
    instance: Instance,
    scopes: tuple[Scope, ...] = ("run",),
    repeats: int | None = None,
    **options: Any,
) -> Cell:
    """Return the cell that times a code on an instance; `options` are its solver's."""
    given = tuple(options.items()) + ((TOLD_BY[code],) if code in TOLD_BY else ())
    return Cell(SOLVER_OF[code], instance, scopes, given, repeats)


def code_of(solver: str, options: str) -> tuple[str, str]:
    """Return the code of a measurement, and its options without what tells the code.

    The code is ``""`` where the solver is none of ours.
    """
    given = options_of(options)
    code = CODE_OF.get(solver, "")
    if code == LOCK_FREE:
        for other, (name, value) in TOLD_BY.items():
            if given.get(name) == value:
                del given[name]
                code = other
                break
    return code, ",".join(f"{name}={value}" for name, value in given.items())


def with_heuristics(code: str, name: str) -> dict[str, Any]:
    """Return the options of one of `HEURISTICS`; the sequential form updates prices or does not."""
    updates, fixing = HEURISTICS[name]
    chosen = updates if code == LOCK_FREE else updates != "none"
    return {"price_updates": chosen, "arc_fixing": fixing}


def costs(n: int, largest: int, seed: int) -> Instance:
    """Return a complete bipartite graph, n a side, with costs uniform in 0 .. `largest`."""
    return Instance("uniform", n, str(largest + 1), seed=seed)


def options_of(text: str) -> dict[str, str]:
    """Return a measurement's options by name."""
    return dict(part.partition("=")[::2] for part in text.split(",") if part)


def heuristics_of(options: Mapping[str, str]) -> str:
    """Return the name of the combination that options ask for; a solver's default is both."""
    updates = {"True": "first", "False": "none"}
    asked = options.get("price_updates", "first")
    pair = updates.get(asked, asked), options.get("arc_fixing", "True") == "True"
    return next((name for name, known in HEURISTICS.items() if known == pair), "")


# ------------------------------------------------------------------------------- flow instances

REAL = "grid_cut"
WORST = "ak-4102"
SYNTHETIC = "segmentation"


@cache
def facts() -> pd.DataFrame:
    """Return what is known of the real flow instances, by name: `instances.csv`."""
    path = Path(__file__).with_name("instances.csv")
    return pd.read_csv(path).set_index("name")


def grids() -> list[Instance]:
    """Return the real grid instances: segmentation, restoration, stereo, optical flow."""
    rows = facts().drop(index=WORST)
    return [Instance(REAL, int(nodes), str(name)) for name, nodes in rows["nodes"].items()]


SOME_GRIDS = (
    "seg_chelsea", "den_page", "stereo_tsukuba_it0_a05", "oflow_rubberwhale_dy+0_dx+0",
)  # fmt: skip
"""One real grid of each kind, for sweeps and for the slower versions."""


def some_grids() -> list[Instance]:
    """Return the real grids of `SOME_GRIDS`."""
    return [one for one in grids() if one.label in SOME_GRIDS]


MOST_SIDE = {HONG: 32, BLOCKING: 1024, HYBRID: 1024, ASYNC: 1024, SCIPY_FLOW: 256, ON_CPU: 256}
"""Sides of grids beyond which a version takes seconds a run, or minutes. Without relabeling from
the sink stranded excess climbs to |V| one level after the other, and the steps grow with the square
of the pixels. The sequential version is also given `SOME_GRIDS`."""


def too_slow(code: str, instance: Instance) -> bool:
    """Whether a version is not planned on a grid without a limit of time: see `MOST_SIDE`."""
    if code == ON_CPU and instance.label in SOME_GRIDS:
        return False
    side = instance.n if instance.family == SYNTHETIC else int(instance.n**0.5)
    return code in MOST_SIDE and side > MOST_SIDE[code]


PATIENCE_S = 2
"""Seconds after which the two versions without relabeling from the sink, `HONG` and `BLOCKING` as
printed, give up a grid beyond `MOST_SIDE`. All versions but `BLOCKING`, which takes grids alone,
have as long for `ak-4102`."""


def worst() -> Instance:
    """Return `ak-4102`, a worst case for many solvers and no grid."""
    return Instance("dimacs_flow", int(facts().loc[WORST, "nodes"]), WORST)


def segmentation(side: int, photo: str = "camera") -> Instance:
    """Return the two-label segmentation of a photograph, side x side pixels."""
    return Instance(SYNTHETIC, side, photo)


def known_value(family: str, label: str) -> float:
    """Return the known maximum flow of an instance, NaN where there is none."""
    if family not in (REAL, "dimacs_flow") or label not in facts().index:
        return float("nan")
    return float(facts().loc[label, "maximum_flow"])
