"""Hostile and damaged files: only errors of this package, quickly, without taking memory or running anything."""

import contextlib
import subprocess
import sys
import time
from pathlib import Path

import fuzz
import pytest

from w2vtrain.errors import DataError, W2VError
from w2vtrain.model import describe, load_model
from w2vtrain.vectors import read_vectors

FOLDER = Path(__file__).parent / "attacks"
ATTACKS = sorted(path for path in FOLDER.iterdir() if path.suffix not in (".py", "") and path.is_file())
OTHERS = [path for loader in fuzz.LOADERS for path in fuzz.attacks_on(loader)]
# These are sound as vectors: what is wrong with them concerns the rest of a model.
SOUND_VECTORS = {
    *("no-settings", "list-settings", "bad-record", "bfloat-extra", "other-dim", "nan-output", "nan-extra"),
    "negative-count",
}


def test_there_are_attacks():
    assert len(ATTACKS) > 60
    assert len(OTHERS) > 15


@pytest.mark.parametrize("path", ATTACKS, ids=lambda path: path.name)
def test_a_hostile_file_is_refused(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    start = time.process_time()
    readers = [load_model] if path.stem in SOUND_VECTORS else [read_vectors, load_model]
    for reader in readers:
        with pytest.raises(DataError, match=path.name.replace(".", r"\.")):
            reader(path)
    with contextlib.suppress(W2VError):
        assert describe(path)["bytes"] == path.stat().st_size
    assert time.process_time() - start < 3
    assert not list(tmp_path.iterdir()), "a pickle was run"


@pytest.mark.parametrize("path", ATTACKS, ids=lambda path: path.name)
def test_lenient_reading_raises_nothing_else(path):
    try:
        vectors = read_vectors(path, lenient=True)
    except W2VError:
        return
    assert len(vectors.words) == len(vectors.matrix) > 0


@pytest.mark.parametrize("path", OTHERS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_other_reader_refuses_its_hostile_files(path, tmp_path):
    copy, before = tmp_path / "input", fuzz.REFUSED.total()
    copy.write_bytes(path.read_bytes())
    fuzz.refused(fuzz.LOADERS[path.parent.name].read, copy)
    assert fuzz.REFUSED.total() > before


PROGRAM = """
import resource, sys
from pathlib import Path
from w2vtrain.errors import DataError
from w2vtrain.model import load_model
from w2vtrain.vectors import read_vectors
import safetensors.numpy, zstandard, gzip, bz2, lzma
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (200 << 20),) * 2)
for name in sys.argv[1:]:
    for reader in read_vectors, load_model:
        for attempt in range(2):
            try:
                reader(name)
            except DataError:
                pass
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
def test_no_hostile_file_takes_much_memory():
    command = [sys.executable, "-W", "error", "-c", PROGRAM, *map(str, ATTACKS)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=FOLDER.parent.parent, check=False)
    assert done.returncode == 0, done.stderr
