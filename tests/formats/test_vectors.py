"""Tests of writing vectors and reading them back, strictly and leniently, in all formats."""

import gzip
import io
import os
import shlex
import shutil
import subprocess
import zipfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import orjson
import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from packing import PACK
from word_vectors import in_gensim

from w2vtrain.embeddings.model import Model, save_model
from w2vtrain.errors import DataError, InvalidType, UsageError, WriteError
from w2vtrain.formats import vector_formats
from w2vtrain.formats.describe import describe
from w2vtrain.formats.safetensors import open_safetensors
from w2vtrain.formats.sniff import sniff
from w2vtrain.formats.vector_formats import arrays as arrays_module
from w2vtrain.formats.vector_formats import rows as vector_rows
from w2vtrain.formats.vector_formats import text
from w2vtrain.formats.vector_formats import word2vec as word2vec
from w2vtrain.formats.vectors import Vectors, format_of, read_vectors, write_vectors

WORDS = ["the", "königlich", "a\u2028b", "日本", "</s>", "0.5"]
MATRIX = np.array(
    [[0.1, -2.5e-8, 3e30], [1, 2, 3], [1e-45, 3.4028235e38, -0.0], [-1, 0, 1], [7, 8, 9], [1, 1, 1]], "f4"
)
ROW = np.array([1, 2], "<f4").tobytes()
FORMATS = vector_formats.formats()
each_format = pytest.mark.parametrize("format", FORMATS)
each_format_that_is_read = pytest.mark.parametrize("format", [name for name, known in FORMATS.items() if known.is_read])
word2vec_format = pytest.mark.parametrize("format", ["text", "binary"])


def put(folder, content, name="file"):
    (folder / name).write_bytes(content)
    return folder / name


def same_bits(a, b):
    return a.dtype == b.dtype == np.float32 and a.shape == b.shape and a.tobytes() == b.tobytes()


ASCII_SPACE = set(" \t\n\r\v\f")
words = st.lists(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters=ASCII_SPACE), min_size=1, max_size=8),
    min_size=1,
    max_size=6,
    unique=True,
)
floats = st.floats(width=32, allow_nan=False, allow_infinity=False)
SUPPRESSED = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


@st.composite
def tables(draw):
    names = draw(words)
    return names, draw(arrays(np.float32, (len(names), draw(st.integers(1, 5))), elements=floats))


@pytest.mark.parametrize("lenient", [False, True])
def test_a_word_with_a_space_in_a_binary_file_is_found_by_the_bytes_after_it(tmp_path, lenient):
    words = [b"a", b"b", b"new york", b"c", b"d", b"e"]
    rows = b"".join(word + b" " + np.array([i, 0.5], "<f4").tobytes() + b"\n" for i, word in enumerate(words))
    (tmp_path / "v.bin").write_bytes(b"6 2\n" + rows)
    with pytest.raises(DataError, match=r"v\.bin, row 4, byte \d+: values in place of a word: a word before it"):
        read_vectors(tmp_path / "v.bin", lenient=lenient)


@pytest.mark.parametrize("lenient", [False, True])
@pytest.mark.parametrize("word", [b"New York", b"a b", b"New York City", b"a bcd"], ids=repr)
def test_a_word_with_a_space_is_found_although_the_bytes_after_it_may_be_a_word(tmp_path, word, lenient):
    """gensim writes no newlines between rows; whether the next word looks like one depends on the values."""
    for seed in range(60):
        values = np.random.default_rng(seed).normal(size=(4, 4)).astype("<f4")
        words = [b"caf\xe9", b"b", b"c", b"d"]
        words[seed % 3 + 1] = word
        rows = [name + b" " + row.tobytes() for name, row in zip(words, values, strict=True)]
        with pytest.raises(DataError, match="values in place of a word" if lenient else "in place of a word|not UTF-8"):
            read_vectors(put(tmp_path, b"4 4\n" + b"".join(rows)), lenient=lenient)
        with pytest.raises(DataError, match=rf"row {seed % 3 + 2}, byte \d+: values in place of a word"):
            read_vectors(put(tmp_path, b"3 4\n" + b"".join(rows[1:])), lenient=lenient)


@pytest.mark.parametrize("dim", [18, 21])
def test_a_binary_file_of_another_dimension_than_its_header_says_is_not_repaired(tmp_path, rng, dim):
    rows = b"".join(b"w%d " % i + row.tobytes() for i, row in enumerate(rng.normal(size=(6, 20)).astype("<f4")))
    with pytest.raises(DataError, match=r"values in place of a word: .* or the header is wrong"):
        read_vectors(put(tmp_path, b"6 %d\n" % dim + rows), lenient=True)


def test_a_file_of_newlines_is_no_vocabulary(tmp_path):
    (tmp_path / "v.txt").write_text("\n\n")
    assert sniff(tmp_path / "v.txt").kind == "unknown"


def test_an_empty_line_among_rows_is_named_although_it_makes_them_too_many(tmp_path):
    (tmp_path / "v.txt").write_text("2 2\n\na 1 2\n\nb 3 4\n")
    with pytest.raises(DataError, match=r"v\.txt:2: the line is empty"):
        read_vectors(tmp_path / "v.txt")
    assert read_vectors(tmp_path / "v.txt", lenient=True).words == ["a", "b"]
    (tmp_path / "w.txt").write_text("2 2\na 1 2\nb 3 4\nc 5 6\n")
    with pytest.raises(DataError, match=r"w\.txt:4: more rows than the 2 that the header promises"):
        read_vectors(tmp_path / "w.txt")


def test_a_matrix_may_be_a_list_of_real_numbers_and_nothing_else(tmp_path):
    write_vectors(tmp_path / "v.txt", ["a", "b"], [[1, 2], [3, 4.5]])
    assert read_vectors(tmp_path / "v.txt").matrix.tolist() == [[1, 2], [3, 4.5]]
    for matrix in ([[1j, 1], [1, 2]], [["1", "2"], ["3", "4"]]):
        with pytest.raises(UsageError, match="its values must be real numbers"):
            write_vectors(tmp_path / "w.txt", ["a", "b"], matrix)


