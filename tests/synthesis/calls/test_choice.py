"""The table of solvers: every rule stands on a record, and every rule is reached."""

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import papers
from papers.reproduce.report import readme, values
from papers.reproduce.run import packed
from papers.synthesis.calls import assignment as calls
from papers.synthesis.calls import choice
from papers.synthesis.calls.choice import Question, choose, rules, solver_of

HOME = Path(papers.__file__).parent


def mean_of(ratios):
    """The geometric mean."""
    return float(np.exp(np.log(ratios).mean()))


def fault_of(rule):
    """The reason why a rule may not stand in the table, or ""."""
    if rule.solver != "scipy" and solver_of(rule.solver).problem != rule.problem:
        return "solves another problem"
    if not rule.reason:
        return "has no reason"
    if rule.runs_on.startswith("cpu"):
        return "" if not rule.record else "a measurement of a CPU is in the commit, not in a record"
    paper = rule.record.partition("/")[0]
    path = packed.in_folder(HOME / rule.record)
    if not path.is_file():
        return f"{path} is no record of {paper}"
    recorded = set(pd.read_csv(path, usecols=["solver"]).solver)
    batches = (":batch_of_many", ":batch_of_seeds")
    names = {rule.solver, *(rule.solver.replace(":batch", other) for other in batches)}
    return "" if names & recorded else f"{rule.record} has not measured {rule.solver}"


def test_every_rule_for_a_gpu_names_a_record_that_has_measured_its_solver():
    assert {rule.solver: fault_of(rule) for rule in rules() if fault_of(rule)} == {}


SAID = (
    ("{} ms run at n = 8192 and a range of 10n, kawtikwar_opts:opt4 {};",
     "uniform dense_ms n=8192 cost_range=10n digits=2",
     "uniform opt4_ms n=8192 cost_range=10n digits=2"),
    ("{} to {} at n = 20000", "uniform min(dense_ms) n=20000 digits=1",
     "uniform max(dense_ms) n=20000 digits=2"),
    ("{} to {} s run at n = 100000", "large min(dense_ms) digits=1 scale=0.001",
     "large max(dense_ms) digits=1 scale=0.001"),
    ("take {} to {} ms end to end, SciPy in a loop {} to {};",
     "batches min(end_to_end_ms) n=32 digits=2", "batches max(end_to_end_ms) n=32 digits=2",
     "batches min(scipy_loop_ms) n=32 digits=2", "batches max(scipy_loop_ms) n=32 digits=2"),
    ("16 of 1024 x 1024 {} to {} and {} to {}",
     "batches min(end_to_end_ms) n=1024 problems=16 digits=3",
     "batches max(end_to_end_ms) n=1024 problems=16 digits=3",
     "batches min(scipy_loop_ms) n=1024 problems=16 digits=3",
     "batches max(scipy_loop_ms) n=1024 problems=16 digits=3"),
    ("{} to {} ms end to end at n = 512, lapx's lapjv {} to {};",
     "uniform min(end_to_end_ms) n=512 digits=1", "uniform max(end_to_end_ms) n=512 digits=2",
     "uniform min(lapjv_ms) n=512 digits=2", "uniform max(lapjv_ms) n=512 digits=2"),
    ("1000 and 2000 {} to {}, the best",
     "families min(end_to_end_ms) family=structured n=1000;2000 digits=2",
     "families max(end_to_end_ms) family=structured n=1000;2000 digits=2"),
    ("{} to {} ms end to end at n = 1000 on six families, SciPy {} to {};",
     *(f"families {which}({name}_ms) family=floats n=1000 digits=2"
       for name in ("end_to_end", "scipy") for which in ("min", "max"))),
    ("200 x 2000 takes {} ms end to end, SciPy {}; 1000 x 3000 {} and {}; 3 x 7000 {} and {}",
     *(f"families {name}_ms costs={costs} digits=2"
       for costs in ("200x2000", "1000x3000", "3x7000") for name in ("end_to_end", "scipy"))),
    ("takes {} to {} of PyMaxflow's time on the 18", "cuts min(over_best) family=grid_cut digits=2",
     "cuts max(over_best) family=grid_cut digits=2"),
)  # fmt: skip
"""Words of the reasons, and where the synthesis' record has the figures between them."""


