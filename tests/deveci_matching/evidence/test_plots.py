"""What the titles of the figures say of their panels."""

import pandas as pd
import pytest

from papers.deveci_matching.evidence import plots
from papers.deveci_matching.evidence.tables import FEW, OF_FIG_2


@pytest.mark.parametrize(("ran", "told"), [(206, "cut at iteration 3"), (3, "")])
def test_figure_2_says_where_a_curve_stops_before_its_code(ran, told):
    code = OF_FIG_2[0]
    rows = [
        {"name": "a", "source": "this run", "what": "levels", "iteration": k, code: 1.0}
        for k in (1, 2, 3)
    ]
    rows.append({"name": "a", "source": "this run", "what": "iterations", code: float(ran)})
    rows.append({"name": "b", "source": "this run", "what": "iterations", code: 999.0})
    table = pd.DataFrame(rows)
    said = plots._cut(table, table[table["what"] == "levels"])
    assert said.strip().startswith(told)
    assert bool(said) == bool(told)
    assert "999" not in said
    if told:
        assert f"{code.removesuffix(' CT')} ran {ran}" in said


@pytest.mark.parametrize("graphs", [FEW, FEW - 1])
def test_a_panel_says_when_its_set_is_not_prints(graphs):
    ours = pd.DataFrame({"instance_set": ["O_S1", "O_all"], "graphs": [graphs, 90]})
    shown, words = plots._shown_set(ours, "O_S1", "O")
    if graphs >= FEW:
        assert (shown, words) == ("O_S1", "")
    else:
        assert (shown, words) == (
            "O_all",
            f"not print's set, of which only {graphs} graphs are here",
        )