@each_format_that_is_read
@settings(deadline=None, max_examples=50, suppress_health_check=SUPPRESSED)
@given(table=tables())
@example(table=(["\ufeff"], np.array([[1.5]], "f4")))
@example(table=(["\ufeffa", "a"], np.array([[1, 2], [3, 4]], "f4")))
@example(table=(["PAR1", "a", "ARROW1\0\0"], np.array([[1], [-2e20], [1e-45]], "f4")))
@example(table=(["ARROW1\0\0", "2"], np.array([[1, 2], [3, 4]], "f4")))
@example(table=(["\u00a0", "\u2028", "\x85", "'", '"', '"a', "\\", ",", "\x1c", "[UNK]"], np.ones((10, 1), "f4")))
@example(table=(["1", "2"], np.array([[3], [4]], "f4")))
@example(table=([str(10**17 + 7919 * i) for i in range(4)], np.array([[0.3, 0.7]] * 4, "f4")))
@example(table=(["10.0.0.1", "10.0.0.2"], np.array([[-0.9, 0.7], [0.2, 3.1]], "f4")))
@example(table=(["\0", "1"], np.frombuffer(b"    1 2\n", "<f4").reshape(2, 1)))
def test_any_words_and_finite_floats_are_read_back_bit_for_bit(tmp_path, format, table):
    if format in ("glove", "npy"):  # whose words begin a file without a signature, so that the first may look like one
        table = (["w" + word for word in table[0]], table[1])
    write_vectors(tmp_path / "v", *table, format, force=True)
    if format == "binary":  # few words with rare values, which read as text: the bytes of 12.08 are "AAAA"
        assume(not word2vec._looks_like_text((tmp_path / "v").read_bytes().partition(b"\n")[2]))
    found = read_vectors(tmp_path / "v")
    assert found.words == table[0]
    assert same_bits(found.matrix, table[1])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"2 2\ncat 0.1x1:2\ndog 1:2.0:1\n", ":2: 1 values after the word, expected 2"),
        (b"2 1\nAAAA AAAA\nBBBB 0.5\n", ":2: 'AAAA' is not a number"),
        ("1 3\nκατ 0,5 0,5 é\n".encode(), ":2: '0,5' is not a number"),
        (b"2 3\ncat 1:0.5678 b\ndog 2:1.53333\n", r" is text with sparse rows \(index:value\)"),
        (b"2 3\r\ncat\r\ndog 2:1.5\r\n", r" is text with sparse rows \(index:value\)"),
        ("1 2\nfür 0.25 0.5 -0.75 1.5\n".encode("cp1252"), ":2: the word .*, or there are more than 2 values"),
        ("2 9\nnaïve .25 0.5 -.75 1.5\nto .25 0.5 -.75 1.5\n".encode("cp1252"), ":2: 4 values after the word"),
        (b"2 4\nN\xebw York 0.25 0.5 -0.75 1.5\nto .25 .5 -.75 1.5\n", ":2: the word 'N.w York' contains white space"),
        (b"cat 1:-.5 2:0.25\ndog 2:1.5\n", r" is text with sparse rows \(index:value\)"),
    ],
    ids=["values", "letters", "commas", "sparse", "an empty row", "no header", "cp1252", "header", "phrase"],
)  # fmt: skip
def test_text_whose_rows_are_as_long_as_binary_rows_is_text(tmp_path, content, message):
    with pytest.raises(DataError, match=f"v{message}"):
        read_vectors(put(tmp_path, content, "v"))


@each_format
@pytest.mark.parametrize("word", ["", "a b", "a\tb", " ", "\n"], ids=["empty", "inside", "tab", "space", "newline"])
def test_an_empty_word_or_one_with_white_space_is_never_written(tmp_path, format, word):
    with pytest.raises(DataError, match=r"white space|empty"):
        write_vectors(tmp_path / "v", ["a", word], MATRIX[:2], format)
    assert not list(tmp_path.iterdir())


@settings(deadline=None, max_examples=500, suppress_health_check=SUPPRESSED)
@given(st.binary(max_size=60), st.sampled_from([b"", b"2 1\n", b"1 2\n", b"a 1 2\n", b"2 2\na 1 2\n"]), st.booleans())
def test_any_bytes_are_vectors_or_raise_data_error(tmp_path, junk, start, lenient):
    try:
        found = read_vectors(put(tmp_path, start + junk), lenient=lenient)
    except DataError:
        return
    assert found.matrix.shape[0] == len(found.words) == len(set(found.words)) > 0
    assert np.isfinite(found.matrix).all()


@word2vec_format
def test_gensim_reads_our_files_bit_for_bit(tmp_path, format):
    models = pytest.importorskip("gensim.models")
    write_vectors(tmp_path / "v", WORDS, MATRIX, format)
    keyed = models.KeyedVectors.load_word2vec_format(str(tmp_path / "v"), binary=format == "binary")
    assert keyed.index_to_key == WORDS
    assert same_bits(keyed.vectors, MATRIX)


@word2vec_format
def test_files_that_gensim_wrote_are_read_bit_for_bit(tmp_path, format):
    keyed = in_gensim(Vectors(WORDS, MATRIX))
    keyed.save_word2vec_format(str(tmp_path / "v"), binary=format == "binary")
    found = read_vectors(tmp_path / "v")
    assert found.words == WORDS
    assert same_bits(found.matrix, MATRIX)


def test_files_follow_the_word2vec_formats_byte_for_byte(tmp_path):
    matrix = np.array([[1, -0.5]], "f4")
    write_vectors(tmp_path / "v.txt", ["é"], matrix)
    write_vectors(tmp_path / "v.bin", ["é"], matrix)
    assert (tmp_path / "v.txt").read_bytes() == "1 2\né 1.0 -0.5\n".encode()
    assert (tmp_path / "v.bin").read_bytes() == "1 2\né ".encode() + matrix.astype("<f4").tobytes() + b"\n"


def test_text_as_written_by_word2vec_c_and_others_is_read(tmp_path):
    for content in (
        b"2 2 \nthe 0.100000 -0.200000 \nof 1 2 \n",
        b"2 2\r\nthe 0.1 -0.2\r\nof 1 2\r\n",
        b"2\t2\nthe\t0.1\t-0.2\nof\t1\t2",
        b"2 2\nthe  0.1   -2e-1\nof +1.0 2.\n",
        b"\xef\xbb\xbf2 2\nthe .1 -.2\nof 1 2\n",
    ):
        found = read_vectors(put(tmp_path, content))
        assert found.words == ["the", "of"]
        assert same_bits(found.matrix, np.array([[0.1, -0.2], [1, 2]], "f4"))
        assert found.header


