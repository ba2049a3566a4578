"""Runs of small matrices on one core, warm and cold, beside lapx and SciPy: ``one_core_cold.csv``.

``python -m papers.synthesis.evidence.programs.one_core_cold OUT.csv [REPEATS]`` measures anew:
medians in microseconds of `synthesis:one_core`'s run, and of the calls of the others, *warm* and
*cold* as in `papers.synthesis.evidence.programs.host_paths`. The rows are of the code that
measures, which the column ``code`` names. The file has two turns of two codes, one after the other
on one core.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from papers.common.gpu import device, environment
from papers.common.gpu.environment import MissingPackageError
from papers.common.instances.drawing import draw
from papers.common.instances.files import MissingInstanceError
from papers.common.instances.structured import PEERS_SEED
from papers.common.model import Instance
from papers.synthesis.baselines.assignment import SOLVERS as OTHERS
from papers.synthesis.evidence.programs.host_paths import medians
from papers.synthesis.evidence.programs.table import asked, write
from papers.synthesis.one_core.solver import SOLVER as ONE_CORE

INSTANCES = (
    *(Instance("uniform", n, label, seed=1) for n in (32, 64, 100, 128) for label in ("n", "10n")),
    *(Instance("floats", n, "normal", seed=1) for n in (64, 128)),
    Instance("structured", 300, "product", seed=PEERS_SEED),
    Instance("assignment_file", 100, "assign100"),
)

CODES = {"one_core": ONE_CORE, **{name: OTHERS[name] for name in ("lapjv", "lapjvs", "scipy")}}


def rows(instances: Sequence[Instance], repeats: int) -> Iterator[dict[str, Any]]:
    """Yield a row an instance and a code; without those whose file or package is missing."""
    at = environment.commit()[:12]
    for instance in instances:
        try:
            cost = draw(instance)
        except MissingInstanceError:
            continue
        for name, solver in CODES.items():
            try:
                state = solver.upload(cost)
            except MissingPackageError:
                continue
            yield {
                "code": at, "family": instance.family, "n": instance.n, "costs": instance.label,
                "by": name,
                **medians(partial(solver.run, state), repeats),
            }  # fmt: skip


def main(path: str, repeats: str = "100") -> None:
    """Write the table."""
    device.select("cpu")
    write(rows(INSTANCES, int(repeats)), path)


if __name__ == "__main__":
    main(*asked(__doc__))
