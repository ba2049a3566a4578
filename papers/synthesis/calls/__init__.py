"""The calls that `papers` exports, for someone who only wants the answer.

Reading order: `assignment` (SciPy's `linear_sum_assignment`, batches, duals), `matching` (SciPy's
`maximum_bipartite_matching`; cover, rank and `blocks`), `flow`, `expansion` (many labels) with
`energies`, `recycling` and, for a GPU, `moves`, then what they share: `choice` (which solver runs,
by the rules of ``choices.csv``), `places` (where arrays lie, and the way back), `answers` and
`dlpack`.
"""
