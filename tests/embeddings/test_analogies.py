"""Accuracy on analogy questions, compared with gensim, and errors in question files."""

import json

import numpy as np
import pytest
from word_vectors import QUESTIONS, in_gensim, put, structured, vectors_of

from w2vtrain.embeddings import analogies
from w2vtrain.embeddings.analogies import evaluate_analogies
from w2vtrain.errors import DataError


def gensim_counts(vectors, path, **options):
    """Return (section, correct, answered) of each section, as gensim counts them."""
    _, sections = in_gensim(vectors).evaluate_word_analogies(str(path), dummy4unknown=False, **options)
    return [(s["section"], len(s["correct"]), len(s["correct"]) + len(s["incorrect"])) for s in sections[:-1]]


def ours(report):
    return [(s.name, s.correct, s.answered) for s in report.sections]


@pytest.fixture(scope="module")
def some_questions(tmp_path_factory):
    """Return a file of every fifth question, because gensim answers one at a time."""
    lines = QUESTIONS.read_text().splitlines()
    kept = [line for i, line in enumerate(lines) if line.startswith(":") or i % 5 == 0]
    return put(tmp_path_factory.mktemp("questions"), "\n".join(kept))


@pytest.mark.parametrize("restrict", [300, 700, 30_000])
@pytest.mark.parametrize("noise", [1.0, 2.0])
def test_structured_vectors_get_the_same_scores_as_in_gensim(some_questions, restrict, noise):
    vectors = vectors_of(*structured(noise))
    report = evaluate_analogies(vectors, some_questions, restrict_vocab=restrict)
    assert ours(report) == gensim_counts(vectors, some_questions, restrict_vocab=restrict, case_insensitive=True)
    assert report.total.correct > 0
    assert restrict == 300 or report.total.correct < report.total.answered  # with few words, questions are easy


@pytest.mark.parametrize("case_insensitive", [True, False])
def test_random_vectors_get_the_same_scores_as_in_gensim(some_questions, case_insensitive):
    words, _ = structured(0, fold=str)
    vectors = vectors_of(words, np.random.default_rng(3).standard_normal((len(words), 4)))
    report = evaluate_analogies(vectors, some_questions, restrict_vocab=30_000, case_insensitive=case_insensitive)
    assert ours(report) == gensim_counts(
        vectors, some_questions, restrict_vocab=30_000, case_insensitive=case_insensitive
    )
    assert report.total.correct > 0


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("case_insensitive", [True, False])
def test_words_in_several_cases_get_the_same_scores_as_in_gensim(some_questions, seed, case_insensitive):
    rng = np.random.default_rng(seed)
    words, matrix = structured(0.5, fold=str.lower, seed=seed)
    # Up to eight spellings of a word, close together: they often take all the places that gensim considers.
    spellings = [str.upper, str.title, str.swapcase, lambda w: w[:1] + w[1:].upper(), lambda w: w[:-1] + w[-1:].upper()]
    spellings += [lambda w: w[:2].upper() + w[2:], lambda w: w[:1] + w[1:3].upper() + w[3:]]
    table = dict(zip(words, matrix, strict=True))
    for spell in spellings:
        for word, vector in zip(words, matrix, strict=True):
            if rng.random() < 0.8:
                table.setdefault(spell(word), vector + 0.1 * rng.standard_normal(vector.shape))
    order = list(table)
    rng.shuffle(order)
    vectors = vectors_of(order, [table[word] for word in order])
    options = {"restrict_vocab": 5000, "case_insensitive": case_insensitive}
    report = evaluate_analogies(vectors, some_questions, **options)
    assert ours(report) == gensim_counts(vectors, some_questions, **options)
    assert report.total.correct > 0


def test_a_question_is_wrong_if_other_spellings_fill_the_top_answers_as_in_gensim(tmp_path):
    path = put(tmp_path, ": s\nman king woman queen\n")
    base = {"man": [0, 1, 0], "king": [1, 1, 0], "woman": [0, 1, 1], "queen": [0.9, 1, 1]}
    other = {spelling: [1, 1, 1.01] for spelling in ("King", "KIng", "KINg", "kING", "KING")}
    for count in range(6):
        table = base | dict(list(other.items())[:count])
        vectors = vectors_of(table, list(table.values()))
        report = evaluate_analogies(vectors, path)
        assert ours(report) == gensim_counts(vectors, path, restrict_vocab=30_000)
        assert report.total.correct == (count < 5)


def block_sizes(monkeypatch):
    """Return a list to which each block of questions that is answered adds its size."""
    sizes, nearest = [], analogies._nearest
    monkeypatch.setattr(
        analogies, "_nearest", lambda similar, *more: sizes.append(len(similar)) or nearest(similar, *more)
    )
    return sizes


