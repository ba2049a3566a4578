"""Compiled kernels on disk: `fingerprint` says what a kernel is made of, `store` keeps cubins.

`parameters` packs the arguments of a bound one; `waking` starts the driver early, so that a first
call that finds its kernels waits for less.
"""
