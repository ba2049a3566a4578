"""The registry of instance families: seeded rules, whose instances have the same bits anywhere.

| problem | families |
| --- | --- |
| assignment | `uniform` ... by formula, `structured`, `floats`, `colours` of photographs, files |
| matching | `uniform_graph` ... `mesh_dual`, `path` ..., `matrix` from a file, its `stand_in` |
| flow | `random_grid`, `random_network`, `segmentation` ... of photographs, files |

Where an instance's matrix is stored, and whether a graph is permuted, are fields of
`papers.common.model.Instance`, not families.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

from papers.common.instances import labels, matrices, own_files, photographs, structured
from papers.common.instances.flows import from_files as flow_files
from papers.common.instances.flows import from_photographs, random_flows
from papers.common.instances.graphs import deep, kron, plane, random_ends, stand_ins
from papers.common.instances.graphs import from_files as graph_files
from papers.common.instances.labels import FamilyError, Label
from papers.common.instances.matrices import formulas
from papers.common.instances.matrices import from_files as cost_files
from papers.common.model import Instance, ProblemName, Storage


class UnknownFamilyError(FamilyError):
    """There is no family of that name."""


class StorageError(FamilyError):
    """A family's instances cannot be stored so."""


class PermutationError(FamilyError):
    """A family's instances have no rows and columns to permute."""


@dataclass(frozen=True)
class Family:
    """A rule that makes instances.

    Attributes
    ----------
    name : str
        ``"uniform"``, ``"kron"`` ...; `Instance.family`.
    problem : {"assignment", "matching", "flow"}
        The problem of its instances: a key of `papers.common.problems.kinds.PROBLEMS`.
    make : callable(n, seed=1, **params)
        Makes an instance's data on the host: a cost matrix, a graph, a network or a grid.
    label : Label
        What an instance's label tells.
    formula : callable(n, seed=1, **params) -> Formula, or None
        Gives any block of a matrix by itself; `make` is then its whole.
    storages : tuple of {"host", "device", "strips"}
        Where an instance's data may be; see `Instance.storage`.
    origin : {"drawn", "photographs", "file"}
        Where the data comes from.
    sides : {1, 2}
        2 where ``n`` counts the rows of an image, whose nodes are its pixels; else 1.
    """

    name: str
    problem: ProblemName
    make: Callable[..., Any]
    label: Label
    formula: Callable[..., formulas.Formula] | None = None
    storages: tuple[Storage, ...] = ("host",)
    origin: Literal["drawn", "photographs", "file"] = "drawn"
    sides: Literal[1, 2] = 1

    @property
    def can_be_permuted(self) -> bool:
        """Whether instances may have their rows and columns in random order: graphs may."""
        return self.problem == "matching"

    @property
    def can_be_kept(self) -> bool:
        """Whether large instances are worth a file of the cache once they are drawn."""
        return self.problem == "matching" and self.origin == "drawn"

    @property
    def names_a_matrix(self) -> bool:
        """Whether a label names a matrix of the SuiteSparse Collection."""
        return self.problem == "matching" and self.label is labels.NAME


_STRIPS: tuple[Storage, ...] = ("host", "strips")

_ASSIGNMENTS = (
    Family("uniform", "assignment", matrices.uniform, labels.RANGE,
           formula=formulas.Uniform, storages=("host", "device", "strips")),
    Family("uniform_double", "assignment", matrices.uniform_double, labels.RANGE,
           formula=formulas.UniformDouble, storages=_STRIPS),
    Family("lopes_authors", "assignment", matrices.lopes_authors, labels.LARGEST_COST),
    Family("lopes_cpp", "assignment", matrices.lopes_cpp, labels.LARGEST_COST),
    Family("adversarial", "assignment", matrices.adversarial, labels.FREE,
           formula=formulas.Adversarial, storages=_STRIPS),
    Family("constant", "assignment", matrices.constant, labels.FREE,
           formula=formulas.Constant, storages=_STRIPS),
    Family("planted", "assignment", matrices.planted, labels.RANGE,
           formula=formulas.Planted, storages=_STRIPS),
    Family("geometric", "assignment", matrices.geometric, labels.RANGE,
           formula=formulas.Geometric, storages=_STRIPS),
    Family("structured", "assignment", structured.structured, labels.NAME),
    Family("floats", "assignment", structured.floats, labels.NAME),
    Family("rectangle", "assignment", structured.rectangle, labels.SHAPE),
    Family("colours", "assignment", photographs.colour_distances, labels.FREE,
           origin="photographs"),
    Family("assignment_file", "assignment", cost_files.assignment_file, labels.NAME,
           origin="file"),
)  # fmt: skip

