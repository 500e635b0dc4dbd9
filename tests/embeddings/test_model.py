"""Tests of saving, loading and describing models."""

import copy
import inspect
import json
import pickle
import struct
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

import w2vtrain
from w2vtrain.embeddings import analogies, model, similarity
from w2vtrain.embeddings.model import Model, load_model, save_model
from w2vtrain.errors import DataError, InvalidValue, MissingKey, OutputError, UsageError, WriteError
from w2vtrain.formats import model_file, safetensors, vectors
from w2vtrain.formats.describe import describe
from w2vtrain.formats.vector_formats import rows as vector_rows
from w2vtrain.system import files
from w2vtrain.system.foreign import foreign

WORDS = ["the", "königlich", "a\u2028b"]


def small(**changes):
    rng = np.random.default_rng(0)
    parts = {
        "words": WORDS,
        "counts": np.array([9, 5, 1]),
        "input": rng.standard_normal((3, 4)).astype("f4"),
        "output": rng.standard_normal((2, 4)).astype("f4"),
        "arrays": {
            "tree.start": np.array([0, 2, 3], "i4"),
            "tree.codes": np.array([True, False]),
            "noise.log": np.array([-np.inf, 0.5]),
            "scalar": np.float32(2) * np.ones((), "f4"),
            "empty": np.zeros((0, 4), "f4"),
        },
        "settings": {"vector_size": 4, "objective": "hs", "nested": {"ü": [1, 2.5, None, True]}},
        "record": {"versions": {"w2vtrain": "0.1"}, "curve": [[0, 1.5]]},
    }
    return Model(**(parts | changes))


def same(a, b):
    assert a.words == b.words
    assert (a.settings, a.record) == (b.settings, b.record)
    assert a.arrays.keys() == b.arrays.keys()
    for name, left, right in [
        *((n, getattr(a, n), getattr(b, n)) for n in ("counts", "input", "output")),
        *((n, a.arrays[n], b.arrays[n]) for n in a.arrays),
    ]:
        assert (left.dtype, left.shape, left.tobytes()) == (right.dtype, right.shape, right.tobytes()), name


def test_a_saved_model_is_loaded_unchanged_into_arrays_that_can_be_trained(tmp_path):
    save_model(tmp_path / "m", small())
    loaded = load_model(tmp_path / "m")
    same(loaded, small())
    for array in (loaded.input, loaded.output, loaded.counts, *loaded.arrays.values()):
        assert array.flags.writeable
        assert array.flags.c_contiguous
        assert array.flags.aligned


def test_strided_views_are_saved_in_many_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(safetensors, "VALUES_PER_BLOCK", 50)
    padded = np.random.default_rng(1).standard_normal((100, 16)).astype("f4")
    names = [f"w{i}" for i in range(100)]
    given = Model(names, np.arange(200)[::-2], padded[:, :7], padded[::3, 2:9], {"codes": np.asfortranarray(padded)})
    save_model(tmp_path / "m", given)
    loaded = load_model(tmp_path / "m")
    assert (loaded.input == padded[:, :7]).all()
    assert (loaded.output == padded[::3, 2:9]).all()
    assert (loaded.arrays["codes"] == padded).all()
    assert (loaded.counts == np.arange(200)[::-2]).all()


def test_a_model_is_a_valid_safetensors_file(tmp_path):
    save_model(tmp_path / "m", small())
    with safe_open(tmp_path / "m", framework="numpy") as file:
        assert file.metadata()["w2vtrain"] == "1"
        assert json.loads(file.metadata()["settings"]) == small().settings
        assert bytes(file.get_tensor("words")).decode() == "\n".join(WORDS)
    tensors = load_file(tmp_path / "m")
    assert set(tensors) == {"words", "counts", "input", "output", *small().arrays}
    length = struct.unpack("<Q", (tmp_path / "m").read_bytes()[:8])[0]
    assert length % 8 == 0
    for name, part in json.loads((tmp_path / "m").read_bytes()[8 : 8 + length]).items():
        if name != "__metadata__":
            assert part["data_offsets"][0] % tensors[name].dtype.itemsize == 0


