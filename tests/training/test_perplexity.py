"""Perplexity compared with a naive float64 loop, held-out text during training, and text that cannot be scored."""

import itertools
import threading
from types import SimpleNamespace

import numpy as np
import pytest
import reference

import w2vtrain
from w2vtrain.embeddings.model import load_model, save_model
from w2vtrain.errors import DataError, InputMissing
from w2vtrain.formats.describe import describe
from w2vtrain.objectives import objectives
from w2vtrain.probability.dense import RowScorer
from w2vtrain.system import parallel
from w2vtrain.training import perplexity as scoring
from w2vtrain.training import record
from w2vtrain.training.events import Events
from w2vtrain.training.inputs import heldout_text
from w2vtrain.training.perplexity import perplexity
from w2vtrain.training.predictor import Predictor, model_predictor
from w2vtrain.training.scoring_units import Interrupted, Watch

WORDS = ["red", "green", "blue", "cat", "dog", "cow", "one", "two", "three", "four"]
SMALL = {"vector_size": 7, "window": 3, "epochs": 3, "threads": 1, "sample": 0.0, "min_count": 1, "alpha": 0.1}
LM = {"context": "left", "bias": True, "sentence_end": True, "init": 0.1}
TABLE = {"learn_z": True, "z_table": 50}
CASES = {
    "nce": {**LM, "objective": "nce", "architecture": "vlbl"},
    "nce of means": {**LM, "objective": "nce", "architecture": "cbow", "window": 1},
    "nce with z": {"objective": "nce", "architecture": "cbow", "options": {"learn_z": True}, "alpha": 0.3},
    "nce with a table of z": {**LM, "objective": "nce", "architecture": "vlbl", "options": TABLE},
    "skipgram with z": {"objective": "nce", "window": 1, "context": "left", "options": {"learn_z": True}, "alpha": 0.3},
    "skipgram with a table of z": {"objective": "nce", "window": 1, "options": TABLE, "alpha": 0.3},
    "hs": {**LM, "objective": "hs", "architecture": "cbow", "window": 1, "alpha": 0.2},
    "skipgram": {"objective": "neg", "window": 1, "context": "left", "alpha": 0.3},
    "right": {"objective": "nce", "context": "right", "architecture": "vlbl"},
    "softmax": {"objective": "softmax", "architecture": "cbow", "bias": True, "block": 8},
    "selfnorm": {**LM, "objective": "selfnorm", "architecture": "vlbl", "block": 4},
}


def scored(scorer, layer, windows, *more):
    """Score a text with the parts of a model."""
    return scoring.score(Predictor(scorer, layer, windows), *more)


def sentences(rng, count):
    """Return `count` random sentences in which words of three kinds alternate."""
    kinds = [WORDS[:3], WORDS[3:6], WORDS[6:]]
    return [
        [str(rng.choice(kinds[(start + k) % 3])) for k in range(rng.integers(1, 15))]
        for start in rng.integers(0, 3, count).tolist()
    ]


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """Return the paths of a corpus and of held-out text: several chunks, unknown words, empty lines, one-word lines."""
    folder, rng = tmp_path_factory.mktemp("scoring"), np.random.default_rng(5)
    corpus, heldout = folder / "corpus.txt", folder / "heldout.txt"
    corpus.write_text("".join(" ".join(line) + "\n" for line in sentences(rng, 300)))
    lines = sentences(rng, 400)
    for line in lines[::7]:
        line.insert(int(rng.integers(0, len(line) + 1)), "unknown")
    heldout.write_text("\n".join(" ".join(line) for line in [*lines, [], ["red"], ["unknown"]]))
    return corpus, heldout


@pytest.fixture(scope="module")
def models(texts):
    made = {}

    def model(case):
        if case not in made:
            made[case] = w2vtrain.train(texts[0], **{**SMALL, **CASES[case]})
        return made[case]

    return model


def windows_of(settings, end):
    """Return the windows of some settings, derived independently of the package."""
    from w2vtrain.engines.window_kernel import Windows

    pads = 0 if end < 0 else settings["window"] if settings["architecture"] == "vlbl" else 1
    left, right = settings["context"] != "right", settings["context"] != "left"
    return Windows(settings["window"], False, left, right, end, pads)


