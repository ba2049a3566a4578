"""The site of a run: pages that need no network, with the answer on the first screen."""
