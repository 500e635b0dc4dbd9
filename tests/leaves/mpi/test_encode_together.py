"""Counting and encoding on several ranks: the result of one process, restarts, damaged files, and errors."""

import bz2
import dataclasses
import gzip
import json
import lzma
import os
import re
import tempfile
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import encode
from simulated import run_ranks

from w2vtrain.config import Settings
from w2vtrain.errors import (
    DataError,
    InputMissing,
    MalformedFile,
    NoKnownWords,
    OutputError,
    W2VError,
    WriteError,
)
from w2vtrain.leaves.mpi import encoding as together
from w2vtrain.leaves.mpi import shared_folder, shared_ids
from w2vtrain.leaves.mpi.encoding import encode_together
from w2vtrain.leaves.mpi.word_counts import dealt, packed, unpacked
from w2vtrain.text import word_table
from w2vtrain.text.source import SAMPLE_BYTES, File
from w2vtrain.text.text_files import Corpus
from w2vtrain.text.vocabulary import Vocabulary

ODD = [
    b"\xef\xbb\xbfthe cat sat\nthe cat\n\n\n \t\nthe dog sat on \xef\xbb\xbf\n",
    "Α ΒΣ\r\nΣ é e\u0301 the\u00a0cat 水\ufffd\r\n".encode(),
    b"a\n\xff\xfe b\xff a\xc3 \xc3\xa9 \xff\n\xed\xa0\x80 \xff\xff\n\xe6\xb0\n",
    b"",
    b"long " * 40 + b"line without end " * 20,
    b"x" * 1000 + b" " + b"y" * 1001 + b" z\n" + b"z" * 2500 + b"\n",
    b"</s> a </s>\nb\vb\fb\n",
    b"\xef\xbb\xbf",
    b"marks\nBZh91AY&SY\n\x1f\x8b\x08 in\n\xef\xbb\xbfthe\n\xff\xfe middle\n(\xb5/\xfd\nno newline",
]
GIVEN = Vocabulary(["the", "never", "a", "sat"], np.array([9, 5, 2, 1]))