def learned_z(model):
    """Return a function: a list of context words -> the log Z that the model learned for them, 0 if it learned none."""
    options, log_z = model.settings["options"], model.arrays.get("log_z")
    if log_z is None:
        return lambda words: 0.0
    parts = SimpleNamespace(log_z=log_z, learn_z=True, hashed=options["z_table"] > 0)
    return reference.implementation_of("objectives", "nce")(parts).log_z


def naive(model, path):
    """Return all unnormalized log scores and log Z in float64, computed one example at a time.

    A learned log Z is subtracted from both.
    """
    s, index = model.settings, {word: i for i, word in enumerate(model.words)}
    windows = windows_of(s, index["</s>"] if s["sentence_end"] else -1)
    known = [[index[w] for w in line.split() if w in index] for line in path.read_text().split("\n")]
    keep = np.full(len(index), 2**32 - 1)
    arrays = {k: model.arrays[k].astype(float) for k in model.arrays if k == "context_weights"}
    architecture = reference.implementation_of("architectures", s["architecture"])(s["window"], arrays)
    found = reference.examples([k for k in known if k], keep, windows, architecture, (0, 0, 0))
    output = model.output.astype(float)
    if s["bias"]:
        output = np.column_stack([output, model.arrays["bias"].astype(float)])
    raw, log_z, constant = [], [], learned_z(model)
    for target, context, left, number, _ in found:
        c = constant([context[number]] if architecture.pairs else context)
        h = reference.with_bias(architecture.hidden(model.input.astype(float), context, left, number), s["bias"])
        if s["objective"] == "hs":
            start, nodes, codes = (model.arrays[f"tree.{part}"] for part in ("start", "nodes", "codes"))
            path_of = range(start[target], start[target + 1])
            raw.append(sum(np.log(reference.sigmoid((1 - 2.0 * codes[p]) * (output[nodes[p]] @ h))) for p in path_of))
            log_z.append(0.0)
        else:
            raw.append(output[target] @ h - c)
            log_z.append(np.log(np.exp(output @ h).sum()) - c)
    return np.array(raw), np.array(log_z)


@pytest.mark.parametrize("case", CASES)
def test_perplexity_agrees_with_the_naive_loop(models, texts, case):
    model = models(case)
    raw, log_z = naive(model, texts[1])
    found, _, coverage = perplexity(model, [str(texts[1])])
    assert found.examples == len(raw) > 1000
    assert found.perplexity == pytest.approx(np.exp(-(raw - log_z).mean()), rel=1e-5)
    assert found.unnormalized == pytest.approx(np.exp(-raw.mean()), rel=1e-5)
    assert found.bits == pytest.approx(-(raw - log_z).mean() / np.log(2), rel=1e-5)
    assert found.log_z_mean == pytest.approx(log_z.mean(), abs=1e-5)
    assert found.log_z_variance == pytest.approx(log_z.var(), abs=1e-5)
    assert found.perplexity < 9, "the model has learned that the kinds alternate"
    tokens = texts[1].read_text().split()
    assert coverage == pytest.approx(1 - tokens.count("unknown") / len(tokens))
    again = perplexity(model, [str(texts[1])])[0]
    for threads in (2, 5):
        other = perplexity(model, [str(texts[1])], threads)[0]
        assert vars(other) | {"seconds": 0} == vars(again) | {"seconds": 0}, "the number of threads changes nothing"


def test_log_z_is_constant_for_hs_and_stays_near_0_for_selfnorm(models, texts):
    assert perplexity(models("hs"), [str(texts[1])])[0].log_z_variance == 0
    apart = perplexity(models("softmax"), [str(texts[1])])[0]
    tamed = perplexity(models("selfnorm"), [str(texts[1])])[0]
    assert tamed.log_z_variance < 0.3
    assert abs(tamed.log_z_mean) < 0.3
    assert tamed.unnormalized == pytest.approx(tamed.perplexity, rel=0.2)
    assert apart.perplexity < 9


