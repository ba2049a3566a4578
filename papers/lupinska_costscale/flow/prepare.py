"""Everything about a maximum flow on the device before its first launch, and after its last.

`prepare` checks an instance and brings it into the kernels' form, `blank` a grid whose capacities
kernels will write; `allocate` copies the first to the device; `answer` makes the caller's flow of
what the kernels leave. `launches` binds the kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from papers.common.gpu import device
from papers.common.model import Flow
from papers.common.problems.network import Grid, Network, NetworkError, image_of
from papers.lupinska_costscale.flow.residuals import (
    Arcs,
    Split,
    arcs_of_grid,
    checked,
    join,
    split,
)
from papers.lupinska_costscale.flow.settle import settle, side_in_form

LARGEST = 2**30
"""Fewer nodes than this, and twice as many arcs: heights and arcs are numbered in 32 bits."""

UNKNOWN = -1
"""ExcessTotal of a grid whose capacities the device alone knows."""


@dataclass(frozen=True)
class Tile:
    """The pixels of a block, a thread each.

    Attributes
    ----------
    rows, columns : int
        Columns are a power of two; at most 1024 pixels in all.

    Raises
    ------
    ValueError
        For a shape that is none of these.
    """

    rows: int
    columns: int

    def __post_init__(self) -> None:
        whole = all(isinstance(x, int) and x > 0 for x in (self.rows, self.columns))
        if not whole or self.columns & (self.columns - 1) or self.rows * self.columns > 1024:
            raise ValueError(
                f"a tile of {self.rows!r} x {self.columns!r} pixels: columns must be a power of two"
                ", pixels at most 1024"
            )

    @classmethod
    def for_device(cls, rows: int, columns: int) -> Tile:
        """Return the given tile on a GPU, and a small one in the CPU executor."""
        return cls(rows, columns) if device.describe().is_gpu else cls(4, 8)

    @classmethod
    def of(cls, text: str) -> Tile:
        """Return the tile that a text states as the paper does: ``"32x8"`` has 8 rows of 32.

        Raises
        ------
        ValueError
            For another text.
        """
        columns, _, rows = text.partition("x")
        if not (columns.isdecimal() and rows.isdecimal()):
            raise ValueError(f"tile={text!r} is no text like 32x8")
        return cls(int(rows), int(columns))

    @property
    def threads(self) -> int:
        """Pixels."""
        return self.rows * self.columns

    @property
    def shift(self) -> int:
        """Logarithm of `columns`."""
        return self.columns.bit_length() - 1


ONE = Tile(1, 1)


@dataclass(frozen=True, eq=False)
class Prepared:
    """An instance as the kernels take it.

    Attributes
    ----------
    instance : Network or Grid
        As given.
    padded : Network or Grid
        The same, a grid with empty pixels added so that tiles cover it.
    parts : Split
        `padded` with its terminals apart. Where `total` is `UNKNOWN` its capacities are no
        capacities; `known` has them.
    nodes : int
        |V| of `instance`.
    total : int
        Units that the source sends out: ExcessTotal at the start, or `UNKNOWN`.
    operations : int or None
        Pushes and relabels after which a run is given up, by the caller's wish.
    dtype : numpy dtype
        Type of residual capacities.
    """

    instance: Network | Grid
    padded: Network | Grid
    parts: Split
    nodes: int
    total: int
    operations: int | None
    dtype: np.dtype

    @property
    def n(self) -> int:
        """Nodes that threads operate."""
        return self.parts.arcs.nodes

    @property
    def image(self) -> Grid | None:
        """`padded`, where it is a grid."""
        return image_of(self.padded)


def prepare(instance: Any, tile: Tile = ONE, operations: int | None = None) -> Prepared:
    """Check an instance and bring it into the kernels' form.

    Parameters
    ----------
    instance : Network or Grid
    tile : Tile
        Shape whose multiples a grid is padded to.
    operations : int, optional
        The caller's own bound on pushes and relabels of a run. (`flow.bounds` has those that every
        run is held to.)

    Raises
    ------
    NetworkError
        If it is neither, or too large for 32-bit numbers or for the device's memory.
    ValueError
        For a bound that is no positive whole number.
    """
    if operations is not None and (not isinstance(operations, int) or operations < 1):
        raise ValueError(f"operations={operations!r} is no positive whole number")
    image = image_of(instance)
    if image is None:
        _check_size(instance)
        padded, parts = instance, split(instance)
        kind = _narrowest([parts.between], [parts.source, parts.sink])
    else:
        padded, parts = _laid_out(image, tile)
        kind = parts.between.dtype
    total = int(parts.source.sum(dtype=np.int64))
    return Prepared(instance, padded, parts, instance.nodes, total, operations, kind)


def _laid_out(image: Grid, tile: Tile) -> tuple[Grid, Split]:
    """Pad and split an image in one pass over its capacities, in the type that the device takes."""
    shape = _whole_tiles(image.shape, tile)
    _check_size(_of_zeros(shape, tuple(image.arcs)))
    given = checked(image)
    source, sink, *arcs = (np.asarray(given[name]) for name in ("source", "sink", *image.arcs))
    lines = np.zeros((2 + len(arcs), *shape), _narrowest(arcs, [source, sink]))
    height, width = image.shape
    for line, array in zip(lines, (source, sink, *arcs), strict=True):
        line[:height, :width] = array
    padded = Grid(lines[0], lines[1], dict(zip(image.arcs, lines[2:], strict=True)))
    source, sink = lines[0].reshape(-1), lines[1].reshape(-1)
    return padded, Split(arcs_of_grid(padded), lines[2:].reshape(-1), source, sink, 0)


def blank(shape: tuple[int, int], names: tuple[str, ...], dtype: Any, tile: Tile) -> Prepared:
    """Prepare a grid whose capacities kernels will write into the device's memory.

    Parameters
    ----------
    shape : (int, int)
        Height and width.
    names : tuple of str
        Directions, as in `papers.common.problems.network.FOUR`.
    dtype : int32 or int64
        Type of residual capacities. Each capacity to or from a terminal fits it, and so does the
        sum of an arc and its mate.
    tile : Tile

    Raises
    ------
    NetworkError
        As `prepare`, for the size.
    """
    instance, padded = _of_zeros(shape, names), _of_zeros(_whole_tiles(shape, tile), names)
    _check_size(padded)
    zeros = np.broadcast_to(np.int64(0), len(padded.arcs) * padded.source.size)
    ends = padded.source.reshape(-1), padded.sink.reshape(-1)
    parts = Split(arcs_of_grid(padded), zeros, *ends, 0)
    return Prepared(instance, padded, parts, instance.nodes, UNKNOWN, None, np.dtype(dtype))


def _of_zeros(shape: tuple[int, ...], names: tuple[str, ...]) -> Grid:
    """A grid without capacities, which takes no memory."""
    nothing = np.broadcast_to(np.int64(0), shape)
    return Grid(nothing, nothing, dict.fromkeys(names, nothing))


def known(prepared: Prepared, arrays: dict[str, Any]) -> Prepared:
    """Return an instance with its capacities: of a `blank` one they are copied from the device."""
    image, padded = image_of(prepared.instance), prepared.image
    if prepared.total != UNKNOWN or image is None or padded is None:
        return prepared
    between, source, sink = (
        device.to_host(arrays[name]).astype(np.int64) for name in ("capacity", "source", "sink")
    )
    parts = Split(prepared.parts.arcs, between, source, sink, 0)
    height, width = image.shape
    whole = join(padded, parts)
    inside = {name: array[:height, :width] for name, array in whole.items()}
    return replace(prepared, instance=_grid(inside), padded=_grid(whole), parts=parts)


def _grid(arrays: dict[str, np.ndarray]) -> Grid:
    """Return the grid of the arrays that `join` names, which are taken out."""
    return Grid(arrays.pop("source"), arrays.pop("sink"), arrays)


def _whole_tiles(shape: tuple[int, int], tile: Tile) -> tuple[int, int]:
    """The height and width of the fewest whole tiles that cover an image."""
    height, width = shape
    return height + -height % tile.rows, width + -width % tile.columns


def _check_size(instance: Network | Grid) -> None:
    image, nodes = image_of(instance), instance.nodes
    arcs = instance.network().arcs if image is None else len(image.arcs) * image.source.size
    if nodes >= LARGEST or arcs >= 2 * LARGEST:
        raise NetworkError(f"{nodes} nodes and {arcs} arcs: too many to number in 32 bits")
    needed, free = 32 * arcs + 64 * nodes, device.free_bytes()
    if needed > free:
        raise NetworkError(
            f"{nodes} nodes and {arcs} arcs need up to {needed} bytes of device memory, {free} "
            "are free"
        )


def _narrowest(arcs: Sequence[np.ndarray], terminals: Sequence[np.ndarray]) -> np.dtype:
    """int32 if the sum of any arc and its mate fits, and all at the terminals, else int64."""
    most = [2 * int(array.max(initial=0)) for array in arcs]
    most += [int(array.max(initial=0)) for array in terminals]
    return np.dtype(np.int32 if max(most) < 2**31 else np.int64)


def allocate(prepared: Prepared) -> dict[str, Any]:
    """Device memory of a run, named as in the table of `flow.kernels.lock_free`; capacities copied
    into it, but for those of a `blank` instance.

    Returns
    -------
    dict of str to device array
    """
    parts, kind, n = prepared.parts, prepared.dtype, prepared.n
    given = {"capacity": parts.between, "source": parts.source, "sink": parts.sink}
    lines = {
        name: device.empty(array.size, kind)
        if prepared.total == UNKNOWN
        else device.to_device(array.astype(kind, copy=False))
        for name, array in given.items()
    }
    arcs = {  # an array of no entries is one of a zero: a grid's rows, a network's offsets
        name: device.to_device(np.resize(getattr(parts.arcs, name), size).astype(dtype))
        for name, size, dtype in _sizes(parts.arcs)
    }
    sizes: dict[str, tuple[int, Any]]
    sizes = {"residual": (parts.between.size, kind), "to_source": (n, kind), "to_sink": (n, kind)}
    sizes |= {"excess": (n + 2, np.int64), "height": (n, np.int32), "tally": (2, np.int64)}
    return lines | arcs | {name: device.empty(*size) for name, size in sizes.items()}


def _sizes(arcs: Arcs) -> list[tuple[str, int, type]]:
    kinds = {"first": np.int32, "head": np.int32, "mate": np.int32, "offset": np.int64}
    return [(name, max(1, getattr(arcs, name).size), kind) for name, kind in kinds.items()]


def answer(prepared: Prepared, arrays: dict[str, Any], counters: dict[str, int]) -> Flow:
    """Copy a maximum preflow to the host and make a flow of it.

    Raises
    ------
    FlowError
        If it is no maximum preflow.
    """
    residual, _ = _residual(prepared, arrays)
    return settle(prepared.instance, residual, counters)


def settled_answer(
    prepared: Prepared, arrays: dict[str, Any], bits: np.ndarray, counters: dict[str, int]
) -> Flow:
    """Copy a maximum flow to the host, whose excess the device has sent back.

    Parameters
    ----------
    prepared : Prepared
    arrays : dict of str to device array
    bits : uint8[bytes]
        The nodes that the sink cannot be reached from; see `side_of`.
    counters : dict of str to int
    """
    residual, value = _residual(prepared, arrays)
    return Flow(value, residual, side_of(prepared, bits), counters)


def side_of(prepared: Prepared, bits: np.ndarray) -> np.ndarray:
    """Return the source's side in the caller's form: of a grid without the pixels that pad it.

    Parameters
    ----------
    prepared : Prepared
    bits : uint8[bytes]
        A bit a node, the lowest first; set on the source's side.
    """
    image = image_of(prepared.instance)
    if image is None or prepared.image is None:
        return side_in_form(prepared.instance, _unpacked(bits, prepared.n))
    (height, width), (padded, pitch) = image.shape, prepared.image.shape
    if pitch % 8:
        side = _unpacked(bits, prepared.n).reshape(padded, pitch)
        return side[:height, :width].copy()
    rows = bits[: prepared.n // 8].reshape(padded, pitch // 8)
    return _unpacked(rows[:height], width)  # without those that pad it, in one pass


def _unpacked(bits: np.ndarray, count: int) -> np.ndarray:
    """Return the first bits of each row as booleans, bool[..., count]."""
    return np.unpackbits(bits, axis=-1, count=count, bitorder="little").view(bool)


def _residual(prepared: Prepared, arrays: dict[str, Any]) -> tuple[Any, int]:
    """Residual capacities in the caller's form, and the units at the sink."""
    parts = prepared.parts
    between, returned, sink = (
        device.to_host(arrays[name]).astype(np.int64)
        for name in ("residual", "to_source", "to_sink")
    )
    left = Split(parts.arcs, between, parts.source - returned, sink, 0)
    residual = join(prepared.padded, left)
    image = image_of(prepared.instance)
    if image is not None:
        height, width = image.shape
        residual = {name: array[:height, :width] for name, array in residual.items()}
    return residual, int((parts.sink - sink).sum()) + parts.direct
