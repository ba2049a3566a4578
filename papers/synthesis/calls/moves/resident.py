"""The host's side of moves on the device: what lies there, and the launches of a move.

The energy goes up once, the labels with it. A move's capacities are written by a kernel into the
state of `lupinska_costscale:gpu_relabel`, which is made once, too; down come the cut, a bit a
pixel, and two numbers: the units that the sink was offered and those that have come to it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from papers.common.gpu import device
from papers.common.gpu.launch import Launch, bind
from papers.common.gpu.limits import grid_for
from papers.common.problems.network import EIGHT, FOUR
from papers.lupinska_costscale.flow import solver
from papers.lupinska_costscale.flow.state import State
from papers.lupinska_costscale.flow.upload import upload_blank
from papers.synthesis.calls.moves import kernels
from papers.synthesis.calls.moves.energies import Energy
from papers.synthesis.calls.moves.kernels import Padded, Scene

MOST_BYTES = 1 << 30
"""Device memory of an energy and of its labels' flows, besides the solver's own, at most; never
more than half of what the solver leaves free."""

ALPHA, BEGUN, FLOW = 0, 1, 3
"""Places of what changes from move to move among the arguments of `kernels`."""


def element_type(energy: Energy) -> np.dtype:
    """Return int32 if all terms, and all capacities of all moves, fit it, else int64.

    A pair costs ``w`` at most, the largest weight of its direction times the largest distance. So
    its arc and the opposite one have at most ``2 w`` together, whatever flow is put into them, and
    no pixel's surplus is beyond the difference of two unary terms and ``w`` of each of its pairs,
    of which there are two a direction.
    """
    dearest = int(energy.metric.max(initial=0))
    heaviest = [int(weight.max(initial=0)) for weight in energy.weights.values()]
    most = 2 * int(np.abs(energy.unary).max(initial=0)) + 2 * dearest * sum(heaviest)
    return np.dtype(np.int32 if max(most, dearest, *heaviest) < 2**31 else np.int64)


def bytes_of(energy: Energy) -> tuple[int, int]:
    """Return the bytes that an energy takes on the device, and those of the flow of one label."""
    size, pixels = element_type(energy).itemsize, energy.shape[0] * energy.shape[1]
    flow = len(energy.weights) * pixels * size
    return (energy.unary.size + energy.metric.size) * size + flow + 4 * pixels, flow


def adopt(energy: Energy, labels: np.ndarray) -> Resident | None:
    """Bring an energy to the device, and the labels to start from.

    Parameters
    ----------
    energy : Energy
    labels : int64[height, width]

    Returns
    -------
    Resident or None
        None if the energy and the flow of one label take more than `MOST_BYTES` allows.

    Raises
    ------
    papers.common.problems.network.NetworkError
        If the grid is too large for the solver.
    """
    names = FOUR if len(energy.weights) == 2 else EIGHT
    state = upload_blank(energy.shape, names, element_type(energy))
    room = min(MOST_BYTES, device.free_bytes() // 2) - sum(bytes_of(energy))
    return None if room < 0 else Resident(energy, labels, state, room)


class Resident:
    """The moves of an energy that lies on the device; `adopt` makes one.

    Attributes
    ----------
    state : papers.lupinska_costscale.flow.state.State
    room : int
        Bytes that further flows may take.
    recycled : int
        Moves that began with the flow of the label's last one.
    resident : int
        Those of them whose flow had stayed on the device. The others' was copied to the host after
        one move and back before the next, since there was no room.
    """

    def __init__(self, energy: Energy, labels: np.ndarray, state: State, room: int) -> None:
        self.state, self.room = state, room
        self.recycled = self.resident = 0
        self.flows: dict[int, Any] = {}
        self.away: dict[int, np.ndarray] = {}
        kind = state.prepared.dtype
        self.passing = device.empty(bytes_of(energy)[1] // kind.itemsize, kind)
        self.offered = device.to_device(np.zeros(1, np.int64))
        self.scene = _scene(energy, labels, kind)
        self.launches = self._bound()

    def _bound(self) -> dict[str, Launch]:
        """The launches of `kernels`, of label 0 and the flow that passes through."""
        arrays, scene, image = self.state.arrays, self.scene, self.state.prepared.image
        assert image is not None
        zero, pitch, flow = np.int32(0), np.int32(image.shape[1]), self.passing
        grid = Padded(pitch, *(arrays[name] for name in Padded._fields[1:]))
        threads = 256 if device.describe().is_gpu else 32
        over_image, over_flow, over_labels = (
            grid_for(size, threads) for size in (image.source.size, flow.size, scene.labels.size)
        )
        return {
            "offer": bind(
                kernels.offer, *over_image, zero, zero, scene, flow, grid, self.offered
            ),
            "keep": bind(kernels.keep, *over_flow, scene, pitch, arrays["residual"], flow),
            "give": bind(kernels.give, *over_labels, zero, scene, pitch, arrays["bits"]),
        }  # fmt: skip

    def cut(self, alpha: int, seconds: float | None) -> tuple[np.ndarray, int]:
        """Cut the move of a label.

        Parameters
        ----------
        alpha : int
        seconds : float or None
            That the cut may take.

        Returns
        -------
        takes : bool[height, width]
            The pixels that take the label.
        lowered : int
            By how much the energy falls then, by the flow's value.

        Raises
        ------
        papers.common.model.GivenUpError
            After `seconds`.
        """
        flow, begun = self._flow_of(alpha)
        offer, keep = self.launches["offer"], self.launches["keep"]
        for place, value in ((ALPHA, np.int32(alpha)), (BEGUN, np.int32(begun)), (FLOW, flow)):
            offer.replace(place, value)
        device.clear(self.offered)
        offer()
        self.state.seconds = seconds
        solver.run_gpu_relabel(self.state)
        found = solver.download(self.state)
        keep.replace(FLOW, flow)
        keep()
        if alpha not in self.flows:
            self.away[alpha] = device.to_host(flow)
        return ~found.source_side, int(device.to_host(self.offered)[0]) - found.value

    def _flow_of(self, alpha: int) -> tuple[Any, bool]:
        """The array of a label's flow, and whether one is in it; a new one if there is room.

        Without room all labels pass through one array, and their flows wait on the host.
        """
        if alpha in self.flows:
            self.recycled += 1
            self.resident += 1
            return self.flows[alpha], True
        if alpha in self.away:
            self.recycled += 1
            device.overwrite(self.passing, self.away[alpha])
            return self.passing, True
        if self.room < self.passing.nbytes:
            return self.passing, False
        self.room -= self.passing.nbytes
        self.flows[alpha] = device.empty(self.passing.size, self.passing.dtype)
        return self.flows[alpha], False

    def give(self, alpha: int) -> None:
        """Give a label to the pixels that its last `cut` has told."""
        self.launches["give"].replace(ALPHA, np.int32(alpha))
        self.launches["give"]()


def _scene(energy: Energy, labels: np.ndarray, kind: np.dtype) -> Scene:
    """Copy an energy and labels to the device."""
    weights = np.concatenate([weight.ravel() for weight in energy.weights.values()])
    terms = (energy.unary.ravel(), weights, energy.metric.ravel())
    height, width, count = (np.int32(size) for size in energy.unary.shape)
    unary, weight, metric = (device.to_device(array.astype(kind)) for array in terms)
    start = device.to_device(labels.ravel().astype(np.int32))
    return Scene(height, width, count, unary, weight, metric, start)
