"""The size and the kind of our graphs as measured causes of differences from print.

Print's twenty matrices have 410,236 to 50,912,018 columns; most of ours are smaller. `classes` asks
what the mix of graphs in a set does to the means of Table 1, `growth` how a speedup grows with the
columns of one family's graphs, `copies` what a run's copies cost. `causes` turns their figures into
causes.
"""
