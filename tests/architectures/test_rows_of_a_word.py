"""A word vector may combine several input rows. This requires no changes to the engines, file formats or scoring.

In the architecture of these tests, words with the same first letter share a row, as words share n-grams in subword
models.
"""

import numpy as np
import pytest
import reference
from pages import allowed
from reference import problem_of, saved

import w2vtrain
from w2vtrain import architectures
from w2vtrain.architectures.contract import Layout
from w2vtrain.config import Settings, validated
from w2vtrain.engines.chunks import read_only
from w2vtrain.engines.window_engine import Extent, make_scratch
from w2vtrain.engines.window_kernel import Matrices, Windows, train_chunks
from w2vtrain.errors import ConfigError
from w2vtrain.kernels.rows import padded_rows
from w2vtrain.objectives import objective_class
from w2vtrain.probability.subsampling import keep_thresholds
from w2vtrain.training.checkpoint_file import Checkpoint
from w2vtrain.training.checkpoint_vectors import vectors_of
from w2vtrain.training.perplexity import perplexity
from w2vtrain.training.plan import effective

SIZE, DIM = 12, 10
WORDS = [f"{'abc'[i % 3]}{i}" for i in range(SIZE)]
SHARED = '''
"""Skip-gram in which a word vector is the mean of two rows: the word's own and that of its first letter."""

from typing import NamedTuple

import numpy as np
from numba import float32


class Shared(NamedTuple):
    """h = (r_c + r_letter(c)) / 2."""

    letters: np.ndarray  # (V,) int32: the input row of each word's first letter

    @staticmethod
    def pairs() -> bool:
        """Return True: each context word makes an example."""
        return True

    @classmethod
    def build(cls, layout, arrays):
        """Return an instance. The rows of letters come after those of the words."""
        known = sorted({word[:1] for word in layout.words})
        return cls(np.array([len(layout.words) + known.index(word[:1]) for word in layout.words], np.int32))

    def input_rows(self, words):
        """Return the number of words and letters."""
        return int(self.letters.max()) + 1

    def vectors(self, rows):
        """Return the means."""
        return (rows[: len(self.letters)] + rows[self.letters]) / np.float32(2)

    def forward(self, w_in, window, example, hidden):
        """Write the mean of two rows."""
        word = window.context[example]
        for c in range(w_in.shape[1]):
            hidden[0, c] = float32(0.5) * (w_in[word, c] + w_in[self.letters[word], c])

    def backward(self, w_in, window, example, gradient, step):
        """Add half of the gradient to each."""
        word = window.context[example]
        for c in range(w_in.shape[1]):
            change = float32(0.5) * step * gradient[0, c]
            w_in[word, c] += change
            w_in[self.letters[word], c] += change


ARCHITECTURE = Shared
'''


class Reference:
    pairs = True

    def __init__(self, letters):
        self.letters = letters

    def hidden(self, rows, context, left, number):
        return (rows[context[number]] + rows[self.letters[context[number]]]) / 2

    def learn(self, rows, context, left, number, dh, rate):
        rows[context[number]] += rate * dh / 2
        rows[self.letters[context[number]]] += rate * dh / 2


@pytest.fixture(scope="module")
def name(tmp_path_factory):
    return allowed(tmp_path_factory.mktemp("shared"), SHARED, architectures)


@pytest.mark.parametrize("objective", ["neg", pytest.param("hs", marks=pytest.mark.slow)])
def test_the_window_engine_agrees_with_the_naive_trainer_on_shared_rows(rng, name, objective):
    architecture = architectures.architecture_class(name).build(Layout(3, DIM, DIM, WORDS), {})
    rows = architecture.input_rows(SIZE)
    assert rows == SIZE + 3
    lines = [rng.integers(0, SIZE, rng.integers(1, 9)).tolist() for _ in range(10)]
    tokens = read_only(np.concatenate([[*line, -1] for line in lines]).astype(np.int32))
    counts = np.arange(60, 60 - SIZE, -1)
    fast, ref = (objective_class(objective).build(problem_of(counts, dim=DIM)) for _ in "ab")
    outputs = fast.output_rows(SIZE)
    w_in, w_out = padded_rows(rows, DIM), padded_rows(outputs + 1, DIM)
    w_in[:, :DIM], w_out[:outputs, :DIM] = rng.normal(size=(rows, DIM)), rng.normal(size=(outputs, DIM))
    slow_in, slow_out = w_in[:, :DIM].astype(float), w_out[:outputs, :DIM].astype(float)
    before = slow_in.copy()
    scratch = make_scratch(w_in, w_out, 0, 1, Extent(3, fast.candidate_limit, 50))
    one, bounds, keep = np.zeros(1, np.int64), np.array([0, len(tokens)]), keep_thresholds(counts, 0)
    _, examples = train_chunks(
        architecture, fast, Windows(3), tokens, bounds, one, np.array([1e-4]), Matrices(w_in, w_out), DIM, keep, 0.0, 5,
        2, scratch,
    )  # fmt: skip
    naive = Reference(architecture.letters), reference.implementation_of("objectives", objective)(ref)
    expected = reference.train(*naive, lines, keep, Windows(3), slow_in, slow_out, 1e-4, (5, 2, 0))
    assert examples == expected[1] > 0
    change = np.abs(slow_in - before)
    assert change[SIZE:].min() > 0
    np.testing.assert_allclose(w_in[:, :DIM] - before, slow_in - before, atol=0.02 * change.max())


