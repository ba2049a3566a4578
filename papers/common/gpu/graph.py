"""Launches that the host enqueues together: a CUDA graph of each straight run of them.

A launch from Python costs some ten microseconds of the host's time, one from C++ two. A `Queue`
gathers the launches between two answers that the host waits for and enqueues them as one graph,
which is built at its first use. The loop itself stays the host's: which launches come next hangs
on an answer. Without a GPU, and under a clock of the kernels or a hook that wants to see each of
them, the same launches are called one by one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from papers.common.gpu import clocks, device
from papers.common.gpu.launch import Launch


class Graph:
    """Launches that run one after the other; calling it enqueues them.

    Parameters
    ----------
    launches : iterable of Launch
        In their order; none of them cooperative.
    """

    def __init__(self, launches: Iterable[Launch]) -> None:
        self.launches = tuple(launches)
        self._graph: Any = None
        self._stream: Any = None
        if device.describe().is_gpu:
            self._build()

    def _build(self) -> None:
        from cuda.core.graph import GraphDefinition
        from numba.cuda.cudadrv import driver

        node: Any = GraphDefinition()
        self._definition = node  # it keeps the kernels' arguments
        for launch in self.launches:
            node = launch.add_to(node)
        self._graph = self._definition.instantiate()
        self._stream = driver._to_core_stream(0)

    def __call__(self) -> None:
        """Enqueue all of them, each counted."""
        watched = clocks.kernel_clock is not None or any(one.on_enqueue for one in self.launches)
        if self._graph is None or watched:
            for launch in self.launches:
                launch()
            return
        for launch in self.launches:
            launch.count += 1
        self._graph.launch(self._stream)


class Queue:
    """Launches that wait until their end matters to the host; then they go as one graph."""

    def __init__(self) -> None:
        self._waiting: list[Launch] = []
        self._graphs: dict[tuple[int, ...], Graph] = {}

    def add(self, launch: Launch) -> None:
        """Let a launch wait for the next `flush`."""
        self._waiting.append(launch)

    def flush(self) -> None:
        """Enqueue what waits, as a graph if it is more than one launch."""
        waiting = self._waiting
        if not waiting:
            return
        self._waiting = []
        if len(waiting) == 1:
            return waiting[0]()
        key = tuple(map(id, waiting))  # a graph keeps its launches: their ids stay theirs
        if key not in self._graphs:
            self._graphs[key] = Graph(waiting)
        self._graphs[key]()

    def forget(self) -> None:
        """Drop what waits: a run was given up."""
        self._waiting = []
