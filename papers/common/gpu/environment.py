"""The environment record: a measurement's machine, without names of hosts, users or folders."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any

PACKAGES = (
    "numba",
    "numba-cuda",
    "numpy",
    "scipy",
    "pandas",
    "matplotlib",
    "scikit-image",
    "PyMaxflow",
    "greenlet",
    "mpi4py",
    "mpich",
    "openmpi",
    "nccl4py",
    "nvidia-nccl-cu12",
    "nvidia-nccl-cu13",
    "cuda-bindings",
    "cuda-core",
    "cuda-toolkit",
    "nvidia-nvvm",
    "nvidia-cuda-nvrtc",
    "nvidia-nvjitlink",
)
"""Packages whose version may change an answer or a time."""

_GPU_FIELDS = (
    "name",
    "driver_version",
    "memory.total",
    "compute_cap",
    "clocks.max.sm",
    "mig.mode.current",
)
_ROOT = Path(__file__).resolve().parents[3]


class MissingPackageError(ImportError):
    """An optional package is not installed."""


def install_command(extra: str) -> str:
    """Return the command that installs an optional package's extra, from the clone's folder."""
    return f"make install EXTRAS={extra}"


def _output(*command: str, cwd: Path | None = None) -> str:
    """Return the standard output of `command`, or "" if it is missing, slow or fails."""
    try:
        done = subprocess.run(
            command, cwd=cwd, capture_output=True, text=True, timeout=20, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


def cpu_model() -> str:
    """Return the processor's model name, e.g. ``"Intel(R) Core(TM) i7-6700K CPU @ 4.00GHz"``."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    for line in lines:
        key, _, value = line.partition(":")
        if key.strip() == "model name" and value.strip():
            return " ".join(value.split())
    return platform.processor() or platform.machine() or "unknown CPU"


def gpus() -> list[dict[str, str]]:
    """Return name, driver, memory, compute capability and top clock of each GPU of the machine."""
    text = _output("nvidia-smi", f"--query-gpu={','.join(_GPU_FIELDS)}", "--format=csv,noheader")
    rows = [[value.strip() for value in line.split(",")] for line in text.splitlines()]
    return [dict(zip(_GPU_FIELDS, row, strict=False)) for row in rows if len(row) > 1]


def _commit() -> str:
    """Return the source tree's git commit with ``+changes`` if it differs from it, or ""."""
    commit = _output("git", "rev-parse", "HEAD", cwd=_ROOT)
    if commit and _output("git", "status", "--porcelain", "--untracked-files=no", cwd=_ROOT):
        commit += "+changes"
    return commit


def sources() -> str:
    """Return the SHA-256 of the package's Python files, by name.

    `_commit` is not enough: a copy of the sources may lie outside version control, or beside a
    history of another commit.
    """
    folder = _ROOT / "papers"
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.relative_to(folder).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _memory_gib() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    except (ValueError, OSError, AttributeError):
        return None


def _cores() -> int:
    """Return the cores this process may use, which a container may have cut down."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def versions() -> dict[str, str]:
    """Return the version of every installed package of `PACKAGES`, and Python's."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def record() -> dict[str, Any]:
    """Return the environment as a dict that JSON can hold.

    Returns
    -------
    dict
        ``gpus`` (list), ``cpu``, ``cores`` (usable), ``memory_gib``, ``system``, ``versions``,
        ``commit`` and ``sources``. No host name, user name or path.
    """
    return {
        "gpus": gpus(),
        "cpu": cpu_model(),
        "cores": _cores(),
        "memory_gib": _memory_gib(),
        "system": f"{platform.system()} {platform.machine()}",
        "versions": versions(),
        "commit": _commit(),
        "sources": sources(),
    }
