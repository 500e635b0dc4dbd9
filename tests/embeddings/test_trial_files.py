"""Files as programs and people write them: layouts that are clear are read, and others are refused, never misread."""

import json
import pickle
import re
import shutil
from functools import partial

import numpy as np
import pytest
from word_vectors import vectors_of

import w2vtrain
from w2vtrain.embeddings.categories import evaluate_categories, read_categories
from w2vtrain.embeddings.datasets import read_pairs, read_questions, read_translations
from w2vtrain.embeddings.outliers import read_topics
from w2vtrain.errors import ConfigError, DataError, InputMissing, UsageError
from w2vtrain.system.reading import read_lines
from w2vtrain.text.text_files import Corpus

ROWS = [("king", "queen", 8.5), ("man", "woman", 8.3)]


@pytest.mark.parametrize(
    "text",
    [
        "id,first,second,gold\n1,king,queen,8.5\n2,man,woman,8.3\n",
        "word1,word2,rank,gold\nking,queen,1,8.5\nman,woman,2,8.3\n",
        "word1,word2,1,2,gold\nking,queen,9,8,8.5\nman,woman,8,9,8.3\n",
        "word1,word2,gold,similarity\nking,queen,8.5,0.7\nman,woman,8.3,0.5\n",
        "word1,word2,similarity,gold_standard,gold\nking,queen,0.7,8,8.5\nman,woman,0.5,8,8.3\n",
        "relation,word1,second,gold\nt,king,queen,8.5\nS,man,woman,8.3\n",
        "relation,first,second,gold\nt,king,queen,8.5\nS,man,woman,8.3\n",
    ],
)
def test_pairs_in_columns_that_are_not_clear_are_refused_and_the_columns_named(tmp_path, text):
    path = tmp_path / "pairs.csv"
    path.write_text(text)
    with pytest.raises(UsageError, match=f"the columns are {text[:2]}"):
        list(read_pairs(path))
    header = text.splitlines()[0].split(",")
    words = header[1:3] if header[0] in ("id", "relation") else header[:2]
    assert list(read_pairs(path, f"{words[0]},{words[1]},gold")) == ROWS


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("# identical, synonym, topical\nt\tking\tqueen\t8.5\nS\tman\twoman\t8.3\n", "2,3,4"),
        ("king\tN\tqueen\tN\t8.5\nman\tN\twoman\tN\t8.3\n", "1,3,5"),
        ("1\tking\tqueen\t8.5\n2\tman\twoman\t8.3\n", "2,3,4"),
        ("palace\tking\tqueen\t8.5\npeople\tman\twoman\t8.3\n", "2,3,4"),
    ],
    ids=["relations", "parts-of-speech", "numbers", "topics"],
)
def test_columns_of_codes_without_a_header_are_not_taken_for_words(tmp_path, text, columns):
    path = tmp_path / "pairs.tsv"
    path.write_text(text)
    with pytest.raises(
        UsageError, match="which columns have the words and the score: name them as WORD,WORD,SCORE in col"
    ):
        list(read_pairs(path))
    assert list(read_pairs(path, columns)) == ROWS


@pytest.mark.parametrize(
    ("row", "is_clear"),
    [("动物\t老虎\t猫\t8", False), ("pets\tcat{}\tdog{}\t7", False), ("cat{}\tdog{}\thypernym\t7", True)],
)
def test_a_column_between_the_words_and_the_score_is_a_category_if_it_is_repeated(tmp_path, row, is_clear):
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"{row.format(i, i)}\n" for i in range(1 if "动" in row else 9)))
    if is_clear:
        assert len(list(read_pairs(path))) == 9
        return
    with pytest.raises(UsageError, match="which columns have the words"):
        list(read_pairs(path))


@pytest.mark.parametrize("header", ["word\tcategory", "Nouns\tclass_name", "category\tword"])
def test_a_header_of_categories_is_left_out_and_may_name_them_first(tmp_path, header):
    rows = [("apple", "fruit"), ("cat", "animal")]
    order = -1 if header.startswith("category") else 1
    lines = [header, *("\t".join(row[::order]) for row in rows)]
    (tmp_path / "c.tsv").write_text("".join(f"{line}\n" for line in lines))
    assert list(read_categories(tmp_path / "c.tsv")) == rows


def test_a_first_line_with_a_category_of_its_own_is_reported(tmp_path, caplog):
    vectors = vectors_of(["cat", "dog", "pear", "fig"], np.eye(4))
    (tmp_path / "c").write_text("Wort\tArt\ncat\tanimal\ndog\tanimal\npear\tfruit\nfig\tfruit\n")
    assert evaluate_categories(vectors, tmp_path / "c").answered == 4
    assert "no other word has the category of the first line, 'Art': if it names columns, delete it" in caplog.text


