"""The block engine compared with a naive trainer, and how all block objectives learn with it."""

import itertools
import threading
from dataclasses import replace

import numpy as np
import pytest
import reference
from reference import chunks, problem_of, schedule_of, topics, trained

from w2vtrain import objectives
from w2vtrain.architectures import architecture_class
from w2vtrain.architectures.contract import Layout
from w2vtrain.architectures.skipgram import SkipGram
from w2vtrain.engines.block_engine import BlockEngine
from w2vtrain.engines.chunks import Chunks
from w2vtrain.engines.window_kernel import Windows
from w2vtrain.errors import Diverged
from w2vtrain.kernels.rows import padded_rows
from w2vtrain.probability.dense import Workspace, one_thread
from w2vtrain.probability.subsampling import keep_thresholds
from w2vtrain.text.encoded import Tags
from w2vtrain.training.engine_parts import make_engine

SIZE, DIM = 13, 6
COUNTS = np.array([90, 70, 40, 30, 20, 10, 9, 8, 7, 6, 5, 5, 4])
LINES = [[0, 3, 12, 3], [1, 2, 0, 5, 11], [4, 2, 9, 9, 1, 10], [0, 6, 1, 7, 8, 2]]
TOKENS = np.concatenate([[*line, -1] for line in LINES]).astype(np.int32)
STARTS = np.array([0, 11, len(TOKENS)])
BLOCKS = [name for name in objectives.objectives() if objectives.engine_of(name) == "blocks"]
# Smaller networks, for tests.
SMALL = {"char-softmax": {"units": 12, "char_dim": 5}, "cnn-softmax": {"char_dim": 5, "filters": 24, "correction": 3}}


@pytest.fixture(autouse=True, scope="module")
def _products_in_one_thread():
    with one_thread():
        yield


def built(name, options, bias, dtype=np.float64, **more):
    problem = problem_of(
        COUNTS, dim=DIM, bias=bias, init=0.6, seed=4, dtype=dtype, tokens=TOKENS, starts=STARTS, **more
    )
    full = objectives.checked_options(name, options)
    objective = objectives.objective_class(name).build(problem, **full)
    for array in objective.parameters().values():
        if not array.any():  # zeros would hide errors in their factors
            array += 0.2 * np.random.default_rng(8).normal(size=array.shape).astype(dtype)
    return objective, problem, full


def block(rng, width, bias, dtype=np.float64):
    """Return hidden vectors for the targets of the second chunk, the targets, and the words before them."""
    targets = np.array([word for line in LINES[2:] for word in line], np.int32)
    previous = np.array([word for line in LINES[2:] for word in [-1, *line[:-1]]], np.int32)
    H = rng.normal(size=(len(targets), width)).astype(dtype)
    if bias:
        H[:, -1] = 1
    return H, targets, previous


def begun(previous, seed=1, chunk=1):
    work = Workspace()
    work.begin(seed, 0, chunk)
    work.previous = previous
    return work


# The engine.


def corpus(rng, sentences=14, longest=12):
    """Return a random text: its sentences by chunk, two per chunk, and the encoded text."""
    p = 1 / np.arange(1, SIZE + 1)
    lines = [rng.choice(SIZE, rng.integers(1, longest), p=p / p.sum()).tolist() for _ in range(sentences)]
    tokens = np.concatenate([[*line, -1] for line in lines]).astype(np.int32)
    ends = np.flatnonzero(tokens < 0) + 1
    starts = np.concatenate([[0], ends[1::2]])
    words = np.array([len(a) + len(b) for a, b in zip(lines[::2], lines[1::2], strict=True)])
    return [lines[k : k + 2] for k in range(0, sentences, 2)], Chunks(tokens, starts, words, COUNTS, 50)


def built_architecture(name, window, bias=False, dim=DIM, weights=None):
    """Return an architecture. weights: its position weights, if it has any."""
    arrays = {} if weights is None else {"context_weights": weights}
    return architecture_class(name).build(Layout(window, dim, dim + bias), arrays)


def train_naively(found, architecture, rows, output, bias, lr, size):
    """Train a softmax on examples in float64, each block of `size` from the old values. Return the loss."""
    loss = 0.0
    for at in range(0, len(found), size):
        part, change, steps = found[at : at + size], np.zeros_like(output), []
        for target, context, left, number, _ in part:
            h = reference.with_bias(architecture.hidden(rows, context, left, number), bias)
            p = np.exp(output @ h - (output @ h).max())
            p /= p.sum()
            loss -= np.log(p[target])
            g = -p
            g[target] += 1
            change += np.outer(g, h)
            steps.append((context, left, number, (output.T @ g)[:DIM]))
        output += lr * change
        for context, left, number, dh in steps:
            architecture.learn(rows, context, left, number, dh, lr)
    return loss


