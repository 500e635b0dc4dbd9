"""Columns of tables give the vectors of the text file with the same lines, whatever the format, threads and ranks."""

import bz2
import gzip
import io
import json
import re
import signal
import sys
import threading
from contextlib import contextmanager, suppress
from pathlib import Path

import forked
import numpy as np
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import begin, encode, first_lines
from signaled import signaled
from simulated import run_ranks

import w2vtrain
from w2vtrain import doors
from w2vtrain.config import Settings
from w2vtrain.engines.window_engine import WindowEngine
from w2vtrain.errors import CorpusChanged, DataError, InputMissing, Stopped, TokenError, UsageError, W2VError
from w2vtrain.formats.describe import describe
from w2vtrain.leaves.mpi.encoding import encode_together
from w2vtrain.leaves.tables import columns
from w2vtrain.leaves.tables.source import FORMATS, Tables
from w2vtrain.text.text_files import Corpus
from w2vtrain.text.token_lists import Sentences
from w2vtrain.training import inputs
from w2vtrain.training.checkpointing import CheckpointedRun
from w2vtrain.training.plan import Plan, effective
from w2vtrain.training.run_files import locked
from w2vtrain.training.trainer import train

pa = pytest.importorskip("pyarrow")
pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
from pyarrow import csv, feather, ipc, parquet  # noqa: E402

TEXTS = [f"w{i % 7} w{i * i % 11} the {i:03} élan" + "\nsecond line" * (i % 5 == 0) for i in range(300)] + ["", "007"]
WORDS = [["new york", "", f"w{i % 9}", "a\nb\t\x10"][: i % 5] for i in range(300)]


def table(texts=TEXTS, words=WORDS):
    rows = min(len(texts), len(words))
    inner = pa.array([{"b": text} for text in texts[:rows]])
    return pa.table({"id": range(rows), "text": texts[:rows], "words": words[:rows], "a": inner})


def jsonl(found):
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in found.to_pylist()).encode()


def stream(found, path):
    with ipc.new_stream(path, found.schema) as writer:
        writer.write_table(found, max_chunksize=70)


def write(found, path):
    """Write a table in the format that the name says."""
    name, path = Path(path).name, str(path)
    if name.endswith(".parquet"):
        parquet.write_table(found, path, row_group_size=40)
    elif name.endswith(".feather"):
        feather.write_feather(found, path, compression="zstd")
    elif name.endswith(".arrow"):
        stream(found, path)
    elif name.endswith((".csv", ".tsv")):
        flat = found.select(["id", "text"])
        csv.write_csv(flat, path, csv.WriteOptions(delimiter="\t" if name.endswith(".tsv") else ","))
    else:
        pack = {".gz": gzip.compress, ".bz2": bz2.compress, ".zst": zstandard.compress}.get(Path(path).suffix, bytes)
        Path(path).write_bytes(pack(jsonl(found)))
    return path


FILES = ["t.parquet", "t.feather", "t.arrow", "t.csv", "t.tsv", "t.jsonl", "t.jsonl.gz", "t.ndjson.zst", "t.json.bz2"]


def read(corpus, threads=1):
    ids = encode(corpus, min_count=1, threads=threads)
    return ids.tokens.tobytes(), ids.vocabulary.words, ids.vocabulary.counts.tolist()


@pytest.fixture
def text_file(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("\n".join([*TEXTS[: len(WORDS)], ""]), encoding="utf-8", newline="\n")
    return str(path)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("name", FILES)
def test_a_column_of_text_is_read_as_the_text_file_with_its_rows(tmp_path, text_file, name, threads):
    path = write(table(), tmp_path / name)
    for tokenizer in ("whitespace", "simple"):
        assert read(Tables([path], "text", tokenizer), threads) == read(Corpus([text_file], tokenizer))


@pytest.mark.parametrize("name", [name for name in FILES if "sv" not in name])
def test_a_column_of_lists_is_read_as_lists_from_python_and_a_path_leads_into_structs(tmp_path, text_file, name):
    path = write(table(), tmp_path / name)
    assert read(Tables([path], "words"), 2) == read(Sentences(WORDS))
    assert read(Tables([path], "a.b")) == read(Corpus([text_file]))


@settings(max_examples=25, deadline=None)
@given(st.lists(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=6), max_size=4), min_size=1))
def test_any_words_are_those_of_python(lists):
    if not any(lists):
        return
    try:
        expected = read(Sentences(lists))
    except W2VError as error:  # fewer than two words
        with pytest.raises(type(error)):
            read(column_of(pa.chunked_array([lists], pa.list_(pa.string()))))
        return
    assert read(column_of(pa.chunked_array([lists], pa.list_(pa.string())))) == expected


def column_of(data, column=None):
    return inputs.corpus_of(inputs.sources_of(data), Settings(column=column))


def test_several_parts_patterns_and_folders_are_one_corpus(tmp_path, text_file):
    found, parts = table(), tmp_path / "parts"
    parts.mkdir()
    for i, name in enumerate(["1.parquet", "2.json", "3.csv"]):
        write(found.slice(100 * i, 100), parts / name)
    (parts / "README.md").write_text("not a table")
    (parts / "dataset_info.json").write_text("{}")
    expected = read(Corpus([text_file]))
    assert read(Tables([str(parts)], "text"), 2) == expected
    assert read(Tables([str(parts / "[123].*")], "text")) == expected


