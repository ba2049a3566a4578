"""Lists the solvers of [D13] by name: the eight variants, the CPU codes, and ours."""

from __future__ import annotations

from collections.abc import Mapping

from papers.common.model import Solver
from papers.deveci_matching import solver
from papers.deveci_matching.baselines import solvers as baselines
from papers.deveci_matching.beyond import solver as beyond

SOLVERS: Mapping[str, Solver] = {**solver.SOLVERS, **baselines.SOLVERS, **beyond.SOLVERS}
