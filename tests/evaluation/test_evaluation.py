import bz2
import json
import lzma
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from w2vtrain.errors import DataError, InputMissing, UsageError
from w2vtrain.evaluation import evaluation
from w2vtrain.evaluation.evaluation import analogies, analogy, close_words, neighbors, similarity
from w2vtrain.evaluation.scores import fisher, wilson
from w2vtrain.formats.vectors import Vectors, to_keyed_vectors

DATA = Path(__file__).parents[2] / "data" / "eval"
QUESTIONS = DATA / "questions-words.txt"


def keyed(words, matrix):
    return to_keyed_vectors(Vectors(list(words), np.asarray(matrix, np.float32)))


def put(folder, text, name="file.txt"):
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder / name


def word_pairs():
    """(section, a, b) for each pair of words that the questions are made of."""
    section, pairs = "", {}
    for line in QUESTIONS.read_text().splitlines():
        if line.startswith(":"):
            section = line[2:]
        else:
            a, b, c, d = line.split()
            pairs[section, a, b] = pairs[section, c, d] = None
    return list(pairs)


def structured(noise, fold=str.lower, seed=0, dim=50):
    """Words of the questions: a section is a direction, so that analogies hold up to noise; in an order of its own."""
    rng = np.random.default_rng(seed)
    directions: dict[str, np.ndarray] = {}
    vectors: dict[str, np.ndarray] = {}
    for section, a, b in word_pairs():
        step = directions.setdefault(section, rng.standard_normal(dim))
        start = vectors.setdefault(fold(a), rng.standard_normal(dim))
        vectors.setdefault(fold(b), start + step + noise * rng.standard_normal(dim))
    words = list(vectors)
    rng.shuffle(words)
    return words, np.array([vectors[word] for word in words], np.float32)


def gensims(kv, path, **options):
    """Correct and incorrect questions by section, as gensim counts them."""
    _, sections = kv.evaluate_word_analogies(str(path), dummy4unknown=False, **options)
    return [(s["section"], len(s["correct"]), len(s["correct"]) + len(s["incorrect"])) for s in sections[:-1]]


def ours(report):
    return [(s.name, s.correct, s.answered) for s in report.sections]


@pytest.fixture(scope="module")
def some_questions(tmp_path_factory):
    """Every fifth question, because gensim answers one at a time."""
    lines = QUESTIONS.read_text().splitlines()
    kept = [line for i, line in enumerate(lines) if line.startswith(":") or i % 5 == 0]
    return put(tmp_path_factory.mktemp("questions"), "\n".join(kept))


@pytest.mark.parametrize("restrict", [300, 700, 30_000])
@pytest.mark.parametrize("noise", [1.0, 2.0])
def test_structured_vectors_score_as_in_gensim(some_questions, restrict, noise):
    kv = keyed(*structured(noise))
    report = analogies(kv, some_questions, restrict_vocab=restrict)
    assert ours(report) == gensims(kv, some_questions, restrict_vocab=restrict, case_insensitive=True)
    assert report.total.correct > 0
    assert restrict == 300 or report.total.correct < report.total.answered  # among few words it is easy


@pytest.mark.parametrize("case_insensitive", [True, False])
def test_random_vectors_score_as_in_gensim(some_questions, case_insensitive):
    words, _ = structured(0, fold=str)
    kv = keyed(words, np.random.default_rng(3).standard_normal((len(words), 4)))
    report = analogies(kv, some_questions, restrict_vocab=30_000, case_insensitive=case_insensitive)
    assert ours(report) == gensims(kv, some_questions, restrict_vocab=30_000, case_insensitive=case_insensitive)
    assert report.total.correct > 0


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("case_insensitive", [True, False])
def test_words_in_several_cases_score_as_in_gensim(some_questions, seed, case_insensitive):
    rng = np.random.default_rng(seed)
    words, matrix = structured(0.5, fold=str.lower, seed=seed)
    # Up to eight spellings of a word, close together: often they fill all the places that gensim looks at.
    spellings = [str.upper, str.title, str.swapcase, lambda w: w[:1] + w[1:].upper(), lambda w: w[:-1] + w[-1:].upper()]
    spellings += [lambda w: w[:2].upper() + w[2:], lambda w: w[:1] + w[1:3].upper() + w[3:]]
    table = dict(zip(words, matrix, strict=True))
    for spell in spellings:
        for word, vector in zip(words, matrix, strict=True):
            if rng.random() < 0.8:
                table.setdefault(spell(word), vector + 0.1 * rng.standard_normal(vector.shape))
    order = list(table)
    rng.shuffle(order)
    kv = keyed(order, [table[word] for word in order])
    options = {"restrict_vocab": 5000, "case_insensitive": case_insensitive}
    report = analogies(kv, some_questions, **options)
    assert ours(report) == gensims(kv, some_questions, **options)
    assert report.total.correct > 0


