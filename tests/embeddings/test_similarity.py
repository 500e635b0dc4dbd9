"""Correlations with human similarity ratings, compared with gensim and SciPy."""

import json

import numpy as np
import pytest
from scipy import stats
from word_vectors import DATA, in_gensim, put, vectors_of

from w2vtrain.embeddings.datasets import read_pairs
from w2vtrain.embeddings.similarity import evaluate_similarity, pearson, spearman
from w2vtrain.errors import DataError, UsageError


@pytest.fixture(params=["wordsim353.tsv", "simlex999.tsv"])
def rated(request):
    """Return a file of word pairs, and vectors for most of its words."""
    path = DATA / request.param
    lines = [line.split("\t") for line in path.read_text().splitlines()]
    words = sorted({word.lower() for a, b, _ in lines[::2] for word in (a, b)})
    return path, vectors_of(words, np.random.default_rng(0).standard_normal((len(words), 20)))


@pytest.mark.parametrize("case_insensitive", [True, False])
@pytest.mark.parametrize("restrict", [300, 300_000])
def test_correlations_equal_gensims_to_four_decimals(rated, restrict, case_insensitive):
    path, vectors = rated
    options = {"restrict_vocab": restrict, "case_insensitive": case_insensitive}
    report = evaluate_similarity(vectors, path, **options)
    (pearson_there, _), (spearman_there, _), unknown = in_gensim(vectors).evaluate_word_pairs(str(path), **options)
    assert f"{report.pearson:.4f}" == f"{pearson_there:.4f}"
    assert f"{report.spearman:.4f}" == f"{spearman_there:.4f}"
    assert 1 - report.answered / report.asked == pytest.approx(unknown / 100)


def test_the_report_has_counts_and_an_interval(rated):
    path, vectors = rated
    report = evaluate_similarity(vectors, path)
    assert (report.asked, report.answered > 100) == (len(path.read_text().splitlines()), True)
    found = json.loads(json.dumps(report.to_dict()))
    assert found["interval"][0] < found["spearman"] < found["interval"][1]


@pytest.mark.parametrize("n", [2, 3, 4, 50, 999])
@pytest.mark.parametrize("levels", [2, 10, None])
def test_correlations_equal_scipys(rng, n, levels):
    for scale in (1e-100, 1, 1e100):
        x, y = rng.standard_normal((2, n))
        if levels:  # many values are equal
            x, y = (np.concatenate([[0, 1], rng.integers(0, levels, n - 2)]).astype(float) for _ in "xy")
        x, y = x * scale, y - 1e-3 * x
        assert spearman(x, y) == stats.spearmanr(x, y).statistic
        assert pearson(x, y) == pytest.approx(stats.pearsonr(x, y).statistic, abs=1e-12)


