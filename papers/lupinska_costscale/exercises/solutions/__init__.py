"""Solutions of the exercises: each file takes the place of the exercise's of the same name.

`WRONG` of a solution holds answers that look right; the exercise's check refuses each of them.
"""
