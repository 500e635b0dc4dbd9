"""Zero, constant, tiny and huge vectors: every query and command answers without a warning of NumPy.

Warnings are errors in tests, but conftest.py silences overflow for the Python versions of kernels; here, all of
NumPy's warnings are on.
"""

import math
from contextlib import suppress
from itertools import permutations

import numpy as np
import pytest

from w2vtrain.api import train
from w2vtrain.embeddings.analogies import nearest_to_analogies
from w2vtrain.embeddings.keyed_vectors import KeyedVectors
from w2vtrain.embeddings.model import Model
from w2vtrain.embeddings.neighbors import row_norms
from w2vtrain.errors import W2VError
from w2vtrain.formats.transforms import exported, transform
from w2vtrain.formats.vectors import write_vectors
from w2vtrain.text.token_lists import Sentences
from w2vtrain.training.perplexity import perplexity

RNG = np.random.default_rng(0)
WORDS = ["a", "b", "c", "d", "e"]
USUAL = RNG.normal(size=(5, 4))
MATRICES = {
    "zeros": np.zeros((5, 4)),
    "constant": np.ones((5, 4)),
    "one zero": np.vstack([np.zeros((1, 4)), USUAL[1:]]),
    "tiny": USUAL * 1e-30,
    "smallest": np.arange(1, 6)[:, None] * np.full((1, 4), 1.4e-45),
    "big": USUAL * 1e20,
    "largest": RNG.choice([-1, 1], size=(5, 4)) * 3e38,
    "mixed": np.vstack([np.full((1, 4), 3e38), np.full((1, 4), 1e-45), np.zeros((1, 4)), USUAL[:2]]),
    "one column": np.ones((5, 1)),
    "one word": np.ones((1, 4)),
    "one zero word": np.zeros((1, 4)),
}
QUERIES = {
    "most_similar": lambda keyed, a, b, c: keyed.most_similar(a, topn=3),
    "analogy": lambda keyed, a, b, c: keyed.most_similar([a, c], [b]),
    "most_similar_cosmul": lambda keyed, a, b, c: keyed.most_similar_cosmul([a, c], [b]),
    "similar_by_vector": lambda keyed, a, b, c: keyed.similar_by_vector(keyed.vectors[0] * 0),
    "similarity": lambda keyed, a, b, c: keyed.similarity(a, b),
    "distances": lambda keyed, a, b, c: keyed.distances(a),
    "n_similarity": lambda keyed, a, b, c: keyed.n_similarity([a, b], [c]),
    "doesnt_match": lambda keyed, a, b, c: keyed.doesnt_match([a, b, c]),
    "rank_by_centrality": lambda keyed, a, b, c: keyed.rank_by_centrality([a, b, c], use_norm=False),
    "rank": lambda keyed, a, b, c: keyed.rank(a, b),
    "closer_than": lambda keyed, a, b, c: keyed.closer_than(a, b),
    "relative_cosine_similarity": lambda keyed, a, b, c: keyed.relative_cosine_similarity(a, b),
    "get_mean_vector": lambda keyed, a, b, c: keyed.get_mean_vector([a, b, c], pre_normalize=False),
    "unit mean": lambda keyed, a, b, c: keyed.get_mean_vector([a, b, c], post_normalize=True),
    "get_normed_vectors": lambda keyed, a, b, c: keyed.get_normed_vectors(),
    "unit_normalize_all": lambda keyed, a, b, c: keyed.unit_normalize_all(),
    "cosine_similarities": lambda keyed, a, b, c: keyed.cosine_similarities(keyed.vectors[0], keyed.vectors),
    "wmdistance": lambda keyed, a, b, c: keyed.wmdistance([a, b], [c]),
}


@pytest.fixture(autouse=True)
def _warnings_of_numpy_are_on():
    with np.errstate(divide="warn", over="warn", invalid="warn"):
        yield


def keyed(name):
    matrix = MATRICES[name].astype(np.float32)
    return KeyedVectors.of(WORDS[: len(matrix)], matrix.copy())


@pytest.mark.parametrize("name", list(MATRICES))
@pytest.mark.parametrize("query", list(QUERIES))
def test_no_query_warns(name, query):
    if query == "wmdistance":
        pytest.importorskip("ot", reason="needs POT")
    vectors = keyed(name)
    QUERIES[query](vectors, *(vectors.index_to_key * 3)[:3])