def test_a_dataset_is_read_in_the_order_of_its_state(tmp_path, text_file):
    folder = tmp_path / "dataset"
    folder.mkdir()
    stream(table().slice(150), folder / "data-0.arrow")
    stream(table().slice(0, 150), folder / "data-1.arrow")
    stream(table(), folder / "data-2.arrow")
    state = {"_data_files": [{"filename": "data-1.arrow"}, {"filename": "data-0.arrow"}]}
    (folder / "state.json").write_text(json.dumps(state))
    (folder / "dataset_info.json").write_text("{}")
    assert read(Tables([str(folder)], "text")) == read(Corpus([text_file]))
    (folder / "state.json").write_text(json.dumps({**state, "_indices_data_files": [{"filename": "data-2.arrow"}]}))
    with pytest.raises(DataError, match="the dataset selects rows by an index"):
        Tables([str(folder)], "text")
    (folder / "state.json").write_text(json.dumps({"_data_files": [{"filename": "../../etc/passwd"}]}))
    with pytest.raises(DataError, match=r"state\.json: not the state"):
        Tables([str(folder)], "text")
    (tmp_path / "dataset_dict.json").write_text("{}")
    with pytest.raises(UsageError, match="several splits"):
        Tables([str(tmp_path)], "text")


@pytest.mark.parametrize("name", ["t.parquet", "t.jsonl", "t.jsonl.gz", "t.csv", "t.feather"])
@pytest.mark.parametrize("column", ["text", "words"])
def test_any_number_of_ranks_reads_what_one_process_reads(tmp_path, name, column):
    if (name, column) == ("t.csv", "words"):
        return
    paths = [write(table(), tmp_path / name), write(table().slice(7), tmp_path / f"more-{name}")]
    lists = column == "words"
    found = table()
    if lists:
        found = pa.table({"id": range(300), "words": [[w.replace("\n", " ") for w in row] for row in WORDS]})
        paths = [write(found, tmp_path / name), write(found.slice(7), tmp_path / f"more-{name}")]
    expected = encode(Tables(paths, column), min_count=1)
    for count in (2, 5):
        folder = tmp_path / f"{count}"
        folder.mkdir()
        about = Settings(min_count=1, threads=1, column=column)
        for ids in run_ranks(
            count, lambda team, folder=folder, about=about: encode_together(team, Tables(paths, column), about, folder)
        ):
            assert ids.tokens.tobytes() == expected.tokens.tobytes()
            assert ids.vocabulary.words == expected.vocabulary.words
            assert ids.stats == expected.stats


