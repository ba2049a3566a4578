"""Every command and every Python example of the pages runs, on tiny input and in this process.

A command is run by the rule of its first words (`RULES`); one that no rule covers fails. A rule
takes what would need a GPU, a network or an hour out of the way, and nothing else: names of papers,
experiments, solvers, options and files are the page's own.
"""

import contextlib
import io
import json
import re
import shlex
import shutil
import subprocess
import tomllib
from importlib.util import find_spec
from itertools import takewhile
from pathlib import Path

import numpy as np
import pytest
from scipy.io import mmwrite
from scipy.sparse import coo_array, csr_array

import papers as package
from papers.common.evidence.intervals import Evidence
from papers.common.evidence.trace import runs as telling
from papers.common.problems.network import FOUR, inner
from papers.reproduce import cli, fetch, pictures, prepare, registry, running
from papers.reproduce.bench import benching
from papers.reproduce.explain import basis, provenance
from papers.reproduce.measure.worker import DeviceCard
from papers.reproduce.report import front, readme
from papers.reproduce.run import code
from papers.reproduce.trace import command as tracing
from papers.reproduce.verify import checks

ROOT = Path(package.__file__).parents[1]
PAGES = [
    path
    for pattern in ("README.md", "CONTRIBUTING.md", "papers/*/README.md", "papers/*/*/README.md")
    for path in sorted(ROOT.glob(pattern))
]
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
A_RUN = re.compile(r"RUN|runs/\S+")
INLINE = re.compile(r"`([^`\n]+)`")
STAND_INS = {"hopcroft1973": "lopes2019", "HK73": "L19"}
"""Names that CONTRIBUTING.md has for a paper that the reader will add."""


def named(path):
    return path.relative_to(ROOT).as_posix()


def text_of(path):
    """A page's text, about papers that there are."""
    text = path.read_text(encoding="utf-8")
    if path.name == "CONTRIBUTING.md":
        for name, real in STAND_INS.items():
            text = text.replace(name, real)
    return text


# ------------------------------------------------------------------------------- what pages hold


def commands_in(text):
    """The command lines of a page: of blocks for a shell, and of blocks that begin with a command.

    A block without a language whose first line no rule knows is a drawing.
    """
    for language, block in FENCED.findall(text):
        lines = [line for line in block.replace("\\\n", " ").splitlines() if line.strip()]
        lines = [line for line in lines if not line.lstrip().startswith("#")]
        known = bool(lines) and program(lines[0]) in RULES
        if language in ("sh", "bash", "console") or (not language and known):
            yield from lines


def examples_in(text):
    """The Python examples of a page: blocks, and spans in a sentence that import from `papers`."""
    yield from (block for language, block in FENCED.findall(text) if language == "python")
    outside = FENCED.sub("", text)
    yield from (span for span in INLINE.findall(outside) if span.startswith("from papers"))


def words_of(line):
    """The words of a command line without its comment, and without dots that stand for more."""
    words = shlex.split(line.removeprefix("$ "), comments=True)
    return [word for word in words[len(environment_of(words)) :] if word != "..."]


def environment_of(words):
    """What is set before the program's name."""
    return dict(word.split("=", 1) for word in takewhile(re.compile(r"[A-Z_]+=").match, words))


def program(line):
    """The program of a command line, wherever it is installed."""
    words = words_of(line)
    return Path(words[0]).name if words else ""


def test_pages_hold_what_is_run_here():
    assert {"README.md", *(f"papers/{name}/README.md" for name in package.PAPERS)} <= {
        named(path) for path in PAGES
    }
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(list(commands_in(text))) > 10
    assert len(list(examples_in(text))) > 3


def test_drawings_are_no_commands_and_shells_hold_nothing_else():
    page = "```\n8 6 5 3   rows\n```\n```\nmake test\nreproduce list  # all\n```\n```sh\nls\n```"
    assert list(commands_in(page)) == ["make test", "reproduce list  # all", "ls"]
    page = "`from papers.x import y` and `solve`\n```python\nx = 1\n```\n"
    assert list(examples_in(page)) == ["x = 1\n", "from papers.x import y"]


