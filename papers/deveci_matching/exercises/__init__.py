"""Exercises of the page, each with a check that is red until it is solved.

Open `exercise_1`, replace what stands there by your answer, and run
``python -m pytest papers/deveci_matching/exercises -k exercise_1``. The checks, and functions
to try things with, stand in `test_exercises`; `solutions` has the answers, with the reasons.
"""