FRAMES = {
    "pandas": lambda: pandas.DataFrame({"text": TEXTS, "odd": [1, "x"] * (len(TEXTS) // 2)}),
    "polars": lambda: polars.DataFrame({"text": TEXTS, "id": range(len(TEXTS))}),
    "pyarrow": lambda: pa.table({"text": TEXTS, "id": range(len(TEXTS))}),
    "batch": lambda: pa.record_batch({"text": TEXTS, "id": range(len(TEXTS))}),
    "category": lambda: pandas.DataFrame({"text": pandas.Series(TEXTS, dtype="category")}),
    "polars category": lambda: polars.DataFrame({"text": polars.Series(TEXTS, dtype=polars.Categorical)}),
    "polars enum": lambda: polars.DataFrame({"text": polars.Series(TEXTS, dtype=polars.Enum(sorted({*TEXTS})))}),
    "dictionary": lambda: pa.table({"text": pa.array(TEXTS).dictionary_encode()}),
    "sliced": lambda: pa.table({"text": ["x", *TEXTS, "y"]}).slice(1, len(TEXTS)),
}


@pytest.mark.parametrize("name", FRAMES)
def test_frames_and_their_columns_are_read_as_text(tmp_path, name):
    path = tmp_path / "text.txt"
    path.write_text("\n".join([*TEXTS, ""]), encoding="utf-8", newline="\n")
    frame, expected = FRAMES[name](), read(Corpus([str(path)]))
    assert read(column_of(frame, "text")) == expected
    assert read(column_of(frame["text"]), 2) == expected


@pytest.mark.parametrize(
    "make",
    [pandas.Series, lambda rows: pandas.Series(rows).array, polars.Series, pa.array, lambda r: pa.chunked_array([r])],
    ids=["pandas", "pandas array", "polars", "array", "chunked"],
)
def test_columns_of_lists_from_python_are_sentences(make):
    assert read(column_of(make(WORDS))) == read(Sentences(WORDS))


@pytest.mark.parametrize("dtype", [None, object, "category", "string"])
def test_arrays_of_strings_of_pandas_are_text(dtype, monkeypatch):
    texts = pandas.Series(TEXTS, dtype=dtype)
    arrays, expected = (texts.values, texts.array), read(column_of(pa.array(TEXTS)))
    assert [read(column_of(array)) for array in arrays] == [expected] * 2
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert [read(column_of(array)) for array in arrays] == [expected] * 2


def test_datasets_are_read_without_their_other_columns(tmp_path):
    datasets = pytest.importorskip("datasets")
    data = datasets.Dataset(pa.table({"text": TEXTS, "words": [["a b", "c"]] * len(TEXTS)}))
    expected = read(column_of(pa.array(TEXTS)))
    assert read(column_of(data, "text")) == read(column_of(data["text"])) == expected
    assert read(column_of(data.to_iterable_dataset(), "text")) == expected
    chosen = data.select(range(50, 10, -1))
    assert read(column_of(chosen, "text")) == read(column_of(pa.array(TEXTS[50:10:-1])))


class Streamed:
    """A dataset of Hugging Face, made by map() of another: it has no column names before its rows are read."""

    column_names = None

    def with_format(self, name):
        assert name == "arrow"
        return self

    def iter(self, batch_size):
        more = [{"text": text} for text in TEXTS]
        rows = pa.table({"text": TEXTS, "words": [["a b", "c"]] * len(TEXTS), "more": more})
        return (pa.Table.from_batches([batch]) for batch in rows.to_batches(batch_size))


@pytest.mark.parametrize("column", ["text", "more.text"])
def test_datasets_without_column_names_are_read(column):
    assert read(column_of(Streamed(), column)) == read(column_of(pa.array(TEXTS)))
    with pytest.raises(UsageError, match=r"name the column to read .*; the columns are: 'text', 'words', 'more'"):
        read(column_of(Streamed()))
    with pytest.raises(DataError, match="no column 'none'; the columns are: 'text', 'words', 'more'"):
        read(column_of(Streamed(), "none"))


def test_python_trains_the_vectors_of_the_text_file(tmp_path, text_file):
    path = write(table(), tmp_path / "t.parquet")
    about = {"vector_size": 5, "epochs": 1, "min_count": 1, "threads": 1}
    expected = w2vtrain.train(text_file, heldout=text_file, **about).input
    folder = tmp_path / "held out"
    folder.mkdir()
    (folder / "part.txt").write_bytes(Path(text_file).read_bytes())
    for corpus, heldout in ((path, text_file), (pandas.DataFrame({"text": TEXTS[: len(WORDS)]}), folder)):
        found = w2vtrain.train(corpus, column="text", heldout=heldout, **about)
        np.testing.assert_array_equal(found.input, expected)
    more = w2vtrain.continue_training(found, text_file, epochs=1)  # the column is not the model's
    assert more.words == found.words


WRONG = [
    ({"text": ["a", None]}, "text", DataError, "row 2: column 'text': null, and there must be text: drop such rows"),
    ({"text": [["a"], ["b", None]]}, "text", DataError, "row 2: column 'text', word 2: null"),
    ({"text": [["a"], None]}, "text", DataError, "row 2: column 'text': null, and there must be text: drop such rows"),
    ({"text": ["a"], "n": [1]}, "n", DataError, "'n' has the type int64"),
    ({"text": ["a"], "n": [1]}, "txt", DataError, "no column 'txt'; the columns are: 'text', 'n'"),
    ({"text": ["a"]}, "text.b", DataError, "no column 'text.b'"),
]


@pytest.mark.parametrize("name", ["t.parquet", "t.feather", "t.arrow"])
@pytest.mark.parametrize("wrong", range(len(WRONG)))
def test_what_is_wrong_with_a_column_is_one_line_with_file_and_row(tmp_path, name, wrong):
    columns, column, kind, message = WRONG[wrong]
    path = write(pa.table(columns), tmp_path / name)
    with pytest.raises(kind) as caught:
        read(Tables([path], column))
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["t.parquet", "t.feather", "t.arrow"])
def test_threads_of_arrow_call_no_files_of_python(tmp_path, monkeypatch, name):
    """A thread of Arrow's that calls a Python file aborts the process if that is about to exit."""
    columns = {"text": ["a b", "c d"], "word": ["a", "b"], "vector": [[1.0, 2.0], [3.0, 4.0]]}
    path, threads, usual = write(pa.table(columns), tmp_path / name), set(), Path.open

    class Watched(io.BufferedReader):
        def read(self, *size):
            threads.add(type(threading.current_thread()))
            return super().read(*size)

    def watched(path, mode="r", *rest, **more):
        return Watched(io.FileIO(path)) if mode == "rb" else usual(path, mode, *rest, **more)

    monkeypatch.setattr(Path, "open", watched)
    read(Tables([path], "text"))
    if name != "t.arrow":  # a stream, which has no vectors
        assert w2vtrain.read_vectors(path).words == ["a", "b"]
    assert threads
    assert threading._DummyThread not in threads  # a thread that Python has not started


def streamed():
    """Return an Arrow stream."""
    out = io.BytesIO()
    stream(table(), out)
    return out.getvalue()


MALFORMED = [
    ("t.jsonl", b'{"text": "a"}\n\n{"text": null}\n', ":3: "),
    ("t.jsonl", b'{"text": "a"}\n{"other": 1}\n', ":2: "),
    ("t.jsonl", b'{"text": "a"}\n{"text": 7}\n', ":2: column 'text' is 7, and must be"),
    ("t.jsonl", b'{"text": 7}\n', ":1: column 'text' is 7"),
    ("t.jsonl", b'{"txt": "a"}\n', ": no column 'text' in the first record, which has: 'txt'"),
    ("t.jsonl", b'{"text": "a"}\n{"text\n', ":2: "),
    ("t.jsonl", b'{"text": "a"}\n{"text": "\xe9"}\n', ":2: not UTF-8: save the file as UTF-8"),
    ("t.jsonl", b'{"text": "a", "o": ' + b"[" * 100_000 + b"\n", ":1: "),
    ("t.jsonl", b'{"text": "a"}\n[1]\n', ":2: "),
    (
        "t.json",
        b'[{"text": "a"}, {"text": "b"}]',
        "is not a JSON object: write one record per line, for example with jq",
    ),
    ("t.json", b'["a b", "c"]', "for example with jq -c '.[] | {text: .}' for an array of texts"),
    ("t.jsonl", b'["a", "b"]\n["c"]\n', "or jq -c '{text: .}' if each line is one"),
    ("t.json", b'{\n  "text": "a"\n}\n', ":1: not a record of JSON on one line"),
    ("t.jsonl", b'{"text": "cut \\ud83d"}\n', ":1: text with half of a surrogate pair"),
    ("t.csv", b"id,txt\n1,a\n", ": no column 'text'; the columns are: 'id', 'txt'"),
    ("t.jsonl", b'{"text": "a", "n": NaN}\n', "; JSON has no NaN or Infinity: write null"),
    ("t.jsonl", b'{"text": "a"}\n{"text": NaN}\n', "; JSON has no NaN or Infinity"),
    ("t.jsonl", b'{"text": "a", "n": -Infinity, "o": }\n', ":1: not a record of JSON on one line"),
    ("t.csv", b"id,text\n1,a,b\n", ":2: row 1 has 3 cells, and the header 2"),
    ("t.csv", b'id,text\n1,a\n\r\n2,"a\nb"\n3\n', ":6: row 3 has 1 cells, and the header 2"),
    ("t.csv", b'id,text\n1,a\n2,"b\n3,c\n4,d\n', ":3: the row that begins here"),
    ("t.csv", b'id,text\r\n1,a\r\n2,"b\r\n3,"c"\r\n4,d\r\n', ":3: the row that begins here"),
    ("t.tsv", b'id\ttext\n"a\nb"\t"c', ":2: the row that begins here"),
    ("t.csv", b'"id,text\n1,a\n', ":1: the row that begins here"),
    ("t.csv", "id,text\n1,a\n".encode("utf-16"), ": UTF-16 or UTF-32 at byte 0, expected UTF-8"),
    ("t.csv", b"id;text\n1;a\n", ": the columns seem to be separated by ;: convert the file, for example with csvf"),
    ("t.csv", b"sep=,\nid,text\n1,a\n", "t.csv: the first line, which begins with sep=, is only for Excel: delete it"),
    ("t.csv", b"\xef\xbb\xbfsep=;\nid;text\n1;a\n", ", is only for Excel: delete it"),
    ("t.csv", b"id\ttext\n1\ta\n", ": the columns seem to be separated by tabs: name the file .tsv"),
    ("t.tsv", b"id,text\n1,a\n", ": the columns seem to be separated by commas: name the file .csv"),
    ("t.csv", b"text,text\n1,a\n", ": two columns are named 'text'"),
    ("t.csv", b"", ": empty file: its first line must have the names"),
    ("t.feather", b"FEA1" + bytes(50), ": a Feather file of version 1: read it with pyarrow.feather, and write it"),
    ("t.parquet", b"PAR1" + bytes(50), ": damaged or unsupported Parquet data"),
    ("t.arrow", b"\xff\xff\xff\xff\x10\x00\x00\x7fabc", ": damaged or unsupported Arrow data"),
    ("t.arrow", b"ARROW1" + bytes(50), ": damaged or unsupported Arrow data"),
    ("t.arrow", 2 * streamed(), ": more data after the end of an Arrow stream"),
]


def test_zero_bytes_after_a_stream_are_padding(tmp_path, caplog):
    path = tmp_path / "t.arrow"
    path.write_bytes(streamed() + bytes(64))
    assert read(Tables([str(path)], "text")) == read(column_of(table(), "text"))
    assert not caplog.messages


def test_a_stream_without_a_mark_at_its_end_may_be_cut_off(tmp_path, caplog):
    path = tmp_path / "t.arrow"
    path.write_bytes(streamed()[:-8])
    assert read(Tables([str(path)], "text")) == read(column_of(table(), "text"))
    line = f"{path}: the Arrow stream has no end mark: the file may be cut off, and rows be missing"
    assert caplog.messages == [line]


def test_a_stream_in_the_format_of_before_2019_ends_without_a_mark(tmp_path, caplog):
    path = tmp_path / "t.arrow"
    with ipc.new_stream(path, table().schema, options=ipc.IpcWriteOptions(use_legacy_format=True)) as writer:
        writer.write_table(table())
    assert read(Tables([str(path)], "text")) == read(column_of(table(), "text"))
    assert not caplog.messages


@pytest.mark.parametrize("row", range(len(MALFORMED)))
def test_malformed_files_are_one_line(tmp_path, row):
    name, data, message = MALFORMED[row]
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(DataError) as caught:
        read(Tables([str(path)], "text"))
    assert str(caught.value).startswith(str(path))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", [*FILES, "frame"])
@pytest.mark.parametrize("text", [b"a\nb\0c", b"d\ne\xff"], ids=["NUL", "not UTF-8"])
def test_text_that_is_refused_is_named_by_file_and_row(tmp_path, name, text):
    rows = [b"two\nlines", *[b"x"] * 5000, text, b"z"]
    if text.endswith(b"\xff") and ("js" in name or "sv" in name):
        return  # which have all been decoded when they are written
    found = pa.table({"id": range(len(rows)), "text": pa.array(rows, pa.binary() if text[-1] == 0xFF else pa.string())})
    corpus = column_of(found, "text") if name == "frame" else Tables([write(found, tmp_path / name)], "text")
    corpus.errors = "strict"
    place = "the Table: {} in row 5,001 (from 0)" if name == "frame" else f"{tmp_path / name}: {{}} in row 5,002"
    with pytest.raises(DataError, match=re.escape(place).replace(r"\{\}", "(NUL|not UTF-8)")):
        read(corpus)


@pytest.mark.parametrize("count", [30, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["t.parquet", "t.feather", "t.arrow"])
def test_damaged_bytes_never_raise_anything_but_our_errors(tmp_path, name, count):
    data = Path(write(table(TEXTS[:20], WORDS[:20]), tmp_path / name)).read_bytes()
    random = np.random.default_rng(1)
    for at in random.integers(0, len(data), count):
        damaged = bytearray(data)
        damaged[at] ^= int(random.integers(1, 256))
        (tmp_path / name).write_bytes(damaged)
        with suppress(W2VError):
            read(Tables([str(tmp_path / name)], "text"))


def test_an_empty_line_of_a_single_column_is_an_empty_cell_as_polars_writes_a_null(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b'text\na b\n\n""\nc\n\n')
    assert b"".join(Tables([str(path)], "text").read()) == b"a b\n\n\nc\n"


def test_numbers_dates_and_words_for_null_stay_text_in_csv(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b'\xef\xbb\xbfid,text\n1,007\n2,NA\n3,\n4,"1,5 ""x"""\n5,2020-01-01\n')
    assert encode(Tables([str(path)], "text"), min_count=1).vocabulary.words == sorted(
        ["007", "NA", "1,5", '"x"', "2020-01-01"]
    )


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        ([1, 2], "the Series: values of the type int64"),
        (["a", None, 3], r"the Series: row 2 \(from 0\): 3, and there must be text or a list of words"),
        ([["a"], float("nan"), ["b"], 2.5], r"the Series: row 3 \(from 0\): 2\.5, and"),
        (["a", ["b"]], "the Series: not a column of strings or lists of strings"),
    ],
    ids=["numbers", "text", "lists", "both"],
)
def test_a_series_of_something_else_is_a_type_error(problem, message):
    with pytest.raises(TokenError, match=message):
        read(column_of(pandas.Series(problem)))
    with pytest.raises(TokenError, match=message.replace("Series", "DataFrame")):
        read(column_of(pandas.DataFrame({"text": problem}), "text"))


def test_a_column_of_a_frame_may_have_a_number_as_its_name():
    frame = pandas.DataFrame([["x", text] for text in TEXTS])
    assert read(column_of(frame, "1")) == read(column_of(pandas.Series(TEXTS)))


@pytest.mark.parametrize("lists", [False, True])
def test_a_tag_that_is_not_utf8_is_refused(tmp_path, lists):
    """Repaired, two tags could be the same."""
    path, tags = tmp_path / "t.parquet", [b"M\xfcller", b"M\xf8ller"]
    column = pa.array([[tag] for tag in tags] if lists else tags)
    parquet.write_table(pa.table({"text": ["a b", "b a"], "name": column}), path)
    with pytest.raises(DataError, match=r"the tag b'M\\xfcller' is not UTF-8: convert the file"):
        w2vtrain.train(w2vtrain.Documents(path, "name"), column="text", min_count=1)


def test_tags_of_several_types_are_refused_with_what_to_do():
    frame = pandas.DataFrame({"text": ["a b"] * 3, "tag": [1, "x", "y"]})
    with pytest.raises(TokenError, match=r"the DataFrame: a column has values of several types: .* astype\(str\)"):
        w2vtrain.train(w2vtrain.Documents(frame, tag="tag"), column="text", min_count=1)


def test_a_frame_needs_a_column_and_a_series_has_none(tmp_path, text_file):
    with pytest.raises(UsageError, match="the DataFrame: name the column to read with column; the columns are: 'text'"):
        read(column_of(pandas.DataFrame({"text": ["a b"]})))
    for data in (pandas.Series(["a"]), polars.Series(["a"])):
        with pytest.raises(UsageError, match="the Series: has no columns: leave out column"):
            read(column_of(data, "text"))
    with pytest.raises(UsageError, match="has no effect on lists of words"):
        column_of([["a"]], "text")
    for column in (None, "text"):
        with pytest.raises(TokenError, match=r"the LazyFrame: pass a data frame, such as lazy\.collect\(\)"):
            w2vtrain.train(polars.LazyFrame({"text": ["a b"]}), column=column)
    for library in (pandas, polars):
        with pytest.raises(
            TokenError, match=r"must be a list.*text\.split\(\) for part in parts for text in part\['text'\]"
        ):
            w2vtrain.train([library.DataFrame({"text": ["a b"]})])
    with pytest.raises(UsageError, match=r"text\.txt: not a table"):
        Tables([text_file], "text")
    with pytest.raises(UsageError, match="does not split: name a column of text, or use tokenizer='whitespace'"):
        Tables([write(table(), tmp_path / "t.parquet")], "words", "simple")


def test_without_pyarrow_one_line_names_the_extra_and_json_lines_and_csv_still_work(tmp_path, monkeypatch):
    path, *others = [write(table(), tmp_path / name) for name in ("t.parquet", "t.jsonl", "t.csv")]
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InputMissing, match=r"t\.parquet: Parquet needs the package pyarrow: pip install 'w2vtrain\["):
        Tables([path], "text")
    for other in others:
        assert read(Tables([other], "text"))