# ------------------------------------------------------------------------------- tiny input

COSTS = np.array([[4, 1, 3], [2, 0, 5], [3, 2, 2]])
MATRIX = csr_array(np.eye(5) + np.eye(5, k=1))
SHAPE = (3, 4)
GRID = {
    "source": np.arange(12).reshape(SHAPE),
    "sink": np.arange(12)[::-1].reshape(SHAPE),
    **{name: 2 * inner(SHAPE, name).astype(np.int64) for name in FOUR},
}
ARCS = {"tail": [0, 0, 1], "head": [1, 2, 2], "capacity": [3, 1, 2]}
NETWORK = {name: np.array(line) for name, line in ARCS.items()}
ENDS = {"nodes": np.array(3), "source": np.array(0), "sink": np.array(2)}
DIMACS = "p max 3 3\nn 1 s\nn 3 t\na 1 2 3\na 1 3 1\na 2 3 2\n"

FILES = {
    "costs.npy": lambda path: np.save(path, COSTS),
    "costs.csv": lambda path: np.savetxt(path, COSTS, fmt="%d", delimiter=","),
    "graph.mtx": lambda path: mmwrite(path, coo_array(MATRIX)),
    "matrix.mtx": lambda path: mmwrite(path, coo_array(MATRIX)),
    "grid.npz": lambda path: np.savez(path, **GRID),
    "image.npz": lambda path: np.savez(path, **GRID),
    "network.npz": lambda path: np.savez(path, **NETWORK, **ENDS),
    "network.max": lambda path: path.write_text(DIMACS),
}
"""Files that pages name, small."""


def graph_of_arcs():
    """A capacity matrix as SciPy's `maximum_flow` takes it."""
    return csr_array((NETWORK["capacity"], (NETWORK["tail"], NETWORK["head"])), shape=(3, 3))


def names():
    """Names that an example may use without defining them."""
    return {
        "np": np,
        "cost": COSTS,
        "costs": np.stack([COSTS, COSTS.T]),
        "matrix": MATRIX,
        "csgraph": graph_of_arcs(),
        "graph": graph_of_arcs(),
        "source": GRID["source"],
        "sink": GRID["sink"],
        "arcs": 2,
    }


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder of its own, with all of `FILES` and nothing of the user's; the template counts."""
    for name, make in FILES.items():
        make(tmp_path / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(registry.MODULES, "_template", "papers._template")
    monkeypatch.setenv("PAPERS_INSTANCES", str(tmp_path))
    monkeypatch.setenv("PAPERS_CACHE", str(tmp_path / "cache"))
    return tmp_path


@pytest.fixture(scope="module")
def finished_run(tmp_path_factory):
    """A finished run of one small cell, by the command itself."""
    folder = tmp_path_factory.mktemp("pages") / "run"
    words = ["lopes2019:table1", "--preset", "smoke", "--seed", "1", "--device", "cpu"]
    command("run", *words, "--only", "solver=gpu", "--repeats", "1", "--out", str(folder))
    return folder


def command(*words, codes=(0,)):
    """Give the command in this process."""
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        pytest.raises(SystemExit) as ending,
    ):
        cli.main(list(words))
    assert int(ending.value.code or 0) in codes, err.getvalue()
    return out.getvalue()


# ------------------------------------------------------------------------------- rules


class Planner:
    """Stands in for the process that measures: a plan needs its device's name alone."""

    def __init__(self, is_gpu, ranks):
        self.device = DeviceCard("A GPU" if is_gpu else "CPU executor", is_gpu, "a-gpu", ranks)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None


