"""Assignment problems from files: cost matrices, and weights of a sparse graph, as ``.npz``.

Files are looked for in the folder that ``PAPERS_INSTANCES`` names, its subfolder ``lap``, and the
cache (see `papers.common.instances.files`).
"""

from __future__ import annotations

import zipfile

import numpy as np
from scipy import sparse

from papers.common.instances import files

SUBFOLDER = "lap"

MOST = 2**31
"""Entries of a matrix that weights are laid out in, at most."""


def assignment_file(n: int, seed: int = 1, *, name: str) -> np.ndarray:
    """Read a cost matrix from NAME.npz, or NAME_n.npz: its array ``cost``; `seed` has no effect.

    A file that `scipy.sparse.save_npz` has written holds weights: its costs are their negatives,
    and 0 where nothing is stored, so that the least costs are those of a matching of the largest
    weight.

    Returns
    -------
    int32[n, m]
        ``m = n``, of weights ``m >= n``.

    Raises
    ------
    MissingInstanceError
        If there is no such file.
    BrokenInstanceError
        If it has no array ``cost`` of n x n integers that int32 holds, and no such weights.
    """
    try:
        path = files.find(name, (".npz",), SUBFOLDER)
    except files.MissingInstanceError:
        path = files.find(f"{name}_{n}", (".npz",), SUBFOLDER)
    try:
        with np.load(path, allow_pickle=False) as kept:
            of_weights = "format" in kept
            cost = sparse.load_npz(path) if of_weights else kept["cost"]
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise files.BrokenInstanceError(f"{path.name} has no matrix of costs: {error}") from None
    fits = cost.ndim == 2 and cost.shape[0] == n
    fits = fits and (n <= cost.shape[1] <= MOST // n if of_weights else cost.shape[1] == n)
    if not fits or cost.dtype.kind not in "iu":
        what = "weights" if of_weights else "costs"
        asked = f"{n} x {n}" + " or wider" * of_weights
        found = f"{what} {cost.dtype} {cost.shape}, not integers of {asked}"
        raise files.BrokenInstanceError(f"{path.name} has {found}")
    wide = -cost.toarray().astype(np.int64) if of_weights else cost.astype(np.int64)
    if cost.size and np.abs(wide).max() > np.iinfo(np.int32).max:
        raise files.BrokenInstanceError(f"{path.name} has costs that int32 does not hold")
    return wide.astype(np.int32)
