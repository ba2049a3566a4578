"""Finds the function that ``MODULE:FUNCTION`` names, and knows when its source has changed."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from papers.reproduce.registry import UsageError, meant


def load(name: str) -> Callable[..., Any]:
    """Import a function; modules of the folder that the command runs in are found, too.

    Parameters
    ----------
    name : str
        ``MODULE:FUNCTION``, e.g. ``"scipy.optimize:linear_sum_assignment"``.

    Raises
    ------
    UsageError
        If the module cannot be imported, or has no such function.
    """
    module, colon, function = name.partition(":")
    if not colon or not module or not function or "/" in module:
        raise UsageError(f"{name!r} is no MODULE:FUNCTION, such as my_solver:solve")
    if module.endswith(".py"):
        plain = f"{module.removesuffix('.py')}:{function}"
        raise UsageError(f"{name!r} names a file; a module has no ending; did you mean {plain!r}?")
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)  # As `python -m` does; a child process inherits it.
    try:
        loaded = importlib.import_module(module)
    except Exception as error:
        why = " ".join(f"{type(error).__name__}: {error}".split())
        raise UsageError(f"the module {module!r} cannot be imported: {why}") from None
    found = getattr(loaded, function, None)
    if not callable(found):
        known = [one for one, value in vars(loaded).items() if callable(value)]
        raise UsageError(f"{module} has no function {function!r}{meant(function, known)}")
    return found


def digest(function: Callable[..., Any]) -> str:
    """Return SHA-256 of the file that a function comes from, or "" where it has none."""
    try:
        file = inspect.getsourcefile(inspect.unwrap(function)) or ""
    except TypeError:  # Compiled code: its module's file.
        module = sys.modules.get(getattr(function, "__module__", "") or "")
        file = getattr(module, "__file__", "") or ""
    path = Path(file)
    return hashlib.sha256(path.read_bytes()).hexdigest() if file and path.is_file() else ""
