"""LineSentence, PathLineSentences and Text8Corpus: iteration as in gensim, and native reading with the same result."""

import bz2
import gzip
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import encode

import w2vtrain
from w2vtrain.errors import DataError, InputMissing, TokenError, UsageError
from w2vtrain.leaves.gensim import line_sentence as module
from w2vtrain.leaves.gensim.line_sentence import LineSentence, PathLineSentences, Text8Corpus
from w2vtrain.text.text_files import Corpus
from w2vtrain.text.token_lists import Sentences

TEXT = "one two  three\n\n\tfour\u00a0five\r\nsix\x1c seven\u2028eight\x85nine\nten"


@pytest.fixture
def folder(tmp_path):
    """Return a directory of three files, one of them compressed and one hidden, and a subdirectory."""
    (tmp_path / "in" / "sub").mkdir(parents=True)
    (tmp_path / "in" / "b.txt").write_text(TEXT, encoding="utf-8", newline="\n")
    (tmp_path / "in" / "a.bz2").write_bytes(bz2.compress(b"a a\nb c\n"))
    (tmp_path / "in" / ".c").write_bytes(b"hidden too")
    (tmp_path / "in" / "sub" / "d").write_bytes(b"not read")
    return tmp_path / "in"


def every_reader(file, **options):
    return [LineSentence(file, **options), PathLineSentences(file, **options), Text8Corpus(file, **options)]


@pytest.mark.parametrize("length", [1, 2, 3, 4, 10_000])
@pytest.mark.parametrize("limit", [None, 0, 1, 3, 100])
def test_sentences_are_those_of_gensim(folder, length, limit, recwarn):
    theirs = pytest.importorskip("gensim.models.word2vec")
    file = str(folder / "b.txt")
    assert list(LineSentence(file, length, limit)) == list(theirs.LineSentence(file, length, limit))
    assert list(PathLineSentences(file, length, limit)) == list(theirs.PathLineSentences(file, length, limit))
    with open(file, "rb") as mine, open(file, "rb") as other:  # noqa: PTH123
        assert list(LineSentence(mine, length, limit)) == list(theirs.LineSentence(other, length, limit))
    (folder / "sub" / "d").unlink()
    (folder / "sub").rmdir()
    found, want = PathLineSentences(folder, length, limit), theirs.PathLineSentences(str(folder), length, limit)
    assert list(found) == list(want)
    assert found.input_files == want.input_files
    if limit is None:
        cut = [s[i : i + length] for s in theirs.Text8Corpus(file, length) for i in range(0, len(s), length)]
        assert list(Text8Corpus(file, length)) == cut  # gensim's last sentence may be longer than the maximum


def test_subdirectories_are_not_read(folder):
    assert [Path(path).name for path in PathLineSentences(folder).input_files] == [".c", "a.bz2", "b.txt"]


def test_readers_can_be_iterated_again(folder):
    with bz2.BZ2File(folder / "a.bz2") as binary:
        for sentences in (LineSentence(binary), LineSentence(io.StringIO("a a\nb c")), LineSentence(folder / "a.bz2")):
            for _ in range(2):
                assert list(sentences) == [["a", "a"], ["b", "c"]]


def test_a_subclass_may_have_the_attributes_of_gensims_reader_only(folder):
    class Mine(Text8Corpus):
        def __init__(self, fname):
            self.fname, self.max_sentence_length = fname, 4

    assert list(Mine(str(folder / "b.txt"))) == list(Text8Corpus(str(folder / "b.txt"), 4))


@pytest.mark.parametrize("block", [1, 5, 1 << 22])
def test_a_line_in_many_blocks_is_one_sentence(folder, block, monkeypatch):
    monkeypatch.setattr(
        module._TextFiles, "_files", lambda self: self._kind(self._paths(), "unicode", block, errors="strict")
    )
    assert list(LineSentence(str(folder / "b.txt"))) == [line.split() for line in TEXT.split("\n") if line]
    assert list(Text8Corpus(str(folder / "b.txt"), 4)) == [TEXT.split()[i : i + 4] for i in (0, 4, 8)]


