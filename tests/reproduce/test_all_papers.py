"""All papers in one run: a table must stand the cells that other papers measure."""

import pandas as pd
import pytest
from nightly import first

import papers
from papers.common.evidence import published
from papers.reproduce import registry
from papers.reproduce.run import measurements


def some(table, most=4):
    """The first few cells of each solver, option and family: sizes do not matter here."""
    cells = table.drop_duplicates("cell")
    place = cells.groupby(["solver", "options", "family"]).cumcount()
    return table[table["cell"].isin(cells["cell"][place < most])]


@pytest.fixture(scope="module")
def everything():
    """Cells of every sort of all recorded runs, as if one run had measured them all."""
    runs = [
        some(table)
        for name in papers.PAPERS
        for _, table, _ in measurements.recorded_runs(registry.folder(name) / "results")
    ]
    return measurements.usable(measurements.summarize(pd.concat(runs)))


@pytest.mark.parametrize("name", first(3, papers.PAPERS[::-1]))
def test_every_table_is_made_from_the_cells_of_all_papers(name, everything):
    numbers = published.loader(registry.MODULES[name])
    for experiment in registry.experiments(name).values():
        table = experiment.table(everything, numbers)
        assert isinstance(table, pd.DataFrame), experiment.name
        if experiment.compare:
            experiment.compare(table)
