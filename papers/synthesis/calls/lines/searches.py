"""Searches from free lines on one core, depth first or breadth first, and with a proof.

Depth first they look ahead for free partners and turn their directions, as in PFP
(`papers.deveci_matching.baselines.pfp`); breadth first each finds its nearest free partner.

In both ways a search passes by what others have marked in this phase: an augmentation may have
changed what lies behind. A search in vain that has passed by nothing but its own and what is closed
has seen all that its lines reach: every partner in there is matched within, so that no augmenting
path can lead in and out again, now or later. What it has seen is closed, and no later search goes
there.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from papers.deveci_matching.baselines.pfp import JIT, augment

CLOSED = np.int32(2**31 - 1)
"""The mark of a partner that no augmenting path can reach any more."""

ALWAYS = 2**31
"""More phases than there can be."""


@njit(**JIT)
def search(
    root, indptr, indices, match, across_match, look_at, marks, seen, path, first, own, forward
):
    """Search depth first from a free line, and augment where a free partner is met.

    Parameters
    ----------
    root : int
    indptr, indices, match, across_match
        As in `enlarge`; the matching is enlarged.
    look_at : int32[lines]
        Where the look ahead of each line goes on: a matched partner stays matched.
    marks : int32[across]
        The search that marked it last, or `CLOSED`.
    seen : int32[across]
        Receives what this search marks.
    path : (int32[lines + 1], int32[lines + 1])
        The lines from the root on, and the edge each of them tries next.
    first, own : int
        The phase's first search, and this one.
    forward : bool
        Whether lines try their edges from the first on.

    Returns
    -------
    found, whole : bool
        Whether a path was found; whether a search in vain has seen all that it reaches.
    met, looks : int
        Marks in `seen`; edges looked at.
    """
    stack, edge_at = path
    depth, met, looks = 0, 0, 0
    whole, new = True, True
    stack[0] = root
    while depth >= 0:
        line = np.uint32(stack[depth])
        begin, end = indptr[line], indptr[np.uint32(line + np.uint32(1))]
        if new:
            at = look_at[line]
            looks -= at
            while at < end and across_match[np.uint32(indices[np.uint32(at)])] >= 0:
                at += 1
            looks += at
            look_at[line] = at
            if at < end:
                augment(indices[np.uint32(at)], depth, stack, match, across_match)
                return True, False, met, looks + 1
            edge_at[depth] = begin if forward else end - 1
            new = False
        at = edge_at[depth]
        other = np.int32(-1)
        while begin <= at < end and other < 0:
            there = indices[np.uint32(at)]
            mark = marks[np.uint32(there)]
            if mark < first:
                other = there
            else:
                whole &= (mark == own) | (mark == CLOSED)
            at += 1 if forward else -1
            looks += 1
        edge_at[depth] = at
        if other < 0:
            depth -= 1
        else:
            marks[np.uint32(other)] = own
            seen[met] = other
            met += 1
            depth += 1
            stack[depth] = across_match[np.uint32(other)]
            new = True
    return False, whole, met, looks


@njit(**JIT)
def search_broadly(root, indptr, indices, match, across_match, marks, seen, above, first, own):
    """Search breadth first from a free line, and augment where a free partner is met.

    Parameters
    ----------
    root, indptr, indices, match, across_match, marks, seen, first, own
        As in `search`.
    above : int32[at least as many as lines are matched]
        Scratch: the place in `seen` of the partner whose line reached each one, -1 for the root's.

    Returns
    -------
    found, whole, met, looks
        As of `search`.
    """
    met, looks, place, whole, line = 0, 0, -1, True, np.uint32(root)
    while True:
        begin, end = indptr[line], indptr[np.uint32(line + np.uint32(1))]
        for at in range(begin, end):
            other = np.uint32(indices[np.uint32(at)])
            mark = marks[other]
            if mark >= first:
                whole &= (mark == own) | (mark == CLOSED)
            elif across_match[other] >= 0:
                marks[other] = own
                seen[met], above[met] = other, place
                met += 1
            else:
                while place >= 0:
                    there = np.uint32(seen[place])
                    line = np.uint32(across_match[there])
                    across_match[other], match[line] = line, other
                    other, place = there, above[place]
                across_match[other], match[np.uint32(root)] = root, other
                return True, False, met, looks + at - begin + 1
        looks += end - begin
        place += 1
        if place == met:
            return False, whole, met, looks
        line = np.uint32(across_match[np.uint32(seen[place])])


@njit(**JIT)
def enlarge(indptr, indices, match, across_match, limit, deep=ALWAYS):
    """Search from all free lines, phase by phase; stop after so many looks.

    Parameters
    ----------
    indptr, indices : int32[lines + 1], int32[edges]
        Partners of each line.
    match, across_match : int32[lines], int32[across]
        A matching; it is enlarged.
    limit : int
        Looks at edges, which one search may exceed.
    deep : int
        Phases whose searches go depth first; those of later ones go breadth first.

    Returns
    -------
    left, looks : int
        Free lines from which a search may still find a path, 0 if the matching is maximum; looks at
        edges. A phase in which nothing is found closes all it sees, so no turn lacks an end.
    """
    lines = match.size
    free = np.empty(lines, np.int32)
    count = 0
    for line in range(lines):
        if match[line] < 0 and indptr[line + 1] > indptr[line]:
            free[count] = line
            count += 1
    look_at = indptr[:-1].copy()
    marks = np.zeros(across_match.size, np.int32)
    seen = np.empty(across_match.size, np.int32)
    path = np.empty(lines + 1, np.int32), np.empty(lines + 1, np.int32)
    own, looks, forward, phase = np.int32(1), 0, False, 0
    while count > 0:
        first, left = own, 0
        forward = not forward
        phase += 1
        for k in range(count):
            if looks > limit or own >= CLOSED - 2:
                free[left] = free[k]
                left += 1
                continue
            if phase > deep:
                found, whole, met, edges = search_broadly(
                    free[k], indptr, indices, match, across_match, marks, seen, path[0], first, own
                )
            else:
                found, whole, met, edges = search(
                    free[k], indptr, indices, match, across_match, look_at, marks, seen, path,
                    first, own, forward,
                )  # fmt: skip
            own += np.int32(1)
            looks += edges
            if whole:
                for place in range(met):
                    marks[np.uint32(seen[place])] = CLOSED
            elif not found:
                free[left] = free[k]
                left += 1
        count = left
        if looks > limit or own >= CLOSED - 2:
            break
    return count, looks