def test_a_model_written_by_the_safetensors_library_is_loaded(tmp_path):
    given = small(arrays={})
    tensors = {"words": np.frombuffer("\n".join(WORDS).encode(), "u1"), "counts": given.counts}
    tensors |= {"input": given.input, "output": given.output}
    about = {"w2vtrain": "1", "settings": json.dumps(given.settings), "record": json.dumps(given.record)}
    save_file(tensors, tmp_path / "m", about)
    same(load_model(tmp_path / "m"), given)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_saving_a_model_to_a_full_disk_raises_write_error():
    with pytest.raises(WriteError, match=r"No space left on device after 0 bytes; [\d,]+ are needed"):
        save_model("/dev/full", small())


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"words": ["a", "b"]}, DataError, "2 words, 3 counts and 3 vectors"),
        ({"words": ["a", "b", "b"]}, DataError, "'b' occurs twice"),
        ({"words": ["a", "b", "c\nd"]}, DataError, r"word 2 'c\\nd' contains a newline"),
        ({"words": ["a", "", "c"]}, DataError, "word 1 is empty"),
        ({"words": ["a", "\ud800", "c"]}, DataError, "unpaired surrogate"),
        ({"counts": np.array([1, 2, -3])}, DataError, r"count of 'a\\u2028b' is negative"),
        ({"counts": np.array([1.0, 2, 3])}, DataError, "counts has dtype float64"),
        ({"input": np.ones((3, 4))}, DataError, "input has dtype float64"),
        ({"input": np.full((3, 4), np.nan, "f4")}, DataError, "row 0 of input is not finite"),
        ({"output": np.full((3, 4), np.inf, "f4")}, DataError, "row 0 of output is not finite"),
        ({"output": np.ones((3, 5), "f4")}, DataError, "input vectors of 4 values and output vectors of 5"),
        ({"arrays": {"x": np.array([np.nan])}}, DataError, "array x contains NaN"),
        ({"arrays": {"input": np.array([1])}}, UsageError, "cannot be named 'input'"),
        ({"settings": {"x": object()}}, UsageError, "JSON cannot store"),
        ({"words": [], "counts": np.zeros(0, int), "input": np.ones((0, 4), "f4")}, DataError, "0 words"),
    ],
)
def test_a_model_that_could_not_be_loaded_is_not_saved(tmp_path, changes, error, message):
    with pytest.raises(error, match=message):
        save_model(tmp_path / "m", small(**changes))
    assert not list(tmp_path.iterdir())


def test_arrays_of_objects_are_not_saved(tmp_path):
    with pytest.raises(TypeError, match="the array x has dtype object"):
        save_model(tmp_path / "m", small(arrays={"x": np.array([None])}))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"w2vtrain": "2"}, "w2vtrain format 2, but this version reads format 1"),
        ({"w2vtrain": None}, "not from w2vtrain"),
        ({"settings": None}, "has no settings"),
        ({"record": "["}, "record: not JSON"),
        ({"record": "3"}, "record: not a JSON object"),
    ],
)
def test_invalid_metadata_raises_data_error(tmp_path, change, message):
    save_model(tmp_path / "m", small())
    about = {"w2vtrain": "1", "settings": "{}", "record": "{}"} | change
    save_file(load_file(tmp_path / "m"), tmp_path / "m", {k: v for k, v in about.items() if v is not None})
    with pytest.raises(DataError, match=message):
        load_model(tmp_path / "m")


def test_every_truncated_model_is_rejected(tmp_path):
    save_model(tmp_path / "m", small())
    whole = (tmp_path / "m").read_bytes()
    for length in [*range(0, len(whole), 7), len(whole) - 1]:
        (tmp_path / "cut").write_bytes(whole[:length])
        with pytest.raises(DataError):
            load_model(tmp_path / "cut")
    (tmp_path / "long").write_bytes(whole + b"\0")
    with pytest.raises(DataError):
        load_model(tmp_path / "long")


