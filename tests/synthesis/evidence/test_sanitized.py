"""What the sanitizer runs: every kernel, every answer proved, in the executor."""

import csv
import importlib
import inspect
import pkgutil
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

import papers
from papers.common.gpu import device, launch
from papers.common.gpu.signatures import argument_types, names_element
from papers.lupinska_costscale.flow.kernels import tile_search
from papers.synthesis.assignment import launches, pool, solver
from papers.synthesis.assignment.kernels import rounds, search
from papers.synthesis.assignment.kernels.grid import chains, near
from papers.synthesis.assignment.settings import CLUSTERED, Settings
from papers.synthesis.evidence import sanitized

LOGS = Path(papers.__file__).parent / "synthesis/results/sanitizer"
KERNELS = {"rounds": rounds, "search": search, "chains": chains, "tile_search": tile_search}


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


PARTS = (LOGS / "racecheck_h200_parts.log").read_text()
SITE = re.compile(r"(Read|Write) access at .*?kernels::(\w+)::.*\+(0x[0-9a-f]+)")


def reports(text):
    """What a log of racecheck reports: for each access the others, as (kind, kernel, offset)."""
    found = []
    for line in text.splitlines():
        (place,) = SITE.findall(line) or [None]
        if "Race reported" in line:
            found.append((place, []))
        elif place:
            found[-1][1].append(place)
    return found


def test_every_race_of_the_log_is_told():
    """Each pair of accesses that racecheck names stands in the table, and no other does."""
    named = reports(PARTS)
    assert len(named) == PARTS.count("Race reported") > 30
    pairs = {(one, other) for one, others in named for other in others}
    with (LOGS / "racecheck_pairs.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    told = {
        tuple((line[name], line["kernel"], line[f"{name}_at"]) for name in ("first", "second"))
        for line in lines
    }
    assert told == pairs
    assert len(told) == len(lines)
    found_by = {(line["kernel"], line["found_by"]) for line in lines}
    assert found_by == {
        ("each_integers", "offset"), ("integers", "offset"), ("one_launch", "order")
    }  # fmt: skip
    for line in lines:
        module, function = line["function"].split(".")
        found = getattr(KERNELS[module], function)
        code = inspect.getsource(getattr(found, "py_func", found))
        for access in (line["what_is_read"], line["what_is_written"]):
            *inner, access = access.split(": ")  # NAME: of a function that this one calls
            access, *_ = re.split(" of a| at the | as an ", access)
            if inner:
                assert f"def {inner[0]}(" in inspect.getsource(KERNELS[module])
                assert access in inspect.getsource(KERNELS[module])
            else:
                assert access.removesuffix(" = groups with a row") in code
        if module in ("rounds", "search"):  # in a chain one order alone is possible
            assert code.count("Race:") == 1


def test_looks_at_neighbours_are_set_beside_one_store():
    """Reports of the cuts' kernel: one store, and no more looks than a pixel has neighbours."""
    flows = [
        re.findall(r"(Read|Write) access at .*relabel_tiles_(\d)\(.*\+0x(\w+)", text)
        for text in PARTS.split("Race reported")
        if "relabel_tiles" in text
    ]
    assert len(flows) == 18
    for (kind, neighbours, at), *others in flows:
        assert kind == "Write"
        assert 0 < len(others) <= int(neighbours)
        for other, same, place in others:
            assert (other, same) == ("Read", neighbours)
            assert int(place, 16) < int(at, 16)


def test_the_page_says_how_far_racecheck_came():
    page = " ".join((LOGS.parents[1] / "trust/README.md").read_text().split())
    parts = dict(part.split("\n", 1) for part in PARTS.split("\n== ")[1:])
    proved = {name: re.findall(r"^(\w+) \(\d+.* proved, ", text, re.MULTILINE)
              for name, text in parts.items()}  # fmt: skip
    stopped = {name for name, text in parts.items() if "stopped" in text.splitlines()}
    assert stopped == {
        "assignments((40,))", "assignments((130,))", "on_device(40)", "in_turns(270)",
        "by_marks(150)", "the matrix 6 of in_strips()",
    }  # fmt: skip
    for name in parts.keys() - stopped:
        assert parts[name].count("ended after") == 1
        assert "RACECHECK SUMMARY" in parts[name]
    of = {name: [*proved[name]] for name in stopped if " of " not in name}
    for (
        part,
        kinds,
    ) in proved.items():  # "the matrix 0 of by_marks(150)", "... on_device(40): float64"
        whole = part.partition(":")[0].partition(" of ")[2]
        if whole in of:
            of[whole] += kinds
    assert [len(of[name]) for name in ("assignments((40,))", "in_turns(270)")] == [7, 3]
    assert Counter(of["on_device(40)"]) == {
        "int32": 2, "int64": 4, "float32": 2, "float64": 2
    }  # fmt: skip
    assert Counter(of["by_marks(150)"]) == {"int64": 1 + 4, "float64": 2}
    assert len(of["assignments((130,))"]) == 3
    assert "of `assignments((130,))` three of seven matrices were solved" in page
    strips = [one for name in parts if "in_strips" in name for one in proved[name]]
    assert Counter(strips) == {"int32": 2, "float64": 1 + 3}
    assert "of `in_strips()` all but the last two, of 1,074 a side" in page
    assert CLUSTERED + 50 == 1074
    bare = [
        kind for name in parts if name.startswith("launches.STRIP_BYTES") for kind in proved[name]
    ]
    assert set(bare) == {"int32", "int64", "float64"}
    whole = (LOGS / "racecheck_h100.log").read_text()
    named = {kernel for (_, kernel, _), _ in reports(whole)}
    assert named == {"each_floats", "each_integers", "integers", "one_launch"}
    by_lines = (LOGS / "racecheck_h200.log").read_text()
    assert {kernel for (_, kernel, _), _ in reports(by_lines)} == {"integers"}
    for tool in ("memcheck", "synccheck", "initcheck"):
        assert "158 answers, every one proved" in (LOGS / f"{tool}_h200.log").read_text()
    assert "158 proved answers" in page


def test_the_other_tools_name_no_access_of_a_kernel():
    """A function's name that the driver refuses is an error of the interface; so is a copy."""
    memcheck = (LOGS / "memcheck_h200.log").read_text()
    refused = memcheck.count("Program hit CUDA_ERROR_INVALID_VALUE")
    assert refused == memcheck.count("cuGetProcAddress_v2.")
    assert f"ERROR SUMMARY: {refused} errors" in memcheck
    page = " ".join((LOGS.parents[1] / "trust/README.md").read_text().split())
    assert f"memcheck reports {refused} calls in which the driver refused to name" in page
    assert "ERROR SUMMARY: 0 errors" in (LOGS / "synccheck_h200.log").read_text()
    initcheck = (LOGS / "initcheck_h200.log").read_text()
    printed = initcheck.count("Uninitialized access to")
    assert printed == initcheck.count("on access by cudaMemcpy source") > 0


def test_the_page_says_which_strip_was_given_under_racecheck():
    log = (LOGS / "racecheck_h200_strip.log").read_text(encoding="utf-8")
    given = re.findall(r"^(\w+) \((\d+), (\d+)\) strip \['(\w+)'\] launch True", log, re.MULTILINE)
    assert given == [("int32", "650", "700", "narrow"), ("float64", "650", "700", "nowhere")]
    page = (LOGS.parents[1] / "trust/README.md").read_text(encoding="utf-8")
    said = "At 650 x 700 the solver asks for narrow strips first and gets them under racecheck, too"
    assert f"{said} (`racecheck_h200_strip.log`" in page