def test_the_reasons_have_the_record_s_figures():
    tables = readme._Recorded("synthesis").table
    reasons = " | ".join(rule.reason for rule in rules() if rule.record)
    figures = [words.format(*(values.value(mark, tables) for mark in marks))
               for words, *marks in SAID]  # fmt: skip
    assert [words for words in figures if words not in reasons] == []


def test_a_reason_has_the_best_codes_of_others_on_a_cpu():
    theirs = pd.read_csv(HOME / "synthesis/published/families_peers.csv")
    theirs = theirs[(theirs["device"] == "NVIDIA H200") & theirs["peer"].str.contains("guthe-cpu")]
    runs = pd.read_csv(packed.in_folder(HOME / "synthesis/results/nvidia-h200"))
    runs = runs[(runs["metric"] == "time_ms") & (runs["family"] == "structured")]
    runs = runs[runs["solver"].isin([f"synthesis:{code}" for code in ("scipy", "lapjv", "lapjvs")])]
    ours = runs.groupby(["label", "n", "solver"])["value"].median().reset_index()
    both = pd.concat(
        [theirs[["label", "n", "solve_ms"]], ours.rename(columns={"value": "solve_ms"})]
    )
    best = both[both["n"].isin([1000, 2000])].groupby(["label", "n"])["solve_ms"].min()
    best = best[~best.index.get_level_values("label").str.contains("colour|patch")]
    reasons = " | ".join(rule.reason for rule in rules() if rule.record)
    assert f"of others on a CPU {best.min():.1f} to {best.max():.0f};" in reasons


def test_the_readme_s_table_is_the_rules():
    """Each size of the table, and one below it, as the rules for a machine with a GPU answer.

    Where one core has none, SciPy has all below.
    """
    page = (HOME / "synthesis/README.md").read_text(encoding="utf-8").splitlines()
    lines = [
        line.strip("| ").split(" | ") for line in page if " memory |" in line or "either" in line
    ]
    lines = [line for line in lines if line[0].startswith(("square", "rectangle", "batch"))]
    assert len(lines) == 8
    for matrix, _, where, core, gpu, solver, most in lines:
        shape, _, kind = matrix.partition(", ")
        types = {"integers": ("int32", "int64"), "floats": ("float32", "float64"),
                 "int32": ("int32",), "int64": ("int64",),
                 "other types": ("int64", "float64")}  # fmt: skip
        for dtype in types.get(kind, ("int32", "float64")):
            for place in ("host", "device") if where == "either" else (where.split()[0],):

                def asked(size, shape=shape, dtype=dtype, place=place):
                    traits = frozenset({"maximize"} if place == "device" else ())
                    question = Question("assignment", shape, size, dtype, place, traits)
                    return choice.rule_for(question, ("gpu", "cpu")).solver

                assert asked(int(gpu if core == "none" else core) - 1) == "scipy"
                if core != "none":
                    assert asked(int(core)) == asked(int(gpu) - 1) == "synthesis:one_core"
                assert asked(int(gpu)) == solver.strip("`")
                if shape == "batch":
                    assert most == f"{calls.BATCH_SIDE} a side"
                else:
                    end = int(most.replace(",", ""))
                    assert asked(end) == solver.strip("`") != asked(end + 1)


