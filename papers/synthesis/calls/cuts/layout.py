"""The capacities of a caller's image: checked and laid out in one pass over each array.

`papers.lupinska_costscale.flow.forms.grid_of` and `flow.prepare.prepare` pass over each array nine
times: three passes check it, one copies it, two look for the largest sum, one for the largest
entry, one lays it out, the device's copy is another. Here each entry is read once, and written once
in 32 bits where the copy to the device starts. All that has to be known of the values is whether
one is negative and which bits are in use: `Seen`.

Bands of rows are laid out by several threads, since one of them is slower than the bus. The pass is
a compiled loop (`loops`); for the first images of a process several of NumPy's do the same.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from papers.common import cores
from papers.common.problems.network import STEP, NetworkError, whole_numbers
from papers.lupinska_costscale.flow.forms import by_name, common_shape

THREADS = 4
"""Threads that lay out, at most: together they are faster than the bus."""

BAND = 1 << 17
"""Pixels of a band, about: a tenth of a millisecond, far more than handing it to a thread takes."""

LEAST = 1 << 15
"""Pixels from which on threads help: those of fewer are laid out before a thread has woken."""

BY_ARRAYS = 1 << 24
"""Capacities that NumPy lays out in a process before the compiled loops do. These take less time a
capacity, but to load them takes longer than to lay out so many in either way
(`evidence/carrying/laying_out.csv`)."""

READ = (np.dtype(np.int32), np.dtype(np.int64))
"""Types that the passes read; all others are brought into one of them before."""

SMALL_BITS, PAIR_BITS = 31, 30
"""Bits of a capacity to or from a terminal, and of one that fits 32 bits together with its mate."""


# ------------------------------------------------------------------------------- images


class Image(NamedTuple):
    """A caller's arrays, in one shape, in types of `READ`, row after row; values are unchecked.

    Attributes
    ----------
    source, sink : int[height, width]
    arcs : dict of str to int[height, width]
        By direction, in the order of `papers.common.problems.network.EIGHT`. What leaves the image
        is anything.
    """

    source: np.ndarray
    sink: np.ndarray
    arcs: dict[str, np.ndarray]


def shape_of(given: tuple[Any, Any, Any, int]) -> tuple[int, int] | None:
    """Return height and width of what a caller gave, or None where that is no image.

    Parameters
    ----------
    given : tuple
        Arguments of `papers.lupinska_costscale.flow.forms.grid_of`, which names the fault then.
    """
    try:
        return common_shape({k: np.asarray(array) for k, array in by_name(*given).items()})
    except ValueError:
        return None


def image_of(given: tuple[Any, Any, Any, int], shape: tuple[int, int]) -> Image | None:
    """Bring what a caller gave into the form that is read: most arrays are in it already.

    Parameters
    ----------
    given : tuple
        As in `shape_of`.
    shape : (int, int)
        What that says.

    Returns
    -------
    Image or None
        None if a value is no whole number, or negative, as far as a conversion has seen it.
    """
    made: dict[int, np.ndarray] = {}  # one array may stand for all directions
    named = by_name(*given)
    try:
        for name, values in named.items():
            if id(values) not in made:
                made[id(values)] = _readable(np.asarray(values), name, shape)
    except NetworkError:
        return None
    source, sink, *arcs = (made[id(values)] for values in named.values())
    return Image(source, sink, dict(zip(list(named)[2:], arcs, strict=True)))


def _readable(array: np.ndarray, name: str, shape: tuple[int, int]) -> np.ndarray:
    """Return an array in the shape of all, and in a type that is read.

    Raises
    ------
    NetworkError
        As `whole_numbers`.
    """
    if array.dtype not in READ:
        narrow = array.dtype.kind in "biu" and array.dtype.itemsize < 4
        array = array.astype(np.int32) if narrow else whole_numbers(array, name)
    return np.ascontiguousarray(array if array.shape == shape else np.broadcast_to(array, shape))


# ------------------------------------------------------------------------------- what is seen


@dataclass(frozen=True)
class Seen:
    """All that has to be known of an image's values.

    Attributes
    ----------
    ends, between : int
        The bits that are set in any capacity at the terminals, and in any between pixels, those
        that leave the image included; negative if one of them is.
    tied : int
        Pixels with an arc to or from a terminal.
    """

    ends: int = 0
    between: int = 0
    tied: int = 0

    def __or__(self, other: Seen) -> Seen:
        """Both together, of different pixels or arrays."""
        ends, between = self.ends | other.ends, self.between | other.between
        return Seen(ends, between, self.tied + other.tied)

    @property
    def fits(self) -> bool:
        """Whether nothing is negative, and the device may count in 32 bits.

        The capacities of an image that fits memory add up to less than 2**62 then.
        """
        return self.ends >> SMALL_BITS == 0 and self.between >> PAIR_BITS == 0


def ends_by_arrays(
    source: np.ndarray,
    sink: np.ndarray,
    first: int,
    stop: int,
    to_source: np.ndarray,
    to_sink: np.ndarray,
) -> tuple[int, int]:
    """As `papers.synthesis.calls.cuts.loops.lay_ends`, by NumPy's passes."""
    out, into = source[first:stop], sink[first:stop]
    for lines, values in ((to_source, out), (to_sink, into)):
        lines[first:stop, : values.shape[1]] = values
    either = out | into
    return int(np.bitwise_or.reduce(either, axis=None)), int(np.count_nonzero(either))


