"""Kernel launches whose parameters are packed once.

Numba unpacks every array argument anew at every launch (8 to 12 us each). The kernels of these
papers run thousands of times on the same arrays, so `bind` packs the parameters once
(`compiled.parameters`) and keeps the launch configuration; a launch is then one call of the driver.

On a machine without a GPU the same bound launch runs in the CPU executor.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any
from weakref import WeakKeyDictionary

from papers.common.gpu import clocks, device
from papers.common.gpu.compiled import store
from papers.common.gpu.compiled.parameters import Parameters

REGISTERS = 65536
"""32-bit registers of a multiprocessor, on every card since Kepler."""

Hook = Callable[[Callable[[], object]], object]


class Launch:
    """One kernel with its grid and its arguments; calling it enqueues it.

    Attributes
    ----------
    name : str
        The kernel's name.
    kernel : numba.cuda dispatcher
    config : (int, int, int)
        Blocks, threads a block, and bytes of dynamic shared memory.
    cluster : bool
        Whether its blocks are one cluster.
    arguments : tuple
        Device arrays, scalars and named tuples of these, as they were bound.
    count : int
        How often it was enqueued; `reset` sets it to zero.
    on_enqueue : callable(enqueue), optional
        Called in place of enqueuing, with a function that enqueues the kernel: it may look at the
        arrays before and after, or leave the kernel out. None, the default, takes it away. What it
        refers to lives as long as the launch; of a solver's state whose launches go back to a pool
        when it is collected (`papers.synthesis`) it must not hold that state.
    """

    __slots__ = (
        "_compiled", "_driver_config", "_enqueue", "_go", "_on_enqueue", "_parameters", "_stream",
        "arguments", "cluster", "config", "count", "kernel", "name",
    )  # fmt: skip

    def __init__(
        self,
        kernel: Any,
        grid: int,
        block: int,
        args: Iterable[Any],
        shared_bytes: int = 0,
        cluster: bool = False,
    ):
        # The packed parameters hold bare addresses: this keeps their arrays alive.
        self.arguments: tuple[Any, ...] = tuple(args)
        self.name: str = kernel.py_func.__name__
        self.count = 0
        self._on_enqueue: Hook | None = None
        self.kernel: Any = kernel
        self.config = (grid, block, shared_bytes)
        self.cluster = cluster
        self._compiled: Any = None
        self._parameters: Any = None
        self._driver_config: Any = None  # the driver's form of `config`, with the stream
        self._stream = device.DEFAULT_STREAM
        # What enqueues does not know the launch: a circle would keep device memory for long.
        self._enqueue: Any
        if device.describe().is_gpu:
            self._bind_gpu()
        else:
            self._enqueue = _InExecutor(kernel, self.config, self.arguments)
        self._go = self._enqueue

    def _bind_gpu(self) -> None:
        """Compile the kernel, pack its parameters and the launch's configuration.

        One call of the driver enqueues it then. `cuda.core.launch` would convert every parameter
        at each launch, and ask the driver how many blocks of a cooperative kernel fit.
        """
        # Private names of numba-cuda 0.30 (see numba-cuda's _Kernel.launch): pyproject pins it.
        from cuda.bindings import driver

        types = tuple(self.kernel.typeof_pyval(argument) for argument in self.arguments)
        self._compiled = store.compiled(self.kernel, types)
        self._parameters = Parameters(self._compiled, self.arguments, self.name)
        _allow_shared(self._compiled, self.config[2])
        config = driver.CUlaunchConfig()
        config.gridDimX, config.blockDimX, config.sharedMemBytes = self.config
        config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1
        config.hStream = driver.CUstream(self._stream)
        if self._compiled.cooperative:
            together = driver.CUlaunchAttribute()
            together.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_COOPERATIVE
            together.value.cooperative = 1
            config.attrs, config.numAttrs = [together], 1
        elif self.cluster:
            _as_cluster(config, self._compiled)
        function = driver.CUfunction(int(self._compiled._codelibrary.get_cufunc().kernel.handle))
        self._driver_config = config
        self._enqueue = _on_gpu(self.name, config, function, self._parameters)

    def replace(self, place: int, value: Any) -> None:
        """Bind another value of the same type in an argument's place; the others stay packed.

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
        if self._parameters is not None:
            if not self._parameters.write(place, value, before):
                kind = self._compiled.argument_types[place]
                if self.kernel.typeof_pyval(value) != kind:
                    raise TypeError(f"{self.name}: argument {place} is a {kind}")
                self._parameters.write_slowly(place, value)
        elif before is not None and type(value) is not type(before):
            raise TypeError(f"{self.name}: argument {place} is a {type(before).__name__}")
        self._keep(place, value)

    def replace_field(self, place: int, field: int, value: Any) -> None:
        """Bind another value in a field of a named tuple; see `replace`.

        Parameters
        ----------
        place, field : int
            The tuple's among the arguments, and the field's in it.
        value : device array or NumPy scalar

        Raises
        ------
        TypeError
            If the value is of another type.
        """
        whole = self._with(place, field, value)
        if self._parameters is not None and self._parameters.write_field(place, field, value):
            self._keep(place, whole)
        else:
            self.replace(place, whole)

    def write(self, place: int, number: int) -> None:
        """Bind another whole number in a scalar's place, which nobody checks to be of its type.

        This is for a number that differs at each launch: on a GPU its cell alone is written, and
        `arguments` keeps the number that was bound first.
        """
        if self._parameters is None:
            self._keep(place, type(self.arguments[place])(number))
        else:
            self._parameters.write_number(place, number)

    def point(self, place: int, field: int | None, array: Any, flat: Callable[[], Any]) -> None:
        """Bind the memory of another array in an argument's place, or in a field of a named tuple.

        Parameters
        ----------
        place : int
            As in `replace`. An array of one dimension is there, or in the field.
        field : int or None
            As in `replace_field`.
        array : device array
            Without gaps, of the size and type of the one that is there: nobody checks that. Whoever
            calls keeps it until the kernel has ended.
        flat : callable() -> device array
            Makes the same memory an array of one dimension, which only the executor needs.
        """
        if self._parameters is not None:
            self._parameters.write_address(place, field, device.address(array))
        elif field is None:
            self.replace(place, flat())
        else:
            self.replace_field(place, field, flat())

    def release(self, place: int) -> None:
        """Let go of an argument's arrays; `replace` has to follow before the next launch."""
        self._keep(place, None)

    def release_field(self, place: int, field: int) -> None:
        """Let go of a field's array; `replace_field` has to follow before the next launch."""
        self._keep(place, self._with(place, field, None))

    def _with(self, place: int, field: int, value: Any) -> Any:
        """A named tuple of the arguments with another value in a field."""
        before = self.arguments[place]
        return before._make((*before[:field], value, *before[field + 1 :]))

    def _keep(self, place: int, value: Any) -> None:
        self.arguments = (*self.arguments[:place], value, *self.arguments[place + 1 :])
        if self._parameters is None:
            self._enqueue.arguments = self.arguments

    @property
    def stream(self) -> int:
        """Handle of the stream that the kernel is enqueued on (`device.DEFAULT_STREAM`).

        It stays until another is set. In the executor, which runs a kernel at once, it is noted.
        """
        return self._stream

    @stream.setter
    def stream(self, handle: int) -> None:
        if handle == self._stream:
            return
        self._stream = handle
        if self._driver_config is not None:
            self._driver_config.hStream = handle

    @property
    def on_enqueue(self) -> Hook | None:
        """Hook that is called in place of enqueuing; see the class."""
        return self._on_enqueue

    @on_enqueue.setter
    def on_enqueue(self, hook: Hook | None) -> None:
        # The hook takes the enqueuing's place, so that a launch without one asks nothing.
        enqueue = self._enqueue
        self._on_enqueue = hook
        self._go = enqueue if hook is None else lambda: hook(enqueue)

    def __call__(self) -> None:
        """Enqueue the kernel."""
        self.count += 1
        if self._parameters is None or clocks.kernel_clock is None:
            self._go()
        else:
            with clocks.kernel_clock.measure(self.name, self._stream):
                self._go()

    def add_to(self, node: Any) -> Any:
        """Add the launch to a CUDA graph behind a node, or to an empty one; returns its node.

        Raises
        ------
        ValueError
            For a cluster's launch, which a node does not keep together.
        """
        if self.cluster:
            raise ValueError(f"{self.name}: a cluster's launch does not join a graph")
        from cuda.core import LaunchConfig

        grid, block, shared_bytes = self.config
        config = LaunchConfig(
            grid=grid, block=block, shmem_size=shared_bytes,
            is_cooperative=self._compiled.cooperative,
        )  # fmt: skip
        kinds = zip(self._compiled.argument_types, self.arguments, strict=True)
        flat = [one for kind, value in kinds for one in self._parameters.flattened(kind, value)]
        return node.launch(config, self._compiled._codelibrary.get_cufunc().kernel, *flat)

    def reset(self) -> None:
        """Set `count` to zero."""
        self.count = 0


