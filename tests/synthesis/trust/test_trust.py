"""The script that tries all calls: what it draws, what it notices, and how it goes on."""

import csv
import itertools
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from nightly import first
from scipy.sparse import csr_array

import papers
from papers.common.model import Matching
from papers.synthesis.assignment import pairs, pool
from papers.synthesis.calls import expansion, repeated
from papers.synthesis.trust import __main__ as command
from papers.synthesis.trust import drawing, running, solving
from papers.synthesis.trust.drawing import CALLS, Class, class_of, task_of
from papers.synthesis.trust.running import COLUMNS, Counts, Run, Table, Worker
from papers.synthesis.trust.solving import Solved, solve

HOME = Path(papers.__file__).parent / "synthesis"
LARGEST = 24


def tasks(numbers=range(400)):
    return (task_of(5, number, LARGEST, gpu=False) for number in numbers)


def task_with(call="linear_sum_assignment", **wanted):
    """The first task of a call whose class has these parts, and whose matrix is no single pair."""
    for task in tasks(range(3000)):
        fits = all(getattr(task.of, name) == value for name, value in wanted.items())
        if task.call.name == call and fits:
            big = call != "linear_sum_assignment" or min(task.data.shape) > 2
            if big:
                return task
    raise AssertionError(wanted)


@pytest.mark.parametrize("number", first(3, range(60)))
def test_every_solve_is_right(number):
    """A few dozen by night, three by day; the next test has one of each call."""
    assert solve(task_of(2, number, LARGEST, gpu=False)).right


@pytest.mark.parametrize("call", [call.name for call in CALLS])
def test_every_call_is_tried_and_right(call):
    task = next(task for task in tasks() if task.call.name == call and task.feasible
                and solving.limit_of(task) != solving.SHORT_S)  # fmt: skip
    outcome = solve(task)
    assert (outcome.right, outcome.reason) == (True, "")


def test_draws_are_the_same_whoever_asks_and_cover_all_classes():
    drawn = [class_of(3, number) for number in range(3000)]
    assert {call.name for _, call in drawn} == {call.name for call in CALLS}
    assert {of.family for of, _ in drawn} >= {*drawing.MATRICES, *drawing.GRAPHS, *drawing.GRIDS}
    assert {of.dtype for of, _ in drawn} >= {"bool", "int8", "int32", "int64", "float32", "float64"}
    for number in (0, 7, 31):
        one, other = (task_of(3, number, LARGEST, gpu=False) for _ in range(2))
        assert one.of == other.of == class_of(3, number)[0]
        np.testing.assert_array_equal(*(
            task.data if isinstance(task.data, np.ndarray) else str(task.data)
            for task in (one, other)
        ))  # fmt: skip


def test_data_have_the_shape_and_the_type_of_their_class():
    for task in tasks():
        of, data = task.of, task.data
        if task.call.problem == "assignment":
            each = data if isinstance(data, list) else [data]
            assert {matrix.dtype.name for matrix in each} == {of.dtype}
            n, m = each[0].shape[-2:]
            right = {"square": n == m, "wide": n <= m, "tall": n >= m, "line": 1 in (n, m)}
            assert right.get(of.shape, True), (of, n, m)
        elif task.call.problem == "matching":
            assert of.dtype == "pattern"
        elif task.call.name.startswith("alpha_expansion"):
            assert data[0].dtype == of.dtype
        elif not task.call.name.startswith("grid_cut"):
            assert data.dtype == of.dtype
        if task.call.kernels and task.call.problem == "assignment":
            assert max(max(matrix.shape[-2:]) for matrix in each) <= drawing.EXECUTOR


def test_a_list_s_first_shape_comes_again_behind_another_one():
    """What is kept for it meets what was made in between: a launch was once refused there."""
    lists = [task.data for task in tasks() if task.call.name == "linear_sum_assignment list"]
    again = [one.shape == last.shape != other.shape for one, other, last in lists]
    assert 0.2 < np.mean(again) < 0.8


