"""Checkpoints: writing, reading, damage, full disks, leftovers, and the lock of the run folder."""

import os
import subprocess
import sys

import numpy as np
import pytest
from reference import saved

from w2vtrain.errors import DataError, InputMissing, OutputError
from w2vtrain.formats.safetensors import write_safetensors
from w2vtrain.training import checkpoint_file
from w2vtrain.training.run_files import Config, locked, write_config

ARRAYS = {"input": np.arange(12, dtype=np.float32).reshape(3, 4), "codes": np.array([1, 0], np.uint8)}
RUN = "0123abcd"


def state(k):
    return {name: array + k for name, array in ARRAYS.items()}


def write(folder, k, run=RUN):
    checkpoint_file.write(folder, k, run, saved(k), state(k))


def test_the_newest_two_checkpoints_are_kept_and_the_newest_is_read(tmp_path):
    assert checkpoint_file.newest(tmp_path, RUN) is None
    assert checkpoint_file.newest(tmp_path / "nothing", RUN) is None
    for k in (1, 2, 3):
        write(tmp_path, k)
    assert checkpoint_file.numbers(tmp_path) == [2, 3]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ckpt-000002.safetensors", "ckpt-000003.safetensors"]
    found = checkpoint_file.newest(tmp_path, RUN)
    assert (found.number, found.run, found.saved, found.skipped) == (3, RUN, saved(3), [])
    for name, array in state(3).items():
        np.testing.assert_array_equal(found.arrays[name], array)
        assert found.arrays[name].dtype == array.dtype
    assert checkpoint_file.newest_saved(tmp_path, RUN)[:2] == (3, saved(3))
    for k in (999_999, 1_000_000):
        checkpoint_file.write(tmp_path, k, RUN, saved(3), state(3))
    assert checkpoint_file.numbers(tmp_path) == [999_999, 1_000_000]


def test_checkpoints_of_another_run_are_not_read(tmp_path):
    """They may have been copied, or the system did not allow a run that started over to delete them."""
    write(tmp_path, 1)
    write(tmp_path, 2, "another")
    assert checkpoint_file.newest(tmp_path, RUN).number == 1
    assert checkpoint_file.newest_saved(tmp_path, RUN)[0] == 1
    with pytest.raises(
        DataError, match=r"ckpt-000002\S+: belongs to another run; .*ckpt-000001\S+: belongs to another run"
    ):
        checkpoint_file.newest(tmp_path, "a third")


def test_a_damaged_checkpoint_is_reported_and_the_one_before_it_is_read(tmp_path):
    for k in (1, 2):
        write(tmp_path, k)
    checkpoint_file.path_of(tmp_path, 2).write_bytes(b"{}")
    found = checkpoint_file.newest(tmp_path, RUN)
    assert found.number == 1
    assert len(found.skipped) == 1
    assert str(checkpoint_file.path_of(tmp_path, 2)) in found.skipped[0]
    np.testing.assert_array_equal(found.arrays["input"], ARRAYS["input"] + 1)
    checkpoint_file.path_of(tmp_path, 1).write_bytes(b"")
    with pytest.raises(DataError, match=r"no valid checkpoint: .*ckpt-000002.*ckpt-000001.*; move them away"):
        checkpoint_file.newest(tmp_path, RUN)


@pytest.fixture
def two(tmp_path):
    """Return a folder with two checkpoints, and the file of the newer one, of over 20 KiB."""
    big = {**ARRAYS, "output": np.random.default_rng(2).standard_normal((1280, 4)).astype(np.float32)}
    write(tmp_path, 1)
    checkpoint_file.write(tmp_path, 2, RUN, saved(2), big)
    return tmp_path, checkpoint_file.path_of(tmp_path, 2)


def falls_back(folder):
    found = checkpoint_file.newest(folder, RUN)
    return found is not None and found.number == 1


def test_a_flipped_bit_is_always_detected(two):
    """Flip each bit of the header, and 500 random ones after it, one at a time; the checkpoint before it is read."""
    folder, file = two
    data = file.read_bytes()
    header = 8 + int.from_bytes(data[:8], "little")
    others = np.random.default_rng(3).permutation(range(8 * header, 8 * len(data)))[:500].tolist()
    for bit in [*range(64, 8 * header, 5), *others]:
        place, mask = bit // 8, 1 << bit % 8
        file.write_bytes(data[:place] + bytes([data[place] ^ mask]) + data[place + 1 :])
        assert falls_back(folder), bit
    file.write_bytes(data)
    assert checkpoint_file.newest(folder, RUN).number == 2


