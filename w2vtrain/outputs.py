"""What `fit` is asked to write: tried before anything is read, and written when all is learned.

It trains nothing.
"""

import json
import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .config import Settings
from .errors import ConfigError, OutputError, UsageError, W2VError, WriteError
from .files import STDOUT, atomic_write, check_writable
from .model import Model, save_model
from .objectives import objective_class
from .pipeline import corpus_of
from .problem import Problem
from .vectors import format_of, write_vectors
from .vocab import Vocabulary


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
    """All files that the run will write; the record beside the vectors comes last."""
    named = [request.output, request.save_output_vectors, request.save_model, request.save_vocab, record_file(request)]
    return [file for file in named if file]


def record_file(request: FitRequest) -> str | None:
    """Where the settings and the record go: beside the vectors, if these are a file."""
    return None if streamed(request.output) else f"{request.output}.json"


def streamed(output: str) -> bool:
    """Whether the vectors go to a pipe or a device, beside which nothing can lie."""
    return output == STDOUT or (Path(output).exists() and not Path(output).is_file() and not Path(output).is_dir())


def preflight(request: FitRequest, settings: Settings, mine: Collection[str] = ()) -> list[str]:
    """Look at every input and try every output file; returns the outputs' names. mine: see `write_results`."""
    built = check_options(settings)
    if request.save_output_vectors and hasattr(built, "output") and not len(built.output):
        raise ConfigError(f"save-output-vectors: objective {settings.objective} has no output rows, no vectors to save")
    vectors = [file for file in (request.output, request.save_output_vectors) if file]
    for file in vectors:
        format_of(file, request.format_)
    files = outputs(request)
    all_files = [*files, *filter(None, [request.log_json])]
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
        check_writable(file, request.force or os.path.realpath(file) in mine)
    return files


def check_options(settings: Settings) -> Any:
    """Have the objective say what its options may not be: by its own `check`, or by building it for two words.

    Returns what was built, or None.
    """
    cls = objective_class(settings.objective)
    if hasattr(cls, "check"):
        cls.check(settings.options)
        return None
    return cls.build(Problem(["a", "b"], np.array([2, 1]), settings.vector_size, settings.bias), **settings.options)


def cache_folder(output: str) -> Path | None:
    """Beside the output, where there is room for results; the system's folder if that is a pipe or a device."""
    return None if streamed(output) else Path(output).resolve().parent


def write_results(
    request: FitRequest,
    model: Model,
    mine: Collection[str] = (),
    again: Callable[[W2VError], bool] = lambda error: False,
) -> None:
    """The vectors first; what else was asked for after them, and standard output last: its reader may leave early.

    mine: real paths of outputs that may be overwritten though nobody said --force; again: asked whether to try once
    more after a file could not be written.
    """
    rows = len(model.output)
    names = model.words if rows == len(model.words) else [f"node_{i}" for i in range(rows)]
    record = {"settings": model.settings, "record": model.record}
    writers: list[tuple[str | None, Callable[[str, bool], None]]] = [
        (request.output, lambda file, force: write_vectors(file, model.words, model.input, request.format_, force)),
        (
            request.save_output_vectors,
            lambda file, force: write_vectors(file, names, model.output, request.format_, force),
        ),
        (request.save_model, lambda file, force: save_model(file, model, force)),
        (request.save_vocab, lambda file, force: Vocabulary(model.words, model.counts).save(file, force)),
        (record_file(request), lambda file, force: write_json(file, record, force)),
    ]
    for file, write in sorted(writers, key=lambda writer: writer[0] == STDOUT):
        while file:
            try:
                write(file, request.force or os.path.realpath(file) in mine)
            except (WriteError, OutputError) as error:
                if streamed(file) or not again(error):
                    raise
            else:
                break


def write_json(path: str, about: dict[str, Any], force: bool) -> None:
    """One object, for people and programs."""
    with atomic_write(path, force) as file:
        file.write(json.dumps(about, indent=1).encode() + b"\n")