def _on_gpu(name: str, config: Any, function: Any, parameters: Parameters) -> Callable[[], None]:
    """Return the function that enqueues a kernel: one call of the driver."""
    from cuda.bindings import driver

    call, given = driver.cuLaunchKernelEx, (config, function, parameters.address, 0)
    kept = parameters  # the driver reads its memory at each call

    def enqueue() -> None:
        (error,) = call(*given)
        if error:
            told = f"{error.name}, with {kept.count} parameters"
            raise RuntimeError(f"{name}: the driver refused the launch: {told}")

    return enqueue


class _InExecutor:
    """Runs a kernel in the CPU executor that is there when the launch is bound."""

    def __init__(self, kernel: Any, config: tuple[int, int, int], arguments: tuple[Any, ...]):
        self.kernel, self.config, self.arguments = kernel, config, arguments
        self.launch = device.executor().launch

    def __call__(self) -> None:
        grid, block, shared_bytes = self.config
        self.launch(self.kernel, grid, block, self.arguments, shared_bytes)


class ClusterError(RuntimeError):
    """A card has no clusters of so many blocks."""


PORTABLE_CLUSTER = 8
"""Blocks of a cluster that every card has that has clusters; more have to be allowed."""


class SharedMemoryError(RuntimeError):
    """A card's blocks have not so much shared memory."""


