"""Files of KeyedVectors: word2vec's formats with gensim's options, our own format, memory maps, and hostile files."""

import datetime
import gzip
import io
import json
import os
import pickle
import sys
from contextlib import suppress

import numpy as np
import pytest
from memory import traced
from word_vectors import put

import w2vtrain
from w2vtrain.embeddings.model import Model, save_model
from w2vtrain.errors import W2VError
from w2vtrain.formats.safetensors import open_safetensors, write_safetensors
from w2vtrain.training.warm_start import WarmStart

KeyedVectors = w2vtrain.KeyedVectors
load = KeyedVectors.load_word2vec_format


@pytest.fixture
def keyed(rng):
    return KeyedVectors.of("abcde", rng.standard_normal((5, 4)).astype(np.float32), counts=[1, 5, 2, 5, 3])


def loaded(folder, data, **options):
    found = load(put(folder, data), **options)
    return found.index_to_key, found.vectors.tolist(), found.expandos["count"].tolist()


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".xz"])
def test_written_vectors_are_read_back_the_most_frequent_first(keyed, tmp_path, binary, suffix):
    path = tmp_path / f"vectors{suffix}"
    keyed.save_word2vec_format(path, binary=binary, fvocab=tmp_path / "counts")
    found = load(path, tmp_path / "counts", binary)
    assert found.index_to_key == list("bdeca")
    np.testing.assert_array_equal(found.vectors, keyed[list("bdeca")])
    assert found.expandos["count"].tolist() == [5, 5, 3, 2, 1]
    if suffix:
        assert path.read_bytes()[:4] != b"5 4\n"


def test_options_of_saving(keyed, tmp_path):
    path = tmp_path / "vectors.txt"
    keyed.save_word2vec_format(path, total_vec=6, prefix="*", sort_attr=None)
    counts = put(tmp_path, "*a 1\n", "counts")
    more = KeyedVectors.of(["xy"], np.ones((1, 4)), [7])
    more.save_word2vec_format(path, counts, append=True, write_header=False)
    assert path.read_text().startswith("6 4\n*a ")
    assert load(path).index_to_key == ["*a", "*b", "*c", "*d", "*e", "xy"]
    assert load(path, counts).expandos["count"].tolist() == [1, 0, 0, 0, 0, 7]
    keyed.save_word2vec_format(path, write_header=False)
    assert load(path, no_header=True).index_to_key == list("bdeca")
    for row, key in enumerate("abcde"):
        keyed.set_vecattr(key, "rank", row)
    keyed.save_word2vec_format(path, fvocab=tmp_path / "ranks", sort_attr="rank")
    assert (tmp_path / "ranks").read_text() == "e 4\nd 3\nc 2\nb 1\na 0\n"
    marked = KeyedVectors.of(["\ufeffa", "x"], np.ones((2, 4)), [5, 3])  # readers drop one byte order mark
    marked.save_word2vec_format(path, write_header=False, fvocab=tmp_path / "counts")
    found = load(path, tmp_path / "counts", no_header=True)
    assert (found.index_to_key, found.expandos["count"].tolist()) == (["\ufeffa", "x"], [5, 3])
    free = KeyedVectors(4, count=2)
    free.save_word2vec_format(path)
    assert path.read_text() == "0 4\n"
    assert load(path).vectors.shape == load(path, binary=True).vectors.shape == (0, 4)
    free.add_vector("a", np.ones(4))
    free.save_word2vec_format(path)
    assert path.read_text() == "1 4\na 1.0 1.0 1.0 1.0\n"


def test_what_could_not_be_read_back_is_refused_and_the_old_file_is_kept(keyed, tmp_path):
    path = put(tmp_path, "old")
    with pytest.raises(ValueError, match="no attribute 'count'"):
        KeyedVectors.of("a", np.ones((1, 2))).save_word2vec_format(path, fvocab=tmp_path / "counts")
    with pytest.raises(ValueError, match="contains white space"):
        KeyedVectors.of(["a b"], np.ones((1, 2))).save_word2vec_format(path)
    with pytest.raises(ValueError, match="the vector of 'c' is not finite"):
        KeyedVectors.of("abc", np.array([[1.0], [1], [np.nan]])).save_word2vec_format(path)
    assert path.read_text() == "old"
    with pytest.raises(W2VError, match="cannot be created: there is no folder"):
        keyed.save_word2vec_format(tmp_path / "missing" / "vectors", append=True)


