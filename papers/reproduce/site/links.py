"""Turns the names in a note into links: an experiment, a deviation, an inconsistency of print."""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass, field

from markupsafe import Markup, escape

_NAMED = re.compile(r"\b(?:([a-z][a-z0-9_]*):([a-z0-9_]+)|([A-Z]{1,3}\d{1,3}))\b")


@dataclass(frozen=True)
class Linker:
    """The names that the notes of one paper may use.

    Attributes
    ----------
    paper : str
    experiments : container of (paper, experiment)
        Those that have a section in the site.
    inconsistencies, deviations : container of str
        Their ids, e.g. ``"LO1"`` and ``"D4"``.
    """

    paper: str
    experiments: Container[tuple[str, str]] = frozenset()
    inconsistencies: Container[str] = frozenset()
    deviations: Container[str] = field(default_factory=frozenset)

    def __call__(self, text: str) -> Markup:
        """Return the text, escaped, with links."""
        found, end = [], 0
        for named in _NAMED.finditer(text):
            target = self._target(*named.groups())
            if target:
                found.append(escape(text[end : named.start()]))
                found.append(Markup('<a href="{}">{}</a>').format(target, named[0]))
                end = named.end()
        return Markup("").join([*found, escape(text[end:])])

    def _target(self, paper: str | None, experiment: str | None, name: str | None) -> str:
        if paper and experiment and (paper, experiment) in self.experiments:
            return f"{paper}.html#{experiment}"
        if name and name in self.inconsistencies:
            return f"{self.paper}.html#{name}"
        if name and name in self.deviations:
            return f"{self.paper}-page.html#{name}"
        return ""