def test_scoring_reports_progress_more_often_than_once_per_chunk(models, texts):
    seen = []
    perplexity(models("nce"), [str(texts[1])], 2, Watch(lambda done, total: seen.append((done, total))))
    parts = seen[-1][1]
    chunks = len(parts_of(models("nce"), texts)[-1].words)
    assert parts > 2 * chunks > 4
    assert seen == [(k, parts) for k in range(1, parts + 1)]


# skip-gram, whose hidden vectors are the input rows of single words


def parts_of(model, texts, lines=None):
    """Return the arguments of `score`: scorer, layer, windows, text. lines: of the held-out text; None for all."""
    settings, vocabulary, found = model_predictor(model)
    path = texts[1]
    if lines:
        path = path.with_name(f"{lines} lines.txt")
        path.write_text("".join(texts[1].read_text().splitlines(keepends=True)[:lines]))
    return found.scorer, found.layer, found.windows, heldout_text([str(path)], settings, vocabulary)[0]


def pairs_of(layer, windows, text, first=0, last=None):
    """Return the hidden vectors and targets of all pairs in tokens[first:last], found by a loop."""
    sentences = np.split(text.tokens[first:last], np.flatnonzero(text.tokens[first:last] < 0))
    sentences = [[int(word) for word in line if word >= 0] for line in sentences]
    keep, windows = np.full(len(text.counts), 2**32 - 1), windows._replace(shrink=False)
    ref = reference.implementation_of("architectures", "skipgram")(windows.size, {})
    found = reference.examples([line for line in sentences if line], keep, windows, ref, (0, 0, 0))
    H = layer.rows[[context[number] for _, context, _, number, _ in found], : layer.dim]
    return np.column_stack([H, *[np.ones(len(H), H.dtype)] * layer.bias]), np.array([t for t, *_ in found], np.int32)


SKIPGRAM = {"architecture": "skipgram", "epochs": 1, "vector_size": 8, "alpha": 0.02}
ENDED = {**SKIPGRAM, "sentence_end": True, "bias": True}


@pytest.fixture(scope="module")
def skipgram(texts):
    """Return a function that gives a skip-gram model by objective; ended: with biases and sentence ends as words."""
    made = {}

    def model(name, ended=False):
        if (name, ended) not in made:
            options = {"window": 4} if name == "lsh" else {}
            made[name, ended] = w2vtrain.train(
                texts[0], **{**SMALL, **(ENDED if ended else SKIPGRAM), "objective": name, "options": options}
            )
        return made[name, ended]

    return model


@pytest.mark.parametrize(
    ("name", "ended"),
    [
        *(pytest.param(n, False, marks=pytest.mark.slow if n == "char-softmax" else ()) for n in objectives()),
        *((name, True) for name in ("neg", "hs", "nce", "softmax", "class-softmax")),
    ],
)
def test_skipgram_score_agrees_with_scoring_every_pair(skipgram, texts, monkeypatch, name, ended):
    monkeypatch.setattr(scoring, "EXAMPLES_PER_BLOCK", 96)  # several blocks per part
    scorer, layer, windows, text = parts_of(skipgram(name, ended), texts, 180)
    assert len(text.words) > 1
    H, targets = pairs_of(layer, windows, text)
    if getattr(scorer, "affordable", 0):
        monkeypatch.setattr(type(scorer), "affordable", len(text.words) * len(targets))
    raw, log_z = (found.astype(np.float64) for found in scorer.scores(H, targets))
    found = scored(scorer, layer, windows, text)
    assert found.examples == found.normalized == len(targets) > 5_000
    assert found.log_z_error == 0
    assert found.unnormalized == pytest.approx(np.exp(-raw.mean()), rel=1e-5)
    assert found.perplexity == pytest.approx(np.exp(-(raw - log_z).mean()), rel=1e-5)
    assert found.log_z_mean == pytest.approx(log_z.mean(), abs=1e-5)
    assert found.log_z_variance == pytest.approx(log_z.var(), abs=1e-5)
    other = scored(scorer, layer, windows, text, 3)
    assert vars(other) | {"seconds": 0} == vars(found) | {"seconds": 0}


