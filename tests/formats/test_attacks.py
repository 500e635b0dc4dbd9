"""Tests of hostile and damaged files: readers reject them quickly, without exhausting the memory or running code."""

import bz2
import contextlib
import gzip
import lzma
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import fuzz
import pytest
import zstandard as zstd

from w2vtrain import KeyedVectors, config
from w2vtrain.embeddings.analogies import evaluate_analogies
from w2vtrain.embeddings.model import load_model
from w2vtrain.embeddings.similarity import evaluate_similarity
from w2vtrain.errors import DataError, InputMissing, W2VError
from w2vtrain.formats.describe import describe
from w2vtrain.formats.vectors import Vectors, read_vectors
from w2vtrain.probability import classes, trees
from w2vtrain.system import reading
from w2vtrain.system.reading import justified
from w2vtrain.text.text_files import Corpus
from w2vtrain.text.vocabulary import Vocabulary

FOLDER = Path(__file__).parent / "attacks"
ATTACKS = sorted(path for path in FOLDER.iterdir() if path.suffix not in (".py", "") and path.is_file())
SLOW = ".bz2"
"""The suffix of those that take seconds to decompress, which only slow tests read."""
EACH = [pytest.param(path, marks=pytest.mark.slow if path.suffix == SLOW else ()) for path in ATTACKS]
OTHERS = [path for loader in fuzz.LOADERS for path in fuzz.attacks_on(loader)]
# These files are valid as vectors; their defects are in other parts of a model.
SOUND_VECTORS = {
    *("no-settings", "list-settings", "bad-record", "bfloat-extra", "other-dim", "nan-output", "nan-extra"),
    "negative-count",
}


def test_the_attack_files_exist():
    assert len(ATTACKS) > 60
    assert len(OTHERS) > 45


