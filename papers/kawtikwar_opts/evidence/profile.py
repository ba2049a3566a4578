"""Profiles beside the clocks: the host's calls, hardware counters, loads in the machine code.

The report uses Nsight Systems for the host's calls [K21 Fig.5] and Nsight Compute for the caches
[K21 Table I]. A profile is a solver here, so that it is planned, recorded and certified like any
other: it solves with one of the versions, and its findings are counters of the answer. Its option
``what`` is one of

``calls``
    The host's time in launches, waits and copies, by its own clock (`HostClock`). No driver's
    trace: a launch is everything from the call to its return, Python included. The copies are the
    upload, as in print, and the answer.
``ncu``
    L1 hit rate, compute and memory throughput of the kernels of Table I, and executed global loads
    of the one-launch versions, by ``ncu`` if it is on the path and allowed to read the counters;
    ``ncu_status`` says which (`papers.kawtikwar_opts.evidence.tables.NCU`).
``loads``
    Global loads in PTX and SASS (`papers.kawtikwar_opts.evidence.sass`), which need no GPU.

``ncu`` profiles ``python -m papers.kawtikwar_opts.evidence.profile N VERSION CONFIGURATION``: one
solve.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import os
import re
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

from papers.common.gpu import device
from papers.common.gpu.launch import Launch
from papers.common.gpu.signals import Mailbox
from papers.common.model import Assignment, Solver
from papers.kawtikwar_opts import solver
from papers.kawtikwar_opts.evidence.codes import ONE_LAUNCH
from papers.kawtikwar_opts.evidence.tables import METRICS, NCU, NCU_KERNELS

WHAT = ("calls", "ncu", "loads")

# ------------------------------------------------------------------------------- the host's calls


class HostClock:
    """The host's time in launches, waits (for a word, for the device), and copies.

    Attributes
    ----------
    calls : dict of str to int
        Number of calls by ``launch``, ``wait``, ``copy``.
    ns : dict of str to int
        Their time in nanoseconds, including the clock's own (some 0.2 us a call).
    total_ns : int
        Time inside the clock's blocks.
    """

    def __init__(self) -> None:
        self.calls = dict.fromkeys(("launch", "wait", "copy"), 0)
        self.ns = dict.fromkeys(self.calls, 0)
        self.total_ns = 0

    def _clocked(self, call: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any) -> Any:
            start = time.perf_counter_ns()
            try:
                return function(*args)
            finally:
                self.ns[call] += time.perf_counter_ns() - start
                self.calls[call] += 1

        return timed

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Put the clock around launches, waits and copies to the host inside the block."""
        before = Launch.__call__, Mailbox.wait, device.to_host, device.synchronize
        Launch.__call__ = self._clocked("launch", before[0])  # type: ignore[method-assign]
        Mailbox.wait = self._clocked("wait", before[1])  # type: ignore[method-assign]
        device.to_host = self._clocked("copy", before[2])  # type: ignore[assignment]
        device.synchronize = self._clocked("wait", before[3])  # type: ignore[assignment]
        start = time.perf_counter_ns()
        try:
            yield
        finally:
            self.total_ns += time.perf_counter_ns() - start
            Launch.__call__, Mailbox.wait, device.to_host, device.synchronize = before  # type: ignore[method-assign]

    @contextmanager
    def watch_uploads(self) -> Iterator[None]:
        """Put the clock around `device.to_device` inside the block; nothing else is counted."""
        before = device.to_device
        device.to_device = self._clocked("copy", before)  # type: ignore[assignment]
        spent = self.ns["copy"]
        try:
            yield
        finally:
            self.total_ns += self.ns["copy"] - spent
            device.to_device = before  # type: ignore[assignment]

    def copy(self) -> HostClock:
        """Return a clock that goes on from this one's times."""
        other = HostClock()
        other.calls, other.ns, other.total_ns = dict(self.calls), dict(self.ns), self.total_ns
        return other

    def counters(self) -> dict[str, int]:
        """Return calls and microseconds by name, and the microseconds between the calls."""
        found = {}
        for call, number in self.calls.items():
            found[f"host_{call}_calls"] = number
            found[f"host_{call}_us"] = round(self.ns[call] / 1e3)
        rest = self.total_ns - sum(self.ns.values())
        return {**found, "host_rest_us": round(rest / 1e3)}