PLAIN_SHARED = 48 * 1024
"""Bytes of shared memory that a block may have unasked."""


_allowed: WeakKeyDictionary[Any, dict[int, int]] = WeakKeyDictionary()
"""Bytes of dynamic shared memory that were asked for, by compiled kernel and card."""

_allowing = threading.Lock()


def _allow_shared(compiled: Any, shared_bytes: int) -> None:
    """Ask the driver for more dynamic shared memory than it gives unasked.

    It keeps one number a kernel, the last it was told, and refuses launches that want more. So what
    was asked for is never lowered: a launch that was bound before may want more than this one.

    Raises
    ------
    SharedMemoryError
        If the card has not so much.
    """
    from cuda.bindings import driver

    if not shared_bytes or compiled.shared_mem_per_block + shared_bytes <= PLAIN_SHARED:
        return
    name = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    kernel = driver.CUkernel(int(compiled._codelibrary.get_cufunc().kernel.handle))
    card = device.number()
    with _allowing:
        allowed = _allowed.setdefault(compiled, {})
        if allowed.get(card, 0) >= shared_bytes:
            return
        (error,) = driver.cuKernelSetAttribute(name, shared_bytes, kernel, driver.CUdevice(card))
        if error:
            raise SharedMemoryError(
                f"the driver refused {shared_bytes} bytes of shared memory: {error.name}"
            )
        allowed[card] = shared_bytes


def _as_cluster(config: Any, compiled: Any) -> None:
    """Make a launch's configuration one of a single cluster of all its blocks."""
    from cuda.bindings import driver

    near = driver.CUlaunchAttribute()
    near.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
    near.value.clusterDim.x = config.gridDimX
    near.value.clusterDim.y = near.value.clusterDim.z = 1
    config.attrs, config.numAttrs = [near], 1
    if config.gridDimX > PORTABLE_CLUSTER:
        name = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
        kernel = driver.CUkernel(int(compiled._codelibrary.get_cufunc().kernel.handle))
        (error,) = driver.cuKernelSetAttribute(name, 1, kernel, driver.CUdevice(device.number()))
        if error:
            raise ClusterError(f"the driver refused a cluster: {error.name}")


def cluster_fits(launch: Launch) -> bool:
    """Whether the device holds the cluster of a bound launch: with fewer multiprocessors near
    to one another than it has blocks, it does not.
    """
    if launch._driver_config is None:
        return True  # the executor holds them all
    from cuda.bindings import driver

    function = driver.CUfunction(int(launch._compiled._codelibrary.get_cufunc().kernel.handle))
    error, clusters = driver.cuOccupancyMaxActiveClusters(function, launch._driver_config)
    return not error and clusters > 0


def bind(
    kernel: Any,
    grid: int,
    block: int,
    *args: Any,
    shared_bytes: int = 0,
    cluster: bool = False,
) -> Launch:
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
    cluster : bool
        Whether the blocks are one cluster, of compute capability 9.0 on.

    Returns
    -------
    Launch

    Raises
    ------
    ClusterError
        If the driver does not allow a cluster of so many blocks.
    SharedMemoryError
        If it does not allow so much shared memory.
    """
    return Launch(kernel, grid, block, args, shared_bytes, cluster)


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
