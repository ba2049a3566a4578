"""The figures of the report's tables that the two sets of prices let us expect.

``print_model`` is a figure by the prices of print's card, ``expected`` the one by those of the
record's. `beside` puts both beside the rows of a table; `causes` reads them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pandas as pd

from papers.common.evidence import cards
from papers.common.evidence.cards import Table
from papers.common.evidence.tables import Published
from papers.kawtikwar_opts.evidence import statements as sentences
from papers.kawtikwar_opts.evidence.card import measured, printed, work
from papers.kawtikwar_opts.evidence.card.prices import PROFILED_N, Prices
from papers.kawtikwar_opts.evidence.card.work import Record, Work
from papers.kawtikwar_opts.evidence.codes import HOST_LOOP, VERSIONS
from papers.kawtikwar_opts.evidence.tables import LAUNCH_US, geometric_mean

FIGURES = ["print_model", "expected"]


def records(summary: pd.DataFrame) -> Iterator[tuple[str, str, Record]]:
    """Yield source, device and `Record` of the sources on a card of known limits.

    Resamples are left out: they give a figure its interval, and a cause is one of the figure.
    """
    known = "|".join(measured.MULTIPROCESSORS)
    summary = cards.measured(summary)
    ours = summary[summary["solver"].astype(str) == "kawtikwar_opts:opt0"]
    ours = ours[ours["device"].astype(str).str.contains(known)]
    for source, device in ours[["source", "device"]].drop_duplicates().itertuples(index=False):
        yield source, device, Record(summary[summary["source"] == source])


def _priced(
    summary: pd.DataFrame, published: Published
) -> Iterator[tuple[str, Record, tuple[Prices, Prices]]]:
    """Yield source, record, and print's and its own prices, where they are to be trusted."""
    for source, _, record in records(summary):
        theirs = printed.of_print(record, published)
        ours = measured.of_record(record, published)
        if theirs is not None and ours is not None:
            yield source, record, (theirs, ours)


def _table(rows: list[tuple], *names: str) -> pd.DataFrame:
    found = pd.DataFrame(rows, columns=["source", *names, *FIGURES])
    return found.astype(dict.fromkeys(FIGURES, float))


def _works(record: Record) -> Iterator[tuple[str, Work]]:
    """Yield the counts of all versions as printed at the sizes of print's table of zeros."""
    for version in VERSIONS:
        for n in record.sizes:
            counted = record.work(version, n)
            if counted is not None:
                yield version, counted