def arcs_by_arrays(
    given: np.ndarray, first: int, stop: int, down: int, right: int, target: np.ndarray
) -> int:
    """As `papers.synthesis.calls.cuts.loops.lay_arcs`, by NumPy's passes."""
    height, width = given.shape
    band, lines = given[first:stop], target[first:stop, :width]
    lines[...] = band
    if right:
        lines[:, -1 if right > 0 else 0] = 0
    if down < 0 and first == 0:
        lines[0] = 0
    if down > 0 and stop == height:
        lines[-1] = 0
    return int(np.bitwise_or.reduce(band, axis=None))


_laid_out = 0


def _passes(entries: int) -> tuple[Callable[..., tuple[int, int]], Callable[..., int]]:
    """Return the two passes that an image of so many capacities goes by; see `BY_ARRAYS`."""
    global _laid_out
    _laid_out += entries
    if _laid_out <= BY_ARRAYS:
        return ends_by_arrays, arcs_by_arrays
    from papers.synthesis.calls.cuts import loops

    return loops.lay_ends, loops.lay_arcs


# ------------------------------------------------------------------------------- bands


class Band(NamedTuple):
    """Some rows of an image's terminals, or of one direction.

    Attributes
    ----------
    names : tuple of str
        ``source`` and ``sink``, or a direction.
    first, stop : int
        The rows.
    lay : callable() -> Seen
    """

    names: tuple[str, ...]
    first: int
    stop: int
    lay: Callable[[], Seen]


def bands(image: Image, lines: Mapping[str, np.ndarray]) -> Iterator[Band]:
    """Yield what is to be done for an image.

    Parameters
    ----------
    image : Image
    lines : mapping of str to int32[rows, columns]
        The places where ``source``, ``sink`` and the directions go; zero beside the image.
    """
    height, width = image.source.shape
    rows = max(1, BAND // width)
    ranges = [(first, min(first + rows, height)) for first in range(0, height, rows)]
    of_ends, of_arcs = _passes(image.source.size * (2 + len(image.arcs)))

    def ends(first: int, stop: int) -> Seen:
        places = lines["source"], lines["sink"]
        seen, tied = of_ends(image.source, image.sink, first, stop, *places)
        return Seen(ends=int(seen), tied=int(tied))

    def arcs(name: str, first: int, stop: int) -> Seen:
        seen = of_arcs(image.arcs[name], first, stop, *STEP[name], lines[name])
        return Seen(between=int(seen))

    for part in ranges:
        yield Band(("source", "sink"), *part, partial(ends, *part))
    for name in image.arcs:
        for part in ranges:
            yield Band((name,), *part, partial(arcs, name, *part))


def lay_out(image: Image, lines: Mapping[str, np.ndarray], then: Callable[[Band], None]) -> Seen:
    """Check an image and lay it out, a large one by threads.

    Parameters
    ----------
    image, lines
        As in `bands`.
    then : callable(Band)
        Called in this thread for each band when it is laid out, in their order.

    Returns
    -------
    Seen
    """
    work, threads = list(bands(image, lines)), cores.threads(THREADS)
    if threads > 1 and image.source.size >= LEAST:
        waiting = [_helpers(threads).submit(band.lay) for band in work]
        found = (each.result() for each in waiting)
    else:
        found = (band.lay() for band in work)
    seen = Seen()
    for band, of_it in zip(work, found, strict=True):
        seen |= of_it
        then(band)
    return seen


_kept: dict[int, ThreadPoolExecutor] = {}


def _helpers(threads: int) -> ThreadPoolExecutor:
    """Return threads that stay: starting them takes as long as their work."""
    if threads not in _kept:
        _kept[threads] = ThreadPoolExecutor(threads, "papers-layout")
    return _kept[threads]


os.register_at_fork(after_in_child=_kept.clear)  # a child process has no threads of its parent