@pytest.mark.parametrize("end", [b"", b"\n"], ids=["without", "with-newlines"])
def test_binary_files_with_and_without_newlines_are_read(tmp_path, end):
    found = read_vectors(put(tmp_path, b"2 2\nthe " + ROW + end + b"of " + ROW + end))
    assert found.format == "binary"
    assert found.words == ["the", "of"]
    assert found.matrix.tolist() == [[1, 2], [1, 2]]


def savetxt(matrix, **options):
    data = io.BytesIO()
    np.savetxt(data, matrix, **options)
    return data.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        savetxt(MATRIX), savetxt(MATRIX, fmt="%.4f", delimiter=","), savetxt(MATRIX[:, :1]), b"1.5 2 3\n.5 1e3 nan",
        b"1.5\t2.5\n3.5\t4.5\n", b"1.5\t2.5\t\n3.5\t4.5\t\n", b"1\t2\t3\n4\t5\t6\n",
    ],
    ids=["savetxt", "commas", "one column", "no newline", "tabs", "tabs at the end", "integers with tabs"],
)  # fmt: skip
def test_numbers_without_words_are_refused(tmp_path, content):
    with pytest.raises(DataError, match=r"file is a matrix of numbers without words.* as X\.words\.txt$"):
        read_vectors(put(tmp_path, content))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"2 2\n0.5 1.5 2.5\n0.25 3.5 4.5\n", ["0.5", "0.25"]),
        (b"7\t1.5\t2.0\n12\t3.5\t4.5\n", ["7", "12"]),
        (b"0.5 1.5 2.5\n0.25 3.5 4.5\nthe 1.5 2.5\n", ["0.5", "0.25", "the"]),
        (b"1 1.5 2.5\n2 3.5 4.5\n", ["1", "2"]),
        (b"2\t2\n1\t1.5\t2.5\n2\t3.5\t4.5\n", ["1", "2"]),
    ],
)
def test_words_may_be_numbers(tmp_path, content, words):
    assert read_vectors(put(tmp_path, content)).words == words


def test_a_matrix_never_has_the_words_of_the_file_that_it_replaced(tmp_path):
    """Neither after an error between the two files, nor if both are replaced while they are read."""
    path, words = tmp_path / "X.npy", tmp_path / "X.words.txt"

    def fail(target, _):
        if target == words:
            raise WriteError("no")

    write_vectors(path, WORDS, MATRIX)
    with pytest.raises(WriteError, match="no"):
        write_vectors(path, WORDS[::-1], MATRIX, force=True, claim=fail)
    with pytest.raises(DataError, match=r"X\.npy has no words, which are expected one per line beside it"):
        read_vectors(path)


def test_a_matrix_that_is_replaced_while_it_is_read_is_an_error(tmp_path, monkeypatch):
    write_vectors(tmp_path / "X.npy", WORDS, MATRIX)
    lines = arrays_module._lines

    def replaced(*about):
        write_vectors(tmp_path / "X.npy", WORDS[::-1], MATRIX, force=True)
        return lines(*about)

    monkeypatch.setattr(arrays_module, "_lines", replaced)
    with pytest.raises(DataError, match=r"X\.npy: was changed while it was read"):
        read_vectors(tmp_path / "X.npy")


def test_a_matrix_has_its_words_in_a_file_beside_it(tmp_path):
    """As the message about numbers without words says."""
    np.save(tmp_path / "X.npy", np.loadtxt(io.BytesIO(savetxt(MATRIX))))
    put(tmp_path, "\n".join(WORDS).encode(), "X.words.txt")
    found = read_vectors(tmp_path / "X.npy")
    assert (found.words, found.matrix.tobytes()) == (WORDS, MATRIX.tobytes())


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("2 2\na 1 2\nb 3 4\n".encode("utf-16"), "UTF-16 or UTF-32 at byte 0, expected UTF-8: convert it with iconv"),
        (b"\n<!DOCTYPE html>\n<html lang=en>\n", "a web page"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12\n", "a pointer of Git LFS"),
        (b"FEA1\0\0\0\0", "a Feather file of version 1: read it with pyarrow.feather, and write it as version 2"),
        (b"\xff\xff\xff\xff\x10\0\0\0", "an Arrow stream, .*: write the table as an Arrow file, for example with"),
        (b",0,1\nthe,0.1,1e-05\nof,1,2\n", "text with ',' between .* tr ',' ' ', and delete the first line"),
        (b"word,d0,d1\nthe,0.1,1e-05\nof,1,2\n", "text with ',' between .* tr ',' ' ', and delete the first line"),
        (b"the;0.1;0.2\r\nof;1;2\r\n", "text with ';' between values: write spaces, for example with tr ';' ' '$"),
        (b"the;0,1;0,25\r\nof;1;-2\r\n", "decimal commas: write spaces and points, for example with tr ';,' ' .'$"),
        (b"word;x;y\nthe;0,1;0,25\n", "decimal commas: write spaces and points, for example with tr ';,' ' .'$"),
        (
            b"word\tx\ty\nthe\t0.1\t-2\nof\t1\t2\n",
            r"rows of vectors after the line 'word\\tx\\ty': delete that line, or",
        ),
        (
            b"# by A\n2 2\nthe 0.1 -2\nof 1 2\n",
            "after the line '# by A': delete that line, or correct it if it is a row",
        ),
        (b"word1\tword2\tscore\tsd\na\tb\t1.5\t2.5\nc\td\t2.5\t1.5\n", "neither vectors nor a model"),
        (b"2 2\ra 1 2\rb 3 4\r", r"convert it with tr '\\r' '\\n'"),
    ],
)
def test_files_that_are_mistaken_for_vectors_are_named_by_their_kind(tmp_path, content, said):
    with pytest.raises(DataError, match=said):
        read_vectors(put(tmp_path, content))


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_description_says_that_a_header_promises_other_rows(tmp_path, pack):
    rows = b"a 1.25 2\nb 3 4.5"
    for first, end, note in (
        (b"1", b"", "the header promises 1 vectors, the file has 2; `w2vtrain convert --repair` writes a clean copy"),
        (b"2", b"", None), (b"2", b"\n", None), (b"2", b"\n\n \n", None),
    ):  # fmt: skip
        assert describe(put(tmp_path, pack(first + b" 2\n" + rows + end))).get("note") == note
    assert describe(put(tmp_path, pack(rows + b"\n\n")))["words"] == 2


