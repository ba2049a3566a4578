"""The measuring protocol, for one process and for several ranks."""
