"""Writes the site of a run into its folder `site`: pages that stand alone, without a network.

The pages are Jinja2 templates; style and scripts are files beside them (`files`): nothing is loaded
from anywhere else.
"""

from __future__ import annotations

import functools
import json
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
from markupsafe import Markup

from papers.common.evidence.comparisons import THIS_RUN
from papers.common.gpu.device import EXECUTOR_NAME
from papers.common.model import Comparison, Paper
from papers.reproduce import registry
from papers.reproduce.report.numbers import numeric_columns, show_number
from papers.reproduce.report.tally import SORTS, sort_of
from papers.reproduce.run.folder import write_atomically
from papers.reproduce.site import charts, files, rows, sources, stepping, verdict, words
from papers.reproduce.site.links import Linker
from papers.reproduce.site.rows import Row, Strip

if TYPE_CHECKING:
    from papers.reproduce.report.section import Section

FOLDER = "site"
"""The folder's name in a run's."""

HERE = Path(__file__).parent
Context = Mapping[str, Any]


@dataclass(frozen=True)
class PaperPage:
    """Everything that the page of one paper is made of.

    Attributes
    ----------
    card : Paper
    sections : list of Section
        Its experiments, in the paper's order.
    inconsistencies : list of list of str
        Places where the paper disagrees with itself, header first; may be empty.
    machines : mapping of str to str
        A machine's name by origin.
    linker : Linker
        Makes links of the names in its notes.
    """

    card: Paper
    sections: list[Section]
    inconsistencies: list[list[str]]
    machines: Mapping[str, str]
    linker: Linker

    @property
    def name(self) -> str:
        """The paper as strangers cite it."""
        return words.paper(self.card)

    @property
    def page(self) -> str:
        """The file's name."""
        return f"{self.card.name}.html"

    @cached_property
    def rulings(self) -> list[verdict.Ruling]:
        """The verdicts on it: by the machine that judges most, and by this run."""
        found = verdict.rulings(self._items())
        return found[:1] + [one for one in found[1:] if one.origin == THIS_RUN or one.judged]

    @cached_property
    def claims(self) -> list[verdict.Claimed]:
        """Its main claims with their verdicts."""
        return verdict.main_claims(self.card.claims, self._items())

    def _items(self) -> Iterator[tuple[str, Comparison]]:
        for section in self.sections:
            yield from ((section.experiment.name, item) for item in section.comparisons)

    @property
    def judged_here(self) -> int:
        """The number of printed figures and statements that this run judges."""
        return sum(ruling.judged for ruling in self.rulings if ruling.origin == THIS_RUN)

    @property
    def goals(self) -> list[tuple[str, int, int]]:
        """Each machine that judges goals of ours, how many of them hold there, and how many are."""
        judged = Counter[str]()
        held = Counter[str]()
        for _, item in self._items():
            if item.kind == "goal" and item.verdict in ("holds", "fails"):
                judged[item.origin] += 1
                held[item.origin] += item.verdict == "holds"
        return [(origin, held[origin], judged[origin]) for origin in self.origins if judged[origin]]

    @property
    def origins(self) -> list[str]:
        """The machines that have measured it, this run first."""
        told = [o for section in self.sections for o in [*section.charts, *section.origins]]
        told += [item.origin for section in self.sections for item in section.comparisons]
        named = dict.fromkeys([THIS_RUN, *sorted(told)])
        return [origin for origin in named if origin in self.machines]

    @property
    def strips(self) -> list[Strip]:
        """Its rows of the heat map."""
        found: dict[tuple[str, str], Strip] = {}
        for section in self.sections:
            for row in filter(rows.is_in_heat_map, section.judged):
                key = (section.experiment.name, row.item.origin)
                name = f"{self.name}, {words.experiment(section.experiment)}"
                strip = Strip(self.page, key[0], name, key[1])
                found.setdefault(key, strip).rows.append(row)
        for strip in found.values():
            strip.rows.sort(key=lambda row: -row.distance)
        return list(found.values())