def test_without_pyarrow_a_column_of_lists_in_pandas_is_an_iterable_of_sentences(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for rows in (WORDS, [tuple(words) for words in WORDS]):
        assert read(column_of(pandas.Series(rows, dtype=object))) == read(Sentences(WORDS))


def test_columns_of_strings_need_no_pyarrow(tmp_path, monkeypatch):
    path = tmp_path / "text.txt"
    path.write_text("\n".join([*TEXTS, ""]), encoding="utf-8", newline="\n")
    expected, texts = read(Corpus([str(path)])), pandas.Series(TEXTS, dtype=object)
    categories, lines = texts.astype("category"), polars.Series(TEXTS)
    frames = [pandas.DataFrame({"text": texts, "id": range(len(TEXTS))}), polars.DataFrame({"text": lines})]
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for column in (texts, categories, lines):
        assert read(column_of(column), 2) == expected
    for frame in frames:
        assert read(column_of(frame, "text")) == expected
    for null in (None, np.nan, pandas.NA):
        frame = pandas.DataFrame({"text": ["a b", "b a"], "tag": pandas.Series(["x", null], dtype=object)})
        model = w2vtrain.train(
            w2vtrain.Documents(frame, "tag"), column="text", architecture="pv-dbow", min_count=1, vector_size=2,
            epochs=1, sample=0,
        )  # fmt: skip
        assert model.dv.index_to_key == ["x", "row_2"]
        with pytest.raises(
            TokenError, match=r"the DataFrame: row 1 \(from 0\): column 'tag': .*, and there must be text"
        ):
            read(column_of(frame, "tag"))
    with pytest.raises(InputMissing, match="the Series needs the package pyarrow"):
        read(column_of(pandas.Series([1, 2])))


@pytest.mark.parametrize("dtype", [str, object, np.dtypes.StringDType()], ids=["fixed", "object", "variable"])
def test_arrays_of_strings_are_texts_like_the_lines_of_a_file(tmp_path, dtype):
    path = tmp_path / "text.txt"
    path.write_text("\n".join([*TEXTS, ""]), encoding="utf-8", newline="\n")
    assert read(column_of(np.array(TEXTS, dtype)), 2) == read(Corpus([str(path)]))
    with pytest.raises(UsageError, match="the ndarray: has no columns: leave out column"):
        read(column_of(np.array(TEXTS, dtype), "text"))


def test_rows_that_are_no_text_are_refused_with_their_place():
    with pytest.raises(TokenError, match=r"the ndarray: row 1 \(from 0\): None, and there must be text: drop"):
        read(column_of(np.array(["a b", None], object)))


@pytest.mark.parametrize(
    "texts",
    [["art", "of war"], ["art", "of", "war"], ("a longer text", "another"), "one text of five words", "two\nlines.txt",
     ["x" * 5000 + " y"], ["an end with a point.", "b"]],
    ids=["one-each", "words", "tuple", "string", "lines", "long", "points"],
)  # fmt: skip
def test_texts_are_not_taken_for_names_of_files(texts):
    with pytest.raises(InputMissing, match="is not the name of a file: to train on texts, pass lists of words"):
        inputs.sources_of(texts)


@pytest.mark.parametrize(
    "names",
    [["a b.txt"], ["a.txt", "b.txt"], "corpus", ["corpus"], ["my texts/", "*"], [Path("my corpus"), Path("b")]],
    ids=["space", "files", "name", "one", "patterns", "paths"],
)
def test_names_of_files_that_do_not_exist_are_still_names(names):
    assert inputs.sources_of(names) == ([names] if isinstance(names, str) else list(map(str, names)))


def test_a_null_in_a_dictionary_is_a_null():
    texts = pa.DictionaryArray.from_arrays(np.array([0, 1, 0], np.int32), pa.array(["a a", None]))
    with pytest.raises(DataError, match=r"the Table: row 1 \(from 0\): column 'text': null"):
        read(column_of(pa.table({"text": texts}), "text"))
    lists = pa.FixedSizeListArray.from_arrays(texts.take([0, 2, 0, 1]), 2)
    with pytest.raises(DataError, match=r"the Table: row 1 \(from 0\): column 'text', word 2: null"):
        read(column_of(pa.table({"text": lists}), "text"))


FIT = ["--column", "text", "-o", "v.txt", "--epochs", 2, "--threads", 1, "--vector-size", 5, "--min-count", 1]


def test_the_command_line_names_what_is_needed(tmp_path, w2vtrain_here, text_file, monkeypatch):
    write(table(), tmp_path / "t.parquet")
    code, _, err = w2vtrain_here(["fit", "t.parquet", *FIT[2:]], tmp_path)
    assert code == 2
    assert "name the column to read with --column; the columns are: 'id', 'text', 'words', 'a'" in err
    assert w2vtrain_here(["fit", "text.txt", *FIT], tmp_path)[0] == 2
    assert w2vtrain_here(["fit", "t.parquet", *FIT, "--heldout", "text.txt", "--save-model", "m"], tmp_path)[0] == 0
    first = (tmp_path / "v.txt").read_bytes()
    assert w2vtrain_here(["fit", "text.txt", *FIT[2:], "--heldout", "text.txt", "--force"], tmp_path)[0] == 0
    assert (tmp_path / "v.txt").read_bytes() == first
    on_text = w2vtrain_here(["perplexity", "m", "text.txt"], tmp_path)
    assert on_text[0] == 0
    assert w2vtrain_here(["perplexity", "m", "t.parquet", "--column", "a.b"], tmp_path)[1] == on_text[1]
    monkeypatch.setenv("W2VTRAIN_COLUMN", "other")
    assert "no column 'other'" in w2vtrain_here(["perplexity", "m", "t.parquet"], tmp_path)[2]


@pytest.mark.parametrize("data", [b"PAR1\x15\x04\x15\x80\xe9\n", b"id,text\n1,a\n"], ids=["parquet", "csv"])
def test_a_table_on_standard_input_that_is_not_json_lines_is_refused_with_what_to_do(w2vtrain_here, tmp_path, data):
    code, _, said = w2vtrain_here(["vocab", "-", "--column", "text", "-o", "v.txt"], tmp_path, data)
    assert (code, "; from standard input and pipes, only JSON lines are read: save" in said) == (65, True), said


@pytest.mark.parametrize("name", FILES)
def test_a_table_is_not_read_as_text(tmp_path, name):
    path = write(table(), tmp_path / name)
    (tmp_path / "a.txt").write_text("a b\n" * 9)
    for source in (tmp_path, path):
        with pytest.raises(UsageError, match=f"{name}: a table, not text: name the column.* columns are: 'id', 'text'"):
            column_of(str(source))


def test_json_that_is_no_table_is_not_read_as_text_and_what_to_do_is_said(w2vtrain_here, tmp_path):
    (tmp_path / "a.txt").write_text("a b\n" * 9)
    (tmp_path / "v.txt.json").write_text('{\n  "settings": {}\n}\n')
    code, _, said = w2vtrain_here(["vocab", ".", "-o", "../counts.txt"], tmp_path)
    assert (code, "v.txt.json: a table, not text: name the column" in said) == (2, True), said
    assert "or leave the file out, as '*.txt' does" in said


def test_the_suffixes_of_tables_are_those_of_their_formats():
    assert set(doors.TABLES) == {suffix for form in FORMATS for suffix in form.suffixes}


def test_words_that_no_file_can_store_are_refused_with_what_to_do(tmp_path, w2vtrain_here):
    (tmp_path / "t.jsonl").write_text('{"words": ["new york", "a", "b"]}\n' * 9)
    for more in ([], ["-o", "-"], ["--dry-run"]):
        words = ["fit", "t.jsonl", "--column", "words", *FIT[2:], "--sample", "0", *more]
        code, out, said = w2vtrain_here(words, tmp_path)
        assert (code, out, "training" in said) == (65, "", False), said
        assert "'new york' contains white space" in said
        assert "as in new_york, or train in Python" in said
    code, out, said = w2vtrain_here(["phrases", "t.jsonl", "--column", "words", "-o", "-"], tmp_path)
    assert (code, out, "'new york' contains white space" in said) == (65, "", True), said
    (tmp_path / "t.jsonl").write_text('{"words": ["", "a", "b"]}\n' * 9)
    code, _, said = w2vtrain_here(["vocab", "t.jsonl", "--column", "words"], tmp_path)
    assert (code, said.startswith("w2vtrain: error: t.jsonl: an empty string is no word: leave it out")) == (65, True)


class StopsSoon(CheckpointedRun):
    """A run that is asked to stop at its second opportunity."""

    left = 2

    def due(self):
        self.left -= 1
        self.stop_requested = self.stop_requested or self.left == 0
        return self.stop_requested


def test_a_stopped_run_resumes_with_the_same_bytes_and_notices_other_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(inputs, "CHUNK_WORDS", 50)
    monkeypatch.setattr(WindowEngine, "MAX_CHUNKS_PER_CALL", 2)
    path, folder = write(table(), tmp_path / "t.parquet"), tmp_path / "run"
    about = effective(Settings(vector_size=5, epochs=2, min_count=1, threads=1, column="text"))
    expected = train(Plan.of(inputs.Inputs([path]), about)).input
    with locked(folder):
        run = StopsSoon(folder)
        begin(run, about, request={})
        with pytest.raises(Stopped):
            train(Plan.of(inputs.Inputs([path]), about), run=run)
        again = CheckpointedRun(folder)
        begin(again, about, request={})
        write(table().slice(1), path)
        with pytest.raises(CorpusChanged, match=r"t\.parquet"):
            train(Plan.of(inputs.Inputs([path]), about), run=again)
        write(table(), path)
        found = train(Plan.of(inputs.Inputs([path]), about), run=again).input
        again.finish()
    np.testing.assert_array_equal(found, expected)


def batches_file(path, column, rows_per_batch, compression):
    """Write an Arrow file, or a stream if the name says so."""
    found, form = pa.table({"text": column}), ipc.new_stream if ".arrows" in path.name else ipc.new_file
    with form(path, found.schema, options=ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(found, max_chunksize=rows_per_batch)
    return path


@contextmanager
def counted():
    """Yield a pool that counts what pyarrow takes in the block."""
    before = pa.default_memory_pool()
    pool = pa.proxy_memory_pool(before)
    pa.set_memory_pool(pool)
    try:
        yield pool
    finally:
        pa.set_memory_pool(before)


@pytest.mark.parametrize("name", ["t.feather", "t.arrows"])
def test_where_a_batch_of_arrow_is_cut_changes_nothing(tmp_path, monkeypatch, name):
    whole = {}
    for texts in (TEXTS, [TEXTS[:i] for i in range(30)], pa.array(TEXTS).dictionary_encode()):
        path = str(batches_file(tmp_path / name, texts, 100, "lz4"))
        for rows in (1 << 20, 7):
            monkeypatch.setattr(columns, "PIECE_ROWS", rows)
            whole[rows] = b"".join(Tables([path], "text").read())
        assert whole[7] == whole[1 << 20]
    path = str(batches_file(tmp_path / name, [*TEXTS[:150], None], 100, None))
    with pytest.raises(DataError, match=r"row 151: column 'text': null"):
        list(Tables([path], "text").read())


@pytest.mark.parametrize("name", ["t.feather", "t.arrows"])
def test_text_of_arrow_that_compresses_well_is_read_batch_by_batch(tmp_path, name):
    text = "a b " * (1 << 18)
    path = batches_file(tmp_path / name, pa.array([text] * 100), 1, "zstd")
    assert 200 * path.stat().st_size < 100 * len(text)
    with counted() as pool:
        assert sum(map(len, Tables([str(path)], "text").read())) == 100 * (len(text) + 1)
        assert pool.max_memory() < 1 << 23


@pytest.mark.parametrize("encoding", ["DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_texts_encoded_as_differences_are_read(tmp_path, encoding, version):
    """Spark and DuckDB write them; pyarrow cannot read them as dictionaries, in which others may be."""
    texts = [f"a text that begins as {n % 7} others do, and ends with {n}" for n in range(3000)]
    for name, values, leaf in (
        ("text", texts, "text"),
        ("list", [text.split() for text in texts], "text.list.element"),
    ):
        parquet.write_table(
            pa.table({"text": values}), tmp_path / f"{name}.parquet", use_dictionary=False, row_group_size=1000,
            column_encoding={leaf: encoding}, data_page_version=version,
        )  # fmt: skip
        found = b"".join(Tables([str(tmp_path / f"{name}.parquet")], "text").read())
        assert found.decode().split() == " ".join(texts).split()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
@pytest.mark.parametrize("name", ["t.parquet", "t.csv", "t.jsonl", "text.txt"])
def test_a_killed_run_resumes_to_the_same_bytes(tmp_path, name):
    """The text file is read with phrases, which its table joins."""
    lines = first_lines(1000, tmp_path / "text.txt").read_text(encoding="utf-8").splitlines()
    if name == "text.txt":
        w2vtrain.find_phrases(tmp_path / name).save(tmp_path / "phrases.tsv")
        words = [name, "--phrases", "phrases.tsv"]
    else:
        write(pa.table({"id": range(len(lines)), "text": lines}), tmp_path / name)
        words = [name, "--column", "text"]
    start = [sys.executable, "-m", "w2vtrain"]
    fit_words = [
        *start,
        "fit",
        *words,
        "--threads",
        "1",
        "--vector-size",
        "8",
        "--epochs",
        "3",
        "--checkpoint-every",
        "0",
    ]

    def run(command):
        return forked.run(command, cwd=tmp_path, capture_output=True, check=False)

    assert run([*fit_words, "-o", "whole.bin"]).returncode == 0
    assert run(signaled([*fit_words, "-o", "v.bin"], "5:SIGUSR1,9:SIGUSR1,11:SIGKILL")).returncode == -signal.SIGKILL
    assert list(tmp_path.glob("v.bin.run/ckpt-*"))
    assert run([*start, "resume", "v.bin.run"]).returncode == 0
    assert (tmp_path / "v.bin").read_bytes() == (tmp_path / "whole.bin").read_bytes()


def test_lists_of_any_length_in_a_table_are_described_as_they_are_read(tmp_path):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "v.parquet"
    parquet.write_table(pa.table({"word": ["a", "b"], "vector": [[1.0, 2.0], [3.0, 1.0]]}), path)
    assert w2vtrain.read_vectors(path).matrix.shape == (2, 2)
    assert [describe(path)[name] for name in ("words", "dim")] == [2, 2]


def test_a_parquet_file_is_recognized_whatever_its_suffix(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    for name in ("t.csv", "t.arrow", "t.jsonl"):
        parquet.write_table(pytest.importorskip("pyarrow").table({"text": ["a b", "c"]}), tmp_path / name)
        assert b"".join(Tables([str(tmp_path / name)], "text").read()) == b"a b\nc\n"
        note = "a table that has no column `word`, or several: its columns are text"
        assert [describe(tmp_path / name)[fact] for fact in ("kind", "note")] == ["unknown", note]
