"""Files as programs and people write them: layouts that are clear are read, and others are refused, never misread."""

import pytest

from w2vtrain.embeddings.categories import read_categories
from w2vtrain.embeddings.datasets import read_pairs
from w2vtrain.errors import InputMissing, UsageError
from w2vtrain.text.text_files import Corpus
from w2vtrain.training.suspicions import undecoded

ROWS = [("king", "queen", 8.5), ("man", "woman", 8.3)]


@pytest.mark.parametrize(
    "text",
    [
        ",w1,w2,score\n1,king,queen,8.5\n2,man,woman,8.3\n",
        "id,word_1,word_2,gold\n1,king,queen,8.5\n2,man,woman,8.3\n",
        "word1,word2,rank,score\nking,queen,1,8.5\nman,woman,2,8.3\n",
        "king\tqueen\t8.5\t1\nman\twoman\t8.3\t2\n",
        "a b c\nking queen 8.5\nman woman 8.3\n",
    ],
)
def test_pairs_are_read_from_the_right_columns(tmp_path, text):
    path = tmp_path / "pairs"
    path.write_text(text)
    assert list(read_pairs(path)) == ROWS


@pytest.mark.parametrize(
    "text",
    [
        "id,first,second,gold\n1,king,queen,8.5\n2,man,woman,8.3\n",
        "word1,word2,rank,gold\nking,queen,1,8.5\nman,woman,2,8.3\n",
    ],
)
def test_pairs_in_columns_that_are_not_clear_are_refused_and_the_columns_named(tmp_path, text):
    path = tmp_path / "pairs.csv"
    path.write_text(text)
    with pytest.raises(UsageError, match=f"the columns are {text[:2]}"):
        list(read_pairs(path))
    header = text.splitlines()[0].split(",")
    words = header[1:3] if header[0] == "id" else header[:2]
    assert list(read_pairs(path, f"{words[0]},{words[1]},gold")) == ROWS


def test_a_header_of_categories_is_left_out(tmp_path):
    (tmp_path / "c.tsv").write_text("word\tcategory\napple\tfruit\ncat\tanimal\n")
    assert list(read_categories(tmp_path / "c.tsv")) == [("apple", "fruit"), ("cat", "animal")]


def test_a_link_to_nothing_in_a_folder_of_text_is_an_error(tmp_path):
    (tmp_path / "a.txt").write_text("the cat\n")
    (tmp_path / "b.txt").symlink_to(tmp_path / "gone")
    with pytest.raises(InputMissing, match=r"b\.txt: is a symbolic link to a file that does not exist"):
        Corpus([str(tmp_path)])


def test_text_in_another_encoding_is_named_with_the_command_that_converts_it():
    assert undecoded(1, 100) is None
    assert "37 of 404 words are not UTF-8" in undecoded(37, 404)
    assert "iconv -f latin1 -t utf8" in undecoded(37, 404)
