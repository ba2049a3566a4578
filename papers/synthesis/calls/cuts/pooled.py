"""The memory and the launches of cuts of images of one shape, for the next image of that shape.

`gpu_relabel` of an image takes 15 arrays and four launches on the device, and pinned memory that
the capacities are laid out in. Making them takes longer than many cuts, so they go to the pool.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from papers.common.gpu import device
from papers.common.model import Flow
from papers.lupinska_costscale.flow import solver
from papers.lupinska_costscale.flow.upload import upload_blank
from papers.synthesis.assignment import pool
from papers.synthesis.calls.cuts.layout import Band, Image, Seen, image_of, lay_out

BYTES_OF_PIXEL, BYTES_OF_ARC = 28, 8
"""Device memory that a pixel takes, and each of its arcs: a capacity and what is left of it."""


def is_kept(shape: tuple[int, int], connectivity: int) -> bool:
    """Whether memory for such images stays: pinning more takes longer than `grid_of` and so on."""
    bytes_of_it = BYTES_OF_PIXEL + connectivity * BYTES_OF_ARC
    return shape[0] * shape[1] * bytes_of_it <= pool.MOST_BYTES


class Room(pool.Pooled):
    """The state of `gpu_relabel` for images of one shape, in 32 bits, and pinned memory like it.

    Attributes
    ----------
    state : papers.lupinska_costscale.flow.state.State
    seen : Seen
        The capacities that were filled in last.
    """

    seen = Seen()

    def __init__(self, key: Any, shape: tuple[int, int], names: tuple[str, ...]) -> None:
        self.key = key
        self.state = state = upload_blank(shape, names, np.int32)
        both = (*state.arrays.values(), *state.again.values())
        distinct = {id(array): array for array in both}
        self.nbytes = sum(array.nbytes for array in distinct.values())
        padded = state.prepared.image
        assert padded is not None
        self._pitch = padded.shape[1]
        sizes = {"source": 1, "sink": 1, "capacity": len(names)}
        self._staged = {name: _zeros(count * padded.source.size) for name, count in sizes.items()}
        for name, staged in self._staged.items():
            device.overwrite(state.arrays[name], staged)  # zero for ever beside the image
        between = self._staged["capacity"].reshape(len(names), *padded.shape)
        self._lines = dict(zip(names, between, strict=True))
        self._lines |= {name: self._staged[name].reshape(padded.shape) for name in ENDS}
        self._places = {name: ("capacity", k * padded.source.size) for k, name in enumerate(names)}
        self._places |= {name: (name, 0) for name in ENDS}

    def fill(self, image: Image) -> None:
        """Check an image's capacities and send them to the device; nobody waits for them."""
        self.whole = False
        self.seen = lay_out(image, self._lines, self._send)

    def _send(self, band: Band) -> None:
        """Copy a band up while others are laid out."""
        count = (band.stop - band.first) * self._pitch
        for name in band.names:
            array, start = self._places[name]
            first = start + band.first * self._pitch
            device.send_words(self._staged[array], self.state.arrays[array], first, count)

    def cut(self, seconds: float | None) -> Flow:
        """Cut the image that was filled in.

        Raises
        ------
        papers.common.model.GivenUpError
            After `seconds`.
        """
        self.state.seconds = seconds
        solver.run_gpu_relabel(self.state)
        found = solver.download(self.state)
        self.whole = True  # the host has waited for the answer
        return found

    def give_back(self) -> None:
        """Let the next image have it."""
        if not self.whole:
            device.synchronize()  # what was sent may be on its way
            self.whole = True
        pool.give(self)


ENDS = ("source", "sink")


def _zeros(size: int) -> np.ndarray:
    array = device.staging(size, np.int32)
    array[...] = 0
    return array


def room_for(shape: tuple[int, int], names: tuple[str, ...]) -> Room:
    """Take a room for images of a shape out of the pool, or make one.

    Raises
    ------
    papers.common.problems.network.NetworkError
        As `upload_blank`.
    """
    key = ("cut", shape, names, *pool.machine())
    return pool.take(key, partial(Room, key, shape, names))


def filled(given: tuple[Any, Any, Any, int], shape: tuple[int, int]) -> Room | None:
    """Send a caller's image to the device.

    Parameters
    ----------
    given, shape
        As in `papers.synthesis.calls.cuts.layout.image_of`.

    Returns
    -------
    Room or None
        None if its memory would be too large to be kept, or its values do not fit 32 bits or are
        no capacities at all.
    """
    if not is_kept(shape, given[3]):
        return None
    image = image_of(given, shape)
    if image is None:
        return None
    room = room_for(shape, tuple(image.arcs))
    room.fill(image)
    if room.seen.fits:
        return room
    room.give_back()
    return None