def test_places_filled_by_other_cases_make_a_question_wrong_as_in_gensim(tmp_path):
    path = put(tmp_path, ": s\nman king woman queen\n")
    base = {"man": [0, 1, 0], "king": [1, 1, 0], "woman": [0, 1, 1], "queen": [0.9, 1, 1]}
    other = {spelling: [1, 1, 1.01] for spelling in ("King", "KIng", "KINg", "kING", "KING")}
    for count in range(6):
        table = base | dict(list(other.items())[:count])
        kv = keyed(table, list(table.values()))
        report = analogies(kv, path)
        assert ours(report) == gensims(kv, path, restrict_vocab=30_000)
        assert report.total.correct == (count < 5)


def test_blocks_of_questions_do_not_matter(some_questions, monkeypatch):
    kv = keyed(*structured(1.0))
    whole = analogies(kv, some_questions)
    seen = []
    monkeypatch.setattr(evaluation, "SIMILARITIES", 1)
    assert analogies(kv, some_questions, progress=lambda done, total: seen.append((done, total))) == whole
    assert seen[0] == (16, whole.total.answered)
    assert seen[-1] == (whole.total.answered, whole.total.answered)


def test_sums_and_shares(tmp_path):
    text = ": capitals\na b c d\na b c zzz\n\n: gram1-x\nA B C D\nb a d c\n: gram2-y\nzzz b c d\n"
    kv = keyed("abcd", [[1, 0], [1, 1], [2, 0], [2, 1]])
    report = analogies(kv, put(tmp_path, text))
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


def test_zero_vectors_are_no_answers(tmp_path):
    kv = keyed(["a", "b", "c", "zero", "d"], [[1, 0.1], [1, -0.1], [1, 0], [0, 0], [-1, 0.001]])
    assert analogies(kv, put(tmp_path, ": s\na b c d\n")).total.correct == 1
    only = keyed(["zero", "a", "b", "c"], [[0, 0], [1, 0.1], [1, -0.1], [1, 0]])
    assert analogies(only, put(tmp_path, ": s\na b c zero\n")).total.correct == 0


def test_no_covered_question_is_an_error_not_zero_percent():
    kv = keyed(["x", "y"], np.eye(2))
    with pytest.raises(DataError, match=r"none of its 19,544 questions has all four words among the first 2 words"):
        analogies(kv, QUESTIONS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a b c d\n", "file.txt:1: a question before the first section"),
        (": s\na b c d\na b c\n", "file.txt:3: 3 words, a question has 4"),
        (": s\n\n\na b c d e\n", "file.txt:4: 5 words, a question has 4"),
        (b": s\na b c d\na b \xff d\n", "file.txt:3: not UTF-8 at byte 4"),
    ],
)
def test_malformed_questions(tmp_path, text, message):
    with pytest.raises(DataError, match=message):
        analogies(keyed("abcd", np.eye(4)), put(tmp_path, text))


def test_wrong_arguments(tmp_path):
    kv = keyed("abcd", np.eye(4))
    with pytest.raises(InputMissing, match="No such file"):
        analogies(kv, tmp_path / "none")
    with pytest.raises(UsageError, match="restrict_vocab"):
        analogies(kv, QUESTIONS, restrict_vocab=0)
    with pytest.raises(UsageError, match="topn"):
        neighbors(kv, "a", 0)


