"""The calls that `papers` exports, for someone who only wants the answer.

Reading order: `assignment` (SciPy's `linear_sum_assignment`, and batches) with `one_matrix` and
`assignment_duals`, `matching` (SciPy's `maximum_bipartite_matching`; cover, rank and `blocks`) with
`direct` (one core looks first) and `scattered` (no core looks), `flow` with `cuts` (images on their
way to a GPU), `expansion` (many labels) with `moves`, then what they share: `choice` (which solver
runs, by the rules of ``choices.csv``), `places` (where arrays lie, and the way back), `answers` and
`dlpack`.
"""
