"""A code is known again from the solver and the options of its cells."""

import pytest
from deveci_matching.evidence.made_up import (
    jobs,
)

from papers.common import cores
from papers.common.model import Instance, Plan
from papers.deveci_matching.evidence import codes, tables
from papers.deveci_matching.evidence.codes import BEST, BEYOND, MULTICORE, cell


@pytest.mark.parametrize("gpu", [True, False])
@pytest.mark.parametrize("preset", ["smoke", "quick", "paper"])
def test_a_cell_says_what_it_is(preset, gpu):
    """A code is known again from solver and options alone, in every plan."""
    for job in jobs(Plan(preset, gpu)):
        code, start = codes.code_of(job.cell.solver, job.options)
        levels = "levels_kept" not in job.options
        again = job.cell
        if "-16" not in code:
            limit = codes.WORK_LIMIT if "work_limit" in job.options else None
            again = cell(code, job.cell.instance, start=start, levels=levels, limit=limit)
        assert (again.solver, again.options) == (job.cell.solver, job.cell.options)
        assert code in (*codes.CODES, *codes.KERNELS, tables.MORE_THREADS)


@pytest.mark.parametrize(
    ("solver", "options", "code"),
    [
        ("lopes2019:gpu", "", ""),
        ("deveci_matching:gpu", "", ""),
        ("deveci_matching:gpu", "algorithm=apfb,bfs=wr,threads=ct", BEST),
        ("deveci_matching:gpu", "algorithm=apfb,bfs=wr,threads=ct,trace=True", ""),
        ("deveci_matching:p_dbfs", "threads=8", "P-DBFS"),
        ("deveci_matching:p_dbfs", "threads=2,work_limit=5", "P-DBFS-2"),
        ("deveci_matching:p_hk", "threads=7", "P-HK-7"),
        ("deveci_matching:p_dbfs", "threads=16", "P-DBFS-16"),
        ("deveci_matching:unknown", "", ""),
    ],
)
def test_codes_by_solver_and_options(solver, options, code):
    assert codes.code_of(solver, options)[0] == code


def test_where_the_start_is_made():
    starts = [codes.EXCLUDED, codes.INCLUDED, codes.ON_DEVICE]
    graph = Instance("uniform_graph", 2000, "d3")
    for start in starts:
        one = cell(BEYOND, graph, start=start)
        options = ",".join(f"{name}={value}" for name, value in one.options)
        assert codes.code_of(one.solver, options) == (BEYOND, start)


def test_no_other_number_of_threads_bears_a_name_of_print():
    for count in range(1, codes.MORE_THREADS + 1):
        for code, solver in MULTICORE.items():
            found, _ = codes.code_of(f"{codes.PAPER}:{solver}", f"threads={count}")
            assert (found == code) == (count == 8)
            assert found == code or found in codes.OTHER_THREADS


def test_multicore_threads_are_those_of_print_or_fewer():
    graph = Instance("delaunay", 4096, "n12")
    for code in MULTICORE:
        assert dict(cell(code, graph).options)["threads"] == 8
    with cores.taken_as(2):
        assert dict(cell("P-DBFS", graph).options)["threads"] == 2
        assert dict(cell("P-DBFS", graph, cores=16).options)["threads"] == 2
