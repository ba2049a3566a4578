"""GPU papers on assignment, matching and maximum flow, reimplemented in ``numba.cuda``.

Importing this package loads neither Numba nor CUDA, so that ``reproduce --help`` is instant.
Each paper is a subpackage; `PAPERS` lists those that have landed, in the order of the reading tour.
`CALLS` names what someone calls who only wants the answer: they load their modules when they are
looked up.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from papers.common.model import GivenUpError as GivenUpError
    from papers.synthesis.calls.assignment import linear_sum_assignment as linear_sum_assignment
    from papers.synthesis.calls.choice import NoGpuWarning as NoGpuWarning
    from papers.synthesis.calls.expansion import alpha_expansion as alpha_expansion
    from papers.synthesis.calls.flow import grid_cut as grid_cut
    from papers.synthesis.calls.flow import maximum_flow as maximum_flow
    from papers.synthesis.calls.flow import minimum_cut as minimum_cut
    from papers.synthesis.calls.matching import dulmage_mendelsohn as dulmage_mendelsohn
    from papers.synthesis.calls.matching import koenig_cover as koenig_cover
    from papers.synthesis.calls.matching import (
        maximum_bipartite_matching as maximum_bipartite_matching,
    )
    from papers.synthesis.calls.matching import structural_rank as structural_rank

__version__ = "0.1.0"

PAPERS: tuple[str, ...] = (
    "lopes2019",
    "datenagi2016",
    "kawtikwar_opts",
    "deveci_matching",
    "lupinska_costscale",
)
"""Names of the subpackages that hold a paper; CONTRIBUTING.md says how one is added."""

ROOMS: tuple[str, ...] = ("synthesis",)
"""Names of the subpackages that have experiments and solvers like a paper's, and no print."""

DEFAULT_PAPERS: dict[str, str] = {
    "assignment": "kawtikwar_opts",
    "matching": "deveci_matching",
    "flow": "lupinska_costscale",
}
"""The paper whose default solver ``reproduce solve FILE`` takes, by the file's problem."""

CALLS: dict[str, str] = {
    "linear_sum_assignment": "assignment",
    "maximum_bipartite_matching": "matching",
    "structural_rank": "matching",
    "koenig_cover": "matching",
    "dulmage_mendelsohn": "matching",
    "maximum_flow": "flow",
    "minimum_cut": "flow",
    "grid_cut": "flow",
    "alpha_expansion": "expansion",
    "NoGpuWarning": "choice",
}
"""The module of `papers.synthesis.calls` that each call is in."""

ELSEWHERE: dict[str, str] = {"GivenUpError": "common.model"}
"""The module of what a caller meets beside them."""

__all__ = [*CALLS, *ELSEWHERE]


def __getattr__(name: str) -> Any:
    if name in CALLS:
        module = f"{__name__}.synthesis.calls.{CALLS[name]}"
    elif name in ELSEWHERE:
        module = f"{__name__}.{ELSEWHERE[name]}"
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(module), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *CALLS, *ELSEWHERE})
