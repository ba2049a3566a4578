"""Both variants on several GPUs, an MPI rank each [DN16 sec.5]."""
