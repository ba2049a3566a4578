"""The house keeps its shape: arrows, sizes of folders, words; each rule is tried on a small tree.

A rule is a function of a folder that holds `papers` (and `tests`); it returns faults, one line
each. Faults that are known stand in `KNOWN` until they are mended: a line of it that is no longer
needed fails, so that the list can only shrink.
"""

import ast
import functools
import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import facts
import pytest

import papers as package

REPOSITORY = Path(package.__file__).parents[1]

MOST_MODULES = 14
"""Modules of a folder, besides its `__init__`."""

ROOMS = (
    "model",
    "on_demand",
    "configurations",
    "cores",
    "deadline",
    "parallel",
    "executor",
    "gpu",
    "mpi",
    "problems",
    "instances",
    "evidence",
)
"""The rooms of `papers.common`: each imports itself and what stands left of it."""

STARTS_FROM = {name: facts.starts_from(name) for name in package.PAPERS}
"""Arrows between papers, from their `paper.toml`: one may start from another's kernels."""

KINDS = ("Graph", "Network", "Grid")
"""The forms of an instance's data that only `papers.common.problems` may ask for."""

RETIRED = {
    r"\bSLACK_TYPES\b": "SLACK_TYPES is called ELEMENT_TYPES",
    r"pip install '?papers\[": "`papers` on PyPI is somebody else's program",
}
"""Words that have gone, as regular expressions over code and pages, with what to say instead."""

RETIRED_ENDINGS = r"\w*_(resident|rcp)|(uniform|planted|geometric|adversarial|constant)?_parts"
"""Where a matrix lies and whether it is permuted are fields, no endings of a family's name."""

OLD_NAMES = "papers.reproduce.plan.old_names"
"""The one module that knows them, because recorded runs hold them."""

HEADLESS = ("What ", "How ", "Of ")
"""Beginnings of a docstring without a subject."""

SAID_OF_A_KERNEL = ("Paper:", "Launch:", "Reads/Writes:")
"""Words of a kernel's docstring, each with a sentence behind it."""

KNOWN: dict[str, set[str]] = {}
"""Faults by rule that are still to be mended. Empty is the aim."""


# ------------------------------------------------------------------------------- a tree of modules


@dataclass(frozen=True)
class Module:
    """A file of the package by its dotted name; a package goes by its folder's."""

    name: str
    path: Path

    @cached_property
    def tree(self):
        return ast.parse(self.path.read_text(encoding="utf-8"))

    @cached_property
    def nodes(self):
        """All nodes of the tree; every rule goes through them."""
        return list(ast.walk(self.tree))

    @property
    def parts(self):
        return self.name.split(".")

    @property
    def package(self):
        """The package that a relative import starts from."""
        return self.parts if self.path.name == "__init__.py" else self.parts[:-1]