@pytest.mark.parametrize("block_size", [1, 7, 100_000])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("model", reference.OF_WORDS)
def test_engine_agrees_with_the_naive_trainer(rng, model, bias, block_size):
    """Compare a softmax: chunks are learned in the given order, with their own random streams and learning rates."""
    sentences, text = corpus(rng)
    size, end = 3, 2 if bias else -1
    windows = Windows(size, not bias, True, model != "vlbl", end, size if bias else 0)
    problem = problem_of(COUNTS, dim=DIM, bias=bias, init=0.5)
    weights = padded_rows(2 * size, DIM + bias)
    weights[:, :DIM] = 1 + 0.3 * rng.normal(size=(2 * size, DIM))
    received = []

    class Recording(objectives.objective_class("softmax")):
        def step(self, H, targets, lr, work):
            received.extend((work.chunk, *pair) for pair in zip(targets.tolist(), work.previous.tolist(), strict=True))
            return super().step(H, targets, lr, work)

    objective, lr = Recording(problem.initial_rows(bias=problem.log_unigram())), 1e-3
    schedule = schedule_of(sample=0.05, epochs=1, seed=3, block=block_size)
    architecture = built_architecture(model, size, bias, weights=weights)
    engine = BlockEngine(architecture, objective, problem, text, windows, schedule)
    engine.compile()
    learned = {name: array[:, :DIM] for name, array in architecture.learned().items()}
    parts = [engine.w_in[:, :DIM], objective.output, *learned.values()]
    starts = [array.astype(np.float64) for array in parts]
    theta = [array.copy() for array in starts]
    ref = reference.implementation_of("architectures", model)(size, dict(zip(learned, theta[2:], strict=True)))
    order, rates = np.array([4, 0, 6, 1]), lr - lr / 2 * np.array([0.0, 0.3, 0.6, 0.9])
    received.clear()
    loss, count = engine.train(order, rates, 2, 0)
    naive_loss, keep, expected = 0, keep_thresholds(COUNTS, 0.05), []
    for chunk, rate in zip(order, rates, strict=True):
        found = reference.examples(sentences[chunk], keep, windows, ref, (3, 2, chunk))
        expected += [(chunk, target, previous) for target, *_, previous in found]
        naive_loss += train_naively(found, ref, *theta[:2], bias, rate, block_size)
    assert count == len(expected) > 20
    assert received == expected, "the objective must get the chunk and the word before each target"
    assert loss == pytest.approx(naive_loss, rel=1e-5)
    found = engine.weights()
    for k, (new, old, slow) in enumerate(zip(parts, starts, theta, strict=True)):
        change = np.abs(slow - old).max()
        assert change > 1e-5
        np.testing.assert_allclose(new - old, slow - old, atol=max(0.01 * change, 2e-7), err_msg=str(k))
    assert not engine.w_in[:, DIM + bias :].any()
    assert found.output.shape == (SIZE, DIM)
    assert found.arrays.keys() == ({"bias"} if bias else set()) | set(learned)
    if bias:
        np.testing.assert_array_equal(found.arrays["bias"], objective.output[:, DIM])
    for name in learned:
        assert found.arrays[name].shape[1] == DIM, "the model file must contain no padding"


def test_compile_tries_the_objective_even_if_subsampling_drops_every_word(rng):
    """Thus no thread waits for a kernel, and an objective whose step fails is reported before training starts."""
    _, text = corpus(rng)
    tried = []

    class Trial(objectives.objective_class("softmax")):
        def step(self, H, targets, lr, work):
            tried.append((lr, work.previous.tolist(), targets.tolist()))
            return super().step(H, targets, lr, work)

    problem, tags = problem_of(COUNTS, dim=DIM), Tags(np.array([0, 1]), np.array([SIZE], np.int32), 1, 1)
    for model, own in (("skipgram", None), ("cbow", None), ("pv-dm", tags)):
        objective = Trial(problem.initial_rows())
        schedule = schedule_of(sample=1e-12)
        engine = BlockEngine(
            built_architecture(model, 2), objective, problem, replace(text, tags=own), Windows(2), schedule
        )
        before = engine.w_in.tobytes()
        engine.compile()
        rate, previous, targets = tried.pop()
        assert (rate, targets, previous) == (0.0, [0, 1], [-1, 0])
        assert engine.w_in.tobytes() == before
        assert not objective.output.any()


def toy(rng, name, architecture, problem_options=None, **settings):
    """Train an objective on sentences about topics. Return what `trained` does, the engine, and each word's topic."""
    tokens, counts, topic = topics(rng, sentences=300)
    starts, words = chunks(tokens, 8)
    dim = 12
    bias = (problem_options or {}).get("bias", False)
    problem = problem_of(counts, dim=dim, tokens=tokens, starts=starts, **(problem_options or {}))
    schedule = schedule_of(**{"alpha": 0.05, "sample": 0.0, "epochs": 3, **settings})
    objective = objectives.objective_class(name).build(problem, **SMALL.get(name, {}))
    made = built_architecture(architecture, 3, bias, dim)
    text = Chunks(tokens, starts, words, counts)
    engine = make_engine(made, objective, problem, text, Windows(3), schedule)
    epochs = trained(engine, text, schedule)
    return epochs, engine, topic