def test_an_infeasible_matrix_is_right_only_if_the_call_says_so(monkeypatch):
    task = task_with(family="infeasible")
    assert not task.feasible
    assert solve(task).right
    wrong = solve(replace(task, data=np.zeros_like(task.data)))
    assert (wrong.right, wrong.reason) == (False, "an answer to a problem that has none")
    feasible = task_with(family="normal")
    bad = feasible.data.copy()
    bad[0] = -np.inf if feasible.maximize else np.inf
    outcome = solve(replace(feasible, data=bad))
    assert not outcome.right or bad.shape[0] > bad.shape[1]


def spoiled(call, change):
    """A call whose answer is changed."""
    return lambda *words, **named: change(call(*words, **named))


def swapped(answer):
    rows, columns, u, v = answer
    return rows, np.roll(columns, 1), u, v


def unproved(answer):
    rows, columns, u, v = answer
    return rows, columns, u + 1, v


@pytest.mark.parametrize("change", [swapped, unproved])
def test_a_wrong_assignment_is_noticed(change, monkeypatch):
    task = task_with(family="uniform", shape="square")
    call = papers.linear_sum_assignment
    monkeypatch.setattr(papers, "linear_sum_assignment", spoiled(call, change))
    outcome = solve(task)
    assert not outcome.right
    assert outcome.reason


@pytest.mark.parametrize(("family", "shape"), [("normal", "square"), ("product", "tall")])
def test_an_answer_to_the_transposed_matrix_is_noticed(family, shape, monkeypatch):
    """In a square matrix it is worth less, in a long one it may name columns that it has not."""
    task = task_with("linear_sum_assignment synthesis:dense device", family=family, shape=shape)
    assert solve(task).right
    call = papers.linear_sum_assignment
    turned = spoiled(call, lambda found: found if len(found) > 2 else found[::-1])
    monkeypatch.setattr(papers, "linear_sum_assignment", turned)
    outcome = solve(task)
    assert not outcome.right
    assert outcome.reason


def in_device_memory():
    """Tasks of matrices with two forms that are read as they lie and share memory."""
    for number in itertools.count():
        of, call = class_of(9, number)
        if call.name.endswith(" device") and of.dtype == "int32":
            task = task_of(9, number, LARGEST, gpu=False)
            if 1 < task.data.shape[0] < task.data.shape[1] and not task.maximize:
                yield task


def test_costs_in_device_memory_take_the_short_way_and_a_fault_there_is_noticed(monkeypatch):
    """Planted: what is known of a form is taken for what is known of the transposed one."""
    some = list(itertools.islice(in_device_memory(), 6))
    again, first, taken = pairs.again, {}, []

    def other(cost, known, *others):
        taken.append(known)
        return again(cost, first.setdefault(known.key, known) if planted else known, *others)

    monkeypatch.setattr(pairs, "again", other)
    for planted in (False, True):
        pool.clear()
        repeated._ways.clear()
        first.clear()
        taken.clear()
        outcomes = [solve(task).right for task in some]
        assert len(taken) >= 2 * len(some)
        assert all(outcomes) != planted


def test_a_matrix_without_an_answer_is_refused_in_device_memory_too(monkeypatch):
    call = "linear_sum_assignment synthesis:dense device"
    task = task_with(call, family="infeasible")
    assert solve(task).right
    answer = np.zeros(1, int)
    monkeypatch.setattr(papers, "linear_sum_assignment", lambda *given, **named: (answer, answer))
    assert not solve(task).right


def test_a_wrong_matching_and_a_wrong_value_are_noticed(monkeypatch):
    task = task_with("maximum_bipartite_matching", family="denser")
    call = papers.maximum_bipartite_matching

    def fewer(column_of):
        column_of = column_of.copy()
        column_of[np.flatnonzero(column_of >= 0)[0]] = -1
        return column_of

    monkeypatch.setattr(papers, "maximum_bipartite_matching", spoiled(call, fewer))
    assert "not maximum" in solve(task).reason
    task = task_with("grid_cut", family="4 neighbours")
    call = papers.grid_cut
    monkeypatch.setattr(
        papers, "grid_cut", spoiled(call, lambda cut: replace(cut, value=cut.value + 1))
    )
    assert "the call says" in solve(task).reason


def spoil(monkeypatch, name, change):
    monkeypatch.setattr(papers, name, spoiled(getattr(papers, name), change))


