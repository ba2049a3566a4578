"""Compiled kernels, kept on disk from one process to the next.

The first call of a process would wait for the compiler: seconds for a kernel that solves a whole
problem. So the machine code (a cubin) of every kernel is kept in the user's cache folder, under the
kernel's `fingerprint`, and a later process loads it instead. Whatever goes wrong on the way (no
folder, a damaged file, another version of Numba) means that the kernel is compiled, as if there
were no cache.

`VARIABLE` in the environment names another folder, or switches it off. What a process waits for
with and without it is measured (`papers/synthesis/evidence/first_call.csv`).

An entry is one line of JSON, which says how the cubin is entered and what its hash is, and then the
cubin. It is written under a name of its own and renamed, so that other processes see all of it or
nothing. Nothing in it is unpickled.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from papers.common.gpu.compiled.fingerprint import fingerprint, toolkit_is_known

VARIABLE = "PAPERS_KERNEL_CACHE"
"""Variable of the environment: a folder, one of `OFF`, or one of `ON` as if it were not there."""

ON = ("", "1", "on", "yes", "true")
OFF = ("0", "off", "no", "false")

MOST_ENTRIES = 1000
"""Kernels that are kept; behind that the ones that were not used for the longest time go."""

ABANDONED_AFTER = 24 * 3600
"""Seconds after which a file that is still being written is nobody's."""

SUFFIX = ".kernel"

counts = {"loaded": 0, "compiled": 0}
"""Kernels of this process by the place that they came from."""

_lock = threading.RLock()


def folder() -> Path | None:
    """The folder of the compiled kernels, whether it is there yet or not; None: the cache is off.

    Returns
    -------
    Path or None
        What `VARIABLE` names; without a name ``gpu-papers/kernels`` in the user's cache folder:
        ``$XDG_CACHE_HOME`` or ``~/.cache``, on Windows ``%LOCALAPPDATA%``, on macOS
        ``~/Library/Caches``.
    """
    wish = os.environ.get(VARIABLE, "").strip()
    if wish.lower() in OFF:
        return None
    if wish.lower() not in ON:
        return Path(wish).expanduser()
    try:
        return _caches() / "gpu-papers" / "kernels"
    except RuntimeError:  # a user without a home
        return None


def _caches() -> Path:
    """The user's cache folder, by the rule of the platform."""
    if sys.platform == "win32":
        given = os.environ.get("LOCALAPPDATA", "")
        return Path(given) if given else Path.home() / "AppData" / "Local"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    given = os.environ.get("XDG_CACHE_HOME", "")
    return Path(given) if os.path.isabs(given) else Path.home() / ".cache"  # relative: not valid


def clear() -> int:
    """Delete all compiled kernels; returns their number."""
    place, gone = folder(), 0
    if place is not None and place.is_dir():
        for path in place.glob(f"*{SUFFIX}"):
            with contextlib.suppress(OSError):
                path.unlink()
                gone += 1
    return gone


def compiled(kernel: Any, argument_types: tuple[Any, ...]) -> Any:
    """Return a kernel compiled for its argument types: from memory, from disk, or compiled now.

    Parameters
    ----------
    kernel : numba.cuda dispatcher
    argument_types : tuple of numba types

    Returns
    -------
    numba-cuda's compiled kernel
    """
    with _lock:
        held = getattr(kernel, "overloads", {}).get(argument_types)
        if held is not None:
            return held
        path = _path_of(kernel, argument_types)
        loaded = None if path is None else _load(path, kernel, argument_types)
        if loaded is not None:
            counts["loaded"] += 1
            return loaded
        made = kernel.compile(argument_types)
        counts["compiled"] += 1
        if path is not None:
            _save(path, made)
        return made


def _path_of(kernel: Any, argument_types: tuple[Any, ...]) -> Path | None:
    """Return an entry's path; None for what is not kept."""
    place = folder()
    options = getattr(kernel, "targetoptions", None)
    if place is None or options is None:
        return None
    if any(options.get(name) for name in ("debug", "lineinfo", "link", "extensions")):
        return None
    if not _alike():
        return None
    with contextlib.suppress(Exception):  # a kernel without a fingerprint is not kept
        key = fingerprint(kernel, argument_types, _capability(), _cuda())
        return place / f"{key}{SUFFIX}"
    return None


@functools.cache
def _alike() -> bool:
    """True if all GPUs are of one capability: a cubin that was loaded serves no other one."""
    from numba.cuda.cudadrv import devices

    return len({tuple(gpu.compute_capability) for gpu in devices.gpus}) == 1


