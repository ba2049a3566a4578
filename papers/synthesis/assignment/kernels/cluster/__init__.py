"""The end of a run in one cluster of blocks, whose shared memory all of them read.

`distributed` has the barrier and the loads of a cluster, `boxes` what its blocks tell one another,
`levels` the search, and `conclusion` the kernel.
"""
