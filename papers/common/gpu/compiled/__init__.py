"""Compiled kernels on disk: `fingerprint` says what a kernel is made of, `store` keeps cubins.

`parameters` packs the arguments of a bound one.
"""
