"""Tests of atomic writing: what a file contains after success, an error, a kill, or a full disk."""

import errno
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from w2vtrain.errors import OutputError, WriteError
from w2vtrain.system import files
from w2vtrain.system.files import atomic_write, check_writable
from w2vtrain.system.folder_writing import atomic_folder

FULL = 51
"""The command F_FULLFSYNC of macOS."""


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_atomic_write_writes_the_bytes_and_leaves_no_other_file(tmp_path):
    with atomic_write(tmp_path / "a") as file:
        file.write(b"one")
        file.write(memoryview(np.arange(3, dtype="<i4")))
        assert not (tmp_path / "a").exists()
        assert names(tmp_path)[0].startswith(f".a.tmp-{os.getpid()}-")
    assert (tmp_path / "a").read_bytes() == b"one" + np.arange(3, dtype="<i4").tobytes()
    assert names(tmp_path) == ["a"]


def test_an_existing_file_needs_force_and_keeps_its_mode(tmp_path):
    target = tmp_path / "a"
    target.write_bytes(b"old")
    target.chmod(0o600)
    with pytest.raises(OutputError, match="exists: use force=True to overwrite"), atomic_write(target):
        pytest.fail("the block must not run")
    with pytest.raises(OutputError, match="exists: use force=True"):
        check_writable(target)
    assert target.read_bytes() == b"old"
    check_writable(target, force=True)
    with atomic_write(target, force=True) as file:
        file.write(b"new")
    assert target.read_bytes() == b"new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert names(tmp_path) == ["a"]


@pytest.mark.parametrize("links", [True, False])
def test_a_target_that_is_created_during_writing_is_not_overwritten(tmp_path, monkeypatch, links):
    def no_links(*_):
        raise OSError(errno.EPERM, "no hard links here")

    if not links:
        monkeypatch.setattr(Path, "hardlink_to", no_links)
    with pytest.raises(OutputError, match="exists"), atomic_write(tmp_path / "a") as file:  # noqa: PT012
        file.write(b"mine")
        (tmp_path / "a").write_bytes(b"theirs")
    assert (tmp_path / "a").read_bytes() == b"theirs"
    assert names(tmp_path) == ["a"]


def test_atomic_write_works_without_hard_links(tmp_path, monkeypatch):
    def no_links(*_):
        raise OSError(errno.EPERM, "no hard links here")

    monkeypatch.setattr(Path, "hardlink_to", no_links)
    with atomic_write(tmp_path / "a") as file:
        file.write(b"x")
    assert names(tmp_path) == ["a"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, OSError(errno.EIO, "another file")])
def test_an_exception_in_the_block_leaves_the_target_unchanged(tmp_path, error):
    target = tmp_path / "a"
    target.write_bytes(b"old")
    expected = error if isinstance(error, type) else OSError
    with pytest.raises(expected), atomic_write(target, force=True) as file:  # noqa: PT012
        file.write(b"new")
        raise error
    assert target.read_bytes() == b"old"
    assert names(tmp_path) == ["a"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing/a", "no folder"),
        ("file/a", "Not a directory"),
        (".", "is a folder"),
        ("x" * 300, "File name too long"),
        ("nul\0", "null (byte|character)"),
    ],
)
def test_a_path_that_cannot_be_created_raises_output_error(tmp_path, name, message):
    (tmp_path / "file").write_bytes(b"")
    for attempt in (check_writable, lambda path: atomic_write(path).__enter__()):
        with pytest.raises(OutputError, match=message):
            attempt(tmp_path / name)


