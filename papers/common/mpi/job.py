"""The variables by which a launcher of MPI jobs tells its processes of the job, read without MPI.

``mpiexec`` of MPICH and of Open MPI, and Slurm's ``srun``, set environment variables; without one
of them a process is alone. Nothing is imported here: a command asks before it imports anything.
"""

from __future__ import annotations

import os

SIZES = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS")
"""Ranks of the job. A batch script's own process has ``SLURM_NTASKS``, but is not one of them."""

RANKS = ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID")

_OF_A_RANK = ("PMI_", "PMIX_", "OMPI_COMM_WORLD_", "SLURM_STEP_NUM_TASKS")
"""Beginnings of the variables that make a process a rank."""


def _number(names: tuple[str, ...], default: int) -> int:
    for name in names:
        if os.environ.get(name, "").isdigit():
            return int(os.environ[name])
    return default


def size_of_job() -> int:
    """Return how many ranks the launcher has started; 1 without one."""
    return max(1, _number(SIZES, 1))


def rank_of_job() -> int:
    """The number of this process among them, from 0."""
    return _number(RANKS, 0) if size_of_job() > 1 else 0


def leave_job() -> None:
    """Forget the launcher: for a child of a rank, which has its variables but is none itself."""
    for name in [name for name in os.environ if name.startswith(_OF_A_RANK)]:
        del os.environ[name]
