"""An imitation of Windows' rules for files, on Linux: a pytest plugin, and a command that runs w2vtrain under it.

    python -m pytest -p tests.windows tests/system/test_files.py
    python tests/windows.py fit data/simplewiki.txt -o vectors.bin

For all code of the process: a file that the process has open, or mapped into memory, cannot be renamed, replaced or
removed, nor can a folder that contains one. The kernel's own lists in /proc say what is open, so nothing is overlooked.

For the code of w2vtrain alone (the standard library, pytest and Numba would break): names that only POSIX has are
missing from `os` and `signal`, `fcntl`, `pwd` and `resource` cannot be imported, sys.platform is "win32", a folder
cannot be opened, descriptors and text files that are not opened as binary turn newlines into CRLF, text is cp1252 by
default, temporary files have names, files have no owner, and a pipe whose reader is gone reports EINVAL.

What it does not imitate: paths with drives and backslashes, access lists, locks that keep others from reading, a file
that another process has open, consoles, and signals, for which SIGUSR2 plays the part of SIGBREAK.
"""

import builtins
import errno
import io
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
MISSING_MODULES = {"fcntl", "pwd", "grp", "resource", "termios", "pty"}
POSIX_NAMES = {
    "os": {
        "chown", "fchmod", "fchown", "fdatasync", "fork", "forkpty", "getegid", "geteuid", "getgid", "getuid",
        "killpg", "mkfifo", "nice", "pread", "preadv", "pwrite", "sched_getaffinity", "setsid", "statvfs",
        "sync", "wait", "O_CLOEXEC", "O_DIRECTORY", "O_DSYNC", "O_NOFOLLOW", "O_NONBLOCK", "O_SYNC", "O_TMPFILE",
        "kill",  # Windows has it, but os.kill(pid, 0) ends the process there instead of testing for it
    },
    "signal": {
        "ITIMER_REAL", "SIGALRM", "SIGCHLD", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGQUIT", "SIGSTOP", "SIGUSR1", "SIGUSR2",
        "alarm", "pause", "pthread_kill", "pthread_sigmask", "setitimer", "sigwait",
    },
    "tempfile": set(),
    "sys": set(),
    "io": set(),
    "psutil": set(),
}  # fmt: skip
O_BINARY = 1 << 30
"""A flag that Linux does not have."""
SHARING_VIOLATION, ACCESS_DENIED = 32, 5


def refused(path: Any, code: int) -> PermissionError:
    """Return the error of Windows."""
    error = PermissionError(
        errno.EACCES, "The process cannot access the file because it is being used", os.fspath(path)
    )
    error.winerror = code
    return error


def open_paths() -> Iterator[str]:
    """Yield the path of each file that this process has open or mapped."""
    for number in os.listdir("/proc/self/fd"):  # noqa: PTH208
        try:
            yield os.readlink(f"/proc/self/fd/{number}")  # noqa: PTH115
        except OSError:
            continue
    with REAL["open"]("/proc/self/maps") as maps:
        for line in maps:
            parts = line.rstrip("\n").split(maxsplit=5)
            if len(parts) == 6 and parts[5].startswith("/"):
                yield parts[5]


def is_open(path: Any) -> bool:
    """Return whether the process has a file, or any file in a folder, open or mapped."""
    name = str(Path(path).parent.resolve() / Path(path).name)
    return any(other == name or other.startswith(name + "/") for other in open_paths())


REAL: dict[str, Any] = {
    "open": builtins.open,
    "unlink": os.unlink,
    "rename": os.rename,
    "replace": os.replace,
    "rmdir": os.rmdir,
    "stat": os.stat,
    "import": builtins.__import__,
}


def unlink(path: Any, *rest: Any, **options: Any) -> None:
    """Remove a file unless it is open."""
    if is_open(path):
        raise refused(path, SHARING_VIOLATION)
    REAL["unlink"](path, *rest, **options)


