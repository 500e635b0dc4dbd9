"""Vectors are taken along: the programs that read each format find our words and values, and we read their arrays."""

import io
import json
import zipfile

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from w2vtrain import errors, read_vectors, write_vectors
from w2vtrain.formats.describe import describe
from w2vtrain.formats.precision import mean_cosine
from w2vtrain.leaves.export.spacy import hash64

WORDS = ["the", "königlich", "of", "</s>", "x"]
MATRIX = np.random.default_rng(3).normal(size=(5, 6)).astype(np.float32)
COUNTS = np.array([9, 5, 4, 2, 1])
NAMES = ("v.npy", "v.npz", "v.parquet", "v.arrow")
LOSS = {"float16": 1e-3, "int8": 1e-2}
# Their imports and models cause warnings, which are errors elsewhere.
quiet = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize(("dtype", "name"), [*(("float16", name) for name in NAMES), ("int8", "v.npz")])
def test_fewer_bytes_lose_little_and_read_back_as_float32(tmp_path, dtype, name):
    write_vectors(tmp_path / name, WORDS, MATRIX, dtype=dtype)
    found = read_vectors(tmp_path / name)
    assert found.words == WORDS
    assert found.matrix.dtype == np.float32
    assert 0 < np.abs(found.matrix - MATRIX).max() < LOSS[dtype] * np.abs(MATRIX).max()
    expected = np.einsum("ij,ij->i", found.matrix, MATRIX, dtype=float) / np.linalg.norm(
        found.matrix.astype(float), axis=1
    ) / np.linalg.norm(MATRIX.astype(float), axis=1)  # fmt: skip
    assert mean_cosine(MATRIX, dtype) == pytest.approx(expected.mean(), abs=1e-7)
    tiny = np.array([[0, 0], [1e-45, 1e-45], [3, 4], [1, 0]], np.float32)
    assert mean_cosine(tiny, dtype) == pytest.approx(3 / 4, abs=1e-3), "only a row of zeros may be read back as zeros"


def test_rows_of_zeros_and_tiny_values_survive_int8(tmp_path):
    matrix = np.array([[0, 0], [1e-45, 0], [3e38, -1]], np.float32)
    write_vectors(tmp_path / "v.npz", ["a", "b", "c"], matrix, dtype="int8")
    found = read_vectors(tmp_path / "v.npz").matrix
    np.testing.assert_allclose(found, matrix, rtol=0.01, atol=3e38 / 254)
    with pytest.raises(errors.DataError, match="'c' has a value beyond 65,504"):
        write_vectors(tmp_path / "v.npy", ["a", "b", "c"], matrix, dtype="float16")


def test_numpy_loads_the_array_and_the_archive_without_pickle(tmp_path):
    write_vectors(tmp_path / "v.npy", WORDS, MATRIX)
    np.testing.assert_array_equal(np.load(tmp_path / "v.npy", mmap_mode="r"), MATRIX)
    assert (tmp_path / "v.words.txt").read_text("utf-8").split("\n") == [*WORDS, ""]
    write_vectors(tmp_path / "v.npz", WORDS, MATRIX, counts=COUNTS, dtype="int8")
    with np.load(tmp_path / "v.npz", allow_pickle=False) as data:
        assert data["words"].tobytes().decode().split("\n") == WORDS
        np.testing.assert_array_equal(data["counts"], COUNTS)
        np.testing.assert_allclose(data["vectors"] * data["scales"][:, None], MATRIX, atol=0.02)


def test_a_compressed_archive_of_numpy_is_read(tmp_path):
    words = np.frombuffer("\n".join(WORDS).encode(), np.uint8)
    np.savez_compressed(tmp_path / "v.npz", words=words, vectors=np.asfortranarray(MATRIX.astype(float)))
    found = read_vectors(tmp_path / "v.npz")
    assert (found.words, found.matrix.tobytes()) == (WORDS, MATRIX.tobytes())


