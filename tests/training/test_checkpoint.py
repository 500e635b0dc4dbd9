"""Checkpoints: saving, loading, damage, full disks, leftovers, and the lock of the run folder."""

import hashlib
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from w2vtrain.errors import DataError, OutputError, WriteError
from w2vtrain.formats.safetensors import write_safetensors
from w2vtrain.system.trust import trust
from w2vtrain.training import checkpoint
from w2vtrain.training.folder import locked
from w2vtrain.training.journal import Journal

ARRAYS = {"input": np.arange(12, dtype=np.float32).reshape(3, 4), "codes": np.array([1, 0], np.uint8)}


def state(k):
    return {name: array + k for name, array in ARRAYS.items()}


def test_save_keeps_the_newest_two_checkpoints_and_load_returns_the_newest(tmp_path):
    assert checkpoint.load(tmp_path) is None
    assert checkpoint.load(tmp_path / "nothing") is None
    for k in (1, 2, 3):
        checkpoint.save(tmp_path, k, state(k), {"epoch": k})
    assert checkpoint.numbers(tmp_path) == [2, 3]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ckpt-000002", "ckpt-000003"]
    found = checkpoint.load(tmp_path)
    assert (found.number, found.facts, found.skipped) == (3, {"epoch": 3}, [])
    for name, array in state(3).items():
        np.testing.assert_array_equal(found.arrays[name], array)
        assert found.arrays[name].dtype == array.dtype


def damage(tmp_path, how):
    file, manifest = tmp_path / "ckpt-000002" / checkpoint.STATE, tmp_path / "ckpt-000002" / checkpoint.MANIFEST
    data = file.read_bytes()
    match how:
        case "flipped":
            file.write_bytes(data[:-5] + bytes([data[-5] ^ 4]) + data[-4:])
        case "cut":
            file.write_bytes(data[:-1])
        case "gone":
            file.unlink()
        case "link":
            file.rename(tmp_path / "elsewhere")
            file.symlink_to(tmp_path / "elsewhere")
        case "no manifest":
            manifest.unlink()
        case "huge manifest":
            manifest.write_bytes(b" " * (1 << 21))
        case "manifest":
            manifest.write_bytes(b"[1]")
        case "half a manifest":
            manifest.write_bytes(manifest.read_bytes()[:20])
        case "schema":
            manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "schema": 99}))
        case "number":
            (tmp_path / "ckpt-000002").rename(tmp_path / "ckpt-000007")


@pytest.mark.parametrize(
    "how",
    [
        "flipped",
        "cut",
        "gone",
        "link",
        "no manifest",
        "huge manifest",
        "manifest",
        "half a manifest",
        "schema",
        "number",
    ],
)
def test_a_damaged_checkpoint_is_reported_and_the_previous_one_is_loaded(tmp_path, how):
    for k in (1, 2):
        checkpoint.save(tmp_path, k, state(k), {"epoch": k})
    damage(tmp_path, how)
    found = checkpoint.load(tmp_path)
    assert found.number == 1
    assert len(found.skipped) == 1
    assert "ckpt-00000" in found.skipped[0]
    np.testing.assert_array_equal(found.arrays["input"], ARRAYS["input"] + 1)
    (tmp_path / "ckpt-000001" / checkpoint.MANIFEST).unlink()
    with pytest.raises(DataError, match="no valid checkpoint"):
        checkpoint.load(tmp_path)


@pytest.fixture
def two(tmp_path):
    """Return a folder with two checkpoints, and the newer one's files: a state of over 20 KiB, and the manifest."""
    big = {**ARRAYS, "output": np.random.default_rng(2).standard_normal((1280, 4)).astype(np.float32)}
    checkpoint.save(tmp_path, 1, ARRAYS, {"epoch": 1})
    checkpoint.save(tmp_path, 2, big, {"epoch": 2})
    files = [tmp_path / "ckpt-000002" / name for name in (checkpoint.STATE, checkpoint.MANIFEST)]
    return tmp_path, files


def falls_back(run):
    found = checkpoint.load(run)
    return found.number == 1 and len(found.skipped) == 1 and "ckpt-000002" in found.skipped[0]


def test_a_flipped_bit_is_always_detected(two):
    """Flip 500 random bits of the state and 500 of the manifest, one at a time; the previous checkpoint is loaded."""
    run, files = two
    rng = np.random.default_rng(3)
    for file in files:
        data = file.read_bytes()
        for bit in rng.permutation(8 * len(data))[:500].tolist():
            place, mask = bit // 8, 1 << bit % 8
            file.write_bytes(data[:place] + bytes([data[place] ^ mask]) + data[place + 1 :])
            assert falls_back(run), (file, bit)
        file.write_bytes(data)
        assert checkpoint.load(run).number == 2