def run_plan(words, request, ranks=1):
    """`reproduce run`: its plan; `--resume` goes on with a run.

    The papers' sizes are planned for a GPU, as on the machine that such a line is meant for.
    """
    if "--resume" in words:
        words[words.index("--resume") + 1] = str(request.getfixturevalue("finished_run"))
        return command("run", *words)
    place = words.index("--out") if "--out" in words else len(words)
    words = words[:place] + words[place + 2 :]
    gpu = ("--device" in words or "paper" in words) and "cpu" not in words
    patch = request.getfixturevalue("monkeypatch")
    patch.setattr(running, "worker_for", lambda choice: Planner(gpu, ranks))
    shown = command("run", *words, "--dry-run")
    where = "on A GPU" if gpu else "without a GPU"
    assert re.search(rf"^[1-9]\d* cells {where}: ", shown, re.MULTILINE), shown
    return shown


def in_the_runs_place(words, request):
    """A word for a run's folder becomes that of a finished run."""
    run = str(request.getfixturevalue("finished_run"))
    return [run if A_RUN.fullmatch(word) else word for word in words]


def join(words, request):
    """Every part is the finished run, so that cells of the plan are missing in the whole."""
    assert words[-2:-1] == ["--out"]
    run, whole = request.getfixturevalue("finished_run"), request.getfixturevalue("place") / "whole"
    told = command("join", *(str(run) for _ in words[:-2]), "--out", str(whole), codes=(3,))
    assert "failed or are missing" in told
    assert (whole / "measurements.csv").is_file()
    return told


def record(words, request):
    """A copy of the finished run that says it is of a card and a clean commit; kept elsewhere."""
    folder = request.getfixturevalue("place") / "copied"
    shutil.copytree(request.getfixturevalue("finished_run"), folder)
    facts = json.loads((folder / "environment.json").read_text())
    facts |= {"device": "A Card", "gpus": [{"name": "A Card"}]}
    (folder / "environment.json").write_text(json.dumps(facts))
    patch = request.getfixturevalue("monkeypatch")
    patch.setattr(registry, "folder", lambda name: folder / "kept" / name)
    patch.setattr(code, "clean_commit", lambda facts: ("0" * 40, ""))
    return command("record", *[str(folder) if A_RUN.fullmatch(word) else word for word in words])


def verify(words, request):
    """The records that are named are there; a finished run's folder is verified in their place."""
    assert all(checks.found(word) for word in words)
    run = str(request.getfixturevalue("finished_run"))
    command("verify", run, "--seconds", "0", codes=(0, 1))  # The tree may have changes.


def fill(words, request):
    """The page that is made is written into a copy of the paper's folder, and the front page told.

    That the papers' pages are as their records make them is tested in `test_citations`.
    """
    (paper,) = words
    copy = request.getfixturevalue("place") / paper
    copy.mkdir()
    assert (registry.folder(paper) / readme.PAGE).is_file()
    patch = request.getfixturevalue("monkeypatch")
    patch.setattr(
        registry, "folder", lambda name, true=registry.folder: {paper: copy}.get(name) or true(name)
    )
    told = []
    patch.setattr(front, "fill", told.append)  # The front page is no copy.
    patch.setattr(readme, "pages", lambda name: {copy / readme.PAGE: f"of {name}"})
    shown = command("readme", paper)
    assert told == [paper]
    assert (copy / readme.PAGE).read_text() == f"of {paper}"
    return shown


def photograph(words, request):
    """Of a finished run; no browser is started."""
    taken = []
    patch = request.getfixturevalue("monkeypatch")
    patch.setattr(pictures, "take", lambda run: taken.append(run) or [])
    shown = command("pictures", *in_the_runs_place(words, request))
    assert taken
    return shown


def without_network(words, request):
    """What would be fetched is named, and not fetched."""
    wanted = []
    patch = request.getfixturevalue("monkeypatch")
    patch.setattr(fetch.collection, "fetch", lambda name, report: wanted.append(name))
    shown = command("fetch", *words)
    assert wanted
    return shown


