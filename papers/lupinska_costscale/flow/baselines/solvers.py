"""Solvers of maximum flows on the CPU, by name.

| name | method |
| --- | --- |
| `push_relabel` | [LU11 Alg.4.2] with a queue; option `heuristics` |
| `pymaxflow` | PyMaxflow: Boykov and Kolmogorov's augmenting paths (an optional package) |
| `scipy_flow` | `scipy.sparse.csgraph.maximum_flow` (Dinic) |
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from papers.common.model import Solver
from papers.lupinska_costscale.flow.baselines import push_relabel, rivals


def _solver(name: str, title: str, **stages: Any) -> Solver:
    return Solver(name=name, title=f"{title} (CPU)", device="cpu", problem="flow", **stages)


SOLVERS: Mapping[str, Solver] = {
    solver.name: solver
    for solver in (
        _solver(
            "push_relabel",
            "push-relabel",
            upload=push_relabel.upload,
            run=push_relabel.run,
            download=push_relabel.download,
        ),
        _solver(
            "pymaxflow",
            "PyMaxflow",
            upload=rivals.upload_pymaxflow,
            run=rivals.run_pymaxflow,
            download=rivals.download_pymaxflow,
            proof=rivals.prove_pymaxflow,
        ),
        _solver(
            "scipy_flow",
            "SciPy",
            upload=rivals.upload_scipy,
            run=rivals.run_scipy,
            download=rivals.download_scipy,
            proof=rivals.prove_scipy,
            limits={"wide capacities": "32 bits"},
        ),
    )
}
"""Each takes a `Network` or a `Grid`."""
