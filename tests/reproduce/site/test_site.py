"""The pages of a site: whole, escaped, linked, and a verdict that follows from the numbers."""

import gzip
import json
import re
from base64 import b64decode
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser

import pytest

from papers.common.evidence import comparisons as compare
from papers.common.evidence.comparisons import THIS_RUN
from papers.common.model import Comparison, Experiment, MainClaim
from papers.reproduce.report import report
from papers.reproduce.site import files, rows, site, sources, stepping, verdict, words
from papers.reproduce.site.links import Linker


def comparison(quantity, kind, word, origin="recorded a", published=1.0, measured=1.0):
    return Comparison(quantity, kind, published, measured, word, origin=origin)


class Page(HTMLParser):
    """The ids, links and sources of a page."""

    def __init__(self, path):
        super().__init__()
        self.ids, self.links, self.sources, self.texts = [], [], [], []
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.ids += [found["id"]] if "id" in found else []
        self.links += [found["href"]] if tag in ("a", "link") else []
        self.texts += [found.get("href", "")] if tag == "a" else []
        self.sources += [found["src"]] if "src" in found else []


def faults(folder):
    """Links that lead nowhere, ids that stand twice, and what a network would be needed for."""
    known = {path: Page(path) for path in folder.rglob("*.html")}
    found = []
    for path, page in known.items():
        found += [f"{path.name}: two of {one}" for one in set(page.ids) if page.ids.count(one) > 1]
        for link in [*page.links, *page.sources]:
            if link == "data:,":
                continue
            name, _, anchor = link.partition("#")
            target = (path.parent / name).resolve() if name else path.resolve()
            if link.startswith("https:") and link in page.texts:
                continue  # A reader may follow it; nothing is loaded.
            if not target.is_file():
                found.append(f"{path.name}: {link}")
            elif anchor and anchor not in known[target].ids:
                found.append(f"{path.name}: no {link}")
    return found


def test_every_link_leads_to_a_place_in_the_site(pages):
    assert len(list(pages.rglob("*.html"))) == 6
    assert faults(pages) == []