def test_a_flipped_bit_raises_data_error_or_leaves_a_valid_model(tmp_path):
    save_model(tmp_path / "m", small())
    whole = bytearray((tmp_path / "m").read_bytes())
    for position in np.random.default_rng(0).integers(0, 8 * len(whole), 400):
        whole[position // 8] ^= 1 << (position % 8)
        (tmp_path / "flipped").write_bytes(whole)
        try:
            loaded = load_model(tmp_path / "flipped")
        except DataError:
            pass
        else:
            assert len(loaded.words) == len(loaded.input) == 3
            assert np.isfinite(loaded.input).all()
        whole[position // 8] ^= 1 << (position % 8)


def test_describe_returns_the_facts_of_a_model(tmp_path):
    save_model(tmp_path / "m", small())
    assert describe(tmp_path / "m") == {
        "path": str(tmp_path / "m"),
        "kind": "model",
        "bytes": (tmp_path / "m").stat().st_size,
        "format": 1,
        "words": 3,
        "words_exact": True,
        "dim": 4,
        "output_rows": 2,
        "arrays": {name: list(array.shape) for name, array in small().arrays.items()},
        "settings": small().settings,
        "record": small().record,
    }


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"the 1 2\nof 3 4\n", {"kind": "text vectors", "words": 2, "dim": 2, "header": False, "words_exact": True}),
        (b"the 12\nof 7\nand 3", {"kind": "vocabulary", "words": 3, "words_exact": True}),
        (b"", {"kind": "unknown", "note": "an empty file"}),
        (b"Call me Ishmael.\n", {"kind": "unknown"}),
        (b"PK\x03\x04", {"kind": "unknown", "note": foreign(b"PK\x03\x04")}),
    ],
)
def test_describe_identifies_other_files(tmp_path, content, expected):
    (tmp_path / "f").write_bytes(content)
    found = describe(tmp_path / "f")
    assert expected.items() <= found.items()
    assert found["bytes"] == len(content)


@pytest.mark.parametrize("content", [b"1000000000000 300\na 1 2\n", b"-1 2\na 1 2\n", b"9 2\na \0\0\0\0\1\1\1\1\n"])
def test_describe_refuses_a_header_that_promises_more_than_the_file_can_have(tmp_path, content):
    (tmp_path / "v").write_bytes(content)
    with pytest.raises(DataError, match="v:1: the header promises "):
        describe(tmp_path / "v")


def test_describe_reads_only_part_of_a_large_file(tmp_path, monkeypatch):
    monkeypatch.setattr("w2vtrain.formats.describe.COUNTED_BYTES", 1 << 20)
    with (tmp_path / "v").open("wb") as file:
        for _ in range(4):
            file.write(b"word 1.5 2.5\n" * 100_000)
    found = describe(tmp_path / "v")
    assert not found["words_exact"]
    assert found["words"] == pytest.approx(400_000, rel=0.001)


def test_describe_lists_the_arrays_of_another_programs_safetensors_file(tmp_path):
    save_file({"weights": np.ones((2, 3), "f4")}, tmp_path / "m")
    found = describe(tmp_path / "m")
    assert found["kind"] == "unknown"
    assert found["arrays"] == {"weights": [2, 3]}


def test_keyed_vectors_whose_vectors_are_no_matrix_are_described_as_damaged(tmp_path):
    tensors = {"vectors": np.ones(3, "f4"), "keys": np.frombuffer(b"[1, 2, 3]", "u1")}
    safetensors.write_safetensors(tmp_path / "m", tensors, {"kind": model_file.KIND})
    with pytest.raises(DataError, match=r"m: the tensor vectors has shape \[3\], expected 2 dimensions"):
        describe(tmp_path / "m")


MEMORY = """
import resource, sys
import numpy as np
from w2vtrain.embeddings.model import Model, load_model, save_model
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
words = [f"w{i}" for i in range(40_000)]
padded = np.ones((40_000, 256), np.float32)
model = Model(words, np.ones(40_000, np.int64), padded[:, :250], padded[:, :250])
before = peak()
save_model(sys.argv[1], model)
print(peak() - before)
"""


