"""A kernel with some of its lines changed: what a race does without the line that prevents it."""

from __future__ import annotations

import ast
import inspect
import textwrap
from typing import Any


def changed(kernel: Any, *changes: tuple[str, str]) -> Any:
    """Return a kernel with lines of its text replaced; the original stays as it is.

    Parameters
    ----------
    kernel : dispatcher or function
        A kernel or a device function of a module: one that is no closure.
    *changes : (str, str)
        Text that stands in the kernel, as it is indented there, and text to put in its place.
        Every place where it stands is changed.

    Returns
    -------
    dispatcher or function
        With the original's decorators: to be launched in an executor, or to stand in for the
        original in the module from which other kernels call it.

    Raises
    ------
    ValueError
        If a text does not stand in the kernel, or changes nothing.
    """
    function = getattr(kernel, "py_func", kernel)
    text = textwrap.dedent(inspect.getsource(function))
    for old, new in changes:
        if not old or old not in text:
            raise ValueError(f"{function.__name__} does not hold {old!r}")
        if old == new:
            raise ValueError(f"{old!r} stays as it is")
        text = text.replace(old, new)
    tree = ast.parse(text)
    definition = tree.body[0]
    assert isinstance(definition, ast.FunctionDef)
    ast.increment_lineno(tree, function.__code__.co_firstlineno - 1)
    namespace = dict(function.__globals__)
    exec(compile(tree, inspect.getsourcefile(function) or "<changed>", "exec"), namespace)
    return namespace[definition.name]
