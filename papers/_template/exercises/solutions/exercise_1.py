"""Solution 1.

Row 0 takes column 0 at first. Row 1 wants it too, and it is cheaper to move row 0 to column 1 than
to take column 1 itself. The distances of row 2 are 2 2 8. Column 0, at 2, belongs to row 1, through
which column 2 is at 5; column 1, at 2, belongs to row 0, through which column 2 is at 4. Column 2
is free, and the path is row 2, column 1, row 0, column 2.
"""

from __future__ import annotations

from typing import Any

BEFORE: list[int] | None = [1, 0]
END: int | None = 2
AFTER: list[int] | None = [2, 0, 1]

WRONG: dict[str, list[Any]] = {
    "BEFORE": [[0, 1]],  # nobody moved
    "END": [1],
    "AFTER": [[1, 0, 2]],
}
