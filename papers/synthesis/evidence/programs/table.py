"""The table that a program of this folder makes: where it goes, and how it is written."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd


def asked(about: str, words: Sequence[str] | None = None) -> list[str]:
    """Return the file, and the repetitions where they are named, that a program's words ask for.

    Parameters
    ----------
    about : str
        The program's docstring.
    words : sequence of str, optional
        ``sys.argv``'s by default.

    Raises
    ------
    SystemExit
        For a file that is there already, which is not written over, and a number below 1.
    """
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", metavar="OUT.csv", type=Path, help="the table, a new file")
    parser.add_argument("repeats", metavar="REPEATS", nargs="?", type=int)
    given = parser.parse_args(words)
    if given.out.exists():
        parser.error(f"{given.out} is there already: name a new file for the table")
    if given.repeats is None:
        return [str(given.out)]
    if given.repeats < 1:
        parser.error(f"REPEATS={given.repeats} is not at least 1")
    return [str(given.out), str(given.repeats)]


def write(rows: Iterable[dict[str, Any]], path: str) -> None:
    """Write a table anew behind each of its rows, and tell each: a program may be stopped."""
    done = []
    for row in rows:
        done.append(row)
        pd.DataFrame(done).to_csv(path, index=False)
        print(*row.values(), file=sys.stderr, flush=True)
