"""Models of fastText: those that its own program made (tests/fasttext), ours as others read them, and damaged files."""

import copy
import json
import lzma
import os
import struct
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import w2vtrain
from w2vtrain.errors import DataError, OutputError, TruncatedFile, W2VError
from w2vtrain.formats.fasttext_file import SHAPE, SIZES, START, Arguments, read_fasttext, write_fasttext
from w2vtrain.formats.sniff import sniff
from w2vtrain.formats.subwords import Ngrams, NgramVectors
from w2vtrain.training.perplexity import perplexity

MADE = Path(__file__).parents[1] / "fasttext"
NAMES = ["skipgram", "cbow-hs", "whole-words"]


def unpacked(name, folder):
    path = folder / f"{name}.bin"
    path.write_bytes(lzma.decompress((MADE / f"{name}.bin.xz").read_bytes()))
    return path


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fasttext")
    return {name: unpacked(name, folder) for name in [*NAMES, "classifier", "labels", "topics-hs"]}


@pytest.fixture(scope="module")
def printed():
    return json.loads(lzma.decompress((MADE / "vectors.json.xz").read_bytes()))


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("ours") / "text"
    path.write_text("water waters falling слово слова\nfalls waterfall слово über übung\n" * 60, encoding="utf-8")
    about = {"vector_size": 6, "epochs": 2, "min_count": 1, "sample": 0, "threads": 1}
    return w2vtrain.train(path, subwords=True, bucket=3000, **about)


def test_the_ngrams_of_a_thousand_words_in_six_scripts_are_those_that_fasttext_prints():
    lines = lzma.decompress((MADE / "ngrams.tsv.xz").read_bytes()).decode().splitlines()
    assert len(lines) > 1000
    words = [line.split("\t")[0] for line in lines]
    starts, buckets = Ngrams().buckets(words)
    for row, line in enumerate(lines):
        word, *ngrams = line.split("\t")
        found = zip(Ngrams().texts(word), buckets[starts[row] : starts[row + 1]].tolist(), strict=True)
        assert [f"{text} {bucket}" for text, bucket in found] == ngrams


@pytest.mark.parametrize("name", NAMES)
def test_vectors_of_known_and_unseen_words_are_those_that_fasttext_prints(files, printed, name):
    vectors = w2vtrain.read_vectors(files[name])
    keyed = w2vtrain.KeyedVectors.of(vectors.words, vectors.matrix, vectors.counts, vectors.ngrams)
    assert (np.diff(vectors.counts) <= 0).all()
    for word, vector in printed[name]["words"].items():
        np.testing.assert_allclose(keyed[word], vector, atol=5e-6)
    sentence, vector = printed[name]["sentence"]
    if name != "whole-words":
        np.testing.assert_allclose(keyed.get_sentence_vector(sentence), vector, atol=5e-6)
    assert "watery" not in keyed
    first = w2vtrain.read_vectors(files[name], limit=3)
    np.testing.assert_array_equal(first.matrix, vectors.matrix[:3])


@pytest.mark.parametrize("name", NAMES)
def test_a_model_of_fasttext_is_a_model(files, name):
    model = w2vtrain.load_model(files[name])
    assert model.settings["architecture"] == ("cbow" if name == "cbow-hs" else "skipgram")
    assert model.settings["objective"] == ("hs" if name == "cbow-hs" else "neg")
    assert model.settings.get("subwords", False) is (name != "whole-words")
    np.testing.assert_allclose(model.input, w2vtrain.read_vectors(files[name]).matrix)


@pytest.mark.parametrize("name", ["skipgram", "cbow-hs"])
def test_a_model_of_fasttext_trains_on_from_what_it_has_learned(files, name, tmp_path):
    model = w2vtrain.load_model(files[name])
    text = tmp_path / "text"
    text.write_text("the of water waters and\n" * 20)
    more = w2vtrain.continue_training(model, text, 1, alpha=1e-9, threads=1, sample=0)
    for word in model.words:
        np.testing.assert_allclose(more[word], model[word], atol=1e-5)
    np.testing.assert_allclose(more["watery"], model["watery"], atol=1e-5)
    np.testing.assert_allclose(more.output, model.output, atol=1e-5)