def _capability() -> tuple[Any, ...]:
    """Return the compute capability as numba-cuda names it to its linker."""
    from numba.cuda.cudadrv import devices

    found = devices.get_context().device.compute_capability
    return (int(found[0]), int(found[1]), "a" if tuple(found) >= (9, 0) else "")


@functools.cache
def _cuda() -> tuple[Any, ...]:
    """Return the driver's version, and the toolkit's where no distribution tells it.

    Asking the toolkit loads its compiler, which a process that only loads kernels has no use for.
    """
    from numba.cuda.cudadrv import driver, runtime

    version = tuple(driver.driver.get_version())
    return version if toolkit_is_known() else (*version, *runtime.runtime.get_version())


# ------------------------------------------------------------------------------- entries


def _save(path: Path, made: Any) -> None:
    """Write an entry, if that is possible."""
    with contextlib.suppress(Exception):
        library = made._codelibrary
        if library._setup_functions or library._teardown_functions or library.referenced_objects:
            return  # the cubin alone would not do
        if made.launch_config_sensitive or made.shared_memory_carveout is not None:
            return
        cubin = bytes(library.get_cubin().code)
        head = {
            "key": path.stem,
            "entry": made.entry_name,
            "cooperative": bool(made.cooperative),
            "sha256": hashlib.sha256(cubin).hexdigest(),
        }
        write(path, json.dumps(head).encode() + b"\n" + cubin)
        _leave(path.parent, MOST_ENTRIES)


def write(path: Path, content: bytes) -> None:
    """Write a file under a name of its own, and rename it: readers see all of it or nothing."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)  # who can write, can run code
    number, name = tempfile.mkstemp(dir=path.parent, suffix=".part")
    try:
        with os.fdopen(number, "wb") as file:
            file.write(content)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def read(path: Path) -> tuple[dict[str, Any], bytes] | None:
    """Return an entry's head and cubin, or None if it is not there, or not whole."""
    try:
        line, cubin = path.read_bytes().split(b"\n", 1)
        head = json.loads(line)
        whole = hashlib.sha256(cubin).hexdigest() == head["sha256"] and head["key"] == path.stem
        return (head, cubin) if whole else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _load(path: Path, kernel: Any, argument_types: tuple[Any, ...]) -> Any:
    """Return the compiled kernel of an entry, loaded into the device, or None."""
    entry = read(path)
    if entry is None:
        return None
    with contextlib.suppress(Exception):  # then it is compiled
        made = _rebuilt(*entry, argument_types)
        made.bind()
        kernel.add_overload(made, argument_types)
        with contextlib.suppress(OSError):
            os.utime(path)
        return made
    return None


def _rebuilt(head: dict[str, Any], cubin: bytes, argument_types: tuple[Any, ...]) -> Any:
    """Make a compiled kernel around a cubin, as numba-cuda's own cache does."""
    # Private names of numba-cuda 0.30 (see its _Kernel and CUDACodeLibrary): pyproject pins it.
    from cuda.core import ObjectCode
    from numba.cuda import types
    from numba.cuda.codegen import CUDACodeLibrary
    from numba.cuda.dispatcher import _Kernel
    from numba.cuda.typing import signature

    library = CUDACodeLibrary._rebuild(
        codegen=None, name=head["entry"], entry_name=head["entry"], llvm_strs=[], ptx_cache={},
        cubin_cache={_capability(): ObjectCode.from_cubin(cubin, name=head["entry"])},
        linkerinfo_cache={}, max_registers=None, nvvm_options={}, needs_cudadevrt=False, nrt=False,
        use_cooperative=head["cooperative"], lto=False,
    )  # fmt: skip
    return _Kernel._rebuild(
        cooperative=head["cooperative"], name=head["entry"],
        signature=signature(types.none, *argument_types), codelibrary=library, debug=False,
        lineinfo=False, call_helper=None, extensions=[],
    )  # fmt: skip


def _leave(place: Path, most: int) -> None:
    """Delete the entries that were not used for the longest time, down to a number."""
    entries = sorted(place.glob(f"*{SUFFIX}"), key=lambda path: path.stat().st_mtime)
    for path in entries[: max(0, len(entries) - most)]:
        with contextlib.suppress(OSError):
            path.unlink()
    for path in place.glob("*.part"):  # of processes that were killed while they wrote
        with contextlib.suppress(OSError):
            if path.stat().st_mtime < time.time() - ABANDONED_AFTER:
                path.unlink()
