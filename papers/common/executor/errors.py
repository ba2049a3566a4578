"""Errors of the CPU executor: a kernel did something that has no meaning on a GPU."""

from papers.common.model import GivenUpError


class ExecutorError(RuntimeError):
    """A kernel did something that has no meaning on a GPU."""


class DeadlockError(ExecutorError):
    """No thread can run, and the barriers they wait at will never complete."""


class BarrierDivergenceError(ExecutorError):
    """Threads of one block met at different barriers."""


class StepLimitError(ExecutorError, GivenUpError):
    """A launch made more accesses than `max_accesses`: it does not end, or is too large for here.

    It is a limit of work: who has asked for a solution hears of it as of the solvers' own limits.
    """
