"""Softmax over letters, compared with a naive network in float64 that spells one letter at a time."""

from itertools import product

import numpy as np
import pytest
from reference import check_steps

from w2vtrain import objectives
from w2vtrain.errors import ConfigError
from w2vtrain.kernels.layers import UNITS
from w2vtrain.objectives import char_softmax
from w2vtrain.objectives.char_softmax import ADAGRAD_DAMPING, CharScorer, CharSoftmax
from w2vtrain.probability import characters
from w2vtrain.probability.characters import MAX_SPELLED_BYTES, CharacterDecoder, spell, tries
from w2vtrain.probability.dense import Workspace
from w2vtrain.probability.problem import Problem

# Words of many lengths, also the empty word. The fourth and the fifth are truncated to the same spelling.
WORDS = ["the", "a", "né", "x" * 40, "x" * 50, "then", "nation", "national", "日本", "", "nationals", "he", "b"]
COUNTS = np.arange(len(WORDS), 0, -1)
SIZE, DIM, BLOCK = len(WORDS), 5, 9
SMALL = {"units": 7, "char_dim": 3}
CHILDREN = CharacterDecoder._children
CELLS = pytest.mark.parametrize("cell", list(UNITS))
LAYERS = ["start", "embeddings", "inputs", "recurrent", "offsets", "readout", "prior"]


def built(rng, words=WORDS, bias=True, dtype=np.float64, **options):
    """Return an objective that has no parameter at 0."""
    problem = Problem(words, np.ones(len(words), np.int64), DIM, bias=bias, dtype=dtype)
    objective = CharSoftmax.build(problem, **{**SMALL, **options})
    for array in objective.parameters().values():
        array[...] = rng.normal(size=array.shape) * 0.7
    return objective


def scorer_of(objective, words):
    """Return a scorer with the network of an objective for another vocabulary with the same letters."""
    return CharScorer(CharacterDecoder(objective.network.unit, objective.theta, spell(words)))


def block(rng, width, dtype=np.float64, size=SIZE):
    H = rng.normal(size=(BLOCK, width)).astype(dtype)
    H[:, DIM:] = 1
    return H, rng.integers(0, size, BLOCK).astype(np.int32)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gru_naively(theta, x, state):
    """Cho et al. 2014, Equations 5 to 8, with the reset gate after the product; z keeps the old state."""
    s, unused = state
    (xr, xz, xc), (pr, pz, pc) = np.split(x, 3), np.split(s @ theta["recurrent"], 3)
    r, z = sigmoid(xr + pr), sigmoid(xz + pz)
    return (1 - z) * np.tanh(xc + r * pc) + z * s, unused


def lstm_naively(theta, x, state):
    """Gers, Schmidhuber & Cummins 2000, Equations 1 to 9, with tanh for g and h, one block per memory cell."""
    y, s = state
    in_j, f_j, out_j, c_j = np.split(x + y @ theta["recurrent"], 4)
    s = sigmoid(f_j) * s + sigmoid(in_j) * np.tanh(c_j)
    return sigmoid(out_j) * np.tanh(s), s


NAIVE = {3: gru_naively, 4: lstm_naively}  # by the number of gates


