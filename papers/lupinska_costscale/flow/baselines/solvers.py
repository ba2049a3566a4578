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

from papers.common.model import Limit, Solver
from papers.lupinska_costscale.flow.baselines import push_relabel, rivals


def _solver(
    name: str,
    title: str,
    upload: Any,
    run: Any,
    download: Any,
    limits: Mapping[Limit, str] | None = None,
) -> Solver:
    return Solver(name, f"{title} (CPU)", "cpu", "flow", upload, run, download, limits=limits or {})


SOLVERS: Mapping[str, Solver] = {
    solver.name: solver
    for solver in (
        _solver(
            "push_relabel",
            "push-relabel",
            push_relabel.upload,
            push_relabel.run,
            push_relabel.download,
        ),
        _solver(
            "pymaxflow",
            "PyMaxflow",
            rivals.upload_pymaxflow,
            rivals.run_pymaxflow,
            rivals.download_pymaxflow,
            {"time limits": "takes no option seconds"},
        ),
        _solver(
            "scipy_flow",
            "SciPy",
            rivals.upload_scipy,
            rivals.run_scipy,
            rivals.download_scipy,
            {"wide capacities": "32 bits", "time limits": "takes no option seconds"},
        ),
    )
}
"""Each takes a `Network` or a `Grid`."""