@pytest.mark.parametrize("dtype", ["i1", "u8", ">i4", "f4"])
def test_an_archive_may_have_strings_and_counts_of_any_type(tmp_path, dtype):
    np.savez(tmp_path / "v.npz", words=np.array(WORDS), vectors=MATRIX, counts=COUNTS.astype(dtype))
    found = read_vectors(tmp_path / "v.npz")
    assert (found.words, found.matrix.tobytes(), found.counts.tolist()) == (WORDS, MATRIX.tobytes(), COUNTS.tolist())
    assert found.counts.dtype == np.int64


UNCOUNTABLE = {
    "fraction": ([1, 2.5, 3, 4, 5], "row 2: the count 2.5 is not a whole number"),
    "NaN": ([1, 2, 3, 4, np.nan], "row 5: the count nan is not a whole number"),
    "too large": (np.array([1, 2**63, 3, 4, 5], np.uint64), "row 2: the count 9223372036854775808 is not a whole"),
    "text": (["1", "2", "3", "4", "5"], "counts? .*, expected whole numbers"),
}


@quiet
@pytest.mark.parametrize(("counts", "message"), UNCOUNTABLE.values(), ids=UNCOUNTABLE)
def test_counts_that_are_no_whole_numbers_are_refused_by_name(tmp_path, counts, message):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    np.savez(tmp_path / "v.npz", words=np.array(WORDS), vectors=MATRIX, counts=np.array(counts))
    table = {"word": WORDS, "vector": MATRIX.tolist(), "count": pa.array(counts)}
    parquet.write_table(pa.table(table), tmp_path / "v.parquet")
    for name in ("v.npz", "v.parquet"):
        with pytest.raises(errors.DataError, match=rf"{name}.*{message}".replace("counts?", "`?counts?`?")):
            read_vectors(tmp_path / name)


@quiet
def test_counts_of_tables_may_be_floats_and_are_unknown_if_one_is_null(tmp_path):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "v.parquet"
    for counts, expected in (
        ([9.0, 5.0, 4.0, 2.0, 1.0], COUNTS.tolist()), (pa.array(COUNTS, pa.uint8()), COUNTS.tolist()),
        (pa.nulls(5), None), (pa.nulls(5, pa.int64()), None), ([1, 2, 3, 4, None], None),
    ):  # fmt: skip
        table = pa.table({"word": WORDS, "vector": MATRIX.tolist(), "count": counts})
        parquet.write_table(table, path, row_group_size=2)
        found = read_vectors(path).counts
        assert (None if found is None else found.tolist()) == expected


@quiet
@pytest.mark.parametrize("name", ["v.parquet", "v.arrow"])
def test_tables_have_typed_columns_and_known_counts(tmp_path, monkeypatch, name):
    pytest.importorskip("pyarrow")
    from pyarrow import feather, parquet

    write_vectors(tmp_path / name, WORDS, MATRIX, counts=COUNTS, dtype="float16")
    table = (parquet.read_table if name == "v.parquet" else feather.read_table)(tmp_path / name)
    assert [str(field.type) for field in table.schema] == [
        "string", "int64", "fixed_size_list<element: halffloat not null>[6]",
    ]  # fmt: skip
    assert table["word"].to_pylist() == WORDS
    monkeypatch.delattr("pyarrow.compute", raising=False)  # as in a process that has not imported it
    found = read_vectors(tmp_path / name, limit=3)
    assert (found.words, found.counts.tolist()) == (WORDS[:3], [9, 5, 4])
    write_vectors(tmp_path / name, WORDS, MATRIX, force=True)
    assert read_vectors(tmp_path / name).counts is None
    assert describe(tmp_path / name)["words"] == 5