def without_drawing(words, request):
    """Large graphs are listed, and not drawn."""
    found = []
    patch = request.getfixturevalue("monkeypatch")
    patch.setattr(prepare, "draw", lambda graphs, jobs, report: found.extend(graphs))
    shown = command("prepare", *words)
    assert found
    return shown


def solve(words, request):
    """The file is one of `FILES`; the answer is proved and written."""
    place = request.getfixturevalue("place")
    assert words[0] in FILES, f"{words[0]} is not among the tiny files"
    before = set(place.iterdir())
    shown = command("solve", *words)
    assert "proved" in shown
    assert set(place.iterdir()) > before
    return shown


def trace(words, request):
    """The story that is named, or the paper's first, in the runs that it asks for."""
    place = request.getfixturevalue("place")
    request.getfixturevalue("monkeypatch").setattr(telling, "KEPT", 1)
    paper, file = words[0], [word for word in words if word in FILES]
    if not file and "--story" not in words:
        words = [*words, "--story", tracing.module_of(paper).STORIES[0].name]
    shown = command("trace", *words)
    assert "--terminal" in words or list(place.glob("*trace.html"))
    return shown


def explain(words, request):
    """A record is explained by its medians; looking for the cells of a row is left out."""
    patch = request.getfixturevalue("monkeypatch")
    patch.setattr(basis, "Evidence", lambda rows: Evidence(rows, draws=0))
    patch.setattr(provenance, "made_of", lambda *given: ["a cell"])
    shown = command("explain", *words)
    assert f"anew      reproduce run {words[0]}" in shown
    assert ("made of" in shown) == ("--row" in words)
    return shown


def bench(words, request):
    """The function is a small one of this place; all is planned, and nothing is measured."""
    place = request.getfixturevalue("place")
    patch = request.getfixturevalue("monkeypatch")
    (place / "my_solver.py").write_text("from scipy.optimize import linear_sum_assignment as solve")
    patch.syspath_prepend(place)
    patch.setattr(running, "worker_for", lambda choice: Planner(False, 1))
    planned = []
    patch.setattr(benching, "_measure", lambda run, *given: planned.extend(run.jobs) or 0)
    command("bench", *words)
    assert planned
    return planned


SUBCOMMANDS = {
    "list": lambda words, request: command("list", *words),
    "run": run_plan,
    "solve": solve,
    "trace": trace,
    "explain": explain,
    "bench": bench,
    "fetch": without_network,
    "prepare": without_drawing,
    "report": lambda words, request: command("report", *in_the_runs_place(words, request)),
    "compare": lambda words, request: command("compare", *in_the_runs_place(words, request)),
    "join": join,
    "record": record,
    "readme": fill,
    "pictures": photograph,
    "verify": verify,
    "env": lambda words, request: command("env", *words),
}


def reproduce(words, request):
    assert words[0] in SUBCOMMANDS, f"no rule for reproduce {words[0]}"
    request.getfixturevalue("place")
    SUBCOMMANDS[words[0]](words[1:], request)


def mpiexec(words, request):
    """The command behind it is planned for two ranks."""
    place = next(i for i, word in enumerate(words) if Path(word).name == "reproduce")
    assert words[place + 1 : place + 2] in ([], ["run"])
    request.getfixturevalue("place")
    targets = words[place + 2 :] or ["datenagi2016:table4"]
    run_plan(targets, request, ranks=2)


