"""The paper's CPU rivals."""
