"""Loads of a slack in the machine code: the evidence for Opt 3 [K21 Opt 3].

The report finds two LDG and one STG on ``slack[i]`` where the source of Opt 2 reads it twice, and
one LDG less in Opt 3. `global_loads` counts the same in Numba's machine code, without a GPU: PTX
always, SASS where ``nvdisasm`` or ``cuobjdump`` and nvJitLink are found.
"""

from __future__ import annotations

import importlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from numba import cuda

from papers.common.gpu.signatures import Signature, argument_types
from papers.kawtikwar_opts.kernels.arguments import Duals
from papers.kawtikwar_opts.kernels.printed.listings import (
    add_sub_compress,
    add_sub_compress_in_a_register,
)
from papers.lopes2019.kernels.arguments import Covers, Order, Zeros


def probe(version: str) -> Any:
    """Return a kernel that consists of ``add_sub_compress_matrix`` of a one-launch version.

    Parameters
    ----------
    version : {"opt2", "opt3", "opt4"}

    Returns
    -------
    callable
        To be compiled for `SIGNATURE`.
    """
    module = importlib.import_module(f"papers.kawtikwar_opts.kernels.{version}")
    add_sub_compress_matrix = module.add_sub_compress_matrix

    def kernel(order, eps, slack, covers, least, zeros, duals):
        add_sub_compress_matrix(order, eps, slack, covers, least, zeros, duals)

    return kernel


def one_entry_a_turn(order, eps, slack, covers, least, zeros, duals):
    """Update the slacks as [K21 Listing 3] is printed, with an entry a turn."""
    i = cuda.grid(1)
    if i < order.n * order.n:
        add_sub_compress(i, order, eps, slack, covers, least, zeros)


def one_entry_in_a_register(order, eps, slack, covers, least, zeros, duals):
    """Update the slacks as [K21 Listing 4] is printed."""
    i = cuda.grid(1)
    if i < order.n * order.n:
        add_sub_compress_in_a_register(i, order, eps, slack, covers, least, zeros)


SIGNATURE: Signature = (Order, "T", "T[::1]", Covers, "T", Zeros, Duals)
"""Types that `probe` and the printed forms are compiled for, T being the type of the slacks."""


def global_loads(kernel: Any, slack: str = "int32", cc: tuple[int, int] = (9, 0)) -> dict[str, int]:
    """Count loads from and stores to global memory in a kernel's machine code.

    Parameters
    ----------
    kernel : callable
        A kernel, or the function under its decorator.
    slack : str
        Type of the slacks.
    cc : (int, int)
        Compute capability.

    Returns
    -------
    dict of str to int
        ``ptx_loads``, ``ptx_stores``; ``sass_loads`` (LDG), ``sass_stores`` (STG) where a
        disassembler is found. Static counts: the loops over a thread's `UNROLL` entries are
        unrolled, so that an access to the slack in the source is counted `UNROLL` times.

    Notes
    -----
    The difference between Opt 2 and Opt 3 counts; both read covers and duals alike. LLVM
    does not merge Opt 2's second read with the first: between the two stand stores to other
    entries of ``slack``, which it cannot tell apart from this one. So the reread of `UNROLL`
    entries is there in PTX and in SASS, as in the report, and Opt 3 saves it. (The code after the
    reread exists twice, for a bin's size that is zero and one that is not: the rereads count
    twice in the text, once in a run.) With one entry a turn, Listing 3 as printed, it is there too:
    `one_entry_a_turn` has a load in each branch and one behind them, so that an entry that changes
    is loaded twice, as the report found; `one_entry_in_a_register` has one load in all.
    """
    with _no_gpu_needed(cc):
        function = getattr(kernel, "py_func", kernel)
        types = argument_types(SIGNATURE, slack)
        ptx, _ = cuda.compile(function, types, device=False, abi="numba", cc=cc)
    counts = {
        "ptx_loads": len(re.findall(r"\bld\.global", ptx)),
        "ptx_stores": len(re.findall(r"\bst\.global", ptx)),
    }
    sass = disassemble(ptx, cc)
    if sass is not None:
        counts["sass_loads"] = len(re.findall(r"\bLDG\.", sass))
        counts["sass_stores"] = len(re.findall(r"\bSTG\.", sass))
    return counts


def disassemble(ptx: str, cc: tuple[int, int] = (9, 0)) -> str | None:
    """Return the SASS of a PTX text, or None if nvJitLink or a disassembler is missing."""
    tool = shutil.which("nvdisasm") or shutil.which("cuobjdump")
    try:
        from cuda.bindings import nvjitlink

        options = [f"-arch=sm_{cc[0]}{cc[1]}"]
        handle = nvjitlink.create(len(options), options)
    except (ImportError, RuntimeError):
        return None
    if tool is None:
        return None
    text = ptx.encode()
    nvjitlink.add_data(handle, nvjitlink.InputType.PTX, text, len(text), "probe")
    nvjitlink.complete(handle)
    cubin = bytearray(nvjitlink.get_linked_cubin_size(handle))
    nvjitlink.get_linked_cubin(handle, cubin)
    nvjitlink.destroy(handle)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "probe.cubin"
        path.write_bytes(cubin)
        flags = [] if tool.endswith("nvdisasm") else ["-sass"]
        done = subprocess.run([tool, *flags, path], capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else None


@contextmanager
def _no_gpu_needed(cc: tuple[int, int]) -> Iterator[None]:
    """Answer the compiler's one question to the driver, the compute capability."""
    import numba.cuda.dispatcher as dispatcher

    class Card:
        compute_capability = cc

    before = dispatcher.get_current_device
    dispatcher.get_current_device = lambda: Card
    try:
        yield
    finally:
        dispatcher.get_current_device = before
