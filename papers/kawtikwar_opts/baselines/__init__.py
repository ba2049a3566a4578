"""The report's CPU code."""
