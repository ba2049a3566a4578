"""``reproduce verify``: whether a recorded run is what it says it is.

`checks` reads a record: its files' hashes, its code, its cells and the pages made from it.
`sample` draws some of its instances again and solves them here.
"""
