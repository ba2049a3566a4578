"""The site of a run: a folder of pages that need no network, with the answer on the first screen."""