_MATCHINGS = (
    Family("uniform_graph", "matching", random_ends.uniform_graph, labels.DEGREE),
    Family("skew_graph", "matching", random_ends.skew_graph, labels.DEGREE),
    Family("layered_graph", "matching", random_ends.layered_graph, labels.DEGREE),
    Family("delaunay", "matching", plane.delaunay, labels.size(r"n(\d+)")),
    Family("rgg", "matching", plane.rgg, labels.size(r"n_2_(\d+)_s\d+")),
    Family("kron", "matching", kron.kron, labels.size(r"logn(\d+)")),
    Family("mesh_dual", "matching", plane.mesh_dual, labels.FREE),
    Family("path", "matching", deep.path, labels.FREE),
    Family("triangle", "matching", deep.triangle, labels.FREE),
    Family("grid_graph", "matching", deep.grid, labels.FREE),
    Family("matrix", "matching", graph_files.matrix, labels.NAME, origin="file"),
    Family("stand_in", "matching", stand_ins.stand_in, labels.NAME),
)

_FLOWS = (
    Family("grid_cut", "flow", flow_files.grid_cut, labels.NAME, origin="file"),
    Family("dimacs_flow", "flow", flow_files.dimacs_flow, labels.NAME, origin="file"),
    Family("segmentation", "flow", from_photographs.segmentation, labels.NAME,
           origin="photographs", sides=2),
    Family("stereo_move", "flow", from_photographs.stereo_move, labels.ALPHA,
           origin="photographs", sides=2),
    Family("flow_move", "flow", from_photographs.flow_move, labels.ALPHA,
           origin="photographs", sides=2),
    Family("random_grid", "flow", random_flows.random_grid, labels.LARGEST_CAPACITY, sides=2),
    Family("oblong_grid", "flow", random_flows.oblong_grid, labels.SHAPE),
    Family("channel_grid", "flow", random_flows.channel_grid, labels.SHAPE),
    Family("random_network", "flow", random_flows.random_network, labels.LARGEST_CAPACITY),
)  # fmt: skip

_OWN = tuple(
    Family(own_files.FAMILY[problem], problem, own_files.reader(problem), labels.FREE,
           origin="file")
    for problem in get_args(ProblemName)
)  # fmt: skip
"""Files that somebody names by their paths, see `papers.common.instances.own_files`."""

FAMILIES: dict[str, Family] = {
    one.name: one for one in (*_ASSIGNMENTS, *_MATCHINGS, *_FLOWS, *_OWN)
}
"""All families by name."""


def family_of(instance: Instance) -> Family:
    """Return the family of an instance.

    Raises
    ------
    UnknownFamilyError
        If there is none of that name.
    """
    if instance.family not in FAMILIES:
        raise UnknownFamilyError(
            f"unknown family {instance.family!r}; there are {', '.join(FAMILIES)}"
        )
    return FAMILIES[instance.family]


def problem_of(instance: Instance) -> ProblemName:
    """Return the problem of an instance: a key of `papers.common.problems.kinds.PROBLEMS`.

    Raises
    ------
    UnknownFamilyError
        If there is no such family.
    """
    return family_of(instance).problem


def size_of(family: str, n: int) -> float:
    """Return the rows or nodes of an instance up to a factor: an image of side n has n^2."""
    return float(n) ** (FAMILIES[family].sides if family in FAMILIES else 1)


def parameters(instance: Instance) -> dict[str, Any]:
    """Return the keyword arguments, besides ``n`` and ``seed``, that `Family.make` takes.

    The label tells what `Instance.params` leaves out: a cost range, a degree, a name ...

    Raises
    ------
    UnknownFamilyError
        If there is no such family.
    papers.common.instances.labels.LabelError
        If the label is needed and does not tell the parameter, or names another size.
    """
    return family_of(instance).label.parameters(instance)


def check(instance: Instance) -> Family:
    """Return the family of an instance that can be drawn as its fields say.

    Raises
    ------
    UnknownFamilyError
        If there is no such family.
    StorageError
        If the family's instances cannot be stored as `Instance.storage` says.
    PermutationError
        If the instance is to be permuted and is no graph.
    """
    family = family_of(instance)
    if instance.storage not in family.storages:
        raise StorageError(
            f"storage {instance.storage!r} is none of those of {family.name!r}: "
            f"{', '.join(family.storages)}"
        )
    if instance.permuted and not family.can_be_permuted:
        raise PermutationError(f"{instance.key} is no graph whose rows could be permuted")
    return family
