"""The tables of STEPS.md and RESULTS.md that come from the files of `papers/synthesis/evidence`.

``reproduce readme synthesis`` writes them between ``<!-- measured: NAME -->`` and ``<!-- end -->``.
Each function of `TABLES` reads its files and returns rows of text, the header first.
"""

from __future__ import annotations

from collections.abc import Callable

from papers.common.evidence.rows import Rows
from papers.synthesis.evidence.measured import calls, graphs, solving

TABLES: dict[str, Callable[[], Rows]] = {
    function.__name__: function
    for function in (
        solving.profile,
        solving.openings,
        solving.by_lists,
        solving.near,
        solving.stages,
        solving.passes,
        solving.buckets,
        solving.heads,
        solving.batch_buckets,
        solving.cluster_parts,
        solving.cluster,
        solving.shortest,
        solving.marked_searches,
        solving.phase_ends,
        solving.threads,
        solving.strips,
        solving.bids,
        solving.opening_warps,
        solving.level_parts,
        solving.chains,
        solving.short,
        solving.tried,
        solving.noted,
        solving.trees,
        solving.trees_tried,
        solving.small_scales,
        solving.near_large,
        solving.sortable,
        solving.one_core_settled,
        calls.one_core_cold,
        calls.copies,
        calls.sending,
        calls.looked_at,
        calls.batch_ahead,
        calls.batch_parts,
        calls.stacks,
        calls.one_core_many,
        calls.one_core_lists,
        calls.calls_again,
        calls.calls_before_after,
        calls.host_paths,
        calls.short_way,
        calls.first_call,
        calls.first_call_parts,
        calls.first_call_one_core,
        calls.crossover,
        calls.device_call,
        graphs.left,
        graphs.turned,
        graphs.after_the_pass,
        graphs.one_pass,
        graphs.turns,
        graphs.better_codes,
        graphs.networks,
        solving.ablation,
    )
}
"""The tables by the names of their marks, in the order of the pages, STEPS.md before RESULTS.md."""
