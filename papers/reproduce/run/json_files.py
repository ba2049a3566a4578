"""The JSON files of a run folder, read with their keys and types checked.

A file may be of another version, cut off or edited by hand; what is wrong with it is told in one
line that names the file and the key.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from papers.reproduce.registry import UsageError

Shape = Any
"""A type or a tuple of types; ``{key: shape}`` for an object that has at least these keys,
``{str: shape}`` for one of any keys, ``[shape]`` for a list."""

_CELL = {
    "solver": str,
    "family": str,
    "n": int,
    "label": str,
    "seed": int,
    "params": [list],
    "options": [list],
    "scopes": [str],
    "repeats": (int, type(None)),
    "experiments": [str],
}
_LATER = {"storage": str, "permuted": bool, "interleaved": [str]}
"""Keys of a cell that older files lack."""

META = {
    "format": int,
    "version": str,
    "experiments": [str],
    "options": {
        "preset": str,
        "only": [str],
        "repeats": (int, type(None)),
        "seeds": [int],
        "timeout_s": (int, float),
        "device": str,
    },
    "device": {"name": str, "is_gpu": bool, "slug": str},
    "plan": [_CELL],
}
_RECORD = {"versions": {str: str}, "gpus": [{str: str}]}
ENVIRONMENT = {str: (str, bool, int, float, list, dict, type(None))}
ARTIFACTS = {str: [[str]]}


def check(value: Any, shape: Shape, where: str = "") -> None:
    """Raise `ValueError`, which names the place, if `value` has not the given shape."""
    if isinstance(shape, dict):
        _check_object(value, shape, where)
    elif isinstance(shape, list):
        _demand(value, (list,), where)
        for place, item in enumerate(value):
            check(item, shape[0], f"{where}[{place}]")
    else:
        _demand(value, shape if isinstance(shape, tuple) else (shape,), where)


def _check_object(value: Any, shape: dict[Any, Shape], where: str) -> None:
    _demand(value, (dict,), where)
    if str in shape:
        shape = dict.fromkeys(value, shape[str])
    for key, inner in shape.items():
        name = f"{where}.{key}" if where else key
        if key not in value:
            raise ValueError(f"{name} is missing")
        check(value[key], inner, name)


def _demand(value: Any, types: tuple[type, ...], where: str) -> None:
    # JSON's true is an int to Python, and no number to anybody else.
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
        wanted = " or ".join("null" if t is type(None) else t.__name__ for t in types)
        raise ValueError(f"{where or 'the whole'} is {type(value).__name__}, not {wanted}")


def read(path: Path, shape: Shape) -> Any:
    """Return the content of a JSON file.

    Raises
    ------
    UsageError
        If it is no JSON or has not the given shape.
    OSError
        If it cannot be read.
    """
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
        check(value, shape)
        if shape is ENVIRONMENT:
            check(value, {key: inner for key, inner in _RECORD.items() if key in value})
        for place, cell in enumerate(value["plan"] if shape is META else ()):
            known = {key: inner for key, inner in _LATER.items() if key in cell}
            check(cell, known, f"plan[{place}]")
    except ValueError as error:
        raise UsageError(f"{path} is damaged: {error}") from None
    return value


def read_optional(path: Path, shape: Shape) -> Any:
    """Return `read`, or ``{}`` if there is no such file."""
    return read(path, shape) if path.is_file() else {}