@given(
    text=st.text(st.sampled_from("ab\u00e9 \n\t\u00a0\x1c\u2028"), max_size=200),
    longest=st.integers(1, 6),
    max_sentence=st.integers(1, 4),
    compress=st.booleans(),
)
def test_native_reading_and_iterating_have_the_same_result(text, longest, max_sentence, compress, tmp_path_factory):
    file = tmp_path_factory.getbasetemp() / "text"
    file.write_bytes(gzip.compress(text.encode()) if compress else text.encode())
    for reader in every_reader(str(file), max_sentence_length=longest):
        source = reader.as_source(max_sentence)
        assert isinstance(source, Corpus) == (longest % max_sentence == 0)
        results = []
        for same in (source, Sentences(reader)):
            try:
                ids = encode(same, min_count=1, max_sentence=max_sentence)
                results.append((ids.tokens.tolist(), ids.vocabulary.words, ids.vocabulary.counts.tolist()))
            except DataError:
                results.append(None)
        assert results[0] == results[1]


def test_limits_and_file_objects_are_read_by_iterating(folder):
    file = folder / "b.txt"
    assert all(isinstance(reader.as_source(), Corpus) for reader in every_reader(file))
    for reader in (LineSentence(file, limit=9), PathLineSentences(file, limit=9), LineSentence(file, 9999)):
        assert isinstance(reader.as_source(), Sentences)
    assert isinstance(LineSentence(io.StringIO("a")).as_source(), Sentences)


@pytest.mark.parametrize("reader", ["LineSentence", "PathLineSentences", "Text8Corpus"])
def test_train_reads_the_file_of_a_reader_natively(tmp_path, monkeypatch, reader):
    (tmp_path / "text").write_text("a b c d\u00a0e\n" * 50, encoding="utf-8")
    small = {"vector_size": 4, "epochs": 1, "threads": 1, "sample": 0.0}
    sentences = getattr(w2vtrain, reader)(tmp_path / "text")
    want = w2vtrain.train(list(sentences), **small)
    with monkeypatch.context() as patch:
        patch.setattr(type(sentences), "__iter__", lambda self: pytest.fail("read sentence by sentence"))
        model = w2vtrain.train(sentences, **small)
    assert model.words == want.words == ["a", "b", "c", "d", "e"]
    assert model.input.tobytes() == want.input.tobytes()
    assert model.record["corpus"]["files"] == 1


def test_errors_name_the_problem(folder, tmp_path):
    with pytest.raises(ValueError, match="nowhere: is neither a file nor a directory") as error:
        PathLineSentences(tmp_path / "nowhere")
    assert isinstance(error.value, InputMissing)
    with pytest.raises(InputMissing, match="no files in this directory"):
        PathLineSentences(tmp_path)
    with pytest.raises(TokenError, match=r"expected the path of a text file or a file object, got \['a b'\]"):
        LineSentence(["a b"])
    with pytest.raises(UsageError, match="max_sentence_length: expected at least 1, got 0"):
        Text8Corpus(folder / "b.txt", 0)
    with pytest.raises(UsageError, match="limit: expected at least 0 lines, or None for all, got -1"):
        LineSentence(folder / "b.txt", limit=-1)
    (tmp_path / "bad").write_bytes(b"a \xff b\n")
    for reader in every_reader(tmp_path / "bad"):
        for read in (list, w2vtrain.Word2Vec):
            with pytest.raises(ValueError, match=r"bad: not UTF-8 at byte 2 .*: convert it with iconv$") as error:
                read(reader)
            assert isinstance(error.value, DataError)
    (tmp_path / "nul").write_bytes(b"a \0 b\n")
    for corpus in ({"sentences": LineSentence(tmp_path / "nul")}, {"corpus_file": tmp_path / "nul"}):
        with pytest.raises(DataError, match=r"nul: NUL at byte 2 .*: convert it with iconv$"):
            w2vtrain.Word2Vec(**corpus)
    (tmp_path / "gone").touch()
    files, nowhere = PathLineSentences(tmp_path / "gone"), tmp_path / "nowhere"
    (tmp_path / "gone").unlink()
    for reader in (LineSentence(nowhere), Text8Corpus(nowhere), files):
        for read in (list, w2vtrain.Word2Vec):
            with pytest.raises(FileNotFoundError, match=r"(nowhere|gone): No such file") as missing:
                read(reader)
            assert isinstance(missing.value, InputMissing)
    with pytest.raises(FileNotFoundError, match="nowhere: No such file"):
        list(w2vtrain.TaggedLineDocument(nowhere))


def test_sentences_of_a_long_line_are_yielded_while_it_is_read():
    read = []
    pieces = (read.append(i) or ("a b ", False) for i in range(1000))
    assert next(module._sentences(pieces, 3)) == ["a", "b", "a"]
    assert read == [0, 1]