def test_a_read_only_file_system_raises_output_error(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(files.os, "open", refuse)
    for attempt in (check_writable, lambda path: atomic_write(path).__enter__()):
        with pytest.raises(OutputError, match=r"a cannot be created: Read-only file system"):
            attempt(tmp_path / "a")


def test_a_symbolic_link_is_followed(tmp_path):
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")
    with atomic_write(tmp_path / "link", force=True) as file:
        file.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"
    (tmp_path / "real").unlink()
    for attempt in (check_writable, lambda path: atomic_write(path).__enter__()):
        with pytest.raises(OutputError, match=r"is a symbolic link to .*real, which does not exist: use force=True"):
            attempt(tmp_path / "link")
    with atomic_write(tmp_path / "link", force=True) as file:
        file.write(b"newer")
    assert (tmp_path / "real").read_bytes() == b"newer"


def test_a_device_is_written_to_and_not_replaced(tmp_path):
    check_writable("/dev/null")
    with atomic_write("/dev/null") as file:
        file.write(b"x")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("size", [10, 10_000_000])
def test_a_full_device_raises_write_error(size):
    with pytest.raises(WriteError, match="/dev/full cannot be written: No space left on device"):  # noqa: SIM117
        with atomic_write("/dev/full", size=size) as file:
            file.write(b"x" * size)


def test_a_pipe_is_written_to(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    got = []
    reader = threading.Thread(target=lambda: got.append((tmp_path / "pipe").read_bytes()))
    reader.start()
    with atomic_write(tmp_path / "pipe") as file:
        file.write(b"x" * 100_000)
    reader.join()
    assert got == [b"x" * 100_000]


LIMITED = """
import resource, sys
from w2vtrain.errors import WriteError
from w2vtrain.system.files import atomic_write
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
try:
    with atomic_write(sys.argv[1], force=True, size=3 << 20) as file:
        for _ in range(int(sys.argv[2])):
            file.write(memoryview(bytes(1 << 10)))
except WriteError as error:
    print(error)
    sys.exit(error.exit_code)
"""


@pytest.mark.parametrize("blocks", [1 << 10, (1 << 10) + 1, 3 << 10])
def test_a_file_size_limit_keeps_the_old_file(tmp_path, blocks):
    (tmp_path / "a").write_bytes(b"old")
    command = [sys.executable, "-W", "error", "-c", LIMITED, str(tmp_path / "a"), str(blocks)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert names(tmp_path) == ["a"]
    assert done.stderr == ""
    if blocks << 10 <= 1 << 20:
        assert done.returncode == 0
        assert (tmp_path / "a").stat().st_size == 1 << 20
    else:
        assert done.returncode == 74
        assert (tmp_path / "a").read_bytes() == b"old"
        assert "a cannot be written: File too large after 1,048,576 bytes; 3,145,728 are needed" in done.stdout


def write_fails(self, data):
    raise self._failed(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))


@pytest.mark.parametrize("call", ["write", "fsync", "replace", "fsync folder"])
def test_a_failed_system_call_leaves_a_complete_file(tmp_path, monkeypatch, call):
    target = tmp_path / "a"
    target.write_bytes(b"old")
    calls = []

    def fail(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def fsync(handle):
        calls.append(handle)
        if call == "fsync" or (call == "fsync folder" and len(calls) == 2):
            fail()

    monkeypatch.setattr(files.os, "fsync", fsync)
    if call == "write":
        monkeypatch.setattr(files, "_Checked", type("Full", (files._Checked,), {"write": write_fails}))
    if call == "replace":
        monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(WriteError, match="No space left"), atomic_write(target, force=True) as file:
        file.write(b"new")
    # After the rename, the new file is complete; it is only uncertain whether its name survives a power failure.
    assert target.read_bytes() == (b"new" if call == "fsync folder" else b"old")
    assert names(tmp_path) == ["a"]


def test_data_and_folder_are_synced_before_and_after_the_rename(tmp_path, monkeypatch):
    seen = []
    real = os.fsync

    def fsync(handle):
        kind = "folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file"
        seen.append((kind, (tmp_path / "a").exists(), os.fstat(handle).st_size if kind == "file" else None))
        real(handle)

    monkeypatch.setattr(files.os, "fsync", fsync)
    with atomic_write(tmp_path / "a") as file:
        file.write(b"x" * 1000)
    assert seen == [("file", False, 1000), ("folder", True, None)]


@pytest.fixture
def macos(monkeypatch):
    """Fake F_FULLFSYNC; return the calls, and a list to which a test may append the error of the next one."""
    calls, errors = [], []

    def full(handle, command):
        calls.append(command)
        if errors:
            raise errors.pop()

    fcntl = pytest.importorskip("fcntl")
    monkeypatch.setattr(fcntl, "F_FULLFSYNC", FULL, raising=False)
    monkeypatch.setattr(fcntl, "fcntl", full)
    monkeypatch.setattr(os, "fsync", lambda handle: calls.append("fsync"))
    return calls, errors


def test_files_and_folders_are_written_through_the_cache_of_the_disk_on_macos(macos, tmp_path):
    with atomic_write(tmp_path / "a") as file:
        file.write(b"x")
    assert macos[0] == [FULL, FULL], "the bytes, then the name"


@pytest.mark.parametrize("code", [errno.ENOTSUP, errno.EINVAL, errno.ENOTTY])
def test_a_file_system_without_full_syncs_gets_an_ordinary_one(macos, code):
    macos[1].append(OSError(code, os.strerror(code)))
    files.sync(0)
    assert macos[0] == [FULL, "fsync"]


def test_a_full_sync_that_fails_is_an_error(macos, tmp_path):
    macos[1].append(OSError(errno.EIO, os.strerror(errno.EIO)))
    with pytest.raises(WriteError, match="Input/output error"), atomic_write(tmp_path / "a") as file:
        file.write(b"x")
    assert macos[0] == [FULL]
    assert list(tmp_path.iterdir()) == []


KILLED = """
import sys
from w2vtrain.system.files import atomic_write
for i in range(10**9):
    with atomic_write(sys.argv[1], force=True) as file:
        file.write(b"%20d" % i * 50_000)
    print(i, flush=True)
"""


def test_the_file_is_complete_if_the_process_is_killed_at_any_moment(tmp_path):
    target = tmp_path / "a"
    for round_ in range(8):
        command = [sys.executable, "-c", KILLED, str(target)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            acknowledged = process.stdout.readline()
            time.sleep(0.013 * round_)
            process.send_signal(signal.SIGKILL)
            acknowledged = (process.stdout.read().splitlines() or [acknowledged])[-1]
        content = target.read_bytes()
        assert len(content) == 1_000_000
        assert content == content[:20] * 50_000
        assert int(content[:20]) >= int(acknowledged)


def test_old_temporary_files_of_dead_processes_are_removed(tmp_path):
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        pass
    old, fresh = time.time() - 2 * files.MIN_SWEEP_SECONDS, time.time()
    for name, when in [
        (f".a.tmp-{process.pid}-ffffffff00000001", old),
        (f".a.tmp-{process.pid}-ffffffff00000002", fresh),
        (f".a.tmp-{os.getpid()}-ffffffff00000003", old),
        (f".b.tmp-{process.pid}-ffffffff00000004", old),
        (f".a.tmp-{process.pid}-mine", old),
    ]:
        (tmp_path / name).write_bytes(b"")
        os.utime(tmp_path / name, (when, when))
    with atomic_write(tmp_path / "a") as file:
        file.write(b"x")
    assert f".a.tmp-{process.pid}-ffffffff00000001" not in names(tmp_path)
    assert len(names(tmp_path)) == 5


WRITING = """
import sys
from w2vtrain.system.files import atomic_write
from w2vtrain.system.folder_writing import atomic_folder
with atomic_write("a", force=True) as file, atomic_folder("d", True, lambda path: True):
    file.write(bytes(100))
    file.flush()
    print("writing", flush=True)
    sys.stdin.read()
"""


def test_what_a_killed_process_left_is_removed_at_once_but_nothing_that_is_in_use(tmp_path):
    words = [sys.executable, "-c", WRITING]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "cwd": tmp_path}
    with subprocess.Popen(words, **pipes) as living, subprocess.Popen(words, **pipes) as killed:
        assert [process.stdout.readline() for process in (living, killed)] == [b"writing\n"] * 2
        killed.kill()
        killed.wait()
        left = [name for name in names(tmp_path) if f"tmp-{killed.pid}-" in name]
        assert len(left) == 2
        (tmp_path / "other").write_bytes(b"kept")
        link = left[0][:-8] + "00000001"
        elsewhere = f".a.tmp-{killed.pid}-ffffffff00000001"  # its process may be alive on another host
        (tmp_path / link).symlink_to("other")
        (tmp_path / elsewhere).touch()
        with atomic_write(tmp_path / "a", force=True):
            pass
        assert not [name for name in left if name.startswith(".a.") and name in names(tmp_path)]
        with atomic_folder(tmp_path / "d", True, lambda path: True):
            pass
        assert not set(left) & set(names(tmp_path))
        assert {link, elsewhere, "other"} <= set(names(tmp_path))
        assert len([name for name in names(tmp_path) if f"tmp-{living.pid}-" in name]) == 2
        living.communicate(b"")
        assert living.returncode == 0
    assert (tmp_path / "a").read_bytes() == bytes(100)


REPLACING = """
import os
from pathlib import Path
from w2vtrain.system.folder_writing import atomic_folder
def rename(self, target, renames=[]):
    renames.append(target)
    if len(renames) == 2:
        END
    return os.rename(self, target)
Path.rename = rename
with atomic_folder("d", True, lambda path: True) as folder:
    (folder / "new").touch()
"""


@pytest.mark.parametrize("end", ["os._exit(9)", "raise KeyboardInterrupt"])
def test_a_folder_is_kept_if_the_process_ends_before_the_new_one_has_its_name(tmp_path, end):
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "old").touch()
    words = [sys.executable, "-c", REPLACING.replace("END", end)]
    assert subprocess.run(words, cwd=tmp_path, check=False, capture_output=True).returncode
    with (
        pytest.raises(OutputError, match="d exists: use force=True"),
        atomic_folder(tmp_path / "d", False, lambda path: True),
    ):
        pass
    assert names(tmp_path / "d") == ["old"]
    with atomic_folder(tmp_path / "d", True, lambda path: True):
        pass
    assert names(tmp_path) == ["d"]


def test_an_error_in_a_file_of_a_folder_names_the_folder_that_was_asked_for(tmp_path):
    folder = tmp_path / "d"
    with pytest.raises(OutputError) as caught, atomic_folder(folder, True, lambda path: True) as inside:  # noqa: SIM117
        with atomic_write(inside / "missing" / "file"):
            pass
    assert (
        str(caught.value) == f"{folder / 'missing' / 'file'} cannot be created: there is no folder {folder / 'missing'}"
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_standard_output_raises_write_error():
    program = "from w2vtrain.system.files import atomic_write\nwith atomic_write('-') as f: f.write(b'x' * 10)"
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run([sys.executable, "-c", program], stdout=full, stderr=subprocess.PIPE, check=False)
    assert b"WriteError: standard output cannot be written: No space left" in done.stderr