def write(folder, texts):
    """Write the texts to files of a folder, and return their names."""
    paths = [Path(folder) / f"{i:02}" for i in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_bytes(text)
    return [str(path) for path in paths]


def options(**changed):
    return Settings(**{"min_count": 1, "threads": 1, "sentence_end": False} | changed)


def alone(corpus, about, vocabulary=None):
    """Encode in one process."""
    return encode(
        corpus,
        min_count=about.min_count,
        max_vocab=about.max_vocab,
        vocabulary=vocabulary,
        max_sentence=about.max_sentence,
        sentence_end=about.sentence_end,
    )


def ranks(count, corpus, about, folder, vocabulary=None):
    """Encode on simulated ranks. corpus: a function that makes the corpus of a rank."""

    def work(comm):
        return encode_together(comm, corpus(), about, Path(folder), vocabulary)

    return run_ranks(count, work)


def assert_same(found, expected):
    assert found.tokens.dtype == np.int32
    assert found.tokens.tobytes() == expected.tokens.tobytes()
    assert found.vocabulary.words == expected.vocabulary.words
    assert found.vocabulary.counts.tolist() == expected.vocabulary.counts.tolist()
    assert found.vocabulary.counts.dtype == np.int64
    assert found.words == expected.words
    assert found.stats == expected.stats
    assert found.sample == expected.sample


@pytest.mark.parametrize("errors", ["replace", "ignore"])
@pytest.mark.parametrize("tokenizer", ["whitespace", "unicode", "simple"])
def test_any_number_of_ranks_gives_the_bytes_of_one_process(tmp_path, tokenizer, errors):
    paths = write(tmp_path, ODD)
    expected = alone(Corpus(paths, tokenizer, errors=errors), options())
    assert expected.stats.invalid
    assert expected.stats.overlong
    for count in (1, 2, 3, 7, 30):
        folder = tmp_path / f"{count}"
        folder.mkdir()
        found = ranks(count, lambda: Corpus(paths, tokenizer, errors=errors), options(), folder)
        assert len(found) == count
        for ids in found:
            assert_same(ids, expected)


@pytest.mark.parametrize(
    ("about", "vocabulary"),
    [
        ({"sentence_end": True, "max_sentence": 3}, None),
        ({"sentence_end": True}, GIVEN),
        ({"sentence_end": True}, Vocabulary(["the", "</s>", "a"], np.array([9, 5, 2]))),
        ({"max_sentence": 2}, GIVEN),
        ({"min_count": 3}, None),
        ({"max_vocab": 5, "threads": 3}, None),
    ],
    ids=["sentence-end-and-length", "given", "new", "length", "min-count", "max-vocab"],
)
def test_all_settings_have_the_effect_that_they_have_in_one_process(tmp_path, about, vocabulary):
    texts = [ODD[0], *ODD[2:6], ODD[7]]
    paths = write(tmp_path, texts)
    about = options(**about)
    expected = alone(Corpus(paths), about, vocabulary)
    for ids in ranks(3, lambda: Corpus(paths), about, tmp_path, vocabulary):
        assert_same(ids, expected)


PIECES = [b"a", b"b", b"cd", b" ", b"\n", b"\n", b"\r\n", b"\t", b"</s>", b"\xff", b"\xc3", b"\xa9", b"\0", b"'", b"Z"]
PIECES += ["\ufffd".encode(), "Σ".encode(), "Α".encode(), "\u00a0".encode(), b"x" * 1001, b"\xef\xbb\xbf", b"\xfe"]


@settings(max_examples=40, deadline=None)
@given(
    texts=st.lists(st.lists(st.sampled_from(PIECES), max_size=40).map(b"".join), min_size=1, max_size=4),
    count=st.integers(1, 6),
    tokenizer=st.sampled_from(["whitespace", "whitespace", "unicode", "simple"]),
    errors=st.sampled_from(["replace", "ignore", "strict"]),
    allow_nul=st.booleans(),
    about=st.fixed_dictionaries(
        {
            "min_count": st.integers(1, 2),
            "max_vocab": st.none() | st.integers(1, 4),
            "max_sentence": st.sampled_from([1, 2, 3, 10_000]),
            "sentence_end": st.booleans(),
        }
    ),
    vocabulary=st.none() | st.just(Vocabulary(["b", "a", "\ufffd", "never"], np.array([9, 5, 2, 1]))),
)
def test_any_text_gives_the_ids_or_the_error_of_one_process(
    texts, count, tokenizer, errors, allow_nul, about, vocabulary
):
    about = options(**about)
    with tempfile.TemporaryDirectory() as folder:
        paths = write(folder, texts)

        def make():
            return Corpus(paths, tokenizer, errors=errors, allow_nul=allow_nul)

        try:
            expected = alone(make(), about, vocabulary)
        except DataError as error:
            place = " at byte "  # there may be several wrong bytes, one of which is named
            message = place if place in str(error) else str(error)
            with pytest.raises(type(error), match=re.escape(message)):
                ranks(count, make, about, folder, vocabulary)
            return
        for ids in ranks(count, make, about, folder, vocabulary):
            assert_same(ids, expected)


@pytest.fixture
def read_stretches(monkeypatch):
    """Return the list of what ranks read from now on, each a list of files and ranges."""
    found, original = [], together.read

    def kept(source, **more):
        found.append(source.files)
        return original(source, **more)

    monkeypatch.setattr(together, "read", kept)
    return found


def test_compressed_files_are_not_divided(tmp_path, read_stretches):
    text = b"the cat sat\non the mat\n" * 200
    mixed = np.random.default_rng(1).choice(np.frombuffer(b"ab \n", np.uint8), 20_000).tobytes()
    packed = [gzip.compress(mixed, mtime=0), bz2.compress(mixed), lzma.compress(mixed)]
    assert all(data[64:].count(b"\n") for data in packed)
    (tmp_path / "a.gz").write_bytes(packed[0])
    (tmp_path / "b.txt").write_bytes(text)
    (tmp_path / "c").write_bytes(packed[1])
    (tmp_path / "d").write_bytes(packed[2])
    folder = tmp_path / "shared"
    folder.mkdir()
    paths = [str(tmp_path / name) for name in ("a.gz", "b.txt", "c", "d")]
    for ids in ranks(9, lambda: Corpus(paths), options(), folder):
        assert_same(ids, alone(Corpus(paths), options()))
    pieces = [Path(file.path).name for files in read_stretches for file in files]
    assert sorted(set(pieces)) == ["a.gz", "b.txt", "c", "d"]
    assert {name for name in pieces if pieces.count(name) > 1} == {"b.txt"}


def test_the_sample_is_that_of_one_process_with_many_small_files(tmp_path):
    texts = [b"", b"a b", b"\n", b"", b"c" * 10 + b" " * (SAMPLE_BYTES - 30), b"\xef\xbb\xbf", b"a\nb\nc"]
    paths = write(tmp_path, texts)
    expected = alone(Corpus(paths), options())
    assert len(expected.sample) == SAMPLE_BYTES - 7
    assert_same(ranks(2, lambda: Corpus(paths), options(), tmp_path)[1], expected)


# Restarts


TEXT = b"the cat sat\non the mat\nthe dog\nsat on the cat\nthe end\n"


def test_a_restart_with_other_ranks_reads_nothing_again(tmp_path, read_stretches):
    paths = write(tmp_path, [TEXT])
    first = ranks(2, lambda: Corpus(paths), options(), tmp_path)[0]
    assert len(read_stretches) == 2
    inode = (tmp_path / "ids").stat().st_ino
    del read_stretches[:]
    for ids in ranks(3, lambda: Corpus(paths), options(), tmp_path):
        assert_same(ids, first)
    assert not read_stretches
    assert (tmp_path / "ids").stat().st_ino == inode


def test_a_link_in_place_of_the_words_is_neither_read_nor_followed(tmp_path, read_stretches):
    paths = write(tmp_path, [TEXT])
    expected = ranks(2, lambda: Corpus(paths), options(), tmp_path)[0]
    words, other = tmp_path / "words", tmp_path / "elsewhere"
    words.rename(other)
    words.symlink_to(other)
    before = other.read_bytes()
    del read_stretches[:]
    with pytest.raises(OutputError, match="symbolic link"):
        ranks(2, lambda: Corpus(paths), options(), tmp_path)
    assert other.read_bytes() == before
    words.unlink()
    assert_same(ranks(2, lambda: Corpus(paths), options(), tmp_path)[1], expected)


def test_a_corpus_that_changed_is_read_again(tmp_path, read_stretches):
    paths = write(tmp_path, [TEXT, TEXT])
    ranks(2, lambda: Corpus(paths), options(), tmp_path)
    del read_stretches[:]
    Path(paths[1]).write_bytes(TEXT.replace(b"dog", b"cow"))
    os.utime(paths[1], ns=(5, 5))
    found = ranks(2, lambda: Corpus(paths), options(), tmp_path)
    assert_same(found[0], alone(Corpus(paths), options()))
    assert "cow" in found[1].vocabulary.index
    assert len(read_stretches) == 2


@pytest.mark.parametrize("changed", [{"tokenizer": "simple"}, {"errors": "ignore"}, {"allow_nul": True}])
def test_ids_of_text_that_was_read_in_another_way_are_not_used(tmp_path, read_stretches, changed):
    paths = write(tmp_path, [TEXT])
    ranks(1, lambda: Corpus(paths), options(), tmp_path)
    ranks(1, lambda: Corpus(paths, **changed), options(), tmp_path)
    assert len(read_stretches) == 2


@pytest.mark.parametrize(
    "about", [{"min_count": 2}, {"max_sentence": 2}, {"sentence_end": True}, {"max_vocab": 3}], ids=str
)
def test_other_settings_do_not_use_the_ids(tmp_path, read_stretches, about):
    paths = write(tmp_path, [TEXT])
    ranks(2, lambda: Corpus(paths), options(), tmp_path)
    for ids in ranks(2, lambda: Corpus(paths), options(**about), tmp_path):
        assert_same(ids, alone(Corpus(paths), options(**about)))
    assert len(read_stretches) == 4


@pytest.mark.parametrize("given", [None, GIVEN], ids=["counted", "given"])
def test_another_vocabulary_does_not_use_the_ids(tmp_path, given):
    paths = write(tmp_path, [TEXT])
    ranks(2, lambda: Corpus(paths), options(), tmp_path, Vocabulary(["the", "cat"], np.array([5, 4])))
    assert_same(ranks(2, lambda: Corpus(paths), options(), tmp_path, given)[1], alone(Corpus(paths), options(), given))


def edit_manifest(**changed):
    def edit(folder):
        path = folder / "ids.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | changed))

    return edit


def flip_ids(folder):
    data = bytearray((folder / "ids").read_bytes())
    data[20] ^= 1
    (folder / "ids").write_bytes(data)


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda folder: (folder / "ids").unlink(), id="no ids"),
        pytest.param(lambda folder: (folder / "ids.json").unlink(), id="no manifest"),
        pytest.param(lambda folder: (folder / "ids.json").write_bytes(b"[]"), id="no object"),
        pytest.param(lambda folder: (folder / "ids").write_bytes((folder / "ids").read_bytes()[:-4]), id="cut off"),
        pytest.param(flip_ids, id="damaged"),
        pytest.param(lambda folder: (folder / "words").unlink(), id="no words"),
        pytest.param(lambda folder: (folder / "words").write_bytes(b"x"), id="other words"),
        pytest.param(edit_manifest(words_bytes=3), id="too many words"),
        pytest.param(edit_manifest(sizes=[1]), id="too few sizes"),
        pytest.param(edit_manifest(sizes=[99], checksums=[1]), id="other sizes"),
        pytest.param(edit_manifest(stats=None), id="no statistics"),
        pytest.param(edit_manifest(sizes="many"), id="sizes that are text"),
        pytest.param(edit_manifest(sizes=[8, 1 << 62]), id="huge sizes"),
        pytest.param(edit_manifest(identity="0"), id="another identity"),
    ],
)
def test_ids_that_are_damaged_are_written_again(tmp_path, read_stretches, damage):
    paths = write(tmp_path, [TEXT])
    ranks(2, lambda: Corpus(paths), options(), tmp_path)
    damage(tmp_path)
    del read_stretches[:]
    for ids in ranks(3, lambda: Corpus(paths), options(), tmp_path):
        assert_same(ids, alone(Corpus(paths), options()))
    assert len(read_stretches) == 3


