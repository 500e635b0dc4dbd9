"""The command `convert`: what it reads, changes, writes and refuses."""

import gzip
import os
import sys

import numpy as np
import pytest

from w2vtrain import KeyedVectors, load_model, read_vectors, save_model, write_vectors
from w2vtrain.embeddings.model import Model
from w2vtrain.formats.transforms import exported

WORDS = ["the", "of", "zyx", "été", "a", "b"]


@pytest.fixture
def folder(tmp_path, rng):
    """Return a folder with vectors in every form, a model, and a model whose output vectors belong to no words."""
    inputs, outputs = (rng.normal(size=(6, 4)).astype(np.float32) + 1 for _ in range(2))
    write_vectors(tmp_path / "v.txt", WORDS, inputs)
    write_vectors(tmp_path / "v.bin", WORDS, inputs)
    text = (tmp_path / "v.txt").read_text("utf-8")
    (tmp_path / "glove.txt").write_text(text.partition("\n")[2], "utf-8")
    (tmp_path / "v.txt.gz").write_bytes(gzip.compress(text.encode()))
    counts = np.arange(6, 0, -1)
    save_model(tmp_path / "model", Model(WORDS, counts, inputs, outputs, record={"vectors": "blend"}))
    save_model(tmp_path / "tree", Model(WORDS, counts, inputs, outputs[1:]))
    KeyedVectors.of(WORDS, inputs).save(tmp_path / "keyed")
    (tmp_path / "vocab.txt").write_text("the 3\nof 2\n")
    (tmp_path / "nan.txt").write_text("a 1 nan\nb 2 3\n")
    return tmp_path, inputs, outputs


@pytest.fixture
def convert(folder, w2vtrain_here):
    """Return a function that converts a file and returns the words, the vectors and what was printed."""

    def run(*words, output="new.bin"):
        code, out, said = w2vtrain_here(["convert", *words, "-o", output, "--force"], folder[0])
        assert (code, out) == (0, ""), said
        found = read_vectors(folder[0] / output)
        return found.words, found.matrix, said

    return run


@pytest.mark.parametrize("name", ["v.txt", "v.bin", "glove.txt", "v.txt.gz", "model", "tree", "keyed"])
@pytest.mark.parametrize("output", ["new.txt", "new.bin"])
def test_any_kind_of_vectors_is_converted_without_loss(folder, convert, name, output):
    more = ["--export", "in"] if name == "model" else []
    words, matrix, said = convert(name, *more, output=output)
    assert words == WORDS
    np.testing.assert_array_equal(matrix, folder[1])
    assert said == f"{output}: 6 vectors of 4 dimensions{', input vectors' * (name in ('model', 'tree'))}\n"
    assert (folder[0] / output).read_bytes() == (folder[0] / f"v{output[3:]}").read_bytes()


def test_output_vectors_and_sums_come_from_a_model(folder, convert):
    _, inputs, outputs = folder
    _, matrix, said = convert("model", "--export", "out")
    np.testing.assert_array_equal(matrix, outputs)
    assert "dimensions, output vectors" in said
    words, matrix, said = convert("model", "--export", "in+out", "--restrict-vocab", "3")
    assert words == WORDS[:3]
    np.testing.assert_array_equal(matrix, (inputs + outputs)[:3])
    assert said == "new.bin: 3 vectors of 4 dimensions, sums of input and output vectors\n"


def test_a_model_is_converted_to_the_vectors_that_fit_writes(folder, convert):
    expected = load_model(folder[0] / "model").vectors()[:]
    for more in ([], ["--export", "blend"]):
        _, matrix, said = convert("model", *more)
        np.testing.assert_array_equal(matrix, expected)
        assert said.endswith("dimensions, blends of input and output vectors\n")


@pytest.mark.parametrize(("record", "share"), [({"blend_share": 0.1}, 0.1), ({}, 0.4), ({"blend_share": "0.1"}, 0.4)])
def test_blends_have_the_share_that_the_record_names(folder, convert, record, share):
    path, inputs, outputs = folder
    save_model(path / "m", Model(WORDS, np.arange(6, 0, -1), inputs, outputs, record=record))
    _, matrix, _ = convert("m", "--export", "blend")
    np.testing.assert_array_equal(matrix, exported(inputs, outputs, "blend", share, "")[:])


def test_all_changes_are_made_in_order(folder, convert):
    _, inputs, outputs = folder
    steps = ["--normalize", "--remove-top", "1", "--center", "--restrict-vocab", "5", "--export", "in+out"]
    words, matrix, said = convert("model", *steps)
    rows = (inputs + outputs)[:5].astype(float)
    rows -= rows.mean(axis=0)
    top = np.linalg.svd(rows)[2][:1]
    rows -= rows @ top.T @ top
    assert words == WORDS[:5]
    np.testing.assert_allclose(matrix, rows / np.linalg.norm(rows, axis=1, keepdims=True), atol=1e-5)
    assert said == (
        "new.bin: 5 vectors of 4 dimensions, sums of input and output vectors, centered, without 1 principal component,"
        " of unit length\n"
    )


