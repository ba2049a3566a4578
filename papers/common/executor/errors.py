"""Errors of the CPU executor: a kernel did something that has no meaning on a GPU."""


class ExecutorError(RuntimeError):
    """A kernel did something that has no meaning on a GPU."""


class DeadlockError(ExecutorError):
    """No thread can run, and the barriers they wait at will never complete."""


class BarrierDivergenceError(ExecutorError):
    """Threads of one block met at different barriers."""


class StepLimitError(ExecutorError):
    """A launch made more accesses than `max_accesses`: most likely it does not end."""
