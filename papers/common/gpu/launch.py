"""Kernel launches whose arguments are flattened once.

Numba unpacks every array argument anew at every launch (8 to 12 us each). The kernels of these
papers run thousands of times on the same arrays, so `bind` unpacks the arguments once and keeps
the launch configuration; a launch is then one call into the driver.

On a machine without a GPU the same bound launch runs in the CPU executor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any

from papers.common.gpu import clocks, device
from papers.common.gpu.compiled import store

REGISTERS = 65536
"""32-bit registers of a multiprocessor, on every card since Kepler."""

Hook = Callable[[Callable[[], object]], object]


class Launch:
    """One kernel with its grid and its arguments; calling it enqueues it.

    Attributes
    ----------
    name : str
        The kernel's name.
    arguments : tuple
        Device arrays, scalars and named tuples of these, as they were bound.
    count : int
        How often it was enqueued; `reset` sets it to zero.
    on_enqueue : callable(enqueue), optional
        Called in place of enqueuing, with a function that enqueues the kernel: it may look at the
        arrays before and after, or leave the kernel out. None, the default, takes it away.
    """

    __slots__ = (
        "_compiled", "_config", "_flat", "_go", "_handle", "_kernel", "_launcher", "_on_enqueue",
        "_segments", "_stream", "arguments", "count", "name",
    )  # fmt: skip

    def __init__(
        self,
        kernel: Any,
        grid: int,
        block: int,
        args: Iterable[Any],
        shared_bytes: int = 0,
    ):
        # The flattened form holds bare addresses: this keeps their arrays alive.
        self.arguments: tuple[Any, ...] = tuple(args)
        self.name: str = kernel.py_func.__name__
        self.count = 0
        self._on_enqueue: Hook | None = None
        self._launcher: Callable[..., object]
        self._kernel: Any = kernel
        self._compiled: Any = None
        self._segments: list[list[Any]] = []
        if device.describe().is_gpu:
            self._bind_gpu(kernel, grid, block, shared_bytes)
        else:
            self._launcher = device.executor().launch
            self._handle, self._config, self._stream = kernel, (grid, block), None
            self._flat: tuple[Any, ...] = (self.arguments, shared_bytes)
        self._go = self._launcher

    def _bind_gpu(self, kernel: Any, grid: int, block: int, shared_bytes: int) -> None:
        # Private names of numba-cuda 0.30 (see numba-cuda's _Kernel.launch): pyproject pins it.
        from cuda.core import LaunchConfig, launch
        from numba.cuda.cudadrv import driver

        types = tuple(kernel.typeof_pyval(argument) for argument in self.arguments)
        self._compiled = compiled = store.compiled(kernel, types)
        kinds = zip(compiled.argument_types, self.arguments, strict=True)
        self._segments = [self._flattened(kind, value) for kind, value in kinds]
        self._handle = compiled._codelibrary.get_cufunc().kernel
        self._config = LaunchConfig(
            grid=grid, block=block, shmem_size=shared_bytes, is_cooperative=compiled.cooperative
        )
        self._stream = driver._to_core_stream(0)
        self._flat = tuple(chain.from_iterable(self._segments))
        self._launcher = launch

    def _flattened(self, kind: Any, value: Any) -> list[Any]:
        flat: list[Any] = []
        write_back: list[Any] = []
        self._compiled._prepare_args(kind, value, 0, write_back, flat)
        if write_back:
            raise TypeError(f"{self.name}: a host array was passed where device memory is needed")
        return flat

    def replace(self, place: int, value: Any) -> None:
        """Bind another value of the same type in an argument's place; the others stay flattened.

        Parameters
        ----------
        place : int
        value : device array, NumPy scalar, or named tuple of these

        Raises
        ------
        TypeError
            If the value is of another type, which the kernel was not compiled for.
        """
        before = self.arguments[place]
        if self._compiled is not None:
            kind = self._compiled.argument_types[place]
            if self._kernel.typeof_pyval(value) != kind:
                raise TypeError(f"{self.name}: argument {place} is a {kind}")
            self._segments[place] = self._flattened(kind, value)
            self._flat = tuple(chain.from_iterable(self._segments))
        elif before is not None and type(value) is not type(before):
            raise TypeError(f"{self.name}: argument {place} is a {type(before).__name__}")
        self.arguments = (*self.arguments[:place], value, *self.arguments[place + 1 :])
        if self._compiled is None:
            self._flat = (self.arguments, self._flat[1])

    def release(self, place: int) -> None:
        """Let go of an argument's arrays; `replace` has to follow before the next launch."""
        self.arguments = (*self.arguments[:place], None, *self.arguments[place + 1 :])
        if self._compiled is None:
            self._flat = (self.arguments, self._flat[1])

    @property
    def on_enqueue(self) -> Hook | None:
        """Hook that is called in place of enqueuing; see the class."""
        return self._on_enqueue

    @on_enqueue.setter
    def on_enqueue(self, hook: Hook | None) -> None:
        # The hook takes the launcher's place, so that a launch without one asks nothing.
        launcher = self._launcher
        self._on_enqueue = hook
        self._go = launcher if hook is None else lambda *given: hook(lambda: launcher(*given))

    def __call__(self) -> None:
        """Enqueue the kernel."""
        self.count += 1
        if self._stream is None:
            grid, block = self._config
            arguments, shared_bytes = self._flat
            self._go(self._handle, grid, block, arguments, shared_bytes)
        elif clocks.kernel_clock is None:
            self._go(self._stream, self._config, self._handle, *self._flat)
        else:
            with clocks.kernel_clock.measure(self.name):
                self._go(self._stream, self._config, self._handle, *self._flat)

    def add_to(self, node: Any) -> Any:
        """Add the launch to a CUDA graph behind a node, or to an empty one; returns its node."""
        return node.launch(self._config, self._handle, *self._flat)

    def reset(self) -> None:
        """Set `count` to zero."""
        self.count = 0


def bind(kernel: Any, grid: int, block: int, *args: Any, shared_bytes: int = 0) -> Launch:
    """Bind a kernel to a one-dimensional grid and its arguments.

    Parameters
    ----------
    kernel : numba.cuda dispatcher
        Decorated with ``@cuda.jit``; compiled here, not at the first call, or loaded from disk
        (`papers.common.gpu.compiled`).
    grid, block : int
        Blocks, and threads a block.
    *args : device arrays, NumPy scalars, and named tuples of these
        Scalars are typed by their NumPy type, so pass ``np.int32(n)`` for 32-bit indices. A named
        tuple arrives in the kernel with its fields' names; it costs no more than its fields.
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
        Arguments of the coming launch: the kernel is compiled for their types.
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
    blocks = int(store.compiled(kernel, types).max_cooperative_grid_blocks(threads))
    if blocks < 1:
        raise RuntimeError(f"no block of {threads} threads fits: the kernel's registers are many")
    return blocks
