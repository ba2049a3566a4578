"""Kernels of [K21] as printed and released, an entry a thread: ``configuration="paper"``."""