def test_expensive_log_z_is_estimated_from_a_sample(skipgram, texts, monkeypatch):
    """The scorer sets the size of the sample, and each draw depends only on its chunk and block."""
    monkeypatch.setattr(scoring, "EXAMPLES_PER_BLOCK", 48)
    scorer, layer, windows, text = parts_of(skipgram("char-softmax"), texts, 180)
    chunks = len(text.words)
    monkeypatch.setattr(type(scorer), "affordable", 60 * chunks)
    sample = []
    for chunk in range(chunks):
        H, targets = pairs_of(layer, windows, text, text.starts[chunk], text.starts[chunk + 1])
        second = 48 + np.random.default_rng([chunk, 48]).permutation(48)[:12]
        few = np.concatenate([np.arange(48), second])
        sample += scorer.scores(H[few], targets[few])[1].tolist()
    found = scored(scorer, layer, windows, text, 2)
    assert found.normalized == len(sample) == 60 * chunks < found.examples
    assert found.log_z_mean == pytest.approx(np.mean(sample), abs=1e-5)
    assert found.log_z_variance == pytest.approx(np.var(sample), abs=1e-5)
    assert found.log_z_error == pytest.approx(np.std(sample) / np.sqrt(len(sample)), rel=1e-3)
    monkeypatch.setattr(type(scorer), "affordable", chunks + 1)
    assert scored(scorer, layer, windows, text, 2).normalized == chunks + 1


class Plain:
    """A scorer without `raw` that counts the examples it scores."""

    def __init__(self, scorer):
        self.scorer, self.count, self.lock = scorer, 0, threading.Lock()

    def log_prob(self, H, targets):
        return self.scorer.log_prob(H, targets)

    def log_probs(self, H):
        return self.scorer.log_probs(H)

    def scores(self, H, targets):
        with self.lock:
            self.count += len(H)
        return self.scorer.scores(H, targets)


def test_log_z_is_computed_once_per_context_word(skipgram, texts):
    scorer, *rest = parts_of(skipgram("neg"), texts)
    plain, grouped = Plain(scorer), Plain(scorer)
    grouped.raw = scorer.raw
    a, b = scored(plain, *rest), scored(grouped, *rest)
    assert plain.count == a.examples == b.examples
    assert grouped.count == len(WORDS)
    for name in ("perplexity", "unnormalized", "log_z_mean"):
        assert getattr(a, name) == pytest.approx(getattr(b, name), rel=1e-6)


class Given:
    """A scorer that scores only through `given`, and checks that the contexts are those of the hidden vectors.

    Hidden vectors must be means of input rows. scored: the number of examples, by method.
    """

    def __init__(self, scorer, layer):
        self.scorer, self.layer, self.scored = scorer, layer, {"scores": 0, "raw": 0, "log_prob": 0}

    def given(self, contexts):
        spans = zip(contexts.starts, contexts.sizes, strict=True)
        rows = self.layer.rows[:, : self.layer.dim]
        expected = np.array([rows[contexts.words[start : start + size]].mean(axis=0) for start, size in spans])

        def method(name):
            def checked(H, targets):
                np.testing.assert_allclose(H[:, : self.layer.dim], expected, rtol=1e-5, atol=1e-6)
                self.scored[name] += len(H)
                return getattr(self.scorer, name)(H, targets)

            return checked

        return SimpleNamespace(**{name: method(name) for name in self.scored})

    def scores(self, H, targets):
        raise AssertionError("scored without the contexts")

    log_prob = raw = scores

    def log_probs(self, H):
        raise AssertionError("scored without the contexts")


@pytest.mark.parametrize("sampled", [0, 100])
@pytest.mark.parametrize("case", ["nce of means", "skipgram with a table of z"])
def test_a_scorer_is_given_the_contexts_of_the_examples_that_it_scores(models, texts, case, sampled):
    scorer, layer, windows, text = parts_of(models(case), texts, 60)
    given, plain = Given(scorer, layer), Plain(scorer)
    given.affordable = plain.affordable = sampled
    plain.raw = scorer.raw
    a, b = (scored(which, layer, windows, text) for which in (given, plain))
    assert vars(a) | {"seconds": 0} == vars(b) | {"seconds": 0}
    by_word = case.startswith("skipgram") and not sampled
    assert given.scored["scores"] == plain.count > 0
    assert given.scored["raw"] == (a.examples if by_word or sampled else 0)
    (found,) = scoring.paces(Predictor(given, layer, windows), [], text, rounds=2, seconds=0.01)
    assert len(found) == 2
    assert min(found) > 0
    assert given.scored["log_prob"] > 0