@pytest.mark.parametrize("scale", [1e-30, 1e-19, 1e19, 1e30])
def test_the_scale_of_vectors_does_not_change_neighbors(scale):
    """Squares of float32 values underflow below 1e-23 and overflow above 1e19."""
    usual = KeyedVectors.of(WORDS, USUAL.astype(np.float32))
    other = KeyedVectors.of(WORDS, (USUAL * scale).astype(np.float32))
    for word in WORDS:
        names, cosines = zip(*usual.most_similar(word), strict=True)
        found, others = zip(*other.most_similar(word), strict=True)
        assert found == names
        np.testing.assert_allclose(others, cosines, rtol=1e-5)
        np.testing.assert_allclose(other.distances(word), usual.distances(word), atol=1e-6)
        np.testing.assert_allclose(other.distances(word, WORDS), usual.distances(word), atol=1e-6)
    assert other.doesnt_match(WORDS) == usual.doesnt_match(WORDS)
    np.testing.assert_allclose(row_norms(other.vectors), np.linalg.norm(USUAL, axis=1) * scale, rtol=1e-5)


@pytest.mark.parametrize("scale", [1e-30, 1e-19, 1e19, 1e30])
def test_the_scale_of_vectors_does_not_change_answers_to_many_queries_at_once(scale):
    usual, other = (KeyedVectors.of(WORDS, (USUAL * factor).astype(np.float32)) for factor in (1, scale))
    names, found = (
        [[word for word, _ in answers] for answers in keyed.most_similar_batch(keyed.vectors)]
        for keyed in (usual, other)
    )
    assert found == names
    questions = np.array(list(permutations(range(5), 3)))
    answers, others = (nearest_to_analogies(keyed.vectors, questions, np.arange(5)) for keyed in (usual, other))
    assert others.tolist() == answers.tolist()
    assert answers.min() >= 0


def test_a_mean_whose_sum_is_too_large_for_float32_is_right():
    vectors = KeyedVectors.of(["a", "b"], np.full((2, 3), 3e38, np.float32))
    np.testing.assert_allclose(vectors.get_mean_vector(["a", "b"], pre_normalize=False), np.full(3, 3e38), rtol=1e-6)
    assert vectors.n_similarity(["a", "b"], ["b"]) == pytest.approx(1)


def test_what_has_no_value_is_nan():
    assert math.isnan(keyed("zeros").relative_cosine_similarity("a", "b"))
    pytest.importorskip("ot", reason="needs POT")
    assert math.isnan(keyed("zeros").wmdistance(["a", "b"], ["c"]))


@pytest.mark.parametrize("name", list(MATRICES))
def test_no_transformation_warns(name):
    matrix = MATRICES[name].astype(np.float32)
    for center, top, normalize in ((True, 0, False), (False, 0, True), (False, 1, False), (True, 3, True)):
        with suppress(W2VError):
            transform(matrix.copy(), "file", center, top, normalize)
    for kind in ("in+out", "blend"):
        with suppress(W2VError):
            exported(matrix.copy(), matrix.copy(), kind, 0.4, "file")[:]


@pytest.mark.parametrize("name", list(MATRICES))
def test_no_command_warns(name, tmp_path, w2vtrain_here):
    matrix = MATRICES[name].astype(np.float32)
    words = WORDS[: len(matrix)]
    write_vectors(tmp_path / "v.bin", words, matrix)
    (tmp_path / "pairs").write_text("a b 1\nb c 2\na c 3\nd e 4\n")
    (tmp_path / "questions").write_text(": x\na b c d\nb a d c\n: y\na c b d\n")
    a, b, c = (words * 3)[:3]
    for command in (
        ["neighbors", "v.bin", *words], ["analogy", "v.bin", a, b, c], ["similarity", "v.bin", a, b],
        ["vector", "v.bin", *words], ["eval", "analogies", "v.bin", "questions"],
        ["eval", "similarity", "v.bin", "pairs"], ["info", "v.bin"],
        ["convert", "v.bin", "-o", "w.txt", "--remove-top", 1, "--normalize", "--force"],
    ):  # fmt: skip
        code, _, err = w2vtrain_here(command, tmp_path)
        assert code in (0, 2, 65), err
        assert "Warning" not in err
        assert len(err.splitlines()) <= 1 + len(words), err


@pytest.mark.parametrize("objective", ["softmax", "neg", "is"])
def test_scores_of_enormous_weights_give_no_warning(objective):
    text = [[f"w{(i * 7 + j * j) % 23}" for j in range(20)] for i in range(20)]
    model = train(text, objective=objective, vector_size=4, min_count=1, sample=0, epochs=1, threads=1)
    for scale in (0, 1e30, 1e38):
        with np.errstate(all="ignore"):
            parts = [np.nan_to_num(part * np.float32(scale)) for part in (model.input, model.output)]
        huge = Model(model.words, model.counts, *parts, model.arrays, model.settings, model.record)
        score = perplexity(huge, Sentences(text))[0]
        assert not score.perplexity < 1
