"""The figures of the report's tables that the prices of both machines let us expect.

``print_model`` is a figure by the prices of print's machine, ``expected`` the one by those of the
record's. `papers.common.evidence.cards.beside` puts both beside the rows of a table; `causes`
reads them. Only sources whose prices are trusted have figures.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from papers.common.evidence.tables import Published
from papers.datenagi2016.evidence import claims
from papers.datenagi2016.evidence.card import prices as p
from papers.datenagi2016.evidence.card import work as w
from papers.datenagi2016.evidence.card.prices import FIGURES, NEXT, SECONDS
from papers.datenagi2016.evidence.claim_numbers import Numbers, series_of
from papers.datenagi2016.evidence.tables import PAIRS


def times(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return the times of every step, in seconds, trusted or not.

    Returns
    -------
    DataFrame
        ``source``, `work.KEYS`, ``published``, ``print_model``, ``measured`` and ``expected``; NaN
        where print or the record has no time. ``trusted``: whether the source's prices are.
    """
    columns = ["source", *w.KEYS, "published", *FIGURES[:1], "measured", *FIGURES[1:], "trusted"]
    printed = p.printed_times(published)
    theirs = printed.groupby(w.KEYS)["seconds"].mean().rename("published").reset_index()
    parts = [pd.DataFrame(columns=columns).astype({"n": int, "trusted": bool})]
    for source, ours, counts in p.counted(summary):
        on = ["n", "cost_range", "code"]
        steps = {code: [*w.NAMED[code], w.REST, w.RUN, w.TOTAL] for code in w.CODES}
        listed = counts.assign(step=counts["code"].map(steps))
        wanted = listed.explode("step", ignore_index=True)  # type: ignore[call-overload]
        wanted = p.priced(printed.merge(counts, on=on), wanted, "print_model")
        wanted = p.priced(ours.merge(counts, on=on), wanted, "expected")
        wanted = wanted.merge(theirs, on=w.KEYS, how="left")
        wanted = wanted.merge(ours.rename(columns={"seconds": "measured"}), on=w.KEYS, how="left")
        mine = summary[summary["source"] == source]
        trusted = is_trusted(prices_twice(mine, ours, counts, published))
        parts.append(wanted.assign(source=source, trusted=trusted)[columns])
    return pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)


def prices_twice(
    summary: pd.DataFrame, ours: pd.DataFrame, counts: pd.DataFrame, published: Published
) -> pd.DataFrame:
    """Return the prices of one source in us, those of print, and what was measured twice.

    Returns
    -------
    DataFrame
        ``code``, ``price``, ``print_model`` and ``expected``; ``again`` and ``band``, NaN where a
        price is measured once.
    """
    on = ["n", "cost_range", "code"]
    gpus = [name for name in summary["device"].astype(str).unique() if "NVIDIA" in name]
    authors = p.by_authors(counts, published, gpus[0]) if len(gpus) == 1 else None
    again = {
        ("wait", "CU-CLASS"): ("by the authors' programs", (authors or {}).get("wait", np.nan)),
        ("wait", "CU-TREE"): ("by small runs", p.small_wait(summary, counts)),
        ("searched", "OMP-8"): ("by costs that arrive in chunks", p.host_entry(summary)),
        ("copied", "CU-TREE"): ("by costs that arrive in one copy", p.whole_copy(summary)),
    }
    rows = []
    for codes, names in p.MACHINES:
        both = []
        for known in (p.printed_times(published), ours[ours["step"] != w.RUN]):
            mine = known[known["code"].isin(codes)].merge(counts, on=on)
            both.append(p.fit(mine, names) or dict.fromkeys(names, np.nan))
        for name in names:
            found = [(by, value) for (of, code), (by, value) in again.items()
                     if of == name and code in codes] or [("", np.nan)]  # fmt: skip
            for by, value in found:
                band = p.HOST_BAND if name == "searched" else p.BAND
                rows.append((" ".join(codes), name, by, 1e6 * both[0][name], 1e6 * both[1][name],
                             1e6 * value, band if by else np.nan))  # fmt: skip
    columns = ["code", "price", "by", *FIGURES, "again", "band"]
    found = pd.DataFrame(rows, columns=columns)
    return found[(found[list(FIGURES)] > 0).any(axis=1)]


def is_trusted(prices: pd.DataFrame) -> bool:
    """Whether each price that is measured twice is alike in both; one without is not."""
    twice = prices[prices["by"] != ""]
    ratio = twice["again"] / twice["expected"]
    return bool(len(twice)) and bool(ratio.between(1 / twice["band"], twice["band"]).all())