@pytest.mark.parametrize("size", [-1, 2])
def test_repair_leaves_out_the_rows_of_a_table_that_have_a_null(tmp_path, size):
    pa, path = pytest.importorskip("pyarrow"), tmp_path / "v.arrow"
    vectors = pa.array([[None, 1], [1, 2], [3, None], [5, 6], [7, 8], [9, 9], [0, 0]], pa.list_(pa.float32(), size))
    words = pa.array(["a", "b", "c", None, "e", "f", "g"])
    for column in (words, words.dictionary_encode()):
        table = pa.table({"word": column, "vector": vectors, "count": [7, 6, 5, 4, 3, 2, 1]})
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
        with pytest.raises(
            errors.DataError, match=r"v\.arrow, row 1: a value is not a finite number; .*`w2vtrain conv"
        ):
            read_vectors(path)
        repaired = read_vectors(path, lenient=True)
        assert (repaired.words, repaired.matrix.tolist()) == (["b", "e", "f", "g"], [[1, 2], [7, 8], [9, 9], [0, 0]])
        assert repaired.counts.tolist() == [6, 3, 2, 1]
        assert [flaw.split(", ")[1] for flaw in repaired.flaws] == [
            "row 1: a value is not a finite number: left out", "row 3: a value is not a finite number: left out",
            "row 4: the word is empty: left out",
        ]  # fmt: skip