def log_prob_naively(theta, words, word, h):
    """Return log P(spelling of the word|h), one letter at a time. Letter 0 is the end; the sorted bytes follow."""
    alphabet = sorted({byte for w in words for byte in w.encode()[:MAX_SPELLED_BYTES]})
    theta = {name: array.astype(np.float64) for name, array in theta.items()}
    units, gates = theta["recurrent"].shape
    state, total = (np.tanh(h @ theta["start"]), h @ theta["start"]), 0.0
    for letter in [*(alphabet.index(byte) + 1 for byte in word.encode()[:MAX_SPELLED_BYTES]), 0]:
        scores = state[0] @ theta["readout"] + theta["prior"]
        total += scores[letter] - np.log(np.exp(scores).sum())
        x = theta["embeddings"][letter] @ theta["inputs"] + theta["offsets"]
        state = NAIVE[gates // units](theta, x, state)
    return total


def table_naively(objective, words, H):
    return np.array([[log_prob_naively(objective.theta, words, word, h) for word in words] for h in H])


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 2e-6)])
@pytest.mark.parametrize(("cell", "bias"), [("gru", False), ("gru", True), ("lstm", True)])
def test_loss_and_scores_match_the_reference_implementation(rng, cell, bias, dtype, tolerance):
    objective = built(rng, bias=bias, dtype=dtype, cell=cell)
    H, targets = block(rng, DIM + bias, dtype)
    table = table_naively(objective, WORDS, H.astype(np.float64))
    own, log_z = table[np.arange(BLOCK), targets], np.log(np.exp(table).sum(axis=1))
    loss, dH = objective.step(H, targets, 0.0, Workspace())
    assert loss == pytest.approx(-own.sum(), rel=tolerance)
    raw, z = objective.scores(H, targets)
    np.testing.assert_allclose(raw, own, rtol=tolerance)
    np.testing.assert_allclose(z, log_z, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(objective.log_prob(H, targets), own, rtol=tolerance)
    np.testing.assert_allclose(objective.log_probs(H), table - log_z[:, None], rtol=tolerance, atol=tolerance)
    assert {a.dtype for a in (dH, raw, z, objective.log_prob(H, targets), objective.log_probs(H))} == {np.dtype(dtype)}


@CELLS
def test_updates_follow_the_gradient_for_words_of_every_kind(rng, cell):
    objective = built(rng, cell=cell)
    H, targets = block(rng, DIM + 1)
    targets[0] = 9  # the empty word has one letter: its end
    assert set(objective.parameters()) == set(objective.arrays()) == {f"char.{name}" for name in LAYERS}
    assert objective.output.shape == (0, DIM + 1)
    check_steps(objective, H, targets)


@CELLS
def test_probabilities_of_all_strings_up_to_a_length_sum_to_less_than_1_and_approach_it(rng, cell):
    """States are between -1 and 1, so a word ends at every letter with a probability of at least `least`."""
    words = ["a", "b"]
    objective = built(rng, words=words, cell=cell)
    theta = objective.theta
    theta["readout"] *= 0.2
    theta["prior"][:] = 1, 0, 0
    reach = np.abs(theta["readout"]).sum(axis=0)
    least = 1 / (1 + np.exp(reach[1:] + reach[0] - 1).sum())
    H, targets = block(rng, DIM + 1, size=1)
    sums = [np.exp([log_prob_naively(theta, words, "", h) for h in H])]
    for longest in range(1, 11):
        strings = ["".join(letters) for n in range(longest + 1) for letters in product("ab", repeat=n)]
        sums.append(np.exp(scorer_of(objective, strings).scores(H, targets)[1]))
        if longest == 3:
            np.testing.assert_allclose(sums[3], np.exp(table_naively(objective, strings, H)).sum(axis=1), rtol=1e-12)
    rest = 1 - np.array(sums)
    assert (rest > 0).all()
    assert (rest[1:] <= rest[:-1] * (1 - least)).all()
    assert rest[-1].max() < 0.05


def test_words_truncated_to_one_spelling_each_have_its_full_probability(rng):
    objective = built(rng)
    H, _ = block(rng, DIM + 1)
    log_probs = objective.log_probs(H)
    np.testing.assert_array_equal(log_probs[:, 3], log_probs[:, 4])
    alone = scorer_of(objective, [*WORDS[:4], *WORDS[5:]])
    raw, _ = objective.scores(H, np.full(BLOCK, 3))
    np.testing.assert_allclose(alone.scores(H, np.full(BLOCK, 3))[0], raw, rtol=1e-12)


@pytest.mark.parametrize(("piece", "batch"), [(1, 1), (3, 2), (4, 100), (1000, 4)])
def test_scores_do_not_depend_on_the_sizes_of_pieces_and_batches(rng, monkeypatch, piece, batch):
    objective = built(rng)
    H, targets = block(rng, DIM + 1)
    expected = objective.log_probs(H), objective.scores(H, targets), objective.log_prob(H, targets)
    monkeypatch.setattr(characters, "WORDS_PER_TRIE", piece)
    monkeypatch.setattr(char_softmax, "HIDDEN_VECTORS_AT_ONCE", batch)
    monkeypatch.setattr(char_softmax, "TARGETS_AT_ONCE", batch)
    again = scorer_of(objective, WORDS)
    assert len(again.network.tries) == -(-SIZE // piece)
    np.testing.assert_allclose(again.log_probs(H), expected[0], rtol=1e-12)
    np.testing.assert_allclose(again.scores(H, targets), expected[1], rtol=1e-12)
    np.testing.assert_allclose(again.log_prob(H, targets), expected[2], rtol=1e-12)


def test_tries_contain_every_prefix_exactly_once(rng):
    words = ["".join(rng.choice(list("abc"), rng.integers(0, 6))) for _ in range(60)]
    spelling = spell(words)
    letters = np.maximum(spelling.letters[:, 1:], 2) - 2
    (levels,) = tries(letters, spelling.lengths - 2, 1000)
    prefixes = {word[:n] for word in words for n in range(len(word) + 1)}
    assert 1 + sum(len(level.letters) for level in levels) == len(prefixes)
    assert sum(len(level.inner) for level in levels) == len({prefix[:-1] for prefix in prefixes if prefix})
    names = [""]
    for level in levels:
        assert {w: names[e] for w, e in zip(level.words, level.ends, strict=True)} == {w: words[w] for w in level.words}
        names = [
            names[level.inner[parent]] + "abc"[letter - 1]
            for parent, letter in zip(level.parents, level.letters, strict=True)
        ]
    assert sorted(w for level in levels for w in level.words) == list(range(60))


def test_a_step_follows_adagrad_and_rate_0_changes_nothing(rng):
    objective = built(rng, net_rate=3.0)
    H, targets = block(rng, DIM + 1)
    before = {name: array.copy() for name, array in objective.theta.items()}
    _, dH, slopes = objective.network.gradients(H, targets, Workspace())
    objective.step(H, targets, 0.0, Workspace())
    for name, array in objective.theta.items():
        np.testing.assert_array_equal(array, before[name])
        assert not objective.state[name].any()
    np.testing.assert_array_equal(objective.step(H, targets, 0.1, Workspace())[1], dH)
    for name, array in objective.theta.items():
        np.testing.assert_allclose(objective.state[name], slopes[name] ** 2)
        expected = before[name] + 0.3 * slopes[name] / np.sqrt(slopes[name] ** 2 + ADAGRAD_DAMPING)
        np.testing.assert_allclose(array, expected, rtol=1e-12)
    again = objective.network.gradients(H, targets, Workspace())[2]
    objective.step(H, targets, 0.1, Workspace())
    for name in objective.theta:
        np.testing.assert_allclose(objective.state[name], slopes[name] ** 2 + again[name] ** 2)


def test_parameter_sizes_do_not_depend_on_the_number_of_words():
    few, many = (Problem(["a", "b", *("ab" * k for k in range(1, n))], COUNTS, DIM) for n in (2, 16))
    sizes = [{name: a.shape for name, a in CharSoftmax.build(p).parameters().items()} for p in (few, many)]
    assert sizes[0] == sizes[1]


@pytest.mark.parametrize("words", [["a"], ["a", "b"], [""], ["", "日"]])
@pytest.mark.parametrize("count", [0, 1, 3])
def test_tiny_vocabularies_and_empty_blocks_work(rng, words, count):
    objective = built(rng, words=words, dtype=np.float32)
    H = np.zeros((count, DIM + 1), np.float32)
    targets = np.zeros(count, np.int32)
    loss, dH = objective.step(H, targets, 0.1, Workspace())
    assert np.isfinite(loss)
    assert dH.shape == H.shape
    assert objective.log_prob(H, targets).shape == (count,)
    np.testing.assert_allclose(np.exp(objective.log_probs(H)).sum(axis=1), 1, rtol=1e-5)


def one_step(rng, cell, dtype, scale, parents, read):
    """Return random states, products and the table, and the gates and states that a step computes from them."""
    unit, (k, n, B, size, letters) = UNITS[cell], (3, 5, 2, 13, 4)
    widths = unit.vectors * size, unit.gates * size
    states, products, table = (
        (rng.normal(size=shape) * scale).astype(dtype)
        for shape in ((k, B, widths[0]), (k, B, widths[1]), (letters, widths[1]))
    )
    states[..., :size] = np.tanh(states[..., :size])
    following, gates = np.empty((n, B, widths[0]), dtype), np.empty((n, B, unit.kept * size), dtype)
    unit.advance(states, products, parents, table, read, following, gates)
    return states, products, table, following, gates


@CELLS
@pytest.mark.parametrize("scale", [0.1, 3.0, 100.0])
def test_the_compiled_recurrent_units_match_numpy(cell, scale):
    """This includes large inputs, where tanh is flat. NaN is propagated."""
    unit, parents, read = UNITS[cell], np.array([2, 0, 1, 1, 0]), np.array([0, 3, 1, 3, 2], np.uint8)
    found = {
        kind: one_step(np.random.default_rng(1), cell, kind, scale, parents, read) for kind in (np.float64, np.float32)
    }
    for exact, fast in zip(found[np.float64][3:], found[np.float32][3:], strict=True):
        np.testing.assert_allclose(fast, exact, atol=1e-6 * max(1, scale), rtol=1e-6)
        assert np.abs(fast[..., :13]).max() <= 1 + 1e-6
    states, products, table, following, gates = found[np.float32]
    products[:] = np.nan
    unit.advance(states, products, parents, table, read, following, gates)
    assert np.isnan(following).all()


def test_an_lstm_with_saturated_gates_carries_its_memory(rng):
    """With open forget gates and closed input gates, the memory never changes; the output is its tanh."""
    objective = built(rng, cell="lstm", dtype=np.float32)
    theta, (H, targets) = objective.theta, block(rng, DIM + 1, np.float32)
    for name in ("inputs", "recurrent"):
        theta[name][...] = 0
    theta["offsets"][:] = np.repeat([-50, 50, 50, 0], 7)  # input, forget and output gates, candidate
    scores = np.tanh(H.astype(np.float64) @ theta["start"]) @ theta["readout"] + theta["prior"]
    scores -= np.log(np.exp(scores).sum(axis=1, keepdims=True))
    alphabet = sorted({byte for word in WORDS for byte in word.encode()[:MAX_SPELLED_BYTES]})
    for h, target, found in zip(scores, targets, objective.log_prob(H, targets), strict=True):
        letters = [alphabet.index(byte) + 1 for byte in WORDS[target].encode()[:MAX_SPELLED_BYTES]]
        assert found == pytest.approx(h[[*letters, 0]].sum(), rel=1e-5)
    loss, _, slopes = objective.network.gradients(H, targets, Workspace())
    assert np.isfinite(loss)
    assert not slopes["recurrent"][:, :7].any(), "closed input gates pass no gradient"


def test_an_lstm_starts_by_remembering():
    theta = CharSoftmax.build(Problem(WORDS, COUNTS, DIM), cell="lstm", **SMALL).theta
    np.testing.assert_array_equal(theta["offsets"], np.repeat([0, 1, 0, 0], 7))
    assert not CharSoftmax.build(Problem(WORDS, COUNTS, DIM), **SMALL).theta["offsets"].any()


def test_log_z_of_fewer_examples_is_affordable_for_more_words(rng, monkeypatch):
    objective, spelled = built(rng), []
    monkeypatch.setattr(
        CharacterDecoder,
        "_children",
        lambda self, states, level, *rest: spelled.append(level) or CHILDREN(self, states, level, *rest),
    )
    objective.log_probs(np.zeros((1, DIM + 1)))
    states = 1 + sum(len(level.letters) for level in spelled)
    assert objective.network.prefixes == states
    for budget, expected in ((states * 20, 20), (states * 20 - 1, 19), (states, 8), (states * 1000, 512)):
        monkeypatch.setattr(char_softmax, "MAX_LOG_Z_STATES", budget)
        assert objective.affordable == expected


@pytest.mark.parametrize(
    ("cell", "message"), [("rnn", "option cell .*: expected gru or lstm, got 'rnn'"), ("9" * 5000, "expected gru")]
)
def test_unknown_cells_are_rejected(cell, message):
    with pytest.raises(ConfigError, match=message):
        CharSoftmax.check(objectives.checked_options("char-softmax", {"cell": cell}))
