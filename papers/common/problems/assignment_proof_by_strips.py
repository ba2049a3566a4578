"""Optimality proofs of answers whose matrix no rank has whole.

Every rank checks the strip that it owns, drawn or read anew from its source, never from the device:
the duals' feasibility at every entry, the tightness of the pairs inside. A strip that is right by
one answer proves nothing of another, so the ranks first compare what they hold. What adds up to
primal and dual is put together on rank 0, whose verdict is everybody's. The arithmetic is
`papers.common.problems.assignment_proof`'s: exact for integers, a computed gap for floats (the
largest violation of a row counts once a strip, so the gap is no smaller than that of the whole
matrix).
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import numpy as np

from papers.common.model import Assignment, Proof
from papers.common.mpi import ranks
from papers.common.problems import assignment_proof, blocks
from papers.common.problems.assignment_proof import Audit, Refuted
from papers.common.problems.duals import sum_upward

BLOCK_ENTRIES = 1 << 22
"""Entries that are drawn or read at a time: small enough for their memory to be used again."""


def assignment(
    comm: Any,
    source: blocks.Source,
    answer: Assignment,
    by_rows: bool,
    maximize: bool = False,
    tolerance: float = assignment_proof.FLOAT_TOLERANCE,
) -> Proof:
    """Prove an assignment optimal, strip by strip; collective.

    Parameters
    ----------
    comm : mpi4py communicator
    source : Source
        The square matrix; of it this rank reads its own strip
        (`papers.common.problems.blocks.split`).
    answer : Assignment
        With duals, the same on every rank to the bit: pairs, cost, duals and `maximize`. Answers
        that differ are refused.
    by_rows : bool
        Whether the strips are rows or columns.
    maximize : bool
        The choice of the caller.
    tolerance : float
        As in `papers.common.problems.assignment_proof.assignment`.

    Returns
    -------
    Proof
        The same on all ranks; what refutes it names the rank. ``kind="none"`` if the ranks'
        answers differ, or have no duals to check.
    """
    held = ranks.collect(comm, _digest(answer, by_rows, maximize))
    other = next((rank for rank, theirs in enumerate(held) if theirs != held[0]), None)
    if other is not None:
        return assignment_proof.unchecked(f"rank {other} has another answer than rank 0")
    if answer.row_duals is None or answer.column_duals is None:
        return assignment_proof.unchecked("the answer carries no duals")
    n = int(source.shape[0])
    lines = blocks.split(n, comm.size)[comm.rank]
    mine: tuple[str, Any]
    try:
        mine = "", audit_strip(source, answer, lines, by_rows, maximize)
    except Refuted as refuted:
        mine = f"rank {comm.rank}: {refuted}", None
    except Exception as error:  # else the other ranks would wait for ever
        mine = f"rank {comm.rank}: {type(error).__name__}: {error}", None
    found = ranks.collect(comm, mine)
    verdict: Proof | None = None
    if comm.rank == 0:
        kind = "rows" if by_rows else "columns"
        verdict = _concluded(found, answer, tolerance, f"{comm.size} strips of {kind}")
    return ranks.share(comm, verdict)


def _digest(answer: Assignment, by_rows: bool, maximize: bool) -> str:
    """Equal for what the ranks must have alike, and different else with near certainty."""
    digest = hashlib.blake2b(digest_size=16)
    for array in (answer.row_ind, answer.col_ind, answer.row_duals, answer.column_duals):
        if array is None:
            digest.update(b"none")
            continue
        plain = np.asarray(array)
        digest.update(f"{plain.dtype.str}{plain.shape}".encode())
        digest.update(np.ascontiguousarray(plain).tobytes())
    cost = answer.cost.item() if isinstance(answer.cost, np.generic) else answer.cost
    digest.update(repr((cost, bool(answer.maximize), bool(maximize), bool(by_rows))).encode())
    return digest.hexdigest()


def _concluded(
    found: list[tuple[str, Any]], answer: Assignment, tolerance: float, strips: str
) -> Proof:
    """Rank 0's verdict on what every rank has found: (what refutes it, its audit)."""
    refutation = next((text for text, _ in found if text), "")
    if refutation:
        return Proof(False, "lp-duals", refutation)
    try:
        reason = assignment_proof.balance(answer, merged([audit for _, audit in found]), tolerance)
    except Refuted as refuted:
        return Proof(False, "lp-duals", str(refuted))
    except OverflowError as error:
        return Proof(False, "lp-duals", f"the sums overflow float64 ({error})")
    except Exception as error:  # else the other ranks would wait for ever
        return Proof(False, "lp-duals", f"rank 0: {type(error).__name__}: {error}")
    return Proof(True, "lp-duals", f"{reason}; {strips}")


def audit_strip(
    source: blocks.Source,
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
    assignment_proof.check_structure(answer, (n, n))
    exact = u.dtype.kind == "i" and v.dtype.kind == "i"
    assignment_proof.check_size(exact, u, v, answer.cost)
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
        block = blocks.read_block(source, (start, stop), columns)
        across = partner[start:stop] - columns[0]
        mine = np.flatnonzero((across >= 0) & (across < wide))
        assignment_proof.check_block(block, start, inside, (mine, across[mine]), audit)
    return audit


def merged(audits: list[Audit]) -> Audit:
    """Put the strips' audits together.

    Parameters
    ----------
    audits : list of Audit
        Of every rank in turn. Violations add up; the whole is exact if every part is,
        and an empty strip, which has seen no cost, leaves that to the others.

    Raises
    ------
    OverflowError
        If the sums exceed float64.
    """
    return Audit(
        all(audit.exact for audit in audits),
        all(audit.whole for audit in audits),
        min(audit.smallest for audit in audits),
        sum_upward([audit.violation for audit in audits]),
        [chosen for audit in audits for chosen in audit.chosen],
    )