@pytest.mark.parametrize("path", EACH, ids=lambda path: path.name)
def test_a_hostile_file_is_rejected(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    start = time.process_time()
    readers = [load_model] if path.stem in SOUND_VECTORS else [read_vectors, load_model]
    for reader in readers:
        with pytest.raises(DataError, match=path.name.replace(".", r"\.")):
            reader(path)
    with contextlib.suppress(W2VError):
        assert describe(path)["bytes"] == path.stat().st_size
    assert time.process_time() - start < 60, "a reader does not terminate"
    assert not list(tmp_path.iterdir()), "a pickle was run"


@pytest.mark.parametrize("path", EACH, ids=lambda path: path.name)
def test_lenient_reading_raises_only_errors_of_this_package(path, monkeypatch):
    """The limit of what a small file may contain is low, because it was tested above and takes seconds to reach."""
    monkeypatch.setattr(reading, "ALLOWED_BYTES", 1 << 20)
    try:
        vectors = read_vectors(path, lenient=True)
    except W2VError:
        return
    assert len(vectors.words) == len(vectors.matrix) > 0


@pytest.mark.parametrize("path", OTHERS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_other_reader_rejects_its_hostile_files(path, tmp_path):
    copy, before = tmp_path / "input", fuzz.REFUSED.total()
    copy.write_bytes(path.read_bytes())
    fuzz.refused(fuzz.LOADERS[path.parent.name].read, copy)
    assert fuzz.REFUSED.total() > before


PROGRAM = """
import gc, resource, sys
from pathlib import Path
from w2vtrain.errors import DataError
from w2vtrain import KeyedVectors
from w2vtrain.embeddings.model import load_model
from w2vtrain.formats.describe import describe
from w2vtrain.formats.vectors import read_vectors
import safetensors.numpy, zstandard, gzip, bz2, lzma, contextlib
with contextlib.suppress(ImportError):
    import pyarrow.parquet
def memory(name):
    status = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
    return int(status[name].split()[0]) << 10
gc.freeze()  # so that the collections below are quick
used = memory("VmRSS")
resource.setrlimit(resource.RLIMIT_AS, (memory("VmSize") + (1 << 30),) * 2)
for name in sys.argv[1:]:
    for reader in (
        read_vectors,
        load_model,
        describe,
        lambda path: read_vectors(path, lenient=True),
        lambda path: KeyedVectors.load_word2vec_format(path, binary=".bin" in path, no_header="glove" in path),
    ):
        try:
            reader(name)
        except (DataError, UnicodeDecodeError):
            gc.collect()  # what the error's traceback refers to
peak = (memory("VmHWM") - used) >> 20
assert peak < 256, f"{peak} MiB"
"""


SCORING = """
import resource, sys
from pathlib import Path
from w2vtrain import objectives
from w2vtrain.errors import DataError
from w2vtrain.training.predictor import model_predictor
from w2vtrain.embeddings.model import load_model
import safetensors.numpy
objectives.objectives()
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (200 << 20),) * 2)
for name in sys.argv[1:]:
    model = load_model(name)
    try:
        model_predictor(model)
    except DataError as error:
        print(Path(name).stem, error)
"""
ENDLESS = """
import resource, sys
from pathlib import Path
from w2vtrain.leaves.compare import comparison, trial
from w2vtrain.embeddings.analogies import evaluate_analogies
from w2vtrain.embeddings.similarity import evaluate_similarity
from w2vtrain.formats.vectors import Vectors
from w2vtrain import config
from w2vtrain.probability import classes, trees
from w2vtrain.errors import W2VError
from w2vtrain.text.vocabulary import Vocabulary
vectors = Vectors(["a", "b"], None)
one = trial.Trial("trial", [], "", {})
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (200 << 20),) * 2)
for read in (
    config.read_toml,
    Vocabulary.load,
    trees.read_paths,
    classes.read_classes,
    lambda path: evaluate_analogies(vectors, path),
    lambda path: evaluate_similarity(vectors, path),
    lambda path: comparison.result(path.parent, one, print),
):
    try:
        read(Path(sys.argv[1]))
    except W2VError as error:
        print(error.exit_code, error)
"""
needs_proc = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")


def printed(program, *arguments):
    """Run a Python program, which must exit with code 0, and return the lines that it prints."""
    command = [sys.executable, "-W", "error", "-c", program, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=FOLDER.parent.parent, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@needs_proc
@pytest.mark.parametrize("slow", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["others", "bzip2"])
def test_no_hostile_file_needs_much_memory(slow):
    assert not printed(PROGRAM, *(path for path in ATTACKS if (path.suffix == SLOW) == slow))


def compressed(folder, name, data):
    """Write compressed data to a file, and return its path."""
    pack = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": partial(lzma.compress, preset=1), ".zst": zstd.compress}
    path = folder / name
    path.write_bytes(pack[path.suffix](data))
    return path


@pytest.mark.parametrize(
    "name", ["v.txt.gz", pytest.param("v.txt.bz2", marks=pytest.mark.slow), "v.txt.xz", "v.txt.zst", "v.bin.gz"]
)
def test_vectors_of_zeros_are_read_although_they_compress_a_hundredfold(tmp_path, name):
    rows, zeros, one = (50_000, bytes(1196), b"\0\0\x80\x3f") if ".bin" in name else (5_000, b"0 " * 299, b"1\n")
    data = b"%d 300\n" % rows + b"".join(b"w%d " % row + zeros + one for row in range(rows))
    path = compressed(tmp_path, name, data)
    assert 100 * path.stat().st_size < len(data)
    found = read_vectors(path)
    assert (len(found.words), found.words[-1]) == (rows, f"w{rows - 1}")
    assert found.matrix.sum(0).tolist() == [0] * 299 + [rows]
    assert len(KeyedVectors.load_word2vec_format(path, binary=".bin" in name)) == rows


@needs_proc
def test_memory_for_words_counts_as_much_as_memory_for_vectors(tmp_path, monkeypatch):
    """A word takes 160 bytes, so short vectors of many words take 30 times as much memory as text."""

    def bomb(name, rows, value):
        data = b"%d 1\n" % rows + b"".join(b"w%d %b" % (row, value) for row in range(rows))
        path = compressed(tmp_path, name, data)
        assert len(data) < justified(path.stat().st_size)
        return path

    assert not printed(PROGRAM, bomb("large.txt.xz", 900_000, b"1\n"))
    monkeypatch.setattr(reading, "ALLOWED_BYTES", reading.ALLOWED_BYTES // 10)
    for name, value in (("bomb.txt.xz", b"1\n"), ("bomb.bin.xz", b"\0\0\x80\x3f")):
        with pytest.raises(DataError, match="words and vectors of more than 100 times the size of the compressed"):
            read_vectors(bomb(name, 90_000, value))


@needs_proc
def test_a_line_of_millions_of_values_takes_no_more_memory_than_its_text(tmp_path):
    path = compressed(tmp_path, "bomb.txt.gz", b"1 1000000\nw" + b" 00" * 8_000_000 + b"\n")
    with pytest.raises(DataError, match=r":2: .* or there are more than 1000000 values"):
        read_vectors(path)
    with pytest.raises(DataError, match="1 of 1 rows are invalid, too many to repair"):
        read_vectors(path, lenient=True)
    assert not printed(PROGRAM, path)


@needs_proc
def test_every_hostile_model_is_rejected_before_its_scorer_takes_memory():
    models = fuzz.attacks_on("model")
    assert len(models) > 20
    refused = dict(line.split(" ", 1) for line in printed(SCORING, *models))
    assert sorted(refused) == sorted(path.stem for path in models)
    assert all(refused[path.stem].startswith(f"{path}: ") for path in models)
    named = {
        "lsh-tables": "tables",
        "cnn-filters": "filters",
        "norm-penalty": "penalty",
        "tree-names": "vectors",
        "classes-names": "vectors",
    }
    assert all(f"settings: option {option} of objective" in refused[name] for name, option in named.items())


@needs_proc
@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs /dev/zero")
def test_an_endless_device_is_rejected_by_every_reader(tmp_path):
    (tmp_path / "trial.json").symlink_to("/dev/zero")
    found = printed(ENDLESS, tmp_path / "trial.json")
    assert [line[:2] for line in found] == ["78", "65", "65", "65", "65", "65", "65"]
    assert all("trial.json" in line and "more than" in line for line in found)


@pytest.mark.parametrize(
    "name", ["x" * 300, "x/" * 5000, "missing", "folder"], ids=["long", "deep", "missing", "folder"]
)
def test_a_name_that_cannot_be_opened_raises_input_missing_in_every_reader(name, tmp_path):
    (tmp_path / "folder").mkdir()
    why = "is a folder|no files in" if name == "folder" else "name too long|No such file"
    words = Vectors(fuzz.WORDS, fuzz.ROWS)
    for read in (
        lambda path: Corpus([path]),
        lambda path: Corpus([f"{path}*.txt"]),
        config.read_toml,
        Vocabulary.load,
        trees.read_paths,
        classes.read_classes,
        read_vectors,
        load_model,
        describe,
        lambda path: evaluate_analogies(words, path),
        lambda path: evaluate_similarity(words, path),
    ):
        with pytest.raises(InputMissing, match=f"(?i)no file matches|{why}") as caught:
            read(f"{tmp_path}/{name}")
        assert "\n" not in str(caught.value)