def test_block_size_does_not_change_the_report(some_questions, monkeypatch):
    vectors = vectors_of(*structured(1.0))
    whole = evaluate_analogies(vectors, some_questions)
    sizes = block_sizes(monkeypatch)
    monkeypatch.setattr(analogies, "SIMILARITIES_AT_ONCE", 1)
    assert evaluate_analogies(vectors, some_questions) == whole
    assert sizes[0] == 16
    assert sum(sizes) == whole.total.answered


def test_reports_sum_sections_and_compute_fractions(tmp_path):
    text = ": capitals\na b c d\na b c zzz\n\n: gram1-x\nA B C D\nb a d c\n: gram2-y\nzzz b c d\n"
    vectors = vectors_of("abcd", [[1, 0], [1, 1], [2, 0], [2, 1]])
    report = evaluate_analogies(vectors, put(tmp_path, text))
    assert [(s.name, s.answered, s.asked) for s in report.sections] == [
        ("capitals", 1, 2),
        ("gram1-x", 2, 2),
        ("gram2-y", 0, 1),
    ]
    assert (report.total.answered, report.total.asked) == (3, 5)
    assert (report.semantic.asked, report.syntactic.asked) == (2, 3)
    found = json.loads(json.dumps(report.to_dict()))
    assert found["total"]["coverage"] == pytest.approx(0.6)
    assert found["total"]["accuracy"] == pytest.approx(report.total.correct / 3)
    assert found["total"]["accuracy_of_all"] == pytest.approx(report.total.correct / 5)
    assert found["sections"][2]["accuracy"] is None
    assert found["sections"][2]["interval"] is None
    assert found["restrict_vocab"] == 30_000


def test_the_standard_error_follows_from_the_pairs_of_each_section():
    report = evaluate_analogies(vectors_of(*structured(2.0)), QUESTIONS)
    total, parts = report.total, [section.to_dict() for section in report.sections]
    assert total.pairs.pairs == sum(part["pairs"] for part in parts)
    assert parts[0]["pairs"] == 23, "the first section combines 23 capitals"
    errors = [part["answered"] * part["standard_error"] for part in parts]
    assert total.standard_error == pytest.approx(np.linalg.norm(errors) / total.answered)
    independent = np.sqrt(total.accuracy * (1 - total.accuracy) / total.answered)
    assert total.standard_error > 2 * independent
    low, high = total.interval
    assert high - low == pytest.approx(2 * 1.96 * total.standard_error, rel=0.1)


def test_zero_vectors_are_never_answers(tmp_path):
    vectors = vectors_of(["a", "b", "c", "zero", "d"], [[1, 0.1], [1, -0.1], [1, 0], [0, 0], [-1, 0.001]])
    assert evaluate_analogies(vectors, put(tmp_path, ": s\na b c d\n")).total.correct == 1
    only = vectors_of(["zero", "a", "b", "c"], [[0, 0], [1, 0.1], [1, -0.1], [1, 0]])
    found = evaluate_analogies(only, put(tmp_path, ": s\na b c zero\na b c a\n"))
    assert (found.total.correct, found.total.answered, found.unknown) == (0, 1, 1)


def test_a_vocabulary_that_covers_no_question_is_an_error(tmp_path):
    vectors = vectors_of(["x", "y"], np.eye(2))
    with pytest.raises(DataError, match=r"none of its 19,544 questions has all four words among the first 2 words"):
        evaluate_analogies(vectors, QUESTIONS)
    with pytest.raises(DataError, match=r"file.txt: the file has no questions$"):
        evaluate_analogies(vectors, put(tmp_path, ": section\n"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a b c d\n", "file.txt:1: a question before the first section"),
        ("a b 1.5\n", "file.txt:1: expected a question of 4 words, got 3"),
        (": s\na b c d\na b c\n", "file.txt:3: expected a question of 4 words, got 3"),
        (": s\n\n\na b c d e\n", "file.txt:4: expected a question of 4 words, got 5"),
        (b": s\na b c d\na b \xff d\n", "file.txt:3: not UTF-8 at byte 4"),
    ],
)
def test_malformed_questions_are_refused_with_their_line(tmp_path, text, message):
    with pytest.raises(DataError, match=message):
        evaluate_analogies(vectors_of("abcd", np.eye(4)), put(tmp_path, text))


def test_questions_are_answered_in_large_blocks(monkeypatch):
    words, matrix = structured(0.5, dim=100)
    rng = np.random.default_rng(1)
    extra = [f"filler{i}" for i in range(20_000 - len(words))]
    vectors = vectors_of(words + extra, np.concatenate([matrix, rng.standard_normal((len(extra), 100))]))
    sizes = block_sizes(monkeypatch)
    report = evaluate_analogies(vectors, QUESTIONS, restrict_vocab=None)
    assert len(sizes) < 100, "one matrix product answers hundreds of questions"
    assert report.total.answered == report.total.asked == 19_544
