"""Device memory and bound launches of [DN16] as printed, beside `launches`, which has ours.

A configuration takes some of its kernels from `kernels.printed` and the rest from ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from papers.common.gpu import device
from papers.common.gpu.kernels_scan import exclusive_scan
from papers.common.gpu.launch import Launch, bind
from papers.common.gpu.limits import blocks_for, grid_for
from papers.datenagi2016.configuration import Configuration
from papers.datenagi2016.kernels import printed
from papers.datenagi2016.kernels import shared as k
from papers.datenagi2016.kernels.printed import Gathered, Rules

CHUNKS = 2048
"""Blocks of the prefix sum over the matrix at most."""

TILE = 4096
"""Entries of a chunk at least, where there are so many."""


def more_bytes(shape: tuple[int, int], variant: str, configuration: Configuration) -> int:
    """Bytes of `more_arrays`."""
    return 4 * sum(_sizes(shape, variant, configuration).values())


def _sizes(shape: tuple[int, int], variant: str, configuration: Configuration) -> dict[str, int]:
    n, m = shape
    sizes: dict[str, int] = {}
    if not configuration.one_pass:
        gathers = variant == "classical" and configuration.racing
        sizes |= {"addresses": m + 1, "f_out": n * m if gathers else 1,
                  "places": n + 1, "slots": n}  # fmt: skip
    if variant == "classical" and (configuration.by_entry or configuration.racing):
        sizes["addresses"] = n * m + 1
    if variant == "classical" and configuration.by_entry:
        sizes["chunk_totals"] = sizes["chunk_starts"] = CHUNKS + 1
    return sizes


def more_arrays(
    shape: tuple[int, int], variant: str, configuration: Configuration
) -> dict[str, Any]:
    """Return the arrays that print's kernels need besides `launches.allocate`'s.

    ``addresses`` int32 [n m + 1] or [m + 1] is R, and by a prefix sum in place the addresses.
    """
    sizes = _sizes(shape, variant, configuration)
    return {name: device.empty(size, np.int32) for name, size in sizes.items()}


def compressing(
    known: Mapping[str, Any],
    what: str,
    size: int,
    mark: Any,
    wanted: int,
    found: Any,
    place: int,
    threads: tuple[int, int],
) -> dict[str, Launch]:
    """Bind the three launches that compress an array of marks [DN16 Fig.1(a)].

    Parameters
    ----------
    known : mapping of str to device array
    what : str
        The name before ``_predicate``, ``_scan`` and ``_scatter``.
    size : int
        Elements.
    mark, found : device array
        The marks, and the list of those that are `wanted`.
    wanted, place : int
        The mark, and the place of the list's size in ``flags``.
    threads : (int, int)
        Threads a block of the kernels with a thread a line, and of the prefix sum.
    """  # fmt: skip
    addresses, grid = known["addresses"], grid_for(size, threads[0])
    n = np.int32(size)
    return {
        f"{what}_predicate": bind(
            printed.mark_predicate, *grid, n, mark, np.int32(wanted), addresses
        ),
        f"{what}_scan": bind(exclusive_scan, 1, threads[1], n, addresses, addresses),
        f"{what}_scatter": bind(
            printed.mark_scatter, *grid, n, addresses, found, known["flags"], np.int32(place)
        ),
    }


def matrix_launches(
    bound: Any, known: Mapping[str, Any], shape: tuple[int, int], threads: tuple[int, int]
) -> dict[str, Launch]:
    """Bind the matrix's compression over all entries: predicate, prefix sum, scatter.

    `bound` is ``bind_by_name`` with the names known.
    """
    entries = shape[0] * shape[1]
    chunks = min(CHUNKS, blocks_for(entries, TILE))
    chunk = -(-entries // chunks)
    sizes = np.int32(entries), np.int32(chunk)
    addresses, totals, starts = (
        known[name] for name in ("addresses", "chunk_totals", "chunk_starts")
    )
    grid = grid_for(entries, threads[0])
    return {
        "compression_predicate": bound(printed.edge_predicate, *grid),
        "chunk_sums": bind(printed.chunk_sums, chunks, threads[1], *sizes, addresses, totals),
        "exclusive_scan": bind(exclusive_scan, 1, threads[1], np.int32(chunks), totals, starts),
        "chunk_scan": bind(printed.chunk_scan, chunks, threads[1], *sizes, starts, addresses),
        "compression_scatter": bound(printed.edge_scatter, *grid),
    }


def level_launches(
    bound: Any,
    known: Mapping[str, Any],
    shape: tuple[int, int],
    variant: str,
    configuration: Configuration,
    threads: tuple[int, int],
) -> dict[str, Launch]:
    """Bind the kernels of a forward pass by levels, and of the steps around it; see `levels`."""
    n, m = shape
    line, row = grid_for(m, threads[0]), grid_for(n, threads[0])
    frontier = known["frontier_in" if variant == "classical" else "frontier"]
    gathered = Gathered(
        frontier, known["f_out"], known["frontier_reverse"], known["places"], known["slots"]
    )
    rules = Rules(*(np.int32(getattr(configuration, name)) for name in Rules._fields))
    special = {"gathered": gathered, "rules": rules}
    found = {
        "reset": bound(printed.reset, *line),
        "optimality_check": bound(printed.optimality_check, *row),
        **compressing(
            known, "frontier", n, known["row_mark"], k.ACTIVE, frontier, printed.IN, threads
        ),
    }
    if variant == "classical":
        found["activate"] = bound(printed.activate, *row)
        found["expansion"] = bound(printed.expansion, *row, **special)
        if configuration.racing:
            found |= {
                "room": bound(printed.room, 1, threads[1], **special),
                "contraction": bound(printed.contraction, *row, **special),
                "contraction_scan": bound(printed.contraction_scan, 1, threads[1]),
                "contraction_scatter": bound(printed.contraction_scatter, *row, **special),
            }
    else:
        found["expansion"] = bound(printed.expansion_of_columns, *line, **special)
    if configuration.compressed:
        reverse, augment = known["frontier_reverse"], known["frontier_augment"]
        found |= compressing(
            known, "reverse", m, known["column_mark"], k.TO_REVERSE, reverse, k.REVERSE, threads
        )
        found["reverse_pass"] = bound(printed.reverse_pass, *line)
        found |= compressing(
            known, "augment", n, known["row_mark"], k.TO_AUGMENT, augment, k.AUGMENT, threads
        )
    return found


def wait_for_each(launches: Mapping[str, Launch]) -> None:
    """Let the host wait for every kernel: "the control is given to the CPU" [DN16 sec.3.2]."""

    def and_wait(enqueue: Any) -> None:
        enqueue()
        device.synchronize()

    for launch in launches.values():
        launch.on_enqueue = and_wait
