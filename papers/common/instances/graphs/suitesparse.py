"""Sizes of matrices as the SuiteSparse Collection publishes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal[
    "road", "osm", "web", "social", "copurchase", "coauthor", "citation", "circuit",
    "mesh", "delaunay", "kron", "rgg",
]  # fmt: skip


@dataclass(frozen=True)
class Real:
    """A matrix of the SuiteSparse Collection, as it is published.

    Attributes
    ----------
    group : str
        Its group there.
    rows : int
        Rows and columns.
    nonzeros : int
        Stored entries, both halves of a symmetric matrix.
    kind : str
        The law of its stand-in.
    symmetric : bool
        Whether its pattern is symmetric.
    """

    group: str
    rows: int
    nonzeros: int
    kind: Kind
    symmetric: bool = False

    @property
    def mean_degree(self) -> float:
        """Nonzeros a row."""
        return self.nonzeros / self.rows


REAL: dict[str, Real] = {
    "roadNet-CA": Real("SNAP", 1971281, 5533214, "road", True),
    "delaunay_n23": Real("DIMACS10", 8388608, 50331568, "delaunay", True),
    "coPapersDBLP": Real("DIMACS10", 540486, 30491458, "coauthor", True),
    "kron_g500-logn21": Real("DIMACS10", 2097152, 182082942, "kron", True),
    "amazon-2008": Real("LAW", 735323, 5158388, "copurchase"),
    "delaunay_n24": Real("DIMACS10", 16777216, 100663202, "delaunay", True),
    "as-Skitter": Real("SNAP", 1696415, 22190596, "social", True),
    "amazon0505": Real("SNAP", 410236, 3356824, "copurchase"),
    "wikipedia-20070206": Real("Gleich", 3566907, 45030389, "web"),
    "Hamrle3": Real("Hamrle", 1447360, 5514242, "circuit"),
    "hugetrace-00020": Real("DIMACS10", 16002413, 47997626, "mesh", True),
    "hugebubbles-00000": Real("DIMACS10", 18318143, 54940162, "mesh", True),
    "wb-edu": Real("Gleich", 9845725, 57156537, "web"),
    "rgg_n_2_24_s0": Real("DIMACS10", 16777216, 265114400, "rgg", True),
    "patents": Real("Pajek", 3774768, 14970767, "citation"),
    "italy_osm": Real("DIMACS10", 6686493, 14027956, "osm", True),
    "soc-LiveJournal1": Real("SNAP", 4847571, 68993773, "social"),
    "ljournal-2008": Real("LAW", 5363260, 79023142, "social"),
    "europe_osm": Real("DIMACS10", 50912018, 108109320, "osm", True),
    "com-LiveJournal": Real("SNAP", 3997962, 69362378, "social", True),
}
"""The twenty matrices of [D13 Table 2] by the names they have in the collection."""