@pytest.mark.parametrize("lenient", [False, True])
@pytest.mark.parametrize("first", ["2 3\n", ""])
def test_decimal_commas_are_named_with_the_program_that_writes_points(tmp_path, first, lenient):
    """Reading leniently does not help: all rows would be left out."""
    path = put(tmp_path, f"{first}a,1 0,5\t-1,25 3\nb 2 1,5e-2 4,5\n".encode())
    with pytest.raises(DataError, match=r"decimal commas: write points, for example with (sed -E '.*')$") as caught:
        read_vectors(path, lenient=lenient)
    if shutil.which("sed"):
        command = [*shlex.split(str(caught.value).partition("with ")[2]), str(path)]
        found = read_vectors(put(tmp_path, subprocess.run(command, capture_output=True, check=True).stdout))
        assert (found.words, found.matrix.tolist()) == (["a,1", "b"], [[0.5, -1.25, 3], [2, np.float32(0.015), 4.5]])


@pytest.mark.parametrize(
    "first", ["word 0 1 2", "word 1 2 3", "\t0\t1\t2", '"" 0 1 2'], ids=["zero", "one", "tabs", "no name"]
)
def test_a_line_that_names_columns_is_refused(tmp_path, first):
    content = f"{first}\nthe 0.5 1 -2\nof 1 2 3.5\n".replace(" ", "\t" if "\t" in first else " ").encode()
    with pytest.raises(DataError, match=r"file is a table whose first line names columns \(.*\): delete that line"):
        read_vectors(put(tmp_path, content))
    assert read_vectors(put(tmp_path, content.partition(b"\n")[2])).words == ["the", "of"]


def test_the_row_of_the_word_word_names_columns_also_among_integers(tmp_path):
    with pytest.raises(DataError, match="a table whose first line names columns"):
        read_vectors(put(tmp_path, b"word 0 1 2\nof 3 -1 2\n"))


def test_a_vector_may_count_up_among_integers(tmp_path):
    for content in (b"the 0 1 2\nof 3 -1 2\n", b"the 1 2\nof 0.5 1\n"):
        assert read_vectors(put(tmp_path, content)).words == ["the", "of"]


@pytest.mark.parametrize("format", [name for name, known in FORMATS.items() if known.compressible])
@pytest.mark.parametrize("name", PACK)
def test_compressed_vectors_are_read(tmp_path, format, name):
    write_vectors(tmp_path / "v", WORDS, MATRIX, format)
    found = read_vectors(put(tmp_path, PACK[name]((tmp_path / "v").read_bytes())))
    assert found.words == WORDS
    assert same_bits(found.matrix, MATRIX)
    assert found.compression == name


@pytest.mark.parametrize(
    "format", [name for name, known in FORMATS.items() if known.is_read and not known.compressible]
)
def test_compressed_files_of_other_formats_are_refused(tmp_path, format):
    write_vectors(tmp_path / "v", WORDS, MATRIX, format)
    with pytest.raises(DataError, match=f"a compressed {format} file: decompress it first"):
        read_vectors(put(tmp_path, gzip.compress((tmp_path / "v").read_bytes())))


def test_the_format_is_detected_from_the_content_not_the_suffix(tmp_path):
    write_vectors(tmp_path / "v.bin", WORDS, MATRIX, "text")
    write_vectors(tmp_path / "v.txt", WORDS, MATRIX, "binary")
    assert read_vectors(tmp_path / "v.bin").format == "text"
    assert read_vectors(tmp_path / "v.txt").format == "binary"


def test_reading_a_model_returns_the_vectors_that_fit_writes_and_counts(tmp_path):
    counts = np.array([9, 8, 7, 3, 2, 1])
    save_model(tmp_path / "m", Model(WORDS, counts, MATRIX, MATRIX[1:]))  # a tree's nodes
    found = read_vectors(tmp_path / "m", limit=4)
    assert (found.format, found.words, found.counts.tolist()) == ("model", WORDS[:4], [9, 8, 7, 3])
    assert same_bits(found.matrix, MATRIX[:4])
    for record in ({}, {"vectors": "in"}, {"vectors": "blend"}):
        model = Model(WORDS, counts, MATRIX, MATRIX[::-1].copy(), record=record)
        save_model(tmp_path / "m", model, force=True)
        found = read_vectors(tmp_path / "m", limit=4)
        assert same_bits(found.matrix, model.vectors("blend" if "blend" in record.values() else "in")[:4])
        assert same_bits(found.matrix, model.vectors()[:4])


@each_format_that_is_read
def test_limit_reads_only_the_first_rows(tmp_path, format):
    write_vectors(tmp_path / "v", WORDS, MATRIX, format)
    for limit in (1, 3, len(WORDS), 100):
        found = read_vectors(tmp_path / "v", limit=limit)
        assert found.words == WORDS[:limit]
        assert same_bits(found.matrix, MATRIX[:limit])
    with pytest.raises(UsageError, match="limit"):
        read_vectors(tmp_path / "v", limit=0)


@each_format_that_is_read
def test_vectors_that_are_rewritten_or_grow_while_they_are_read_are_an_error(tmp_path, format, monkeypatch):
    def rewriting(path):
        found = sniff(path)
        with path.open("ab") as file:
            file.write(b"\n" * (format in ("text", "glove")))  # which no reader of the others would leave out
        os.utime(path, ns=(0, path.stat().st_mtime_ns + 1))
        return found

    write_vectors(tmp_path / "v", WORDS, MATRIX, format)
    monkeypatch.setattr("w2vtrain.formats.vectors.sniff", rewriting)
    with pytest.raises(DataError, match="v: was changed while it was read: start again when it is complete"):
        read_vectors(tmp_path / "v")


