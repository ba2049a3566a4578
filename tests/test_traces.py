"""Every paper can be stepped through: its stories are real runs, told whole, on one page.

The interleavings that a story is told by are looked up under the seeds that stand beside them, so
that the page is made quickly; a changed kernel needs new ones, and the test says so.
"""

import dataclasses
import html.parser
import importlib
import json
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
from nightly import first

import papers as package
from papers.common.evidence.trace import runs as telling
from papers.common.evidence.trace.story import square_costs
from papers.reproduce import pictures, registry
from papers.reproduce.registry import UsageError
from papers.reproduce.site import stepping
from papers.reproduce.trace import command as tracing
from papers.reproduce.trace import page, sources, terminal

STORIES = {
    f"{name}-{story.name}": (name, story)
    for name in package.PAPERS
    for story in importlib.import_module(f"papers.{name}.evidence.trace").STORIES
}
RUNS: dict[str, list] = {}


def runs_of(key):
    """A story's told runs under the seeds that stand there, or its run in natural order."""
    if key not in RUNS:
        story = STORIES[key][1]
        if story.variants:
            RUNS[key] = [telling.trace(story, None, name, name) for name in story.variants]
        else:
            RUNS[key] = [telling.trace(story, t.seed, t.label) for t in story.tellings]
            RUNS[key] = RUNS[key] or [telling.trace(story, None)]
    return RUNS[key]