def make(words, request):
    """The target is there; nothing of it is done."""
    done = subprocess.run(["make", "-n", *words], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def pip(words, request):
    """The extras that are asked for are declared."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = declared["project"]["optional-dependencies"]
    assert words[0] == "install"
    for word in words[1:]:
        for extra in re.findall(r"\[([\w,]+)\]", word):
            assert set(extra.split(",")) <= set(extras), word


def python(words, request):
    """Modules and files that it is given are there."""
    assert words[0] == "-m"
    if words[1] == "pip":
        return pip(words[2:], request)
    assert find_spec(words[1])
    for word in words[2:]:
        if word.startswith(("tests", "papers")):
            assert (ROOT / word.partition("::")[0]).exists(), word
    return None


def copy(words, request):
    """What is copied is there."""
    assert (ROOT / words[-2]).exists(), words[-2]


RULES = {
    "reproduce": reproduce,
    "mpiexec": mpiexec,
    "make": make,
    "pip": pip,
    "python": python,
    "cp": copy,
}
"""By program: how the rest of a command line is run."""

LEFT_OUT = {
    "git": "a clone, from where there is no network",
    "cd": "changes the shell alone",
    "source": "changes the shell alone",
    "export": "changes the shell alone",
    "grep": "rewrites a copied paper: the test that adds one does so",
    "sed": "rewrites a copied paper: the test that adds one does so",
    "ruff": "`make lint` does so",
}
"""By program: why it is not run."""


def lines():
    for path in PAGES:
        for line in commands_in(text_of(path)):
            text = " ".join(words_of(line))
            yield pytest.param(line, id=f"{named(path)}: {text}")


@pytest.mark.parametrize("line", dict.fromkeys(lines()))
def test_the_command_runs(line, request):
    name = program(line)
    if name in LEFT_OUT:
        return
    assert name in RULES, f"no rule for {name}"
    for variable, value in environment_of(shlex.split(line, comments=True)).items():
        request.getfixturevalue("monkeypatch").setenv(variable, value)
    RULES[name](words_of(line)[1:], request)


@pytest.mark.parametrize("line", ["ls -l", "reproduce dance", "make nothing", "pip install '.[x]'",
                                  "reproduce run lopes2019:table99", "cp papers/nowhere x",
                                  "reproduce solve costs.npy --with nobody",
                                  "mpiexec -n 2 reproduce run lopes2019"])  # fmt: skip
def test_a_command_that_does_not_work_is_found(line, request):
    """Planted faults: a name that is not there, by every rule."""
    with pytest.raises(AssertionError):
        test_the_command_runs(line, request)


# ------------------------------------------------------------------------------- Python


def smaller(example):
    """Thousands become a dozen: an example of a large instance is run on a tiny one."""
    return re.sub(r"\b\d+_000\b", "12", example)


def examples():
    for path in PAGES:
        for k, example in enumerate(examples_in(text_of(path))):
            yield pytest.param(named(path), example, id=f"{named(path)}, example {k + 1}")


def names_on(page):
    """Names that a page's examples take for granted: those of the template's declarations too."""
    found = names()
    if page == "CONTRIBUTING.md":
        from papers._template.evidence import experiments
        from papers.common.evidence import declarations, tables

        found |= vars(declarations) | vars(tables) | vars(experiments)
        found |= {"SIZES": experiments.INSTANCES, "BY": ("n", "cost_range")}
    return found


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize(("page", "example"), list(examples()))
def test_the_example_runs(page, example):
    if "mpi4py" in example:
        pytest.importorskip("mpi4py")
    if Path("costs.npy").is_file() and "costs.npy" in example:
        assert np.load("costs.npy").shape == (3, 3)
    program = compile(smaller(example), page, "exec")
    exec(program, names_on(page))


def test_an_example_that_does_not_work_is_found():
    with pytest.raises(ImportError):
        test_the_example_runs("README.md", "from papers.lopes2019 import nothing")


# ------------------------------------------------------------------------------- names in the text


def subcommands():
    return {command.name or command.callback.__name__ for command in cli.app.registered_commands}


@pytest.mark.parametrize("path", PAGES, ids=named)
def test_commands_named_in_the_text_exist(path):
    """`reproduce WORD` in a sentence names a command that there is."""
    outside = FENCED.sub("", text_of(path))
    named_here = set(re.findall(r"`reproduce ([a-z]+)\b", outside))
    assert named_here <= subcommands()


def test_every_subcommand_has_a_rule():
    assert subcommands() <= set(SUBCOMMANDS)