def test_the_output_rows_of_fasttext_are_those_of_our_tree(files, tmp_path):
    """With other signs, or its nodes in another order, the model would predict the words of its text worse."""
    model, text = w2vtrain.load_model(files["topics-hs"]), tmp_path / "text"
    topics = ("red", "cat", "one", "sun")
    text.write_text("".join(f"{' '.join(f'{topic}{i}' for i in (0, 1, 2, 0, 3, 1))}\n" for topic in topics))
    outputs = model.output, -model.output, model.output[::-1].copy(), 0 * model.output
    score, *others = (perplexity(replace(model, output=rows), [str(text)])[0].perplexity for rows in outputs)
    assert score < 0.7 * min(others)


def test_a_model_that_is_written_reads_back_the_same(model, tmp_path):
    model.save_fasttext(tmp_path / "model.bin")
    again = w2vtrain.load_model(tmp_path / "model.bin")
    assert again.words == model.words
    np.testing.assert_array_equal(again.counts, model.counts)
    np.testing.assert_array_equal(again.output, model.output)
    for word in [*model.words, "watery", "словом"]:
        np.testing.assert_allclose(again[word], model[word], atol=1e-6)
    with pytest.raises(KeyError, match="xyz"):
        again["xyz"]
    again.save_fasttext(tmp_path / "again.bin")
    assert (tmp_path / "again.bin").read_bytes() == (tmp_path / "model.bin").read_bytes()
    with pytest.raises(OutputError, match="exists"):
        model.save_fasttext(tmp_path / "model.bin")


def test_a_vector_that_was_changed_is_written(model, tmp_path):
    changed = copy.deepcopy(model)
    changed.wv["water"] = np.ones(6)
    changed.save_fasttext(tmp_path / "model.bin")
    again = w2vtrain.load_model(tmp_path / "model.bin")
    for word in [*model.words, "watery"]:
        np.testing.assert_allclose(again[word], np.ones(6) if word == "water" else model[word], atol=1e-6)


def test_gensim_reads_what_is_written(model, tmp_path):
    fasttext = pytest.importorskip("gensim.models.fasttext", reason="gensim is not installed")
    model.save_fasttext(tmp_path / "model.bin")
    theirs = fasttext.load_facebook_vectors(str(tmp_path / "model.bin"))
    for word in [*model.words, "watery", "словом", "übungen"]:
        np.testing.assert_allclose(theirs[word], model[word], atol=5e-6)


def test_a_model_without_subwords_is_written_without_ngrams(tmp_path):
    path = tmp_path / "text"
    path.write_text("a b c d\n" * 50)
    plain = w2vtrain.train(path, vector_size=4, min_count=1, epochs=1, objective="hs", sample=0)
    plain.save_fasttext(tmp_path / "plain.bin")
    found = read_fasttext(tmp_path / "plain.bin")
    assert (found.arguments.maxn, found.arguments.bucket, found.arguments.loss) == (0, 0, 1)
    np.testing.assert_array_equal(found.rows, plain.input)
    np.testing.assert_array_equal(found.output[:-1], -plain.output)


def small(objective="neg", rows=3, **settings):
    """Return a model of three words whose output rows tell fastText's order from others."""
    output = np.arange(1, 2 * rows + 1, dtype=np.float32).reshape(rows, 2)
    about = {"objective": objective, **settings}
    return w2vtrain.Model(["a", "b", "c"], np.array([3, 2, 1]), np.ones((3, 2), np.float32), output, {}, about)


@pytest.mark.parametrize(
    ("model", "loss", "sign"),
    [
        (small(), 2, 1),
        (small("softmax"), 3, 1),
        (small("nce"), 2, 1),
        (small("hs", 2), 1, -1),
        (small("hs", 2, options={"tree": "balanced"}), 1, 0),
        (small("hs-neg", 5), 2, 1),
        (small("class-softmax", 4), 2, 0),
    ],
    ids=["neg", "softmax", "nce", "hs", "another tree", "hs-neg", "another objective"],
)
def test_output_rows_are_those_of_the_loss_or_zeros(model, loss, sign, tmp_path):
    model.save_fasttext(tmp_path / "model.bin")
    found = read_fasttext(tmp_path / "model.bin")
    assert found.arguments.loss == loss
    expected = np.zeros((3, 2), np.float32)
    if sign:
        expected[: len(model.output)] = sign * model.output[-3:]  # with hs-neg, the nodes come first
    np.testing.assert_array_equal(found.output, expected)