def test_a_stack_goes_where_it_was_faster():
    """Integers; stacks of floats with short sides are slower there up to 8000 lines."""
    times = pd.read_csv(HOME / "synthesis/evidence/carrying/stacks.csv")
    times["ratio"] = times["batch_us"] / times["one_core_us"]
    integers, floats = (times[times["dtype"] == kind] for kind in ("int32", "float64"))
    assert set(integers["n"]) == {8, 16, 32, 64, 96, 128}
    assert set(integers["place"]) == {"host", "device"}
    assert integers.query("lines >= 2000")["ratio"].max() < 1
    few = integers[integers["lines"] == 500].groupby("place")["ratio"].apply(mean_of)
    some = integers.query("lines == 1000").groupby("place")["ratio"].apply(mean_of)
    assert few.min() > 1.1
    assert some["host"] > 1.1
    page = (HOME / "synthesis/README.md").read_text()
    assert f"take {few['device']:.2f} of the loop's time at 500 lines and as long at" in page
    assert f"{some['device']:.2f}" == "1.00"
    there = floats[floats["place"] == "device"]
    assert (there.query("lines >= 4000")["ratio"] < 1).all()
    host = floats[floats["place"] == "host"]
    assert (host.query("n <= 16 and 4000 <= lines <= 8000")["ratio"] > 1).all()
    assert host.query("4000 <= lines <= 8000")["ratio"].max() < 1.5


def test_faulty_rules_are_found():
    """Planted: a missing record, a record of other solvers, another problem, no reason."""
    rule = rules()[0]
    other = "lopes2019/results/sanitizer"
    assert "is no record" in fault_of(replace(rule, record=other))
    assert "has not measured" in fault_of(replace(rule, solver="lopes2019:cpu_o3"))
    assert "another problem" in fault_of(replace(rule, problem="flow"))
    assert "no reason" in fault_of(replace(rule, reason=""))


def questions():
    """Questions of all kinds."""
    for limited in map(frozenset, ((), ("limited",), ("flow",), ("rounded",), ("middling",))):
        for size in (5, 64, 300, 2500, 2000000, 12000, 30000, 25000, 70000):
            for place in ("host", "device"):
                for shape in ("square", "rectangle", "batch"):
                    for kind in ("int32", "int64", "float64"):
                        for span in (5.0, 900.0):
                            yield Question(
                                "assignment", shape, size, kind, place, limited, lambda s=span: s
                            )
                yield Question("matching", "graph", size, "any", place, limited)
                for shape in ("grid", "network"):
                    for wide in (True, False):
                        also = {"wide": lambda w=wide: w, "seeded": lambda w=wide: w}
                        yield Question("flow", shape, size, "any", place, limited, also=also)


@pytest.mark.parametrize("package", [True, False])
def test_every_rule_is_reached_and_every_question_has_one(monkeypatch, package):
    """With and without PyMaxflow; a rule behind another that takes all it takes is dead."""
    monkeypatch.setattr(choice, "_installed", lambda name: package)
    reached = set()
    for gpu in (True, False):
        monkeypatch.setattr(choice, "_has_gpu", lambda gpu=gpu: gpu)
        for question in questions():
            for device in ("auto", "cpu", "gpu")[: 3 if gpu else 2]:
                reached.add(choose(question, device).reason)
    said = {rule.reason + (f" [papers/{rule.record}]" if rule.record else "") for rule in rules()
            if package or not rule.package}  # fmt: skip
    assert reached == said
    home = Path(papers.__file__).parents[1]
    for reason in said:
        for named in re.findall(r"[\w./-]*(?:results|evidence)/[\w./-]*\w", reason):
            assert named.startswith("papers/"), reason
            assert (home / named).exists(), reason