@quiet
def test_tables_of_other_programs_are_read_or_refused(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    lists = pa.array(MATRIX.astype(float).tolist())
    parquet.write_table(pa.table({"vector": lists, "word": WORDS}), tmp_path / "v.parquet")
    assert read_vectors(tmp_path / "v.parquet").matrix.tobytes() == MATRIX.tobytes()
    for columns, message in (
        ({"token": WORDS, "vector": lists}, "no column `word`"),
        ({"word": WORDS, "vector": [1.0] * 5}, "expected lists of float32"),
        ({"word": WORDS, "vector": [[1.0]] * 4 + [[1.0, 2.0]]}, "row 5: a vector of 2 values, expected 1"),
        ({"word": WORDS, "vector": [[1.0], None] * 2 + [[1.0]]}, "row 2: a vector of 0 values, expected 1"),
        ({"word": WORDS, "vector": pa.array([[]] * 5, lists.type)}, "row 1: a vector without values"),
        ({"word": WORDS, "vector": pa.array([None, *MATRIX.tolist()[1:]], lists.type)}, "row 1: a vector without"),
        ({"word": ["a"] * 5, "vector": lists}, "occurs a second time"),
    ):
        parquet.write_table(pa.table(columns), tmp_path / "v.parquet")
        with pytest.raises(errors.DataError, match=message):
            read_vectors(tmp_path / "v.parquet")


@quiet
@pytest.mark.parametrize(("counts", "message"), [([3, -1], "the count of 'b' is negative"), ([3, 1.5], "1.5 is not")])
def test_counts_that_no_text_has_are_neither_written_nor_read(tmp_path, counts, message):
    path = tmp_path / "v.npz"
    with pytest.raises(errors.DataError, match=f"v.npz.*{message}"):
        write_vectors(path, ["a", "b"], np.eye(2), counts=counts)
    assert not path.exists()
    np.savez(path, words=["a", "b"], vectors=np.eye(2), counts=counts)
    with pytest.raises(errors.DataError, match=f"v.npz.*{message}"):
        read_vectors(path)


@quiet
@pytest.mark.parametrize("written", ["int8", "float32"])
@pytest.mark.parametrize("dtype", [np.int8, np.int64])
def test_the_smallest_integers_are_written_as_other_numbers_are(tmp_path, dtype, written):
    smallest = np.iinfo(dtype).min
    words, matrix = np.array(["a", "b"]), np.array([[smallest, 1], [5, 3]], dtype)
    write_vectors(tmp_path / "v.npz", words, matrix, counts=[2, 1], dtype=written)
    found = read_vectors(tmp_path / "v.npz").matrix
    np.testing.assert_allclose(found / float(smallest), matrix / float(smallest), atol=0.01)
    with pytest.raises(errors.DataError, match="beyond 65,504"):
        write_vectors(tmp_path / "h.npz", words, np.full((2, 2), np.iinfo(np.int32).min, np.int32), dtype="float16")


def test_the_projector_gets_numbers_and_metadata_with_a_header_only_for_two_columns(tmp_path):
    write_vectors(tmp_path / "v.tsv", WORDS, MATRIX)
    np.testing.assert_array_equal(np.loadtxt(tmp_path / "v.tsv", np.float32, delimiter="\t"), MATRIX)
    assert (tmp_path / "v.metadata.tsv").read_text("utf-8").splitlines() == WORDS
    write_vectors(tmp_path / "v.tsv", WORDS, MATRIX, counts=COUNTS, force=True)
    assert (tmp_path / "v.metadata.tsv").read_text("utf-8").splitlines()[:2] == ["word\tcount", "the\t9"]


@quiet
@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
def test_model2vec_finds_each_word_and_means_of_texts(tmp_path, dtype):
    model2vec = pytest.importorskip("model2vec")
    write_vectors(tmp_path / "folder", WORDS, MATRIX, "model2vec", dtype=dtype)
    model = model2vec.StaticModel.from_pretrained(tmp_path / "folder")
    write_vectors(tmp_path / "kept.npz", WORDS, MATRIX, dtype=dtype)
    kept = read_vectors(tmp_path / "kept.npz").matrix
    atol = 2e-3 if dtype == "float16" else 1e-6  # model2vec computes in the dtype of the file
    np.testing.assert_allclose(model.encode(["The", "königlich"]), kept[:2], atol=atol)
    np.testing.assert_allclose(model.encode("(Königlich), of zyx!"), kept[[1, 2]].mean(axis=0), atol=atol)


@quiet
def test_sentence_transformers_loads_the_same_folder(tmp_path):
    library = pytest.importorskip("sentence_transformers")
    write_vectors(tmp_path / "folder", WORDS, MATRIX, "model2vec")
    model = library.SentenceTransformer(str(tmp_path / "folder"), device="cpu")
    np.testing.assert_allclose(model.encode(["The", "of x"]), [MATRIX[0], MATRIX[[2, 4]].mean(axis=0)], atol=1e-6)


@quiet
def test_words_with_capitals_and_punctuation_are_split_at_white_space_only(tmp_path):
    model2vec = pytest.importorskip("model2vec")
    words = ["The", "x-y"]
    write_vectors(tmp_path / "folder", words, MATRIX[:2], "model2vec")
    model = model2vec.StaticModel.from_pretrained(tmp_path / "folder")
    np.testing.assert_allclose(model.encode(["The x-y", "the"]), [MATRIX[:2].mean(axis=0), np.zeros(6)], atol=1e-6)


@quiet
def test_spacy_loads_the_folder_and_finds_the_words_of_a_text(tmp_path):
    spacy = pytest.importorskip("spacy")
    write_vectors(tmp_path / "folder", WORDS, MATRIX, "spacy")
    nlp = spacy.load(tmp_path / "folder")
    text = nlp("The (königlich), zyx!of😀x\u200bx\u00ad of")
    assert [(token.text, token.has_vector) for token in text] == [
        ("The", True), ("(", False), ("königlich", True), (")", False), (",", False), ("zyx", False), ("!", False),
        ("of", True), ("😀", False), ("x", True), ("\u200b", False), ("x", True), ("\u00ad", False), ("of", True),
    ]  # fmt: skip
    np.testing.assert_array_equal(text[2].vector, MATRIX[1])
    assert spacy.load(tmp_path / "folder", config={"nlp": {"lang": "de"}}).lang == "de"
    nlp.to_disk(tmp_path / "theirs")
    with pytest.raises(errors.OutputError, match="never replaced"):
        write_vectors(tmp_path / "theirs", WORDS, MATRIX, "spacy", force=True)


@given(st.text(min_size=1, max_size=40))
def test_words_have_the_numbers_that_spacy_gives_them(word):
    strings = pytest.importorskip("spacy.strings")
    try:
        data = word.encode()
    except UnicodeEncodeError:
        return
    assert hash64(data) == strings.hash_string(word)


@quiet
def test_spacy_finds_words_that_it_names_by_number_instead_of_by_hash(tmp_path):
    write_vectors(tmp_path / "folder", ["the", "mark", "X"], MATRIX[:3], "spacy")
    keys = msgspec.msgpack.decode((tmp_path / "folder/vocab/key2row").read_bytes())
    assert keys == {hash64(b"the"): 0, hash64(b"mark"): 1, hash64(b"X"): 2, 423: 1, 101: 2}
    spacy = pytest.importorskip("spacy")
    words = list(filter(None, spacy.symbols.IDS))
    write_vectors(tmp_path / "symbols", words, np.eye(len(words), 2) + 1, "spacy")
    vectors = spacy.load(tmp_path / "symbols").vocab.vectors
    np.testing.assert_array_equal(vectors.find(keys=words), range(len(words)))


def words_in(folder):
    """Return the words of a folder of spaCy or model2vec, in the order of their vectors."""
    if (folder / "vocab").exists():
        return json.loads((folder / "vocab/strings.json").read_text("utf-8"))
    vocabulary = json.loads((folder / "tokenizer.json").read_text("utf-8"))["model"]["vocab"]
    return sorted(vocabulary.keys() - {"[UNK]"}, key=vocabulary.get)


@pytest.mark.parametrize("form", ["spacy", "model2vec"])
def test_a_folder_is_replaced_only_if_we_wrote_all_of_it(tmp_path, form):
    folder = tmp_path / "folder"
    write_vectors(folder, WORDS, MATRIX, form)
    with pytest.raises(errors.OutputError, match="use force"):
        write_vectors(folder, WORDS, MATRIX, form)
    write_vectors(folder, WORDS[:2], MATRIX[:2], form, force=True)
    assert words_in(folder) == WORDS[:2]
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(errors.OutputError, match="never replaced"):
        write_vectors(folder, WORDS, MATRIX, form, force=True)
    assert (folder / "notes.txt").read_text() == "mine"


def test_a_failure_leaves_the_old_folder_and_nothing_else(tmp_path, monkeypatch):
    folder = tmp_path / "folder"
    write_vectors(folder, WORDS, MATRIX, "model2vec")

    def fails(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("w2vtrain.leaves.export.model2vec.orjson.dumps", fails, raising=False)
    with pytest.raises((errors.WriteError, AttributeError), match="No space left"):
        write_vectors(folder, WORDS[:2], MATRIX[:2], "model2vec", force=True)
    assert words_in(folder) == WORDS
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


@pytest.mark.parametrize("name", ["v.npy", "v.tsv"])
def test_a_failure_leaves_both_old_files_so_that_words_and_vectors_belong_together(tmp_path, monkeypatch, name):
    write_vectors(tmp_path / name, WORDS, MATRIX)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def fails(*_, **__):
        raise errors.WriteError("No space left")

    monkeypatch.setattr("w2vtrain.formats.vectors.packed_write", fails)
    with pytest.raises(errors.WriteError, match="No space left"):
        write_vectors(tmp_path / name, WORDS[::-1], MATRIX[::-1], force=True)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_run_writes_a_folder_or_two_files_and_knows_them_as_its_own(tmp_path, w2vtrain_here):
    (tmp_path / "text").write_text("a b c d a b\n" * 200)
    fit = ["fit", "text", "-q", "--epochs", "1", "--min-count", "1", "--vector-size", "8"]
    for more, names in (
        (["-o", "m", "--format", "model2vec"], {"m", "m.json"}),
        (["-o", "v.npy"], {"v.npy", "v.words.txt", "v.npy.json"}),
    ):
        before = {path.name for path in tmp_path.iterdir()}
        assert w2vtrain_here([*fit, *more], tmp_path)[0] == 0
        assert {path.name for path in tmp_path.iterdir()} - before == names
        code, _, said = w2vtrain_here([*fit, *more], tmp_path)
        assert (code, "exists: use --force" in said) == (73, True), said
        assert w2vtrain_here([*fit, *more, "--force"], tmp_path)[0] == 0
    assert sorted(words_in(tmp_path / "m")) == sorted(read_vectors(tmp_path / "v.npy").words) == ["a", "b", "c", "d"]


def test_only_the_file_beside_an_array_is_an_input_too(tmp_path, w2vtrain_here):
    write_vectors(tmp_path / "v.txt", WORDS, MATRIX)
    for name in ("v.tsv", "v.npy"):
        for _ in range(2):  # the second time, the other file is there
            code, _, said = w2vtrain_here(["convert", "v.txt", "-o", name, "--force"], tmp_path)
            assert code == 0, said
    code, _, said = w2vtrain_here(["convert", "v.npy", "-o", "v.words.txt", "--force"], tmp_path)
    assert (code, "v.words.txt: is both input and output" in said) == (2, True), said


def test_what_is_written_for_other_programs_alone_is_refused_in_one_line(tmp_path, w2vtrain_here):
    for form in ("spacy", "model2vec"):
        write_vectors(tmp_path / form, WORDS, MATRIX, form)
    write_vectors(tmp_path / "v.tsv", WORDS, MATRIX)
    write_vectors(tmp_path / "one.tsv", WORDS, MATRIX[:, :1])
    for name, advice in (
        ("spacy", "spacy is a folder of the format spacy, which is written and not read: name the file of vectors"),
        ("model2vec", "is a folder of the format model2vec, which is written and not read: name the file of vectors"),
        ("v.tsv", "v.tsv is a matrix of numbers without words, as numpy.savetxt and TensorBoard write it: save"),
        ("one.tsv", "save the numbers with numpy.save as X.npy, and beside it their words, one per line, as X.words"),
    ):
        for command in (["convert", name, "-o", "w.txt"], ["neighbors", name, "the"]):
            code, _, said = w2vtrain_here(command, tmp_path)
            assert (code, advice in said, said.count("\n")) == (65, True, 1), said
    for name in ("spacy", "model2vec"):
        code, _, said = w2vtrain_here(["info", name], tmp_path)
        assert (code, "written and not read" in said, said.count("\n")) == (65, True, 1), said
    (tmp_path / "spacy" / "meta.json").unlink()
    code, _, said = w2vtrain_here(["info", "spacy"], tmp_path)
    assert (code, "spacy is a folder: name a file" in said) == (66, True), said


@pytest.mark.parametrize(
    ("code", "words", "message"),
    [
        (2, ["-o", "v.txt", "--dtype", "int8"], "the format text has no int8 values"),
        (2, ["-o", "-", "--format", "spacy"], "more than one file"),
        (2, ["-o", "m/", "--format", "model2vec"], "leave out the slash"),
        (2, ["-o", "v.npz.gz"], "not compressed"),
        (2, ["-o", "v.parquet", "--format", "text"], ".parquet files are not written here; compressed ones end"),
        (2, ["-o", "v.npz", "--format", "model"], ".npz files are not written here: choose another suffix"),
        (73, ["-o", "in.txt", "--format", "spacy", "--force"], "is a file, and this format is a folder"),
    ],
)
def test_what_a_format_cannot_be_is_one_line(tmp_path, w2vtrain_here, code, words, message):
    write_vectors(tmp_path / "in.txt", WORDS, MATRIX)
    write_vectors(tmp_path / "copy.txt", WORDS, MATRIX)
    found, _, said = w2vtrain_here(["convert", "copy.txt", *words], tmp_path)
    assert (found, message in said, said.count("\n")) == (code, True, 1), said


def test_a_missing_package_is_named_before_anything_is_written(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(errors.ConfigError, match=r"pip install 'w2vtrain\[table\]'"):
        write_vectors(tmp_path / "v.parquet", WORDS, MATRIX)
    assert not list(tmp_path.iterdir())


def test_hostile_arrays_are_refused_and_run_nothing(tmp_path):
    words = np.frombuffer(b"a\nb", np.uint8)
    objects = np.array([[1, 2], [3, 4]], object)
    np.savez(tmp_path / "objects.npz", words=words, vectors=objects)
    np.savez(tmp_path / "names.npz", words=np.array(["a", "b"], object), vectors=np.ones((2, 2)))
    np.savez(tmp_path / "column.npz", words=np.array([["a"], ["b"]]), vectors=np.ones((2, 2)))
    np.savez(tmp_path / "few.npz", words=words, vectors=np.ones((3, 2)))
    np.savez(tmp_path / "one.npz", words=words, vectors=np.ones((2, 2)), scales=np.float32(1))
    np.savez_compressed(tmp_path / "bomb.npz", words=words, vectors=np.zeros((2, 10_000_000), np.float32))
    np.save(tmp_path / "objects.npy", objects)
    header = np.lib.format.header_data_from_array_1_0(np.ones((2, 2), np.float32)) | {"shape": (1 << 40, 300)}
    with (tmp_path / "huge.npy").open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
    for name, message in (
        ("objects.npz", r"the array vectors has Python objects, stored .* save numpy\.array\(vectors, float\)$"),
        ("names.npz", r"names\.npz: the array words has Python objects, stored .* save numpy\.array\(words, str\)$"),
        ("column.npz", r"column\.npz: words is an array \(2, 1\) of <U1, expected one dimension of strings"),
        ("few.npz", "3 vectors, but words has 2"),
        ("one.npz", "2 vectors, but scales has 1"), ("bomb.npz", "the archive has 80,.* more than 100 times"),
        ("objects.npy", r"the array vectors has Python objects, stored .* save numpy\.array\(vectors, float\)$"),
        ("huge.npy", "is the copy incomplete"),
    ):  # fmt: skip
        with pytest.raises(errors.DataError, match=message):
            read_vectors(tmp_path / name)


@pytest.mark.parametrize("damage", ["cut", "short member", "lzma"])
def test_a_damaged_archive_is_one_line_with_the_code_of_invalid_data(tmp_path, w2vtrain_here, damage):
    def member(array):
        np.save(file := io.BytesIO(), array)
        return file.getvalue()

    method = zipfile.ZIP_LZMA if damage == "lzma" else zipfile.ZIP_STORED
    with zipfile.ZipFile(tmp_path / "v.npz", "w", method) as packed:
        packed.writestr("words.npy", member(np.frombuffer(b"a\nb", np.uint8)))
        packed.writestr("vectors.npy", member(np.random.default_rng(1).normal(size=(2, 500))))
        if damage == "short member":  # the directory promises what the header does, which is more than there is
            info, values = packed.getinfo("vectors.npy"), member(np.ones((2, 5000)))
            packed.fp.seek(info.header_offset + len(info.FileHeader()))
            packed.fp.write(values[:2000])
            info.file_size = info.compress_size = len(values)
    data = bytearray((tmp_path / "v.npz").read_bytes())
    if damage == "lzma":
        data[2000] ^= 255
    (tmp_path / "v.npz").write_bytes(data[:-50] if damage == "cut" else data)
    code, _, said = w2vtrain_here(["convert", "v.npz", "-o", "v.txt"], tmp_path)
    assert (code, said.count("\n")) == (65, 1)
    assert said.endswith((": it is cut off\n", "): is the copy incomplete?\n"))


def test_words_of_every_type_of_strings_are_read(tmp_path):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")

    words = [f"wörd_{i}" for i in range(1000)]
    matrix = np.random.default_rng(2).normal(size=(1000, 3)).astype(np.float32)
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(matrix.reshape(-1)), 3)
    views = pa.array(words, pa.string_view())  # what Polars writes
    for column in (pa.array(words).dictionary_encode(), pa.array(words, pa.large_string()), views):
        table = pa.table({"word": column, "vector": vectors})
        parquet.write_table(table, tmp_path / "v.parquet", store_schema=False)
        with pa.ipc.new_file(tmp_path / "v.arrow", table.schema) as writer:
            writer.write_table(table)
        for name in ("v.parquet", "v.arrow"):
            for limit in (None, 300):
                found = read_vectors(tmp_path / name, limit=limit)
                assert found.words == words[:limit]
                assert found.matrix.tobytes() == matrix[:limit].tobytes()


def test_scales_that_are_too_large_end_a_command_without_a_warning_of_numpy(tmp_path, w2vtrain_here):
    words, scales = np.frombuffer(b"a\nb", np.uint8), np.array([1, 3e38], np.float32)
    np.savez(tmp_path / "v.npz", words=words, vectors=np.array([[1, 2], [3, 4]], np.int8), scales=scales)
    code, _, said = w2vtrain_here(["convert", "v.npz", "-o", "v.txt"], tmp_path)
    assert (code, said.count("\n")) == (65, 1)
    assert "v.npz, row 2: a value is not a finite number" in said