# stopping, errors


class Slow(RowScorer):
    """A scorer that counts blocks and calls `then` at the fifth."""

    def __init__(self, output, then):
        super().__init__(output)
        self.then, self.calls = then, itertools.count(1)

    def scores(self, H, targets):
        if next(self.calls) == 5:
            self.then()
        return super().scores(H, targets)


@pytest.mark.parametrize("threads", [1, 3])
def test_stop_request_ends_scoring_within_a_block(models, texts, monkeypatch, threads):
    monkeypatch.setattr(scoring, "EXAMPLES_PER_BLOCK", 8)
    scorer, *rest = parts_of(models("softmax"), texts)
    stop = threading.Event()
    slow = Slow(scorer.output, stop.set)
    with pytest.raises(Interrupted, match="stopped"):
        scored(slow, *rest, threads, Watch(stop=stop.is_set))
    assert next(slow.calls) <= 5 + threads, "each thread finishes its block and starts no other"
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("w2vtrain scorer")]


def test_stop_request_ends_scoring_while_a_block_hangs(models, texts, monkeypatch):
    monkeypatch.setattr(parallel, "GRACE_SECONDS", 0.1)
    scorer, *rest = parts_of(models("softmax"), texts)
    hangs, release, waiting = threading.Event(), threading.Event(), threading.Event()

    def hang():
        hangs.set()
        waiting.set()
        release.wait()

    monkeypatch.setattr(scoring, "EXAMPLES_PER_BLOCK", 8)
    try:
        with pytest.raises(Interrupted):
            scored(Slow(scorer.output, hang), *rest, 1, Watch(stop=hangs.is_set))
        assert waiting.is_set()
    finally:
        release.set()


def test_error_in_a_scorer_is_raised(models, texts):
    def fails():
        raise RuntimeError("the scorer failed")

    scorer, *rest = parts_of(models("softmax"), texts)
    for threads in (1, 3):
        with pytest.raises(RuntimeError, match="the scorer failed"):
            scored(Slow(scorer.output, fails), *rest, threads)


def test_loaded_model_has_the_same_perplexity_as_the_saved_one(models, texts, tmp_path):
    for case, array in (("nce", "bias"), ("hs", "bias"), ("softmax", "bias"), ("nce with a table of z", "log_z")):
        path, model = tmp_path / "model.safetensors", models(case)
        save_model(path, model, force=True)
        loaded = load_model(path)
        assert loaded.arrays.keys() == model.arrays.keys()
        expected = {array: list(model.arrays[array].shape)}
        assert describe(path)["arrays"].items() >= expected.items()
        a, b = (perplexity(which, [str(texts[1])])[0] for which in (model, loaded))
        assert vars(a) | {"seconds": 0} == vars(b) | {"seconds": 0}


def test_text_with_nothing_to_predict_is_refused(models, texts, tmp_path):
    alone, unknown = tmp_path / "alone", tmp_path / "unknown"
    alone.write_text("red\n\ngreen\nunknown blue\n")
    unknown.write_text("nothing known here\n")
    with pytest.raises(DataError, match="no word with a context"):
        perplexity(models("skipgram"), [str(alone)])
    found, _, coverage = perplexity(models("nce"), [str(alone)])
    assert (found.examples, coverage) == (6, 0.75), "sentence ends can be predicted"
    with pytest.raises(DataError, match="in the vocabulary"):
        perplexity(models("nce"), [str(unknown)])
    with pytest.raises(InputMissing, match="nowhere"):
        perplexity(models("nce"), [str(tmp_path / "nowhere")])


# held-out text during training


