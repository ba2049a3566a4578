"""Formats of files: `matrices` (costs and graphs), `networks`, and the check of their headers."""
