"""Assignment problems from files: cost matrices as ``.npz``.

Files are looked for in the folder that ``PAPERS_INSTANCES`` names, its subfolder ``lap``, and the
cache (see `papers.common.instances.files`).
"""

from __future__ import annotations

import zipfile

import numpy as np

from papers.common.instances import files

SUBFOLDER = "lap"


def assignment_file(n: int, seed: int = 1, *, name: str) -> np.ndarray:
    """Read a cost matrix from NAME.npz, or NAME_n.npz: its array ``cost``; `seed` has no effect.

    Returns
    -------
    int32[n, n]

    Raises
    ------
    MissingInstanceError
        If there is no such file.
    BrokenInstanceError
        If it has no array ``cost`` of n x n integers that int32 holds.
    """
    try:
        path = files.find(name, (".npz",), SUBFOLDER)
    except files.MissingInstanceError:
        path = files.find(f"{name}_{n}", (".npz",), SUBFOLDER)
    try:
        with np.load(path, allow_pickle=False) as kept:
            cost = kept["cost"]
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise files.BrokenInstanceError(f"{path.name} has no matrix of costs: {error}") from None
    if cost.shape != (n, n) or cost.dtype.kind not in "iu":
        found = f"{cost.dtype} {cost.shape}"
        raise files.BrokenInstanceError(f"{path.name} has costs {found}, not integers of {n} x {n}")
    wide = cost.astype(np.int64)
    if cost.size and np.abs(wide).max() > np.iinfo(np.int32).max:
        raise files.BrokenInstanceError(f"{path.name} has costs that int32 does not hold")
    return wide.astype(np.int32)
