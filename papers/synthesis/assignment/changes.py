"""The dense solver with one setting changed: what each of its ideas is worth, and each choice.

`CHANGES` has the settings that differ from those for the matrix's shape, by the name of the change.
No answer depends on them.
"""

from __future__ import annotations

CHANGES: dict[str, tuple[str, dict[str, int]]] = {
    "no_rounds": ("no auction rounds at all: exact phases alone",
                  {"start_rounds": 0, "scale_above": 1000, "last_rounds": 0}),
    "no_start": ("no auction rounds at eps 0 before the scales", {"start_rounds": 0}),
    "no_row_left": ("the start's rounds go on until no row is free", {"start_left": 0}),
    "no_scales": ("no scaling, whatever the start leaves free", {"scale_above": 1000}),
    "no_sorting": ("lines are not sorted before scales", {"sorting": 0}),
    "always_scales": ("scaling, however few rows the start leaves free", {"scale_above": 0}),
    "none_left": ("a scale ends when no row is free", {"left_free": 0}),
    "many_left": ("a scale may leave a tenth of the rows free", {"left_free": 100}),
    "one_scale": ("a single scale", {"most_scales": 1}),
    "divisor_2": ("eps falls by 2 from scale to scale", {"divisor": 2}),
    "divisor_16": ("eps falls by 16 from scale to scale", {"divisor": 16}),
    "no_last": ("no rounds at eps 0 behind the scales", {"last_rounds": 0}),
    "nearest_only": ("a search opens the nearest columns alone, as Dijkstra's",
                     {"delta": 0, "delta_scaled": 0}),
    "narrow_bucket": ("a search opens a bucket of 4 mean / n",
                      {"delta": 4, "delta_scaled": 4}),
    "bucket": ("a search opens a bucket of 32 mean / n",
               {"delta": 32, "delta_scaled": 32}),
    "wide_bucket": ("a search opens a bucket of 512 mean / n",
                    {"delta": 512, "delta_scaled": 512}),
    "one_warp": ("one warp looks for a row's bid", {"warps_a_row": 1}),
    "one_load": ("a thread has one cost in flight", {"loads": 1}),
    "four_loads": ("a thread has four costs in flight", {"loads": 4}),
    "tile_32": ("a block relaxes 32 columns at a time", {"tile": 32}),
    "threads_128": ("128 threads a block", {"threads": 128}),
    "threads_256": ("256 threads a block", {"threads": 256}),
    "threads_512": ("512 threads a block", {"threads": 512}),
    "threads_1024": ("1024 threads a block", {"threads": 1024}),
    "no_cluster": ("the grid makes the phases, too, and no cluster", {"cluster": 0}),
    "cluster_8": ("a cluster of 8 blocks makes the phases", {"cluster": 8}),
    "one_block": ("one block: no barrier of the grid costs anything", {"blocks": 1}),
}  # fmt: skip
"""The change in words, and the settings that it sets."""

LAUNCH = (
    "one_warp", "one_load", "four_loads", "tile_32", "threads_128", "threads_256", "threads_512",
    "threads_1024", "no_cluster", "cluster_8", "one_block",
)  # fmt: skip
"""Changes of the launch's shape alone: in the CPU executor they say nothing."""
