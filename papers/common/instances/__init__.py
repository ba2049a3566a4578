"""Instances: families in one registry, and one way to draw.

``draw(instance)`` makes the data of a `papers.common.model.Instance`; `FAMILIES` lists the families
it may name, and ``problem_of(instance)`` says what it asks for. All names are imported when they
are first used: the families need Numba, and a list of experiments does not.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from papers.common.instances.drawing import draw, identify, is_permuted
    from papers.common.instances.families import FAMILIES, Family, parameters, problem_of, size_of
    from papers.common.instances.labels import FamilyError
    from papers.common.instances.matrices.sources import host_strips

__all__ = [
    "FAMILIES",
    "Family",
    "FamilyError",
    "draw",
    "host_strips",
    "identify",
    "is_permuted",
    "parameters",
    "problem_of",
    "size_of",
]

_DEFINED_IN = {
    "FAMILIES": "families",
    "Family": "families",
    "FamilyError": "labels",
    "draw": "drawing",
    "host_strips": "matrices.sources",
    "identify": "drawing",
    "is_permuted": "drawing",
    "parameters": "families",
    "problem_of": "families",
    "size_of": "families",
}


def __getattr__(name: str) -> Any:
    """Import one of the names above; raise AttributeError for any other."""
    if name not in _DEFINED_IN:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{_DEFINED_IN[name]}"), name)
    globals()[name] = found
    return found
