"""Lists the solvers of [K21] by name: the six versions, the CPU codes, and the profiles.

Without a GPU the default is Lopes's sequential code, from which the report starts too.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from papers.common.model import Solver
from papers.kawtikwar_opts import solver
from papers.kawtikwar_opts.baselines import solvers as baselines
from papers.kawtikwar_opts.evidence import profile
from papers.lopes2019.baselines import solvers as lopes

TITLES = {
    "baseline": "Lopes's solver, one counter of zeros, CUDA",
    "opt0": "Opt 0: reduction for atomics, CUDA",
    "opt1": "Opt 1: add, subtract and compress fused, CUDA",
    "opt2": "Opt 2: one cooperative launch, CUDA",
    "opt3": "Opt 3: slack in a register, CUDA",
    "opt4": "Opt 4: extra barrier, CUDA",
}

VERSIONS = {
    name: Solver(
        name=name,
        title=title,
        device="cuda",
        problem="assignment",
        upload=partial(solver.upload, version=name),
        run=solver.run,
        download=solver.download,
        steps=solver.STEPS if name in solver.HOST_LOOP else (),
        variants={"paper": {"configuration": "paper"}} if name == "baseline" else {},
    )
    for name, title in TITLES.items()
}

SOLVERS: Mapping[str, Solver] = {
    **VERSIONS,
    **baselines.SOLVERS,
    "cpu_o4": lopes.SOLVERS["cpu_o4"],
    **profile.SOLVERS,
}