def write(folder: Path, context: Context) -> Path:
    """Write the site of a run anew.

    Parameters
    ----------
    folder : Path
        The run folder; its `figures`, `tables` and `artifacts` are copied.
    context : mapping
        The variables of the report, see `papers.reproduce.report.report`.

    Returns
    -------
    Path
        The first page.
    """
    target = folder / FOLDER
    shutil.rmtree(target, ignore_errors=True)
    files.copy(folder, target)
    made = _pages(context)
    templates = _templates()
    code = {sources.page_of(path): path for page in made for path in _code_of(page)}
    for page in made:
        stepping.copy(folder, target, page.card.name)
        for path in stepping.code(folder, page.card.name):
            code[sources.page_of(path)] = path
    _copy_pictures(made, target)
    plan = list(_plan(made, code))
    executor = any(state["device"] == EXECUTOR_NAME for state in context["states"])
    shared = {**context, "papers": made, "machines": _machines(context), "executor": executor,
              "page_names": {name.removesuffix(".html") for name, _, _ in plan},
              "stepping": {p.card.name for p in made
                           if (target / stepping.page_of(p.card.name)).is_file()}}  # fmt: skip
    for name, template, own in plan:
        root = "../" * name.count("/")
        text = templates.get_template(template).render({**shared, "root": root, **own})
        (target / name).parent.mkdir(exist_ok=True)
        write_atomically(target / name, text)
    return target / "index.html"


def _copy_pictures(made: Sequence[PaperPage], target: Path) -> None:
    """Copy the pictures of the papers' pages."""
    for page in made:
        readme = registry.folder(page.card.name) / "README.md"
        for _, path, place in sources.pictures(readme) if readme.is_file() else ():
            (target / place).parent.mkdir(exist_ok=True)
            shutil.copyfile(path, target / place)


def _plan(
    made: Sequence[PaperPage], code: Mapping[str, Path]
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield every page's name, template and variables."""
    strips = sorted((s for page in made for s in page.strips), key=lambda s: s.weight)[::-1]
    yield "index.html", "index.html.j2", {"strips": strips}
    yield "differences.html", "differences.html.j2", {}
    yield "own.html", "own.html.j2", {}
    yield "cells.html", "cells.html.j2", {}
    for page in made:
        yield page.page, "paper.html.j2", {"paper": page}
        readme = registry.folder(page.card.name) / "README.md"
        if readme.is_file():
            body = Markup(sources.rendered(readme, page.page, code))
            yield f"{page.card.name}-page.html", "page.html.j2", {"paper": page, "body": body}
    for name, path in code.items():
        shown = path.resolve().relative_to(sources.ROOT)
        lines = path.read_text(encoding="utf-8").splitlines()
        yield name, "code.html.j2", {"path": shown.as_posix(), "lines": lines}


# ------------------------------------------------------------------------------ what pages show


def _machines(context: Context) -> dict[str, str]:
    """Return the name of every machine by origin, this run's first."""
    environments = {THIS_RUN: context["environment"]}
    for found in context["records"].values():
        for origin, record in found:
            environments.setdefault(origin, record)
    told = (item.origin for section in context["sections"] for item in section.comparisons)
    for origin in sorted(told):
        environments.setdefault(origin, {})
    return {origin: words.machine_of(origin, found) for origin, found in environments.items()}


def _pages(context: Context) -> list[PaperPage]:
    printed = dict(context["inconsistencies"])
    known = {(s.paper.name, s.experiment.name) for s in context["sections"]}
    machines = _machines(context)
    found = []
    for card in context["cards"]:
        table = printed.get(card.name, [])
        ids = {row[0] for row in table[1:]}
        own = sources.deviations(registry.folder(card.name) / "README.md")
        mine = [s for s in context["sections"] if s.paper.name == card.name]
        found.append(PaperPage(card, mine, table, machines, Linker(card.name, known, ids, own)))
    return found


def _code_of(page: PaperPage) -> Iterator[Path]:
    """Yield the source files that a paper's page links to."""
    for section in page.sections:
        yield from (path for _, path, _ in sources.places(section.experiment))
    yield from sources.of_paper(registry.folder(page.card.name))


def _away(page: PaperPage) -> list[tuple[Section, Row]]:
    """Return a paper's comparisons with print that do not agree, the worst first."""
    found = _own_rows(page, "")
    return [pair for pair in found if pair[1].item.verdict in ("open", "differs")]


def _own_rows(page: PaperPage, sort: str) -> list[tuple[Section, Row]]:
    """Return a paper's comparisons of one sort with their sections, the worst first."""
    found = [
        (section, row)
        for section in page.sections
        for row in section.judged
        if sort_of(row.item) == sort
    ]
    order = {row.anchor: place for place, row in enumerate(rows.worst_first(r for _, r in found))}
    return sorted(found, key=lambda pair: order[pair[1].anchor])


@functools.cache
def _templates() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE / "templates"), autoescape=True,
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters.update(
        number=show_number, numeric=numeric_columns, json=_json, alternative=_alternative,
        compared=_compared, tally=_tally, marks=charts.marks, altogether=verdict.altogether,
        machines_in_turn=_machines_in_turn, plain=lambda text: text.replace("`", ""),
    )  # fmt: skip
    environment.globals.update(
        sorts=SORTS, kinds=words.KINDS, this_run=THIS_RUN, experiment_name=words.experiment,
        in_print=words.in_print, own_rows=_own_rows, away=_away, places=_places,
        step_page=stepping.page_of, step_command=stepping.command,
        code_of=lambda page: [
            (path.relative_to(registry.folder(page.card.name)).as_posix(), sources.page_of(path))
            for path in sources.of_paper(registry.folder(page.card.name))
        ],
    )  # fmt: skip
    return environment


