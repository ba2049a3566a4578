"""The environment record: a measurement's machine, without names of hosts, users or folders."""

from __future__ import annotations

import hashlib
import io
import os
import platform
import re
import subprocess
import tarfile
from importlib import metadata
from pathlib import Path
from typing import IO, Any, cast

from papers.common import cores

PACKAGES = (
    "numba",
    "numba-cuda",
    "numpy",
    "scipy",
    "pandas",
    "matplotlib",
    "scikit-image",
    "PyMaxflow",
    "lapx",
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
_MEASURING = (
    "papers", "pyproject.toml", ":(exclude)papers/*/results/*", ":(exclude)papers/*/exercises/*",
    ":(exclude)*.md",
)  # fmt: skip
"""Paths of git, for `is_clean`."""
_EXERCISES = "/exercises/"


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


def commit() -> str:
    """Return the hash of the source tree's git commit, or "" outside version control."""
    return _output("git", "rev-parse", "HEAD", cwd=_ROOT)


def is_clean() -> bool | None:
    """Whether what measures is as `commit` has it: None outside version control.

    Pages and recorded runs may differ: they measure nothing. An untracked module counts as a
    change, because it is imported like the others.
    """
    if not commit():
        return None
    return not _output("git", "status", "--porcelain", "-uall", "--", *_MEASURING, cwd=_ROOT)


def sources(at: str = "") -> str:
    """Return the SHA-256 of the package's Python files and of `pyproject.toml`, by name.

    A commit is not enough: a copy of the sources may lie outside version control, or beside a
    history of another commit. Exercises measure nothing, and whoever learns writes into them.

    Parameters
    ----------
    at : str
        A commit, whose files are taken from git; empty for the files that are here.

    Returns
    -------
    str
        64 hexadecimal digits, or "" if git does not have that commit.
    """
    files = _files_at(at) if at else _files_here()
    digest = hashlib.sha256()
    for name in sorted(files):
        digest.update(f"{name}\0{len(files[name])}\0".encode())
        digest.update(files[name])
    return digest.hexdigest() if files else ""


def commit_with(digest: str, latest: int = 500) -> str:
    """Return the latest commit here whose `sources` have this hash, or "" among so many.

    Parameters
    ----------
    digest : str
        The hash of `sources`.
    latest : int
        Commits of the history that are looked at.
    """
    history = _output("git", "rev-list", f"--max-count={latest}", "HEAD", cwd=_ROOT).split()
    return next((one for one in history if sources(one) == digest), "")


def changed_since(at: str) -> list[str] | None:
    """Return the files of `sources` that differ from a commit's; None if git does not have it."""
    then, now = _files_at(at), _files_here()
    if not then:
        return None
    return sorted(name for name in then.keys() | now.keys() if then.get(name) != now.get(name))


def _files_here() -> dict[str, bytes]:
    paths = [*(_ROOT / "papers").rglob("*.py"), _ROOT / "pyproject.toml"]
    here = {p.relative_to(_ROOT).as_posix(): p for p in paths if p.is_file()}
    return {name: path.read_bytes() for name, path in here.items() if _EXERCISES not in name}


def _files_at(at: str) -> dict[str, bytes]:
    """Return a commit's files of `sources` by name, none of them if git does not have it."""
    if not re.fullmatch(r"[0-9a-f]{7,64}", at):
        return {}  # A record is somebody's text: nothing in it may be an option of git.
    command = ["git", "archive", "--format=tar", at, "--", ":(glob)papers/**/*.py"]
    try:
        done = subprocess.run(
            [*command, ":(glob)pyproject.toml"], cwd=_ROOT, capture_output=True, timeout=20
        )
    except (OSError, subprocess.SubprocessError):
        return {}
    if done.returncode:
        return {}
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        members = [m for m in archive if m.isfile() and _EXERCISES not in m.name]
        return {m.name: cast(IO[bytes], archive.extractfile(m)).read() for m in members}


def _memory_gib() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    except (ValueError, OSError, AttributeError):
        return None


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
        ``commit``, ``clean`` (None outside version control) and ``sources``. No host name, user
        name or path.
    """
    return {
        "gpus": gpus(),
        "cpu": cpu_model(),
        "cores": cores.allowed(),
        "memory_gib": _memory_gib(),
        "system": f"{platform.system()} {platform.machine()}",
        "versions": versions(),
        "commit": commit(),
        "clean": is_clean(),
        "sources": sources(),
    }
