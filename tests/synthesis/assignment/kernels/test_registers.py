"""The largest block of each kind of costs starts: the assembler counts registers, without a GPU."""

import re
import sysconfig
from pathlib import Path

import numpy as np
import pytest

from papers.common.gpu.launch import registers_for
from papers.common.gpu.signatures import argument_types
from papers.synthesis.assignment.kernels import dense, floats, integers
from papers.synthesis.assignment.settings import Settings

MOST_STACK = 320
"""Bytes a thread may spill."""


def assembled(ptx, registers):
    """What the assembler says about a kernel, or a skip where it is not installed."""
    nvjitlink = pytest.importorskip("cuda.bindings.nvjitlink")
    runtime = sorted(Path(sysconfig.get_paths()["purelib"]).rglob("libcudadevrt.a"))
    if not runtime:
        pytest.skip("libcudadevrt.a is not installed: no barrier of the grid can be linked")
    options = ["-arch=sm_90", "-verbose", f"-maxrregcount={registers}"]
    handle = nvjitlink.create(len(options), options)
    text, library = ptx.encode(), runtime[0].read_bytes()
    nvjitlink.add_data(handle, nvjitlink.InputType.PTX, text, len(text), "assign")
    nvjitlink.add_data(handle, nvjitlink.InputType.LIBRARY, library, len(library), "cudadevrt")
    nvjitlink.complete(handle)
    said = bytearray(nvjitlink.get_info_log_size(handle))
    nvjitlink.get_info_log(handle, said)
    return said.decode()


@pytest.mark.nightly
@pytest.mark.parametrize("marks", range(3), ids=["all", "bids", "searches"])
@pytest.mark.parametrize("alone", [False, True], ids=["grid", "alone"])
@pytest.mark.parametrize("module", [integers, floats], ids=["integers", "floats"])
def test_the_largest_default_block_starts(module, alone, marks, monkeypatch):
    if alone and marks:
        return  # one block makes no marks

    from numba import cuda
    from numba.cuda import dispatcher

    class Card:
        compute_capability = (9, 0)

    monkeypatch.setattr(dispatcher, "get_current_device", lambda: Card)
    for element in module.ELEMENT_TYPES:
        usual = Settings.for_shape(10_000, 10_000, np.dtype(element))
        limit = registers_for(usual.threads)
        assert limit == (128 if element == "int32" else 255)
        kinds = argument_types(dense.SIGNATURE, element)
        function = module.assign_with(usual.loads, alone, marks).py_func
        ptx, _ = cuda.compile(function, kinds, device=False, abi="numba", cc=(9, 0))
        # The library's functions are told of as well; the kernel is the largest.
        found = re.findall(r"used (\d+) registers, .*?(\d+) stack", assembled(ptx, limit))
        assert 64 < max(int(registers) for registers, _ in found) <= limit
        spilled = max(int(stack) for _, stack in found)
        assert spilled <= MOST_STACK, f"{element}: registers are spilled"
