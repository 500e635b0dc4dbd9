"""Walks take steps with the probabilities of node2vec: chi-square against the exact probabilities."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.stats import chi2

from w2vtrain import Walks

BIASES = [(1, 1), (0.25, 4), (4, 0.25), (0.5, 2), (3, 3), (0.2, 0.3), (1e6, 1e6), (1e-3, 1)]


def random_weights(rng, nodes, directed, weighted):
    """Return the weights of arcs (N, N): with self loops, one sink, one node without edges and one of one edge."""
    weights = (rng.random((nodes, nodes)) < 0.4) * (rng.integers(1, 9, (nodes, nodes)) if weighted else 1.0)
    if not directed:
        weights = np.triu(weights) + np.triu(weights, 1).T
    weights[2] = 0  # nothing leads on from node 2
    if not directed:
        weights[:, 2] = 0
        weights[:, 3] = weights[3] = 0
        weights[3, 0] = weights[0, 3] = 2.0
    return weights


def probabilities(weights, before, node, p, q):
    """Return the probability of each next node (N,), of a walk that came to `node` from `before`, None at the start."""
    bias = np.ones(len(weights))
    if before is not None:
        bias = np.where(weights[before] > 0, 1.0, 1 / q)
        bias[before] = 1 / p
    return weights[node] * bias / (weights[node] * bias).sum()


def check_steps(walks, weights, p, q):
    """Compare the steps of walks, arrays of nodes, with the exact probabilities."""
    seen = {}
    for walk in walks:
        for i in range(1, len(walk)):
            at = (walk[i - 2] if i > 1 else None, walk[i - 1])
            seen.setdefault(at, np.zeros(len(weights)))[walk[i]] += 1
    statistic = degrees = 0
    for (before, node), found in seen.items():
        exact = found.sum() * probabilities(weights, before, node, p, q)
        assert not found[exact == 0].any()
        common = exact >= 5
        groups = [*zip(found[common], exact[common], strict=True), (found[~common].sum(), exact[~common].sum())]
        groups = [(a, b) for a, b in groups if b >= 5]
        statistic += sum((a - b) ** 2 / b for a, b in groups)
        degrees += max(0, len(groups) - 1)
    assert degrees > 50
    assert 1e-4 < chi2.sf(statistic, degrees) < 1 - 1e-4


@pytest.mark.parametrize(
    ("p", "q", "directed", "weighted"),
    [(*bias, directed, (k + directed) % 2 == 1) for k, bias in enumerate(BIASES) for directed in (False, True)],
)
def test_visits_agree_with_exact_transition_probabilities(rng, p, q, directed, weighted):
    weights = random_weights(rng, 12, directed, weighted)
    edges = np.argwhere(weights if directed else np.triu(weights))
    frame = Frame(source=edges[:, 0], target=edges[:, 1], weight=weights[tuple(edges.T)])
    walks = Walks(frame, walk_length=30, walks=700, p=p, q=q, directed=directed)
    check_steps([list(map(int, walk)) for walk in walks], weights, p, q)
    assert walks.graph.arcs.symmetric == (not directed)


def test_a_matrix_has_arcs_from_rows_to_columns(rng):
    weights = random_weights(rng, 12, True, True)
    walks = Walks(csr_array(weights), walk_length=20, walks=500, p=0.5, q=2)
    check_steps([list(map(int, walk)) for walk in walks], weights, 0.5, 2)
    assert {len(walk) for walk in walks if walk[0] == "2"} == {1}  # a sink ends a walk


@pytest.mark.parametrize(("p", "q"), [(0.25, 4), (4, 0.25)])
def test_steps_next_to_a_hub_have_their_probabilities(p, q):
    """The hub has more arcs than are searched for a neighbor: those of the other node are."""
    nodes = 400
    weights = np.zeros((nodes, nodes))
    weights[0, 1:] = weights[1:, 0] = 1
    for step in (1, 2):
        ring = 1 + (np.arange(nodes - 1) + step) % (nodes - 1)
        weights[np.arange(1, nodes), ring] = weights[ring, np.arange(1, nodes)] = 3
    walks = Walks(csr_array(weights), walk_length=40, walks=20, p=p, q=q)
    edges = np.argwhere(np.triu(weights))
    frame = Frame(source=edges[:, 0], target=edges[:, 1], weight=weights[tuple(edges.T)])
    walks = Walks(frame, walk_length=40, walks=20, p=p, q=q)
    check_steps([list(map(int, walk)) for walk in walks], weights, p, q)


def test_counts_are_expected_visits(rng):
    weights = random_weights(rng, 12, True, True)
    walks = Walks(csr_array(weights), walk_length=15, walks=3000)
    step = weights / np.maximum(weights.sum(axis=1), 1)[:, None]
    exact = sum(np.ones(12) @ np.linalg.matrix_power(step, t) for t in range(15))
    np.testing.assert_allclose(walks.visits(), exact, rtol=1e-6)
    found = np.bincount([int(node) for walk in walks for node in walk], minlength=12) / 3000
    np.testing.assert_allclose(found, exact, rtol=0.05)
    lengths = [np.mean([len(walk) for walk in walks if walk[0] == str(node)]) for node in range(12)]
    np.testing.assert_allclose(walks.lengths(), lengths, rtol=0.05)


def test_counts_of_biased_walks_are_nearly_those_of_unbiased_ones(rng):
    """What `Walks.visits` says of p and q other than 1, on a graph of groups whose members know each other."""
    group = np.arange(200) // 10
    weights = np.triu(rng.random((200, 200)) < np.where(group[:, None] == group, 0.5, 0.005), 1)
    frame = Frame(source=np.nonzero(weights)[0], target=np.nonzero(weights)[1])
    walks = Walks(frame, walks=200, p=0.5, q=2)
    numbers = {name: number for number, name in enumerate(walks.graph.names)}
    found = np.bincount([numbers[node] for walk in walks for node in walk]) / 200
    assert np.abs(found - walks.visits()).sum() / 2 < 0.04 * found.sum()


def test_visits_stop_changing_when_the_walks_have_mixed(rng):
    """The sum over steps is cut short for a graph that mixes, and not for one whose walks alternate."""
    mixing, pairs = rng.integers(0, 50, (2, 400)), np.array([[0] * 9, range(1, 10)])
    for source, target in (mixing, pairs):
        walks = Walks(Frame(source=source, target=target), walk_length=400)
        size = len(walks.graph.names)
        step, arcs = np.zeros((size, size)), walks.graph.arcs
        for node in range(size):
            ends = np.diff(np.r_[0.0, arcs.bounds[arcs.starts[node] : arcs.starts[node + 1]] + 1.0])
            ends = ends / 2.0**32 if len(arcs.bounds) else 1 / np.diff(arcs.starts)[node]
            step[node, arcs.targets[arcs.starts[node] : arcs.starts[node + 1]]] = ends
        exact, at = np.zeros(size), np.ones(size)
        for _ in range(400):
            exact, at = exact + at, at @ step
        np.testing.assert_allclose(walks.visits(), exact, rtol=1e-3)


class Frame(dict):
    """A data frame, as far as a graph needs one."""

    @property
    def columns(self):
        return list(self)