@pytest.mark.parametrize(
    "about",
    [{"epochs": "x"}, {"min_count": None, "sample": None}, {"options": [1]}, {"options": {"negative": "x"}}],
    ids=["text", "nothing", "list", "option"],
)
def test_settings_of_any_file_give_arguments(about, tmp_path):
    odd = replace(small(), settings=about)
    odd.save_fasttext(tmp_path / "model.bin")
    found = read_fasttext(tmp_path / "model.bin").arguments
    assert (found.epoch, found.minCount, found.neg, found.t) == (5, 5, 5, 1e-4)


def test_numbers_too_large_for_the_format_are_limited(tmp_path):
    replace(small(), settings={"epochs": 10**12, "window": "sentence"}).save_fasttext(tmp_path / "model.bin")
    found = read_fasttext(tmp_path / "model.bin").arguments
    assert (found.epoch, found.ws) == (2**31 - 1, 2**31 - 1)


def test_a_model_that_could_not_be_read_is_not_written(tmp_path):
    nan = replace(small(), input=np.full((3, 2), np.nan, np.float32))
    with pytest.raises(DataError, match="row 0 of input is not finite"):
        nan.save_fasttext(tmp_path / "model.bin")
    with pytest.raises(DataError, match="its n-grams are damaged"):
        replace(small(), settings={"subwords": True}).save_fasttext(tmp_path / "model.bin")
    assert not list(tmp_path.iterdir())


def test_rows_stay_in_the_file_unless_most_buckets_are_unused(files, model, tmp_path):
    data, found = bytearray(files["skipgram"].read_bytes()), read_fasttext(files["skipgram"])
    last_bucket = len(data) - found.output.nbytes - SHAPE.size - 4 * found.arguments.dim
    data[last_bucket : last_bucket + 4 * found.arguments.dim] = bytes(4 * found.arguments.dim)
    (tmp_path / "x.bin").write_bytes(data)
    mapped = w2vtrain.load_model(tmp_path / "x.bin").arrays
    assert mapped["input_rows"].base is not None
    assert not mapped["input_rows"].flags.writeable
    assert len(mapped["ngram_buckets"]) == 500
    model.save_fasttext(tmp_path / "model.bin")
    few = w2vtrain.load_model(tmp_path / "model.bin").arrays["ngram_buckets"]
    assert sorted(model.arrays["ngram_buckets"].tolist()) == few.tolist()


def test_words_that_are_labels_for_fasttext_are_left_out(files):
    """Its skip-gram takes words that begin with __label__ for labels, which have no rows."""
    found = w2vtrain.load_model(files["labels"])
    assert found.words == ["water", "falls", "</s>", "вода", "waters", "слово"]
    printed = {
        "water": [0.8351514, 0.1350901, 1.1210345],
        "слово": [0.9441398, 0.222049, 1.1019821],
        "waterfall": [0.6741548, 0.2534211, 0.9986728],
    }
    for word, vector in printed.items():
        np.testing.assert_allclose(found[word], vector, atol=5e-6)


def test_words_of_a_thousand_letters_are_composed_in_a_moment(tmp_path):
    """Their n-grams of all lengths are two million: each is hashed from the one that it continues."""
    word = "x" * 2000
    sizes = Arguments(1, bucket=3, minn=1, maxn=2000)
    rows = NgramVectors(Ngrams(1, 2000, 3), np.ones((3, 1), np.float32))
    matrices = np.ones((1, 1), np.float32), rows, np.ones((1, 1), np.float32)
    write_fasttext(tmp_path / "x.bin", sizes, [word], np.array([1]), matrices)
    w2vtrain.load_model(tmp_path / "x.bin")  # compiles
    start = time.process_time()
    assert w2vtrain.load_model(tmp_path / "x.bin").input.tolist() == [[1.0]]
    assert time.process_time() - start < 1


