"""The paper's CPU rivals, sequential and multicore."""