def test_the_first_of_words_that_differ_only_in_case_is_used(tmp_path):
    vectors = vectors_of(["Cat", "cat", "dog", "sun"], [[1, 0], [0, 1], [1, 0.1], [0.2, 1]])
    text = "# comment\n\ncat dog 9\nCAT\tsun\t1\ndog sun 2\nmoon sun 3\n"
    report = evaluate_similarity(vectors, put(tmp_path, text))
    assert (report.spearman, report.answered, report.asked) == (pytest.approx(1), 3, 4)
    assert evaluate_similarity(vectors, tmp_path / "file.txt", case_insensitive=False).answered == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x y 1\ny z 2\n", "file.txt: none of its 2 pairs has both words among the first"),
        ("1,x,2\n2,y,3\n", "of the vocabulary: one of each is a number; columns names other columns"),
        ("", "file.txt: the file has no pairs$"),
        ("word1\tword2\tscore\n", "file.txt: the file has no pairs$"),
        ("a b 1\nx y 2\n", "1 of 2 pairs are covered, and their scores are equal"),
        ("a b 1\na c 1\n", "2 of 2 pairs are covered, and their scores are equal"),
        ("a b 1\nc d 2\n", "2 of 2 pairs are covered, and their similarities are equal"),
        ("a b 1\na c\n", "file.txt:2: expected two words and a score, got 'a c'"),
        ("a b 1\na c x\n", "file.txt:2: expected two words and a score"),
        ("a b nan\n", "file.txt:1: expected two words and a score"),
        ("a\tb\t\na\tc\t1\n", "file.txt:1: expected two words and a score"),
        ("a b 1,5\n", "file.txt:1: the score 1,5 has a decimal comma: write 1.5"),
        ("a;b;1\na;c;,5\n", "file.txt:2: the score ,5 has a decimal comma: write .5"),
        ("a b 1,5 0,5\na c 2 ,5\n", "file.txt:1: the score 1,5 has a decimal comma: write 1.5"),
        ("a b 1 0,5\na c 2,5 0,2\n", "file.txt:2: the score 2,5 has a decimal comma: write 2.5"),
        ("a,b,1,5\n", "file.txt:1: a decimal comma, or a cell too many, in 'a,b,1,5': write a point"),
        ("w,v,score\na,b,1,5\n", "file.txt:2: a decimal comma, or a cell too many, in 'a,b,1,5': write a point"),
        ("word1\tword2\t1\t2\taverage\na\tb\t9\t8\tn/a\n", "file.txt:2: expected two words and a score"),
        (b"a b 1\n\xff b 2\n", "file.txt:2: not UTF-8"),
        ("a b 1_000\n", "file.txt:1: expected two words and a score"),
        ("a b \u0663\n", "file.txt:1: expected two words and a score"),
        ("a b 1\n# men\n", "file.txt:2: expected two words and a score, got '# men'"),
    ],
)
def test_pairs_without_a_correlation_are_an_error(tmp_path, text, message):
    with pytest.raises(DataError, match=message):
        evaluate_similarity(vectors_of("abcd", np.eye(4)), put(tmp_path, text))


PAIRS = [("old", "new", 1.5), ("water", "river", 8.0), ("book", "a paper", 7.0)]


LAYOUTS = {
    "plain": "old\tnew\t1.5\nwater\triver\t8\nbook\ta paper\t7\n",
    "simlex": "word1\tword2\tPOS\tSimLex999\tconc(w1)\tSD(SimLex)\nold\tnew\tA\t1.5\t2\t3\nwater\triver\tN\t8\t3\t1\n"
    "book\ta paper\tN\t7\t1\t2\n",
    "wordsim": "Word 1,Word 2,Human (mean)\r\nold,new,1.5\r\nwater,river,8\r\nbook,a paper,7\r\n",
    "wordsim-raters": "\ufeffWord 1,Word 2,Human (Mean),1,2\nold,new,1.5,1,2\nwater,river,8,9,7\nbook,a paper,7,7,7\n",
    "raters-first": "word1,word2,1,2,mean\nold,new,1,2,1.5\nwater,river,9,7,8\nbook,a paper,7,7,7\n",
    "numbered-raters": "Word 1\tWord 2\t1\t2\tAverage\nold\tnew\t1\t2\t1.5\nwater\triver\t9\t7\t8\n"
    "book\ta paper\t7\t7\t7\n",
    "quoted": '"word1","word2","score"\n"old","new","1.5"\n"water","river","8"\n"book","a paper","7"\n',
    "quoted-tabs": '"word1"\t"word2"\t"score"\n" old "\t"new"\t"1.5"\nwater\triver\t8\n"book"\t"a paper"\t7\n',
    "indented": '\told new 1.5\n\twater river 8\n\tbook "a paper" 7\n',
    "spaces": 'old  new 1.5\nwater river 8\nbook "a paper" 7\n',
    "rw": "# type, words, mean\nold\tnew\t1.5\t1\t2\nwater\triver\t8\t8\t8\nbook\ta paper\t7\t6\t8\n",
    "simverb": "old\tnew\tA\t1.50\tANTONYMS\nwater\triver\tN\t8.00\tNONE\nbook\ta paper\tN\t7.00\tNONE\n",
    "semicolons": "old;new;1.5\nwater;river;8\nbook;a paper;7\n",
    "underscores": "id,word_1,word_2,gold\n1,old,new,1.5\n2,water,river,8\n3,book,a paper,7\n",
    "cue": "old\tnew\tA\t1.5\nwater\triver\tB\t8\nbook\ta paper\tC\t7\n",
    "topics": "topic,term1,term2,score\nage,old,new,1.5\nflow,water,river,8\ntext,book,a paper,7\n",
    "rank": "word1,word2,rank,score\nold,new,1,1.5\nwater,river,2,8\nbook,a paper,3,7\n",
    "numbered-tabs": "\tword1\tword2\tscore\n0\told\tnew\t1.5\n1\twater\triver\t8\n2\tbook\ta paper\t7\n",
    "by-header": ",word2,word1,sd,rating\n0,new,old,3,1.5\n1,river,water,2,8\n2,a paper,book,1,7\n",
}
"""The same pairs in the layouts of several sets."""