# ------------------------------------------------------------------------------- Nsight Compute

QUERIES = {
    "l1_hit_rate": "l1tex__t_sector_hit_rate.pct",
    "compute_throughput": "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "memory_throughput": "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
    "global_loads": "smsp__inst_executed_op_global_ld.sum",
}
"""Nsight Compute's names of the metrics; the last is a count."""

SKIPPED, PROFILED = 40, 20
"""The launches that are skipped (from n = 256 on) and those that are profiled: the first
compression follows step 1, and finds nothing in the caches."""

NCU_LIMIT_S = 240.0
ROOT = Path(__file__).resolve().parents[3]
"""The folder of the package: the profiled program must find the same one."""


def ncu_command(path: str, n: int, version: str, configuration: str = "tuned") -> list[str]:
    """Return the command line that profiles one solve of order `n` by `version`.

    Parameters
    ----------
    path : str
        The program ``ncu``.
    n : int
        Order; the instance is the report's, seed 1.
    version : str
        Kernels of a host loop in Table I are profiled `PROFILED` times, a one-launch kernel once.
    configuration : str
        Of the version.
    """
    kernels = "|".join(NCU_KERNELS[version])
    skipped = SKIPPED if n >= 256 else 0
    some = ["--launch-skip", str(skipped), "--launch-count", str(PROFILED)]
    return [
        path, "--csv", "--print-units", "base", "--metrics", ",".join(QUERIES.values()),
        "--kernel-name-base", "demangled", "--kernel-name", f"regex:.*({kernels}).*",
        *(["--launch-count", "1"] if version in ONE_LAUNCH else some),
        sys.executable, "-m", "papers.kawtikwar_opts.evidence.profile", str(n), version,
        configuration,
    ]  # fmt: skip


def parse_ncu(text: str) -> dict[tuple[str, str], float]:
    """Return medians by kernel and metric in the output of ``ncu --csv``; other lines are skipped.

    Parameters
    ----------
    text : str
        A header with ``"Kernel Name"``, ``"Metric Name"``, ``"Metric Value"`` and a line a launch
        and metric, anywhere in the text.

    Returns
    -------
    dict of (str, str) to float
        By a kernel's bare name and a key of `QUERIES`.
    """
    lines = text.splitlines()
    starts = [k for k, line in enumerate(lines) if line.startswith('"ID"')]
    if not starts:
        return {}
    table = [line for line in lines[starts[0] :] if line.startswith('"')]
    names = {query: name for name, query in QUERIES.items()}
    # The longest name comes first: that of the fused kernel contains another.
    kernels = sorted({k for row in NCU_KERNELS.values() for k in row}, key=len, reverse=True)
    found: dict[tuple[str, str], list[float]] = {}
    for row in csv.DictReader(io.StringIO("\n".join(table))):
        kernel = re.search("|".join(kernels), row.get("Kernel Name") or "")
        metric = names.get(row.get("Metric Name") or "")
        value = re.fullmatch(r"[\d,]+(\.\d+)?", (row.get("Metric Value") or "").strip())
        if kernel and metric and value:
            found.setdefault((kernel[0], metric), []).append(float(value[0].replace(",", "")))
    return {key: statistics.median(values) for key, values in found.items()}


