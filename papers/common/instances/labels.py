"""The labels of instances: which parameter of its family a label tells, and in which form.

A label is the short text that a paper gives to an instance: a cost range (``"0.1n"``), a degree
(``"d3"``), the name of a matrix or a photograph, a size (``"logn18"``). `Label` is the rule of one
family; `papers.common.instances.families.parameters` applies it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from papers.common.model import Instance


class FamilyError(ValueError):
    """An instance asks for something that its family cannot give."""


class LabelError(FamilyError):
    """A label does not tell what its family needs, or tells something wrong."""


def label_range(n: int, label: str) -> int:
    """Return the number of different costs that a label names, rounded down, at least 1.

    Parameters
    ----------
    n : int
        Order of the matrix.
    label : str
        ``"n"``, a decimal multiple (``"0.1n"``, ``"10n"``, ``"16384n"``), a fraction (``"n/64"``)
        or a plain number (``"100"``).

    Raises
    ------
    LabelError
        If the label is none of these, or not positive.
    """
    head, is_multiple, divisor = label.partition("n")
    try:
        if is_multiple:
            factor = Fraction(head or 1) / Fraction(divisor.removeprefix("/") or 1)
        else:
            factor = Fraction(int(head))
        if factor <= 0 or (divisor and not divisor.startswith("/")):
            raise ValueError
    except (ValueError, ZeroDivisionError):
        raise LabelError(
            f'cost range {label!r} is none of "n", "0.1n", "10n", "n/64" or a number'
        ) from None
    return max(1, int(factor * n if is_multiple else factor))


@dataclass(frozen=True)
class Label:
    """The rule by which a family's labels tell a parameter.

    Attributes
    ----------
    parameter : str
        The parameter's name; ``""`` for a label that tells none.
    value : callable(Instance) -> object
        Reads the parameter from the label (and checks the label of a family without one); raises
        `LabelError` for a label that does not tell it.
    """

    parameter: str
    value: Callable[[Instance], Any]

    def parameters(self, instance: Instance) -> dict[str, Any]:
        """Return `Instance.params`, completed by the label where they leave its parameter out."""
        params = dict(instance.params)
        if not self.parameter:
            self.value(instance)
        elif self.parameter not in params:
            params[self.parameter] = self.value(instance)
        return params


def _range(instance: Instance) -> int:
    return label_range(instance.n, instance.label)


def _largest_of_range(instance: Instance) -> int:
    return dict(instance.params).get("low", 0) + _range(instance) - 1


def _formed(parameter: str, form: str, convert: Callable[[str], Any]) -> Label:
    """Return the rule of labels with a regular expression, whose group tells the parameter."""

    def value(instance: Instance) -> Any:
        found = re.fullmatch(form, instance.label)
        if not found:
            raise LabelError(f"the label of {instance.key} does not tell its {parameter} ({form})")
        return convert(found[1])

    return Label(parameter, value)


def _columns(instance: Instance) -> int:
    found = re.fullmatch(r"(\d+)x(\d+)", instance.label)
    if not found or int(found[1]) != instance.n:
        raise LabelError(f"{instance.label!r} does not name a shape of {instance.n} rows")
    return int(found[2])


def size(form: str) -> Label:
    """Return the rule of labels that tell the binary logarithm of the rows, in the form `form`."""

    def check(instance: Instance) -> None:
        found = re.fullmatch(form, instance.label)
        if not found or 1 << int(found[1]) != instance.n:
            raise LabelError(
                f"{instance.label!r} does not name a {instance.family} graph of {instance.n} rows"
            )

    return Label("", check)


RANGE = Label("cost_range", _range)
"""``"10n"``: `label_range` is the number of different costs."""

LARGEST_COST = Label("high", _largest_of_range)
"""``"10n"``: `label_range` is the number of values from ``low`` to ``high``."""

DEGREE = _formed("degree", r"d(\d+(?:\.\d+)?)", float)
"""``"d3"``: the mean degree of a graph."""

NAME = _formed("name", r"(.+)", str)
"""The name of a matrix, a file or a photograph."""

ALPHA = _formed("alpha", r"a(\d+)", int)
"""``"a06"``: the label that may expand."""

LARGEST_CAPACITY = _formed("largest", r"(\d+)", int)
"""``"20"``: the largest capacity."""

SHAPE = Label("columns", _columns)
"""``"200x2000"``: the rows, which are the instance's n, and the columns of a rectangle."""

FREE = Label("", lambda instance: None)
"""Any text: it tells nothing."""
