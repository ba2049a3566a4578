"""Arrays that the kernels of the search take together: named tuples, a field an array.

A named tuple costs a kernel no more than its fields. Its class states the types that the kernels
are compiled for (`papers.common.gpu.signatures`); shapes are those of the table in
`kernels.notation`.
"""

from __future__ import annotations

from typing import NamedTuple

from papers.common.gpu.signatures import Int32, Int32s, Int64s


class Columns(NamedTuple):
    """The graph: the rows of each column, ``cadj[cxadj[column] : cxadj[column + 1]]``."""

    cxadj: Int32s
    cadj: Int32s


class Words(NamedTuple):
    """Words of all threads, ``flags`` and ``tally``; of the host, ``signal`` in mapped memory.

    ``read_by_host`` is 1 if the host reads and writes the flags itself, and gets no signal.
    """

    flags: Int32s
    tally: Int64s
    signal: Int64s
    read_by_host: Int32