def _trusted(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    found = times(summary, published)
    return found[found["trusted"]]


def _shown(found: pd.DataFrame) -> pd.DataFrame:
    """Return the totals that the tables compare: from host to host where that was recorded.

    Of a GPU's large orders the steps alone were: `papers.datenagi2016.evidence.tables.over`. The
    figure of print is from host to host.
    """
    keys = ["source", "n", "cost_range", "code"]
    whole = found[found["step"] == w.TOTAL].set_index(keys)
    run = found[found["step"] == w.RUN].set_index(keys)["expected"]
    expected = whole["expected"].where(whole["measured"].notna(), run)
    return whole.assign(expected=expected).reset_index()


def ratios(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return the expected ratios of the codes' times: ``source n cost_range solver``, `FIGURES`."""
    return _ratios(_trusted(summary, published))


def _ratios(found: pd.DataFrame) -> pd.DataFrame:
    shown, keys = _shown(found), ["source", "n", "cost_range"]
    parts = [pd.DataFrame(columns=[*keys, *FIGURES, "solver"])]
    for slow, fast in PAIRS.items():
        pair = [shown[shown["code"] == name].set_index(keys)[list(FIGURES)]
                for name in (slow, fast)]  # fmt: skip
        parts.append((pair[0] / pair[1]).dropna().reset_index().assign(solver=slow))
    return pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)


def of_table_3(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return `ratios`, the codes' times and the compression's over the next step's: `NEXT`."""
    found, keys = _trusted(summary, published), ["source", "n", "cost_range", "solver"]
    shown = _shown(found).rename(columns={"code": "solver"})
    shown = shown[shown["solver"] != "OMP-1"].rename(
        columns=dict(zip(FIGURES, SECONDS, strict=True))
    )
    steps = found[found["code"] == "CU-CLASS"].rename(columns={"code": "solver"})
    wide = {name: steps.pivot_table(index=keys, columns="step", values=name) for name in FIGURES}
    parts = {
        column: wide[name]["matrix_compression"]
        / wide[name][["forward_pass", "dual_update"]].max(axis=1)
        for name, column in zip(FIGURES, NEXT, strict=True)
        if "matrix_compression" in wide[name]
    }
    rows = shown[[*keys, *SECONDS]].merge(_ratios(found), on=keys, how="left")
    if not parts:
        return rows.assign(**dict.fromkeys(NEXT, np.nan))
    return rows.merge(pd.DataFrame(parts).reset_index(), on=keys, how="left")


def small_ratios(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return `ratios` of Table 1, whose costs go from 0 to n: without ``cost_range``."""
    found = ratios(summary, published)
    return found[found["cost_range"] == "n"].drop(columns="cost_range")


def shares(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return the expected shares of the three steps, in per cent: `work.KEYS`, `FIGURES`."""
    found = _trusted(summary, published).rename(columns={"code": "solver"})
    named = [step in w.NAMED[code] for code, step in zip(found["solver"], found["step"],
                                                        strict=True)]  # fmt: skip
    keys = ["source", "n", "cost_range", "solver"]
    rows = found[np.array(named, bool) & found["solver"].str.startswith("CU")]
    whole = rows.groupby(keys)[list(FIGURES)].transform("sum")
    return rows.assign(**{name: 100 * rows[name] / whole[name] for name in FIGURES})[
        [*keys, "step", *FIGURES]
    ]


def statements(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return the figures of the statements that follow: ``source claim figure cell``, `FIGURES`."""
    found, keys = _trusted(summary, published), ["source", *claims.KEYS]
    parts = []
    for name in FIGURES:
        mine = claims.figures(_numbers(found, name)).rename(columns={"value": name})
        parts.append(mine.set_index(keys)[name])
    return pd.concat(parts, axis=1).dropna().reset_index()


def _numbers(found: pd.DataFrame, column: str) -> Numbers:
    """Return the times of the model in the form of the statements' numbers."""
    numbers = Numbers()
    rows = found.rename(columns={column: "value"}).assign(seed=0)
    shown = _shown(found).assign(seed=0)
    for code in w.CODES:
        mine = shown[shown["code"] == code].rename(columns={column: "value"})
        numbers["total", code] = series_of(mine[[*_LEVELS, "value"]])
        if not code.startswith("CU"):
            continue
        # In print all steps are the total, with the start and the way to the card.
        whole = w.TOTAL if column == FIGURES[0] else w.RUN
        for step, name in (*((step, step) for step in w.NAMED[code]), (whole, "all")):
            of_step = rows[(rows["code"] == code) & (rows["step"] == step)]
            numbers[code, name] = series_of(of_step[[*_LEVELS, "value"]])
    return numbers


_LEVELS = ["source", "n", "cost_range", "seed"]
