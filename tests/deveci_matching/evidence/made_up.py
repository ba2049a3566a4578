"""Measurements that are made up, and the experiments on them."""

import pandas as pd

from papers.common.evidence import published
from papers.common.model import Plan
from papers.deveci_matching.evidence import codes, sets, tables
from papers.deveci_matching.evidence.codes import BEST, BEYOND, KERNELS, VARIANTS, cell
from papers.deveci_matching.evidence.experiments import EXPERIMENTS
from papers.reproduce.plan import cells as plan
from papers.reproduce.run import measurements

NUMBERS = published.loader("papers.deveci_matching")
BY_NAME = {experiment.name: experiment for experiment in EXPERIMENTS}
CARD, CPU = "NVIDIA H100 80GB HBM3", "Some CPU"
PAPER = Plan("paper", gpu=True)


def jobs(which=PAPER):
    return plan.jobs([("deveci_matching", experiment) for experiment in EXPERIMENTS], which)


def summary(cells, milliseconds, counters=lambda code, graph: {}, card=CARD, spread=0.0):
    """Reduce made-up measurements of `cells` as a run would; ``milliseconds(code, graph)``."""
    rows = []
    for one in cells:
        graph = one.instance
        options = ",".join(f"{name}={value}" for name, value in one.options)
        code, _ = codes.code_of(one.solver, options)
        machine = card if code in KERNELS else CPU
        common = (one.key, one.solver, options, machine, graph.family, graph.n, graph.label,
                  graph.seed, graph.storage, graph.permuted)  # fmt: skip
        ms = milliseconds(code, graph)
        if ms is None:
            continue
        times = [
            ("run", r, "time_ms", ms * (1 + spread * (r - 1))) for r in range(one.repeats or 1)
        ]
        told = [("answer", 0, *pair) for pair in counters(code, graph).items()]
        for scope, repeat, metric, value in [*times, *told, ("answer", 0, "done", 1)]:
            rows.append((*common, repeat, scope, metric, value, "ok", "koenig-cover", ""))
    frame = pd.DataFrame(rows, columns=list(measurements.COLUMNS))
    return measurements.usable(measurements.summarize(frame))


def name_of(graph):
    return sets.name_of(graph.family, graph.n, graph.label)


def table(name, rows):
    return BY_NAME[name].table(rows, NUMBERS)


def compared(name, rows):
    return list(BY_NAME[name].compare(table(name, rows)))


def matrices(count, orderings=sets.ORDERINGS):
    names = list(sets.ours().index[:count])
    return [sets.matrix(name, ordering) for ordering in orderings for name in names]


def printed_ms():
    """Milliseconds of [D13 Table 2] by code, matrix and ordering."""
    return {
        (tables.OF_TABLE_2[row.algorithm], row.matrix, row.ordering): 1e3 * row.time_s
        for row in NUMBERS("table2").itertuples(index=False)
    }


def graphs_of(times, ordering="original", kind="real"):
    """Rows as `tables.by_source` gives them: names and (HK, PFP) in ms."""
    rows = [(f"g{place:02d}", 10, 1, ordering, kind, *pair) for place, pair in enumerate(times)]
    return pd.DataFrame(rows, columns=["name", "n", "seed", "ordering", "kind", "HK", "PFP"])


def eight(graphs, slow_ms):
    """The eight variants at 1, 2 .. 8 ms times the graph's place, HK at `slow_ms`, PFP at 1 ms."""
    factor = {code: place for place, code in enumerate(VARIANTS, 1)}
    places = {name: place for place, name in enumerate(dict.fromkeys(map(name_of, graphs)), 1)}
    cells = [cell(code, g, 3) for g in graphs for code in (*VARIANTS, BEYOND, "HK", "PFP")]

    def milliseconds(code, graph):
        if code in factor:
            return factor[code] * places[name_of(graph)]
        return {"HK": slow_ms(places[name_of(graph)]), "PFP": 1.0, BEYOND: 0.5}[code]

    return summary(cells, milliseconds, lambda code, graph: {"bfs_launches": 10})


def at(found, name, column, place):
    rows = found[(found["instance_set"] == name) & (found["source"] == "this run")]
    return rows.set_index(column).loc[place]


def levels_of(code, graph):
    iterations = {"APFB": 3, "APsB": 6}[code.split()[0]]
    found = {f"levels_{i:03d}": 10 * i for i in range(1, iterations + 1)}
    return {**found, "bfs_iterations": iterations, "bfs_launches": sum(found.values())}


def plausible(code, graph):
    """Milliseconds that differ by code and graph; some graphs take HK more than a second."""
    place = sum(map(ord, name_of(graph))) % 97 + 1
    base = {BEST: 2.0, BEYOND: 1.0, "HK": 40.0, "PFP": 30.0}.get(code, 5.0)
    return base * place * (2 if graph.permuted else 1)


def every_counter(code, graph):
    found = {"cardinality": graph.n // 2, "initial_cardinality": graph.n // 3}
    found |= {} if code in KERNELS else {"edges_scanned": 10 * graph.n}
    return {**found, **(levels_of(code, graph) if code in VARIANTS else {})}
