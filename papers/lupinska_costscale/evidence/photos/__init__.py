"""The demonstrations on photos: what they are made of, and their pictures."""