def test_a_first_line_without_known_names_that_has_no_score_is_reported(tmp_path, caplog):
    path = tmp_path / "p"
    for first, reported in (("king queen high", 1), ("a b score", 0), ("word1 word2 gold", 0)):
        caplog.clear()
        path.write_text(f"# published in 2002\n{first}\nking queen 8.5\nman woman 8.3\n")
        assert list(read_pairs(path)) == ROWS
        assert caplog.text.count(f"the line {first!r} is taken for the names of columns") == reported


def test_words_that_begin_with_a_hash_are_words(tmp_path):
    path = tmp_path / "w"
    path.write_text("#metoo movement 7\nking queen 8\n#a b 1\n")
    assert [row[0] for row in read_pairs(path)] == ["#metoo", "king", "#a"]
    path.write_text("#t\ttopical\n#S\tsynonyms\n#\nt\t#a\tqueen\t8.5\nS\tman\twoman\t8.3\n")
    assert list(read_pairs(path, "2,3,4")) == [("#a", "queen", 8.5), ROWS[1]]
    path.write_text("#a\tb\t3\n#a\tc\t2\n")
    assert list(read_pairs(path, "1, 2, 3")) == [("#a", "b", 3), ("#a", "c", 2)]
    path.write_text("# hashtags\nword\tclass\n#metoo\ttag\n")
    assert list(read_categories(path)) == [("#metoo", "tag")]
    path.write_text("# English, German\n#a\t#b\n")
    assert read_translations(path) == [("#a", "#b")]


def test_translations_of_three_words_without_a_tab_are_refused(tmp_path):
    path = tmp_path / "w"
    path.write_text("new york\tnueva york\tnote\nice cream helado\n")
    with pytest.raises(DataError, match=r"w:2: expected two words, got 'ice cream helado'; a tab separates"):
        read_translations(path)


def test_words_that_r_quotes_are_unquoted(tmp_path):
    path = tmp_path / "w"
    path.write_text('"king"\t"König"\n"new york"\t"say ""hi"""\t3\n"a"\tb\n')
    assert read_translations(path) == [("king", "König"), ("new york", 'say "hi"'), ('"a"', "b")]
    path.write_text('"word"\t"class"\n"cat"\t"animal"\n"\tmark\n')
    assert list(read_categories(path)) == [("cat", "animal"), ('"', "mark")]


def test_two_topics_in_a_file_are_refused_and_hidden_files_are_left_out(tmp_path):
    (tmp_path / "a.txt").write_text("a\nb\n\nodd\n\n")
    (tmp_path / "._a.txt").write_bytes(b"\0\5\x16\7")
    assert list(read_topics(tmp_path)) == [(["a", "b"], ["odd"])]
    (tmp_path / "a.txt").write_text("a\nb\n\nodd\n\nc\nd\n\nodder\n")
    with pytest.raises(DataError, match=r"a\.txt:6: a word after the outliers: write one file per topic"):
        list(read_topics(tmp_path))


def test_pairs_of_bats_are_refused_with_what_to_write(tmp_path):
    (tmp_path / "L01.txt").write_text("gasp\tpant/sigh\nwater\tfluid\n")
    with pytest.raises(DataError, match=r"L01\.txt:1: a pair of words, as in BATS: combine each two pairs"):
        list(read_questions(tmp_path / "L01.txt"))


def test_a_link_to_nothing_in_a_folder_of_text_is_an_error(tmp_path):
    (tmp_path / "a.txt").write_text("the cat\n")
    (tmp_path / "b.txt").symlink_to(tmp_path / "gone")
    with pytest.raises(InputMissing, match=r"b\.txt: is a symbolic link to a file that does not exist"):
        Corpus([str(tmp_path)])


@pytest.mark.parametrize(
    ("start", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0", "a PNG picture, not text: extract its text first"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0", "a document of Microsoft Office, not text: extract its text first"),
        (
            pickle.dumps(["a"]),
            "a pickle, as written by gensim's save.*class of the same name: Word2Vec, FastText, Doc2",
        ),
    ],
)
def test_files_that_are_no_text_are_named_by_their_kind(tmp_path, start, kind):
    (tmp_path / "a").write_bytes(start)
    with pytest.raises(DataError, match=f"a: {kind}"):
        list(Corpus([str(tmp_path / "a")]).read())
    with pytest.raises(DataError, match=f"a: {kind}"):
        list(read_lines(tmp_path / "a", 100))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('# w2vtrain phrases {"scoring":"npmi"}\n', "table of phrases"),
        ('{"event":"start","time":1}\n', "log of a run"),
        ('\ufeff{"event":"start","time":1}\n', "log of a run"),
        ('[\n  {\n    "job": {}\n  }\n]\n', "results of a comparison"),
        ('{\n  "job": {}\n}\n', "results of a comparison"),
    ],
)
def test_info_knows_what_other_commands_write(tmp_path, w2vtrain_here, text, kind):
    (tmp_path / "f").write_text(text)
    code, said, _ = w2vtrain_here(["info", "f", "--json"], tmp_path)
    assert (code, json.loads(said)["kind"]) == (0, kind)


