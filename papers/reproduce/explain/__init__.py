"""From a number to its origin: ``reproduce explain``."""