@pytest.mark.parametrize(
    ("call", "family", "change", "reason"),
    [
        ("koenig_cover", "denser",
         lambda c: replace(c, rows=c.rows | True, columns=c.columns | True), "vertices"),
        ("koenig_cover", "denser", lambda c: replace(c, rows=np.zeros_like(c.rows)), "leaves out"),
        ("structural_rank", "denser", lambda rank: rank - 1, "the rank is"),
        ("dulmage_mendelsohn", "sparse",
         lambda d: replace(d, row_order=np.zeros_like(d.row_order)), "no permutation"),
        ("dulmage_mendelsohn", "sparse",
         lambda d: replace(d, row_order=d.row_order[::-1].copy()), "not so"),
        ("alpha_expansion", "4 neighbours",
         lambda e: replace(e, energy=e.energy - 1), "its labels"),
    ],
)  # fmt: skip
def test_what_is_derived_wrongly_is_noticed(call, family, change, reason, monkeypatch):
    tried = [task for task in tasks(range(2500)) if task.call.name == call]
    task = next(task for task in tried if task.of.family == family and task.of.shape != "small")
    assert solve(task).right
    spoil(monkeypatch, call, change)
    outcome = solve(task)
    assert not outcome.right
    assert reason in outcome.reason


def images(least=1):
    """Tasks of images with so many pixels at least, and three labels."""
    for task in tasks(range(2500)):
        if task.call.name == "alpha_expansion":
            height, width, labels = task.data[0].shape
            if labels > 2 and height * width >= least:
                yield task


def test_labels_that_a_move_would_change_are_noticed(monkeypatch):
    """Every pixel has the label that costs it most, and the energy is that of these labels."""
    task = next(images(4))
    worst = task.data[0].argmax(axis=2)
    energy = solving.energy_of(task.data, worst)
    assert solve(task).right
    spoil(monkeypatch, "alpha_expansion", lambda e: replace(e, labels=worst, energy=energy))
    assert "an expansion lowers" in solve(task).reason


def test_moves_that_are_never_made_are_noticed(monkeypatch):
    """The proof's own networks find what the call's moves would."""
    some = list(itertools.islice(images(4), 12))
    assert all(solve(task).right for task in some)
    monkeypatch.setattr(expansion._Moves, "until_still", lambda self, sweeps: 0)
    assert sum(not solve(task).right for task in some) >= 4


def test_the_least_expansion_is_that_of_all_of_them():
    """By brute force, on tiny images of both kinds of neighbours and metrics."""
    g, tried = np.random.default_rng(1), 0
    line = np.abs(np.subtract.outer(np.arange(3), np.arange(3)))
    for neighbours, metric in itertools.product((4, 8), (None, line)):
        image = g.integers(-9, 9, (2, 3, 3)), 4, metric, neighbours
        labels = g.integers(0, 3, (2, 3))
        for alpha in range(3):
            least = min(
                solving.energy_of(image, np.where(np.reshape(takes, (2, 3)), alpha, labels))
                for takes in itertools.product((False, True), repeat=6)
            )
            assert solving.least_expansion(image, labels, alpha) == least
            tried += 1
    assert tried == 12


@pytest.mark.parametrize("name", ["maximum_flow", "minimum_cut", "grid_cut"])
def test_capacities_that_a_call_reads_wrongly_are_noticed(name, monkeypatch):
    """Planted: the flow and the cut are proved on a network that the caller has not given."""
    some = list(itertools.islice(
        (task for task in tasks(range(2500)) if task.call.name == name), 12
    ))  # fmt: skip
    assert all(solve(task).right for task in some)
    call = getattr(papers, name)

    def misread(given, *others, **named):
        more = given.copy()
        (more.data if hasattr(more, "indptr") else more)[...] += 1
        return call(more, *others, **named)

    monkeypatch.setattr(papers, name, misread)
    reasons = [outcome.reason for task in some if not (outcome := solve(task)).right]
    assert len(reasons) > 6
    assert all("not so" in reason or "its cut weighs" in reason for reason in reasons)


def test_an_answer_that_is_no_answer_is_wrong_and_not_hung(monkeypatch):
    task = next(images())
    spoil(monkeypatch, "alpha_expansion", lambda e: replace(e, labels=e.labels[:, :0] - 5))
    outcome = solve(task)
    assert not outcome.right
    assert outcome.reason


