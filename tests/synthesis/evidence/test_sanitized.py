"""What the sanitizer runs: every kernel, every answer proved, in the executor."""

import csv
import importlib
import inspect
import pkgutil
import re
from dataclasses import replace
from pathlib import Path

import pytest

import papers
from papers.common.gpu import device, launch
from papers.common.gpu.signatures import argument_types, names_element
from papers.synthesis.assignment import launches, pool, solver
from papers.synthesis.assignment.kernels import rounds, search
from papers.synthesis.assignment.kernels.grid import near
from papers.synthesis.assignment.settings import Settings
from papers.synthesis.evidence import sanitized

LOGS = Path(papers.__file__).parent / "synthesis/results/sanitizer"
KERNELS = {"rounds": rounds, "search": search}


@pytest.fixture(autouse=True)
def _in_the_executor():
    device.select("cpu")


def test_all_ways_are_taken_and_proved():
    assert sanitized.assignments((5, 9)) == 11
    assert sanitized.on_device(6) == 10
    assert sanitized.delivered((5, 7)) == 8
    assert sanitized.in_turns(8) == 3
    assert sanitized.by_marks(40) == 6
    assert sanitized.batches((4, 6), problems=2) == 2 * (2 + 2 + 2 + 3)
    assert sanitized.stacks_on_device(4, problems=2) == 8
    assert sanitized.expansions(4, 2) == 4


def kernels_in_their_types():
    """Every kernel of the synthesis as (module, name, argument types)."""
    for found in pkgutil.walk_packages(papers.__path__, "papers."):
        parts = found.name.replace(".", "_").split("_")
        if found.name.startswith("papers.synthesis") and "kernels" in parts and not found.ispkg:
            module = importlib.import_module(found.name)
            for kernel, signature in getattr(module, "SIGNATURES", {}).items():
                kinds = module.ELEMENT_TYPES if names_element(signature) else ("int32",)
                for kind in kinds:
                    yield (*named(kernel), tuple(argument_types(signature, kind)))


def named(kernel):
    return kernel.py_func.__module__, kernel.py_func.__name__


def as_on_a_card(n, m, kind, short):
    return replace(Settings.for_shape(n, m, kind, short), threads=64, loads=2)


def test_every_kernel_runs_in_every_type(monkeypatch):
    """Planted: batches of 64-bit integers, and costs that are moved as they are, never ran."""
    launched, right = set(), launch.Launch.__init__

    def noted(self, kernel, grid, block, args, *more):
        args = tuple(args)
        launched.add((*named(kernel), tuple(map(kernel.typeof_pyval, args))))
        right(self, kernel, grid, block, args, *more)

    monkeypatch.setattr(launch.Launch, "__init__", noted)
    pool.clear()  # what a launch was bound for before is bound anew
    with monkeypatch.context() as wide:  # in the executor a cluster needs more than a warp a block
        wide.setattr(solver, "default_settings", as_on_a_card)
        sanitized.assignments((5, 70))
    sanitized.on_device(6)
    sanitized.delivered((5,))
    sanitized.batches((4,), problems=2)
    sanitized.batches((70, 130), problems=1)  # beyond a warp's width, of integers and of floats
    sanitized.stacks_on_device(4, problems=2)
    sanitized.expansions(4, 2)
    asked = set(kernels_in_their_types())
    assert len(asked) > 25
    assert {one[:2] for one in asked - launched} == set()


def test_the_dense_solver_runs_by_a_grid_by_one_block_and_by_marks(monkeypatch):
    """Its kernel has one name for all of these, so that the count above cannot tell them apart."""
    built, right = set(), launches.kernel_for

    def noted(kind, loads, threads, alone=False, marks=near.NOTHING):
        built.add((kind, alone, marks))
        return right(kind, loads, threads, alone, marks)

    monkeypatch.setattr(launches, "kernel_for", noted)
    pool.clear()  # what a launch was bound for before is bound anew
    sanitized.assignments((5, 70))
    sanitized.by_marks(70)  # more columns than two blocks have in a tile each
    kinds = ("int32", "int64", "float64")
    assert {(kind, False, near.SEARCHES) for kind in kinds} <= built
    assert {(kind, False, near.NOTHING) for kind in kinds} <= built
    # In the executor no order has one block by default; on a GPU the first side has.
    assert Settings.for_shape(sanitized.SIDES[0], sanitized.SIDES[0]).blocks == 1
    assert Settings.for_shape(sanitized.SIDES[1], sanitized.SIDES[1]).blocks != 1
    assert Settings.for_shape(sanitized.SIDES[1], sanitized.SIDES[1]).cluster != 0