def test_saving_a_model_does_not_copy_its_matrices(tmp_path):
    command = [sys.executable, "-c", MEMORY, str(tmp_path / "m")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 25  # MiB; a copy of one matrix would take 38


def test_no_reader_unpickles():
    for module in (files, safetensors, vectors, vector_rows, model, model_file, analogies, similarity):
        text = Path(module.__file__).read_text()
        assert "import pickle" not in text
        assert "allow_pickle" not in text


def named(**changes):
    """Return a model of four words with a record of three epochs."""
    rows = np.array([[4, 0, 0], [0, 3, 0], [0, 2, 1], [4, 2, 1]], np.float32)
    about = {"architecture": "skipgram", "objective": "neg", "epochs": 3, "options": {"negative": 5}}
    record = {"epochs": [{"loss": loss} for loss in (3.0, 2.0, 1.5)], "corpus": {"tokens": 12_345}}
    given = {"settings": about, "record": record, "output": rows[::-1].copy(), **changes}
    return Model(["king", "man", "woman", "queen"], np.array([4, 3, 2, 1]), rows, **given)


def test_a_model_answers_for_its_words():
    model = named()
    np.testing.assert_array_equal(model["woman"], [0, 2, 1])
    np.testing.assert_array_equal(model[["queen", "man"]], [[4, 2, 1], [0, 3, 0]])
    assert "king" in model
    assert "kings" not in model
    assert (len(model), list(model)) == (4, model.words)
    assert model.most_similar(["king", "woman"], ["man"], topn=1)[0][0] == "queen"
    assert [word for word, _ in model.most_similar("king")] == ["queen", "man", "woman"]


def test_a_number_is_a_word_of_digits_as_for_nodes_of_a_graph():
    rows = np.array([[1, 0], [0, 1], [1, 1]], np.float32)
    model = Model(["2", "0", "x"], np.array([3, 2, 1]), rows, rows, {"architecture": "cbow"}, {})
    np.testing.assert_array_equal(model[0], [0, 1])
    np.testing.assert_array_equal(model[[2, "x"]], [[1, 0], [1, 1]])
    assert model.most_similar(0) == model.most_similar("0")
    assert 2 in model
    assert 1 not in model
    with pytest.raises(MissingKey, match="1 is not in the vocabulary"):
        model.most_similar(1)
    keyed = model.wv.vectors_for_all([0, "x", 2])
    keyed.add_vectors([9, 2], [[5, 6], [7, 8]], replace=True)
    assert keyed.index_to_key == ["0", "x", "2", "9"]
    np.testing.assert_array_equal(keyed[[9, "9", 2]], [[5, 6], [5, 6], [7, 8]])


def test_a_number_is_composed_of_its_n_grams_as_other_words_are():
    model = w2vtrain.train(
        [["2024", "2025"]] * 9, vector_size=4, min_count=1, sample=0, epochs=1, subwords=True, bucket=99
    )
    np.testing.assert_array_equal(model[20245], model["20245"])
    assert model.most_similar(20245) == model.most_similar("20245")


def test_queries_use_the_vectors_that_the_record_names():
    model = named(record={"vectors": "in+out"})
    np.testing.assert_array_equal(model["king"], model.input[0] + model.output[0])
    np.testing.assert_array_equal(model.to_keyed_vectors().vectors, model.vectors())
    np.testing.assert_array_equal(model.to_keyed_vectors("in").vectors, model.input)


def test_keyed_vectors_of_a_model_are_independent_of_it():
    model = named()
    keyed = model.to_keyed_vectors()
    keyed.vectors[0] = 9
    np.testing.assert_array_equal(model["king"], [4, 0, 0])
    assert keyed.get_vecattr("queen", "count") == 1


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_a_copy_of_a_model_is_changed_and_saved_through_its_vectors(copied, tmp_path):
    model = named(arrays={"documents": np.ones((1, 3), np.float32), "document_tags": np.frombuffer(b"tag", np.uint8)})
    assert model.wv.index_to_key[0] == "king"
    assert model.dv["tag"].tolist() == [1, 1, 1]
    other = copied(model)
    other.wv["king"], other.dv["tag"] = [7, 8, 9], [1, 2, 3]
    other.save(tmp_path / "m")
    again = load_model(tmp_path / "m")
    assert (again["king"].tolist(), again.dv["tag"].tolist()) == ([7, 8, 9], [1, 2, 3])
    assert model["king"].tolist() == [4, 0, 0]


def test_a_model_of_words_has_no_attribute_of_documents():
    model = named()
    for name in ("dv", "documents"):
        assert not hasattr(model, name)
        with pytest.raises(DataError, match=f"^{model.name} has no vectors of documents: train it with"):
            getattr(model, name)
    assert "wv" in dict(inspect.getmembers(model))
    with pytest.raises(DataError, match="is damaged"):  # a damaged one is an error, whoever asks
        hasattr(named(arrays={name: np.zeros((1, 3)) for name in ("documents", "document_tags")}), "dv")


def added(model):
    model.wv.add_vector("prince", [1, 2, 3])


def assigned(model):
    model.wv.vectors = model.wv.vectors - 1


def sorted_anew(model):
    model.wv.index_to_key = model.wv.index_to_key[::-1]


def described(model):
    model.wv.set_vecattr("king", "royal", True)


def counted(model):
    model.wv.set_vecattr("king", "count", 99)


def with_tag(model):
    model.dv.add_vector("other", [1, 2, 3])


@pytest.mark.parametrize("change", [added, assigned, sorted_anew, described, counted, with_tag])
def test_what_a_model_would_lose_of_its_changed_vectors_is_refused(change, tmp_path):
    model = named(arrays={"documents": np.ones((1, 3), np.float32), "document_tags": np.frombuffer(b"tag", np.uint8)})
    change(model)
    for write in (model.save, model.save_fasttext):
        with pytest.raises(
            UsageError, match=r"has other words, vectors or attributes.*save these with model.[wd]v.save"
        ):
            write(tmp_path / "m")
    with pytest.raises(UsageError, match=r"dataclasses.replace\(model\) is the model without them"):
        w2vtrain.continue_training(model, [["king", "man"]])
    replace(model).save(tmp_path / "m")
    assert load_model(tmp_path / "m").vectors().tolist() == named().vectors().tolist()


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_vectors_that_are_a_copy_cannot_be_changed_in_place(copied, tmp_path):
    model = named(record={"vectors": "in+out"})
    assert model.wv.index_to_key[0] == "king"
    model = copied(model)
    model.wv.sort_by_descending_frequency()
    model.save(tmp_path / "m")
    with pytest.raises(InvalidValue, match=r"read-only.*to_keyed_vectors\(\)"):
        model.wv["king"] = [1, 2, 3]


def test_a_model_saves_itself(tmp_path):
    named().save(tmp_path / "m")
    assert load_model(tmp_path / "m").words == named().words
    with pytest.raises(OutputError, match="exists: use force=True"):
        named().save(tmp_path / "m")
    named().save(tmp_path / "m", force=True)


@pytest.mark.parametrize(
    ("settings", "record", "expected"),
    [
        (None, None, "Model(4 words x 3, skipgram neg, 3 epochs)"),
        ({}, {}, "Model(4 words x 3)"),
        ({"objective": "hs", "epochs": 1}, {"epochs": "many"}, "Model(4 words x 3, hs, 1 epoch)"),
        ({"objective": "a\nb", "epochs": None}, {"epochs": [{"loss": None}]}, "Model(4 words x 3, a?b)"),
    ],
)
def test_the_repr_is_one_line(settings, record, expected):
    given = {"settings": settings, "record": record}
    assert repr(named(**{name: value for name, value in given.items() if value is not None})) == expected


def test_a_notebook_shows_the_main_facts():
    text = named()._repr_html_()
    tree = ElementTree.fromstring(text)
    assert [row.findtext("td") for row in tree.iter("tr")][:2] == ["skipgram", "neg negative 5"]
    assert "12,345 words" in text
    assert "3.0000 to 1.5000 in 3 epochs" in text


def test_a_notebook_runs_nothing_that_a_file_names():
    bad = "<script>alert(1)</script>"
    settings = dict.fromkeys(("architecture", "objective", "window", "alpha"), bad) | {"options": {bad: bad}}
    record = {"init_from": {"name": bad}, "epochs": [{"loss": bad}], "corpus": [bad], "best_epoch": {bad: bad}}
    text = named(settings=settings, record=record)._repr_html_()
    assert "<script" not in text
    ElementTree.fromstring(text)
    for odd in (7, [3], [{"loss": float("inf")}] * 2, [{"loss": None}] * 2):
        assert "loss" not in named(record={"epochs": odd})._repr_html_()
