"""The list of experiments: what is planned, and that each one shows and plots."""

import pytest
from deveci_matching.evidence.made_up import (
    BY_NAME,
    NUMBERS,
    PAPER,
    compared,
    every_counter,
    jobs,
    name_of,
    plausible,
    summary,
    table,
)

from papers.common.evidence import plots
from papers.common.gpu.device import EXECUTOR_NAME
from papers.common.model import Plan
from papers.deveci_matching.evidence import codes, sets, tables
from papers.deveci_matching.evidence.codes import BEYOND, KERNELS, VARIANTS
from papers.reproduce.plan import cells as plan
from papers.reproduce.report.numbers import shown


def test_every_table_and_figure_has_an_entry():
    wanted = {
        f"fig{int(text.removeprefix('Fig ')):02d}" for text in NUMBERS("figures")["figure"]
    } | {"table1", "table2"}
    assert wanted == {name for name in BY_NAME if name.startswith(("fig", "table"))}
    for name in wanted - {"fig01"}:
        kind = "figure" if name.startswith("fig") else "table"
        assert BY_NAME[name].kind == kind
        assert (BY_NAME[name].figure is None) == (kind == "table")
    assert BY_NAME["fig01"].artifacts is not None


def test_preset_paper_has_all_real_matrices():
    planned = {}
    for job in jobs():
        graph = job.cell.instance
        if graph.family.startswith("matrix"):
            code = codes.code_of(job.cell.solver, job.options)[0]
            planned.setdefault((graph.label, sets.ordering_of(graph.permuted)), set()).add(code)
    for ordering in sets.ORDERINGS:
        for name in sets.ours().index:
            codes_there = planned[name, ordering]
            assert {*VARIANTS, BEYOND, *codes.SEQUENTIAL, *codes.MULTICORE} <= codes_there
        for name in sets.twenty().index:
            assert set(tables.OF_TABLE_2.values()) <= planned[name, ordering]
    assert "SciPy" in planned["wing", "original"]
    assert "SciPy" not in planned["copter2", "original"]


def test_a_run_without_files_of_matrices():
    for preset in ("smoke", "quick"):
        for gpu in (True, False):
            assert not [
                job
                for job in jobs(Plan(preset, gpu))
                if sets.kind_of(job.cell.instance.family) == sets.REAL
            ]


def test_without_a_gpu_kernels_stay_small():
    for preset in ("smoke", "quick", "paper"):
        kernels = [
            job
            for job in jobs(Plan(preset, gpu=False))
            if codes.code_of(job.cell.solver, job.options)[0] in KERNELS
        ]
        assert 0 < len(kernels) <= 80
        assert all(
            job.cell.instance.n <= (128 if job.cell.instance.label == "deep" else 40)
            for job in kernels
        )
    others = [job.cell.instance for job in jobs(Plan("quick", gpu=False))]
    assert max(graph.n for graph in others) <= 16384


def test_the_paper_preset_fits_its_time():
    planned = jobs()
    here = [job for job in planned if job.cell.instance.label not in sets.twenty().index]
    assert len(here) <= 3600
    assert all(job.cell.repeats is None for job in planned)


def test_all_codes_take_turns_on_a_graph():
    """Kernels and CPU codes alike: their ratio is what the paper is about."""
    turns = [group for group in plan.groups(jobs()) if len(group) > 1]
    graphs = [graph for graph in sets.thorough(PAPER) if sets.kind_of(graph.family) != sets.REAL]
    for graph in graphs:
        groups = [
            {codes.code_of(job.cell.solver, job.options)[0] for job in group}
            for group in turns
            if group[0].cell.instance == graph
        ]
        wanted = {*codes.VARIANTS, *codes.SEQUENTIAL, *codes.MULTICORE, BEYOND}
        assert sum(wanted <= found for found in groups) == 1


def test_full_size_has_every_code_on_every_graph_and_no_limit():
    """No cell that print has may be cut: by a code left out, an ordering, or a limit of work."""
    found = {}
    for one in BY_NAME["full_size"].cells(PAPER):
        assert "work_limit" not in dict(one.options)
        key = name_of(one.instance), one.instance.permuted
        options = ",".join(f"{name}={value}" for name, value in one.options)
        found.setdefault(key, set()).add(codes.code_of(one.solver, options)[0])
    names = {"delaunay_n23", "delaunay_n24", "rgg_n_2_24_s0", "kron_g500-logn21"}
    assert set(found) == {(name, permuted) for name in names for permuted in (False, True)}
    rivals = {*codes.SEQUENTIAL, *codes.MULTICORE, codes.GRAFT}
    assert all(had == {*VARIANTS, codes.TUNED, BEYOND, *rivals} for had in found.values())
    assert BY_NAME["full_size"].cells(Plan("quick", gpu=True)) == []
    assert BY_NAME["full_size"].cells(Plan("paper", gpu=False)) == []


@pytest.mark.parametrize("measured", [True, False])
@pytest.mark.parametrize("name", [name for name in BY_NAME if name != "fig01"])
def test_every_experiment_shows_and_draws(name, measured, whole):
    experiment = BY_NAME[name]
    found = experiment.table(whole if measured else whole.iloc[:0], NUMBERS)
    if not found.empty:
        assert shown(found, NUMBERS)
        if experiment.figure is not None:
            assert plots.png(experiment.figure(found)).startswith(b"\x89PNG")
    elif measured:
        pytest.fail("the table is empty")
    comparisons = list(experiment.compare(found))
    assert comparisons
    assert all(c.verdict == "not measured" for c in comparisons) or measured


def test_executor_times_are_not_judged():
    cells = [job.cell for job in jobs(Plan("quick", gpu=False))]
    rows = summary(cells, plausible, every_counter, card=EXECUTOR_NAME)
    for name in ("table1", "table2", "fig03", "fig04", "fig05", "claims", "beyond", "peers"):
        assert {c.verdict for c in compared(name, rows)} == {"not measured"}, name
    assert not table("table1", rows).empty
    assert {c.verdict for c in compared("counts", rows)} <= {"holds", "fails"}