def blocks(row_blocks, column_blocks, n=3):
    order, ends = np.arange(n), (np.array(row_blocks), np.array(column_blocks))
    return SimpleNamespace(
        row_order=order, column_order=order, row_blocks=ends[0], column_blocks=ends[1]
    )


@pytest.mark.parametrize(
    ("found", "right"),
    [
        (blocks([0, 0, 1, 2, 3, 3], [0, 0, 1, 2, 3, 3]), True),
        (blocks([0, 0, 3, 3], [0, 0, 3, 3]), False),  # it can be parted further
        (blocks([0, 3, 3], [0, 3, 3]), False),  # no column is free, so that nothing is wide
        (blocks([0, 0, 3], [0, 0, 3]), False),
    ],
)
def test_blocks_are_those_of_the_definition(found, right):
    eye = csr_array(np.eye(3, dtype=np.int8))
    match = np.arange(3, dtype=np.int32)
    proof = solving._blocks(eye, Matching(match, match, 3), found)
    assert proof.ok == right


def test_a_matching_by_columns_that_was_asked_for_by_rows_is_noticed(monkeypatch):
    tried = [task for task in tasks(range(2500)) if task.call.name.endswith("matching row")]
    task = next(task for task in tried if task.data.shape[0] != task.data.shape[1])
    call = papers.maximum_bipartite_matching
    assert solve(task).right
    monkeypatch.setattr(
        papers,
        "maximum_bipartite_matching",
        lambda graph, perm_type, **named: call(graph, "column"),
    )
    assert "partners of" in solve(task).reason


def test_a_call_may_give_up_where_its_limit_is_short_alone(monkeypatch):
    limited = [task for task in tasks(range(2500)) if task.call.name.endswith(" seconds")]
    asked = {}

    def late(*given, seconds, **named):
        asked[seconds] = asked.get(seconds, 0) + 1
        raise papers.GivenUpError("late", 0.0, {})

    monkeypatch.setattr(papers, "linear_sum_assignment", late)
    right = {solving.limit_of(task): solve(task).right for task in limited}
    assert right == {solving.SHORT_S: True, solving.LONG_S: False}
    assert set(asked) == {solving.SHORT_S, solving.LONG_S}


def test_pairs_alone_are_asked_for_without_duals(monkeypatch):
    call, asked = papers.linear_sum_assignment, []

    def noted(*given, return_duals=False, **named):
        asked.append(return_duals)
        return call(*given, return_duals=return_duals, **named)

    monkeypatch.setattr(papers, "linear_sum_assignment", noted)
    for name in ("linear_sum_assignment pairs", "linear_sum_assignment synthesis:dense pairs"):
        task = task_with(name, family="uniform")
        assert solve(task).right
        assert asked == [False, True]
        asked.clear()


def test_an_error_of_a_call_is_a_wrong_answer(monkeypatch):
    def broken(*words, **named):
        raise IndexError("out of bounds")

    monkeypatch.setattr(papers, "maximum_flow", broken)
    outcome = solve(task_with("maximum_flow"))
    assert (outcome.right, outcome.reason) == (False, "IndexError: out of bounds")


# ------------------------------------------------------------------------------- the table

OF, RUN = Class("uniform", "int32", "small", "a call"), Run(1, 8, "a card", "a hash")


def test_a_table_is_read_as_it_was_written(tmp_path):
    table = Table(tmp_path / "there" / "trust.csv")
    for outcome in (Solved(True, "", 0.5), Solved(False, "why", 0.25), None):
        table.add(RUN, OF, outcome, 7.0)
    table.write()
    again = Table.read(table.path)
    assert again.counts == {(RUN, OF): Counts(1, 1, 1, 7.75)}
    assert (again.done(RUN), again.done(replace(RUN, seed=2))) == (3, 0)
    assert again.not_right(RUN) == "1 wrong, 1 hung"
    with table.path.open() as file:
        assert tuple(next(csv.reader(file))) == COLUMNS


