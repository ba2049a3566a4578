"""GPU papers on assignment, matching and flow, reimplemented in ``numba.cuda``.

Importing this package loads neither Numba nor CUDA, so that ``reproduce --help`` is instant.
Each paper is a subpackage; `PAPERS` lists those that have landed, in the order of the reading tour.
"""

__version__ = "0.1.0"

PAPERS: tuple[str, ...] = (
    "lopes2019",
    "datenagi2016",
    "kawtikwar_opts",
    "deveci_matching",
    "lupinska_costscale",
)
"""Names of the subpackages that hold a paper; CONTRIBUTING.md says how one is added."""

DEFAULT_PAPERS: dict[str, str] = {
    "assignment": "kawtikwar_opts",
    "matching": "deveci_matching",
    "flow": "lupinska_costscale",
}
"""The paper whose default solver ``reproduce solve FILE`` takes, by the file's problem."""
