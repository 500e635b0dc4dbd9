"""The checks that `fit` makes before reading anything: every input exists, and every output can be written.

It writes nothing except empty temporary files beside the outputs.
"""

import os
from collections.abc import Callable
from pathlib import Path

from w2vtrain.commands.inputs import check_different
from w2vtrain.commands.request import Export, FitRequest, all_outputs, is_stream, lock_path, outputs, regular
from w2vtrain.config import Settings
from w2vtrain.errors import ConfigError, OutputError, UsageError, reason, shown
from w2vtrain.formats.vectors import format_of
from w2vtrain.objectives import check_options, has_word_rows
from w2vtrain.system.compression import check_suffix
from w2vtrain.system.files import STDOUT, check_writable
from w2vtrain.system.same_file import among
from w2vtrain.system.trust import answering
from w2vtrain.training.inputs import corpus_of
from w2vtrain.training.journal import Journal

HARMLESS = (STDOUT, "/dev/stdout", "/dev/stderr", os.devnull)
"""Outputs that a run folder may name without evidence that the run began them."""


def check_begun(request: FitRequest, journal: Journal) -> None:
    """Raise OutputError for an output that a run folder names but the run did not begin, unless forced.

    The folder may come from anyone. An output is accepted if its lock file names this run or has the recorded inode, or
    if the folder is named after the output. Raise ReadError if it cannot be read at the moment.
    """
    folder = journal.folder
    named = str(folder.resolve())
    vectors = named.removesuffix(".run") if named.endswith(".run") else ""
    for file in [] if request.force else all_outputs(request):
        path = os.path.realpath(file)
        with answering(Path(file)):
            own = vectors and path in (vectors, f"{vectors}.json") and not Path(file).is_symlink()
        if file in HARMLESS or own or journal.began(lock_path(file)):
            continue
        why = "it is a pipe or a device" if is_stream(file) else "no lock file shows that the run began it here"
        raise OutputError(f"{file}: {folder} names this output, but {why}: use --force to write it")


def check_folders(request: FitRequest) -> None:
    """Raise OutputError for the first output whose folder does not exist, before the run folder is created."""
    for file in all_outputs(request):
        try:
            missing = file != STDOUT and not Path(os.path.realpath(file)).parent.is_dir()
        except OSError as error:
            raise OutputError(f"{shown(file)} cannot be created: {reason(error)}") from error
        if missing:
            raise OutputError(f"{file} cannot be created: there is no folder {Path(file).parent}")


def check_apart(request: FitRequest, folder: Path | None) -> None:
    """Raise UsageError for an output that is in the run folder, which is deleted at the end, or is also a lock file."""
    files = all_outputs(request)
    locks = {lock_path(file) for file in regular(files)}
    for file in files:
        path = Path(os.path.realpath(file))
        if among(path, locks):
            raise UsageError(f"{file}: this is the name of another output's lock file; choose another name")
        if folder is not None and among(folder, [path, *path.parents]):
            raise UsageError(f"{file}: is inside {folder}, the run folder; choose another folder")


def check_export(export: Export, objective: str) -> None:
    """Raise ConfigError if output vectors are requested and the objective does not have one per word."""
    if export not in ("auto", "in") and not has_word_rows(objective):
        raise ConfigError(f"export: objective {objective} has no output vector per word; use --export in")


def preflight(request: FitRequest, settings: Settings, owned: Callable[[str], bool] = lambda _: False) -> list[str]:
    """Check every input and try every output file; return the names of the results. owned: see `write_results`."""
    has_rows = check_options(settings)
    if request.save_output_vectors and not has_rows:
        raise ConfigError(f"save-output-vectors: objective {settings.objective} has no output vectors to save")
    check_export(request.export, settings.objective)
    vectors = [file for file in (request.output, request.save_output_vectors) if file]
    for file in vectors:
        format_of(file, request.format_)
    if request.save_vocab:
        check_suffix(request.save_vocab)
    for file in filter(None, (request.save_model, request.log_json)):
        check_suffix(file, compressible=False)
    files = outputs(request)
    all_files = all_outputs(request)
    corpus = [file.path for file in corpus_of(request.sources, settings).files]
    if request.heldout:
        corpus += [file.path for file in corpus_of(request.heldout, settings).files]
        if corpus.count(STDOUT) > 1:
            raise UsageError("-: stdin cannot be both the corpus and the held-out text")
    read = [*corpus, request.read_vocab, request.init_from, request.config]
    check_different(all_files, [name for name in read if name])
    for file in all_files:
        check_writable(file, request.force or owned(file))
    return files