def _machines_in_turn(found: Mapping[str, Any], executor: bool) -> list[tuple[str, Any]]:
    """Return what each machine drew, this run's first; behind the records if an executor made it.

    Times of an executor say nothing about a GPU.
    """
    return sorted(found.items(), key=lambda pair: executor and pair[0] == THIS_RUN)


def _tally(section: Section) -> str:
    """Return e.g. ``": 12 agree, 3 open"`` by the machine that judges most of an experiment."""
    by_machine: dict[str, Counter[str]] = {}
    for row in section.judged:
        if sort_of(row.item) == "" and row.item.verdict in verdict.JUDGED:
            by_machine.setdefault(row.item.origin, Counter())[row.item.verdict] += 1
    found = max(by_machine.values(), key=Counter.total, default=Counter())
    told = (("agrees", "agree"), ("differs", "differ"), ("open", "open"))
    listed = ", ".join(f"{found[name]} {word}" for name, word in told if found[name])
    return f": {listed}" if listed else ""


def _compared(section: Section, sort: str) -> list[tuple[Section, Row]]:
    """Return one experiment's comparisons of a sort: the machines of a quantity together.

    Quantities stand by the worst of their verdicts.
    """
    found = [row for row in section.judged if sort_of(row.item) == sort]
    worst: dict[str, int] = {}
    for place, row in enumerate(rows.worst_first(found)):
        worst.setdefault(row.item.quantity, place)
    found.sort(key=lambda row: worst[row.item.quantity])
    return [(section, row) for row in found]


def _places(section: Section) -> list[tuple[str, str]]:
    """Return what an experiment's code makes, and where it stands in the site."""
    return [
        (role, f"{sources.page_of(path)}#L{line}")
        for role, path, line in sources.places(section.experiment)
    ]


def _json(value: Any) -> Markup:
    """Return JSON that may stand in a script element."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c").replace("&", "\\u0026"))


def _alternative(panel: Mapping[str, Any]) -> str:
    """Return a chart in words: its axes, their ends and its series."""
    named = ", ".join(dict.fromkeys(trace["name"] for trace in panel["data"] if trace["name"]))
    axes = []
    for which in ("x", "y"):
        values = [v for trace in panel["data"] for v in trace.get(which, ()) if v is not None]
        label = panel["layout"].get(f"{which}axis", {}).get("title", {}).get("text", "")
        if values:
            axes.append(f"{label or which} from {min(values):.4g} to {max(values):.4g}")
    title = panel["title"] or "Chart"
    return f"{title}: {'; '.join([*axes, named])}. The table below holds the numbers."
