"""Solution 2.

If b acts before a has pushed to it, b sends its own two units first and what comes from a later: a
push more, and perhaps a second one further down. Most interleavings have 9 or 10 pushes. The value
is that of a least cut, which does not know who acts first: 5, always.
"""

from __future__ import annotations

from typing import Any

FEW: int | None = 25
MANY: int | None = 0
VALUE: int | None = 5

WRONG: dict[str, list[Any]] = {"FEW": [1], "MANY": [25], "VALUE": [8, 10]}