def test_a_model_that_is_rewritten_while_it_is_read_is_an_error(tmp_path):
    save_model(tmp_path / "m", Model(WORDS, np.ones(len(WORDS), np.int64), MATRIX, MATRIX, {}, {}, {}))
    with pytest.raises(DataError, match="was changed while it was read"), open_safetensors(tmp_path / "m"):
        os.utime(tmp_path / "m", ns=(0, (tmp_path / "m").stat().st_mtime_ns + 1))


@each_format_that_is_read
def test_vectors_in_many_blocks_are_read_back_unchanged(tmp_path, format, monkeypatch):
    monkeypatch.setattr("w2vtrain.formats.safetensors.VALUES_PER_BLOCK", 30)
    monkeypatch.setattr(vector_rows, "VALUES_AT_ONCE", 30)
    padded = np.random.default_rng(1).standard_normal((1001, 16)).astype("f4")
    names = [f"w{i}" for i in range(1001)]
    write_vectors(tmp_path / "v", names, padded[:, :7], format)
    for limit in (None, 500):
        found = read_vectors(tmp_path / "v", limit=limit)
        assert found.words == names[:limit]
        assert same_bits(found.matrix, np.ascontiguousarray(padded[:limit, :7]))


@each_format_that_is_read
@pytest.mark.parametrize("layout", ["columns of a padded matrix", "fortran", "float64", "big-endian", "reversed"])
def test_matrices_of_any_memory_layout_are_written(tmp_path, format, layout):
    matrix = {
        "columns of a padded matrix": np.pad(MATRIX, ((0, 0), (0, 5)))[:, :3],
        "fortran": np.asfortranarray(MATRIX),
        "float64": MATRIX.astype("f8"),
        "big-endian": MATRIX.astype(">f4"),
        "reversed": MATRIX[::-1].copy()[::-1],
    }[layout]
    write_vectors(tmp_path / "v", WORDS, matrix, format)
    assert same_bits(read_vectors(tmp_path / "v").matrix, MATRIX)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["a", ""], "word 1 is empty"),
        ([""], "word 0 is empty"),
        (["a", "New York"], "'New York' contains white space"),
        (["a\n", "b"], r"'a\\n' contains white space"),
        (["a", "b\t"], "contains white space"),
        (["a", "a"], "'a' occurs twice"),
        (["a", "\ud800"], "surrogate"),
        (["a", "b" * 70_000], "bytes, more than"),
    ],
)
@each_format
def test_words_that_could_not_be_read_back_are_not_written(tmp_path, format, words, message):
    with pytest.raises(DataError, match=message):
        write_vectors(tmp_path / "v", words, np.ones((len(words), 2), "f4"), format)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("words", "said"), [([7, 8], "0 is 7"), (["a", None], "1 is None"), ([b"a"], "0 is b'a'")])
@each_format
def test_words_that_are_no_strings_are_refused(tmp_path, format, words, said):
    with pytest.raises(InvalidType, match=rf"word {said}: words must be str: pass \[str\(word\) for word in words\]"):
        write_vectors(tmp_path / "v", words, np.ones((len(words), 2), "f4"), format)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e300])
@each_format
def test_values_that_are_not_finite_are_not_written(tmp_path, format, value):
    matrix = np.ones((3, 2))
    matrix[1, 1] = value
    with pytest.raises(DataError, match=r"vector of 'b' \(row 1\) is not finite"):
        write_vectors(tmp_path / "v", ["a", "b", "c"], matrix, format)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("limit", [None, 2])
def test_rows_that_are_kept_keep_their_counts(tmp_path, limit):
    matrix = np.array([[1, 2], [np.nan, 1], [3, 4], [5, 6]], "f4")
    np.savez(tmp_path / "v.npz", words=np.array(["a", "b", "c", "a"]), vectors=matrix, counts=np.array([4, 3, 2, 1]))
    found = read_vectors(tmp_path / "v.npz", lenient=True, limit=limit)
    assert (found.words, found.counts.tolist()) == (["a", "c"], [4, 2])


@pytest.mark.parametrize("shape", [(2, 2), (3,), (3, 0), (3, 2, 1), (3, vector_rows.MAX_DIM + 1)])
def test_shapes_that_do_not_match_the_words_raise_usage_error(tmp_path, shape):
    with pytest.raises(UsageError, match="shape"):
        write_vectors(tmp_path / "v.txt", ["a", "b", "c"], np.broadcast_to(np.float32(0), shape))
    with pytest.raises(UsageError, match="0 words"):
        write_vectors(tmp_path / "v.txt", [], np.ones((0, 2), "f4"))


@pytest.mark.parametrize(
    ("matrix", "why"), [([[1, 2], [3]], "they differ in length"), ([["1"], ["x"]], "must be real numbers")], ids=str
)
def test_vectors_that_are_no_matrix_of_numbers_raise_usage_error(tmp_path, matrix, why):
    with pytest.raises(UsageError, match=rf"v\.txt: .*{why}"):
        write_vectors(tmp_path / "v.txt", ["a", "b"], matrix)


def test_the_suffix_selects_the_format(tmp_path):
    assert [format_of(name) for name in ("a.txt", "a.VEC.gz", "b.bin", "-")] == ["text", "text", "binary", "text"]
    assert format_of("a.txt", "binary") == "binary"
    for name in ("a.csv", "a", "a.csv.gz"):
        with pytest.raises(UsageError, match=r"\.txt \(text\), \.vec \(text\), .*\.bin \(binary\)"):
            write_vectors(tmp_path / name, WORDS, MATRIX)
    with pytest.raises(UsageError, match=r"text or .*binary or glove"):
        write_vectors(tmp_path / "a.txt", WORDS, MATRIX, "json")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("format", [name for name, known in FORMATS.items() if not known.files and not known.companion])
def test_writing_vectors_to_a_full_disk_raises_write_error(format):
    with pytest.raises(WriteError, match="No space left"):
        write_vectors("/dev/full", WORDS, MATRIX, format)


