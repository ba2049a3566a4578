"""The codes that [D13] compares, by the names of its tables, and how a cell asks for each.

A code is a solver with options. The code of a measurement is read back from its solver and options,
so that a recorded run needs no list of its own.

The eight variants run in print's configuration wherever they stand beside print; ours stands beside
them as `TUNED`. (Cells of older records name no configuration: theirs was ours.)
"""

from __future__ import annotations

from itertools import product

from papers.common import cores as cores_of
from papers.common.model import Cell, Instance, Scope
from papers.deveci_matching.beyond import configuration as ideas
from papers.deveci_matching.configuration import CONFIGURATIONS

PAPER = "deveci_matching"
ALGORITHMS = {"APFB": "apfb", "APsB": "apsb"}
SEARCHES = {"GPUBFS": "plain", "GPUBFS-WR": "wr"}
MODES = {"MT": "mt", "CT": "ct"}

VARIANTS = {
    f"{algorithm} {kernel} {mode}": (algorithm, kernel, mode)
    for algorithm, kernel, mode in product(ALGORITHMS, SEARCHES, MODES)
}
"""The eight variants, in the order of [D13 Table 1]."""

BEST = "APFB GPUBFS-WR CT"
"""The paper's best variant, which it calls GPU from Table 2 on."""

RESIDENT = {
    f"{code.removesuffix('MT')}resident": (algorithm, kernel, "resident")
    for code, (algorithm, kernel, mode) in VARIANTS.items()
    if mode == "MT"
}
"""MT in another reading of its "#threads" (G7), in print's configuration."""

TUNED = f"{BEST}, tuned"
"""`BEST` in our configuration."""

BEYOND = "beyond"
BY_LEVELS = "beyond by levels"
"""`BEYOND` without jumps: a search of any length goes level by level."""
SEQUENTIAL = {"HK": "hk", "PFP": "pfp"}
MULTICORE = {"P-PFP": "p_pfp", "P-DBFS": "p_dbfs", "P-HK": "p_hk"}
GRAFT = "MS-BFS-Graft"
"""A multicore rival of today, not in print."""

OTHERS = {"HKDW": "hkdw", "PFP packed": "pfp_packed", "SciPy": "scipy"}
PLAIN = {**SEQUENTIAL, **MULTICORE, GRAFT: "ms_bfs_graft", **OTHERS, BEYOND: "beyond"}

CODES = (
    *VARIANTS,
    TUNED,
    BEYOND,
    BY_LEVELS,
    *SEQUENTIAL,
    "HKDW",
    "PFP packed",
    *MULTICORE,
    GRAFT,
    "SciPy",
)
"""All codes, in the order in which tables name them."""

ON_GPU = (*VARIANTS, TUNED, BEYOND, BY_LEVELS)

ON_THE_WAY = (
    "APsB GPUBFS MT", "APFB GPUBFS MT", "APFB GPUBFS-WR MT",
    BEST,
    *(f"{BEST}, {name}" for name in CONFIGURATIONS if name != "paper"),
    *(f"{BEYOND}, {name}" for name in ideas.CONFIGURATIONS if name != "tuned"),
    BEYOND,
)  # fmt: skip
"""From print's slowest variant to `beyond`, each the one before but for a choice; a solver changes
once."""

KERNELS = (*dict.fromkeys((*ON_GPU, *ON_THE_WAY, *RESIDENT)),)
"""All codes that run on a GPU."""

_NEVER = ("jump_after", 2**31 - 1)
"""The option of `BY_LEVELS`: `papers.deveci_matching.beyond.solver.NEVER`."""

WORK_LIMIT = 1_000_000_000
"""Edges that a CPU code may look at before it stops: some ten seconds, more than a minute where
each waits for memory."""

THREADS = 8
"""Threads of the multicore codes in print."""

MORE_THREADS = 16
"""Threads of P-DBFS in a column of our own, on machines that have them."""

OTHER_THREADS = tuple(
    f"{code}-{count}"
    for code in (*MULTICORE, GRAFT)
    for count in range(1, MORE_THREADS + 1)
    if count != THREADS
)
"""The multicore codes at other numbers of threads than print's: no code of print's."""

EXCLUDED, INCLUDED, ON_DEVICE = "excluded", "included", "on the device"
"""The place of the start: before the clock as in print, within the clock, or there by the GPU."""

KARP_SIPSER, KARP_SIPSER_INCLUDED = "Karp-Sipser, excluded", "Karp-Sipser, included"
"""Karp and Sipser's start, before the clock or within."""

COPIED = "excluded, copies included"
"""The start before the clock as in print, and the copies of graph and answer within [D13 sec.4]."""