@pytest.mark.parametrize(
    ("question", "solver"),
    [
        (Question("assignment", "square", 2048, "int64", span=lambda: 10.0), "synthesis:dense"),
        (Question("assignment", "square", 25_000, "int64"), "datenagi2016:tree"),
        (Question("assignment", "square", 48, "int32", "device"), "synthesis:dense"),
        (Question("assignment", "square", 47, "int32", "device"), "scipy"),
        (Question("assignment", "square", 128, "int64", "device"), "synthesis:dense"),
        (Question("assignment", "square", 127, "int64", "device"), "synthesis:one_core"),
        (Question("assignment", "square", 112, "float64", "device"), "synthesis:dense"),
        (Question("assignment", "square", 111, "float64", "device"), "scipy"),
        (Question("assignment", "square", 30_000, "int32", "device"), "synthesis:dense"),
        (Question("assignment", "square", 256, "int32"), "synthesis:dense"),
        (Question("assignment", "square", 255, "int32"), "synthesis:one_core"),
        (Question("assignment", "square", 191, "float64"), "synthesis:one_core"),
        (Question("assignment", "square", 192, "float64"), "synthesis:dense"),
        (Question("assignment", "rectangle", 3000, "int32"), "synthesis:dense"),
        (Question("assignment", "rectangle", 199, "float64"), "synthesis:one_core"),
        (Question("assignment", "rectangle", 99, "float64"), "scipy"),
        (Question("assignment", "rectangle", 3, "int32"), "scipy"),
        (
            Question("assignment", "rectangle", 3, "int32", traits=frozenset({"middling"})),
            "synthesis:one_core",
        ),
        (Question("assignment", "square", 111, "float64"), "scipy"),
        (
            Question("assignment", "square", 127, traits=frozenset({"limited"})),
            "synthesis:one_core",
        ),
        (Question("assignment", "square", 400, traits=frozenset({"rounded"})), "lopes2019:cpu_sp"),
        (Question("assignment", "batch", 4000, "int64"), "synthesis:batch"),
        (Question("matching", "graph", 100_000), "deveci_matching:beyond"),
        (Question("matching", "graph", 99_999), "deveci_matching:hk"),
        (Question("matching", "graph", 10**7, traits=frozenset({"dense"})), "deveci_matching:hk"),
        (Question("flow", "grid", 256 * 256 + 2), "lupinska_costscale:gpu_relabel"),
        (
            Question("flow", "grid", 400_002, traits=frozenset({"seeded", "limited"})),
            "lupinska_costscale:push_relabel",
        ),
        (
            Question("flow", "grid", 128 * 128 + 2, traits=frozenset({"limited"})),
            "lupinska_costscale:push_relabel",
        ),
    ],
)
def test_the_table_decides_on_a_gpu(monkeypatch, question, solver):
    monkeypatch.setattr(choice, "_has_gpu", lambda: True)
    assert choose(question).solver == solver


def test_a_gpu_is_woken_for_its_solvers_alone(monkeypatch):
    monkeypatch.setattr(choice, "_has_gpu", lambda: True)
    woken = []
    monkeypatch.setattr(choice.waking, "begin", lambda: woken.append(1))
    assert choose(Question("matching", "graph", 99_999)).solver == "deveci_matching:hk"
    assert woken == []
    assert choose(Question("matching", "graph", 100_000)).solver == "deveci_matching:beyond"
    assert woken == [1]


CALLS = {
    "costs = np.zeros((300, 300), np.int32)": (
        "papers.linear_sum_assignment(costs)", "early numba.cuda"
    ),
    "costs = np.zeros((100, 64, 64))": (
        "papers.linear_sum_assignment(costs)", "early numba.cuda"
    ),
    "costs = np.zeros((300, 3))": ("papers.linear_sum_assignment(costs)", None),
    "costs = np.zeros((20, 20, 20))": ("papers.linear_sum_assignment(costs)", None),
    "costs = np.zeros((300, 300), np.int64)": (
        "papers.linear_sum_assignment(costs, device='cpu')", None
    ),
    "graph = csr_array(np.tile(np.arange(30_000) % 7 < 1, (30, 1)))": (
        "papers.maximum_bipartite_matching(graph)", "early numba"
    ),
    "costs = np.zeros((400, 400), np.int32)": (
        "papers.linear_sum_assignment(costs, solver='scipy')", None
    ),
    "costs = np.zeros((200, 60, 60), np.int32)": (
        "papers.linear_sum_assignment(costs, solver='synthesis:one_core')", None
    ),
    "costs = np.zeros((40, 40))": (
        "papers.linear_sum_assignment(costs, solver='synthesis:dense')", "early numba.cuda"
    ),
    "costs = np.zeros((50, 50))": (
        "papers.linear_sum_assignment(costs, device='gpu')", "early numba.cuda"
    ),
    "graph = csr_array(np.ones((30, 30)))": ("papers.maximum_bipartite_matching(graph)", None),
    "image = np.ones((300, 300), np.int32)": (
        "papers.grid_cut(image, image, 1)", "early numba.cuda"
    ),
    "image = np.ones((30, 30), np.int32)": ("papers.grid_cut(image, image, 1)", None),
}  # fmt: skip
"""First calls, and what of Numba each imports before it waits for the driver; "early": nothing of
it was there when the driver began."""