@pytest.mark.parametrize("name", ["wordsim353.tsv", "simlex999.tsv"])
def test_similarity_agrees_with_gensim_and_scipy(name):
    lines = [line.split("\t") for line in (DATA / name).read_text().splitlines()]
    words = sorted({word.lower() for a, b, _ in lines[::2] for word in (a, b)})
    kv = keyed(words, np.random.default_rng(0).standard_normal((len(words), 20)))
    report = similarity(kv, DATA / name)
    pearson, spearman, oov = kv.evaluate_word_pairs(str(DATA / name))
    assert report.pearson == pytest.approx(pearson[0], abs=1e-5)
    assert report.spearman == pytest.approx(spearman[0], abs=1e-5)
    assert 1 - report.answered / report.asked == pytest.approx(oov / 100)
    assert (report.asked, report.answered > 100) == (len(lines), True)
    found = json.loads(json.dumps(report.to_dict()))
    assert found["interval"][0] < found["spearman"] < found["interval"][1]


def test_similarity_takes_the_first_of_several_cases(tmp_path):
    kv = keyed(["Cat", "cat", "dog", "sun"], [[1, 0], [0, 1], [1, 0.1], [0.2, 1]])
    text = "# comment\n\ncat dog 9\nCAT\tsun\t1\ndog sun 2\nmoon sun 3\n"
    report = similarity(kv, put(tmp_path, text))
    assert (report.spearman, report.answered, report.asked) == (pytest.approx(1), 3, 4)
    assert similarity(kv, tmp_path / "file.txt", case_insensitive=False).answered == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x y 1\ny z 2\n", "no pair of .*file.txt is in the vocabulary"),
        ("", "no pair of .*file.txt is in the vocabulary"),
        ("a b 1\n", "all scores of the covered pairs are equal"),
        ("a b 1\na c 1\n", "all scores of the covered pairs are equal"),
        ("a b 1\nc d 2\n", "all similarities of the covered pairs are equal"),
        ("a b 1\na c\n", "file.txt:2: not a line of two words and a score"),
        ("a b 1\na c x\n", "file.txt:2: not a line"),
        ("a b nan\n", "file.txt:1: not a line"),
        ("a b 1 2\n", "file.txt:1: not a line"),
        (b"a b 1\n\xff b 2\n", "file.txt:2: not UTF-8"),
    ],
)
def test_pairs_that_give_no_correlation(tmp_path, text, message):
    with pytest.raises(DataError, match=message):
        similarity(keyed("abcd", np.eye(4)), put(tmp_path, text))


def test_questions_and_pairs_have_limits(tmp_path, monkeypatch):
    kv = keyed("abcd", np.random.default_rng(0).standard_normal((4, 3)))
    long = "x" * evaluation.LONGEST_LINE
    assert analogies(kv, put(tmp_path, f": {long[2:]}\r\na b c d\n")).total.asked == 1
    with pytest.raises(DataError, match=r"file\.txt:2: the line has more than 65,536 bytes"):
        analogies(kv, put(tmp_path, f": a\n{long}x\na b c d\n"))
    with pytest.raises(DataError, match=r"file\.txt:65537: more than 65,536 sections"):
        analogies(kv, put(tmp_path, ":\n" * (1 << 16) + ": a\na b c d\n"))
    monkeypatch.setattr(evaluation, "LARGEST", 19)
    assert similarity(kv, put(tmp_path, "a b 1\na c 2\nb d 3\n"[:-1])).asked == 3
    with pytest.raises(DataError, match=r"file\.txt:4: more than 19 bytes of text: divide the file"):
        similarity(kv, put(tmp_path, "a b 1\na c 2\nb d 3\nc d 4\n"))


def test_compressed_questions_may_be_as_regular_as_real_ones(tmp_path):
    """Real ones are compressed 20 times at most; millions of equal lines, thousands of times."""
    kv = keyed("abcd", np.random.default_rng(0).standard_normal((4, 3)))
    plain = b": a\n" + b"a b c d\n" * 8_000
    (tmp_path / "plain").write_bytes(plain)
    (tmp_path / "some.bz2").write_bytes(bz2.compress(plain))
    (tmp_path / "bomb.bz2").write_bytes(bz2.compress(b": a\n" + b"a b c d\n" * 9_000))
    assert analogies(kv, tmp_path / "some.bz2").total == analogies(kv, tmp_path / "plain").total
    with pytest.raises(DataError, match=r"bomb\.bz2:8193: more text than 100 times the size of the compressed file"):
        analogies(kv, tmp_path / "bomb.bz2")
    (tmp_path / "questions.xz").write_bytes(lzma.compress(QUESTIONS.read_bytes()))
    words, matrix = structured(0.5)
    assert analogies(keyed(words, matrix), tmp_path / "questions.xz").total.asked == 19_544


