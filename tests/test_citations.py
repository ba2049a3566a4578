"""READMEs and code keep together: citations, headings, recorded results."""

import functools
import importlib
import re
from pathlib import Path

import facts
import pytest

import papers
from papers.reproduce import registry
from papers.reproduce.report import readme

ROOT = Path(papers.__file__).parent
HEADINGS = (
    "The problem and the idea",
    "What this page is not about",
    "A worked 4x4 example",
    "The algorithm in our own words",
    "Correspondence table",
    "Deviations",
    "Gaps",
    "What the GPU does",
    "Reproduce",
    "What we found",
    "Exercises",
)
COMPLETE = [name for name in papers.PAPERS if registry.card(name).status == "complete"]
"""Papers with recorded runs; a draft has none yet."""


def tags_in(text, tag):
    return set(re.findall(rf"\[{tag} ([^\]]+)\]", text))


def code_of(name):
    return "\n".join(p.read_text(encoding="utf-8") for p in sorted((ROOT / name).rglob("*.py")))


def table_of(name):
    text = (ROOT / name / "README.md").read_text(encoding="utf-8")
    return text.split("## Correspondence table")[1].split("\n## ")[0]


@pytest.mark.parametrize("name", papers.PAPERS)
def test_correspondence_table_lists_the_tags_of_the_code(name):
    tag = registry.card(name).tag
    assert tags_in(table_of(name), tag) == tags_in(code_of(name), tag)


@pytest.mark.parametrize("name", papers.PAPERS)
def test_every_numbered_item_is_cited(name):
    cited = tags_in(code_of(name), registry.card(name).tag)
    assert [item for item in facts.numbered(name) if item not in cited] == []


@pytest.mark.parametrize("name", papers.PAPERS)
def test_correspondence_table_names_things_that_exist(name):
    """Each `module.function` of the table is there; a bare function belongs to the row's module."""
    for line in table_of(name).splitlines():
        if not line.startswith("| ["):
            continue
        module = None
        for word in re.findall(r"`([^`]+)`", line.split("|")[2]):
            if word.startswith("tests/"):
                assert (ROOT.parent / word).is_file(), word
                continue
            if word in papers.PAPERS:
                continue
            if word.endswith(".py"):
                pattern = word
                assert list((ROOT / name).glob(pattern)), word
                module = word.removesuffix(".py")
                continue
            head, _, rest = word.rpartition(".")
            module = head or module
            path = (ROOT / name).joinpath(*module.split("."))
            source = path.with_suffix(".py").read_text(encoding="utf-8")
            assert re.search(rf"^(def {rest}\b|{rest} = )", source, re.MULTILINE), word


@pytest.mark.parametrize("name", papers.PAPERS)
def test_readme_has_the_same_headings_as_all(name):
    text = (ROOT / name / "README.md").read_text(encoding="utf-8")
    assert tuple(re.findall(r"^## (.+)$", text, re.MULTILINE)) == HEADINGS


def anchors_of(page):
    """The anchors that a Markdown page's headings have on a web page."""
    headings = re.findall(r"^#+ (.+)$", page, re.MULTILINE)
    words = [re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings]
    return {text.replace(" ", "-") for text in words}


@pytest.mark.parametrize("name", papers.PAPERS)
def test_readme_links_into_results_that_are_there(name):
    text = (ROOT / name / "README.md").read_text(encoding="utf-8")
    links = set(re.findall(r"\]\(RESULTS\.md#([^)]+)\)", text))
    page = ROOT / name / "RESULTS.md"
    assert links <= anchors_of(page.read_text(encoding="utf-8") if page.is_file() else "")
    assert links or name not in COMPLETE, "the verdict links to its tables"
    assert not re.search("<!-- (results|measured):", text), "generated tables stand in RESULTS.md"