def runs(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return the expected run times in ms: ``source version n`` and `FIGURES`."""
    rows = []
    for source, record, both in _priced(summary, published):
        for version, counted in _works(record):
            if all(counted.n in each.zero for each in both):
                times = (each.run_ms(counted, version) for each in both)
                rows.append((source, version, counted.n, *times))
    return _table(rows, "version", "n")


def speedups(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return Table III's speedups: ``source version n``, ``print_model_...`` and ``expected_...``.

    The dots stand for ``total`` and ``incremental``.
    """
    times = runs(summary, published).set_index(["source", "n", "version"])
    found = []
    for before, version in pairwise(VERSIONS):
        part = {}
        mine = times.xs(version, level="version") if len(times) else times.droplevel("version")
        for name, other in (("total", "baseline"), ("incremental", before)):
            of = times.xs(other, level="version") if len(times) else mine
            for figure in FIGURES:
                part[f"{figure}_{name}"] = of[figure] / mine[figure]
        found.append(pd.DataFrame(part).reset_index().assign(version=version))
    return pd.concat(found, ignore_index=True)


def kernels(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return the expected times of Figures 2 to 4 in ms: ``source version n kernel``, `FIGURES`."""
    rows = []
    for source, record, both in _priced(summary, published):
        for version in HOST_LOOP:
            counted = record.work(version, PROFILED_N)
            if counted is None:
                continue
            for kernel in (*work.PASSES[version], work.MINIMUM, "others"):
                times = (each.kernel_ms(counted, version, kernel) for each in both)
                rows.append((source, version, PROFILED_N, kernel, *times))
    return _table(rows, "version", "n", "kernel")


def shares(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return the expected shares of Figures 2 to 4 in per cent, as `kernels`."""
    found = kernels(summary, published)
    whole = found.groupby(["source", "version", "n"])[FIGURES].transform("sum")
    return found.assign(**{name: 100 * found[name] / whole[name] for name in FIGURES})


COPIES_OF_PRINT = "cudaMemcpyToSymbol"


def calls(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return the expected shares of Figure 5 in per cent: ``source n call`` and `FIGURES`.

    A launch from Python takes as long as an empty kernel by the clock of the kernels, whose second
    event waits for the host, and the rest is the rest of a small run (`measured`); in print a
    launch takes `LAUNCH_US`. The copies are those of print and of the record: nobody has their
    price, and their own row stays without.
    """
    rows = []
    figure = published("fig05").set_index("cuda_api_call")["total_time_ms"]
    for source, record, (_, ours) in _priced(summary, published):
        number = record("profile", PROFILED_N, "host_launch_calls", "answer", measured.CALLS)
        copied = record("profile", PROFILED_N, "host_copy_us", "answer", measured.CALLS)
        between = measured.twice(record)["launch"].again - ours.empty
        here = {"launch": number * ours.empty, "rest": number * between}
        there = {"launch": number * LAUNCH_US, "rest": 0.0}
        whole = sum(here.values()) + copied
        theirs = sum(there.values()) + 1e3 * float(figure[COPIES_OF_PRINT])
        rows += [
            (source, PROFILED_N, call, 100 * there[call] / theirs, 100 * here[call] / whole)
            for call in here
        ]
    return _table(rows, "n", "call")


def _over_sizes(found: pd.DataFrame) -> Iterator[tuple[str, str, float, float]]:
    """Yield the text's means and its largest total: source, id and both figures."""
    totals = [f"{name}_total" for name in FIGURES]
    for (source, version), mine in found.groupby(["source", "version"]):
        means = [geometric_mean(mine[name]) for name in totals]
        if version == "opt0":
            yield source, "KA-b", *means
        if version == "opt4":
            yield source, "KA-a", *means
            yield source, "KA-t", *mine[totals].max()


def claims(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return the figures of the text that follow: ``source id`` and `FIGURES`."""
    of_sizes = speedups(summary, published)
    found = of_sizes[of_sizes["n"] == PROFILED_N]
    times = kernels(summary, published)
    compress = times[times["kernel"] == "compress_matrix"].set_index(["source", "version"])
    parts = shares(summary, published)
    parts = parts[(parts["version"] == "baseline") & (parts["kernel"] == "compress_matrix")]
    rows = [(row.source, "KA-c", row.print_model, row.expected) for row in parts.itertuples()]
    for source in compress.index.unique("source"):
        before, after = (compress.loc[(source, v), FIGURES] for v in ("baseline", "opt0"))
        rows.append((source, "KA-d", *(100 * (1 - after / before))))
        rows.append((source, "KA-e", *(before / after)))
    of_host = calls(summary, published)
    of_host = of_host[of_host["call"] == "launch"]
    rows += [(row.source, "KA-i", row.print_model, row.expected) for row in of_host.itertuples()]
    for row in found.itertuples(index=False):
        pair = row.print_model_incremental, row.expected_incremental
        name = {"opt0": "KA-f", "opt1": "KA-h", "opt2": "KA-j", "opt3": "KA-o", "opt4": "KA-r"}
        rows.append((row.source, name[row.version], *pair))
        if row.version == "opt4":
            rows.append((row.source, "KA-q", *(100 * (gain - 1) for gain in pair)))
    rows += _over_sizes(of_sizes)
    return _table(rows, "id")


def statements(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return the figures of the sentences that follow: ``source claim`` and `FIGURES`."""
    rows = []
    for source, mine in runs(summary, published).groupby("source"):
        by_size = mine.set_index(["version", "n"])
        sizes = sorted(set(mine["n"]))
        if len(by_size) == len(VERSIONS) * len(sizes):
            theirs, ours = (sentences.figures(dict(by_size[name]), sizes) for name in FIGURES)
            rows += [(source, claim, theirs[claim], ours[claim]) for claim in ours]
    return _table(rows, "claim")


def beside(table: Table, expected: Table) -> Table:
    """Return a table with the expected figures of this module's `expected` beside its own."""
    return cards.beside(table, expected, FIGURES)