def test_a_dash_writes_vectors_to_standard_output(capfdbinary):
    write_vectors("-", ["a"], np.ones((1, 2), "f4"))
    assert capfdbinary.readouterr().out == b"1 2\na 1.0 1.0\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"3 2\nthe 1.0 2.0\nof 3.0 4.0\n", "header promises 3 vectors, the file has 2; `w2vtrain convert --repair`"),
        (
            b"9 2\nthe 1.0 2.0\n",
            "it is cut off or its header is wrong; if rows have 2 values, `w2vtrain convert --repair` writes",
        ),
        (
            b"1 2\nthe 1 2\nof 3 4\n",
            "file:3: more rows than the 1 that the header promises; `w2vtrain convert --repair`",
        ),
        (b"2000000000 1000\nthe 1 2\n", "file:1: the header promises 2,000,000,000 vectors of 1,000 values"),
        (b"-1 2\nthe 1 2\n", "file:1: the header promises -1 vectors"),
        (b"2 2\nthe 1 2\nof 3\n", "file:3: 1 values after the word, expected 2"),
        (b"2 2\nNew York 1 2\nof 3 4\n", "file:2: the word 'New York' contains white space, or there are more"),
        (b"3 2\nthe 1 2\nof 5 6\nthe 3 4\n", "file:4: the word 'the' occurs a second time"),
        (b"2 2\nthe 1 2\nof 3 nan\n", "file:3: a value is not a finite number"),
        (b"2 2\nthe 1 2\nof 3 4;5\n", "file:3: '4;5' is not a number"),
        (b"2 2\nthe 1 2\n 3 4\n", "file:3: the word is empty"),
        (b"3 2\nthe 1.0 2.0\n\nof 3 4\n", "file:3: the line is empty"),
        (b"2 2\nthe 1 2\ncaf\xe9 3 4\n", r"file:3: the word b'caf\\xe9' is not UTF-8"),
        (b"the 1 2\nof 3\n", "file:2: 1 values after the word, expected 2"),
        (b"2 2\nthe 1 2\n" + b"x" * 70_000, "file:3: a line of more than"),
        (b"2 2\nthe " + ROW + b"\nof " + ROW[:-1], "byte 16: the file ends inside row 2"),
        (b"1 2\nthe " + ROW + b"\nof " + ROW, "byte 16: more bytes than the 1 vectors"),
        (b"2 2\nthe " + ROW + b"\nthe " + ROW, "row 2, byte 17: the word 'the' occurs a second time"),
        (b"2 1\nthe " + ROW[:4] + b"\nof \0\0\xc0\x7f", "byte 13: a value is not a finite number"),
        (b"2 2\nthe " + ROW + b"\n " + ROW, "byte 17: the word is empty"),
        (b"\x80\x04\x95", "a pickle"),
        (b"PK\x03\x04", "a zip archive"),
        (b"the 5\nof 3\n", "a vocabulary"),
        (b"", "an empty file"),
        (b"hello\n", "neither vectors nor a model"),
    ],
)
def test_strict_reading_reports_the_line_or_byte(tmp_path, content, message):
    with pytest.raises(DataError, match=message):
        read_vectors(put(tmp_path, content))


@pytest.mark.parametrize(
    ("content", "words", "skipped"),
    [
        (b"9 2\nthe 1 2\nof 3 4\n", ["the", "of"], 0),
        (b"1 2\nthe 1 2\nof 3 4\n", ["the", "of"], 0),
        (b"3 2\nthe 1 2\nthe 5 6\nof 3 4\n", ["the", "of"], 1),
        (b"4 2\nthe 1 2\nof 3\n\nof 3 4\n", ["the", "of"], 2),
        (b"the 1 2\n 3 4\nof x 4\nof 3 4\n", ["the", "of"], 2),
        (b"3 2\nthe 1 2\nand nan 2\nof 3 4\n", ["the", "of"], 1),
        (b"3 2\nthe " + ROW + b"\nof " + ROW + b"\nand " + ROW[:-1], ["the", "of"], 1),
        (b"2 2\nthe " + ROW + b"\nthe " + ROW + b"\nof " + ROW, ["the", "of"], 1),
    ],
)
def test_lenient_reading_skips_and_counts_bad_rows(tmp_path, content, words, skipped):
    path = put(tmp_path, content)
    with pytest.raises(DataError):
        read_vectors(path)
    found = read_vectors(path, lenient=True)
    assert (found.words, found.skipped) == (words, skipped)
    assert found.matrix.shape == (2, 2)
    for limit in (1, 2):
        assert read_vectors(path, lenient=True, limit=limit).words == words[:limit]


@pytest.mark.parametrize("form", ["small.txt", "large.txt", "npz"])
def test_a_limit_counts_the_rows_that_lenient_reading_keeps(tmp_path, monkeypatch, form):
    words = ["a", "b", "a", *map("w{}".format, range(20)), "a"]
    monkeypatch.setattr(vector_rows, "VALUES_AT_ONCE", 10)
    monkeypatch.setattr(vector_rows, "LARGE_BYTES", 1 if form == "large.txt" else 1 << 26)
    if form == "npz":
        np.savez(tmp_path / "file.npz", words=words, vectors=np.ones((len(words), 2)))
        path = tmp_path / "file.npz"
    else:
        path = put(tmp_path, "".join(f"{word} 0.5 1\n" for word in words).encode())
    found = read_vectors(path, lenient=True, limit=4)
    assert (found.words, found.skipped) == (["a", "b", "w0", "w1"], 1)
    found = read_vectors(path, lenient=True)
    row = ", row " if form == "npz" else ":"
    assert [flaw.partition(": the word")[0] for flaw in found.flaws] == [f"{path}{row}3", f"{path}{row}{len(words)}"]


