"""Files that hold a bipartite graph: SciPy's ``.npz`` and Matrix Market.

Structure counts: every stored entry is an edge, also one that is stored as zero, and both halves of
a symmetric matrix are.
"""

from __future__ import annotations

import gzip
import shutil
import tempfile
from pathlib import Path
from typing import Any

from papers.common.problems.files import FileFormatError
from papers.common.problems.graph import Graph, bipartite

ENDINGS = (".npz", ".mtx", ".mtx.gz")

_BLOCK = 1 << 20


def read(path: Path) -> Graph:
    """Return the graph that a file holds.

    Parameters
    ----------
    path : Path
        ``.npz`` of `scipy.sparse.save_npz`, whatever the compression of its members; ``.mtx`` or
        ``.mtx.gz``: Matrix Market, coordinates or array, of any field and symmetry.

    Raises
    ------
    FileFormatError
        If it has another ending, or is no such file, or its indices are no matrix.
    """
    try:
        if path.name.endswith(".npz"):
            return _of_npz(path)
        if path.name.endswith((".mtx", ".mtx.gz")):
            with path.open("rb") if path.suffix == ".mtx" else gzip.open(path) as file:
                return of_matrix_market(file)
    except MemoryError:
        raise
    except OSError as error:
        raise FileFormatError(f"{path.name}: {error.strerror or error}") from None
    except Exception as error:
        # Zip, LZMA, zlib, NumPy and SciPy each have errors of their own for a damaged file.
        what = (str(error) or type(error).__name__).replace(str(path), path.name)
        raise FileFormatError(f"{path.name}: {what}") from None
    raise FileFormatError(f"{path.name}: a graph is read from {', '.join(ENDINGS)}")


def _of_npz(path: Path) -> Graph:
    from scipy.sparse import load_npz

    return bipartite(load_npz(path))


def of_matrix_market(file: Any) -> Graph:
    """Read Matrix Market from an open file, by way of a plain one that ends with a line break.

    SciPy's reader (1.17) crashes the process where a file ends within a line, as one that was cut
    off does, and where a compressed file turns out to be damaged.
    """
    from scipy.io import mmread

    with tempfile.NamedTemporaryFile(suffix=".mtx") as plain:
        shutil.copyfileobj(file, plain, _BLOCK)
        plain.write(b"\n")
        plain.flush()
        return bipartite(mmread(plain.name))
