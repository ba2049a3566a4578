"""The pieces that papers share, in rooms: vocabulary, problems, instances, GPU, executor, MPI,
evidence.

A room imports only rooms before it in this order: model, executor, gpu, mpi, problems, instances,
evidence. Nothing in here imports a paper.
"""
