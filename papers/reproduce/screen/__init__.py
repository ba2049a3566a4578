"""The command's side of the terminal: the bar, the answer at the end, tables for who asks."""
