"""Tests of the registry of vector formats: what each format must do, and adding one."""

import re
import subprocess
import sys
from types import ModuleType

import numpy as np
import pytest

from w2vtrain.embeddings.keyed_vectors import KeyedVectors
from w2vtrain.embeddings.model import Model, save_model
from w2vtrain.errors import DataError, UsageError
from w2vtrain.formats import vector_formats
from w2vtrain.formats.describe import describe
from w2vtrain.formats.sniff import MODEL_FILES, sniff
from w2vtrain.formats.vector_formats import binary, text
from w2vtrain.formats.vectors import format_of, read_vectors, write_vectors

WORDS = ["the", "königlich", "0.5"]
MATRIX = np.array([[0.1, -2.5e-8, 3e30], [1, 2, 3], [1e-45, 3.4028235e38, -0.0]], "f4")
OTHERS = ["arrow", "binary", "glove", "model2vec", "npy", "npz", "parquet", "spacy", "tensorboard"]

TOY = '''
"""A comma-separated table that begins with "#toy"."""

import numpy as np

from w2vtrain.formats.vector_formats.contract import Code, Promise
from w2vtrain.formats.vector_formats.rows import read_rows


def look(path):
    line = path.read_bytes().partition(b"\\n")[0]
    return Promise(int(line.split()[1]), int(line.split()[2]), len(line) + 1)


def parse(file, rows, promised, start):
    for number, line in enumerate(file, 2):
        if not rows.missing(1):
            return
        word, *values = line.rstrip(b"\\n").split(b",")
        rows.add([word], np.array([values], "f4"), lambda _: f":{number}")


def read(path, found, lenient, limit):
    return read_rows(path, found, lenient, limit, parse)


def write(file, table):
    file.write(b"#toy %d %d\\n" % table.matrix.shape)
    for word, row in zip(table.words, table.matrix, strict=True):
        file.write(word + b"," + ",".join(map(repr, row.tolist())).encode() + b"\\n")


CODE = {"toy": Code(write, read, look=look)}
'''


def claimed(data):
    """Return the names of all readers that take data for theirs."""
    signatures = {name: form.signature for name, form in vector_formats.formats().items() if form.signature}
    return [
        *(reader.name for reader in MODEL_FILES if reader.sniff(data, True) is not None),
        *(name for name, signature in signatures.items() if re.match(signature, data)),
        *(name for name, found in (("binary", binary), ("text", text)) if found.sniff(data, True) is not None),
    ]


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """Add the toy format for the duration of a test, and return the test's folder."""
    module = ModuleType("toy")
    exec(TOY, vars(module))
    monkeypatch.setitem(sys.modules, "w2vtrain.formats.vector_formats.toy", module)
    row = vector_formats.Format("a toy", (".csv",), "toy", compressible=True, signature=b"#toy ")
    monkeypatch.setitem(vector_formats.FORMATS, "toy", row)
    return tmp_path


def test_a_row_and_a_module_add_a_format_to_all_functions(toy):
    assert list(vector_formats.formats()) == ["text", *OTHERS, "toy"]
    assert format_of("vectors.CSV") == "toy"
    write_vectors(toy / "v.csv", WORDS, MATRIX)
    write_vectors(toy / "w", WORDS, MATRIX, "toy")
    assert (toy / "v.csv").read_bytes().startswith(b"#toy 3 3\nthe,")
    assert (toy / "v.csv").read_bytes() == (toy / "w").read_bytes()
    assert sniff(toy / "w")[:3] == ("toy", 3, 3)
    found = read_vectors(toy / "w")
    assert (found.words, found.format, found.matrix.tobytes()) == (WORDS, "toy", MATRIX.tobytes())
    assert read_vectors(toy / "w", limit=2).words == WORDS[:2]
    assert describe(toy / "w") | {"path": ""} == {
        "path": "", "kind": "toy vectors", "bytes": (toy / "w").stat().st_size, "words": 3, "dim": 3,
        "words_exact": True, "header": True,
    }  # fmt: skip


def test_error_messages_list_a_new_format(toy):
    with pytest.raises(
        UsageError, match=r"known are \.txt \(text\), \.vec \(text\), .*\.bin \(binary\), .*\.csv \(toy\), or format="
    ):
        format_of("a.json")
    with pytest.raises(UsageError, match=r"use text or .* or toy"):
        format_of("a", "json")
    (toy / "cut.csv").write_bytes(b"#toy 3 2\nthe,1.25,2.25\nof,3,4\n")
    with pytest.raises(DataError, match="promises 3 vectors, the file has 2"):
        read_vectors(toy / "cut.csv")
    (toy / "huge.csv").write_bytes(b"#toy 3000000 20\nthe,1,2\nof,3,4\n")
    with pytest.raises(DataError, match="it is cut off or its header is wrong"):
        read_vectors(toy / "huge.csv")


def test_every_format_fulfills_the_contract():
    known = vector_formats.formats()
    for name, found in known.items():
        code = vector_formats.code(name)
        assert bool(code.read) == found.is_read, name
    suffixes = [suffix for found in known.values() for suffix in found.suffixes]
    assert len(suffixes) == len(set(suffixes))
    assert all(suffix.startswith(".") and suffix == suffix.lower() for suffix in suffixes)


def test_a_format_is_chosen_without_importing_the_modules_of_others():
    program = r"""if True:
        import re, sys
        from w2vtrain.formats.vectors import write_vectors
        write_vectors("-", ["a"], __import__("numpy").ones((1, 1)), "glove")
        print([name for name in sys.modules if re.match(r"w2vtrain.(tables|export|.*\.arrays)", name)])
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "a 1.0\n[]\n"


@pytest.mark.parametrize("name", [name for name, form in vector_formats.formats().items() if form.is_read])
def test_every_format_reads_what_it_writes_and_no_other_claims_it(tmp_path, name):
    path = tmp_path / "file"
    write_vectors(path, WORDS, np.pad(MATRIX, ((0, 0), (0, 5)))[:, :3], name)
    read_as = "text" if name == "glove" else name
    found = read_vectors(path)
    assert (found.words, found.format, found.matrix.tobytes()) == (WORDS, read_as, MATRIX.tobytes())
    assert (found.header, found.compression, found.skipped) == (name != "glove", None, 0)
    assert sniff(path).kind == read_as
    data = path.read_bytes()
    assert claimed(data) == [read_as]
    size = vector_formats.code(name).size([word.encode() for word in WORDS], 3)
    assert size in (None, len(data))


def test_no_format_claims_a_model_or_keyed_vectors(tmp_path):
    words, settings = [*WORDS[:2], '"kind":"keyed vectors"'], {"kind": "keyed vectors"}
    save_model(tmp_path / "model", Model(words, np.array([3, 2, 1]), MATRIX, MATRIX, settings=settings))
    KeyedVectors.of(words, MATRIX, [3, 2, 1]).save(tmp_path / "keyed vectors")
    for path in tmp_path.iterdir():
        data = path.read_bytes()
        assert claimed(data) == [path.name]
        assert read_vectors(path).words == words
