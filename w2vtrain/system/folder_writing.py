"""Atomic writing of folders: a folder appears complete or not at all, and only our own folders are replaced.

files.py does the same for single files.
"""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from w2vtrain.errors import OutputError, W2VError, WriteError, reason, spelled
from w2vtrain.system.files import STDOUT, Claim, resolved, restore, sweep, sync_folder, temporary_name

Ours = Callable[[Path], bool]
"""A function that returns whether a folder is an output that may be replaced."""


def check_folder(path: str | Path, force: bool, ours: Ours) -> Path:
    """Return the folder to write; raise OutputError if `atomic_folder` could not create it."""
    if str(path) == STDOUT:
        raise OutputError("-: this format is a folder, which cannot be written to standard output: name a folder")
    try:
        if Path(path).is_symlink():
            raise OutputError(f"{path} is a symbolic link: name the folder itself")
        target = resolved(path)
        restore(target)
        if target.exists():
            if not target.is_dir():
                raise OutputError(f"{path} is a file, and this format is a folder: choose another name")
            if any(target.iterdir()) and not ours(target):
                raise OutputError(
                    f"{path} is a folder with other files than this format writes: it is never replaced; choose another"
                    " name"
                )
            if not force:
                raise OutputError(f"{path} exists: use {spelled('force', True)} to overwrite")
        elif not target.parent.is_dir():
            raise OutputError(f"{path} cannot be created: there is no folder {target.parent}")
        probe = temporary_name(target)
        probe.mkdir()
        probe.rmdir()
    except (OSError, ValueError) as error:
        raise OutputError(f"{path} cannot be created: {reason(error)}") from error
    return target


@contextmanager
def atomic_folder(path: str | Path, force: bool, ours: Ours, claim: Claim | None = None) -> Iterator[Path]:
    """Yield an empty folder beside `path`, which is renamed to it only if the block succeeds.

    The block writes its files with `atomic_write`, which syncs them. force: replace a folder that exists, if `ours`;
    the old one is removed after the new one has its name. claim: as for `atomic_write`.

    Raise OutputError if the folder cannot be created, and WriteError if it cannot be renamed.
    """
    target = check_folder(path, force, ours)
    sweep(target)
    temporary, old = temporary_name(target), temporary_name(target, "old")
    try:
        temporary.mkdir()
        yield temporary
        for folder in (temporary, *(inner for inner in temporary.rglob("*") if inner.is_dir())):
            sync_folder(folder)
        if claim is not None:
            claim(target, temporary)
        check_folder(path, force, ours)
        if target.exists():
            target.rename(old)
        temporary.rename(target)
        if old.exists():  # it does not get its name back if the process is killed now
            old = old.rename(temporary)
        sync_folder(target.parent)
    except OSError as error:
        raise WriteError(f"{path} cannot be written: {reason(error)}") from error
    except W2VError as error:
        raise type(error)(str(error).replace(str(temporary), str(path))) from error
    finally:
        if old.exists() and not target.exists():  # an error or a signal came in between
            with suppress(OSError):
                old.rename(target)
        for leftover in (temporary, old) if target.exists() else (temporary,):
            shutil.rmtree(leftover, ignore_errors=True)