def test_files_have_no_holes(tmp_path):
    """Deleting or replacing a file with thousands of holes takes minutes on disks that discard freed blocks."""
    about = {"subwords": True, "bucket": 1_000_000, "vector_size": 6, "epochs": 1, "min_count": 1, "sample": 0}
    w2vtrain.train([["water", "waters"]] * 60, **about).save_fasttext(tmp_path / "big.bin")
    if not hasattr(os, "SEEK_HOLE"):
        pytest.skip("this system does not say where a file has holes")
    with (tmp_path / "big.bin").open("rb") as file:
        assert os.lseek(file.fileno(), 0, os.SEEK_HOLE) == os.fstat(file.fileno()).st_size > 20_000_000


def damaged(data, offset, value, form="<i"):
    return data[:offset] + struct.pack(form, value) + data[offset + struct.calcsize(form) :]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: damaged(data, 4, 13), "version 13 of fastText's format"),
        (lambda data: damaged(data, 8, 0), "dim 0"),
        (lambda data: damaged(data, 8, 5), "input has"),
        (lambda data: damaged(data, 8 + 8 * 4, 2**31 - 1), "expected"),
        (lambda data: damaged(data, 8 + 9 * 4, 9), "minn 9, maxn 4"),
        (lambda data: damaged(data, 8 + 7 * 4, 3), "a classifier of fastText"),
        (lambda data: damaged(data, 8 + 6 * 4, 9), "loss 9"),
        (lambda data: damaged(data, START.size + 4, 2**31 - 1), "words and 0 labels are not possible together"),
        (lambda data: damaged(damaged(data, START.size, 2**31 - 1), START.size + 4, 2**31 - 1), "the file ends"),
        (lambda data: damaged(data, START.size + 20, 5, "<q"), "a quantized model of fastText"),
        (lambda data: data + b"\0", "1 bytes more than the model needs"),
        (lambda data: data[:-1], "the file ends after"),
        (lambda data: damaged(data, len(data) - 4, float("nan"), "<f"), "of output is not finite"),
    ],
    ids=[
        "version", "no dimensions", "other dimensions", "buckets", "lengths of n-grams", "classifier", "loss", "words",
        "words of 20 GB", "quantized", "a byte more", "a byte less", "NaN",
    ],
)  # fmt: skip
def test_damaged_files_are_refused_by_what_is_wrong(files, tmp_path, change, message):
    (tmp_path / "x.bin").write_bytes(change(files["skipgram"].read_bytes()))
    for read in (w2vtrain.read_vectors, w2vtrain.load_model):
        with pytest.raises(DataError, match=message):
            read(tmp_path / "x.bin")


def test_bytes_of_words_that_are_not_utf8_become_escapes(files, tmp_path):
    """cc.ko.300.bin and wiki-news-300d-1M-subword.bin have words that end within a character."""
    data, at = files["skipgram"].read_bytes(), START.size + SIZES.size
    first = w2vtrain.read_vectors(files["skipgram"]).words[0]
    (tmp_path / "x.bin").write_bytes(data[:at] + b"\xe6" + data[at:])
    assert w2vtrain.load_model(tmp_path / "x.bin").words[0] == "\\xe6" + first


def test_a_classifier_is_refused_by_name(files):
    with pytest.raises(DataError, match=r"classifier of fastText \(supervised\)"):
        w2vtrain.load_model(files["classifier"])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=150)
@given(st.data())
def test_damage_anywhere_gives_one_of_our_errors_or_vectors(files, tmp_path, data):
    original = files["whole-words"].read_bytes()
    changed = bytearray(original[: data.draw(st.integers(0, len(original)))])
    for _ in range(data.draw(st.integers(0, 3))):
        if changed:
            changed[data.draw(st.integers(0, min(len(changed), 400) - 1))] = data.draw(st.integers(0, 255))
    (tmp_path / "x.bin").write_bytes(changed)
    with suppress(W2VError):
        model = w2vtrain.load_model(tmp_path / "x.bin")
        assert np.isfinite(model.input).all()


def test_the_end_of_a_file_is_an_error_of_its_own(files, tmp_path):
    (tmp_path / "x.bin").write_bytes(files["skipgram"].read_bytes()[:200])
    with pytest.raises(TruncatedFile):
        w2vtrain.read_vectors(tmp_path / "x.bin")


def test_text_is_never_taken_for_a_model_of_2016(tmp_path):
    (tmp_path / "x.txt").write_text("water 0.25 0.5\nfalls 0.125 0.25\n" * 20)
    assert sniff(tmp_path / "x.txt").kind == "text"