STARTS: dict[str, tuple[tuple[str, object], ...]] = {
    EXCLUDED: (),
    INCLUDED: (("timed_start", True),),
    ON_DEVICE: (("initial", "device"),),
    COPIED: (("timed_copies", True),),
    KARP_SIPSER: (("initial", "karp_sipser"),),
    KARP_SIPSER_INCLUDED: (("initial", "karp_sipser"), ("timed_start", True)),
}


def cell(
    code: str,
    instance: Instance,
    repeats: int | None = None,
    start: str = EXCLUDED,
    cores: int = THREADS,
    scopes: tuple[Scope, ...] = ("run",),
    levels: bool = False,
    limit: int | None = WORK_LIMIT,
) -> Cell:
    """Return the cell that times a code on an instance.

    Parameters
    ----------
    code : str
        One of `CODES` or `KERNELS`.
    instance : Instance
    repeats : int, optional
        A number of repetitions beyond the preset's.
    start : {"excluded", "included", "on the device"} or a start of Karp and Sipser
        The place of the start; only `beyond` takes the third one.
    cores : int
        Threads of a multicore code; fewer if the machine has fewer cores.
    scopes : tuple of Scope
        The clocks.
    levels : bool
        Whether a variant counts the levels of each iteration one by one, which gives hundreds of
        numbers.
    limit : int or None
        Edges that a CPU code may look at; None for no limit but that of a right code.
    """
    options: tuple[tuple[str, object], ...] = ()
    plain, _, configuration = code.partition(", ")
    names = {**VARIANTS, **RESIDENT}.get(plain)
    if names:
        algorithm, kernel, mode = names
        values = ALGORITHMS[algorithm], SEARCHES[kernel], MODES.get(mode, mode)
        options = tuple(zip(("algorithm", "bfs", "threads"), values, strict=True))
        options += (("configuration", configuration or "paper"),)
        options += () if levels else (("levels_kept", 0),)
    elif configuration:
        options += (("configuration", configuration),)
    if code in (*MULTICORE, GRAFT):
        options += (("threads", cores_of.threads(cores)),)
    if code not in (*KERNELS, "SciPy") and limit is not None:
        options += (("work_limit", limit),)
    if code == BY_LEVELS:
        options += (_NEVER,)
    solver = "gpu" if names else PLAIN[BEYOND if code == BY_LEVELS else plain]
    return Cell(f"{PAPER}:{solver}", instance, scopes, options + STARTS[start], repeats)


def code_of(solver: str, options: str) -> tuple[str, str]:
    """Return the code and the start that a measurement's solver and options name.

    A multicore code bears the name that it has in print at print's eight threads alone. At any
    other number of them it is another code, ``"P-DBFS-2"``, and no table sets it beside print. A
    variant bears its name in print's configuration, and in that of older records, which name none.
    A solver that is none of ours and an option that no code has give the code ``""``.
    """
    owner, _, name = solver.partition(":")
    given = dict(part.partition("=")[::2] for part in options.split(",") if part)
    timed, initial = given.pop("timed_start", "") == "True", given.pop("initial", "")
    start = INCLUDED if timed else EXCLUDED
    start = COPIED if given.pop("timed_copies", "") == "True" else start
    if initial == "karp_sipser":
        start = KARP_SIPSER_INCLUDED if timed else KARP_SIPSER
    if initial == "device":
        start = ON_DEVICE
    for ignored in ("work_limit", "levels_kept"):
        given.pop(ignored, None)
    if owner != PAPER:
        return "", start
    configuration = given.pop("configuration", "")
    if name == "gpu":
        chosen = tuple(given.pop(key, "") for key in ("algorithm", "bfs", "threads"))
        codes: dict[tuple[str, ...], str] = {
            (ALGORITHMS[algorithm], SEARCHES[kernel], MODES.get(mode, mode)): code
            for code, (algorithm, kernel, mode) in {**VARIANTS, **RESIDENT}.items()
        }
        code = codes.get(chosen, "")
        if configuration not in ("", "paper"):
            code = f"{code}, {configuration}" if code and configuration in CONFIGURATIONS else ""
    else:
        code = {plain: code for code, plain in PLAIN.items()}.get(name, "")
        if code in (*MULTICORE, GRAFT):
            count = int(given.pop("threads", THREADS))
            code += f"-{count}" if count != THREADS else ""
        if code == BEYOND and given.get(_NEVER[0]) == str(_NEVER[1]):
            code = BY_LEVELS
            del given[_NEVER[0]]
        if configuration:
            known = code == BEYOND and configuration in ideas.CONFIGURATIONS
            code = f"{code}, {configuration}" if known else ""
    return ("" if given else code), start
