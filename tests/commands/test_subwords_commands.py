"""The command line with subwords: fit, convert, queries, evaluations, and what is refused."""

import json

import numpy as np
import pytest

import w2vtrain

UNSEEN = {
    "similarity": (
        "2 words are not in the vocabulary: their n-grams give vectors; 2 of the questions or pairs that are answered",
        {"unseen_words": 2, "answered_with_unseen_words": 2, "restrict_vocab": None, "answered": 4},
    ),
    "analogies": (
        "1 words are not in the vocabulary: their n-grams give vectors; 1 of the questions or pairs that are answered",
        {"unseen_words": 1, "answered_with_unseen_words": 1, "restrict_vocab": 30_000},
    ),
}
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
    keyed = w2vtrain.KeyedVectors.load(folder / name)
    code, out, _ = w2vtrain_here(["vector", name, "--sentences", "water", "fallen"], folder)
    assert w2vtrain_here(["vector", name, "--sentences", "water fallen"], folder)[1] == out
    np.testing.assert_allclose(np.array(out.split(), float), keyed.get_sentence_vector("water fallen"), atol=1e-6)
    code, out, _ = w2vtrain_here(["similarity", name, "waterfall", "falling"], folder)
    assert (code, out) == (0, f"waterfall falling\t{keyed.similarity('waterfall', 'falling'):.3f}\n")
    code, out, _ = w2vtrain_here(["analogy", name, "waterfall", "water", "falling", "-n", "1"], folder)
    expected = keyed.most_similar(["waterfall", "falling"], ["water"], topn=1)[0]
    assert (code, out) == (0, f"waterfall water falling\t{expected[0]} {expected[1]:.3f}\n")
    code, _, said = w2vtrain_here(["neighbors", name, "ωψξ"], folder)
    assert code == 65
    assert "'ωψξ' is not in the vocabulary" in said


def test_a_line_of_text_gives_a_line_with_the_vector_of_a_sentence(folder, w2vtrain_here):
    """As from fastText, which prints zeros where no word has a vector."""

    def lines(*options):
        text = "water  fallen\n\nωψξ\nωψξ water\n"
        return w2vtrain_here(["vector", "model.bin", "--sentences", *options], folder, text)

    keyed = w2vtrain.KeyedVectors.load(folder / "model.bin")
    expected = [keyed.get_sentence_vector("water fallen"), [], [], keyed.get_vector("water", norm=True)]
    code, out, said = lines()
    assert (code, out.count("\n")) == (0, 4)
    for line, row in zip(out.splitlines(), expected, strict=True):
        np.testing.assert_allclose(np.array(line.split(), float), row, atol=1e-6)
    assert [line.split(": ", 2)[2] for line in said.splitlines()] == [
        "line 2: expected one or more words, got 0",
        "line 3: no word of the sentence has a vector: 'ωψξ'",
    ]
    facts = [json.loads(line) for line in lines("--json")[1].splitlines()]
    assert [fact["query"] for fact in facts] == [["water", "fallen"], [], ["ωψξ"], ["ωψξ", "water"]]
    assert [fact["vector"] is None for fact in facts] == [False, True, True, False]
    code, out, said = lines("--strict")
    assert (code, len(out.splitlines())) == (65, 1)


def test_ngrams_of_a_word_are_printed_with_their_vectors(folder, w2vtrain_here):
    keyed = w2vtrain.KeyedVectors.load(folder / "model.bin")
    code, out, _ = w2vtrain_here(["vector", "model.bin", "--ngrams", "water", "fallen"], folder)
    rows = [line.split(" ") for line in out.splitlines()]
    own = 1 + len(keyed.ngrams.ngrams.texts("water"))
    assert code == 0
    assert [row[0] for row in rows] == [
        "water",
        *keyed.ngrams.ngrams.texts("water"),
        *keyed.ngrams.ngrams.texts("fallen"),
    ]
    values = np.array([row[1:] for row in rows], float)
    np.testing.assert_allclose(values[:own].mean(axis=0), keyed["water"], atol=1e-6)
    np.testing.assert_allclose(values[own:].mean(axis=0), keyed["fallen"], atol=1e-6)
    fact = json.loads(w2vtrain_here(["vector", "model.bin", "--ngrams", "fallen", "--json"], folder)[1])
    assert fact["ngrams"] == [[row[0], [float(value) for value in row[1:]]] for row in rows[own:]]


