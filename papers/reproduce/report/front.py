"""Fills the first screen of the front page: for each paper whether it holds, in which sense, where.

The README at the top has one table between ``<!-- answers -->`` and ``<!-- end -->``. ``reproduce
readme PAPER`` makes that paper's row anew from its recorded runs, by the words of the site
(`papers.reproduce.site.verdict`), and keeps the other rows. Intervals take seconds, so a row tells
by their hash which records it was made of: a test compares that every day, and the words nightly.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

import papers
from papers.common.evidence import published
from papers.common.evidence.intervals import Evidence
from papers.common.model import Comparison
from papers.reproduce import registry
from papers.reproduce.registry import UsageError
from papers.reproduce.run import folder as store
from papers.reproduce.run import measurements, packed, records
from papers.reproduce.site import verdict, words

PAGE = Path(papers.__file__).resolve().parents[1] / "README.md"
"""The front page of a checkout; an installed package has none."""

BLOCK = re.compile(r"(<!-- answers -->\n)(.*?)(<!-- end -->)", re.DOTALL)
HEAD = "| paper | does it hold? | with print, and on which machine |\n| --- | --- | --- |\n"

_DIGITS = 12


def fill(name: str) -> None:
    """Write a paper's row of the front page anew, and those that a record has made stale.

    A record is seen by every paper that measures one of its solvers. A draft has no row.

    Raises
    ------
    UsageError
        If the page has no table of answers.
    """
    if name not in papers.PAPERS or registry.card(name).status != "complete":
        return
    text = PAGE.read_text(encoding="utf-8")
    stale = [one for one, line in rows(text).items() if digest(one) not in line]
    for one in dict.fromkeys([name, *stale]):
        text = replaced(text, one, row(one))
    store.write_atomically(PAGE, text)


def replaced(text: str, name: str, new: str) -> str:
    """Return the page with another row for one paper, in the order of the reading tour.

    Raises
    ------
    UsageError
        If the page has no table of answers.
    """
    if not BLOCK.search(text):
        raise UsageError(f"{PAGE.name} has no <!-- answers --> ... <!-- end -->")
    known = {**rows(text), name: new}
    body = "".join(known[one] + "\n" for one in papers.PAPERS if one in known)
    return BLOCK.sub(lambda found: found[1] + HEAD + body + found[3], text, count=1)


def rows(text: str) -> dict[str, str]:
    """Return the lines of the table of answers by paper."""
    block = BLOCK.search(text)
    lines = block[2].splitlines() if block else []
    named = ((re.search(r"\(papers/(\w+)/README\.md\)", line), line) for line in lines)
    return {found[1]: line for found, line in named if found}


def row(name: str) -> str:
    """Return a paper's line of the table, made of its recorded runs."""
    card = registry.card(name)
    items = list(_comparisons(name))
    told = [ruling for ruling in verdict.rulings(items) if ruling.judged]
    claims = verdict.main_claims(card.claims, items)
    holds = [f"**{one.verdict}**: {one.words}" for one in claims]
    holds += [verdict.altogether(ruling) for ruling in told[:1]] or ["Nothing of it is recorded."]
    machines = _machines(name)
    numbers = [f"{one.numbers}: {machines.get(one.origin, one.origin)}" for one in told]
    link = f"[{words.paper(card)}](papers/{name}/README.md)"
    parts = (f"{link} <!-- records {digest(name)} -->", "<br>".join(holds), "<br>".join(numbers))
    return "| " + " | ".join(part.replace("|", "\\|") for part in parts) + " |"


def answer(name: str) -> str:
    """Return a paper's answer for the head of its own pages, from its row of the front page.

    Returns
    -------
    str
        Markdown: the verdict on all comparisons and their numbers, then a line a main claim; ""
        where the front page has no row of the paper.
    """
    line = rows(PAGE.read_text(encoding="utf-8")).get(name)
    if line is None:
        return ""
    _, holds, numbers = (part.split("<br>") for part in re.split(r"(?<!\\) \| ", line.strip("| ")))
    by_machine = [number.partition(": ") for number in numbers]
    told = "; ".join(
        f"{machine}: {counts.replace(' agree', ' comparisons with print agree', 1)}"
        for counts, _, machine in by_machine
    )
    claims = "".join(f"- {claim}\n" for claim in holds[:-1])
    return f"**Does it hold?** {holds[-1]} {told}.\n\n{claims}"


def digest(name: str) -> str:
    """Return the hash of what a row is made of: the records that the paper sees, and its print."""
    found = hashlib.sha256()
    for owner in records.owners(name):
        for folder in packed.held(registry.folder(owner) / "results"):
            found.update(packed.content(packed.in_folder(folder)))
    for path in sorted((registry.folder(name) / "published").glob("*.csv")):
        found.update(path.read_bytes())
    return found.hexdigest()[:_DIGITS]


def _comparisons(name: str) -> Iterator[tuple[str, Comparison]]:
    """Yield the comparisons of a paper's experiments on its recorded runs, with intervals."""
    summary = records.seen_by(name, records.summaries(records.owners(name)))
    evidence = Evidence(measurements.usable(summary))
    for experiment in registry.experiments(name).values():
        if experiment.unavailable or experiment.compare is None:
            continue
        numbers = published.loader(registry.MODULES[name])
        table = experiment.table(evidence.summary, numbers)
        for item in evidence.compare(experiment, table, numbers):
            yield experiment.name, item


def _machines(name: str) -> dict[str, str]:
    """Return the machine of each record that the paper sees, by its origin."""
    return {
        origin: words.machine(origin, environment)
        for owner in records.owners(name)
        for origin, environment in measurements.environments(registry.folder(owner) / "results")
    }