@pytest.mark.parametrize("objective", ["neg", "softmax"])
def test_a_saved_model_keeps_all_rows_and_scores_the_same(tmp_path, name, objective):
    """This holds for both engines and for one and two threads. The file contains the combined vectors."""
    (tmp_path / "text").write_text("apple ant bee bear ape bat ant bee\nbear bat apple ape ant bee\n" * 40)
    text = str(tmp_path / "text")
    settings = {"vector_size": DIM, "epochs": 3, "min_count": 1, "sample": 0, "window": 2, "objective": objective}
    for threads in (1, 2):
        model = w2vtrain.train(text, architecture=name, heldout=text, threads=threads, **settings)
        rows = model.arrays["input_rows"]
        assert rows.shape == (len(model.words) + 2, DIM)
        letters = [len(model.words) + "ab".index(word[0]) for word in model.words]
        np.testing.assert_allclose(model.input, (rows[: len(letters)] + rows[letters]) / 2, atol=1e-6)
        w2vtrain.save_model(tmp_path / "model.safetensors", model, force=True)
        loaded = w2vtrain.load_model(tmp_path / "model.safetensors")
        assert perplexity(loaded, [text])[0].perplexity == pytest.approx(perplexity(model, [text])[0].perplexity)
    found = Checkpoint(1, "run", saved(1), {"input": np.pad(rows, ((0, 0), (0, 6)))})
    exported = vectors_of(found, False, validated({**settings, "architecture": name}), model.words)
    np.testing.assert_allclose(exported, model.input, atol=1e-6)


def test_a_trained_model_gives_all_rows_to_a_run_that_starts_from_it(tmp_path, name):
    settings = {"vector_size": DIM, "epochs": 1, "min_count": 1, "sample": 0, "window": 2, "threads": 1}
    texts = {"old": "apple ant bee bear\n", "new": "apple bat bee ape\n", "letter": "apple cow bee\n"}
    for file, text in texts.items():
        (tmp_path / file).write_text(text * 40)
    model = w2vtrain.train(tmp_path / "old", architecture=name, **settings)
    same = w2vtrain.continue_training(model, tmp_path / "old", 1, alpha=1e-9, threads=1)
    np.testing.assert_allclose(same.arrays["input_rows"], model.arrays["input_rows"], atol=1e-5)
    more = w2vtrain.continue_training(model, tmp_path / "new", 1, alpha=1e-9, threads=1, grow_vocabulary=True)
    assert set(more.words) == {*model.words, "bat", "ape"}
    for word in model.words:
        np.testing.assert_allclose(more[word], model[word], atol=1e-5)
    np.testing.assert_allclose(more.arrays["input_rows"][-2:], model.arrays["input_rows"][-2:], atol=1e-5)
    with pytest.raises(ConfigError, match="its array input_rows has shape"):
        w2vtrain.continue_training(model, tmp_path / "letter", 1, threads=1, grow_vocabulary=True)
    vectors = w2vtrain.Vectors(model.words, model.input)
    with pytest.raises(ConfigError, match="from other rows, which are not in the vectors"):
        w2vtrain.continue_training(vectors, tmp_path / "old", architecture=name, **{**settings, "epochs": 1})
    plain = w2vtrain.continue_training(model, tmp_path / "old", 1, alpha=1e-9, threads=1, architecture="skipgram")
    np.testing.assert_allclose(plain["bee"], model["bee"], atol=1e-5)


def test_subwords_are_refused_before_anything_is_read(name):
    with pytest.raises(ConfigError, match=r"subwords: .* computes the vectors of words from rows of its own"):
        effective(Settings(architecture=name, subwords=True))
