"""Push-relabel on the CPU, and other people's maximum flow codes."""