def broken_links(page):
    """The links of a Markdown page that lead to no file of the project, or to no heading there."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.DOTALL)
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        if re.match(r"https?:|mailto:", link):
            continue
        there = target.exists() and (
            not anchor or anchor in anchors_of(target.read_text(encoding="utf-8"))
        )
        broken += [] if there else [link]
    return broken


@pytest.mark.parametrize(
    "page",
    [*sorted(ROOT.parent.glob("*.md")), *sorted(ROOT.rglob("*.md"))],
    ids=lambda page: page.relative_to(ROOT.parent).as_posix(),
)
def test_every_link_of_a_page_leads_somewhere(page):
    assert broken_links(page) == []


def test_a_link_that_leads_nowhere_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# A head\n[a](#a-head) [b](#b) [c](page.md#a-head) [d](gone.md) [e](https://x)"
    )
    assert broken_links(page) == ["#b", "gone.md"]


def stale(name):
    """The lines of a paper's pages that are not what its records and files give."""
    found = []
    for page, made in readme.pages(name).items():
        text = page.read_text(encoding="utf-8")
        if made != text:
            lines = made.splitlines()
            found += [line for line in text.splitlines() if line not in lines] or [page.name]
    return found


@pytest.mark.parametrize("name", [*COMPLETE, *papers.ROOMS])
def test_results_come_from_the_recorded_runs(name):
    assert stale(name) == [], f"run python -m papers.reproduce.report.readme {name}"
    text = (ROOT / name / "RESULTS.md").read_text(encoding="utf-8")
    assert len(readme.BLOCK.findall(text)) > 3


def test_a_wrong_cell_in_a_table_of_either_kind_is_found(tmp_path, monkeypatch):
    page = (ROOT / "synthesis" / "RESULTS.md").read_text(encoding="utf-8")
    blocks = list(readme.BLOCK.finditer(page))
    wrong = []
    for block in reversed(blocks):  # from the end, so that the places before stay
        *head, last, end = block[0].splitlines()
        wrong.append(re.sub(r"[^|]+\|$", " wrong |", last))
        page = page[: block.start()] + "\n".join([*head, wrong[-1], end]) + page[block.end() :]
    assert {block["kind"] for block in blocks} == {"results", "measured"}
    (tmp_path / "RESULTS.md").write_text(page, encoding="utf-8")
    for name in ("results", "evidence"):
        (tmp_path / name).symlink_to(ROOT / "synthesis" / name)
    real = registry.folder
    monkeypatch.setattr(
        registry, "folder", lambda name: tmp_path if name == "synthesis" else real(name)
    )
    assert stale("synthesis") == wrong[::-1]


@pytest.mark.parametrize("name", papers.PAPERS)
def test_every_table_and_figure_has_an_entry(name):
    """Tables and figures with published numbers are experiments."""
    published = {p.stem for p in (ROOT / name / "published").glob("*.csv")}
    wanted = {stem for stem in published if re.fullmatch(r"(table|fig)\d+", stem)}
    assert wanted <= set(registry.experiments(name))


NAME = re.compile(r"`(papers(?:\.\w+)+)`")
"""A name of this package in a docstring or on a page."""


@functools.cache
def leads_somewhere(name):
    """Whether a name is a module of the package, or something in one; fields count, too."""
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:count]))
        except ModuleNotFoundError:
            continue
        for part in parts[count:]:
            if not hasattr(found, part):
                return part == parts[-1] and part in getattr(found, "__annotations__", {})
            found = getattr(found, part)
        return True
    return False


def test_names_of_the_package_lead_somewhere():
    """Planted: two docstrings named what had moved away long before."""
    pages = [*ROOT.parent.glob("*.md"), *ROOT.glob("**/*.md"), *ROOT.glob("**/*.py")]
    named = {
        (path.relative_to(ROOT.parent).as_posix(), name)
        for path in pages
        if path.name != "CHANGELOG.md"
        for name in NAME.findall(path.read_text(encoding="utf-8"))
    }
    assert len(named) > 200
    assert [pair for pair in sorted(named) if not leads_somewhere(pair[1])] == []
    assert not leads_somewhere("papers.reproduce.terminal.Live")
    assert not leads_somewhere("papers.common.problems.PROBLEMS")
    assert leads_somewhere("papers.synthesis.assignment.settings.Settings.left_free")