def test_traces_are_made_without_a_gpu_where_there_is_one():
    """In a process whose device is a GPU, no story asks for it, when it is imported or run."""
    code = """
from papers.common.gpu import device
device._selected = device.Device("A GPU", True, 1, 1 << 40, (9, 0))
from papers.common.evidence.trace import runs
import papers
from papers.reproduce import pictures
from papers.reproduce.registry import UsageError
from papers.reproduce.site import stepping
from papers.reproduce.trace import command as tracing
from papers.reproduce.trace import command
for name in papers.PAPERS:
    story = command.module_of(name).STORIES[0]
    print(name, len(runs.trace(story, None, "", *story.variants[:1]).steps) > 10)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr == ""
    assert done.stdout.split() == [word for name in package.PAPERS for word in (name, "True")]


LONG = ("kawtikwar_opts-ties",)
"""Stories that show little which their neighbours do not: run nightly."""

NIGHTLY = pytest.mark.nightly


@pytest.fixture(params=[pytest.param(key, marks=NIGHTLY if key in LONG else ()) for key in STORIES])
def key(request):
    return request.param


def test_each_stored_seed_shows_the_run_that_it_is_stored_for(key):
    for run, wanted in zip(runs_of(key), STORIES[key][1].tellings, strict=False):
        assert wanted.holds(run), f"{wanted.label!r} needs a new seed: see runs.told"


def test_the_events_of_a_run_lead_to_the_solvers_answer(key):
    """`trace` refuses others; here the trace of the file is replayed by itself."""
    name, story = STORIES[key]
    run = runs_of(key)[0]
    kept = json.loads(json.dumps(terminal.as_json(name, [[run]])))["runs"][0]
    now = kept["initial"]
    for kind, _, _, _, _, array, index, old, new, _ in kept["events"]:
        if kind in ("store", "atomic", "host"):
            assert now[array][index] == old
            now[array][index] = new
    assert now == kept["final"]
    assert story.answered(run.answer, run.recording.final)


def test_a_dropped_event_is_missed(key):
    """Planted: each event that changes something is left out of a replay, one at a time."""
    run = runs_of(key)[0]
    recording = run.recording
    changing = [k for k, e in enumerate(recording.events) if e.changes and e.old != e.new]
    for k in changing[:: max(1, len(changing) // 12)]:
        event = recording.events.pop(k)
        with pytest.raises(ValueError, match=r"has found|do not lead to"):
            replay(recording)
        recording.events.insert(k, event)
    replay(recording)


def replay(recording):
    *_, (_, now) = recording.replay()
    telling.check(recording, now)


def test_runs_that_a_page_shows_differ(key):
    runs = runs_of(key)
    if STORIES[key][1].variants:  # of versions the arrays are alike, and the way is not
        assert len({tuple(step.sentence for step in run.steps) for run in runs}) == len(runs)
        return
    assert len({run.outcome for run in runs}) == len(runs)
    again = [dataclasses.replace(run, label="again") for run in runs]
    assert telling.different([*runs, *again]) == runs


def test_steps_hold_every_change_once_and_in_order(key):
    for run in runs_of(key):
        told = [number for step in run.steps for number in step.events]
        assert told == sorted(set(told))
        events = run.recording.events
        assert {k for k, e in enumerate(events) if e.changes or e.kind == "launch"} <= set(told)
        assert {step.kind for step in run.steps} <= {*run.story.words, telling.PLAIN}


def test_the_terminal_has_every_event_and_every_sentence(key):
    run = runs_of(key)[0]
    lines = list(terminal.lines(run))
    events = [line for line in lines if line.startswith("    ")]
    assert len(events) == sum(len(step.events) for step in run.steps)
    text = "\n".join(lines)
    for step in run.steps:
        assert not step.kind or step.sentence in text
        for number in step.events:
            event = run.recording.events[number]
            assert not event.changes or f"{event.array}[{event.index}]" in text


def test_what_a_step_is_about_is_on_the_page(key):
    """Keys that a story names are parts of its panels; their looks are recorded from them."""
    for run in runs_of(key):
        drawn = set(
            re.findall(r'data-key="([^"]+)"', "".join(p.skeleton() for p in run.story.panels))
        )
        assert {part for step in run.steps for part in step.focus} <= drawn
        assert set(run.initial) == drawn


@pytest.mark.parametrize("name", package.PAPERS)
def test_each_teaching_page_names_its_trace_and_shows_it(name):
    folder = registry.folder(name)
    text = (folder / "README.md").read_text(encoding="utf-8")
    assert f"`reproduce trace {name}`" in text
    if registry.card(name).status == "complete":
        assert "](evidence/trace/page.png)" in text
        assert (folder / "evidence/trace/page.png").stat().st_size < 150_000


# ------------------------------------------------------------------------------- the page


class Loads(html.parser.HTMLParser):
    """Collects what a page would ask the network for, its ids and its links."""

    def __init__(self):
        super().__init__()
        self.asked, self.ids = [], []

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.ids += [given["id"]] if "id" in given else []
        if tag in ("link", "img", "iframe", "object", "embed", "audio", "video", "base"):
            self.asked.append(tag)
        self.asked += [
            f"{name}={given[name]}" for name in ("src", "srcset", "data") if name in given
        ]


@pytest.fixture(params=package.PAPERS, scope="module")
def made(request, tmp_path_factory):
    name = request.param
    path = tmp_path_factory.mktemp("page") / f"{name}.html"
    stories = [runs_of(key) for key in STORIES if STORIES[key][0] == name and key not in LONG]
    path.write_text(page.html(registry.card(name), stories, path), encoding="utf-8")
    return path, stories


def asked_of(text):
    """What a page asks the network for."""
    reader = Loads()
    reader.feed(text)
    addresses = re.findall(r"(?:url\((?!#)|@import|fetch\(|XMLHttpRequest|https?://)\S*", text)
    return reader.asked + addresses


def test_a_page_asks_for_nothing(made):
    text = made[0].read_text(encoding="utf-8")
    assert asked_of(text) == []
    assert "default-src 'none'" in text
    assert "{{" not in text


@pytest.mark.parametrize(
    "planted",
    [
        '<img src="a.png">', '<link rel="stylesheet" href="a.css">', "<style>@import 'a';</style>",
        "<script>fetch('a')</script>", "<script src='a.js'></script>", "<p style='x:url(a.png)'>",
    ],
)  # fmt: skip
def test_a_planted_request_is_found(planted):
    assert asked_of(f"<p>{planted}</p>")


def test_a_page_links_to_the_lines_of_files_that_are_there(made):
    path, stories = made
    data = page.content(registry.card(path.stem), stories, path)
    assert data["sites"]
    for number, line, function in data["sites"]:
        text = data["functions"][number]
        assert (path.parent / text["link"]).resolve() == (sources.ROOT / text["file"])
        whole = (sources.ROOT / text["file"]).read_text(encoding="utf-8").splitlines()
        at = text["numbers"].index(line)
        assert whole[line - 1] == text["lines"][at]
        assert f"def {function}(" in text["lines"][0]


def dom_of(path, place, clicks=""):
    """The page's elements in Chromium, after it was opened at a place and its buttons clicked."""
    browser = shutil.which("chromium")
    if browser is None:
        pytest.skip("no Chromium")
    copy = path.with_name("copy.html")
    script = f"for (const id of {clicks.split()}) document.getElementById(id).click();"
    text = path.read_text(encoding="utf-8")
    copy.write_text(text.replace("</body>", f"<script>{script}</script></body>"), encoding="utf-8")
    words = [
        browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={path.parent}",
        "--virtual-time-budget=1000", "--dump-dom", copy.as_uri() + place,
    ]  # fmt: skip
    return subprocess.run(words, capture_output=True, text=True, timeout=120, check=True).stdout


