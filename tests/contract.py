"""The contract suites' common part: every solver of every paper, by what it declares.

Nothing here or in `test_contract_*` names a paper, or a solver but where one is an exception
(`ENDS_FIRST`): a new one is in the suite of its problem as soon as its paper's card lists it.
"""

import functools
import re

import pytest

import papers
from papers.common.gpu.environment import MissingPackageError
from papers.common.model import GivenUpError
from papers.common.problems import kinds
from papers.reproduce import registry
from papers.synthesis import solvers as synthesis


def room_of(solver):
    """The room of the code that a solver runs, e.g. ``lopes2019/baselines``."""
    run = solver.run.func if isinstance(solver.run, functools.partial) else solver.run
    return "/".join(run.__module__.split(".")[1:-1])


def solvers(problem):
    """Every solver of a problem, and each of its variants, as parameters ``(solver, options)``.

    A solver that two papers list is run once.
    """
    seen = []
    listed = {paper: registry.card(paper).solvers() for paper in papers.PAPERS}
    # Of our own room the solvers that callers may name; what is measured beside them is not ours.
    listed["synthesis"] = synthesis.SOLVERS
    for paper, known in listed.items():
        for solver in known.values():
            if solver.problem != problem or any(solver is other for other in seen):
                continue
            seen.append(solver)
            for name, options in {"": {}, **solver.variants}.items():
                case = f"{paper}:{solver.name}" + (f"-{name}" if name else "")
                yield pytest.param(solver, dict(options), id=case)


def upload(solver, *data, **options):
    """A solver's `upload`; a package that is not installed skips the test, and nothing else."""
    try:
        return solver.upload(*data, **options)
    except MissingPackageError as missing:
        pytest.skip(str(missing))


def solve(solver, *data, **options):
    state = upload(solver, *data, **options)
    solver.run(state)
    return kinds.answer_of(solver, state)


def given_up(solver, state):
    """Run; return the error of a run that has given up, None of one that has ended."""
    try:
        solver.run(state)
    except GivenUpError as error:
        return error
    return None


def assert_gave_up(solver, state, error):
    """A run that has given up says when and what it had reached, and leaves nothing behind."""
    assert re.search(r"gave up after .* s and \d+ \w+", str(error))
    assert error.after_ms > 0
    assert error.reached
    assert all(type(count) is int and count >= 0 for count in error.reached.values())
    with pytest.raises(RuntimeError, match=r"nothing to download|no run has ended"):
        solver.download(state)


def assert_a_limit_of_time_is_kept_or_refused(solver, instance, options, ends_first):
    """A solver refuses a limit by name, or its run gives up; wrong limits are bad input.

    Those that `ends_first` names look at the clock so rarely that a small run may end before.
    """
    if "time limits" in solver.limits:
        with pytest.raises(kinds.OptionError, match=solver.limits["time limits"]):
            kinds.check_options(solver, {"seconds": 1})
        return
    for wrong in (0, -1, True, "1", float("nan")):
        with pytest.raises(ValueError, match="seconds="):
            upload(solver, instance, seconds=wrong, **options)
    state = upload(solver, instance, seconds=1e-9, **options)
    error = given_up(solver, state)
    if error is None:
        assert solver.name in ends_first
    else:
        assert_gave_up(solver, state, error)


def assert_steps_are_declared(solver, seen, some=True):
    """Steps that were traced are the declared ones, the first of them first."""
    assert set(seen) <= set(solver.steps)
    if solver.steps and some:
        assert seen[0] == solver.steps[0]


def reasons(solver, *words):
    """A regular expression of the words, or of what the solver says at its limits."""
    return "|".join([*words, *solver.limits.values()])