@pytest.mark.parametrize("longer", [b"", b"\0", bytes(5000)], ids=["cut", "one-byte", "many-bytes"])
def test_a_file_of_the_wrong_length_is_detected(two, longer):
    """Cut the file every 4 KiB, more often in its first 4 KiB; or append bytes."""
    folder, file = two
    data = file.read_bytes()
    for cut in [len(data)] if longer else sorted({*range(0, len(data), 4096), *range(1, 4096, 97)}):
        file.write_bytes(data[:cut] + longer)
        assert falls_back(folder), cut
    file.write_bytes(data)
    assert checkpoint_file.newest(folder, RUN).number == 2


@pytest.mark.parametrize("about", ["", "[]", "1", "{", "{}", '{"a":' * 2000, '"\\ud800"'])
def test_a_checkpoint_with_an_invalid_description_of_its_run_is_refused(tmp_path, about):
    """The checksum is right: whoever tampers with a checkpoint can compute it."""
    facts = {"run": RUN, "about": about, "sha256": checkpoint_file.checksum(ARRAYS, RUN, about)}
    write_safetensors(checkpoint_file.path_of(tmp_path, 1), ARRAYS, facts)
    with pytest.raises(DataError, match="its description"):
        checkpoint_file.newest(tmp_path, RUN)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may read everything")
def test_a_checkpoint_that_may_not_be_read_does_not_pass_for_damaged(tmp_path):
    for k in (1, 2):
        write(tmp_path, k)
    checkpoint_file.path_of(tmp_path, 2).chmod(0)
    with pytest.raises(InputMissing, match="Permission denied: nothing is lost; make it readable"):
        checkpoint_file.newest(tmp_path, RUN)


def test_a_full_disk_leaves_the_checkpoint_before_unchanged(tmp_path):
    """Writing fails at several file size limits; afterwards the old checkpoint is read and no other files remain."""
    write(tmp_path, 1)
    code = """
import resource, signal, sys
from pathlib import Path
import numpy as np
from reference import saved
from w2vtrain.training import checkpoint_file
from w2vtrain.errors import W2VError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
failed = 0
for limit in (0, 1, 100, 300, 1000, 20_000, 39_999):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    try:
        checkpoint_file.write(Path(sys.argv[1]), 2, "run", saved(2), {"input": np.zeros((100, 100), np.float32)})
    except W2VError as error:
        assert error.exit_code in (73, 74), error
        failed += 1
print(failed)
"""
    about = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True, env=about)
    assert (done.returncode, done.stdout.strip()) == (0, "7"), done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["ckpt-000001.safetensors"]
    assert checkpoint_file.newest(tmp_path, RUN).saved == saved(1)


def test_a_checkpoint_never_replaces_another_file(tmp_path):
    checkpoint_file.path_of(tmp_path, 1).write_text("mine")
    with pytest.raises(OutputError, match="exists"):
        write(tmp_path, 1)
    assert checkpoint_file.path_of(tmp_path, 1).read_text() == "mine"


def test_leftovers_of_killed_runs_are_deleted(tmp_path):
    for name in ("config.json", "vocab.txt", "ckpt-000017.safetensors", "ckpt-1000000.safetensors"):
        (tmp_path / f".{name}.tmp-123-0123abcd4567cdef").write_text("half")
    for name in (".tmp-mine", "ckpt-000004.safetensors", "notes"):
        (tmp_path / name).write_text("x")
    write_config(tmp_path, Config.new(".", {}, {}))
    with locked(tmp_path):
        left = sorted(path.name for path in tmp_path.iterdir())
    assert left == [".tmp-mine", "ckpt-000004.safetensors", "config.json", "lock", "notes"]


def test_a_second_process_is_refused_the_lock_and_the_error_names_the_first(tmp_path, monkeypatch):
    hold = "import sys; from pathlib import Path; from w2vtrain.training.run_files import locked\n"
    hold += "with locked(Path(sys.argv[1])):\n    print('held', flush=True)\n    sys.stdin.read()"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", hold, tmp_path], **pipes) as other:
        assert other.stdout.readline() == "held\n"
        with pytest.raises(OutputError, match=rf"in use by process {other.pid} on \S+ since 20\d\d-"), locked(tmp_path):
            pass
        monkeypatch.setenv("PMI_SIZE", "2")  # which mpiexec sets
        with pytest.raises(OutputError, match="distributed"), locked(tmp_path):
            pass
        other.kill()
    with locked(tmp_path):
        assert f"process {os.getpid()} " in (tmp_path / "lock").read_text()
