"""What `fit` is asked to write: tried and locked before anything is read, and written when all is learned.

It trains nothing.
"""

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from w2vtrain.config import Settings
from w2vtrain.errors import ConfigError, OutputError, UsageError, W2VError, WriteError, reason, shown
from w2vtrain.formats.model import Model, save_model
from w2vtrain.formats.vectors import format_of, write_vectors
from w2vtrain.objectives import check_options
from w2vtrain.system.files import STDOUT, Claim, atomic_write, check_writable
from w2vtrain.system.json_text import json_text
from w2vtrain.system.locks import Lock
from w2vtrain.system.trust import new_files_in
from w2vtrain.text.vocab import Vocabulary
from w2vtrain.training.fit import corpus_of
from w2vtrain.training.journal import Journal

HARMLESS = (STDOUT, "/dev/stdout", "/dev/stderr", "/dev/null")
"""Outputs that any run folder may name."""
LONGEST_NAME = 200
"""Bytes of an output's name that its lock file's name repeats: names may have 255."""


@dataclass(frozen=True)
class FitRequest:
    """What the command line of `fit` asks for; flags: settings as text; output: "" only with print_config."""

    sources: Sequence[str]
    flags: dict[str, Any]
    output: str
    format_: str | None = None
    save_output_vectors: str | None = None
    save_model: str | None = None
    save_vocab: str | None = None
    read_vocab: str | None = None
    heldout: Sequence[str] = ()
    log_json: str | None = None
    config: str | None = None
    cache_dir: str | None = None
    force: bool = False
    print_config: bool = False
    quiet: bool = False
    progress_every: float = 30.0
    run: str | None = None
    checkpoint_every: float = 10.0
    on_full: str = "stop"
    allow_changed: bool = False


def outputs(request: FitRequest) -> list[str]:
    """Return all results that the run will write; the record beside the vectors comes last."""
    named = [request.output, request.save_output_vectors, request.save_model, request.save_vocab, record_file(request)]
    return [file for file in named if file]


def record_file(request: FitRequest) -> str | None:
    """Where the settings and the record go: beside the vectors, if these are a file."""
    return None if streamed(request.output) else f"{request.output}.json"


def streamed(output: str) -> bool:
    """Return whether an output is a pipe or a device, beside which nothing can lie."""
    path = Path(output)
    try:
        return output == STDOUT or (path.exists() and not path.is_file() and not path.is_dir())
    except OSError:  # a name that is too long: `check_writable` says so
        return False


def all_outputs(request: FitRequest) -> list[str]:
    """Return the results, and the log if there is one."""
    return [*outputs(request), *filter(None, [request.log_json])]


def regular(files: Sequence[str]) -> list[str]:
    """Return the outputs that are files, or will be; not standard output, pipes and devices."""
    return [file for file in files if not streamed(file)]


def lock_path(output: str) -> Path:
    """Return the lock file beside an output, symbolic links followed."""
    target = Path(os.path.realpath(output))
    name = os.fsencode(target.name)
    if len(name) > LONGEST_NAME:  # a character that is cut in two is left out: some systems refuse half a one
        start = name[:LONGEST_NAME].decode("utf-8", "ignore")
        return target.parent / f".{start}{hashlib.sha256(name).hexdigest()[:16]}.lock"
    return target.parent / f".{target.name}.lock"


@contextmanager
def locked_outputs(
    request: FitRequest, run: str, needed: Callable[[], bool] = lambda: False
) -> Iterator[dict[str, int]]:
    """Hold a lock beside each output, so that two runs never write the same file; give their paths and inodes.

    The lock files name the run. If the block does not end well and the run's folder is `needed`, they stay, and show
    that this run began these outputs. OutputError says who else writes one.
    """
    held: list[Lock] = []
    done = False
    try:
        for file in regular(all_outputs(request)):
            path = lock_path(file)
            held.append(Lock(path, file, new_files_in(path.parent), run))
        yield {str(lock.path): lock.path.stat().st_ino for lock in held}
        done = True
    finally:
        remove = done or not needed()
        for lock in held:
            lock.release(remove)


def check_begun(request: FitRequest, journal: Journal) -> None:
    """Raise OutputError for an output that a run's folder names, but that the run did not begin, unless forced.

    The folder may come from anywhere. Accept an output if its lock file names this run or has the recorded inode, or if
    the folder is named after it.
    """
    folder = journal.folder
    named = str(folder.resolve())
    vectors = named.removesuffix(".run") if named.endswith(".run") else ""
    for file in [] if request.force else all_outputs(request):
        path = os.path.realpath(file)
        own = vectors and path in (vectors, f"{vectors}.json") and not Path(file).is_symlink()
        if file in HARMLESS or own or journal.began(lock_path(file)):
            continue
        why = "it is a pipe or a device" if streamed(file) else "nothing beside it shows that the run began it here"
        raise OutputError(f"{file}: {folder} names this output, but {why}: say --force to write it")