def test_ids_of_an_earlier_run_stay_mapped_when_they_are_written_again(tmp_path):
    paths = write(tmp_path, [TEXT])
    first = ranks(1, lambda: Corpus(paths), options(), tmp_path)[0]
    before = first.tokens.tobytes()
    ranks(2, lambda: Corpus(paths), options(max_sentence=1), tmp_path)
    assert first.tokens.tobytes() == before


# Errors


def failure(kind, work):
    """Run `work` on three ranks. Return the message of the error, which must be of this class and equal on all."""
    found = []

    def fails(comm):
        with pytest.raises(W2VError) as error:
            work(comm)
        found.append((type(error.value), str(error.value)))

    run_ranks(3, fails)
    assert [each for each in found if each != found[0]] == []
    assert found[0][0] is kind
    return found[0][1]


def on_corpus(corpus, about, folder, vocabulary=None):
    return lambda comm: encode_together(comm, corpus, about, Path(folder), vocabulary)


@pytest.mark.parametrize(
    ("text", "about", "kind", "message"),
    [
        (b"a b\n" * 9 + b"c\0d\n" + b"a b\n" * 9, {}, DataError, "NUL at byte 37 of the text"),
        (b"\n \n" * 9, {}, DataError, r"no tokens in .* \(27 bytes\)"),
        (b"a\n" * 20, {}, DataError, "only one word in .*, 20 times"),
        (b"a b\n" * 20 + b"c\n", {"min_count": 30}, DataError, "min_count=20 would keep 2"),
        (b"a b\n" * 20, {"max_vocab": 1}, DataError, "max_vocab keeps only 1"),
    ],
)
def test_all_ranks_raise_the_error_of_one_process(tmp_path, text, about, kind, message):
    paths = write(tmp_path, [text])
    with pytest.raises(kind, match=message) as expected:
        alone(Corpus(paths), options(**about))
    found = failure(kind, on_corpus(Corpus(paths), options(**about), tmp_path))
    assert found == str(expected.value)


