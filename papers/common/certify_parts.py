"""Optimality proofs of answers whose matrix no rank has whole.

Every rank checks the strip that it owns, drawn or read anew from its source, never from the device:
the duals' feasibility at every entry, the tightness of the pairs inside. Then the verdict and what
adds up to primal and dual are reduced; all ranks get the same verdict. The arithmetic is
`papers.common.certify`'s: exact for integers, a computed gap for floats (the largest violation of a
row counts once a strip, so the gap is no smaller than that of the whole matrix).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from papers.common import certify, parts, ranks
from papers.common.certify import Audit, Refuted
from papers.common.model import Assignment, Verdict

BLOCK_ENTRIES = 1 << 22
"""Entries that are drawn or read at a time: small enough for their memory to be used again."""


def assignment(
    comm: Any,
    source: parts.Source,
    answer: Assignment,
    by_rows: bool,
    maximize: bool = False,
    tolerance: float = certify.FLOAT_TOLERANCE,
) -> Verdict:
    """Prove an assignment optimal, strip by strip; collective.

    Parameters
    ----------
    comm : mpi4py communicator
    source : Source
        The square matrix; of it this rank reads its own strip (`papers.common.parts.split`).
    answer : Assignment
        With duals.
    by_rows : bool
        Whether the strips are rows or columns.
    maximize : bool
        What was asked for.
    tolerance : float
        As in `papers.common.certify.assignment`.

    Returns
    -------
    Verdict
        The same on all ranks; what refutes it names the rank.
    """
    n = int(source.shape[0])
    lines = parts.split(n, comm.size)[comm.rank]
    mine: tuple[str, Any]
    try:
        mine = "", audit_strip(source, answer, lines, by_rows, maximize)
    except Refuted as refuted:
        mine = f"rank {comm.rank}: {refuted}", None
    except Exception as error:  # else the other ranks would wait for ever
        mine = f"rank {comm.rank}: {type(error).__name__}: {error}", None
    found = ranks.collect(comm, mine)
    refutation = next((text for text, _ in found if text), "")
    if refutation:
        return Verdict(False, "lp-duals", refutation)
    try:
        reason = certify.balance(answer, merged([audit for _, audit in found]), tolerance)
    except Refuted as refuted:
        return Verdict(False, "lp-duals", str(refuted))
    kind = "rows" if by_rows else "columns"
    return Verdict(True, "lp-duals", f"{reason}; {comm.size} strips of {kind}")


def audit_strip(
    source: parts.Source,
    answer: Assignment,
    lines: tuple[int, int],
    by_rows: bool,
    maximize: bool = False,
) -> Audit:
    """Check one strip; raise `Refuted` if the duals or the pairs are wrong there."""
    if answer.row_duals is None or answer.column_duals is None:
        raise Refuted("the answer carries no duals")
    n = int(source.shape[0])
    u, v = np.asarray(answer.row_duals), np.asarray(answer.column_duals)
    if (len(u), len(v)) != (n, n):
        raise Refuted(f"the matrix has order {n}, the duals {len(u)} and {len(v)}")
    if bool(maximize) != answer.maximize:
        raise Refuted(f"maximize={maximize} was asked, the answer says {answer.maximize}")
    certify.check_structure(answer, (n, n))
    exact = u.dtype.kind == "i" and v.dtype.kind == "i"
    certify.check_size(exact, u, v, answer.cost)
    rows, columns = (lines, (0, n)) if by_rows else ((0, n), lines)
    inside = replace(answer, column_duals=v[slice(*columns)])
    partner = np.asarray(answer.col_ind)
    audit = Audit(exact)
    wide = columns[1] - columns[0]
    step = max(1, BLOCK_ENTRIES // max(wide, 1))
    for start in range(rows[0], rows[1], step):
        stop = min(start + step, rows[1])
        if not wide:
            break
        block = np.asarray(source.block((start, stop), columns))
        if block.shape != (stop - start, wide):
            raise Refuted(f"rows {start} to {stop} have shape {block.shape}")
        across = partner[start:stop] - columns[0]
        mine = np.flatnonzero((across >= 0) & (across < wide))
        certify.check_block(block, start, inside, (mine, across[mine]), audit)
    return audit


def merged(audits: list[Audit]) -> Audit:
    """Put the strips' audits together."""
    # An empty strip has seen no cost: it says nothing of their type.
    full = [audit for audit in audits if audit.chosen] or audits
    return Audit(
        all(audit.exact for audit in full),
        all(audit.whole for audit in full),
        min(audit.smallest for audit in audits),
        math.fsum(audit.violation for audit in audits),
        math.fsum(audit.looseness for audit in audits),
        [chosen for audit in audits for chosen in audit.chosen],
    )