@pytest.mark.parametrize("longer", [b"", b"\0", bytes(5000)], ids=["cut", "one-byte", "many-bytes"])
def test_a_file_of_the_wrong_length_is_detected(two, longer):
    """Cut the state every 4 KiB, more often in its first 4 KiB, and the manifest at every byte; or append bytes."""
    run, (state, manifest) = two
    for file, step in ((state, 4096), (manifest, 1)):
        data = file.read_bytes()
        for cut in [len(data)] if longer else sorted({*range(0, len(data), step), *range(1, min(4096, len(data)), 97)}):
            file.write_bytes(data[:cut] + longer)
            assert falls_back(run), (file, cut)
        file.write_bytes(data)
        assert checkpoint.load(run).number == 2


@pytest.mark.parametrize("about", ["", "[]", "1", "{", '{"a":' * 2000, '"\\ud800"'])
def test_a_state_with_an_invalid_description_of_its_run_is_refused(tmp_path, about):
    """The checksums are correct: whoever tampers with a state can compute them."""
    checkpoint.save(tmp_path, 1, ARRAYS, {})
    state, manifest = (tmp_path / "ckpt-000001" / name for name in (checkpoint.STATE, checkpoint.MANIFEST))
    write_safetensors(state, ARRAYS, {"about": about}, force=True)
    data = state.read_bytes()
    digest = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    manifest.write_text(checkpoint.sealed({"schema": checkpoint.SCHEMA, "number": 1, **digest, "run": {}}))
    with pytest.raises(DataError, match="its description of the run is not"):
        checkpoint.load(tmp_path)


def test_a_full_disk_leaves_the_previous_checkpoint_unchanged(tmp_path):
    """Saving fails at several file size limits; afterwards the old checkpoint loads and no other files remain."""
    checkpoint.save(tmp_path, 1, ARRAYS, {"epoch": 1})
    code = """
import resource, signal, sys
from pathlib import Path
import numpy as np
from w2vtrain.training import checkpoint
from w2vtrain.formats.safetensors import write_safetensors
from w2vtrain.errors import W2VError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
failed = 0
for limit in (0, 1, 100, 300, 1000, 20_000, 39_999):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    try:
        checkpoint.save(Path(sys.argv[1]), 2, {"input": np.zeros((100, 100), np.float32)}, {})
    except W2VError as error:
        assert error.exit_code in (73, 74), error
        failed += 1
print(failed)
"""
    done = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "7"
    assert [path.name for path in tmp_path.iterdir()] == ["ckpt-000001"]
    assert checkpoint.load(tmp_path).facts == {"epoch": 1}


def test_a_checkpoint_that_cannot_be_written_raises_an_error(tmp_path):
    (tmp_path / "ckpt-000001").mkdir()
    (tmp_path / "ckpt-000001" / "something").write_text("")
    with pytest.raises(WriteError):
        checkpoint.save(tmp_path, 1, ARRAYS, {})


def test_leftovers_of_killed_runs_are_deleted(tmp_path):
    for name in (".tmp-000001-123", ".del-000002-99", "ckpt-000004", ".tmp-mine", "notes"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("x")
    (tmp_path / ".config.json.tmp-123-0123abcd").write_text("half")
    Journal(tmp_path, trust(tmp_path), {"cwd": ".", "request": {}, "settings": {}}).save()
    with locked(tmp_path):
        left = sorted(path.name for path in tmp_path.iterdir())
    assert left == [".tmp-mine", "ckpt-000004", "config.json", "lock", "notes"]


def test_a_second_process_is_refused_the_lock_and_the_error_names_the_first(tmp_path):
    hold = "import sys; from pathlib import Path; from w2vtrain.training.folder import locked\n"
    hold += "with locked(Path(sys.argv[1])):\n    print('held', flush=True)\n    sys.stdin.read()"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", hold, tmp_path], **pipes) as other:
        assert other.stdout.readline() == "held\n"
        with (
            pytest.raises(OutputError, match=rf"in use by process {other.pid} on \S+ since 20\d\d-"),
            locked(tmp_path),
        ):
            pass
        other.kill()
    with locked(tmp_path):
        assert f"process {os.getpid()} " in (tmp_path / "lock").read_text()
