"""Exercise 3, a kernel: the two halves of the fused pass, swapped.

It teaches why the zeros must be tested after the update and not before: the answer is wrong, not
late, and a count of the zeros does not notice.

`kernels.printed.listings.add_sub_compress` updates a slack and then tests it. Swap the halves:
`CHANGES` are pairs of lines that stand there, as they are indented, and lines to put in their
place. Then find a 3x3 matrix of slacks and covers, without an uncovered zero, on which the changed
kernel lists as many zeros as there are, but not those that there are. Rows go down.
"""

from __future__ import annotations

CHANGES: list[tuple[str, str]] | None = None
SLACK: list[list[int]] | None = None
COVERED_ROWS: list[int] | None = None  # a 1 or a 0 for each row
COVERED_COLUMNS: list[int] | None = None
