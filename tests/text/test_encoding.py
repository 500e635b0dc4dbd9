"""The option --encoding-errors on the command line, for text that is trained on, counted or scored."""

import json

import numpy as np
import pytest

from w2vtrain import train, write_vectors

GOOD, BAD = "some good wörds here\n" * 40, b"some b\xffd w\xc3rds \xfe here\n" * 40
FIT = ["--vector-size", "4", "--epochs", "1", "--threads", "1", "--min-count", "1", "--sample", "0", "-q"]


@pytest.fixture
def texts(tmp_path):
    (tmp_path / "good.txt").write_text(GOOD, encoding="utf-8")
    (tmp_path / "bad.txt").write_bytes(BAD)
    return tmp_path


@pytest.fixture
def w2vtrain(w2vtrain_here):
    """Return a function that runs a command and returns its stdout, or its one line on stderr if it must fail."""

    def run(code, folder, *words):
        found, out, said = w2vtrain_here(words, folder)
        assert found == code, said
        assert len(said.splitlines()) == (code != 0)
        return said or out

    return run


@pytest.mark.parametrize(
    ("errors", "tokenizer", "words"),
    [
        ("replace", "whitespace", {"some", "here", "b\ufffdd", "w\ufffdrds", "\ufffd"}),
        ("ignore", "simple", {"some", "here", "bd", "wrds"}),
    ],
)
def test_invalid_bytes_are_replaced_or_ignored(w2vtrain, texts, errors, tokenizer, words):
    options = ["--encoding-errors", errors, "--tokenizer", tokenizer]
    counted = dict(line.split(" ") for line in w2vtrain(0, texts, "vocab", "bad.txt", "-q", *options).splitlines())
    assert counted == dict.fromkeys(words, "40")
    model = ["--save-model", "model.safetensors", *options]
    w2vtrain(0, texts, "fit", "bad.txt", "-o", "vectors.txt", *model, *FIT)
    record = json.loads((texts / "vectors.txt.json").read_text())
    assert record["settings"]["encoding_errors"] == errors
    assert record["record"]["corpus"]["invalid"] == 120
    assert record["record"]["vocabulary"] == {"size": len(words), "words": 40 * len(words)}
    score = json.loads(w2vtrain(0, texts, "perplexity", "model.safetensors", "bad.txt", "--json", "-q"))
    assert score["coverage"] == 1, "the text must be read with the model's settings"


def test_strict_stops_at_the_first_invalid_byte(w2vtrain, texts):
    options = ["--encoding-errors", "strict"]
    message = "w2vtrain: error: bad.txt: not UTF-8 at byte 6 of the text"
    assert message in w2vtrain(65, texts, "vocab", "bad.txt", *options)
    assert message in w2vtrain(65, texts, "fit", "bad.txt", "-o", "vectors.txt", *options, *FIT)
    good = ["fit", "good.txt", "-o", "vectors.txt", *options, *FIT]
    assert message in w2vtrain(65, texts, *good, "--heldout", "bad.txt")
    w2vtrain(0, texts, *good, "--save-model", "model.safetensors")
    assert message in w2vtrain(65, texts, "perplexity", "model.safetensors", "bad.txt", "-q")
    w2vtrain(0, texts, "perplexity", "model.safetensors", "bad.txt", "-q", "--encoding-errors", "replace")


@pytest.mark.parametrize(
    ("name", "kind"),
    [("m.safetensors", "model"), ("v.bin", "binary"), ("f.bin", "fasttext"), ("k.st", "keyed vectors")],
)
def test_vectors_and_models_are_no_text(w2vtrain, texts, name, kind):
    model = train(texts / "good.txt", vector_size=4, epochs=1, min_count=1, subwords=True, bucket=10)
    model.save(texts / "m.safetensors")
    write_vectors(texts / "v.bin", model.words, np.ones_like(model.input))
    model.save_fasttext(texts / "f.bin")
    model.wv.save(texts / "k.st")
    said = w2vtrain(65, texts, "vocab", name, "--tokenizer", "simple")
    assert f"{name}: vectors or a model ({kind}), not text: train on the text from which they were learned\n" in said


def test_nul_bytes_are_white_space_with_the_option_allow_nul(w2vtrain, texts):
    (texts / "nul.txt").write_bytes(b"some\0words\0 here\n" * 40)
    assert "NUL at byte 4 of the text" in w2vtrain(65, texts, "vocab", "nul.txt")
    assert "use --allow-nul" in w2vtrain(65, texts, "fit", "nul.txt", "-o", "vectors.txt", *FIT)
    (texts / "wide.txt").write_bytes("some words h\u00e9re\n".encode("utf-16-le") * 40)
    assert w2vtrain(65, texts, "vocab", "wide.txt").endswith(" or UTF-16: convert it with iconv\n")
    counted = w2vtrain(0, texts, "vocab", "nul.txt", "-q", "--allow-nul")
    assert counted == "here 40\nsome 40\nwords 40\n"
    w2vtrain(0, texts, "fit", "nul.txt", "-o", "vectors.txt", "--allow-nul", *FIT)
    record = json.loads((texts / "vectors.txt.json").read_text())
    assert record["record"]["corpus"]["nul"] == 80