@pytest.mark.parametrize("text", ['vector_size = "x"\n', "window = -1\n", "size = 3\nvector_size = 4\n"])
def test_errors_in_a_settings_file_name_it(tmp_path, w2vtrain_here, text):
    (tmp_path / "c.toml").write_text(text)
    (tmp_path / "t.txt").write_text("a b\n" * 9)
    code, _, said = w2vtrain_here(["fit", "t.txt", "-o", "v.txt", "--config", "c.toml"], tmp_path)
    assert (code, said.startswith("w2vtrain: error: c.toml: ")) == (78, True), said


def test_a_threshold_that_keeps_no_words_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="sample: 1e-300 would keep no words; 0 keeps all"):
        w2vtrain.train([["a", "b"]] * 9, sample=1e-300, sentence_end=True)


@pytest.fixture
def odd_text(tmp_path):
    """Return a folder with a text of two odd words, not UTF-8 and too long, one without, and models of the latter."""
    text = b"the cat sat\n" * 60
    (tmp_path / "odd.txt").write_bytes(text + b"caf\xe9 the\n" + b"x" * 1001 + b" cat\n")
    (tmp_path / "text.txt").write_bytes(text)
    about = {"vector_size": 3, "epochs": 1, "sample": 0, "threads": 1}
    w2vtrain.train(tmp_path / "text.txt", **about).save(tmp_path / "m")
    w2vtrain.train(w2vtrain.Documents(tmp_path / "text.txt"), **about).save(tmp_path / "d")
    return tmp_path


ODD = ("1 tokens over 1,000 bytes skipped", "1 tokens of invalid UTF-8 repaired")


@pytest.mark.parametrize(
    "words",
    [
        ["vocab", "odd.txt"],
        ["phrases", "odd.txt", "-o", "-"],
        ["perplexity", "m", "odd.txt"],
        ["infer", "d", "odd.txt", "-o", "-"],
        ["compare", "odd.txt", "--heldout", "odd.txt", "--objectives", "softmax", "--epochs", "1", "-o", "out"],
        ["fit", "text.txt", "--heldout", "odd.txt", "-o", "v.txt", "--epochs", "1", "--sample", "0"],
    ],
    ids=lambda words: words[0],
)
def test_every_command_says_what_it_skips_and_repairs(odd_text, w2vtrain_here, words):
    code, _, said = w2vtrain_here(words, odd_text)
    assert code == 0, said
    assert all(len(re.findall(f"warning(?:     |: )(?:odd.txt|the corpus): {odd}", said)) == 1 for odd in ODD), said
    assert "are not UTF-8" not in said
    (odd_text / "odd.txt").write_bytes(b"the caf\xe9 sat\n" * 60)
    shutil.rmtree(odd_text / "out", ignore_errors=True)
    said = w2vtrain_here([*words, *["--force"] * (words[0] == "fit")], odd_text)[2]
    assert "60 of 180 words are not UTF-8" in said, said
    assert "iconv -f latin1 -t utf8" in said


def test_python_warns_of_what_is_skipped_and_repaired_unless_a_callback_takes_it(odd_text):
    about = {"vector_size": 3, "epochs": 1, "sample": 0, "threads": 1}
    for read in (partial(w2vtrain.train, **about), w2vtrain.find_phrases):
        with pytest.warns(UserWarning, match="1 tokens") as found:
            read(odd_text / "odd.txt")
        assert [re.split("has |odd.txt: ", str(warning.message))[1] for warning in found] == list(ODD)
    said = []
    w2vtrain.train(
        odd_text / "text.txt", heldout=odd_text / "odd.txt", events=w2vtrain.Events(warning=said.append), **about
    )
    assert [sentence.rpartition("odd.txt: ")[2] for sentence in said if "odd.txt" in sentence] == list(ODD)


@pytest.mark.parametrize("text", ["a b 5\rb c 3\ra c 1\r", "a b 5\rb c 3\r\na b 4\n"], ids=["all", "some"])
def test_a_carriage_return_inside_a_line_is_named(tmp_path, text):
    (tmp_path / "pairs.txt").write_bytes(text.encode())
    with pytest.raises(DataError, match=r"pairs\.txt:1: a carriage return inside the line: convert it with tr"):
        list(read_pairs(tmp_path / "pairs.txt"))