FIRST_CALL = """
import sys, numpy as np, papers
from scipy.sparse import csr_array
from papers.common.gpu import device
from papers.common.gpu.compiled import waking
{given}
def hasten(modules="numba.cuda"):
    print("late" if "numba" in sys.modules else "early", modules)
waking.hasten = hasten
def asked():
    print("asked")
    raise SystemExit
device.gpu_present = asked
{call}
"""


def test_the_gpu_is_woken_before_numba_is_loaded():
    """Its context is made beside the import: on a machine with a GPU twice, `expect` is first."""
    code = """
import sys, numpy as np
from papers.synthesis.calls import choice, one_matrix, places
choice._has_gpu = lambda: True
choice.waking.begin = lambda: print("numba" in sys.modules)
cost = np.random.default_rng(1).integers(0, 300, (300, 300))
wishes = one_matrix.Wishes(False, False, None, "auto", None, False)
print(one_matrix._choice(places.place(cost), wishes).solver)
"""
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    *loaded, solver = told.stdout.split()
    assert solver == "synthesis:dense"
    assert 1 <= len(loaded) <= 2
    assert set(loaded) == {"False"}


@pytest.mark.parametrize("given", CALLS)
def test_the_driver_starts_while_numba_is_imported_if_a_gpu_would_be_asked(given):
    call, modules = CALLS[given]
    told = subprocess.run(
        [sys.executable, "-c", FIRST_CALL.format(given=given, call=call)],
        capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    asked = ["asked"] * ("device='cpu'" not in call)
    assert told == ([] if modules is None else modules.split()) + asked


def test_a_process_asks_once_whether_to_hasten():
    """A small call would look through the rules twice else, each time."""
    code = """
import numpy as np, papers
from papers.synthesis.calls import choice, one_matrix
asked, question_of = [], one_matrix.question_of
one_matrix.question_of = lambda *given: asked.append(1) or question_of(*given)
for n in (3, 3, 4, 4):
    papers.linear_sum_assignment(np.ones((n, n)))
print(len(asked))
"""
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.split() == ["3"]  # to hasten, of each size; then a choice is remembered


def test_nothing_starts_beside_a_device_that_was_selected(monkeypatch):
    started = []
    monkeypatch.setattr(choice.waking, "is_asleep", lambda: True)
    monkeypatch.setattr(choice.waking, "hasten", started.append)
    question = Question("matching", "graph", 10**6)
    monkeypatch.setattr(choice, "_is_settled", lambda: True)
    choice.expect("auto", None, lambda: question)
    assert started == []
    monkeypatch.setattr(choice, "_is_settled", lambda: False)
    choice.expect("auto", None, lambda: question)
    choice.expect("gpu", None, lambda: question, "numba")
    choice.expect("cpu", None, lambda: question)
    choice.expect("auto", "deveci_matching:hk", lambda: question)
    assert started == ["numba.cuda", "numba"]


def test_unknown_devices_and_solvers_are_named():
    question = Question("assignment", "square", 9)
    with pytest.raises(ValueError, match="device='tpu'"):
        choose(question, "tpu")
    with pytest.raises(RuntimeError, match="no CUDA GPU"):
        choose(question, "gpu")
    for name in ("nobody:gpu", "lopes2019:none", "common:x", ""):
        with pytest.raises(ValueError, match="no solver"):
            choose(question, solver=name)
    with pytest.raises(ValueError, match="solves no assignment"):
        choose(question, solver="deveci_matching:hk")


def test_a_table_of_other_columns_is_refused(tmp_path):
    table = tmp_path / "choices.csv"
    table.write_text("problem,solver\nassignment,scipy\n")
    with pytest.raises(ValueError, match="columns"):
        rules(table)
