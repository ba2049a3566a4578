"""``reproduce prepare``: large graphs that experiments need, drawn ahead into the cache."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from multiprocessing import get_context
from typing import Any, cast

from papers.common import instances
from papers.common.instances import cache
from papers.common.model import Experiment, Instance, Plan
from papers.common.problems.graph import Graph
from papers.reproduce.registry import UsageError


def large(experiments: Iterable[tuple[str, Experiment]], plan: Plan) -> list[Instance]:
    """Return the drawn graphs of at least `cache.LEAST_ROWS` rows that the experiments name.

    A permuted graph counts as the one that it permutes.
    """
    found: dict[Instance, None] = {}
    for _, experiment in experiments:
        if experiment.unavailable:
            continue
        for cell in experiment.cells(plan):
            family = instances.FAMILIES.get(cell.instance.family)
            if family and family.can_be_kept and cell.instance.n >= cache.LEAST_ROWS:
                found[replace(cell.instance, permuted=False)] = None
    return list(found)


def draw(graphs: Sequence[Instance], jobs: int, report: Callable[[str], Any]) -> None:
    """Draw those graphs that are not kept yet, `jobs` at a time, and keep them.

    Raises
    ------
    UsageError
        If `jobs` is below 1.
    """
    if jobs < 1:
        raise UsageError(f"--jobs {jobs} is below 1")
    wanted = [one for one in graphs if not cache.path(one).is_file()]
    if not wanted:
        report("no large graph is left to draw")
        return
    with ProcessPoolExecutor(min(jobs, len(wanted)), mp_context=get_context("spawn")) as pool:
        running = {pool.submit(_draw_one, one): one for one in wanted}
        for done in as_completed(running):
            seconds, edges = done.result()
            report(f"{running[done].key}: {edges} edges, {seconds:.1f} s")


def _draw_one(instance: Instance) -> tuple[float, int]:
    begun = time.monotonic()
    graph = cast(Graph, instances.draw(instance))
    cache.keep(instance, graph)
    return time.monotonic() - begun, graph.edges