@functools.cache
def modules_of(root):
    """Every module of `root`/papers by its dotted name."""
    found = {}
    for path in sorted((root / "papers").rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = Module(name, path)
    return found


def targets_of(module):
    """Dotted names that a module imports, wherever the statement stands: in functions too."""
    for node in module.nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = module.package[: len(module.package) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from (f"{base}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            first = node.args[0] if node.args else None
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                yield first.value


@functools.cache
def imports_of(root):
    """Which modules each module imports; a name that is none belongs to the module it is in."""
    modules, graph = modules_of(root), {}
    for name, module in modules.items():
        found = set()
        for target in targets_of(module):
            while target and target not in modules:
                target = target.rpartition(".")[0]
            found |= {target} - {"", name}
        graph[name] = found
    return graph


# ------------------------------------------------------------------------------- the rules


def circles(root):
    """Modules that import one another, imports inside functions and for types counted."""
    graph = imports_of(root)
    reached = {}
    for name in graph:
        seen, waiting = set(), [name]
        while waiting:
            new = graph[waiting.pop()] - seen
            seen |= new
            waiting += new
        reached[name] = seen
    groups = {frozenset(m for m in reached[n] if n in reached[m]) for n in graph}
    return [" <-> ".join(sorted(group)) for group in groups if group]


def full_folders(root):
    """Folders that hold more modules than one looks through."""
    held = Counter(
        path.parent.relative_to(root).as_posix()
        for path in (root / "papers").rglob("*.py")
        if path.name != "__init__.py"
    )
    return [f"{folder} holds {n} modules" for folder, n in held.items() if n > MOST_MODULES]


def may_import(root):
    """What each folder of `papers` may import, by the folders' names; None is everything."""
    names = {path.name for path in (root / "papers").iterdir() if path.is_dir()}
    papers = names - {"common", "reproduce", "synthesis", "__pycache__"}
    return {
        "common": {"common"},
        "reproduce": {"common", "reproduce", "synthesis"},
        "synthesis": names - {"reproduce"},
        **{paper: {"common", paper} | STARTS_FROM.get(paper, set()) for paper in papers},
    }


def arrows_between_folders(root):
    """`reproduce` -> a paper -> `common`; papers import no paper, save what they start from."""
    modules, allowed, faults = modules_of(root), may_import(root), []
    for name, imported in imports_of(root).items():
        home = modules[name].parts[1:2]
        if not home or home[0] not in allowed:
            continue  # papers/__init__ itself
        for other in sorted(imported):
            there = modules[other].parts[1:2]
            if there and there[0] not in allowed[home[0]]:
                faults.append(f"{name} imports {other}")
    return faults


def arrows_between_rooms(root):
    """Inside `common` a room imports only rooms to its left."""
    modules, faults = modules_of(root), []
    for name, imported in imports_of(root).items():
        if not name.startswith("papers.common."):
            continue
        room = modules[name].parts[2]
        if room not in ROOMS:
            faults.append(f"{name} is in no room")
            continue
        for other in sorted(imported):
            there = modules[other].parts[2:3]
            if other.startswith("papers.common.") and there[0] in ROOMS[ROOMS.index(room) + 1 :]:
                faults.append(f"{name} imports {other}")
    return faults


def asked_kinds(node):
    """The classes that an expression or a pattern asks an object for."""
    if isinstance(node, ast.Call) and ast.unparse(node.func) in ("isinstance", "issubclass"):
        second = node.args[1] if len(node.args) > 1 else ast.Tuple([])
        return {ast.unparse(part).rpartition(".")[2] for part in ast.walk(second)}
    if isinstance(node, ast.MatchClass):
        return {ast.unparse(node.cls).rpartition(".")[2]}
    if isinstance(node, ast.Compare) and ast.unparse(node.left).startswith("type("):
        return {ast.unparse(part).rpartition(".")[2] for part in node.comparators}
    return set()


def questions_of_kind(root):
    """Places outside `papers.common.problems` that ask of which kind a problem's data are."""
    faults = []
    for name, module in modules_of(root).items():
        if f"{name}.".startswith("papers.common.problems."):
            continue
        for node in module.nodes:
            for kind in sorted(asked_kinds(node) & set(KINDS)):
                faults.append(f"{name} asks for a {kind}")
    return sorted(set(faults))


def endings_of_families(root):
    """Families named by where their matrix lies, and code that cuts such an ending off."""
    faults = []
    for name, module in modules_of(root).items():
        if name == OLD_NAMES:
            continue
        for node in module.nodes:
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                if re.fullmatch(RETIRED_ENDINGS, node.value):
                    faults.append(f"{name} names {node.value!r}")
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                held = ast.unparse(node.func.value).lower()
                if node.func.attr == "removesuffix" and "family" in held:
                    faults.append(f"{name} cuts {ast.unparse(node.args[0])} off a family")
    return sorted(set(faults))


def retired_words(root):
    """Words that have gone, in code and pages."""
    pages = [*root.glob("*.md"), root / "Makefile", root / "pyproject.toml"]
    pages += [*(root / "papers").rglob("*.md"), *(root / "papers").rglob("*.toml")]
    code = [*(root / "papers").rglob("*.py"), *(root / "tests").rglob("*.py")]
    faults = []
    for path in filter(Path.is_file, sorted({*pages, *code})):
        if path.name in ("test_architecture.py", "CHANGELOG.md"):
            continue  # the first names them to forbid them, the second tells of them
        text = path.read_text(encoding="utf-8")
        where = path.relative_to(root).as_posix()
        faults += [f"{where}: {why}" for word, why in RETIRED.items() if re.search(word, text)]
    return faults


def headless_docstrings(root):
    """Docstrings that begin with a clause instead of a sentence."""
    faults = []
    for name, module in modules_of(root).items():
        for node in module.nodes:
            # Strings below a field or a constant are docstrings to a reader, too.
            said = node.value if isinstance(node, ast.Expr) else None
            if isinstance(said, ast.Constant) and isinstance(said.value, str):
                first = said.value.strip().partition("\n")[0]
                if first.startswith(HEADLESS):
                    faults.append(f"{name}: {first}")
    return faults


def makes_kernels(node):
    """Whether an expression is `cuda.jit`, with arguments or without, and not for the device."""
    text = ast.unparse(node)
    return text == "cuda.jit" or (text.startswith("cuda.jit(") and "device=True" not in text)


def kernels_of(module):
    """Functions that are decorated by `cuda.jit` or handed to it, inside of functions too."""
    calls = [node for node in module.nodes if isinstance(node, ast.Call) and node.args]
    handed = {ast.unparse(call.args[0]) for call in calls if makes_kernels(call.func)}
    for node in module.nodes:
        if isinstance(node, ast.FunctionDef) and (
            node.name in handed or any(map(makes_kernels, node.decorator_list))
        ):
            yield node


def silent_kernels(root):
    """Kernels whose docstrings do not say `SAID_OF_A_KERNEL`, or no reason why no paper has them.

    Device functions are exempt: they are launched by nobody, and their kernels say the rest. So are
    kernels of exercises and of their solutions: the exercise's own docstring says what a reader's
    kernel reads and that any launch must do, and some of the kernels are wrong on purpose.
    """
    faults = []
    for name, module in modules_of(root).items():
        if "exercises" in module.parts:
            continue
        for kernel in kernels_of(module):
            said, where = ast.get_docstring(kernel) or "", f"{name}.{kernel.name}"
            missing = [word for word in SAID_OF_A_KERNEL if not re.search(rf"{word}\s+\S", said)]
            faults += [f"{where} does not say {word}" for word in missing]
            if re.search(r"Paper: none(?!;)", said):
                faults.append(f"{where} does not say why no paper")
    return faults


def folders_without_a_model(root):
    """Folders of tests that mirror no folder of `papers`."""
    tests = root / "tests"
    folders = {path.parent.relative_to(tests) for path in tests.rglob("test_*.py")}
    rooms = sorted(folder for folder in folders if not (root / "papers" / folder).is_dir())
    return [f"tests/{folder.as_posix()} mirrors no folder" for folder in rooms]


RULES = (
    circles,
    full_folders,
    arrows_between_folders,
    arrows_between_rooms,
    questions_of_kind,
    endings_of_families,
    retired_words,
    headless_docstrings,
    silent_kernels,
    folders_without_a_model,
)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_house_keeps_the_rule(rule):
    """No fault but those of `KNOWN`, and every line of `KNOWN` still needed."""
    assert set(rule(REPOSITORY)) == KNOWN.get(rule.__name__, set())


def test_known_faults_belong_to_rules():
    assert set(KNOWN) <= {rule.__name__ for rule in RULES}


# ------------------------------------------------------------------------------- planted faults

PLANTED = {
    "circles": (
        {
            "papers/a/__init__.py": "def lazy():\n    from papers.a import one",
            "papers/a/one.py": "from papers.a.two import thing",
            "papers/a/two.py": "if TYPE_CHECKING:\n    from papers.a import one",
            "papers/a/three.py": "from papers.a import one, two",
        },
        ["papers.a.one <-> papers.a.two"],
    ),
    "full_folders": (
        {f"papers/a/m{i}.py": "" for i in range(15)} | {f"papers/b/m{i}.py": "" for i in range(14)},
        ["papers/a holds 15 modules"],
    ),
    "arrows_between_folders": (
        {
            "papers/__init__.py": "def solve():\n    from papers.one import solver",
            "papers/common/model.py": "def lazy():\n    import papers.one.solver",
            "papers/one/solver.py": "from ..reproduce import cli",
            "papers/two/solver.py": "importlib.import_module('papers.one.solver')",
            "papers/reproduce/cli.py": "from papers.common import model",
            "papers/synthesis/fastest.py": "from papers.one import solver",
            "papers/lopes2019/kernels.py": "",
            "papers/kawtikwar_opts/kernels.py": "from papers.lopes2019 import kernels",
        },
        [
            "papers.common.model imports papers.one.solver",
            "papers.one.solver imports papers.reproduce.cli",
            "papers.two.solver imports papers.one.solver",
        ],
    ),
    "arrows_between_rooms": (
        {
            "papers/common/model.py": "",
            "papers/common/gpu/device.py": "from papers.common.problems.graph import Graph",
            "papers/common/problems/graph.py": "from papers.common import model",
            "papers/common/attic.py": "",
        },
        [
            "papers.common.attic is in no room",
            "papers.common.gpu.device imports papers.common.problems.graph",
        ],
    ),
    "questions_of_kind": (
        {
            "papers/common/problems/graph.py": "isinstance(x, Graph)",
            "papers/a/one.py": "isinstance(x, graph.Graph | int)",
            "papers/a/two.py": "ok = isinstance(x, (int, Network))",
            "papers/a/three.py": "match x:\n    case network.Grid():\n        pass",
            "papers/a/four.py": "type(x) is Graph and isinstance(x, GraphError)",
        },
        [
            "papers.a.four asks for a Graph",
            "papers.a.one asks for a Graph",
            "papers.a.three asks for a Grid",
            "papers.a.two asks for a Network",
        ],
    ),
    "endings_of_families": (
        {
            "papers/a/one.py": "FAMILY = 'uniform_parts'\nnote = 'of uniform_parts'",
            "papers/reproduce/plan/old_names.py": "FAMILY = 'uniform_parts'",
            "papers/a/two.py": "base = instance.family.removesuffix('x')\nname.removesuffix('x')",
        },
        ["papers.a.one names 'uniform_parts'", "papers.a.two cuts 'x' off a family"],
    ),
    "retired_words": (
        {
            "README.md": "pip install 'papers[mpi]'",
            "papers/a/kernels.py": "SLACK_TYPES = ('int32',)",
            "papers/a/README.md": "pip install '.[mpi]'",
        },
        [
            "README.md: `papers` on PyPI is somebody else's program",
            "papers/a/kernels.py: SLACK_TYPES is called ELEMENT_TYPES",
        ],
    ),
    "headless_docstrings": (
        {
            "papers/a/one.py": '"""What it is."""\ndef f():\n    """Return what it is."""',
            "papers/a/two.py": 'class C:\n    def f(self):\n        """\n    How so."""',
            "papers/a/three.py": 'LIMIT = 3\n"""Of a block."""',
        },
        ["papers.a.one: What it is.", "papers.a.three: Of a block.", "papers.a.two: How so."],
    ),
    "silent_kernels": (
        {
            "papers/a/kernels.py": '@cuda.jit\ndef right(x):\n    """Paper: none; ours.'
            '  Launch: any.\n    Reads/Writes: reads ``x``."""\n'
            "@cuda.jit(device=True)\ndef part(x): pass",
            "papers/a/one.py": '@cuda.jit\ndef one(x):\n    """Paper: [A Alg.1].  Launch:"""',
            "papers/a/two.py": "def make():\n    @cuda.jit(max_registers=64)\n    def two(x):\n"
            '        """Paper: none.  Launch: any.  Reads/Writes: nothing."""',
            "papers/a/three.py": "def three(x): pass\nkernel = cuda.jit(max_registers=9)(three)",
            "papers/a/exercises/exercise_1.py": "@cuda.jit\ndef asked(x): pass",
        },
        [
            "papers.a.one.one does not say Launch:",
            "papers.a.one.one does not say Reads/Writes:",
            "papers.a.three.three does not say Launch:",
            "papers.a.three.three does not say Paper:",
            "papers.a.three.three does not say Reads/Writes:",
            "papers.a.two.two does not say why no paper",
        ],
    ),
    "folders_without_a_model": (
        {
            "papers/a/one.py": "",
            "tests/a/test_one.py": "",
            "tests/a/b/test_two.py": "",
            "tests/a/toys/toy.py": "",
            "tests/test_all.py": "",
        },
        ["tests/a/b mirrors no folder"],
    ),
}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_rule_finds_planted_faults(rule, tmp_path):
    files, faults = PLANTED[rule.__name__]
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert sorted(rule(tmp_path)) == faults