def rmdir(path: Any, *rest: Any, **options: Any) -> None:
    """Remove a folder unless a file in it is open."""
    if is_open(path):
        raise refused(path, SHARING_VIOLATION)
    REAL["rmdir"](path, *rest, **options)


def rename(source: Any, target: Any, **options: Any) -> None:
    """Rename a file or folder unless it is open; the target must not exist."""
    if is_open(source):
        raise refused(source, SHARING_VIOLATION)
    if os.path.lexists(target):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), os.fspath(target))
    REAL["rename"](source, target, **options)


def replace(source: Any, target: Any, **options: Any) -> None:
    """Rename a file to a name that may exist, unless one of the two files is open."""
    if is_open(source):
        raise refused(source, SHARING_VIOLATION)
    if os.path.lexists(target) and is_open(target):
        raise refused(target, ACCESS_DENIED)
    REAL["replace"](source, target, **options)


def ours() -> bool:
    """Return whether code of w2vtrain called, directly or through a module of the standard library that opens files."""
    frame = sys._getframe(2)
    while frame and frame.f_globals.get("__name__", "").split(".")[0] in ("pathlib", "io", "os", "tempfile"):
        frame = frame.f_back
    return frame is not None and frame.f_globals.get("__name__", "").split(".")[0] == "w2vtrain"


def opened(file: Any, mode: str = "r", buffering: int = -1, encoding: Any = None, errors: Any = None,
           newline: Any = None, *rest: Any, **options: Any) -> Any:  # fmt: skip
    """Open a file as Windows does: text is cp1252 with CRLF unless the caller says otherwise."""
    if "b" not in mode and ours():
        encoding = encoding or "cp1252"
        newline = "\r\n" if newline is None and set(mode) & set("wax+") else newline
    return REAL["open"](file, mode, buffering, encoding, errors, newline, *rest, **options)


class Namespace:
    """A module as w2vtrain sees it: with Windows' own members, without POSIX's, and otherwise the real one."""

    def __init__(self, real: types.ModuleType, **own: Any) -> None:
        self.__dict__.update(own, __name__=real.__name__, _real=real)

    def __getattr__(self, name: str) -> Any:
        if name in POSIX_NAMES[self.__name__]:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return getattr(self._real, name)


class System(Namespace):
    """The module sys, whose streams and hooks w2vtrain replaces for the whole process."""

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._real, name, value)


TEXT: set[int] = set()
"""Descriptors that were opened without O_BINARY."""


def status(*rest: Any, **options: Any) -> os.stat_result:
    """Return the status of a file, which has no owner on Windows."""
    about = REAL["stat"](*rest, **options)
    return without_owner(about) if ours() else about


def without_owner(about: os.stat_result) -> os.stat_result:
    """Return a status with 0 as the user and the group."""
    values, more = about.__reduce__()[1]
    return os.stat_result((*values[:4], 0, 0, *values[6:]), more)


def os_open(path: Any, flags: int, mode: int = 0o777, **options: Any) -> int:
    """Open a descriptor. Folders cannot be opened."""
    if Path(path).is_dir():
        raise refused(path, ACCESS_DENIED)
    handle = os.open("/dev/null" if path == "nul" else path, flags & ~O_BINARY, mode, **options)
    (TEXT.discard if flags & O_BINARY else TEXT.add)(handle)
    return handle


def os_write(handle: int, data: Any) -> int:
    """Write to a descriptor, with CRLF unless it is binary."""
    if handle in TEXT:
        os.write(handle, bytes(data).replace(b"\n", b"\r\n"))
        return len(data)
    return os.write(handle, data)


class FileIO(io.FileIO):
    """A raw file: binary, as Python makes it, and with EINVAL for a pipe whose reader is gone."""

    def __init__(self, file: Any, *rest: Any, **options: Any) -> None:
        super().__init__(file, *rest, **options)
        TEXT.discard(self.fileno())

    def write(self, data: Any) -> Any:
        try:
            return super().write(data)
        except BrokenPipeError:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL)) from None


