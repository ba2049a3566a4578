"""Times of the main job's cells on a CPU, shipped so that a first run can say how long it takes.

They are hints and no results: no table shows them, no comparison uses them. `write` makes the file
anew from a run that was measured without a GPU (``python -m papers.reproduce.plan.shipped RUN``).
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

from papers.reproduce.plan.estimate import EXECUTOR, Estimator

PATH = Path(__file__).with_name("cpu_times.csv")
COLUMNS = ("solver", "options", "family", "label", "permuted", "n", "where", "ms")


def learn(guess: Estimator) -> None:
    """Add the shipped times to an estimator, for cells of which nothing nearer is known."""
    with PATH.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            permuted = row["permuted"] == "True"
            names = row["solver"], row["options"], row["family"], row["label"]
            executor = row["where"] == "executor"
            guess.add(*names, int(row["n"]), float(row["ms"]), permuted, executor)


def write(folders: list[Path], path: Path = PATH) -> int:
    """Write the ``run`` medians of runs without a GPU, one a cell but for its seed.

    Returns
    -------
    int
        The number of rows.
    """
    from papers.reproduce.run.measurements import read, summarize
    from papers.reproduce.run.packed import in_folder

    found: dict[tuple[str, ...], str] = {}
    for folder in folders:
        summary = summarize(read(in_folder(folder)))
        timed = summary[(summary["metric"] == "time_ms") & (summary["scope"] == "run")]
        for row in timed[timed["n"] > 0].itertuples():
            where = "executor" if row.device == EXECUTOR else "cpu"
            key = (*(str(getattr(row, name)) for name in COLUMNS[:-2]), where)
            found.setdefault(key, f"{row.median:.3g}")
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows((*key, ms) for key, ms in sorted(found.items()))
    return len(found)


if __name__ == "__main__":
    print(write([Path(word) for word in sys.argv[1:]]))
