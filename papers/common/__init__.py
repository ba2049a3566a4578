"""What at least two papers share: vocabulary, instances, proofs, launches, the CPU executor.

Nothing in here imports a paper.
"""
