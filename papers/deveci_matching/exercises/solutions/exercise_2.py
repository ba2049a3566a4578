"""Solution 2.

Both walks read that c2 has r1 before either stores: for both ``predecessor[r1]`` is c1, so line 8
lets both pass. Each makes itself the row of c2, the last store stays in ``cmatch``, and both have
noted c2 in ``rmatch``. FIXMATCHING asks the column, which knows better. If the second walk reads
only after the first has stored, it finds a row in c2 whose predecessor is c2, and stops before it
has changed anything: its row keeps the -2.
"""

from __future__ import annotations

from typing import Any

BOTH_PASS: int | None = 8
ONE_STOPS: int | None = 0

WRONG: dict[str, list[Any]] = {"BOTH_PASS": [0], "ONE_STOPS": [8]}
