"""MPI: the job, its ranks, and windows into device memory."""