def test_pairs_are_scored_block_by_block(tmp_path, monkeypatch):
    kv = keyed("abcd", np.random.default_rng(0).standard_normal((4, 3)))
    path = put(tmp_path, "a b 1\na c 2\nb d 3\nc d 4\nd d 5\n")
    whole = similarity(kv, path)
    monkeypatch.setattr(evaluation, "PAIRS", 2)
    assert similarity(kv, path) == whole


def test_wilson_is_that_of_scipy():
    for correct, n in [(0, 10), (3, 10), (10, 10), (1, 1), (4321, 19_544)]:
        expected = stats.binomtest(correct, n).proportion_ci(method="wilson")
        assert wilson(correct, n) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_fisher_covers_the_truth_as_often_as_it_says():
    rng = np.random.default_rng(0)
    true, hits, rounds = 0.5, 0, 400
    truth = 6 / math.pi * math.asin(true / 2)  # Spearman's correlation of normal pairs
    for _ in range(rounds):
        x = rng.standard_normal((100, 2)) @ np.linalg.cholesky([[1, true], [true, 1]]).T
        low, high = fisher(stats.spearmanr(x).statistic, 100)
        hits += low < truth < high
    assert 0.92 < hits / rounds < 0.98
    assert fisher(0.5, 3) == (-1, 1)
    assert fisher(1.0, 50)[1] <= 1
    assert fisher(0.3, 353)[0] == pytest.approx(-fisher(-0.3, 353)[1])


def test_neighbors_and_analogy():
    kv = keyed(
        ["man", "king", "woman", "queen", "zero", "Kings"],
        [[0, 1, 0], [1, 1, 0], [0, 1, 1], [1, 1, 1], [0, 0, 0], [5, 0.1, 0]],
    )
    assert [word for word, _ in neighbors(kv, "king", 2)] == ["queen", "Kings"]
    assert neighbors(kv, "king", 1)[0][1] == pytest.approx(2 / math.sqrt(6), abs=1e-6)
    assert analogy(kv, "king", "man", "woman", 1)[0][0] == "queen"
    assert "zero" not in dict(neighbors(kv, "king", 100))
    assert len(neighbors(kv, "king", 100)) == 4


def test_unknown_words_name_close_ones():
    kv = keyed(["the", "Greece", "greek", "KING", "kingdom"], np.eye(5))
    with pytest.raises(DataError, match="'greece' is not in the vocabulary; close to it: 'Greece', 'greek'"):
        neighbors(kv, "greece")
    with pytest.raises(DataError, match="'king' is not in the vocabulary; close to it: 'KING'"):
        analogy(kv, "the", "king", "greek")
    with pytest.raises(DataError, match=r"'xyzzy' is not in the vocabulary$"):
        neighbors(kv, "xyzzy")


def test_close_words_are_cheap_in_a_large_vocabulary(monkeypatch):
    """Few words are compared letter by letter, however many there are."""
    compared, compare = [], evaluation.difflib.get_close_matches

    def counted(word, possibilities, **more):
        compared.extend(possibilities)
        return compare(word, possibilities, **more)

    monkeypatch.setattr(evaluation.difflib, "get_close_matches", counted)
    kv = keyed([f"word{i}" for i in range(300_000)], np.zeros((300_000, 1)))
    assert close_words(kv, "wrod77")
    assert 0 < len(compared) <= 5_000


def test_all_questions_in_a_vocabulary_of_20_000():
    words, matrix = structured(0.5, dim=100)
    rng = np.random.default_rng(1)
    extra = [f"filler{i}" for i in range(20_000 - len(words))]
    kv = keyed(words + extra, np.concatenate([matrix, rng.standard_normal((len(extra), 100))]))
    blocks = []
    report = analogies(kv, QUESTIONS, restrict_vocab=None, progress=lambda done, total: blocks.append(done))
    assert len(blocks) < 100, "a matrix product answers hundreds of questions"
    assert report.total.answered == report.total.asked == 19_544


def test_the_shipped_sets_are_whole():
    report = analogies(keyed(*structured(0.3)), QUESTIONS)
    assert (report.total.asked, len(report.sections)) == (19_544, 14)
    assert (report.semantic.asked, report.syntactic.asked) == (8_869, 10_675)
    readme = (DATA / "README.md").read_text()
    assert all(path.name in readme for path in DATA.iterdir() if path.suffix != ".md")
