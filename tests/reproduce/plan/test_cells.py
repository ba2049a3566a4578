"""Plans: shared cells, filters, estimates."""

import json
from dataclasses import replace

import pytest

from papers.common.instances import is_permuted
from papers.common.model import Cell, Experiment, Instance, Plan
from papers.reproduce.plan import cells as plan
from papers.reproduce.plan.cells import Job
from papers.reproduce.plan.pace import PACE
from papers.reproduce.plan.seeds import SeedRule
from papers.reproduce.registry import UsageError

QUICK = Plan("quick", gpu=False, seeds=(1,))


def instance(n=8, label="n", seed=1, **params):
    return Instance("uniform", n, label, tuple(params.items()), seed)


def experiment(name, *cells, unavailable=""):
    return "toy", Experiment(name, name, "table", lambda _: cells, None, unavailable=unavailable)


def test_shared_cells_merge_scopes_repeats_and_readers():
    first = experiment("a", Cell("toy:x", instance(), ("end_to_end",), repeats=3))
    second = experiment("b", Cell("toy:x", instance(), ("steps", "run")))
    (job,) = plan.jobs([first, second], QUICK)
    assert job.cell.scopes == ("run", "end_to_end", "steps")
    assert job.cell.repeats == 3
    assert job.experiments == ("toy:a", "toy:b")


def test_options_make_another_cell():
    cells = [Cell("toy:x", instance(), options=(("step4", s),)) for s in "AB"]
    assert len(plan.jobs([experiment("a", *cells)], QUICK)) == 2


def test_one_key_for_two_instances_is_an_error():
    cells = [Cell("toy:x", instance(cost_range=r)) for r in (8, 9)]
    with pytest.raises(ValueError, match="two instances share the key"):
        plan.jobs([experiment("a", *cells)], QUICK)


def test_an_option_that_a_cell_has_twice_is_an_error():
    """Planted: a way of exchange came behind the default one, and the cell was another one."""
    cell = Cell("toy:x", instance(), options=(("exchange", "gather"), ("exchange", "peers")))
    with pytest.raises(ValueError, match="has an option twice"):
        plan.jobs([experiment("a", cell)], QUICK)


def test_small_first_and_unavailable_left_out():
    cells = [Cell("toy:x", instance(n)) for n in (32, 8, 16)]
    jobs = plan.jobs([experiment("a", *cells), experiment("b", cells[0], unavailable="no")], QUICK)
    assert [job.cell.instance.n for job in jobs] == [8, 16, 32]
    assert all(job.experiments == ("toy:a",) for job in jobs)


def test_repeats_of_the_command_line_win():
    (job,) = plan.jobs([experiment("a", Cell("toy:x", instance(), repeats=9))], QUICK, repeats=2)
    assert job.cell.repeats is None
    assert (PACE["paper"].exactly(2).repeats, PACE["paper"].exactly(None)) == (2, PACE["paper"])


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        (["n=8"], 2),
        (["n=8", "n=16"], 4),
        (["n=8,16"], 4),
        (["n=8, 16", "range=0.1n"], 2),
        (["n=8", "range=0.1n"], 1),
        (["label=0.1n"], 2),
        (["solver=x"], 4),
        (["solver=toy:x"], 4),
        (["family=uniform", "seed=1"], 4),
    ],
)
def test_only(words, kept):
    cells = [Cell("toy:x", instance(n, label)) for n in (8, 16) for label in ("n", "0.1n")]
    jobs = plan.jobs([experiment("a", *cells)], QUICK)
    assert len(plan.select(jobs, plan.parse_only(words))) == kept


@pytest.mark.parametrize(
    ("word", "kept"),
    [("storage=host", 2), ("storage=host,strips", 3), ("permuted=yes", 1), ("permuted=no", 2)],
)
def test_only_by_storage_and_permutation(word, kept):
    found = [instance(), Instance("uniform", 8, "n", storage="strips"),
             Instance("kron", 8, "logn3", permuted=True)]  # fmt: skip
    jobs = plan.jobs([experiment("a", *(Cell("toy:x", one) for one in found))], QUICK)
    assert len(plan.select(jobs, plan.parse_only([word]))) == kept
    with pytest.raises(UsageError, match="storage=device: the plan has storage host, strips"):
        plan.select(jobs, plan.parse_only(["storage=device"]))


def test_a_permuted_graph_comes_right_behind_its_own():
    found = [Instance("kron", 8, label, seed=seed, permuted=permuted)
             for permuted in (True, False) for seed in (1, 2) for label in ("a", "b")]  # fmt: skip
    jobs = plan.jobs([experiment("a", *(Cell("toy:x", one) for one in found))], QUICK)
    sorted_ = [job.cell.instance for job in jobs]
    for first, second in zip(sorted_[::2], sorted_[1::2], strict=True):
        assert is_permuted(first, second)