def looks_of(dom, parts):
    """Texts of parts of a page."""
    found = {}
    for part in parts:
        element = re.search(rf'data-key="{re.escape(part)}"[^>]*>(.*?)</(?:td|th|g|div|i)>', dom)
        found[part] = re.sub("<[^>]*>", "", element[1])
    return found


@pytest.mark.parametrize("made", first(1, package.PAPERS), indirect=True)
def test_a_page_plays_in_a_browser_to_the_last_look_and_back_one_run_beside_another(made):
    path, stories = made
    runs = max(stories, key=len)
    run, other = runs[0], runs[-1]
    place = f"#{run.story.name}/0/{len(run.steps)}"
    back = looks_of(dom_of(path, place, "first"), run.initial)
    assert back == {part: look.text for part, look in run.initial.items()}
    dom = dom_of(path, f"{place}/{len(runs) - 1}", "back next")
    assert run.steps[-1].sentence in dom
    halves = dom.split('id="second-panels"')
    for half, shown in zip(halves, (run, other), strict=True):
        looks = dict(shown.initial)
        for step in shown.steps:
            looks |= step.looks
        found = looks_of(half, looks)
        assert found == {part: look.text for part, look in looks.items()}
        assert found != back


@pytest.mark.parametrize("made", first(1, package.PAPERS), indirect=True)
def test_a_page_whose_steps_a_site_has_packed_plays_too(made, tmp_path):
    path, stories = made
    run, name = stories[0][0], stepping.page_of(path.stem)
    (tmp_path / name).write_bytes(path.read_bytes())
    (tmp_path / "site").mkdir()
    stepping.copy(tmp_path, tmp_path / "site", path.stem)
    copy = tmp_path / "site" / name
    assert copy.stat().st_size < path.stat().st_size
    assert run.steps[-1].sentence not in copy.read_text(encoding="utf-8")
    assert run.steps[-1].sentence in dom_of(copy, f"#{run.story.name}/0/{len(run.steps)}")


def test_the_moment_of_each_picture_is_on_the_page(made):
    path, _ = made
    picture = tracing.module_of(path.stem).PICTURE
    story, number, at, *beside = pictures.place(path, picture).split("/")
    shown = page.content(registry.card(path.stem), made[1], path)["stories"]
    runs = next(one for one in shown if one["name"] == story)["runs"]
    assert runs[int(number)]["steps"][int(at) - 1][1].startswith(picture.sentence)
    assert bool(beside) == bool(picture.beside)
    for planted in ({"run": "nobody's"}, {"sentence": "It rains"}, {"story": "none"},
                    {"beside": "nobody's"}):  # fmt: skip
        with pytest.raises(UsageError, match="now"):
            pictures.place(path, picture._replace(**planted))


@pytest.mark.parametrize(
    "data",
    [np.zeros((2, 3)), np.zeros(4), np.zeros((1, 1)), np.zeros((9, 9)), [["a", "b"], ["c", "d"]],
     np.full((2, 2), np.nan)],
)  # fmt: skip
def test_a_page_refuses_costs_that_it_cannot_show(data):
    with pytest.raises(ValueError, match="square finite costs of 2 to 8 rows"):
        square_costs(data, 8, whole=False)


def test_a_page_of_integers_refuses_fractions():
    assert square_costs([[1, 2], [3, 4]], 8).sum() == 10
    assert square_costs([[0.5, 2], [3, 4]], 8, whole=False).sum() == 9.5
    with pytest.raises(ValueError, match="square integer costs of 2 to 8 rows"):
        square_costs([[0.5, 2], [3, 4]], 8)