def test_evaluations_count_unseen_words_on_request(folder, w2vtrain_here):
    (folder / "pairs").write_text("water\tfall\t1\nwater\twaterfall\t5\nwaters\tfallen\t9\nwater\tfalls\t2\n")
    (folder / "questions").write_text(": one\nwater waters fall falls\nwater waters fallen falls\n")
    for command, file, covered in (("similarity", "pairs", "4 of 4"), ("analogies", "questions", "coverage 100.0%")):
        _, plain, _ = w2vtrain_here(["eval", command, "model.bin", file], folder)
        assert covered not in plain
        code, out, said = w2vtrain_here(["eval", command, "model.bin", file, "--unseen"], folder)
        assert code == 0
        assert covered in out
        said_too, facts = UNSEEN[command]
        assert said_too in said
        report = json.loads(w2vtrain_here(["eval", command, "model.bin", file, "--unseen", "--json"], folder)[1])
        assert {name: report[name] for name in facts} == facts


def test_conversion_goes_both_ways_and_to_vectors(folder, w2vtrain_here):
    assert w2vtrain_here(["convert", "model.bin", "-o", "again.safetensors"], folder)[0] == 0
    assert w2vtrain_here(["convert", "again.safetensors", "-o", "again.bin", "--format", "fasttext"], folder)[0] == 0
    assert (folder / "again.bin").read_bytes() == (folder / "model.bin").read_bytes()
    assert w2vtrain_here(["convert", "model.bin", "-o", "vectors.txt"], folder)[0] == 0
    text, model = w2vtrain.read_vectors(folder / "vectors.txt"), w2vtrain.load_model(folder / "m.safetensors")
    np.testing.assert_allclose(text.matrix, model.input, atol=1e-6)
    assert "model of fastText" in w2vtrain_here(["info", "model.bin"], folder)[1]


def test_conversion_says_that_fasttexts_format_has_only_input_vectors(tmp_path, w2vtrain_here):
    model = w2vtrain.train([["a", "b"]] * 9, min_count=1, sample=0, vector_size=2)
    for which, said in (
        ("in", "2 dimensions\n"),
        ("blend", ": its input vectors, not the blends of input and output v"),
    ):
        model.record["vectors"] = which
        model.save(tmp_path / "model.safetensors", force=True)
        words = ["convert", "model.safetensors", "-o", "x.bin", "--format", "fasttext", "--force"]
        assert said in w2vtrain_here(words, tmp_path)[2]


def test_a_run_starts_from_a_file_of_fasttext(folder, w2vtrain_here):
    words = ["fit", "text", "--init-from", "model.bin", "-o", "more.txt", "--epochs", "1", "--grow-vocabulary"]
    code, _, said = w2vtrain_here(words, folder)
    assert code == 0, said
    assert "5 words known, 0 new; took input, output" in said


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["fit", "text", "-o", "x.bin", "--format", "fasttext", "--export", "out"], 78, "input vectors in fastText's"),
        (["fit", "text", "-o", "x.bin.gz", "--format", "fasttext"], 2, "this output is not compressed"),
        (["convert", "model.bin", "-o", "x.safetensors.zst"], 2, "this output is not compressed"),
        (["fit", "text", "-o", "x.txt", "--minn", "2"], 78, "minn: has no effect without --subwords"),
        (["fit", "text", "-o", "x.txt", "--maxn", "2"], 78, "maxn: has no effect without --subwords"),
        (["fit", "text", "-o", "x.txt", "--subwords", "--minn", "7"], 78, "minn: 7 is more than maxn, 6"),
        (["fit", "text", "-o", "x.txt", "--subwords", "--maxn", "0"], 78, "n-grams, leave out --subwords"),
        (["fit", "text", "-o", "x.txt", "--subwords", "--export", "blend"], 78, "only input vectors are composed"),
        (["convert", "model.bin", "-o", "x.bin", "--format", "fasttext", "--center"], 2, "is converted unchanged"),
        (["export", "run", "-o", "x.bin", "--format", "fasttext"], 2, "fasttext holds a model, not vectors alone"),
        (
            ["eval", "similarity", "plain.txt", "pairs", "--unseen"],
            65,
            "words that are not in the vocabulary need n-grams",
        ),
        (["convert", "plain.txt", "-o", "x.bin", "--format", "fasttext"], 65, "plain.txt"),
        (["neighbors", "plain.txt", "aa"], 65, "'aa' is not in the vocabulary"),
        (["vector", "plain.txt", "a", "--ngrams"], 2, "there are no n-grams: train with --subwords"),
        (["vector", "model.bin", "a", "--ngrams", "--sentences"], 2, "give only one of them"),
        (["print-ngrams", "model.bin", "water"], 2, "use w2vtrain vector --ngrams"),
    ],
)
def test_what_cannot_work_is_refused_in_one_line(folder, w2vtrain_here, words, code, message):
    (folder / "plain.txt").write_text("2 2\na 1 2\nb 2 1\n")
    (folder / "pairs").write_text("a\tb\t1\n")
    found, _, said = w2vtrain_here(words, folder)
    assert found == code, said
    assert message in said
    assert len(said.strip().splitlines()) == 1