def _ask_ncu(
    path: str, n: int, version: str, configuration: str
) -> tuple[str, dict[tuple[str, str], float]]:
    search = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    try:
        done = subprocess.run(
            ncu_command(path, n, version, configuration), capture_output=True, text=True,
            check=False, timeout=NCU_LIMIT_S, env={**os.environ, "PYTHONPATH": search},
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return "failed", {}
    said = done.stdout + done.stderr
    if "ERR_NVGPUCTRPERM" in said:
        return "not permitted", {}
    found = parse_ncu(done.stdout)
    return ("measured" if found else "failed"), found


@lru_cache(maxsize=4)
def hardware_counters(n: int, configuration: str = "tuned") -> dict[str, int]:
    """Ask ``ncu`` for every version, once a process.

    Returns
    -------
    dict of str to int
        ``ncu_status`` (a place in `NCU`); ``ncu_VERSION_KERNEL_METRIC``, percentages in hundredths
        of a point, ``global_loads`` as they are.
    """
    path = shutil.which("ncu")
    if not device.describe().is_gpu or path is None:
        reason = "no GPU" if not device.describe().is_gpu else "no ncu on the path"
        return {"ncu_status": NCU.index(reason)}
    found: dict[str, int] = {}
    statuses = []
    for version in NCU_KERNELS:
        status, values = _ask_ncu(path, n, version, configuration)
        statuses.append(status)
        for (kernel, metric), value in values.items():
            scale = 100 if metric in METRICS else 1
            found[f"ncu_{version}_{kernel}_{metric}"] = round(scale * value)
        if status == "not permitted":
            break
    best = "measured" if "measured" in statuses else statuses[0]
    return {"ncu_status": NCU.index(best), **found}


# ------------------------------------------------------------------------------- machine code


@lru_cache(maxsize=4)
def loads(capability: tuple[int, int]) -> dict[str, int]:
    """Return loads and stores in the code of step 6 for doubles; none without a compiler."""
    from papers.kawtikwar_opts.evidence import sass

    probes = {version: sass.probe(version) for version in ONE_LAUNCH}
    probes["listing_3"], probes["listing_4"] = sass.one_entry_a_turn, sass.one_entry_in_a_register
    found: dict[str, int] = {}
    for name, kernel in probes.items():
        try:
            counts = sass.global_loads(kernel, "float64", capability)
        except (ImportError, OSError, RuntimeError):
            return {}
        found |= {f"{name}_{count}": value for count, value in counts.items()}
    return found


# ------------------------------------------------------------------------------- as a solver


@dataclasses.dataclass
class State:
    """A version's state, and the profile to make."""

    inner: solver.State
    what: str
    uploads: HostClock
    configuration: str = "tuned"
    clock: HostClock = dataclasses.field(default_factory=HostClock)

    @property
    def problem(self) -> Any:
        """The checked costs."""
        return self.inner.problem


def upload(cost: Any, what: str = "calls", version: str = "opt1", **options: Any) -> State:
    """Upload for a version; options and errors are those of `papers.kawtikwar_opts.solver.upload`.

    Parameters
    ----------
    cost : array_like[n, m]
    what : {"calls", "ncu", "loads"}
        See the head of this module.
    version : str
        The version that solves.
    """
    if what not in WHAT:
        raise ValueError(f"what={what!r} is not one of {', '.join(WHAT)}")
    uploads = HostClock()
    with uploads.watch_uploads():
        inner = solver.upload(cost, version=version, **options)
    return State(inner, what, uploads, str(options.get("configuration", "tuned")))


def run(state: State, trace: Callable[[str], None] | None = None) -> None:
    """Solve, under the host's clock for ``"calls"``; it has no steps to trace."""
    state.clock = state.uploads.copy()
    if state.what != "calls":
        return solver.run(state.inner)
    with state.clock.watch():
        solver.run(state.inner)


def download(state: State) -> Assignment:
    """Return the version's answer, with the profile among its counters."""
    if state.what == "calls":
        with state.clock.watch():
            answer = solver.download(state.inner)
        found = state.clock.counters()
        state.clock = HostClock()
    else:
        answer = solver.download(state.inner)
        machine = device.describe()
        if state.what == "ncu":
            found = hardware_counters(state.inner.n, state.configuration)
        else:
            found = loads(machine.compute_capability if machine.is_gpu else (9, 0))
    return dataclasses.replace(answer, counters={**answer.counters, **found})


SOLVERS: dict[str, Solver] = {
    "profile": Solver(
        name="profile",
        title="A version under a profiler",
        device="cuda",
        problem="assignment",
        upload=upload,
        run=run,
        download=download,
    ),
}


def main(n: str, version: str, configuration: str = "tuned") -> None:
    """Solve the report's instance of order `n` once [K21 sec.III.B]."""
    from papers.common import instances
    from papers.common.model import Instance

    cost = instances.draw(Instance("uniform_double", int(n), "1000n"))
    solver.solve(cost, version=version, configuration=configuration)


if __name__ == "__main__":
    main(*sys.argv[1:])