def softmax_loss(engine):
    """Return the mean loss of a softmax over all words, given the mean of up to 3 words on each side."""
    weights, losses = engine.weights(), []
    ends = np.flatnonzero(engine.text.tokens < 0)
    for sentence in np.split(engine.text.tokens, ends + 1):
        words = sentence[sentence >= 0]
        for place, target in enumerate(words):
            context = np.r_[words[max(0, place - 3) : place], words[place + 1 : place + 4]]
            logits = weights.output @ weights.input[context].mean(axis=0)
            losses.append(np.logaddexp.reduce(logits) - logits[target])
    return np.mean(losses)


@pytest.mark.parametrize("name", BLOCKS)
def test_every_objective_learns_a_toy_corpus_on_two_threads(rng, name):
    """The loss is lower in the last epoch than in the first, and words of the same topic get similar vectors."""
    epochs, engine, topic = toy(rng, name, "cbow-corrected", {"init": 0.05}, threads=2, alpha=0.05, epochs=4)
    losses, examples = zip(*epochs, strict=True)
    if name == "lsh":  # its loss is over the rows that it retrieves, whose number varies with the threads' timing
        losses = np.log(len(topic)), softmax_loss(engine)
    assert losses[-1] < losses[0] - 0.05, losses
    assert len(set(examples)) == 1
    vectors = engine.weights().input
    assert np.isfinite(vectors).all()
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    similar = unit @ unit.T
    np.fill_diagonal(similar, -1)
    assert (topic[similar.argmax(axis=1)] == topic).mean() > 0.6


def test_two_threads_learn_every_chunk_once_per_epoch(rng, monkeypatch):
    seen, lock, original = [], threading.Lock(), BlockEngine._chunk

    def counted(self, tokens, span, chunk, lr, epoch, thread):
        with lock:
            seen.append((epoch, chunk, threading.get_ident(), id(self.work[thread])))
        return original(self, tokens, span, chunk, lr, epoch, thread)

    monkeypatch.setattr(BlockEngine, "_chunk", counted)
    _, engine, _ = toy(rng, "softmax", "cbow", threads=2, epochs=2)
    total = len(engine.text.words)
    assert sorted((epoch, chunk) for epoch, chunk, _, _ in seen) == list(itertools.product(range(2), range(total)))
    for epoch in (0, 1):
        owners = {(thread, work) for e, _, thread, work in seen if e == epoch}
        assert len(owners) == len({work for _, work in owners}), "two threads must not share a workspace"


@pytest.mark.parametrize("name", BLOCKS)
def test_divergence_stops_the_run_and_names_the_rate(rng, name):
    """Overflow along the way causes no warning and no other error."""
    with pytest.raises(Diverged, match=r"diverged in epoch \d+ at learning rate"):
        toy(rng, name, "cbow", {"init": 0.1}, alpha=3e38, epochs=2)


def test_nan_in_an_objectives_own_arrays_is_reported_as_divergence(rng):
    """After the last example, NaN may occur only in an objective's own arrays."""

    class Broken(objectives.objective_class("softmax")):
        def arrays(self):
            return {"own": np.array([0.0, np.nan])}

    _, text = corpus(rng)
    problem = problem_of(COUNTS, dim=DIM)
    schedule = schedule_of(epochs=1)
    objective = Broken(problem.initial_rows())
    engine = BlockEngine(SkipGram(3), objective, problem, text, Windows(3), schedule)
    with pytest.raises(Diverged, match="diverged in epoch 1"):
        trained(engine, text, schedule)


# Identities between objectives (docs/mathematics.md, identities 7 and 8).


SAME = [
    ("selfnorm", {"penalty": 0.0}, "softmax"),
    ("infrequent-norm", {"likelihood": "full", "gamma": 1.0, "penalty": 1.0}, "selfnorm"),
    ("infrequent-norm", {"likelihood": "full", "penalty": 0.0}, "softmax"),
    ("is", {"samples": 10, "ess": 20.0, "cap": 20}, "softmax"),  # no example has enough draws
    ("lsh", {"hashes": 0}, "softmax"),  # all rows are in one bucket
    ("class-softmax", {"count": 1}, "softmax"),
    ("adaptive-softmax", {}, "softmax"),  # so few words need no cluster
    ("dsoftmax", {"bands": "100:100"}, "softmax"),
    ("sampled-softmax", {"samples": 0}, "softmax"),
    ("target", {"size": 1000}, "softmax"),
]


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(("name", "options", "other"), [case for case in SAME if case[0] in BLOCKS])
def test_equivalent_objectives_take_the_same_step(name, options, other, bias):
    """The loss, the gradients, and the rows after the step are the same."""
    results = []
    for which, how in ((name, options), (other, {})):
        objective, problem, _ = built(which, how, bias)
        H, targets, previous = block(np.random.default_rng(3), problem.width, bias)
        loss, dH = objective.step(H, targets, 0.1, begun(previous))
        results.append((loss, dH, max(objective.parameters().values(), key=len)))
    for got, expected in zip(*results, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-12)
