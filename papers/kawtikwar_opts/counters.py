"""The counters of an answer; `papers.kawtikwar_opts.solver.download` says which there are."""

from __future__ import annotations

from typing import Any

from papers.common.gpu import device
from papers.kawtikwar_opts.kernels.arguments import Flag
from papers.lopes2019.kernels.search import Flag as LopesFlag


def of_launches(state: Any) -> dict[str, int]:
    """Counters of a run with a host loop, from its launches."""
    count = {name: launch.count for name, launch in state.launches.items()}
    updates = count["step_6_reduction_1"]
    zeros = int(device.to_host(state.arrays["flags"])[LopesFlag.ZEROS])
    # A host that reads step 3's count launches step 4 no more once all is matched.
    searches = count["step_5a" if state.configuration.host_reads else "step_3"]
    return {
        "iterations_step_3": count["step_3"],
        "iterations_step_4": count["step_4"],
        "iterations_step_5": count["step_5a"],
        "iterations_step_6": updates,
        "step_4_restarts": count["step_4"] - searches - updates,
        "zeros_initial": zeros - state.layout.zeros,
        "matches_initial": state.counters["matches_initial"],
        "kernel_launches": sum(count.values()),
    }


def of_one_launch(state: Any) -> dict[str, int]:
    """Counters of a run of one launch, or of its shares, from the words that it left."""
    flags = [int(flag) for flag in device.to_host(state.arrays["flags"])]
    paths, searches, updates = (flags[k] for k in (Flag.AUGMENTATIONS, Flag.SEARCHES, Flag.UPDATES))
    counters = {
        "iterations_step_3": paths + 1,
        "iterations_step_4": searches,
        "iterations_step_5": paths,
        "iterations_step_6": updates,
        "step_4_restarts": searches - paths - updates,
        "zeros_initial": flags[Flag.ZEROS] - state.layout.zeros,
        "matches_initial": flags[Flag.MATCHES_INITIAL] - state.layout.padding,
        "kernel_launches": sum(launch.count for launch in state.launches.values()),
    }
    choice = state.choice
    if state.seconds is None and not choice.search:  # step 2's repetitions are not counted
        alone = state.arrays["zeros_size_b"].size == 1
        more = 2 * choice.step_1 + updates * choice.an_entry_a_thread
        counters["barriers"] = barriers(paths, searches, updates, alone) + more
    clocks = device.to_host(state.arrays["clocks"])
    for step in range(1, len(clocks) - 1):
        counters[f"step_{step}_us"] = round(int(clocks[step]) / 1000)
    return counters


def barriers(paths: int, searches: int, updates: int, alone: bool) -> int:
    """Barriers of the grid in a run of one launch (see `papers.kawtikwar_opts.kernels.one_launch`).

    Parameters
    ----------
    paths, searches, updates : int
        Runs of steps 5, 4 and 6.
    alone : bool
        Whether one block searches.
    """
    if alone:
        return 3 + 2 * updates + (updates + 1)
    return 3 + 1 + paths + searches + 2 * updates