def test_options_of_loading(tmp_path, caplog):
    text = b"3 2\nx 1 2\n\xe9 3 4\nx 5 6\n"
    assert loaded(tmp_path, text, encoding="latin1") == (["x", "\xe9"], [[1, 2], [3, 4]], [2, 1])
    assert loaded(tmp_path, text, unicode_errors="replace")[0] == ["x", "\ufffd"]
    assert loaded(tmp_path, text, limit=1) == (["x"], [[1, 2]], [1])
    assert loaded(tmp_path, text, limit=0, unicode_errors="ignore")[0] == ["x", ""]
    assert loaded(tmp_path, "3 2\n 1 2\n\x0b 3 4\ny  5  6\n")[0] == ["", "\x0b", "y"]
    with pytest.raises(UnicodeDecodeError, match="unicode_errors='replace' or 'ignore'"):
        loaded(tmp_path, text)
    assert load(put(tmp_path, "1 2\na 1 2\n"), datatype=np.float16).vectors.dtype == np.float16
    assert loaded(tmp_path, "1 2\na 0.5 2\n", datatype=int)[1] == [[0.5, 2]]
    assert loaded(tmp_path, "1 2\na 1 2\nb 3 4\n")[0] == ["a"]  # more rows than the header promises
    assert loaded(tmp_path, "9 2\na 1 2\n" + "b 3 4\n", limit=2)[0] == ["a", "b"]  # cut off after what is needed
    assert loaded(tmp_path, gzip.compress(b"1 2\na 1 2\n"))[0] == ["a"]
    assert loaded(tmp_path, "a 1 2\nb 3 4\n", no_header=True, limit=1) == (["a"], [[1, 2]], [1])
    assert loaded(tmp_path, "a 1 2\nb 3 4\n", no_header=True, limit=0)[0] == ["a", "b"]
    for no_header in (True, False):
        with pytest.raises(ValueError, match="limit must be 0 or more, not -1"):
            loaded(tmp_path, "2 2\n" * (not no_header) + "a 1 2\nb 3 4\n", no_header=no_header, limit=-1)
    counts = put(tmp_path, "b 7\nz 1\n", "counts")
    assert loaded(tmp_path, "2 1\na 1\nb 2\n", fvocab=counts)[2] == [0, 7]
    counts = put(tmp_path, "a 9\nb 0\na 2\n", "counts")
    assert loaded(tmp_path, "3 1\na 1\nb 2\na 3\n", fvocab=counts)[1:] == ([[1], [2]], [9, 0])
    with pytest.raises(NotImplementedError, match="binary=False"):
        loaded(tmp_path, "a 1 2\n", no_header=True, binary=True)
    assert not caplog.messages
    counts = put(tmp_path, "a 9\nb 12", "counts")
    assert loaded(tmp_path, "2 1\na 1\nb 2\n", fvocab=counts)[2] == [9, 12]
    problem = "the last line has no newline: the file may be cut off, and digits be missing"
    assert caplog.messages == [f"{counts}: {problem}"]


def test_binary_words_of_other_encodings_are_not_taken_for_values(tmp_path):
    """The first value has a space, and what follows it could be a value, too."""
    assert loaded(tmp_path, b"2 1\na  \0\x80?\xc0 " + ONE, binary=True, encoding="latin1")[0] == ["a", "\xc0"]


def test_newlines_before_binary_words_are_skipped(tmp_path):
    rows = b"\nab " + np.float32(1).tobytes() + b"\n\nc " + np.float32(2).tobytes()
    assert loaded(tmp_path, b"2 1\n" + rows, binary=True)[:2] == (["ab", "c"], [[1], [2]])


ONE = np.float32(1).tobytes()