def test_bytes_that_are_not_utf8_are_named_by_their_place_in_the_file(tmp_path):
    paths = write(tmp_path, ["é a b\n".encode() * 9 + b"c \xff\n" + b"a b\n" * 9])
    with pytest.raises(DataError, match="not UTF-8 at byte 65 ") as expected:
        alone(Corpus(paths, errors="strict"), options())
    found = failure(MalformedFile, on_corpus(Corpus(paths, errors="strict"), options(), tmp_path))
    assert found == str(expected.value)


@pytest.mark.parametrize(
    ("words", "kind", "message"),
    [
        (["x", "y"], NoKnownWords, "none of the 10 tokens"),
        (["the", "the"], DataError, "contains a word twice"),
        (["the", "new york"], DataError, "cannot occur in text files"),
    ],
)
def test_a_vocabulary_that_does_not_fit_is_an_error_on_all_ranks(tmp_path, words, kind, message):
    paths = write(tmp_path, [b"the cat\n" * 5])
    vocabulary = Vocabulary(words, np.array([2, 1]))
    with pytest.raises(kind, match=message) as expected:
        alone(Corpus(paths), options(), vocabulary)
    assert failure(kind, on_corpus(Corpus(paths), options(), tmp_path, vocabulary)) == str(expected.value)


