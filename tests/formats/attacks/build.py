"""Generator of the hostile files in this folder, which are committed; run it again after adding one.

The files are used by tests/formats/test_attacks.py and as seeds by tests/fuzz.py.
"""

import bz2
import gzip
import io
import json
import lzma
import os
import pickle
import struct
import zipfile
from pathlib import Path

import numpy as np
import zstandard


class RunsCode:
    """An object whose pickle runs a function when it is loaded, as a hostile pickle does."""

    def __reduce__(self):
        return os.mkdir, ("pickle-was-run",)


def safetensors_file(header, data=b"", length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def tensor(dtype, shape, start, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}


def model(**changes):
    """Return a model of two words and two dimensions, valid except for changes: name=(dtype, shape, bytes) or None."""
    parts = {
        "counts": ("I64", [2], np.array([5, 3], "<i8").tobytes()),
        "input": ("F32", [2, 2], np.ones(4, "<f4").tobytes()),
        "output": ("F32", [2, 2], np.ones(4, "<f4").tobytes()),
        "words": ("U8", [3], b"a\nb"),
    }
    metadata = {"w2vtrain": "1", "settings": "{}", "record": "{}"} | changes.pop("metadata", {})
    header, data = {"__metadata__": {k: v for k, v in metadata.items() if v is not None}}, b""
    for name, part in (parts | changes).items():
        if part is not None:
            header[name] = tensor(part[0], part[1], len(data), len(data) + len(part[2]))
            data += part[2]
    return safetensors_file(header, data)


def scored(objective="neg", options=None, arrays=None, **settings):
    """Return a model with valid vectors, but an invalid scorer. arrays: the objective's arrays, by name."""
    kinds = {"<f4": "F32", "<i8": "I64", "<i4": "I32", "|u1": "U8"}
    parts = {n: (kinds[a.dtype.str], list(a.shape), a.tobytes()) for n, a in (arrays or {}).items()}
    about = {"vector_size": 2, "objective": objective, "options": options or {}, **settings}
    return model(metadata={"settings": json.dumps(about)}, **parts)


def fasttext(words=(b"ab", b"cd"), counts=(9, 5), labels=0, more=b"", **changes):
    """Return a model of fastText with two words, one dimension and two buckets, valid except for the changes.

    labels: how many of the words are labels; changes: arguments by fastText's names, and what follows them.
    """
    V = len(words) - labels
    parts = {"sizes": (len(words), V, labels), "pruned": -1, "quantized": 0, "rows": (V + 2, 1), "values": 1.0}
    arguments = {
        "version": 12, "dim": 1, "ws": 5, "epoch": 5, "minCount": 1, "neg": 5, "wordNgrams": 1, "loss": 2, "model": 2,
        "bucket": 2, "minn": 3, "maxn": 6, "lrUpdateRate": 100, "t": 1e-4,
    }  # fmt: skip
    parts, arguments = ({name: changes.get(name, value) for name, value in d.items()} for d in (parts, arguments))
    data = struct.pack("<2i12id", 793_712_314, *arguments.values())
    data += struct.pack("<3i2q", *parts["sizes"], 14, parts["pruned"])
    for i, (word, count) in enumerate(zip(words, counts, strict=True)):
        data += word + b"\0" + struct.pack("<qb", count, i >= V)
    for shape, m in ((parts["rows"], V + 2), ((V, 1), V)):
        data += struct.pack("<B2q", parts["quantized"], *shape) + np.full(m, parts["values"], "<f4").tobytes()
    return data + more


def network(cell, char_dim, letters):
    """Return the arrays of char-softmax, all zeros."""
    shapes = {"start": (2, cell), "embeddings": (letters, char_dim), "inputs": (char_dim, 3 * cell)}
    shapes |= {"recurrent": (cell, 3 * cell), "offsets": (3 * cell,), "readout": (cell, letters), "prior": (letters,)}
    return {f"char.{name}": np.zeros(shape, "<f4") for name, shape in shapes.items()}


def tree(start=(0, 1, 2), kind="<i8", codes=(0, 1)):
    """Return the arrays of hs for two words, valid by default."""
    arrays = {"start": np.array(start, kind), "nodes": np.zeros(2, "<i4"), "codes": np.array(codes, "|u1")}
    return {"output": np.ones((1, 2), "<f4")} | {f"tree.{name}": array for name, array in arrays.items()}


def classes(of=(0, 1), kind="<i4", rows=2):
    """Return the arrays of class-softmax for two words, valid by default."""
    return {"class.of": np.array(of, kind), "class.rows": np.ones((rows, 2), "<f4")}


def cluster(words=1, columns=2):
    """Return the arrays of a cluster of adaptive-softmax, all zeros. Its projection has 2 rows."""
    return {"tails.0": np.zeros((words, columns), "<f4"), "projections.0": np.zeros((2, 2), "<f4")}


def archive():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as box:
        box.writestr(zipfile.ZipInfo("words.txt"), b"0" * 1_000_000, zipfile.ZIP_DEFLATED)
    return file.getvalue()


def array():
    file = io.BytesIO()
    np.save(file, np.array([None]), allow_pickle=True)
    return file.getvalue()


def batch(form, column, compression):
    """Return a table with one batch. form: "file" or "stream"."""
    import pyarrow as pa

    found, sink = pa.table({"text": column}), pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with getattr(pa.ipc, f"new_{form}")(sink, found.schema, options=options) as writer:
        writer.write_table(found)
    return sink.getvalue().to_pybytes()


def empty_lists():
    """Return as many lists as a batch may have, all of no words, which take no bytes."""
    import pyarrow as pa

    return pa.Array.from_buffers(pa.list_(pa.string(), 0), (1 << 31) - 1, [None], children=[pa.array([], pa.string())])


def zeros(first, rows, dim):
    """Return rows of text vectors of zeros, as they follow the header; first: the number in the first word."""
    return b"".join(b"w%d" % row + b" 0" * dim + b"\n" for row in range(first, first + rows))


def binary_zeros(rows, dim):
    return b"%d %d\n" % (rows, dim) + b"".join(b"w%d " % row + bytes(4 * dim) + b"\n" for row in range(rows))


NAN = np.array([1, np.nan], "<f4").tobytes()
ROW = np.array([1, 2], "<f4").tobytes()
FILES = {
    # text
    "huge-header.txt": b"2000000000 1000\nthe 1 2\n",
    "huge-dim.txt": b"1 999999999999999999\nthe 1 2\n",
    "digits-header.txt": b"9" * 5000 + b" 2\nthe 1 2\n",
    "negative-rows.txt": b"-2 2\nthe 1 2\nof 3 4\n",
    "negative-dim.txt": b"2 -2\nthe 1 2\nof 3 4\n",
    "zero-dim.txt": b"2 0\nthe\nof\n",
    "zero-rows.txt": b"0 2\n",
    "too-few.txt": b"3 2\nthe 1 2\nof 3 4\n",
    "too-many.txt": b"1 2\nthe 1 2\nof 3 4\n",
    "short-row.txt": b"2 2\nthe 1 2\nof 3\n",
    "long-row.txt": b"2 2\nthe 1 2\nof 3 4 5\n",
    "compensating-rows.txt": b"2 2\nthe 1 2 3\nof 4\n",
    "compensating-spaces.txt": b"2 2\nthe 1\t2 3\nof  4\n",
    "duplicate.txt": b"2 2\nthe 1 2\nthe 3 4\n",
    "nan.txt": b"2 2\nthe 1 nan\nof 3 4\n",
    "infinity.txt": b"2 2\nthe 1 2\nof inf 4\n",
    "overflow.txt": b"2 2\nthe 1 2\nof 1e39 4\n",
    "no-number.txt": b"2 2\nthe 1 2\nof 3 x4\n",
    "empty-word.txt": b"2 2\nthe 1 2\n 3 4\n",
    "empty-line.txt": b"3 2\nthe 1 2\n\nof 3 4\n",
    "latin1.txt": b"2 2\nthe 1 2\ncaf\xe9 3 4\n",
    "utf16.txt": "2 2\nthe 1 2\nof 3 4\n".encode("utf-16"),
    "ragged-glove.txt": b"the 1 2 3\nof 4 5\n",
    "words-only.txt": b"the\nof\nand\n",
    "vocabulary.txt": b"the 12\nof 7\n",
    "empty.txt": b"",
    "newlines.txt": b"\n" * 100,
    "bomb.txt.gz": gzip.compress(b"1000000000 1000\n" + b"0" * 40_000_000, mtime=0),
    # Rows of zeros that compress a thousandfold or more, with a header that is right, or without one.
    "bomb-header.txt.xz": lzma.compress(b"3000 20000\n" + zeros(0, 3000, 20_000)),
    "bomb-glove.txt.bz2": bz2.compress(zeros(0, 3000, 20_000)),
    "bomb-members.txt.bz2": b"".join(bz2.compress(zeros(first, 100, 20_000)) for first in range(0, 3000, 100)),
    "bomb-nested.txt.gz": gzip.compress(gzip.compress(zeros(0, 3000, 20_000), mtime=0), mtime=0),
    "bomb-header.bin.zst": zstandard.compress(binary_zeros(400, 200_000)),
    "cut.txt.gz": gzip.compress(b"2 2\nthe 1 2\nof 3 4\n" * 1000, mtime=0)[:-10],
    "garbage.txt.bz2": bz2.compress(b"2 2\nthe 1 2\nof 3 4\n") + b"this is no member" * 9,
    "garbage.txt.xz": lzma.compress(b"2 2\nthe 1 2\nof 3 4\n") + b"this is no member" * 9,
    # A window of 2 GiB, and 4-byte blocks that expand to 128 KiB each.
    "window.txt.zst": b"\x28\xb5\x2f\xfd\0\xa8\x80\0\0" + b"1000000000 1000\n" + b"\x02\0\x100" * 2000 + b"\x03\0\x100",
    "broken.zst": b"\x28\xb5\x2f\xfd" + b"\xff" * 40,
    "broken.xz": b"\xfd7zXZ\x00" + b"\x00" * 40,
    "broken.bz2": b"BZh9" + b"\x00" * 40,
    # binary
    "huge-header.bin": b"2000000000 1000\nthe " + ROW,
    "truncated.bin": b"2 2\nthe " + ROW + b"\nof " + ROW[:-1],
    "too-few.bin": b"2 2\nthe_word_is_long_enough " + ROW + b"\n",
    "too-many.bin": b"1 2\nthe " + ROW + b"\nof " + ROW + b"\n",
    "duplicate.bin": b"2 2\nthe " + ROW + b"\nthe " + ROW + b"\n",
    "nan.bin": b"2 2\nthe " + ROW + b"\nof " + NAN + b"\n",
    "empty-word.bin": b"2 2\nthe " + ROW + b"\n " + ROW + b"\n",
    "tab-word.bin": b"2 2\nthe " + ROW + b"\no\tf " + ROW + b"\n",
    "latin1.bin": b"2 2\nthe " + ROW + b"\ncaf\xe9 " + ROW + b"\n",
    "endless-word.bin": b"2 2\nthe " + ROW + b"\n" + b"x" * 70_000 + ROW,
    # models of fastText
    "fasttext-version.bin": fasttext(version=13),
    "fasttext-supervised.bin": fasttext(model=3, loss=3),
    "fasttext-quantized.bin": fasttext(quantized=1),
    "fasttext-pruned.bin": fasttext(pruned=2),
    "fasttext-huge-dim.bin": fasttext(dim=2**31 - 1),
    "fasttext-huge-bucket.bin": fasttext(bucket=2**31 - 1),
    "fasttext-huge-rows.bin": fasttext(bucket=2**31 - 3, rows=(2**31 - 1, 1)),
    "fasttext-overflowing-rows.bin": fasttext(rows=(2**62, 2**62)),
    "fasttext-negative-rows.bin": fasttext(rows=(-4, -1)),
    "fasttext-huge-sizes.bin": fasttext(sizes=(2**31 - 1, 2**31 - 1, 0)),
    "fasttext-negative-labels.bin": fasttext(sizes=(2, 3, -1)),
    "fasttext-no-words.bin": fasttext((), ()),
    "fasttext-no-end.bin": fasttext()[:93] + b"x" * 70_000,
    "fasttext-duplicate.bin": fasttext((b"ab", b"ab")),
    "fasttext-label-first.bin": fasttext(labels=1, sizes=(2, 2, 0)),
    "fasttext-negative-count.bin": fasttext(counts=(9, -5)),
    "fasttext-minn.bin": fasttext(minn=7),
    "fasttext-long-word.bin": fasttext((b"ab", b"x" * 4000), minn=1, maxn=2**31 - 1),
    "fasttext-longer-word.bin": fasttext((b"ab", b"x" * 60_000), minn=1, maxn=1000),
    "fasttext-nan.bin": fasttext(values=np.nan),
    "fasttext-overflow.bin": fasttext((b"water", b"waters"), values=3e38),
    "fasttext-cut.bin": fasttext()[:-1],
    "fasttext-trailing.bin": fasttext(more=b"\0"),
    "fasttext-2016.bin": struct.pack("<12id3iq", 1, 5, 5, 1, 5, 1, 2, 2, 2, 3, 6, 100, 1e-4, *3 * (2**31 - 1,), 1),
    "fasttext.bin.gz": gzip.compress(fasttext(), mtime=0),
    # files of other kinds, renamed
    "pickle.bin": pickle.dumps(RunsCode(), protocol=4),
    "pickle0.bin": pickle.dumps(RunsCode(), protocol=0),
    "pickle.safetensors": pickle.dumps({"input": RunsCode()}, protocol=2),
    "zip.bin": archive(),
    "object.npy": array(),
    # models
    "huge-length.safetensors": safetensors_file(b"{}", length=2**60),
    "length-beyond-file.safetensors": safetensors_file(b"{}", length=100_000_000),
    "not-json.safetensors": safetensors_file(b"{not json"),
    "deep-json.safetensors": safetensors_file(b'{"a":' * 5000 + b"1" + b"}" * 5000),
    "overlap.safetensors": safetensors_file(
        {"__metadata__": {"w2vtrain": "1"}, "input": tensor("F32", [2], 0, 8), "output": tensor("F32", [2], 4, 12)},
        b"\0" * 12,
    ),
    "hole.safetensors": safetensors_file(
        {"__metadata__": {"w2vtrain": "1"}, "input": tensor("F32", [1], 0, 4), "output": tensor("F32", [1], 8, 12)},
        b"\0" * 12,
    ),
    "beyond-end.safetensors": safetensors_file({"input": tensor("F32", [1000], 0, 4000)}, b"\0" * 8),
    "wrong-size.safetensors": safetensors_file({"input": tensor("F32", [3, 2], 0, 8)}, b"\0" * 8),
    "overflowing-shape.safetensors": safetensors_file({"input": tensor("F32", [2**33, 2**33], 0, 8)}, b"\0" * 8),
    "negative-shape.safetensors": safetensors_file({"input": tensor("F32", [-1, -2], 0, 8)}, b"\0" * 8),
    "object-dtype.safetensors": safetensors_file({"input": tensor("O", [1], 0, 8)}, b"\0" * 8),
    "another-program.safetensors": safetensors_file({"weights": tensor("F32", [2], 0, 8)}, b"\0" * 8),
    "newer.safetensors": model(metadata={"w2vtrain": "999"}),
    "no-settings.safetensors": model(metadata={"settings": None}),
    "list-settings.safetensors": model(metadata={"settings": "[1]"}),
    "bad-record.safetensors": model(metadata={"record": "{" * 3000}),
    "no-input.safetensors": model(input=None),
    "no-words.safetensors": model(words=("U8", [0], b"")),
    "half-input.safetensors": model(input=("F16", [2, 2], b"\0" * 8)),
    "bfloat-input.safetensors": model(input=("BF16", [2, 2], b"\0" * 8)),
    "bfloat-extra.safetensors": model(extra=("BF16", [2, 2], b"\0" * 8)),
    "flat-input.safetensors": model(input=("F32", [4], b"\0" * 16)),
    "fewer-vectors.safetensors": model(input=("F32", [1, 2], b"\0" * 8)),
    "other-dim.safetensors": model(output=("F32", [2, 1], b"\0" * 8)),
    "nan-input.safetensors": model(input=("F32", [2, 2], ROW + NAN)),
    "nan-output.safetensors": model(output=("F32", [2, 2], ROW + NAN)),
    "nan-extra.safetensors": model(extra=("F32", [2], NAN)),
    "negative-count.safetensors": model(counts=("I64", [2], np.array([5, -3], "<i8").tobytes())),
    "double-word.safetensors": model(words=("U8", [3], b"a\na")),
    "empty-word.safetensors": model(words=("U8", [2], b"a\n")),
    "latin1-word.safetensors": model(words=("U8", [3], b"a\n\xe9")),
}


TRIAL = {
    "name": "softmax seed 1", "sources": ["text"], "heldout": "heldout",
    "settings": {"alpha": 0.1, "seed": 1, "threads": 1, "epochs": 2, "seconds": None},
    "test": None, "questions": None, "pairs": [], "brief": False,
}  # fmt: skip
"""The trial of tests/fuzz.py: results of another one are refused at once."""


def run(**changes):
    """Return the config.json of a run, with some changes."""
    about = {
        "schema": 2, "run": "0123456789abcdef", "cwd": "/", "digest": "", "outputs": {}, "locks": {}, "complete": False,
        "request": {"sources": ["text"], "flags": {}, "output": "vectors.txt"}, "settings": {},
    }  # fmt: skip
    return json.dumps(about | changes).encode()


def result(**changes):
    """Return a result as `compare` saves it, with some changes."""
    return json.dumps({"job": TRIAL, "failed": "diverged", "exit_code": 76} | changes).encode()


# Files for the readers in the table LOADERS of tests/fuzz.py, in folders with the loaders' names.
OTHERS = {
    "settings/options-text.toml": b'options = "x"\n',
    "settings/objective-options-number.toml": b'[objective]\nname = "nce"\noptions = 3\n',
    "settings/huge-hexadecimal.toml": b"window = 0x" + b"f" * 3700,
    "settings/huge-decimal.toml": b"window = " + b"9" * 4500,
    "settings/deep.toml": b"window = " + b"[" * 3000,
    "settings/relative-module.toml": b'objective = ".x"\n',
    "settings/nul-in-module.toml": b'objective = "x\\u0000.py"\n',
    "run/settings-list.json": run(settings=[]),
    "run/settings-unknown.json": run(settings={"windw": 3}),
    "run/request-text.json": run(request="fit"),
    "run/sources-number.json": run(request={"sources": 3, "flags": {}, "output": "vectors.txt"}),
    "run/output-list.json": run(request={"sources": ["text"], "flags": {}, "output": ["vectors.txt"]}),
    "run/cwd-number.json": run(cwd=0),
    "run/lone-surrogate.json": run(**{"\ud800": 1}),
    "run/deep.json": b'{"cwd":' * 2000,
    "settings/long-key.toml": b"a." * 2000 + b"b = 1",
    "settings/long-inline-key.toml": b"window = {" + b"a." * 2000 + b"b = 1}",
    "vocabulary/endless-word.txt": b"a 1\n" + b"x" * 5000 + b" 1\n",
    "vocabulary/endless-word.xz": lzma.compress(b"a 1\n" + b"x" * 20_000_000 + b" 1\n"),
    "vocabulary/endless-spaces.txt": b"a 1\nb " + b" " * 5000 + b"1\n",
    "questions/endless-line.gz": gzip.compress(b": a\n" + b"x" * 20_000_000, mtime=0),
    "questions/many-lines.gz": gzip.compress(b": a\n" + b"king man queen woman\n" * 1_000_000, mtime=0),
    "questions/blank-lines.gz": gzip.compress(b": a\nking man queen woman\n" + b"\n" * 20_000_000, mtime=0),
    "pairs/endless-line.gz": gzip.compress(b"x" * 20_000_000, mtime=0),
    "pairs/many-lines.gz": gzip.compress(b"king queen 9\nman woman 8\n" * 1_000_000, mtime=0),
    "tree/endless-line.gz": gzip.compress(b"king 0\nman 1" + b"1" * 20_000_000, mtime=0),
    "model/lsh-tables.safetensors": scored("lsh", {"tables": 1_000_000}),
    "model/lsh-buckets.safetensors": scored("lsh", {"tables": 1000, "window": 16, "hashes": 5}),
    "model/lsh-window.safetensors": scored("lsh", {"window": 256, "hashes": 20}),
    "model/lsh-infinite.safetensors": scored("lsh", {"limit": float("inf")}),
    "model/lsh-text.safetensors": scored("lsh", {"tables": "many"}),
    "model/lsh-unknown.safetensors": scored("lsh", {"table": 1}),
    "model/options-list.safetensors": scored("lsh", [1000]),
    "model/neg-negative.safetensors": scored("neg", {"negative": 10**9}),
    "model/cnn-filters.safetensors": scored("cnn-softmax", {"filters": 10**9}),
    "model/cnn-widths.safetensors": scored("cnn-softmax", {"widths": "17"}),
    "model/norm-penalty.safetensors": scored("infrequent-norm", {"penalty": 0}),
    "model/char-cell.safetensors": scored("char-softmax", {"units": 4096, "char_dim": 4096}, network(2, 2, 3)),
    "model/char-letters.safetensors": scored("char-softmax", {"units": 2, "char_dim": 2}, network(2, 2, 2)),
    "model/char-lacking.safetensors": scored("char-softmax", {"units": 2}),
    "model/bands-many.safetensors": scored(
        "dsoftmax", {"bands": ",".join(["1:1"] * 100)}, {"bands.0": np.zeros((2, 2), "<f4")}
    ),
    "model/bands-rows.safetensors": scored("dsoftmax", {"bands": "100:100"}, {"bands.0": np.zeros((9, 2), "<f4")}),
    "classes/endless-line.gz": gzip.compress(b"king 0\nman 1" + b"1" * 20_000_000, mtime=0),
    "model/classes-beyond.safetensors": scored("class-softmax", {}, classes((0, 2))),
    "model/classes-negative.safetensors": scored("class-softmax", {}, classes((-1, 1))),
    "model/classes-empty.safetensors": scored("class-softmax", {}, classes((0, 1), rows=3)),
    "model/classes-kind.safetensors": scored("class-softmax", {}, classes(kind="<i8")),
    "model/classes-fewer.safetensors": scored("class-softmax", {}, classes((0,), rows=1)),
    "model/classes-names.safetensors": scored("class-softmax", {"vectors": "vectors.bin"}, classes()),
    "model/clusters-lacking.safetensors": scored("adaptive-softmax", {"cutoffs": "1"}),
    "model/clusters-rows.safetensors": scored(
        "adaptive-softmax", {"cutoffs": "1"}, {"head": np.zeros((2, 2), "<f4"), **cluster(words=10**4)}
    ),
    "model/clusters-columns.safetensors": scored(
        "adaptive-softmax", {"cutoffs": "1"}, {"head": np.zeros((2, 2), "<f4"), **cluster(columns=3)}
    ),
    "model/tree-wraps.safetensors": scored("hs", {}, tree([0, 255, 2], "|u1")),
    "model/tree-float.safetensors": scored("hs", {}, tree(kind="<f4")),
    "model/tree-codes.safetensors": scored("hs", {}, tree(codes=(0, 9))),
    "model/tree-names.safetensors": scored("hs", {"tree": "paths.txt", "vectors": "vectors.bin"}, tree()),
    "model/window.safetensors": scored(
        arrays={"context_weights": np.ones((2, 2), "<f4")}, architecture="vlbl", window=50
    ),
    "model/no-end.safetensors": scored(sentence_end=True),
    "columns/repeated.feather": batch("file", ["a b " * (18 << 20)], "zstd"),
    "columns/repeated.arrows": batch("stream", ["a b " * (18 << 20)], "zstd"),
    "columns/repeated.arrows.gz": gzip.compress(batch("stream", ["a b " * (18 << 20)], None), mtime=0),
    "columns/rows.feather": batch("file", empty_lists(), None),
    "result/list.json": b"[]",
    "result/deep.json": b"[" * 4000,
    "result/no-figures.json": result(test={}),
    "result/curve-without-perplexity.json": result(curve=[{"seconds": 1}], test={}),
    "result/lone-surrogate.json": result(**{"\ud800": 1}),
    "result/no-failure.json": json.dumps({"job": TRIAL}).encode(),
}


if __name__ == "__main__":
    for name, content in {**FILES, **OTHERS}.items():
        path = Path(__file__).parent / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