def test_only_says_what_there_is():
    jobs = plan.jobs([experiment("a", *(Cell("toy:x", instance(n)) for n in (128, 16)))], QUICK)
    with pytest.raises(UsageError, match="n=8: the plan has n 16, 128"):
        plan.select(jobs, plan.parse_only(["n=16", "n=8"]))


def test_only_without_a_common_cell():
    jobs = plan.jobs(
        [experiment("a", Cell("toy:x", instance(8)), Cell("toy:y", instance(9)))], QUICK
    )
    with pytest.raises(UsageError, match="no cell has all"):
        plan.select(jobs, plan.parse_only(["n=8", "solver=y"]))


def test_plans_survive_json():
    params = (("cost_range", 8), ("shape", (2, 3)), ("nested", ((1, "a"), ())))
    cell = Cell("toy:x", Instance("f", 8, "n", params, 2), ("run",), (("step4", "A"),), 3)
    jobs = [Job(cell, ("toy:a", "toy:b"), ("toy:b",))]
    assert plan.from_json(json.loads(json.dumps(plan.to_json(jobs)))) == jobs


# ------------------------------------------------------------------------------- groups


def interleaved(name, *cells):
    paper, made = experiment(name, *cells)
    return paper, replace(made, interleaved=True)


def grouped(*experiments):
    found = plan.groups(plan.jobs(experiments, QUICK))
    return [[job.cell.solver[4:] + str(job.cell.instance.n) for job in group] for group in found]


def test_cells_of_an_interleaved_experiment_take_turns_by_instance():
    cells = [Cell(f"toy:{name}", instance(n)) for n in (8, 16) for name in "ab"]
    assert grouped(experiment("e", *cells)) == [["a8"], ["b8"], ["a16"], ["b16"]]
    assert grouped(interleaved("e", *cells)) == [["a8", "b8"], ["a16", "b16"]]


def test_shared_cells_join_groups_and_a_reader_that_needs_none_does_not():
    a, b, c, d = (Cell(f"toy:{name}", instance()) for name in "abcd")
    assert grouped(interleaved("e", a, b), experiment("f", a, b, c)) == [["a8", "b8"], ["c8"]]
    joined = grouped(interleaved("e", a, b), interleaved("f", c, d), interleaved("g", d, a))
    assert joined == [["a8", "b8", "c8", "d8"]]


def test_cells_for_other_numbers_of_ranks_are_another_group():
    cells = [
        Cell(f"toy:{name}", instance(), options=(("ranks", ranks),))
        for ranks in (2, 4)
        for name in "ab"
    ]
    assert grouped(interleaved("e", *cells)) == [["a8", "b8"], ["a8", "b8"]]


def test_seeds_that_nothing_has_are_told():
    jobs = plan.jobs([experiment("a", Cell("toy:x", instance(seed=7)))], QUICK)
    assert plan.unused_seeds(jobs, (7, 8)) == [8]


# ------------------------------------------------------------------------------- further seeds


def test_further_seeds_of_a_long_cell_are_skipped_with_the_reason():
    cells = [Cell(f"toy:{name}", instance(seed=seed)) for seed in (3, 1, 2) for name in "ab"]
    jobs = plan.jobs([experiment("e", *cells)], QUICK)
    rule = SeedRule(jobs, 10.0)
    rule.learn("toy:a/uniform/n=8/range=n/seed=1", [("run", "time_ms", 10_001.0)])
    rule.learn("toy:b/uniform/n=8/range=n/seed=1", [("run", "time_ms", 9_999.0)])
    rule.learn("toy:b/uniform/n=8/range=n/seed=2", [("run", "time_ms", 99_999.0)])  # not the first
    skipped = {job.key: rule.reason(job) for job in jobs if rule.reason(job)}
    assert set(skipped) == {f"toy:a/uniform/n=8/range=n/seed={seed}" for seed in (2, 3)}
    assert "seed 1 took 10 s a run" in skipped["toy:a/uniform/n=8/range=n/seed=2"]


@pytest.mark.parametrize(("metric", "is_long"), [("gave_up_ms", True), ("search_ms", False)])
def test_a_cell_that_gave_up_after_long_is_long(metric, is_long):
    cells = [Cell("toy:a", instance(seed=seed)) for seed in (1, 2)]
    jobs = plan.jobs([experiment("e", *cells)], QUICK)
    rule = SeedRule(jobs, 10.0)
    rule.learn(jobs[0].key, [("run", metric, 20_000.0)])
    assert bool(rule.reason(jobs[1])) is is_long
    assert rule.reason(jobs[0]) == ""