def test_a_file_that_one_rank_cannot_read_stops_all_and_the_rank_is_named(tmp_path, monkeypatch):
    paths = write(tmp_path, [TEXT])
    original = together.read

    def broken(source, **more):
        if source.files[0].first == 23:
            raise InputMissing("the disk of this host is broken")
        return original(source, **more)

    monkeypatch.setattr(together, "read", broken)
    found = failure(InputMissing, on_corpus(Corpus(paths), options(), tmp_path))
    assert found == "rank 1: the disk of this host is broken"


def test_a_full_disk_on_one_rank_stops_all_and_leaves_no_manifest(tmp_path, monkeypatch):
    paths = write(tmp_path, [TEXT])
    ranks(2, lambda: Corpus(paths), options(max_sentence=1), tmp_path)
    assert (tmp_path / "ids.json").exists()

    def full(file, ids):
        raise WriteError("no space left")

    monkeypatch.setattr(shared_ids, "append", full)
    found = failure(WriteError, on_corpus(Corpus(paths), options(), tmp_path))
    assert "rank 0: " in found
    assert "no space left; use the environment variable TMPDIR" in found
    assert not (tmp_path / "ids.json").exists()


def test_a_rank_with_another_folder_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(shared_folder, "PATIENCE_SECONDS", 0.2)
    paths = write(tmp_path, [TEXT])
    for name in "012":
        (tmp_path / f"folder{name}").mkdir()

    def work(comm):
        folder = tmp_path / f"folder{comm.rank if comm.rank == 2 else 0}"
        return encode_together(comm, Corpus(paths), options(), folder)

    assert "folder2 does not show what another rank wrote there" in (found := failure(OutputError, work))
    assert found.startswith("rank 2: ")
    assert not [*tmp_path.glob("folder*/.*"), *tmp_path.glob("folder*/*")]


def test_a_folder_that_shows_another_content_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(shared_folder, "_content", lambda path: bytes(32))
    found = failure(OutputError, on_corpus(Corpus(write(tmp_path, [TEXT])), options(), tmp_path))
    assert "has another content" in found


def test_a_file_that_appears_late_is_waited_for(tmp_path, monkeypatch):
    seen, original = [], shared_folder._content

    def late(path):
        seen.append(path)
        if len(seen) < 3:
            raise FileNotFoundError(path)
        return original(path)

    monkeypatch.setattr(shared_folder, "_content", late)
    paths = write(tmp_path, [TEXT])
    assert ranks(2, lambda: Corpus(paths), options(), tmp_path)
    assert len(seen) == 3


@pytest.mark.parametrize(
    ("names", "kind", "message"),
    [
        (["00"], InputMissing, "rank 1: .*01 is missing, and rank 0 reads it"),
        (["00", "01", "02"], DataError, "02 has 55 bytes on rank 1, and rank 0 does not see it"),
        (["01", "00"], DataError, "rank 1 sees the files of the corpus in another order"),
    ],
)
def test_a_rank_that_sees_other_files_is_named(tmp_path, names, kind, message):
    write(tmp_path, [TEXT, TEXT, TEXT + b"\n"])

    def work(comm):
        seen = names if comm.rank == 1 else ["00", "01"]
        encode_together(comm, Corpus([str(tmp_path / name) for name in seen]), options(), tmp_path)

    assert re.search(message, failure(kind, work))


def test_a_rank_that_sees_another_size_or_reads_in_another_way_is_named(tmp_path):
    path = Path(write(tmp_path, [TEXT])[0])

    def work(comm):
        corpus = Corpus([str(path)])
        if comm.rank == 2:
            corpus = corpus.part([File(str(path), 5)], 100)
        encode_together(comm, corpus, options(), tmp_path)

    assert "00 has 5 bytes on rank 2, and rank 0 sees 54" in failure(DataError, work)

    def differ(comm):
        encode_together(comm, Corpus([str(path)], "simple" if comm.rank else "unicode"), options(), tmp_path)

    assert "rank 1 reads text as" in failure(DataError, differ)


