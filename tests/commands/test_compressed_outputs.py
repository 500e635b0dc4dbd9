"""Outputs are compressed by the suffix of their name; suffixes of formats that are not written are refused."""

import bz2
import gzip
import lzma

import numpy as np
import pytest
import zstandard
from reference import first_lines

from w2vtrain.errors import OutputError, UsageError, WriteError
from w2vtrain.formats.vectors import format_of, read_vectors, write_vectors, write_word2vec
from w2vtrain.system.compression import COMPRESSORS, OTHER_SUFFIXES, packed_write
from w2vtrain.text.vocabulary import Vocabulary

UNPACK = {
    ".gz": gzip.decompress,
    ".bz2": bz2.decompress,
    ".xz": lzma.decompress,
    ".zst": lambda data: zstandard.ZstdDecompressor().decompressobj().decompress(data),
}
WORDS, MATRIX = ["a", "b", "c"], np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.mark.parametrize("suffix", list(COMPRESSORS))
@pytest.mark.parametrize("inner", [".txt", ".bin", ".vec", ""])
def test_vectors_are_compressed_and_read_back(tmp_path, inner, suffix):
    plain, packed = tmp_path / f"v{inner or '.txt'}", tmp_path / f"w{inner}{suffix}"
    write_vectors(plain, WORDS, MATRIX)
    write_vectors(packed, WORDS, MATRIX)
    assert UNPACK[suffix](packed.read_bytes()) == plain.read_bytes()
    found = read_vectors(packed)
    assert found.words == WORDS
    np.testing.assert_array_equal(found.matrix, MATRIX)
    again = packed.read_bytes()
    write_vectors(packed, WORDS, MATRIX, force=True)
    assert packed.read_bytes() == again, "the same content gives the same bytes"


def test_capital_letters_compress_and_a_format_may_be_named(tmp_path):
    write_vectors(tmp_path / "V.TXT.GZ", WORDS, MATRIX)
    assert gzip.decompress((tmp_path / "V.TXT.GZ").read_bytes()).startswith(b"3 4\n")
    write_vectors(tmp_path / "v.any.xz", WORDS, MATRIX, format="binary")
    assert lzma.decompress((tmp_path / "v.any.xz").read_bytes()).startswith(b"3 4\na ")


@pytest.mark.parametrize("name", ["v.onnx", "v.txt.zip", "v.rar", "v.h5", "v.bin.lz4", "v.pkl", "v.any", "v", "v.x.gz"])
def test_a_suffix_that_is_not_honored_is_refused(tmp_path, name):
    with pytest.raises(UsageError, match="unknown suffix"):
        format_of(name)
    if f".{name.rpartition('.')[2]}" in OTHER_SUFFIXES:
        with pytest.raises(UsageError, match=r"not written here; compressed ones end in \.gz, \.bz2, \.xz, \.zst"):
            format_of(name, "text")
    else:
        assert format_of(name, "text") == "text"


def test_a_folder_is_not_named_by_its_suffix(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=r"^\.: is a folder: name a file$"):
        format_of(".")


def test_an_error_leaves_no_file_and_an_existing_file_is_kept(tmp_path):
    path = tmp_path / "x.gz"
    with pytest.raises(TypeError), packed_write(path) as file:
        file.writelines([b"abc" * 10_000, None])
    assert list(tmp_path.iterdir()) == []
    path.write_bytes(b"old")
    with pytest.raises(OutputError, match="force=True"), packed_write(path) as file:
        file.write(b"new")
    assert path.read_bytes() == b"old"


def test_a_full_disk_is_reported_for_compressed_outputs(tmp_path):
    with pytest.raises((WriteError, OutputError)), packed_write("/dev/full", True) as file:
        file.write(b"x" * 5_000_000)
    (tmp_path / "full.gz").symlink_to("/dev/full")
    full, noise = tmp_path / "full.gz", np.random.default_rng(1).bytes(5_000_000)
    with (
        pytest.raises(WriteError, match=r"full\.gz cannot be written: No space left"),
        packed_write(full, True) as file,
    ):
        file.write(noise)


def test_a_member_is_appended_to_a_compressed_file_of_keys(tmp_path):
    path = tmp_path / "k.txt.zst"
    write_word2vec(path, WORDS[:2], MATRIX[:2], False, "3 4\n", False)
    write_word2vec(path, WORDS[2:], MATRIX[2:], False, "", True)
    assert read_vectors(path).words == WORDS


def test_all_commands_compress_and_read_what_they_wrote(tmp_path, w2vtrain_here):
    text = first_lines(200, tmp_path / "text.txt")

    def run(*words, code=0):
        found, out, err = w2vtrain_here(words, tmp_path)
        assert found == code, err
        return out, err

    run("vocab", text, "-o", "words.txt.xz", "-q")
    others = ["--save-vocab", "kept.gz", "--read-vocab", "words.txt.xz", "--save-output-vectors", "o.txt.bz2"]
    run("fit", text, "-o", "v.bin.zst", *others, "--epochs", 1, "--vector-size", 5, "--threads", 1, "-q")
    assert Vocabulary.load(tmp_path / "kept.gz").words == Vocabulary.load(tmp_path / "words.txt.xz").words
    run("convert", "v.bin.zst", "-o", "w.txt.gz")
    run("convert", "w.txt.gz", "-o", "again.bin")
    assert UNPACK[".zst"]((tmp_path / "v.bin.zst").read_bytes()) == (tmp_path / "again.bin").read_bytes()
    for name, what in (("v.bin.zst", "binary vectors"), ("o.txt.bz2", "text vectors"), ("kept.gz", "vocabulary")):
        assert what in run("info", name)[0]
    assert "exists: use --force" in run("vocab", text, "-o", "words.txt.xz", code=73)[1]
    assert (tmp_path / "v.bin.zst.json").read_text().startswith("{")


@pytest.mark.parametrize(
    "words",
    [
        ["fit", "text.txt", "-o", "v.h5"],
        ["fit", "text.txt", "-o", "v.zip", "--format", "text"],
        ["fit", "text.txt", "-o", "v.txt", "--save-vocab", "v.parquet"],
        ["fit", "text.txt", "-o", "v.txt", "--save-model", "m.safetensors.gz"],
        ["fit", "text.txt", "-o", "v.txt", "--save-model", "m.h5"],
        ["fit", "text.txt", "-o", "v.txt", "--log-json", "log.jsonl.zst"],
        ["vocab", "text.txt", "-o", "words.npz"],
        ["convert", "text.txt", "-o", "v.h5"],
    ],
    ids=lambda words: " ".join(words),
)
def test_a_wrong_suffix_ends_a_command_before_it_reads_anything(words, tmp_path, w2vtrain_here):
    (tmp_path / "text.txt").write_text("a b c d e f g\n")
    code, out, err = w2vtrain_here(words, tmp_path)
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert [entry.name for entry in tmp_path.iterdir()] == ["text.txt"]
