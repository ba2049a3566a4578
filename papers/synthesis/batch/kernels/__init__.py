"""The kernel: one block solves one problem, whatever the others do."""