def test_a_file_that_grew_is_counted_once_and_a_truncated_one_is_an_error(tmp_path):
    path = Path(write(tmp_path, [TEXT])[0])
    corpora = [Corpus([str(path)]) for _ in range(4)]
    with path.open("ab") as file:
        file.write(b"more words\n")
    expected = alone(corpora[3], options())
    assert expected.stats.grown == 1

    def work(comm):
        return encode_together(comm, corpora[comm.rank], options(), tmp_path)

    for ids in run_ranks(3, work):
        assert_same(ids, expected)
    path.write_bytes(TEXT[:40])
    assert "truncated while it was being read, at byte 40" in failure(DataError, work)


def test_storage_that_shows_other_ids_to_a_rank_is_an_error(tmp_path, monkeypatch):
    paths = write(tmp_path, [TEXT])
    original = shared_ids.SharedIds._loaded

    def stale(self, manifest):
        corpus = original(self, manifest)
        array = np.array(corpus.tokens)
        if self._comm.rank == 1:  # sees only what it has written itself
            array[: manifest.starts[1]] = 0
            array[manifest.starts[2] :] = 0
        return dataclasses.replace(corpus, tokens=array)

    monkeypatch.setattr(shared_ids.SharedIds, "_loaded", stale)
    found = failure(OutputError, on_corpus(Corpus(paths), options(), tmp_path))
    assert "checksums of the word ids differ" in found
    assert "name a folder on storage that all hosts share" in found
    assert not (tmp_path / "ids.json").exists()


def test_ids_that_one_rank_cannot_open_are_written_again_by_all(tmp_path, monkeypatch, read_stretches):
    paths = write(tmp_path, [TEXT])
    ranks(3, lambda: Corpus(paths), options(), tmp_path)
    del read_stretches[:]
    original, failed = shared_ids.SharedIds._loaded, []

    def fails_once(self, manifest):
        if self._comm.rank == 1 and not failed:
            failed.append(True)
            raise PermissionError("this host may not read it")
        return original(self, manifest)

    monkeypatch.setattr(shared_ids.SharedIds, "_loaded", fails_once)
    for ids in ranks(4, lambda: Corpus(paths), options(), tmp_path):
        assert_same(ids, alone(Corpus(paths), options()))
    assert len(read_stretches) == 4


def test_progress_reports_the_sums_of_all_ranks(tmp_path, monkeypatch):
    monkeypatch.setattr("w2vtrain.leaves.mpi.agreement.REPORT_SECONDS", 0.0)
    paths = write(tmp_path, [TEXT * 20])
    seen = {rank: [] for rank in range(3)}

    def work(comm):
        return encode_together(comm, Corpus(paths), options(), tmp_path, progress=lambda *n: seen[comm.rank].append(n))

    run_ranks(3, work)
    size = len(TEXT) * 20
    assert seen[0] == seen[1] == seen[2]
    assert seen[0] == sorted(seen[0])
    assert {total for _, total, _ in seen[0]} == {size}
    assert seen[0][-1] == (size, size, 14 * 20)
    assert len(seen[0]) > 1


def test_each_rank_gets_the_words_that_their_checksums_assign_to_it():
    counts = [{"a": 1, "b": 2, "c": 3}, {"b": 10, "d": 4, "é": 5}, {}]

    def work(comm):
        mine = counts[comm.rank]
        words = [word.encode() for word in mine]
        table = dealt(comm, word_table.listed(words, np.array(list(mine.values()), np.int64)))
        return dict(zip(table.words(np.arange(table.types)), table.counts.tolist(), strict=False))

    found = run_ranks(3, work)
    assert {word: count for owned in found for word, count in owned.items()} == {
        b"a": 1, b"b": 12, b"c": 3, b"d": 4, "é".encode(): 5,
    }  # fmt: skip
    assert all(zlib.crc32(word) % 3 == rank for rank, owned in enumerate(found) for word in owned)


def test_counts_survive_packing():
    words, counts = [b"a", "é".encode(), b"x" * 3000], np.array([3, 1 << 40, 1])
    table = unpacked(packed(words, counts))
    assert table.words(np.arange(3)) == words
    assert table.counts.tolist() == counts.tolist()
    assert unpacked(packed([], counts[:0])).types == 0
