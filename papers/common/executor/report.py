"""The text of a deadlock: which threads wait at which barrier, called from where."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from papers.common.executor.threads import Site, Thread


def groups(threads: Iterable[Thread]) -> list[str]:
    """One line for each place: how many threads wait there, and which (by linear numbers)."""
    places: dict = defaultdict(lambda: defaultdict(list))
    for thread in threads:
        places[thread.waits_at][thread.block.number].append(thread.number)
    lines = []
    for ((name, mask), site), by_block in places.items():
        alike: dict = defaultdict(list)  # blocks in which the same threads wait
        for block, numbers in by_block.items():
            alike[ranges(numbers)].append(block)
        who = "; ".join(f"block {ranges(bs)} thread {numbers}" for numbers, bs in alike.items())
        total = sum(map(len, by_block.values()))
        what = name if mask is None else f"{name} mask {mask:#x}"
        lines.append(f"  {total} thread(s) at {what}, {describe(site)}: {who}")
    return lines


def describe(site: Site) -> str:
    """``file:line in function``, and where that was called from."""
    return ", called from ".join(
        f"{Path(code.co_filename).name}:{list(code.co_positions())[offset // 2][0]} "
        f"in {code.co_name}"
        for code, offset in site
    )


def ranges(numbers: Iterable[int]) -> str:
    """``0-3, 7`` for 0, 1, 2, 3, 7."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(f"{a}" if a == b else f"{a}-{b}" for a, b in runs)
