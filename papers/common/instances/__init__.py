"""Instances: families in one registry, and one way to draw.

``draw(instance)`` makes the data of a `papers.common.model.Instance`; `FAMILIES` lists the families
it may name, and ``problem_of(instance)`` says what it asks for.
"""

from papers.common.instances.drawing import draw, is_permuted
from papers.common.instances.families import FAMILIES, Family, parameters, problem_of
from papers.common.instances.labels import FamilyError
from papers.common.instances.matrices.sources import host_strips

__all__ = [
    "FAMILIES",
    "Family",
    "FamilyError",
    "draw",
    "host_strips",
    "is_permuted",
    "parameters",
    "problem_of",
]
