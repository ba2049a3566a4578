"""Types that kernels are compiled for: stated beside a kernel, read by tests and by no launch.

A module of kernels lists them in ``SIGNATURES``, by kernel: a string such as
``"void(int32, T[::1])"``, or a sequence with an entry an argument, each a type's name or the class
of a named tuple whose fields are annotated with the names below. ``T`` stands for each of the
module's ``ELEMENT_TYPES``, ``D`` (a dual) for float64 beside float64 and for int64 beside integers.
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, get_type_hints

from numba.core import sigutils, types
from numba.core.types.containers import BaseTuple

Int32 = Annotated[Any, "int32"]
Int64 = Annotated[Any, "int64"]
Element = Annotated[Any, "T"]
Int32s = Annotated[Any, "int32[::1]"]
Int64s = Annotated[Any, "int64[::1]"]
Elements = Annotated[Any, "T[::1]"]
Duals = Annotated[Any, "D[::1]"]

Signature = str | Sequence[Any]


def on_demand(
    module: str, makers: Mapping[str, Callable[[], Any]], signature: Signature
) -> Callable[[str], Any]:
    """Return a module's ``__getattr__`` that makes its kernels when somebody asks for one.

    A solver that makes the kernels that it needs does not wait for all others, of hundreds of
    device functions, in the first call of a process.

    Parameters
    ----------
    module : str
        The module's name.
    makers : mapping of str to callable() -> kernel
        By the names of attributes, which are made all at once, and ``SIGNATURES`` of them.
    signature : Signature
        Of each.

    Examples
    --------
    >>> made = on_demand(__name__, {"three": lambda: 3}, "void()")
    >>> made("three"), made("SIGNATURES")
    (3, {3: 'void()'})
    """

    def attribute(name: str) -> Any:
        if name != "SIGNATURES" and name not in makers:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        made = {each: make() for each, make in makers.items()}
        signatures = dict.fromkeys(made.values(), signature)
        vars(sys.modules[module]).update(made, SIGNATURES=signatures)
        return made.get(name, signatures)

    return attribute


def argument_types(signature: Signature, element: str = "int32") -> tuple[types.Type, ...]:
    """Numba types of a kernel's arguments.

    Parameters
    ----------
    signature : str or sequence of (str or class)
        As the head of this module says.
    element : str
        The type that ``T`` stands for.

    Returns
    -------
    tuple of numba types
        Equal to those of arrays, scalars and named tuples that a launch is bound to.

    Raises
    ------
    TypeError
        A field of a named tuple is annotated with none of the names above.
    """
    if isinstance(signature, str):
        return tuple(sigutils.normalize_signature(_with_element(signature, element))[0])
    return tuple(_type_of(entry, element) for entry in signature)


def names_element(signature: Signature) -> bool:
    """True if the types depend on the element type."""
    return argument_types(signature, "float32") != argument_types(signature, "int16")


@functools.cache  # Numba parses a text by evaluating it, and kernels share most of theirs.
def _type_of(entry: Any, element: str) -> types.Type:
    if isinstance(entry, str):
        return argument_types(f"void({entry})", element)[0]
    if hasattr(entry, "__metadata__"):
        return _type_of(entry.__metadata__[0], element)
    if not hasattr(entry, "_fields"):
        raise TypeError(f"{entry!r} is neither a type's name nor a named tuple of such")
    hints = get_type_hints(entry, include_extras=True)
    return BaseTuple.from_types(
        tuple(_type_of(hints[name], element) for name in entry._fields), entry
    )


def _with_element(text: str, element: str) -> str:
    dual = "float64" if element == "float64" else "int64"
    return re.sub(r"\bT\b", element, re.sub(r"\bD\b", dual, text))
