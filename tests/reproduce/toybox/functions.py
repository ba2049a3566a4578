"""Functions as somebody may bring them to `reproduce bench`: right ones, and every fault."""

import time

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.sparse.csgraph import maximum_bipartite_matching, maximum_flow


def right(costs):
    return linear_sum_assignment(costs)


def unsorted(costs):
    """Right, with the pairs in another order."""
    rows, columns = linear_sum_assignment(costs)
    return rows[::-1].tolist(), columns[::-1].tolist()


def wrong(costs):
    rows, columns = linear_sum_assignment(costs)
    columns[[0, 1]] = columns[[1, 0]]
    return rows, columns


def twice(costs):
    rows, columns = linear_sum_assignment(costs)
    columns[0] = columns[1]
    return rows, columns


def raises(costs):
    raise ValueError("planted")


def rubbish(costs):
    return np.zeros((3, 3))


def too_few(costs):
    rows, columns = linear_sum_assignment(costs)
    return rows[1:], columns[1:]


def outside(costs):
    rows, columns = linear_sum_assignment(costs)
    return rows, columns - 1


def floats(costs):
    rows, columns = linear_sum_assignment(costs)
    return rows, columns.astype(float)


def changes(costs):
    """It reduces the rows in place, so that a later call would solve another matrix."""
    costs -= costs.min(axis=1, keepdims=True)
    return linear_sum_assignment(costs)


def hangs(costs):
    time.sleep(600)


def by_size(costs):
    """Right at 8 rows, wrong at 16, an error at 32."""
    return {8: right, 16: wrong, 32: raises}[len(costs)](costs)


def matches(graph):
    return maximum_bipartite_matching(graph)


def matches_transposed(graph):
    """The column of each row: the other one of SciPy's two results."""
    return maximum_bipartite_matching(graph, perm_type="column")


def matches_too_few(graph):
    found = maximum_bipartite_matching(graph).copy()
    found[np.flatnonzero(found >= 0)[0]] = -1
    return found


def flows(network, source, sink):
    return maximum_flow(network, source, sink)


class Flow:
    def __init__(self, value, flow):
        self.flow_value, self.flow = value, flow


def flows_nothing(network, source, sink):
    return Flow(0, maximum_flow(network, source, sink).flow * 0)


def flows_too_much(network, source, sink):
    found = maximum_flow(network, source, sink)
    return Flow(found.flow_value * 2, found.flow * 2)


def flows_a_number(network, source, sink):
    return int(maximum_flow(network, source, sink).flow_value)