class AnyWrapper(type(io.TextIOWrapper)):
    """Makes isinstance(stream, TextWrapper) true for every text stream."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, io.TextIOWrapper)


class TextWrapper(io.TextIOWrapper, metaclass=AnyWrapper):
    """A text stream that writes CRLF unless the caller says otherwise."""

    def __init__(self, buffer: Any, encoding: Any = None, errors: Any = None, newline: Any = None, *rest: Any,
                 **options: Any) -> None:  # fmt: skip
        newline = "\r\n" if newline is None else newline
        super().__init__(buffer, encoding or "cp1252", errors, newline, *rest, **options)


def temporary_file(*rest: Any, **options: Any) -> Any:
    """Create a file with a name. Windows removes it when it is closed everywhere; here, that must be before its end."""
    return tempfile.NamedTemporaryFile(*rest, **options)


class Process:
    """psutil.Process, whose memory_info has Windows' fields, too."""

    def __init__(self, *rest: Any) -> None:
        import psutil

        self._real = psutil.Process(*rest)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def memory_info(self) -> Any:
        """Return what this machine knows, with the present memory as the peak."""
        info = self._real.memory_info()
        return types.SimpleNamespace(**info._asdict(), peak_wset=info.rss)


def namespaces() -> dict[str, Namespace]:
    """Return the modules that look different to w2vtrain."""
    import psutil

    return {
        "os": Namespace(
            os,
            name="nt",
            O_BINARY=O_BINARY,
            devnull="nul",
            open=os_open,
            write=os_write,
            fstat=lambda handle: without_owner(os.fstat(handle)),
        ),
        "signal": Namespace(signal, SIGBREAK=signal.SIGUSR2),
        "sys": System(sys, platform="win32"),
        "io": Namespace(io, FileIO=FileIO, TextIOWrapper=TextWrapper),
        "tempfile": Namespace(tempfile, TemporaryFile=temporary_file),
        "psutil": Namespace(psutil, Process=Process),
    }


def activate() -> None:
    """Imitate Windows from now on, until the end of the process. Call this before w2vtrain is imported."""
    assert not any(name.split(".")[0] == "w2vtrain" for name in sys.modules), "w2vtrain is imported already"
    if sys.platform != "linux":
        raise OSError("the imitation of Windows needs Linux's /proc")
    seen = namespaces()

    def imported(name: str, names: Any = None, local: Any = None, fromlist: Any = (), level: int = 0) -> Any:
        if names and names.get("__name__", "").split(".")[0] == "w2vtrain" and not level:
            if name in MISSING_MODULES:
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)
            if name in seen:
                return seen[name]
        return REAL["import"](name, names, local, fromlist, level)

    builtins.__import__ = imported
    builtins.open = io.open = opened
    os.unlink = os.remove = unlink
    os.rmdir, os.rename, os.replace, os.stat = rmdir, rename, replace, status
    shutil._use_fd_functions = False  # they open folders


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests() -> None:
    """Imitate Windows in this process, and in the processes of w2vtrain that tests start."""
    activate()
    real = subprocess.Popen.__init__

    def started(self: Any, command: Any, *rest: Any, **options: Any) -> None:
        if isinstance(command, list) and command[1:3] == ["-m", "w2vtrain"]:
            command = [command[0], __file__, *command[3:]]
        real(self, command, *rest, **options)

    subprocess.Popen.__init__ = started


def main() -> None:
    """Run a command of w2vtrain, with streams as Python opens them on Windows."""
    sys.path[0] = str(ROOT)
    activate()
    for number, name in enumerate(("stdout", "stderr"), 1):
        stream = TextWrapper(io.BufferedWriter(FileIO(number, "wb", closefd=False)), line_buffering=number == 2)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    sys.argv[0] = "w2vtrain"
    from w2vtrain.__main__ import main as command

    command()


if __name__ == "__main__":
    main()
