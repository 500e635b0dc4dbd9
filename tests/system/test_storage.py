"""Tests of syncing, renaming and removing by the rules of macOS and Windows, whose system calls are faked here."""

import errno
import os
from pathlib import Path

import pytest

from w2vtrain.errors import OutputError, WriteError
from w2vtrain.system import storage
from w2vtrain.system.files import atomic_write, check_writable
from w2vtrain.system.locks import Lock
from w2vtrain.system.storage import patiently, remove_file, remove_tree, sync

fcntl = pytest.importorskip("fcntl")
FULL = 51


def held(code=32):
    """Return the error of Windows for a file that another program has open."""
    error = PermissionError(errno.EACCES, "The process cannot access the file")
    error.winerror = code
    return error


@pytest.fixture
def macos(monkeypatch):
    """Fake F_FULLFSYNC; return the calls, and a list to which a test may append the error of the next one."""
    calls, errors = [], []

    def full(handle, command):
        calls.append(command)
        if errors:
            raise errors.pop()

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
    sync(0)
    assert macos[0] == [FULL, "fsync"]


def test_a_full_sync_that_fails_is_an_error(macos, tmp_path):
    macos[1].append(OSError(errno.EIO, os.strerror(errno.EIO)))
    with pytest.raises(WriteError, match="Input/output error"), atomic_write(tmp_path / "a") as file:
        file.write(b"x")
    assert macos[0] == [FULL]
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def pauses(monkeypatch):
    """Let no time pass; return the pauses."""
    slept = []
    monkeypatch.setattr(storage.time, "sleep", slept.append)
    return slept


@pytest.mark.parametrize("code", storage.HELD_ERRORS)
def test_a_file_that_a_scanner_has_open_is_renamed_once_it_is_closed(pauses, tmp_path, monkeypatch, code):
    errors, real = [held(code), held(code)], os.replace

    def replace(source, target):
        if errors:
            raise errors.pop()
        real(source, target)

    monkeypatch.setattr(os, "replace", replace)
    with atomic_write(tmp_path / "a", force=True) as file:
        file.write(b"x")
    assert (tmp_path / "a").read_bytes() == b"x"
    assert pauses == list(storage.PAUSE_SECONDS[:2])


def test_a_file_that_stays_open_is_an_error_that_says_so_and_leaves_the_old_content(pauses, tmp_path, monkeypatch):
    def replace(*_):
        raise held()

    (tmp_path / "a").write_bytes(b"old")
    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(OutputError, match="it is open in another program, or mapped into memory"):  # noqa: SIM117
        with atomic_write(tmp_path / "a", force=True) as file:
            file.write(b"new")
    assert pauses == list(storage.PAUSE_SECONDS)
    assert 1 < sum(pauses) < 2
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"old"]


def test_other_errors_are_not_repeated(pauses, tmp_path):
    with pytest.raises(FileNotFoundError):
        patiently(lambda: Path(tmp_path, "a").rename(tmp_path / "b"))
    with pytest.raises(PermissionError):
        patiently(lambda: (_ for _ in ()).throw(PermissionError(errno.EACCES, "not yours")))
    assert pauses == []


def test_removing_what_does_not_exist_is_no_error(pauses, tmp_path):
    remove_file(tmp_path / "a")
    remove_tree(tmp_path / "a")
    assert pauses == []


def test_a_tree_in_which_a_file_stays_open_loses_its_other_files(pauses, tmp_path, monkeypatch):
    (tmp_path / "tree" / "sub").mkdir(parents=True)
    for name in ("tree/open", "tree/sub/closed"):
        (tmp_path / name).write_bytes(b"")
    real = os.unlink

    def unlink(path, *rest, **options):
        if Path(path).name == "open":
            raise held()
        real(path, *rest, **options)

    monkeypatch.setattr(os, "unlink", unlink)
    remove_tree(tmp_path / "tree")
    assert [path.name for path in tmp_path.rglob("*")] == ["tree", "open"]


def test_a_probe_that_cannot_be_removed_does_not_refuse_the_output(pauses, tmp_path, monkeypatch):
    def unlink(*_, **__):
        raise held()

    monkeypatch.setattr(os, "unlink", unlink)
    check_writable(tmp_path / "a")


def test_the_holder_of_a_lock_is_named_although_its_first_byte_cannot_be_read(tmp_path, monkeypatch):
    """On Windows, the byte that is locked cannot be read by others."""
    lock, real = Lock(tmp_path / "lock", "v.bin"), os.read

    def read(handle, size):
        if os.lseek(handle, 0, os.SEEK_CUR) == 0:
            raise held(33)
        return real(handle, size)

    monkeypatch.setattr(os, "read", read)
    with pytest.raises(OutputError, match=rf"^v.bin: in use by process {os.getpid()} on "):
        Lock(tmp_path / "lock", "v.bin")
    lock.release(remove=True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("stays", [False, True], ids=["closed", "open elsewhere"])
def test_a_lock_file_that_cannot_be_removed_while_it_is_open_is_removed_afterwards(
    tmp_path, monkeypatch, pauses, stays
):
    lock, real, closed = Lock(tmp_path / "lock", "v.bin"), os.unlink, []

    def unlink(path, *rest, **options):
        if stays or not closed:
            raise held()
        real(path, *rest, **options)

    monkeypatch.setattr(os, "unlink", unlink)
    close = os.close
    monkeypatch.setattr(os, "close", lambda handle: (closed.append(handle), close(handle)))
    lock.release(remove=True)
    assert [path.name for path in tmp_path.iterdir()] == (["lock"] if stays else [])
    assert bool(pauses) == stays
