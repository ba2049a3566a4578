"""The measured causes of differences from print: figures that the record lets us expect.

Print's twenty matrices have 410,236 to 50,912,018 columns; most of ours are smaller. `classes` asks
for the effect of the mix of graphs in a set on the means of Table 1, `growth` how a speedup grows
with the columns of one family's graphs, `copies` what a run's copies take, and `races` how far
repetitions of one run lie apart in counts. `bounds` turns their figures into causes.
"""