def test_the_command_goes_on_where_it_was(tmp_path, capsys):
    """Ten solves at once, or four and then the rest, are the same counts."""
    words = ["--seed", "9", "--largest", "6", "--device", "cpu"]
    counts = []
    for name, parts in ("once.csv", ("10",)), ("twice.csv", ("4", "10")):
        for solves in parts:
            path = tmp_path / name
            assert command.main([*words, "--solves", solves, "--out", str(path)]) == 0
            assert f"{solves} solves on CPU executor, 0 wrong, 0 hung;" in capsys.readouterr().out
        table = Table.read(path)
        counts.append({key: (c.solved, c.wrong, c.hung) for key, c in table.counts.items()})
    assert counts[0] == counts[1]
    assert sum(solved for solved, _, _ in counts[0].values()) == 10


def test_a_table_of_other_sources_is_no_part_of_a_run(tmp_path, monkeypatch):
    """Planted: a table that was copied counted as one that was drawn anew."""
    path = tmp_path / "drawn.csv"
    words = ["--seed", "9", "--largest", "6", "--device", "cpu", "--solves", "3"]
    words += ["--out", str(path)]
    assert command.main(words) == 0
    monkeypatch.setattr(running.environment, "sources", lambda: "f" * 64)
    assert command.main(words) == 0
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    solved = Counter()
    for row in rows:
        solved[row["sources"]] += int(row["solved"])
    assert sorted(solved.values()) == [3, 3]
    assert "f" * running.DIGITS in solved


def test_no_table_of_solves_is_a_copy_of_another():
    """Seconds are never the same to the microsecond."""
    paths = sorted((HOME / "trust").glob("*.csv"))
    assert len({path.read_bytes() for path in paths}) == len(paths) > 20


def test_a_solve_that_hangs_is_stopped_and_the_next_one_is_solved():
    worker = Worker("cpu", 5, 6, patience=300)
    try:
        worker.patience = 0
        assert worker.solve(0) is None
        worker.patience = 300
        assert worker.solve(1).right
        worker._process.kill()
        assert worker.solve(2) is None  # It died without an answer.
        assert worker.solve(3).right
    finally:
        worker.stop()


def test_another_file_is_left_alone(tmp_path, capsys):
    path = tmp_path / "notes.csv"
    path.write_text("a,b\n1,2\n")
    assert command.main(["--out", str(path), "--solves", "1"]) == 2
    assert path.read_text() == "a,b\n1,2\n"
    assert "other columns" in capsys.readouterr().err
    path.write_text(",".join(COLUMNS[:-1]) + "\n")
    assert command.main(["--out", str(path), "--solves", "1"]) == 2
    assert "an earlier version wrote it" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--solves", "-1"], ["--patience", "0"], ["--largest", "0"]])
def test_wrong_words_are_refused(words):
    with pytest.raises(SystemExit):
        command.main(words)


def test_every_problem_of_a_call_has_a_proof():
    assert set(solving._PROVED) == set(solving._CALLED) == {call.problem for call in CALLS}


def test_a_batch_that_is_asked_for_by_name_has_sides_that_it_takes():
    """Of long problems, too: what it refuses would count as wrong."""
    of_batch = [number for number in range(600) if "synthesis:batch" in class_of(8, number)[1].name]
    assert len(of_batch) > 12
    for number in of_batch[:12]:
        data = task_of(8, number, 3000, gpu=True).data
        each = data if isinstance(data, list) else [data]
        assert max(max(matrix.shape[-2:]) for matrix in each) <= 1024