def test_each_change_can_be_made_alone(folder, convert):
    inputs = folder[1].astype(float)
    _, matrix, said = convert("v.txt", "--center")
    np.testing.assert_allclose(matrix, inputs - inputs.mean(axis=0), atol=1e-6)
    assert said.endswith("dimensions, centered\n")
    _, matrix, _ = convert("v.txt", "--normalize")
    np.testing.assert_allclose(matrix, inputs / np.linalg.norm(inputs, axis=1, keepdims=True), atol=1e-6)
    _, matrix, said = convert("v.txt", "--remove-top", "3")
    assert np.linalg.matrix_rank(matrix, tol=1e-3) == 1
    assert said.endswith("dimensions, centered, without 3 principal components\n")


def test_vectors_pass_through_standard_streams(folder, w2vtrain_here):
    path = folder[0]
    code, out, said = w2vtrain_here(["convert", "-", "-o", "-"], path, (path / "v.bin").read_bytes())
    assert (code, said) == (0, "-: 6 vectors of 4 dimensions\n")
    assert out == (path / "v.txt").read_text("utf-8")


@pytest.mark.parametrize(
    ("code", "words", "message"),
    [
        (66, ["nowhere.txt", "-o", "new.txt"], "nowhere.txt cannot be opened"),
        (65, ["vocab.txt", "-o", "new.txt"], "vocab.txt is a vocabulary"),
        (65, ["nan.txt", "-o", "new.txt"], "nan.txt:1"),
        (65, ["v.txt", "-o", "new.txt", "--export", "out"], "v.txt: --export out needs a model"),
        (65, ["tree", "-o", "new.txt", "--export", "in+out"], "6 words of 4 values and 5 output vectors of 4 values"),
        (2, ["v.txt", "-o", "new.txt", "--export", "both"], "'both' is not one of"),
        (2, ["v.txt", "-o", "new.txt", "--remove-top", "4"], "--remove-top 4 would leave nothing of vectors of 4"),
        (2, ["v.txt", "-o", "new.txt", "--remove-top", "-1"], "--remove-top"),
        (2, ["v.txt", "-o", "new.txt", "--remove-top", "1", "--restrict-vocab", "3"], "at least 4 vectors"),
        (65, ["v.txt", "-o", "new.safetensors"], "v.txt has only these: write vectors, such as new.txt"),
        (65, ["v.txt", "-o", "new.txt", "--export", "documents"], "--export documents needs a model"),
        (65, ["tree", "-o", "new.txt", "--export", "documents"], "tree has no vectors of documents"),
        (2, ["v.txt"], "Missing option '-o'"),
        (2, ["v.txt", "-o", "v.txt", "--force"], "is both input and output"),
        (2, ["v.txt", "-o", "./v.txt"], "is both input and output"),
        (73, ["v.txt", "-o", "v.bin"], "v.bin exists: use --force"),
        (73, ["nowhere.txt", "-o", "no/new.txt"], "there is no folder"),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(folder, w2vtrain_here, code, words, message):
    path = folder[0]
    before = {file: file.read_bytes() for file in path.iterdir()}
    found, out, said = w2vtrain_here(["convert", *words], path)
    assert (found, out) == (code, ""), said
    assert said.startswith("w2vtrain: error: ")
    assert message in said
    assert said.count("\n") == 1
    assert {file: file.read_bytes() for file in path.iterdir()} == before


@pytest.mark.parametrize(
    "words",
    [
        "convert v.txt -o old.bin",
        "convert model -o old.safetensors",
        "diff v.txt v.bin -o old.txt",
        "fit text -o new.txt --min-count 1 --vector-size 2 --epochs 1 --save-output-vectors old.txt",
        "fit text -o new.txt --min-count 1 --vector-size 2 --epochs 1 -q --save-model old.model",
    ],
)
def test_the_record_of_a_file_that_is_overwritten_is_removed(folder, w2vtrain_here, words):
    (folder[0] / "text").write_text("a b c d\n" * 9)
    old = words.split()[-1]
    for is_record, text in ((False, '{"settings": {}}'), (True, '{"settings": {}, "record": {}}')):
        record = folder[0] / f"{old}.json"
        record.write_text(text)
        code, _, said = w2vtrain_here([*words.split(), "--force"], folder[0])
        assert (code, record.exists()) == (0, not is_record), said
        assert (f"{old}.json: removed" in said) == (is_record and "-q" not in words)
        assert (folder[0] / "new.txt.json").exists() == words.startswith("fit")


def test_too_little_memory_is_reported_with_the_option_that_helps(folder, w2vtrain_here, monkeypatch):
    def fails(*about):
        raise MemoryError

    monkeypatch.setattr("w2vtrain.formats.transforms.transform", fails)
    code, _, said = w2vtrain_here(["convert", "v.txt", "-o", "new.txt"], folder[0])
    assert (code, "--restrict-vocab N" in said) == (71, True), said


def test_repair_writes_a_clean_copy_and_reports_what_it_changed(folder, convert, w2vtrain_here):
    path = folder[0]
    (path / "bad.glove").write_bytes(b"new york 1 2\nthe 3 4\n" + b"the 5 6\n" * 20 + b"of inf 1\ncaf\xe9 7 8\n\n")
    code, _, said = w2vtrain_here(["convert", "bad.glove", "-o", "new.bin"], path)
    assert (code, said.count("\n")) == (65, 1)
    assert "bad.glove:1: the word 'new york' contains white space" in said
    assert "`w2vtrain convert --repair` writes a clean copy" in said
    words, matrix, said = convert("bad.glove", "--repair")
    assert words == ["new_york", "the", "caf\ufffd"]
    assert matrix.tolist() == [[1, 2], [3, 4], [7, 8]]
    first, *repeated, last = said.splitlines()
    assert first == "bad.glove:1: the word 'new york' contains white space: now 'new_york'"
    assert repeated == [f"bad.glove:{line}: the word 'the' occurs a second time: left out" for line in range(3, 12)]
    assert last == "new.bin: 3 vectors of 2 dimensions, 21 rows left out, 2 words mended"


def test_repair_reports_a_file_that_was_cut_off(folder, convert):
    text = (folder[0] / "v.txt").read_text("utf-8").splitlines(keepends=True)
    (folder[0] / "cut.txt").write_text("".join(text[:4]), "utf-8")
    words, _, said = convert("cut.txt", "--repair")
    assert words == WORDS[:3]
    assert said == "cut.txt: the header promises 6 vectors, the file has 3\nnew.bin: 3 vectors of 4 dimensions\n"


@pytest.mark.parametrize("kind", ["keyed", "model"])
def test_repair_joins_the_words_of_models_which_may_have_spaces(folder, convert, w2vtrain_here, kind):
    words, matrix = ["the", "new york", "new_york", "b"], folder[1][:4]
    if kind == "model":
        save_model(folder[0] / "spaces", Model(words, np.arange(4, 0, -1), matrix, matrix))
    else:
        matrix[3] = np.nan
        KeyedVectors.of(words, matrix).save(folder[0] / "spaces")
        words = words[:3]
    code, _, said = w2vtrain_here(["convert", "spaces", "-o", "new.txt"], folder[0])
    assert (code, said.count("\n")) == (65, 1)
    assert said.startswith("w2vtrain: error: spaces: ")
    assert said.endswith("; `w2vtrain convert --repair` writes a clean copy\n")
    found, rows, said = convert("spaces", "--repair")
    assert found == ["the", "new_york", *words[3:]]
    assert np.array_equal(rows, matrix[[0, 1, 3][: len(found)]])
    assert said.splitlines()[:2] == [
        "spaces, row 2: the word 'new york' contains white space: now 'new_york'",
        "spaces, row 3: the word 'new_york' occurs a second time: left out",
    ]


def test_repair_reads_standard_input_and_leaves_valid_files_as_they_are(folder, convert, w2vtrain_here):
    assert convert("v.txt", "--repair")[2] == convert("v.txt")[2]
    given = (folder[0] / "nan.txt").read_bytes()
    code, _, said = w2vtrain_here(["convert", "-", "--repair", "-o", "repaired.txt"], folder[0], given)
    assert (code, said.splitlines()[0]) == (0, "standard input:1: a value is not a finite number: left out")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no /dev/fd")
def test_a_pipe_that_a_shell_has_opened_is_read_as_a_file(folder, w2vtrain_here):
    for name, code in (("v.txt", 0), ("nan.txt", 65)):
        reading, writing = os.pipe()
        os.write(writing, (folder[0] / name).read_bytes())  # less than a pipe holds
        os.close(writing)
        pipe = f"/dev/fd/{reading}"
        result = w2vtrain_here(["convert", pipe, "-o", f"{name}.copy.txt"], folder[0])
        os.close(reading)
        assert result[0] == code
        assert code == 0 or f"{pipe}:1: a value is not a finite number" in result[2]
    assert (folder[0] / "v.txt.copy.txt").read_bytes() == (folder[0] / "v.txt").read_bytes()


def test_a_text_that_is_named_twice_is_reported(tmp_path, w2vtrain_here):
    (tmp_path / "text").write_text("a b\n" * 9)
    (tmp_path / "other").write_text("a c\n")
    code, out, said = w2vtrain_here(["vocab", "text", "other", "./text", "-o", "-", "--min-count", "1"], tmp_path)
    assert (code, out.split()[:2]) == (0, ["a", "19"])
    assert said.startswith("w2vtrain: warning: text: read 2 times\n")
    _, _, said = w2vtrain_here(["vocab", ".", "text", "*e*t", "-o", "-"], tmp_path)
    assert said.startswith("w2vtrain: warning: text: read 3 times\n")
    _, _, said = w2vtrain_here(["vocab", ".", ".", "-o", "-"], tmp_path)
    assert said.startswith("w2vtrain: warning: other and 1 more: read more than once\n")
    assert w2vtrain_here(["vocab", "text", "./text", "-o", "-", "--min-count", "1", "-q"], tmp_path)[2] == ""