def test_the_best_epoch_is_kept(texts, tmp_path):
    """At a constant learning rate, some epoch is worse than an earlier one; the model is that of the best epoch."""
    few = tmp_path / "few.txt"
    few.write_text("".join(texts[0].read_text().splitlines(keepends=True)[:6]))
    settings = {**SMALL, **CASES["nce"], "alpha": 0.3, "min_alpha": 0.3, "epochs": 40}
    reported = []
    events = Events(epoch=lambda epoch, score: reported.append((epoch.epoch, score.perplexity)))
    model = w2vtrain.train(few, heldout=texts[1], events=events, **settings)
    curve = [epoch["heldout"]["perplexity"] for epoch in model.record["epochs"]]
    assert reported == list(enumerate(curve, 1))
    best = int(np.argmin(curve))
    assert 0 < best < 39, "the corpus must be small enough to overfit"
    assert model.record["best_epoch"] == best + 1
    assert perplexity(model, [str(texts[1])])[0].perplexity == curve[best]
    assert model.record["seconds"].keys() == {"reading", "preparing", "training", "scoring"}
    for patience in (1, 3):
        stopped = w2vtrain.train([few], heldout=[texts[1]], patience=patience, **settings)
        end = next(e for e in range(40) if e >= patience and min(curve[: e + 1]) == min(curve[: e + 1 - patience]))
        assert [e["heldout"]["perplexity"] for e in stopped.record["epochs"]] == curve[: end + 1]
        assert perplexity(stopped, [str(texts[1])])[0].perplexity == min(curve[: end + 1])


def test_scoring_during_training_does_not_change_the_weights(texts):
    for case in ("nce", "softmax"):
        settings = {**SMALL, **CASES[case]}
        plain, scored = w2vtrain.train(texts[0], **settings), w2vtrain.train(texts[0], heldout=texts[1], **settings)
        curve = [epoch["heldout"]["perplexity"] for epoch in scored.record["epochs"]]
        assert min(curve) == curve[-1], "the last epoch is the best here"
        assert plain.input.tobytes() == scored.input.tobytes()
        assert plain.output.tobytes() == scored.output.tobytes()
        assert {k: v.tobytes() for k, v in plain.arrays.items()} == {k: v.tobytes() for k, v in scored.arrays.items()}


def test_infinite_perplexity_in_the_first_epoch_counts_as_the_best_so_far(texts, monkeypatch):
    monkeypatch.setattr("w2vtrain.training.perplexity._exp", lambda x: np.inf)
    model = w2vtrain.train(texts[0], heldout=texts[1], **{**SMALL, **CASES["nce"]})
    assert model.record["best_epoch"] == 1
    once = w2vtrain.train(texts[0], heldout=texts[1], **{**SMALL, **CASES["nce"], "patience": 1})
    assert len(once.record["epochs"]) == 2


def test_held_out_text_without_known_words_is_refused_before_training(texts, tmp_path):
    unknown, ready = tmp_path / "unknown", []
    unknown.write_text("nothing known here\n")
    with pytest.raises(DataError, match="in the vocabulary"):
        w2vtrain.train(texts[0], heldout=unknown, events=Events(ready=ready.append), **{**SMALL, **CASES["hs"]})
    assert not ready


def test_time_limit_ends_a_run_and_the_learning_rate_falls_with_time(texts, monkeypatch):
    """The total number of words is estimated from the time left."""
    monkeypatch.setattr(record, "MAX_RECORDS", 1_000_000)  # keep all records, even on a fast machine
    seen = []
    settings = {**SMALL, "epochs": 1_000_000, "seconds": 0.4, "alpha": 0.1, "min_alpha": 0.001}
    model = w2vtrain.train(texts[0], events=Events(training=seen.append), **settings)
    epochs = model.record["epochs"]
    assert 1 < len(epochs) < 1_000_000
    assert model.record["seconds"]["training"] >= 0.4
    assert sum(epoch["words"] for epoch in epochs) == seen[-1].words
    rates = [at.alpha for at in seen]
    assert rates == sorted(rates, reverse=True)
    assert rates[0] > 0.05
    assert rates[-1] < 0.02
    assert seen[-1].words <= seen[-1].total_words < 1.1 * seen[-1].words
    middle = seen[len(seen) // 2]
    assert middle.total_words > middle.words
    for a, b in itertools.pairwise(epochs[:-1]):
        assert a["words"] == b["words"] == model.record["vocabulary"]["words"]
