"""The command line with subwords: fit, convert, queries, evaluations, and what is refused."""

import numpy as np
import pytest

import w2vtrain

SMALL = ["--subwords", "--bucket", "2000", "--vector-size", "8", "--epochs", "2", "--min-count", "1", "--threads", "1"]


@pytest.fixture
def folder(tmp_path, w2vtrain_here):
    (tmp_path / "text").write_text("water waters fall falls\nwater falls slowly\n" * 60)
    words = ["fit", "text", "-o", "model.bin", "--format", "fasttext", "--save-model", "m.safetensors", *SMALL]
    code, _, said = w2vtrain_here([*words, "--sample", "0"], tmp_path)
    assert code == 0, said
    assert "of 2,000 buckets have n-grams of 3 to 6 characters" in said
    return tmp_path


@pytest.mark.parametrize("name", ["model.bin", "m.safetensors"])
def test_queries_answer_for_unseen_words(folder, w2vtrain_here, name):
    code, out, _ = w2vtrain_here(["neighbors", name, "waterfall", "--topn", "2"], folder)
    assert code == 0
    assert out.startswith("waterfall\t")
    assert len(out.split("\t")[1].split()) == 4
    code, out, _ = w2vtrain_here(["vector", name, "waterfall"], folder)
    vector = w2vtrain.read_vectors(folder / name).ngrams.vector("waterfall")
    np.testing.assert_allclose([float(value) for value in out.split()[1:]], vector, atol=1e-6)
    code, out, _ = w2vtrain_here(["vector", name, "--sentences", "water", "fallen"], folder)
    assert out.startswith("water fallen ")
    code, out, _ = w2vtrain_here(["neighbors", name, "waterfall", "--ngrams", "--topn", "3"], folder)
    assert len(out.split("\t")[1].split()) == 6
    code, _, said = w2vtrain_here(["neighbors", name, "ωψξ"], folder)
    assert code == 65
    assert "'ωψξ' is not in the vocabulary" in said


def test_evaluations_count_unseen_words_on_request(folder, w2vtrain_here):
    (folder / "pairs").write_text("water\tfall\t1\nwater\twaterfall\t5\nwaters\tfallen\t9\nwater\tfalls\t2\n")
    (folder / "questions").write_text(": one\nwater waters fall falls\nwater waters fallen falls\n")
    for command, file, covered in (("similarity", "pairs", "4 of 4"), ("analogies", "questions", "coverage 100.0%")):
        _, plain, _ = w2vtrain_here(["eval", command, "model.bin", file], folder)
        assert covered not in plain
        code, out, said = w2vtrain_here(["eval", command, "model.bin", file, "--unseen"], folder)
        assert code == 0
        assert covered in out
        assert "not in the vocabulary: their n-grams give vectors" in said


def test_conversion_goes_both_ways_and_to_vectors(folder, w2vtrain_here):
    assert w2vtrain_here(["convert", "model.bin", "-o", "again.safetensors"], folder)[0] == 0
    assert w2vtrain_here(["convert", "again.safetensors", "-o", "again.bin", "--format", "fasttext"], folder)[0] == 0
    assert (folder / "again.bin").read_bytes() == (folder / "model.bin").read_bytes()
    assert w2vtrain_here(["convert", "model.bin", "-o", "vectors.txt"], folder)[0] == 0
    text, model = w2vtrain.read_vectors(folder / "vectors.txt"), w2vtrain.load_model(folder / "m.safetensors")
    np.testing.assert_allclose(text.matrix, model.input, atol=1e-6)
    assert "model of fastText" in w2vtrain_here(["info", "model.bin"], folder)[1]


def test_a_run_starts_from_a_file_of_fasttext(folder, w2vtrain_here):
    words = ["fit", "text", "--init-from", "model.bin", "-o", "more.txt", "--epochs", "1", "--grow-vocabulary"]
    code, _, said = w2vtrain_here(words, folder)
    assert code == 0, said
    assert "5 words known, 0 new; took input, output" in said


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["fit", "text", "-o", "x.txt", "--minn", "2"], 78, "minn: has no effect without --subwords"),
        (["fit", "text", "-o", "x.txt", "--subwords", "--minn", "7"], 78, "minn: 7 is more than maxn, 6"),
        (["fit", "text", "-o", "x.txt", "--subwords", "--export", "blend"], 78, "only input vectors are composed"),
        (["convert", "model.bin", "-o", "x.bin", "--format", "fasttext", "--center"], 2, "is converted unchanged"),
        (["export", "run", "-o", "x.bin", "--format", "fasttext"], 2, "fasttext holds a model, not vectors alone"),
        (
            ["eval", "similarity", "plain.txt", "pairs", "--unseen"],
            65,
            "words that are not in the vocabulary need n-grams",
        ),
        (["convert", "plain.txt", "-o", "x.bin", "--format", "fasttext"], 65, "plain.txt"),
    ],
    ids=["without subwords", "no lengths", "blends", "changed models", "vectors alone", "no n-grams", "no model"],
)
def test_what_cannot_work_is_refused_in_one_line(folder, w2vtrain_here, words, code, message):
    (folder / "plain.txt").write_text("2 2\na 1 2\nb 2 1\n")
    (folder / "pairs").write_text("a\tb\t1\n")
    found, _, said = w2vtrain_here(words, folder)
    assert found == code, said
    assert message in said
    assert len(said.strip().splitlines()) == 1