@pytest.mark.parametrize("format", ["text", "glove", "binary"])
def test_lenient_reading_mends_words_and_says_which(tmp_path, format):
    rows = [b"the", b"caf\xe9", b"new\tyork", b"new_york", b"", b"the", b"x", b"y"]
    if format == "binary":
        content = b"8 2\n" + b"".join(row + b" " + ROW for row in rows)
        places = [f", row {row}, byte {byte}" for row, byte in ((2, 16), (3, 29), (4, 46), (5, 63), (6, 72))]
    else:
        content = b"8 2\n" * (format == "text") + b"".join(row + b" 1 2\n" for row in rows)
        places = [f":{n + (format == 'text')}" for n in range(2, 7)]
    problems = [
        "the word b'caf\\xe9' is not UTF-8: now 'caf\ufffd'",
        r"the word 'new\tyork' contains white space: now 'new_york'",
        "the word 'new_york' occurs a second time: left out",
        "the word is empty: left out",
        "the word 'the' occurs a second time: left out",
    ]
    path = put(tmp_path, content)
    with pytest.raises(DataError, match="`w2vtrain convert --repair` writes a clean copy"):
        read_vectors(path)
    found = read_vectors(path, lenient=True)
    assert found.words == ["the", "caf\ufffd", "new_york", "x", "y"]
    assert (found.skipped, found.mended) == (3, 2)
    assert found.flaws == [f"{path}{place}: {problem}" for place, problem in zip(places, problems, strict=True)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"3 2\nthe 1 2 3\nof 3 4 5\n, 1 2\n", r"file:2: the word 'the 1' .* now 'the_1'; 2 of 3 rows are invalid"),
        ("2 2\nкот 1 2\nпёс 1 3\n".encode("koi8-r"), "2 of 2 rows are invalid, too many to repair: check the header"),
        (b"the 1.5 2.5\nof nan 1\nby inf 2\n", "file:2: a value is not a finite number: left out; 2 of 3 rows"),
    ],
    ids=["dimension", "encoding", "values"],
)
def test_a_file_with_more_wrong_rows_than_right_ones_is_not_repaired(tmp_path, w2vtrain_here, content, message):
    with pytest.raises(DataError, match=message):
        read_vectors(put(tmp_path, content), lenient=True)
    code, _, said = w2vtrain_here(["convert", "file", "--repair", "-o", "clean.txt"], tmp_path)
    assert (code, said.count("\n"), (tmp_path / "clean.txt").exists()) == (65, 1, False), said


def test_a_word_of_an_archive_that_ends_in_a_number_has_taken_up_no_value(tmp_path):
    words = ["New York 1", "New York 2"]
    np.savez(tmp_path / "v.npz", words=np.array(words), vectors=MATRIX[:2])
    assert read_vectors(tmp_path / "v.npz", lenient=True).words == [word.replace(" ", "_") for word in words]


@pytest.mark.parametrize("row", ["a 0x1p-3 0x1p-2", "a 1.0D-01 2.0D-01", "a 0.125"])
def test_repair_is_advised_on_a_condition_if_no_row_before_was_valid(tmp_path, row):
    advice = "`w2vtrain convert --repair` writes a clean copy"
    with pytest.raises(DataError, match=f"file:2: .*; if most of the other rows are valid, {advice}"):
        read_vectors(put(tmp_path, f"2 2\n{row}\nb 3 4\n".encode()))
    with pytest.raises(DataError, match=f"file:3: .*[^,] {advice}"):
        read_vectors(put(tmp_path, f"2 2\nb 3 4\n{row}\n".encode()))


@pytest.mark.parametrize("first", ["new york 1 2\n", ". . . 1 2\n", "1 2 1 2\n", " 1 2\n"])
def test_a_file_of_glove_whose_first_word_has_spaces_or_is_missing_is_recognized(tmp_path, first):
    path = put(tmp_path, (first + "the 3 4\nof 5 6\n").encode())
    with pytest.raises(DataError, match=r"file:1: the word .*--repair"):
        read_vectors(path)
    found = read_vectors(path, lenient=True)
    assert found.words == ["_".join(first.split()[:-2])] * (len(first.split()) > 2) + ["the", "of"]
    assert found.matrix[-2:].tolist() == [[3, 4], [5, 6]]


def test_text_with_several_flaws_is_still_text(tmp_path):
    found = read_vectors(put(tmp_path, b"3 2\nnew york 0.5 1\ncaf\xe9 1 2\nthe 3 4\n\n"), lenient=True)
    assert (found.format, found.words, found.mended) == ("text", ["new_york", "caf\ufffd", "the"], 2)


def test_a_file_of_glove_may_have_spaces_in_all_words(tmp_path):
    found = read_vectors(put(tmp_path, b"new york 1 2\nlos angeles 3 4\n"), lenient=True)
    assert (found.words, found.matrix.tolist()) == (["new_york", "los_angeles"], [[1, 2], [3, 4]])


