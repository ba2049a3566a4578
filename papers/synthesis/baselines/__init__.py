"""The fastest codes of others that a CPU has: rivals of the synthesis, called as their users do."""
