"""The Jacobi auction on one CPU core: "A" of [L19 Fig.4] [L19 Fig.5], the other published form.

Bertsekas (Annals of Operations Research 14, 1988; Interfaces 20, 1990, reference [2] of [L19]) has
two forms. In Gauss-Seidel's (`papers.lopes2019.baselines.auction`) one row bids and the price rises
before the next row bids. Here, in Jacobi's, all rows that wait bid at the same prices, and each
column goes to the highest bidder: bids for the same column are lost but one, and small ranges of
costs, where many columns tie, make many of those.

Eps-scaling, exactness, prices and duals are those of the other form.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from papers.lopes2019.baselines import auction as forms
from papers.lopes2019.baselines.auction import Workspace, best_offer
from papers.lopes2019.baselines.sweeps import JIT

_PHASES, _BIDS = range(2)
_begin_phase = forms._begin_phase


@njit(**JIT)
def _bid(w: Workspace, eps: Any, size: int) -> int:
    """Let each of the `size` rows that wait bid; returns the number of columns with bids.

    Those are listed in `contested`, with their highest bidder in `bidder`, its bid in `offer`.
    """
    contested = 0
    for k in range(size):
        i = w.waiting[k]
        j, offer = best_offer(w, i, eps)
        if w.bidder[j] < 0:
            w.contested[contested] = j
            contested += 1
        elif offer <= w.offer[j]:
            continue
        w.bidder[j] = i
        w.offer[j] = offer
    w.counters[_BIDS] += size
    return contested


@njit(**JIT)
def _award(w: Workspace, contested: int, size: int) -> int:
    """Give each column to its highest bidder; returns how many rows wait now."""
    displaced = 0
    for k in range(contested):
        j = w.contested[k]
        i, previous = w.bidder[j], w.row_of_column[j]
        w.v[j] -= w.offer[j]
        w.bidder[j] = -1
        w.row_of_column[j] = i
        w.column_of_row[i] = j
        if previous >= 0:
            w.column_of_row[previous] = -1
            w.contested[displaced] = previous  # k is never behind
            displaced += 1
    left = 0
    for k in range(size):
        if w.column_of_row[w.waiting[k]] < 0:
            w.waiting[left] = w.waiting[k]
            left += 1
    w.waiting[left : left + displaced] = w.contested[:displaced]
    return left + displaced


@njit(**JIT)
def _rounds(w: Workspace, eps: Any, size: int, rounds: float) -> int:
    """Up to so many rounds of the `size` rows that wait; returns how many rows still do.

    A round raises one price by eps at least, so the worst case of Gauss-Seidel's bids is one of
    rounds.
    """
    while size > 0 and rounds >= 1.0:
        size = _award(w, _bid(w, eps, size), size)
        rounds -= 1.0
    return size


@njit(**JIT)
def auction(w: Workspace) -> bool:
    """Solve; False if a phase has not ended after its worst case."""
    w.counters[:] = 0
    w.v[:] = 0
    w.bidder[:] = -1
    if w.v.size == 0:
        return True
    for eps in w.eps:
        w.counters[_PHASES] += 1
        if _rounds(w, eps, w.v.size, _begin_phase(w, eps)) > 0:
            return False
    return True


def auction_in_slices(w: Workspace, look: Callable[[], None]) -> bool:
    """Do what `auction` does in slices of rounds; ``look()`` is called before each."""
    w.counters[:] = 0
    w.v[:] = 0
    w.bidder[:] = -1
    n = w.v.size
    for eps in w.eps if n else np.empty(0):
        w.counters[_PHASES] += 1
        left, size = _begin_phase(w, eps), n
        while size > 0:  # `left` falls
            look()
            if left < 1.0:
                return False
            rounds = min(left, float(max(1, forms.SLICE // (n * size))))
            size, left = _rounds(w, eps, size, rounds), left - rounds
    return True