@pytest.mark.parametrize("text", LAYOUTS.values(), ids=LAYOUTS)
def test_sets_are_read_in_the_layouts_in_which_they_are_published(tmp_path, text):
    assert list(read_pairs(put(tmp_path, text))) == PAIRS


@pytest.mark.parametrize("columns", ["w1,w2,human", "2, 4, 5", "2,w2,human"])
def test_columns_are_chosen_by_name_or_number(tmp_path, columns):
    text = "id\tw1\tp1\tw2\thuman\n1\told\tA\tnew\t1.5\n2\twater\tN\triver\t8\n\tbook\tN\ta paper\t7\n"
    assert list(read_pairs(put(tmp_path, text), columns)) == PAIRS
    assert list(read_pairs(put(tmp_path, text.partition("\n")[2]), "2,4,5")) == PAIRS


def test_a_quotation_mark_in_a_context_hides_no_tab(tmp_path):
    contexts = ['" old ,\tso " new', "a water\tthe river", '"book"\t" a paper']
    rows = zip(PAIRS, contexts, strict=True)
    text = "".join(f"{left}\t{right}\t{context}\t{score}\t0\t10\n" for (left, right, score), context in rows)
    assert list(read_pairs(put(tmp_path, text), "1,2,5")) == PAIRS


@pytest.mark.parametrize("columns", ["1,2", "0,1,2", "w1,w2,nothing", ","])
def test_columns_that_do_not_exist_are_refused(tmp_path, columns):
    with pytest.raises(UsageError, match="by number or by the names of the header, w1, w2, human"):
        list(read_pairs(put(tmp_path, "w1\tw2\thuman\na\tb\t1\n"), columns))


def test_a_score_with_a_comma_is_an_integer_if_the_columns_say_so(tmp_path):
    path = put(tmp_path, "old,new,1,5\nwater,river,8,2\n")
    assert list(read_pairs(path, "1,2,4")) == [("old", "new", 5), ("water", "river", 2)]


@pytest.mark.parametrize("scale", [1e-300, 1e300, 1.7e308])
def test_ratings_of_any_size_give_the_same_correlations(tmp_path, scale):
    vectors = vectors_of(["a", "b", "c", "d"], [[1, 0], [0.9, 0.3], [0.2, 1], [-1, 0.4]])
    ratings = {"a b": 1.0, "a c": 0.25, "b d": -1.0, "c d": 0.5}
    usual, scaled = (
        evaluate_similarity(
            vectors, put(tmp_path, "".join(f"{pair} {size * rating}\n" for pair, rating in ratings.items()))
        )
        for size in (1.0, scale)
    )
    assert scaled.pearson == pytest.approx(usual.pearson, abs=1e-9)
    assert scaled.spearman == usual.spearman


def test_pairs_with_a_zero_vector_are_left_out(tmp_path):
    vectors = vectors_of("abcz", [[1, 0], [1, 0.1], [0, 1], [0, 0]])
    found = evaluate_similarity(vectors, put(tmp_path, "a b 9\na c 1\nb c 2\na z 9\n"))
    assert (found.answered, found.unknown, found.spearman) == (3, 1, pytest.approx(1))