def an_array():
    file = io.BytesIO()
    np.save(file, np.ones((1, 1), "f4"))
    return file.getvalue()


@pytest.mark.parametrize(("data", "options", "kind", "message"), [
    (b"3 2\na 1 2\nb 3 4\n", {}, EOFError, "expected 3 vectors, the file ends after 2|cut off"),
    (b"2 1\nlong " + ONE + b"c " + ONE[:3], {"binary": True}, EOFError, "ends inside row 2|ends after 1"),
    (gzip.compress(b"3 2\na 1 2\n", mtime=0), {}, EOFError, "expected 3 vectors, the file ends after 1"),
    (b"99999999999 100000\na 1 2\n", {}, EOFError, "promises 99,999,999,999 vectors"),
    (b"1 99999999\na 1 2\n", {}, ValueError, "impossible"),
    (b"0 0\n", {}, ValueError, "impossible"),
    (b"2 2\na 1 2\nb 1\n", {}, ValueError, ":3: 1 values after the word, expected 2"),
    (b"2 2\na 1 2\nb 1 x\n", {}, ValueError, ":3: 'x' is not a number"),
    (b"1 2\na nan 2\n", {}, ValueError, ":2: a value is not a finite number"),
    (b"hello\n", {}, ValueError, "pass no_header=True"),
    (b"", {}, ValueError, "expected the numbers of vectors and dimensions"),
    (b"1 2\na 1 2\n", {"binary": True}, ValueError, "is text: pass binary=False"),
    (b"1 2\na 1 2\n", {"no_header": True}, ValueError, "leave out no_header"),
    (b"1 1\na " + b"\0\0\x80?", {}, ValueError, "pass binary=True"),
    (pickle.dumps([1]), {}, ValueError, "is a pickle|: a pickle"),
    (b"PK\x03\x04 1 2\n", {"no_header": True}, ValueError, "a zip archive"),
    (an_array(), {"no_header": True}, ValueError, "not in word2vec's format: read it with load"),
    (b"a,1,2\n", {"no_header": True}, ValueError, ":1: expected a word and its values, separated by spaces"),
    (b"", {"no_header": True}, ValueError, ":1: expected a word and its values, separated by spaces"),
    (b"a b\nx 1 2\ny 3 4\n", {"no_header": True}, ValueError, "after the line 'a b': delete that line, or correct it"),
    (b" 0 1\nx 1.5 2\ny 3 4.5\n", {"no_header": True}, ValueError, "first line names columns .*: delete that line"),
])  # fmt: skip
def test_an_invalid_file_is_an_error_of_gensims_kind_that_names_the_place(tmp_path, data, options, kind, message):
    with pytest.raises(kind, match=message) as caught:
        load(put(tmp_path, data), **options)
    assert isinstance(caught.value, W2VError)


def test_missing_files_and_invalid_counts(tmp_path, keyed):
    for ask in (load, KeyedVectors.load, keyed.intersect_word2vec_format):
        with pytest.raises(FileNotFoundError, match="missing cannot be opened"):
            ask(tmp_path / "missing")
    for line in ("a x\n", "a 1 2\n", "a " + "9" * 30):
        with pytest.raises(ValueError, match=":1: expected a word and its count"):
            load(put(tmp_path, "1 1\na 1\n"), put(tmp_path, line, "counts"))


def test_intersecting_replaces_the_vectors_of_known_keys(keyed, tmp_path):
    old = keyed.vectors.copy()
    keyed.fill_norms()
    keyed.intersect_word2vec_format(put(tmp_path, "2 4\nb 1 2 3 4\nz 5 6 7 8\n"), lockf=0.5)
    np.testing.assert_array_equal(keyed.vectors, [old[0], [1, 2, 3, 4], *old[2:]])
    assert keyed.vectors_lockf.tolist() == [1, 0.5, 1, 1, 1]
    assert keyed.get_vector("b", norm=True)[0] == pytest.approx(1 / np.sqrt(30))
    keyed.intersect_word2vec_format(put(tmp_path, "1 4\na 1 2 3 4\n"))
    assert keyed.vectors_lockf.tolist() == [0, 0.5, 1, 1, 1]
    keyed.add_vector("y", old[0])
    keyed.intersect_word2vec_format(put(tmp_path, "1 4\ny 1 2 3 4\n"))
    assert keyed.vectors_lockf.tolist() == [0, 0.5, 1, 1, 1, 0]
    keyed.sort_by_descending_frequency()
    assert dict(zip(keyed.index_to_key, keyed.vectors_lockf, strict=True))["b"] == 0.5
    with pytest.raises(ValueError, match="vectors of 2 values, expected 4"):
        keyed.intersect_word2vec_format(put(tmp_path, "1 2\na 1 2\n"))


