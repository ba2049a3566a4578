"""Made-up runs that several modules share."""

import contextlib

import pytest
from deveci_matching.evidence.made_up import (
    PAPER,
    every_counter,
    jobs,
    matrices,
    name_of,
    plausible,
    printed_ms,
    summary,
)

from papers.common import cores
from papers.deveci_matching.evidence import sets, tables
from papers.deveci_matching.evidence.codes import BEST, cell


@contextlib.contextmanager
def sixteen_cores():
    """The multicore codes bear their names at print's eight threads alone, whatever is here."""
    with cores.taken_as(16):
        yield


@pytest.fixture(scope="module", autouse=True)
def _sixteen_cores():
    """Of these modules alone: a fixture of a longer life would change the plans of other tests."""
    with sixteen_cores():
        yield


@pytest.fixture(scope="session")
@sixteen_cores()
def twenty():
    """The paper's matrices, as if they were here and took as long as in print."""
    cells = [
        cell(code, graph, 3)
        for graph in sets.of_table_2(PAPER)
        for code in tables.OF_TABLE_2.values()
    ]
    times = printed_ms()
    return summary(
        cells,
        lambda code, graph: times[code, name_of(graph), sets.ordering_of(graph.permuted)],
        lambda code, graph: {"cardinality": graph.n // 2, "initial_cardinality": graph.n // 3},
    )


@pytest.fixture(scope="session")
@sixteen_cores()
def profiled():
    """Six graphs, original: HK 16 ms, the GPU at 1, 2, 4, 8, 16, 32 ms, the others constant."""
    graphs = matrices(6, ("original",))
    places = {name_of(graph): place for place, graph in enumerate(graphs)}
    others = {"HK": 16.0, "PFP": 64.0, "P-PFP": 100.0, "P-DBFS": 8.0, "P-HK": 16.0}
    cells = [cell(code, g, 3) for g in graphs for code in (BEST, *others)]
    return summary(
        cells,
        lambda code, graph: 2.0 ** places[name_of(graph)] if code == BEST else others[code],
        spread=0.1,
    )


@pytest.fixture(scope="session")
@sixteen_cores()
def whole():
    cells = [job.cell for job in jobs()]
    return summary(cells, plausible, every_counter, spread=0.01)
