"""Does what a grid does in another way than one block, so that no block waits for all others.

Reading order: `chains` (the auction), `reports` and `levels` (a search).
"""
