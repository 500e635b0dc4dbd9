"""Named protocols and 3CosMul, compared with gensim and with word2vec.c's compute-accuracy, written from its steps."""

import numpy as np
import pytest
from word_vectors import DATA, QUESTIONS, in_gensim, put, structured, vectors_of

from w2vtrain.embeddings.analogies import evaluate_analogies
from w2vtrain.embeddings.bundled import EvaluationSet, bundled_sets, located
from w2vtrain.embeddings.evaluation_rules import PROTOCOLS
from w2vtrain.embeddings.evaluation_table import evaluate_all
from w2vtrain.embeddings.similarity import evaluate_similarity
from w2vtrain.errors import NoKnownWords


def few_questions(folder):
    lines = QUESTIONS.read_text(encoding="utf-8").splitlines()
    return put(folder, "\n".join(line for i, line in enumerate(lines) if line.startswith(":") or i % 40 == 0))


def upper_c(word):
    """Return what C's toupper makes of each byte of a word."""
    return bytes(byte - 32 if 97 <= byte <= 122 else byte for byte in word.encode()).decode()


def compute_accuracy(vectors, path, threshold):
    """Return (section, correct, counted) as word2vec.c's compute-accuracy counts them, one question at a time."""
    names = [upper_c(word) for word in vectors.words[:threshold]]
    rows = vectors.matrix[:threshold].astype(np.float64)
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    sections = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith(":"):
            sections.append([line[2:].strip(), 0, 0])
            continue
        question = [upper_c(word) for word in line.split()]
        if any(word not in names for word in question):
            continue
        b1, b2, b3, _ = map(names.index, question)
        best, answer = 0.0, ""
        for row, distance in enumerate(rows @ (rows[b2] - rows[b1] + rows[b3])):
            if row not in (b1, b2, b3) and distance > best:
                best, answer = distance, names[row]
        sections[-1][1] += answer == question[3]
        sections[-1][2] += 1
    return [tuple(section) for section in sections]


def spelled_twice(noise, seed):
    """Return vectors in which many words have a second form in another case, near to the first."""
    rng = np.random.default_rng(seed)
    words, matrix = structured(noise, seed=seed)
    forms = [
        (word.upper(), row + 0.3 * rng.standard_normal(row.shape)) for word, row in zip(words, matrix, strict=True)
    ]
    both = [*zip(words, matrix, strict=True), *forms[::2]]
    order = rng.permutation(len(both))
    return vectors_of([both[i][0] for i in order], [both[i][1] for i in order])


@pytest.mark.parametrize("threshold", [600, 30_000])
def test_protocol_word2vec_counts_what_compute_accuracy_counts(tmp_path, threshold):
    path, vectors = few_questions(tmp_path), spelled_twice(0.7, 5)
    report = evaluate_analogies(vectors, path, restrict_vocab=threshold, protocol=PROTOCOLS["word2vec"])
    expected = compute_accuracy(vectors, path, threshold)
    assert [(s.name, s.correct, s.answered) for s in report.sections] == expected
    plain = evaluate_analogies(vectors, path, restrict_vocab=threshold)
    assert plain.total.correct > report.total.correct > 0  # other forms of the question's words are nearest


def test_protocol_word2vec_folds_ascii_only_and_needs_a_positive_similarity(tmp_path):
    path = put(tmp_path, ": s\nÉtat b c d\nétat b c d\nb c État d\n")
    vectors = vectors_of(["état", "B", "c", "d"], [[1, 0], [0.1, 1], [0, 1], [1, -3]])
    report = evaluate_analogies(vectors, path, protocol=PROTOCOLS["word2vec"])
    assert [(s.name, s.correct, s.answered) for s in report.sections] == compute_accuracy(vectors, path, 100)
    assert (report.total.answered, report.total.correct) == (1, 0)
    assert evaluate_analogies(vectors, path).total.answered == 3


def test_protocol_word2vec_calls_the_first_five_sections_semantic_whatever_their_names(tmp_path):
    path = put(tmp_path, "".join(f": {name}\na b c d\n" for name in ("gram", "1", "2", "3", "4", "5", "6")))
    vectors = vectors_of(["a", "b", "c", "d"], np.eye(4))
    by_name = evaluate_analogies(vectors, path)
    by_place = evaluate_analogies(vectors, path, protocol=PROTOCOLS["word2vec"])
    assert (by_name.semantic.asked, by_name.syntactic.asked) == (6, 1)
    assert (by_place.semantic.asked, by_place.syntactic.asked) == (5, 2)