def test_an_answer_that_is_not_proved_ends_the_run(monkeypatch):
    wrong = sanitized.assignment_proof.Proof(False, "lp-duals", "a pair is too dear")
    monkeypatch.setattr(sanitized.assignment_proof, "assignment", lambda *given: wrong)
    with pytest.raises(RuntimeError, match="a pair is too dear"):
        sanitized.assignments((5,))


def test_every_race_of_the_log_is_told(tmp_path):
    """Each pair of accesses that racecheck names stands in the table, and no other does."""
    pair = re.compile(
        r"Race reported between (\w+) access at .*?::(each_\w+)::.*?\+(0x[0-9a-f]+)\n"
        r"=+ +and (\w+) access at .*?::(each_\w+)::.*?\+(0x[0-9a-f]+) \["
    )
    log = (LOGS / "racecheck.log").read_text()
    named = pair.findall(log)
    assert len(named) == log.count("Race reported") == 9
    with (LOGS / "racecheck_pairs.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    places = ("first", "kernel", "first_at", "second", "kernel", "second_at")
    assert {tuple(line[name] for name in places) for line in lines} == set(named)
    for line in lines:
        module, function = line["function"].split(".")
        found = getattr(KERNELS[module], function)
        code = inspect.getsource(getattr(found, "py_func", found))
        if module == "rounds":
            assert line["what_is_read"] in code
            assert line["what_is_written"] in code
        assert code.count("Race:") == 1


def test_the_page_says_what_racecheck_names_on_the_card_of_the_record():
    reports = (LOGS / "racecheck_h100.log").read_text().split("========= \n")
    reports = [text for text in reports if "Race reported" in text]
    named = {name for text in reports for name in re.findall(r"kernels::(\w+)::\w+", text)}
    assert named == {"each_floats", "each_integers", "integers", "one_launch"}
    flows = [text for text in reports if "one_launch" in text]
    looks = [
        re.findall(r"(Read|Write) access at \S*tiles_(\d)\S*\+0x(\w+)", text) for text in flows
    ]
    loads = [
        (len(found) - 1, int(found[0][1]))
        for found in looks
        if found[0][0] == "Write"
        and all(kind == "Read" and int(at, 16) < int(found[0][2], 16) for kind, _, at in found[1:])
    ]
    assert len(loads) == len(flows) == 18
    assert all(number <= most for number, most in loads)
    assert len([text for text in flows if not re.search(r"\+0x6[45]\w\w\b", text)]) == 16
    page = " ".join((LOGS.parents[1] / "README.md").read_text().split())
    assert "sixteen of its eighteen reports set one store beside at most four loads" in page
    for name in ("h100_cluster", "h100_strips", "h100_noted", "h200"):
        stopped = (LOGS / f"racecheck_{name}.log").read_text()
        assert set(re.findall(r"kernels::(\w+)::\w+", stopped)) == {"integers"}
        assert "conclude" not in stopped
    for tool in ("memcheck", "synccheck", "initcheck"):
        assert "158 answers, every one proved" in (LOGS / f"{tool}_h200.log").read_text()
    assert "158 proved answers" in page


def test_the_other_tools_name_no_access_of_a_kernel():
    """A function's name that the driver refuses is an error of the interface; so is a copy."""
    memcheck = (LOGS / "memcheck_h200.log").read_text()
    refused = memcheck.count("Program hit CUDA_ERROR_INVALID_VALUE")
    assert refused == memcheck.count("cuGetProcAddress_v2.")
    assert f"ERROR SUMMARY: {refused} errors" in memcheck
    page = " ".join((LOGS.parents[1] / "README.md").read_text().split())
    assert f"memcheck reports {refused} calls in which the driver refused to name" in page
    assert "ERROR SUMMARY: 0 errors" in (LOGS / "synccheck_h200.log").read_text()
    initcheck = (LOGS / "initcheck_h200.log").read_text()
    printed = initcheck.count("Uninitialized access to")
    assert printed == initcheck.count("on access by cudaMemcpy source") > 0