@pytest.mark.parametrize("mmap", [None, "r", "c", "r+"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_saving_keeps_keys_vectors_and_attributes(tmp_path, mmap, dtype, rng):
    matrix = rng.standard_normal((3, 8)).astype(dtype)[:, :5]
    keyed = KeyedVectors.of(["new york", "d\xe9j\xe0\n", 7], matrix, [3, 2, 1])
    keyed.set_vecattr(7, "tag", "number")
    keyed.set_vecattr("new york", "code", np.array([1, 0]))
    keyed.set_vecattr("new york", "parts", {"place": ("new", [None, 2.5])})
    keyed.set_vecattr("new york", "weight", np.float32(0.5))
    keyed.save(tmp_path / "vectors")
    found = KeyedVectors.load(str(tmp_path / "vectors"), mmap=mmap)
    assert found.index_to_key == keyed.index_to_key
    np.testing.assert_array_equal(found.vectors, matrix)
    assert found.vectors.dtype == dtype
    assert {name: values.tolist() for name, values in found.expandos.items()} == {
        "count": [3, 2, 1], "tag": [0, 0, "number"], "code": [[1, 0], 0, 0], "weight": [0.5, 0, 0],
        "parts": [{"place": ["new", [None, 2.5]]}, 0, 0],
    }  # fmt: skip
    assert found.expandos["weight"].dtype == np.float32
    if mmap == "r":
        with pytest.raises(ValueError, match="read-only: load them without mmap"):
            found[7] = np.ones(5)
        with pytest.raises(ValueError, match="read-only"):
            found.add_vectors([7], np.ones((1, 5)), {"size": [9]}, replace=True)
        assert "size" not in found.expandos
    else:
        found[7] = np.ones(5)
    again = KeyedVectors.load(tmp_path / "vectors")
    assert again[7].tolist() == ([1] * 5 if mmap == "r+" else matrix[2].tolist())


def test_a_mapped_matrix_is_not_read(tmp_path, rng):
    keyed = KeyedVectors.of(range(10_000), rng.standard_normal((10_000, 100), np.float32))
    keyed.save(tmp_path / "vectors")
    with traced() as memory:
        found = KeyedVectors.load(tmp_path / "vectors", mmap="r")
    assert memory.peak < keyed.vectors.nbytes
    assert isinstance(found.vectors.base, np.memmap)
    assert found.most_similar(5) == keyed.most_similar(5)


def test_saving_replaces_a_file_and_leaves_out_free_rows(tmp_path):
    keyed = KeyedVectors(2, count=3)
    keyed.add_vector("a", [1, 2])
    for _ in range(2):
        keyed.save(tmp_path / "vectors", separately=[], pickle_protocol=4)
    assert KeyedVectors.load(tmp_path / "vectors").index_to_key == ["a"]
    KeyedVectors(2).save(tmp_path / "vectors")
    for mmap in (None, "r"):
        assert KeyedVectors.load(tmp_path / "vectors", mmap).vectors.shape == (0, 2)


def test_keys_without_rows_are_not_saved(keyed, tmp_path):
    keyed.index_to_key.append("f")
    with pytest.raises(ValueError, match="6 keys and 5 vectors: call resize_vectors"):
        keyed.save(tmp_path / "vectors")
    keyed.resize_vectors()
    keyed.save(tmp_path / "vectors")
    assert KeyedVectors.load(tmp_path / "vectors").index_to_key == list("abcdef")


def test_what_json_cannot_represent_is_refused(tmp_path, keyed):
    for thing in ({1, 2}, {1: 2}, datetime.date(2020, 1, 1), [float("nan")], np.array([np.inf])):
        keyed.set_vecattr("a", "thing", thing)
        with pytest.raises(TypeError, match=r"the attribute 'thing' has .*, which JSON cannot represent"):
            keyed.save(tmp_path / "vectors")
    for key in (("a", 1), (), 0.0, True):
        with pytest.raises(TypeError, match="neither a string nor an integer"):
            KeyedVectors.of([key], np.ones((1, 2))).save(tmp_path / "vectors")
    assert not list(tmp_path.iterdir())


def test_load_reads_models_and_every_vector_format(tmp_path, keyed):
    model = Model(list("abcde"), np.arange(5, 0, -1), keyed.vectors, keyed.vectors)
    save_model(tmp_path / "model", model)
    assert KeyedVectors.load(tmp_path / "model").get_vecattr("a", "count") == 5
    w2vtrain.write_vectors(tmp_path / "vectors.txt", list("abcde"), keyed.vectors)
    np.testing.assert_array_equal(KeyedVectors.load(tmp_path / "vectors.txt").vectors, keyed.vectors)
    with pytest.raises(ValueError, match="leave out mmap"):
        KeyedVectors.load(tmp_path / "vectors.txt", mmap="r")


def test_pickles_are_never_opened(tmp_path):
    class Evil:
        def __reduce__(self):
            return (pytest.fail, ("unpickled",))

    for protocol in range(2, 6):
        path = put(tmp_path, pickle.dumps(Evil(), protocol))
        with pytest.raises(ValueError, match="a pickle, as written by gensim's save"):
            KeyedVectors.load(path)


def test_a_damaged_file_of_keys_is_refused(tmp_path):
    def written(**changed):
        parts = {"keys": np.frombuffer(b'["a", "b"]', np.uint8), "vectors": np.ones((2, 3), np.float32), **changed}
        write_safetensors(tmp_path / "vectors", parts, {"kind": "keyed vectors"}, force=True)
        return tmp_path / "vectors"

    def text(found):
        return np.frombuffer(json.dumps(found).encode(), np.uint8)

    assert KeyedVectors.load(written()).index_to_key == ["a", "b"]
    for changed in (
        {"keys": text(["a", "a"])}, {"keys": text(["a"])}, {"keys": text({"a": 1})}, {"keys": text([["a"], "b"])},
        {"keys": np.frombuffer(b"[" * 99_999, np.uint8)}, {"keys": text(["a", None])}, {"keys": text([True, "b"])},
        {"vectors": np.ones(2, np.float32)}, {"vectors": np.ones((3, 3), np.float32)}, {"attribute.x": np.ones(3)},
        {"objects.x": text([1])}, {"attribute.x": np.ones((2, 2))},
    ):  # fmt: skip
        for mmap in (None, "r"):
            with pytest.raises(ValueError, match="vectors") as caught:
                KeyedVectors.load(written(**changed), mmap)
            assert isinstance(caught.value, W2VError)
    keyed = KeyedVectors.of(["The", "the"], np.ones((2, 3)))
    keyed.index_to_key = ["the", "the"]
    with pytest.raises(ValueError, match=r"\bthe key 'the' occurs twice: keys must be distinct"):
        keyed.save(tmp_path / "never")
    with pytest.raises(W2VError, match="a key occurs twice"):
        w2vtrain.read_vectors(written(keys=text(["a", "a"])))
    with pytest.raises(W2VError, match="mmap must be None"):
        KeyedVectors.load(written(), mmap="w+")
    data = written().read_bytes()
    (tmp_path / "vectors").write_bytes(data[:-1])
    with pytest.raises(ValueError, match="not a valid safetensors file"):
        KeyedVectors.load(tmp_path / "vectors", "r")


def test_keys_that_only_a_lenient_parser_of_json_reads_are_kept(tmp_path):
    """Integers beyond 64 bits, which others round, and unpaired surrogates, which others refuse."""
    for keys in (["a", 7, 10**30], ["a", "\ud800", "c"]):
        w2vtrain.KeyedVectors.of(keys, np.ones((3, 2), np.float32)).save(tmp_path / "keyed")
        assert KeyedVectors.load(tmp_path / "keyed").index_to_key == keys


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not shrink a file that is mapped into memory")
def test_a_file_that_shrinks_while_it_is_read_is_refused(tmp_path):
    path = tmp_path / "keyed"
    w2vtrain.KeyedVectors.of(["a", "b"], np.ones((2, 50_000), np.float32)).save(path)
    with suppress(W2VError), open_safetensors(path) as box:  # which notices the change at its end, too
        os.truncate(path, path.stat().st_size - 100_000)
        with pytest.raises(W2VError, match="the file ends inside the tensor vectors"):
            box.array("vectors")


def test_commands_read_what_save_wrote(tmp_path, w2vtrain_here):
    keyed = w2vtrain.KeyedVectors.of(["king", "queen", "new york"], np.eye(3, 4, dtype=np.float32), [9, 5, 1])
    keyed.save(tmp_path / "keyed")
    found = w2vtrain.read_vectors(tmp_path / "keyed")
    assert (found.words, found.counts.tolist()) == (["king", "queen", "new york"], [9, 5, 1])
    np.testing.assert_array_equal(found.matrix, keyed.vectors)
    code, out, _ = w2vtrain_here(["neighbors", "keyed", "king"], tmp_path)
    assert (code, out.split("\t")[0]) == (0, "king")
    code, out, _ = w2vtrain_here(["info", "keyed"], tmp_path)
    assert code == 0
    assert "keyed vectors" in out
    w2vtrain.KeyedVectors.of(["a", "b"], np.array([[1], [np.nan]])).save(tmp_path / "keyed")
    assert w2vtrain.read_vectors(tmp_path / "keyed", limit=1).words == ["a"]
    numbers = w2vtrain.KeyedVectors.of([1, 2], np.eye(2, dtype=np.float32))
    numbers.save(tmp_path / "numbers")
    with pytest.raises(w2vtrain.W2VError, match="a key is a number"):
        w2vtrain.read_vectors(tmp_path / "numbers")


def test_a_run_starts_from_what_save_wrote(tmp_path):
    keyed = w2vtrain.KeyedVectors.of(["king", "queen"], np.full((2, 4), 0.5, np.float32))
    keyed.save(tmp_path / "keyed")
    start = WarmStart.load(tmp_path / "keyed")
    assert start.model is None
    np.testing.assert_array_equal(start.input, keyed.vectors)


@pytest.mark.parametrize("value", [np.nan, 1e300])
def test_loading_own_vectors_that_are_not_finite_warns_with_the_word(tmp_path, caplog, value):
    """Other files with such values are refused; these may have any that were in memory."""
    KeyedVectors.of(["a", "b"], np.array([[1.0, 2], [value, 1]])).save(tmp_path / "v")
    assert KeyedVectors.load(tmp_path / "v")["b"].tolist() == pytest.approx([value, 1], nan_ok=True)
    assert caplog.messages == [f"{tmp_path / 'v'}: the vector of 'b' (row 1) has a value that is NaN or too large"]
    with pytest.raises(W2VError, match=r"the vector of 'b' \(row 1\) is not finite; `w2vtrain convert --repair`"):
        w2vtrain.read_vectors(tmp_path / "v")
    assert w2vtrain.read_vectors(tmp_path / "v", lenient=True).words == ["a"]


def test_a_byte_order_mark_is_no_part_of_the_first_key_of_a_file_without_header(tmp_path):
    path = tmp_path / "glove.txt"
    path.write_text("king 1.5 2.5\nqueen 3.5 4.5\n", "utf-8-sig")
    vectors = w2vtrain.KeyedVectors.load_word2vec_format(path, no_header=True)
    assert vectors.index_to_key == ["king", "queen"]
    assert vectors["king"].tolist() == [1.5, 2.5]