def check_folders(request: FitRequest) -> None:
    """Raise OutputError for the first output whose folder is not there, before the run's own folder is made."""
    for file in all_outputs(request):
        try:
            missing = file != STDOUT and not Path(os.path.realpath(file)).parent.is_dir()
        except OSError as error:
            raise OutputError(f"{shown(file)} cannot be created: {reason(error)}") from error
        if missing:
            raise OutputError(f"{file} cannot be created: there is no folder {Path(file).parent}")


def check_apart(request: FitRequest, folder: Path | None) -> None:
    """Raise UsageError for an output in the run's folder, which is deleted at the end, or in a lock file's place."""
    files = all_outputs(request)
    locks = {lock_path(file) for file in regular(files)}
    for file in files:
        path = Path(os.path.realpath(file))
        if path in locks:
            raise UsageError(f"{file}: a lock file of another output has this name; choose another name")
        if folder is not None and (path == folder.resolve() or folder.resolve() in path.parents):
            raise UsageError(f"{file}: lies in {folder}, the run's own folder; choose another folder")


def preflight(request: FitRequest, settings: Settings, owned: Callable[[str], bool] = lambda _: False) -> list[str]:
    """Look at every input and try every output file; return the outputs' names. owned: see `write_results`."""
    has_rows = check_options(settings)
    if request.save_output_vectors and not has_rows:
        raise ConfigError(f"save-output-vectors: objective {settings.objective} has no output rows, no vectors to save")
    vectors = [file for file in (request.output, request.save_output_vectors) if file]
    for file in vectors:
        format_of(file, request.format_)
    files = outputs(request)
    all_files = all_outputs(request)
    written = [os.path.realpath(file) for file in all_files]
    if twice := [file for file, path in zip(all_files, written, strict=True) if written.count(path) > 1]:
        raise UsageError(f"{twice[0]}: named for two outputs")
    corpus = [file.path for file in corpus_of(request.sources, settings).files]
    if request.heldout:
        corpus += [file.path for file in corpus_of(request.heldout, settings).files]
        if corpus.count(STDOUT) > 1:
            raise UsageError("-: stdin cannot be both the corpus and the held-out text")
    inputs = {os.path.realpath(file) for file in [*corpus, request.read_vocab, request.config] if file and file != "-"}
    if lost := [file for file, path in zip(all_files, written, strict=True) if path in inputs]:
        raise UsageError(f"{lost[0]}: named for input and output; choose another name")
    for file in all_files:
        check_writable(file, request.force or owned(file))
    return files


def cache_folder(output: str) -> Path | None:
    """Beside the output, where there is room for results; the system's folder if that is a pipe or a device."""
    return None if streamed(output) else Path(output).resolve().parent


def write_results(
    request: FitRequest,
    model: Model,
    owned: Callable[[str], bool] = lambda _: False,
    claim: Claim | None = None,
    again: Callable[[W2VError], bool] = lambda error: False,
) -> None:
    """Write the vectors first, then what else was requested; standard output last, since its reader may leave early.

    owned: returns whether the file of this name is the run's own, and may be overwritten without --force; claim: see
    `files.atomic_write`; again: called with an error, returns whether to try once more.
    """
    rows = len(model.output)
    names = model.words if rows == len(model.words) else [f"node_{i}" for i in range(rows)]
    record, kind = {"settings": model.settings, "record": model.record}, request.format_
    counted = Vocabulary(model.words, model.counts)
    writers: list[tuple[str | None, Callable[[str, bool], None]]] = [
        (request.output, lambda file, force: write_vectors(file, model.words, model.input, kind, force, claim)),
        (request.save_output_vectors, lambda file, force: write_vectors(file, names, model.output, kind, force, claim)),
        (request.save_model, lambda file, force: save_model(file, model, force, claim)),
        (request.save_vocab, lambda file, force: counted.save(file, force, claim)),
        (record_file(request), lambda file, force: write_json(file, record, force, claim)),
    ]
    for file, write in sorted(writers, key=lambda writer: writer[0] == STDOUT):
        while file:
            try:
                write(file, request.force or owned(file))
            except (WriteError, OutputError) as error:
                if streamed(file) or not again(error):
                    raise
            else:
                break


def write_json(path: str, about: dict[str, Any], force: bool, claim: Claim | None = None) -> None:
    """One object, for people and programs."""
    with atomic_write(path, force, claim=claim) as file:
        file.write(json_text(about, indent=True).encode() + b"\n")
