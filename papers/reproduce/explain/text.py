"""An explanation as lines of a terminal, and as JSON.

Without ``--verbose`` it takes about `MOST` lines: the worst rows, a line a reason, the kernels of a
file on one line.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from papers.common.evidence.verdicts import is_with_print
from papers.common.model import Comparison
from papers.reproduce.explain.explanation import Explanation, as_data, kind
from papers.reproduce.explain.makers import Instances, Maker
from papers.reproduce.explain.places import Place
from papers.reproduce.report.numbers import show_interval, show_number, show_published, show_reason
from papers.reproduce.report.tally import listed
from papers.reproduce.screen.answer import as_dict

MOST = 40
"""Lines of the short form on a terminal of 120 columns."""

ROWS, REASONS, MAKERS, FILES, NOTES, CELLS = 10, 3, 4, 5, 3, 6
"""The most of each that the short form shows."""

JSON_FORMAT = "reproduce explain, format 1"
"""The value of the key ``format`` of the file for programs."""


def lines(found: Explanation, verbose: bool) -> list[str]:
    """Return the lines that are printed.

    Parameters
    ----------
    found : Explanation
    verbose : bool
        Whether nothing is left out.
    """
    parts = [
        _head(found),
        _rows(found, verbose),
        _made_of(found, verbose),
        _makers(found, verbose),
        _kernels(found.makers, verbose),
        [f"{role:<9} {place.name}  {place}" for role, place in found.places],
        _notes(found, verbose),
        [f"{'anew':<9} {found.command}"],
    ]
    return [line for part in parts for line in part]


def _head(found: Explanation) -> list[str]:
    basis = found.basis
    asked = [f"{name}.csv ({rows} rows)" for name, rows in found.sources.items()]
    tag = f"[{found.tag}]  " if found.tag else "no table of print: an experiment of ours  "
    place = f"papers/{basis.paper}/published: {', '.join(asked)}" if asked else "no printed number"
    others = [f"{name} ({n} rows)" for name, n in basis.others.items()]
    return [
        f"{basis.name}  {found.title}",
        f"{'print':<9} {tag}{place}",
        f"{'measured':<9} {kind(basis)}: {found.machine}, preset {basis.plan.preset}, "
        f"{found.commit}",
        *([f"{'':<9} also: {', '.join(others)}; --record CARD"] if others else []),
        *([f"{'':<9} not measured: {basis.experiment.unavailable}"]
          if basis.experiment.unavailable else []),
    ]  # fmt: skip


# ------------------------------------------------------------------------------ rows


def _rows(found: Explanation, verbose: bool) -> list[str]:
    if not found.rows:
        return [f"{'rows':<9} it compares nothing with print"]
    kept = found.rows if verbose else found.rows[:ROWS]
    reasons = _reasons(kept)
    counts = listed(Counter(item.verdict for item in found.rows))
    left = len(found.rows) - len(kept)
    more = f"; {left} more by --verbose, or --row WORDS" if left else ""
    told = list(reasons) if verbose else list(reasons)[:REASONS]
    rest = len(reasons) - len(told)
    return [
        f"{'rows':<9} {len(found.rows)}: {counts} (the worst first{more})",
        *(f"  {_row(found, item)}{_number(item, reasons)}" for item in kept),
        *(f"  ({place + 1}) {reasons[reason]}" for place, reason in enumerate(told)),
        *([f"  and {rest} further reasons by --verbose"] if rest else []),
    ]


def _row(found: Explanation, item: Comparison) -> str:
    """Return a row as one line: verdict, quantity, ours with its interval, print, tolerance."""
    interval = show_interval(item)
    other = "print" if is_with_print(item) else "expected"
    return (
        f"{item.verdict:<8} {item.quantity}: {show_number(item.measured) or 'not measured'}"
        f"{f' ({interval})' if interval else ''}, {other} "
        f"{show_published(item.published, found.basis.printed) or 'nothing'}; {item.tolerance}"
    )


def _kind(reason: str) -> str:
    """Return a reason without its numbers, so that alike ones are told once."""
    return re.sub(r"-?\d[\d.e+-]*", "...", reason)


def _reasons(items: Iterable[Comparison]) -> dict[str, str]:
    """Return the first reason of each kind, in words, with the number of its rows."""
    told = [show_reason(item) for item in items]
    counts = Counter(_kind(reason) for reason in told if reason)
    first = {_kind(reason): reason for reason in reversed(told) if reason}
    return {
        name: first[name] + (f"  [so, with other numbers, {n} rows]" if n > 1 else "")
        for name, n in counts.items()
    }


def _number(item: Comparison, reasons: dict[str, str]) -> str:
    reason = _kind(show_reason(item))
    if reason in reasons:
        return f" ({list(reasons).index(reason) + 1})"
    return " (no cause is known)" if item.verdict == "open" else ""


# ------------------------------------------------------------------------------ cells


def _made_of(found: Explanation, verbose: bool) -> list[str]:
    out = []
    for quantity, cells in found.made_of.items():
        out.append(f"{'made of':<9} {len(cells)} cells: {quantity}")
        kept = cells if verbose else cells[:CELLS]
        out += [f"  {cell}" for cell in kept]
        out += [f"  and {len(cells) - len(kept)} more by --verbose"] if kept != cells else []
    more = len(found.rows) - len(found.made_of)
    return out + ([f"{'':<9} cells of {more} more rows by --verbose"] if out and more else [])


def _makers(found: Explanation, verbose: bool) -> list[str]:
    groups = found.instances if verbose else found.instances[:MAKERS]
    out = [f"{'instances':<9} {_instances(one, verbose)}" for one in groups]
    out += _left(found.instances, groups, "families")
    kept = found.makers if verbose else found.makers[:MAKERS]
    for one in kept:
        options = f" [{one.options}]" if one.options else ""
        where = f"  {one.run}" if one.run else ""
        out.append(
            f"{'solver':<9} {one.solver}{options}, {one.title or 'unknown'}: {one.measured} of "
            f"{one.cells} cells, clocks {', '.join(one.clocks)}{where}"
        )
    return out + _left(found.makers, kept, "solvers")


def _left(whole: Sequence[object], kept: Sequence[object], what: str) -> list[str]:
    more = len(whole) - len(kept)
    return [f"{'':<9} and {more} more {what} by --verbose"] if more else []


def _instances(one: Instances, verbose: bool) -> str:
    order = ", permuted" if one.permuted else ""
    return (
        f"{one.count} of {one.family}: n {_some(one.sizes, verbose)}; range "
        f"{_some(one.ranges, verbose)}; seed {_some(one.seeds, verbose)}; in {one.storage} "
        f"memory{order}"
    )


def _some(values: Sequence[object], verbose: bool) -> str:
    """Return a list of values; the middle of a long one is left out."""
    told = [str(value) for value in values]
    if not verbose and len(told) > 8:
        told = [*told[:4], "...", *told[-3:]]
    return ", ".join(told)


def _kernels(makers: Sequence[Maker], verbose: bool) -> list[str]:
    """Return the kernels by file, each with its line and the solvers that launch it in brackets."""
    by_file: dict[str, dict[Place, None]] = {}
    for one in makers:
        for place in one.kernels:
            by_file.setdefault(place.file, {})[place] = None
    if verbose:
        out = [
            f"{'kernel':<9} {place.name}  {place}  "
            f"({', '.join(_called(one) for one in makers if place in one.kernels)})"
            for found in by_file.values()
            for place in found
        ]
    else:
        kept = list(by_file.items())[:FILES]
        out = [
            f"{'kernels':<9} {file}: {', '.join(f'{p.name}:{p.line}' for p in found)}"
            for file, found in kept
        ]
        out += _left(list(by_file), kept, "files of kernels")
    if by_file:
        out.append(f"{'':<9} seen on a few rows in the CPU executor; a GPU may launch others, too")
    unseen = dict.fromkeys(one.unseen for one in makers if one.unseen)
    return out + [f"{'kernels':<9} {why}" for why in (unseen if verbose else list(unseen)[:2])]


def _called(one: Maker) -> str:
    return f"{one.solver}[{one.options}]" if one.options else one.solver


def _notes(found: Explanation, verbose: bool) -> list[str]:
    notes = list(found.notes.items())
    kept = notes if verbose else notes[:NOTES]
    return [f"{name:<9} {words}" for name, words in kept] + _left(notes, kept, "notes")


# ------------------------------------------------------------------------------ for programs


def as_json(found: Explanation) -> str:
    """Return an explanation as JSON, whole; a number that is not finite is null."""
    value = {"format": JSON_FORMAT, **as_data(found)}
    value["rows"] = [as_dict(found.basis.name, item) for item in found.rows]
    for row, item in zip(value["rows"], found.rows, strict=True):
        row["reason"] = show_reason(item)
    return json.dumps(value, indent=1, ensure_ascii=True, allow_nan=False) + "\n"