def test_protocol_gensim_equals_gensims_own_functions_with_their_defaults(tmp_path):
    path, vectors = few_questions(tmp_path), vectors_of(*structured(1.5))
    rules = PROTOCOLS["gensim"]
    report = evaluate_analogies(vectors, path, restrict_vocab=rules.restrict_vocab, protocol=rules)
    score, _ = in_gensim(vectors).evaluate_word_analogies(str(path))
    assert report.total.accuracy == score
    pearson, spearman, ratio = in_gensim(vectors).evaluate_word_pairs(str(DATA / "wordsim353.tsv"))
    pairs = evaluate_similarity(
        vectors, DATA / "wordsim353.tsv", restrict_vocab=rules.restrict_vocab, protocol=rules
    )  # fmt: skip
    assert pairs.spearman == pytest.approx(spearman.statistic, abs=1e-6)
    assert pairs.pearson == pytest.approx(pearson.statistic, abs=1e-6)
    assert 100 * pairs.unknown / pairs.asked == pytest.approx(ratio)


def test_protocol_full_equals_gensim_with_dummy4unknown(tmp_path):
    path, (words, matrix) = few_questions(tmp_path), structured(1.5)
    vectors, rules = vectors_of(words[:700], matrix[:700]), PROTOCOLS["full"]
    report = evaluate_analogies(vectors, path, restrict_vocab=None, protocol=rules)
    score, _ = in_gensim(vectors).evaluate_word_analogies(str(path), dummy4unknown=True)
    assert report.total.accuracy == score
    assert report.total.answered == report.total.asked > report.unknown > 0
    pairs = evaluate_similarity(vectors, DATA / "simlex999.tsv", restrict_vocab=None, protocol=rules)
    _, spearman, _ = in_gensim(vectors).evaluate_word_pairs(str(DATA / "simlex999.tsv"), dummy4unknown=True)
    assert (pairs.answered, pairs.asked) == (999, 999)
    assert pairs.spearman == pytest.approx(spearman.statistic, abs=1e-6)


@pytest.mark.filterwarnings("ignore:Call to deprecated `init_sims`")  # gensim's own call
def test_3cosmul_answers_as_gensims_most_similar_cosmul(tmp_path):
    path, (words, matrix) = few_questions(tmp_path), structured(0.8, fold=str)
    vectors = vectors_of(words, matrix)
    report = evaluate_analogies(vectors, path, case_insensitive=False, method="3cosmul", restrict_vocab=None)
    theirs, found = in_gensim(vectors), []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith(":"):
            found.append([0, 0])
            continue
        a, b, c, d = line.split()
        found[-1][0] += theirs.most_similar_cosmul([b, c], [a], topn=1)[0][0] == d
        found[-1][1] += 1
    assert [[s.correct, s.answered] for s in report.sections] == found
    assert report.total.correct != evaluate_analogies(vectors, path, case_insensitive=False).total.correct


@pytest.mark.parametrize("one", bundled_sets(), ids=lambda one: one.name)
def test_bundled_sets_are_found_by_their_names_and_those_of_their_files(one, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert located(one.name) == located(one.path.name) == str(one.path)
    (tmp_path / one.path.name).touch()
    assert located(one.path.name) == one.path.name


def test_the_table_has_every_bundled_set_and_says_which_the_vocabulary_does_not_cover():
    vectors = vectors_of(*structured(1.0))
    rows = evaluate_all(vectors, bundled_sets())
    assert [row.name for row in rows] == ["questions-words", "wordsim353", "simlex999"]
    own = evaluate_analogies(vectors, QUESTIONS).total
    assert (rows[0].score, rows[0].interval, rows[0].answered) == (own.accuracy, own.interval, own.answered)
    nothing = evaluate_all(vectors_of(["x", "y"], np.eye(2)), bundled_sets())
    assert [(row.score, row.answered) for row in nothing] == [(None, 0)] * 3
    assert all(row.note.startswith("none of its") for row in nothing)
    flat = evaluate_all(vectors_of(structured(1.0)[0], np.ones((len(structured(1.0)[0]), 2))), bundled_sets())
    assert flat[0].score is not None
    assert flat[1].note == "the correlation is undefined: 4 of 353 pairs are covered, and their similarities are equal"
    with pytest.raises(NoKnownWords):
        evaluate_analogies(vectors_of(["x", "y"], np.eye(2)), QUESTIONS)


def test_sets_without_an_answer_say_among_which_words(tmp_path):
    texts = {"analogies": ": s\na b c d\n", "similarity": "a d 1\n", "outliers": "c\nd\n\na\n", "categories": "c\tx\n"}
    sets = [EvaluationSet(kind, kind, put(tmp_path, text, kind)) for kind, text in texts.items()]
    rows = evaluate_all(vectors_of("abcd", np.eye(4)), sets, restrict_vocab=2, analogy_words=2)
    assert [row.note.rpartition(" among ")[2] for row in rows] == ["the first 2 words of the vocabulary"] * 4