@pytest.mark.parametrize("content", [b"2 2\nthe 1 2\nof 3 4\n", b"the 1 2\nof 3 4\n"], ids=["text", "glove"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n \t\n\n", b" "], ids=["one", "many", "no-newline"])
def test_blank_lines_at_the_end_are_ignored(tmp_path, content, end, monkeypatch):
    monkeypatch.setattr(text, "BLOCK_BYTES", 4)
    found = read_vectors(put(tmp_path, content + end))
    assert (found.words, found.skipped) == (["the", "of"], 0)
    with pytest.raises(DataError, match=f":{content.count(10) + 1}: the line is empty"):
        read_vectors(put(tmp_path, content.replace(b"2 2\n", b"5 2\n") + b"\n\nand 5.0 6.0\n"))


def test_blank_lines_at_the_end_of_other_formats_are_ignored(tmp_path):
    put(tmp_path, b"2 2\nthe " + ROW + b"\nof " + ROW + b"\n\n\n")
    assert read_vectors(tmp_path / "file").words == ["the", "of"]
    write_vectors(tmp_path / "v.npy", WORDS, MATRIX)
    with (tmp_path / "v.words.txt").open("ab") as beside:
        beside.write(b"\n\n")
    assert read_vectors(tmp_path / "v.npy").words == WORDS


@pytest.mark.parametrize("size", ["small", "large"])
@pytest.mark.parametrize("header", [b"2 2\n", b""], ids=["word2vec", "glove"])
def test_a_last_line_without_newline_may_be_cut_off(tmp_path, caplog, monkeypatch, size, header):
    if size == "large":
        monkeypatch.setattr(vector_rows, "LARGE_BYTES", 1)
    path = put(tmp_path, header + b"the 0.25 1.5\nof 0.5 0.")
    assert read_vectors(path).matrix.tolist() == [[0.25, 1.5], [0.5, 0.0]]
    problem = "file: the last line has no newline: the file may be cut off, and digits be missing"
    assert caplog.messages == [str(tmp_path / problem)]
    assert read_vectors(path, limit=1).words == ["the"]
    put(tmp_path, header + b"the 0.25 1.5\nof 0.5 0.\n\n")
    assert read_vectors(path).words == ["the", "of"]
    assert len(caplog.messages) == 1


def test_repair_reports_that_an_array_has_more_or_fewer_vectors_than_words(tmp_path):
    write_vectors(tmp_path / "v.npy", WORDS, MATRIX)
    for words, known in ((WORDS[:2], "2"), ([*WORDS, "more", "yet"], f"more than {len(WORDS)}")):
        (tmp_path / "v.words.txt").write_text("\n".join(words), "utf-8")
        repaired = read_vectors(tmp_path / "v.npy", lenient=True)
        assert repaired.words == words[: len(WORDS)]
        assert repaired.flaws == [
            f"{tmp_path / 'v.words.txt'}: {known} words, but {tmp_path / 'v.npy'} has {len(WORDS)} vectors"
        ]


def test_a_byte_order_mark_before_words_is_not_part_of_the_first(tmp_path):
    write_vectors(tmp_path / "v.npy", ["the", "of"], MATRIX[:2])
    put(tmp_path, "\ufeffthe\nof\n".encode(), "v.words.txt")
    assert read_vectors(tmp_path / "v.npy").words == ["the", "of"]
    for name in ("v.txt", "v.glove", "v.npy"):
        write_vectors(tmp_path / name, ["\ufeffthe", "of"], MATRIX[:2], force=True)
        assert read_vectors(tmp_path / name).words == ["\ufeffthe", "of"]


def test_the_format_of_vectors_with_a_large_dimension_is_detected(tmp_path):
    matrix = np.random.default_rng(0).standard_normal((2, 30_000)).astype("f4")
    for format, kind in (("text", "text"), ("binary", "binary"), ("glove", "text")):
        write_vectors(tmp_path / format, ["a", "b"], matrix, format)
        assert sniff(tmp_path / format).kind == kind
        assert same_bits(read_vectors(tmp_path / format).matrix, matrix)


def test_text_is_converted_in_large_blocks(tmp_path, monkeypatch):
    """Calling repr() and float() for each number would take ten times as long."""
    dumps, numbers, sizes = orjson.dumps, word2vec.numbers, []
    matrix = np.random.default_rng(0).standard_normal((10_000, 200)).astype("f4")

    def dumped(block, option):
        sizes.append(block.size)
        return dumps(block, option=option)

    def parsed(text):
        values = numbers(text)
        sizes.append(len(values))
        return values

    write_to = {"dumps": dumped, "OPT_SERIALIZE_NUMPY": orjson.OPT_SERIALIZE_NUMPY}
    monkeypatch.setattr(text, "orjson", SimpleNamespace(**write_to))
    monkeypatch.setattr(text, "numbers", parsed)
    write_vectors(tmp_path / "v.txt", [f"w{i}" for i in range(10_000)], matrix)
    assert sum(sizes) == matrix.size
    assert same_bits(read_vectors(tmp_path / "v.txt").matrix, matrix)
    assert sum(sizes) >= 2 * matrix.size
    assert len(sizes) < 150


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("rows", [6, 50])
def test_big_endian_values_are_refused(tmp_path, whole, rows):
    matrix = np.random.default_rng(1).normal(size=(rows, 20))
    matrix = (np.rint(10 * matrix) if whole else matrix).astype(">f4")
    lines = b"".join(b"w%d " % i + row.tobytes() + b"\n" for i, row in enumerate(matrix))
    with pytest.raises(DataError, match="file: the values are big-endian: write them little-endian"):
        read_vectors(put(tmp_path, b"%d %d\n" % matrix.shape + lines))


def test_damaged_arrays_of_an_archive_are_named(tmp_path):
    np.savez(tmp_path / "a.npz", words=np.array(["\ud800", "b"]), vectors=np.ones((2, 2), np.float32))
    with pytest.raises(DataError, match="cannot be read by NumPy"):
        read_vectors(tmp_path / "a.npz")
    np.savez(tmp_path / "b.npz", vectors=np.ones((2, 2), np.float32))
    with zipfile.ZipFile(tmp_path / "b.npz", "a") as archive:
        archive.writestr("words", b"a")
    with pytest.raises(DataError, match="the archive has no array words"):
        read_vectors(tmp_path / "b.npz")
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f4", "fortran_order": False, "shape": (10**12, 300)})
    np.savez(tmp_path / "c.npz", words=np.array(["a"]))
    with zipfile.ZipFile(tmp_path / "c.npz", "a") as archive:
        archive.writestr("vectors.npy", header.getvalue())
    with pytest.raises(DataError, match="has not the size that its header promises"):
        read_vectors(tmp_path / "c.npz")


@pytest.mark.parametrize("name", ["v.npy", "v.npz"])
def test_bytes_after_an_array_or_an_archive_are_refused(tmp_path, name):
    path = tmp_path / name
    write_vectors(path, WORDS, MATRIX)
    with path.open("ab") as file:
        file.write(b"more")
    with pytest.raises(DataError, match=r"4 bytes after the array|bytes follow the end of the archive"):
        read_vectors(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0.1 0.2\n0.3 0.4\n", "a matrix of numbers without words"),
        ("word 0 1 2\nking 1.5 2.5 3.5\n", "names columns"),
        ("<!DOCTYPE html>\n<html>\n", "a web page"),
    ],
)
def test_a_byte_order_mark_does_not_hide_what_a_file_is(tmp_path, text, message):
    path = tmp_path / "v.txt"
    path.write_text(text, "utf-8-sig")
    with pytest.raises(DataError, match=message):
        read_vectors(path)


@pytest.mark.parametrize(
    ("text", "kind"),
    [("2 806\n3 805\n1 789\n", "vocabulary"), ("0 14\n1 3\n", "vocabulary"), ("2 1\na 1\nb 3\n", "text")],
)
def test_a_vocabulary_whose_first_word_is_a_number_is_recognized(tmp_path, text, kind):
    (tmp_path / "x").write_text(text)
    assert sniff(tmp_path / "x").kind == kind