@pytest.mark.parametrize(
    "planted",
    ['<a href="gone.html">x</a>', '<a href="toy.html#gone">x</a>', '<p id="main"></p>',
     '<script src="https://example.org/x.js"></script>', '<img src="figures/gone.png">'],
)  # fmt: skip
def test_a_planted_fault_of_a_page_is_found(pages, tmp_path, planted):
    for path in pages.glob("*.*"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    for name in ("figures", "tables"):
        (tmp_path / name).symlink_to(pages / name)
    (tmp_path / "own.html").write_text((pages / "own.html").read_text() + planted)
    assert len(faults(tmp_path)) == 1


def test_checks_of_two_papers_have_two_ids():
    """Planted by the first site: rows of one experiment's name in two papers, on one page."""
    item = comparison("a", "correctness", "holds")
    found = [rows.rows(f"{paper}_counts", [item], {}, no_print())[0] for paper in ("one", "two")]
    assert found[0].anchor != found[1].anchor


def test_a_report_of_a_run_links_well_too(finished_run):
    assert faults(finished_run[0] / "site") == []


def test_text_of_others_is_escaped_and_names_in_notes_are_links(pages):
    text = (pages / "toy.html").read_text()
    assert "Speedup of &lt;two&gt; codes" in text
    assert "&lt;b&gt;2.1&lt;/b&gt;" in text
    assert "<i>no tag" not in text
    for link in ("toy.html#T1", "toy-page.html#D1", "toy.html#table2"):
        assert f'href="{link}"' in text, link
    assert 'id="T1"' in text
    assert 'id="D1"' in (pages / "toy-page.html").read_text()


def test_a_name_that_leads_nowhere_is_no_link():
    linker = Linker("toy", {("toy", "fig1")}, {"T1"}, {"D1"})
    for words_ in ("T2", "D2", "other:fig1", "toy:fig2", "n=512", "H100"):
        assert linker(f"see {words_}") == f"see {words_}"
    assert linker("toy:fig1 & T1").count("<a ") == 2


def test_the_tuned_figure_stands_beside_that_of_the_papers_configuration(pages):
    text = unescape((pages / "toy.html").read_text())
    assert '<th scope="col">paper\'s configuration</th><th scope="col">tuned</th>' in text
    assert "<td>4</td><td>50</td><td>100</td><td>12.5<svg" in text


def test_charts_hold_the_numbers_of_each_machine(pages):
    text = (pages / "toy.html").read_text()
    parts = re.findall(r'<script type="application/json">(.*?)</script>', text)
    drawn = [json.loads(part) for part in parts]
    ours = [trace["y"] for panel in drawn for trace in panel["data"] if trace["meta"] == "measured"]
    assert "Kernels ran in the CPU executor" in text  # so this run's stand behind the record's
    assert ours[0] == [1.0, 2.2, 50.0, 0.5]
    assert ours[1][:4] == [1.1, 2.0, 40.0, 8.1]


def test_a_papers_page_has_its_pictures():
    """Planted: the link led out of the site, to where no picture was."""
    readme = sources.PACKAGE / "lopes2019/README.md"
    ((name, path, place),) = sources.pictures(readme)
    assert path.is_file()
    body = sources.rendered(readme, "lopes2019.html", ())
    assert f'<img src="{place}"' in body
    assert name not in body


def test_a_gpus_own_run_stands_before_the_records():
    charts = {"this run": "here", "recorded a": "there", "recorded b": "elsewhere"}
    assert list(dict(site._machines_in_turn(charts, False))) == list(charts)
    assert list(dict(site._machines_in_turn(charts, True)))[-1] == "this run"


def test_the_script_of_the_charts_is_its_packages_own():
    packed = re.search(r'atob\("([^"]*)"\)', files.plotly())[1]
    script = gzip.decompress(b64decode(packed))
    assert script.startswith(b"/**")
    assert b"plotly.js v" in script[:100]


def test_the_site_is_small(finished_run):
    """The script is a fifth of the ten megabytes that a whole site may have."""
    sizes = sum(p.stat().st_size for p in (finished_run[0] / "site").rglob("*") if p.is_file())
    assert sizes < 2.5e6


def test_a_row_leads_to_its_numbers_and_its_code(pages):
    row = re.search(r'<tr id="toy_fig07-1".*?</tr>', (pages / "toy.html").read_text(), re.S)[0]
    assert '<a href="tables/toy_fig07.csv">CSV</a>' in row
    assert row.count("<svg") == 1
    item = comparison("q", "ratio", "agrees", published=2.0, measured=4.0)
    assert rows.forest(item) is None, "without a tolerance there is nothing to draw"


def test_a_forest_plot_has_print_in_its_middle_and_what_is_far_off_at_its_ends():
    item = compare.ratio("q", 2.0, 4.0, factor=2)
    found = rows.forest(replace(item, low=2.0, high=1e9))
    assert (found.least, found.low, found.most, found.point, found.high) == (
        25.0, 50.0, 75.0, 75.0, 100.0,
    )  # fmt: skip
    assert found.words.startswith("ours over print 2, interval 1 to ")
    assert rows.forest(compare.ratio("q", 2.0, 1e-9, factor=2)).point == 0
    assert rows.forest(compare.claim("q", "it grows", "it grows", True)) is None


def test_a_page_to_step_through_is_taken_into_the_site_with_links_to_its_code(tmp_path):
    target = tmp_path / "site"
    target.mkdir()
    stepping.copy(tmp_path, target, "lopes2019")
    assert list(target.iterdir()) == []
    assert list(stepping.code(tmp_path, "lopes2019")) == []
    told = ('{"file":"papers/lopes2019/solver.py","link":"../up/papers/lopes2019/solver.py"},'
            '{"file":"papers/gone.py","link":"../gone.py"}')  # fmt: skip
    assert stepping.command("lopes2019").endswith(f"RUN/{stepping.page_of('lopes2019')}")
    page = f'<script type="application/json" id="data">{told}</script>'
    (tmp_path / stepping.page_of("lopes2019")).write_text(page)
    stepping.copy(tmp_path, target, "lopes2019")
    packed = re.search(r'id="data">(.*?)<', (target / stepping.page_of("lopes2019")).read_text())
    text = gzip.decompress(b64decode(packed[1])).decode()
    assert '"link":"code/papers.lopes2019.solver.html"' in text
    assert '"file":"papers/gone.py","link":""' in text
    (path,) = stepping.code(tmp_path, "lopes2019")
    assert path.name == "solver.py"


def test_the_page_of_a_paper_names_the_command_that_makes_its_page_to_step_through(pages):
    assert "reproduce trace toy --output RUN/toy-trace.html" in (pages / "toy.html").read_text()


# ------------------------------------------------------------------------------ the verdict


def of(verdicts, kind="ratio", origin="recorded a"):
    return [
        (f"e{kind}", comparison(f"q{place}", kind, word, origin))
        for place, word in enumerate(verdicts)
    ]


def test_a_verdict_says_in_which_sense_a_paper_holds():
    items = [
        *of(["agrees"] * 4, "count"), *of(["agrees", "open", "open", "open"]),
        *of(["agrees", "agrees", "differs", "open"], "shape"),
        *of(["holds", "fails"], "model"), *of(["open", "open"], "claim"),
        *of(["not comparable"] * 9, "time"),
    ]  # fmt: skip
    first, here = verdict.rulings(items)
    assert (
        first.head
        == "Counts hold; curve shapes hold in part; speed ratios are mostly not confirmed"
    )
    assert first.numbers == "7 of 14 agree, 1 differs, 6 open"
    assert [(part.look, part.number) for part in first.parts] == [
        ("count", 4), ("ratio", 1), ("shape", 2), ("claim", 0), ("differs", 1), ("open", 6),
    ]  # fmt: skip
    assert (here.origin, here.head) == (THIS_RUN, "Nothing printed can be judged by it")
    assert [(part.look, part.number) for part in here.parts] == [("not-run", 14)]


def test_the_machine_that_judges_most_speaks_first():
    items = of(["open"], origin=THIS_RUN) + of(["agrees"] * 3, origin="recorded b")
    assert [one.origin for one in verdict.rulings(items)] == ["recorded b", THIS_RUN]
    assert verdict.rulings(items)[1].parts[-1].short == "2 not run"


def test_main_claims_are_judged_by_the_first_machine_that_can_and_by_the_worst_of_their_rows():
    claims = [MainClaim(f"claim {one}", "eratio", f"q{one}") for one in (0, 1, 2, 9)]
    items = [
        *of(["agrees", "not measured", "agrees"], origin="recorded b"),
        *of(["open", "agrees"], origin="recorded c"),
        *of(["agrees"], "claim", "recorded b"),
    ]
    items.append(("eratio", comparison("q2 too", "ratio", "differs", "recorded b")))
    told = verdict.main_claims(claims, items)
    assert [(one.verdict, one.origin) for one in told] == [
        ("agrees", "recorded b"), ("agrees", "recorded c"), ("differs", "recorded b"),
        ("not measured", ""),
    ]  # fmt: skip
    assert told[0].words == "claim 0 (print 1, ours 1)"
    assert told[2].words == "claim 2"


@pytest.mark.parametrize(
    ("agree", "of_all", "said"),
    [(20, 20, "hold"), (19, 20, "hold"), (18, 20, "mostly hold"), (8, 20, "hold in part"),
     (7, 20, "are mostly not confirmed"), (1, 20, "are not confirmed")],
)  # fmt: skip
def test_a_share_has_one_word(agree, of_all, said):
    ruling = verdict.rulings(of(["agrees"] * agree + ["open"] * (of_all - agree)))[0]
    assert ruling.head == f"Speed ratios {said}"


def test_rows_stand_worst_first():
    items = [
        comparison("a", "ratio", "agrees", published=1.0, measured=8.0),
        comparison("b", "ratio", "open", published=1.0, measured=2.0),
        comparison("c", "ratio", "open", published=4.0, measured=1.0),
        comparison("d", "claim", "differs", published="x", measured="y"),
        comparison("e", "model", "fails", published=1.0, measured=1.0),
    ]
    found = rows.rows("fig1", items, {1: 3.0}, printed=no_print())
    assert [row.item.quantity for row in rows.worst_first(found)] == list("ecbda")
    assert [row.shade for row in found] == ["above-3", "above-1", "below-2", "fails", "near"]
    assert [(row.anchor, row.tuned, row.ratio) for row in found[:2]] == [
        ("fig1-1", "", "8"), ("fig1-2", "3", "2"),
    ]  # fmt: skip


def no_print():
    from papers.common.evidence.published import Published

    return Published("toybox.toy")


# ------------------------------------------------------------------------------ words


@pytest.mark.parametrize(
    ("name", "said", "printed"),
    [("fig07", "Figure 7", True), ("table_a5", "Table A.5", True), ("table12", "Table 12", True),
     ("appendix_b", "Appendix B", True), ("waterfall", "Waterfall", False),
     ("flow_versions", "Flow versions", False)],
)  # fmt: skip
def test_experiments_have_the_names_of_print(name, said, printed):
    entry = Experiment(name, "", "table", lambda plan: [], lambda m, p: None)
    assert (words.experiment(entry), words.in_print(entry)) == (said, printed)


def test_machines_have_names():
    gpu = {"device": "A Card", "gpus": [{}], "gpus_used": 2}
    assert words.machine_of("recorded a-card-x2", gpu) == "2 x A Card (recorded run)"
    cpu = {"device": "CPU executor", "cpu": "Intel(R) Xeon(R)"}
    assert words.machine_of(THIS_RUN, cpu) == "CPU executor on Intel Xeon (this run)"
    assert words.machine_of("recorded some-gpu", {}) == "some-gpu (recorded run)"


def test_code_is_found_through_methods_and_copied_by_line():
    from papers.lopes2019.evidence.experiments import EXPERIMENTS

    table2 = next(one for one in EXPERIMENTS if one.name == "table2")
    found = {role: (path.name, line) for role, path, line in sources.places(table2)}
    assert found["the plan"][0] == "declared.py"
    for role, path, line in sources.places(table2):
        text = path.read_text().splitlines()[line - 1]
        assert re.match(r"\s*(def |@|.*lambda)", text), (role, text)


def test_a_page_of_a_paper_keeps_its_links_within_the_site(tmp_path):
    page = tmp_path / "README.md"
    page.write_text("# A *b* `c`\n\n<b>no</b> <!-- value: x -->3<!-- /value --> [r](RESULTS.md#t) "
                    "[s](../gone.py) [o](https://example.org/)\n")  # fmt: skip
    text = sources.rendered(page, "toy.html", ())
    assert '<h1 id="a-b-c">' in text
    assert "&lt;b&gt;no" in text
    assert "value:" not in text
    assert '<a href="toy.html">r</a> s <a href="https://example.org/">o</a>' in text


# ------------------------------------------------------------------------------ the command


def test_the_command_is_quoted_short_and_of_the_same_device(toy):
    def meta(experiments, only, is_gpu=False):
        options = {"preset": "quick", "only": only, "seeds": [7], "repeats": 2, "timeout_s": 9.5}
        device = {"name": "x", "is_gpu": is_gpu}
        return {"experiments": experiments, "options": options, "device": device}

    every = [f"toy:{name}" for name in report.registry.experiments("toy")]
    asked = report.command(meta(every, ["range=coffee into astronaut"]))
    assert asked == (
        "reproduce run --preset quick --device cpu --only 'range=coffee into astronaut' "
        "--seed 7 --repeats 2 --timeout 9.5"
    )
    assert report.command(meta(every[:2], [], True)).startswith(
        "reproduce run toy:table1 toy:fig1 --preset quick --seed"
    )
    assert " toy:fig1 " in report.command(meta(every, []), ["toy:fig1"])
