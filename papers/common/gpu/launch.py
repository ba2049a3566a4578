"""Kernel launches whose arguments are flattened once.

Numba unpacks every array argument anew at every launch (8 to 12 us each). The kernels of these
papers run thousands of times on the same arrays, so `bind` unpacks the arguments once and keeps
the launch configuration: what is left of a launch is one call into the driver.

On a machine without a GPU the same bound launch runs in the CPU executor.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable
from typing import Any

from papers.common.gpu import device

REGISTERS = 65536
"""32-bit registers of a multiprocessor, on every card since Kepler."""

_clock: KernelClock | None = None


class Launch:
    """One kernel with its grid and its arguments; calling it enqueues it.

    Attributes
    ----------
    name : str
        The kernel's name.
    count : int
        How often it was enqueued; `reset` sets it to zero.
    """

    __slots__ = ("_config", "_flat", "_go", "_handle", "_keep", "_stream", "count", "name")

    def __init__(
        self,
        kernel: Any,
        grid: int,
        block: int,
        args: Iterable[Any],
        shared_bytes: int = 0,
    ):
        arguments = tuple(args)
        self.name: str = kernel.py_func.__name__
        self.count = 0
        self._keep = arguments  # the flattened form holds bare addresses
        if device.describe().is_gpu:
            self._bind_gpu(kernel, grid, block, arguments, shared_bytes)
        else:
            executor = device.executor()
            self._go = executor.launch
            self._handle, self._config, self._stream = kernel, (grid, block), None
            self._flat = (arguments, shared_bytes)

    def _bind_gpu(
        self, kernel: Any, grid: int, block: int, arguments: tuple[Any, ...], shared_bytes: int
    ) -> None:
        # Private names of numba-cuda 0.30 (see numba-cuda's _Kernel.launch): pyproject pins it.
        from cuda.core import LaunchConfig, launch
        from numba.cuda.cudadrv import driver

        types = tuple(kernel.typeof_pyval(argument) for argument in arguments)
        compiled = kernel.compile(types)
        flat: list[Any] = []
        write_back: list[Any] = []
        for kind, value in zip(compiled.argument_types, arguments, strict=True):
            compiled._prepare_args(kind, value, 0, write_back, flat)
        if write_back:
            raise TypeError(f"{self.name}: a host array was passed where device memory is needed")
        self._handle = compiled._codelibrary.get_cufunc().kernel
        self._config = LaunchConfig(
            grid=grid, block=block, shmem_size=shared_bytes, is_cooperative=compiled.cooperative
        )
        self._stream = driver._to_core_stream(0)
        self._flat = tuple(flat)
        self._go = launch

    def __call__(self) -> None:
        """Enqueue the kernel."""
        self.count += 1
        if self._stream is None:
            grid, block = self._config
            arguments, shared_bytes = self._flat
            self._go(self._handle, grid, block, arguments, shared_bytes)
        elif _clock is None:
            self._go(self._stream, self._config, self._handle, *self._flat)
        else:
            with _clock.measure(self.name):
                self._go(self._stream, self._config, self._handle, *self._flat)

    def reset(self) -> None:
        """Set `count` to zero."""
        self.count = 0


def bind(kernel: Any, grid: int, block: int, *args: Any, shared_bytes: int = 0) -> Launch:
    """Bind a kernel to a one-dimensional grid and its arguments.

    Parameters
    ----------
    kernel : numba.cuda dispatcher
        Decorated with ``@cuda.jit``; compiled here, not at the first call.
    grid, block : int
        Blocks, and threads a block.
    *args : device arrays and NumPy scalars
        Scalars are typed by their NumPy type, so pass ``np.int32(n)`` for 32-bit indices.
    shared_bytes : int
        Dynamic shared memory.

    Returns
    -------
    Launch
    """
    return Launch(kernel, grid, block, args, shared_bytes)


def registers_for(threads: int, blocks: int = 1) -> int:
    """Registers a thread may have if so many blocks shall share a multiprocessor.

    Without a limit the compiler takes up to 255, and no large block of a large kernel starts.
    """
    return min(255, REGISTERS // (threads * blocks) // 8 * 8)


def resident_blocks(kernel: Any, arguments: tuple[Any, ...], threads: int) -> int:
    """Blocks of a cooperative kernel that the device holds at once.

    Parameters
    ----------
    kernel : dispatcher
    arguments : tuple
        What it will be launched with: their types decide what is compiled.
    threads : int
        Threads a block.

    Raises
    ------
    RuntimeError
        If no block of that size fits.
    """
    if not device.describe().is_gpu:
        return 1 << 16  # the executor holds them all
    types = tuple(kernel.typeof_pyval(argument) for argument in arguments)
    blocks = int(kernel.compile(types).max_cooperative_grid_blocks(threads))
    if blocks < 1:
        raise RuntimeError(f"no block of {threads} threads fits: the kernel's registers are many")
    return blocks


class KernelClock:
    """Device time of every launch inside the ``with`` block (scope ``kernels``; GPU only).

    Attributes
    ----------
    total_ms : float
        Sum over all launches, in milliseconds.
    by_kernel : dict of str to (int, float)
        Launches and milliseconds by kernel name.

    Notes
    -----
    Each launch is bracketed by two CUDA events, which slows the host loop down: never read this
    clock and the wall clock from the same run. Python collects no garbage meanwhile: going through
    some 100,000 event objects takes it 0.4 s, which a bracket whose launch waits would count.
    """

    def __init__(self) -> None:
        self._events: list[tuple[str, Any, Any]] = []
        self._collects = True
        self.total_ms = 0.0
        self.by_kernel: dict[str, tuple[int, float]] = {}

    def __enter__(self) -> KernelClock:
        global _clock
        if not device.describe().is_gpu:
            raise RuntimeError("device time needs a CUDA GPU")
        device.synchronize()
        self._collects = gc.isenabled()
        gc.collect()
        gc.disable()
        _clock = self
        return self

    def measure(self, name: str) -> _Bracket:
        """Bracket one launch."""
        return _Bracket(self._events, name)

    def __exit__(self, *exc: object) -> None:
        global _clock
        _clock = None
        if self._collects:
            gc.enable()
        device.synchronize()
        for name, begin, end in self._events:
            launches, ms = self.by_kernel.get(name, (0, 0.0))
            self.by_kernel[name] = (launches + 1, ms + begin.elapsed_time(end))
        self.total_ms = sum(ms for _, ms in self.by_kernel.values())
        self._events.clear()


class _Bracket:
    def __init__(self, events: list[tuple[str, Any, Any]], name: str) -> None:
        from numba import cuda

        self._begin, self._end = cuda.event(), cuda.event()
        events.append((name, self._begin, self._end))

    def __enter__(self) -> None:
        self._begin.record()

    def __exit__(self, *exc: object) -> None:
        self._end.record()
