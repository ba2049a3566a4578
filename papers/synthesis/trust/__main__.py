"""The command: ``python -m papers.synthesis.trust --solves N --seed S --out trust.csv``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from papers.common.deadline import check_seconds
from papers.synthesis.trust.running import Run, Table, TableError, run, run_of


def _arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m papers.synthesis.trust", description=__doc__)
    parser.add_argument("--solves", type=int, default=1000, help="solves in all (1000)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("trust.csv"), help="goes on with a file")
    parser.add_argument("--largest", type=int, default=512, help="longest side (512)")
    parser.add_argument("--device", choices=("auto", "gpu", "cpu"), default="auto")
    parser.add_argument(
        "--patience", type=float, default=120.0, help="seconds until a solve counts as hung (120)"
    )
    parser.add_argument("--seconds", type=float, help="stop after so long; the same words go on")
    given = parser.parse_args(words)
    if given.solves < 0 or given.seed < 0 or given.largest < 1:
        parser.error("solves and seed are not negative, the longest side is at least 1")
    for limit in (given.patience, given.seconds):
        try:
            check_seconds(limit)
        except ValueError as error:
            parser.error(str(error))
    return given


def main(words: Sequence[str] | None = None) -> int:
    """Run the command.

    Returns
    -------
    int
        0: all was right; 1: something was wrong or hung; 2: the file is something else.
    """
    given = _arguments(words)
    try:
        table = Table.read(given.out)
    except TableError as error:
        print(error, file=sys.stderr)
        return 2
    right = run(
        table, given.solves, given.seed, given.largest, given.device, given.patience,
        lambda text: print(text, file=sys.stderr, flush=True), given.seconds,
    )  # fmt: skip
    mine = [of for of in dict.fromkeys(of for of, _ in table.counts) if of == _run_on(given, of)]
    told = ", ".join(
        f"{table.done(of)} solves on {of.device}, {table.not_right(of)}" for of in mine
    )
    print(f"seed {given.seed}: {told or 'no solve'}; {given.out}")
    return 0 if right else 1


def _run_on(given: argparse.Namespace, of: Run) -> Run:
    return run_of(given.seed, given.largest, of.device)


if __name__ == "__main__":
    sys.exit(main())