@pytest.mark.parametrize("path", sorted((HOME / "trust").glob("*.csv")), ids=lambda path: path.stem)
def test_the_page_counts_the_solves_of_every_file(path):
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    solved = {}
    for row in rows:
        side = row.get("largest", "")
        solved[side] = solved.get(side, 0) + int(row["solved"])
    wrong = [row for row in rows if row["wrong"] != "0"]
    classes = {tuple(row[name] for name in COLUMNS[:4]) for row in rows}
    first, *others = sorted(solved, key=lambda side: int(side or 0))
    sides = "; ".join([first, *(f"{solved[side]} of them {side}" for side in others)])
    refused = sum(int(row["wrong"]) for row in wrong)
    told = f"{sum(solved.values()):,} | {refused} | {len(classes):,} | {sides} |"
    lines = (HOME / "trust/README.md").read_text().splitlines()
    (line,) = [line for line in lines if line.startswith(f"| `{path.name}` |")]
    assert line.endswith(f" | {told}")
    assert {row["hung"] for row in rows} == {"0"}
    # The program counts an error as wrong; these are those that the page speaks of.
    if path.stem == "solves_h200_found":
        assert {row["family"] for row in wrong} == {"powers"}
        by_call = {
            row["call"].removeprefix("linear_sum_assignment "): row["wrong"] for row in wrong
        }
        assert by_call == {
            "synthesis:batch device batch": "1", "synthesis:dense": "1",
            "synthesis:dense device": "4", "synthesis:dense pairs": "2",
        }  # fmt: skip
    elif path.stem == "solves_h100_noted":
        (row,) = wrong
        launch = ("distances", "float32", "square", "linear_sum_assignment list")
        assert (tuple(row[name] for name in COLUMNS[:4]), row["wrong"]) == (launch, "1")
    else:
        assert all("synthesis:batch" in row["call"] and row["largest"] == "2600" for row in wrong)


def test_every_file_of_solves_that_the_page_names_is_there():
    named = re.findall(
        r"^\| `(solves_\w+\.csv)` \|", (HOME / "trust/README.md").read_text(), re.MULTILINE
    )
    assert sorted(named) == sorted(path.name for path in (HOME / "trust").glob("*.csv"))


def test_the_page_says_how_many_problems_in_device_memory_were_drawn():
    drawn = {}
    for path in (HOME / "trust").glob("*.csv"):
        with path.open(newline="") as file:
            there = [row for row in csv.DictReader(file) if row["call"].endswith(" device")]
        if there:
            drawn[path.name] = sum(int(row["solved"]) for row in there)
    page = (HOME / "trust/README.md").read_text(encoding="utf-8")
    names = [
        "solves_cpu_all_calls.csv", "solves_cpu_there.csv", "solves_h200_all_calls.csv",
        "solves_h200_found.csv", "solves_h200_record.csv",
    ]  # fmt: skip
    assert sorted(drawn) == names
    every, here, all_there, found, there = (drawn[name] for name in names)
    assert (
        f"{there:,} of them in `solves_h200_record.csv`, {here:,} in `solves_cpu_there.csv`, "
        f"{every:,} in `solves_cpu_all_calls.csv`, {found:,} in `solves_h200_found.csv`, "
        f"{all_there:,} in `solves_h200_all_calls.csv`." in page
    )


@pytest.mark.parametrize("name", ["cpu_all_calls", "h200_found", "h200_all_calls"])
def test_a_table_has_all_calls_that_are_drawn(name):
    """Those that the page says no other has, too."""
    with (HOME / f"trust/solves_{name}.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["call"] for row in rows} == {call.name for call in CALLS}
    assert len({row["sources"] for row in rows}) == 1


def test_a_gpu_has_drawn_a_hundred_thousand_problems_of_all_calls_and_none_was_wrong():
    with (HOME / "trust/solves_h200_all_calls.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert sum(int(row["solved"]) for row in rows) > 100_000
    assert {(row["wrong"], row["hung"]) for row in rows} == {("0", "0")}
    assert {row["device"] for row in rows} == {"NVIDIA H200"}
    page = (HOME / "trust/README.md").read_text(encoding="utf-8")
    assert "By 069220a no answer was wrong and none hung: 276,457 problems" in page


def test_the_page_says_how_many_orders_of_the_threads_were_run():
    with (HOME / "results/interleavings.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["failed"] for row in rows} == {"0"}
    cases = {"assignment": 0, "batch": 0}
    for row in rows:
        if row["test"].startswith("test_any_order"):
            cases[row["module"].split(".")[1]] += int(row["cases"])
    assert min(cases.values()) > 500
    (code,) = {row["code"] for row in rows}
    page = " ".join((HOME / "trust/README.md").read_text(encoding="utf-8").split())
    dense, batch = cases.values()
    said = f"{dense} cases of the dense solver's kernels and {batch} of the batches', "
    assert said in page
    assert f"Of one run of both files all passed with {code} (`results/interleavings.csv`)" in page
