"""Arrays that the kernels of step 4 take together: named tuples, a field an array or a number.

A named tuple costs a kernel no more than its fields. Its class states the types that the kernels
are compiled for (`papers.common.gpu.signatures`); shapes are those of the table in
`kernels.search`.
"""

from __future__ import annotations

from typing import NamedTuple

from papers.common.gpu.signatures import Int32, Int32s, Int64s


class Order(NamedTuple):
    """Order of the matrix, and columns (in Appendix B rows) a bin."""

    n: Int32
    lines: Int32


class Zeros(NamedTuple):
    """The list of zeros in bins: ``zeros`` and ``zeros_size``."""

    positions: Int32s
    sizes: Int32s


class Covers(NamedTuple):
    """Covered lines: ``covered_row`` and ``covered_column``."""

    row: Int32s
    column: Int32s


class Marks(NamedTuple):
    """By row, the columns of its marked zeros: ``column_of_star_at_row``, ``..._prime_at_row``."""

    star: Int32s
    prime: Int32s


class Words(NamedTuple):
    """Words for the other blocks, ``flags``, and for the host, ``signal`` in mapped memory."""

    flags: Int32s
    signal: Int64s
