"""The outputs of `fit`: lock them while it runs, and write them when training is done.

request.py lists these files; plan.py checks whether they may be written. Their sizes are estimated here, too.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from w2vtrain.commands.console import warn
from w2vtrain.commands.request import FitRequest, is_stream, lock_path
from w2vtrain.embeddings.model import Model, save_as, save_model
from w2vtrain.engines.contract import Weights
from w2vtrain.errors import OutputError, WriteError
from w2vtrain.formats.fasttext import NAME as FASTTEXT
from w2vtrain.formats.model_file import choose_vectors
from w2vtrain.formats.sizes import estimated_size
from w2vtrain.formats.transforms import exported
from w2vtrain.formats.vector_formats import MODELS
from w2vtrain.formats.vectors import write_as
from w2vtrain.system.files import STDOUT, sweep, write_json
from w2vtrain.system.locks import Lock
from w2vtrain.system.trust import new_files_in
from w2vtrain.text.vocabulary import Vocabulary
from w2vtrain.training.run import Run
from w2vtrain.training.space import SMALL_BYTES


@contextmanager
def locked_outputs(request: FitRequest, run: Run, complete: bool) -> Iterator[None]:
    """Hold a lock beside each output, so that two runs never write the same file, and record them in the run.

    The lock files contain the id of the run. If the block fails and the run folder is still needed, they stay as
    evidence that this run began these outputs. OutputError names the process that already writes one.
    """
    held: list[Lock] = []
    done = False
    try:
        for file in request.files:
            if not is_stream(file):
                path = lock_path(file)
                held.append(Lock(path, file, new_files_in(path.parent), run.id))
                sweep(Path(os.path.realpath(file)))  # before training, which needs the space
        run.begin_outputs({str(lock.path): lock.inode for lock in held}, complete)
        yield
        done = True
    finally:
        remove = done or not run.is_needed()
        for lock in held:
            lock.release(remove)


def write_results(request: FitRequest, model: Model, run: Run, warnings: Sequence[str] = ()) -> None:
    """Write the vectors first, then the other requested outputs; standard output last, as its reader may close it.

    warnings: that were reported, for the record. If the disk is full and the run waits for space, try again.
    """
    rows = len(model.output)
    names = model.words if rows == len(model.words) else [f"node_{i}" for i in range(rows)]
    formats = dict(request.vectors)
    form = formats[request.output]
    export, share = choose_vectors(model.record, "in" if form == FASTTEXT else request.export)
    facts = {"vectors": export, "origins": request.origins, "warnings": list(warnings)}
    model = replace(model, record={**model.record, **facts})
    record: dict[str, Any] = {"run": run.id} if run.id else {}  # `supervise` recognizes by it that this run has ended
    record |= {"command": request.command, "settings": model.settings, "record": model.record}
    claim = run.claim

    def owned(file: str) -> bool:
        return request.force or run.owns(file)

    counted = Vocabulary(model.words, model.counts)

    def write_output(file: str, force: bool) -> None:
        if form in MODELS:
            save_as(form, file, model, force, claim)
            return
        vectors = exported(model.input, model.output, export, share, file)
        write_as(form, file, model.words, vectors, owned, claim, model.counts, request.dtype)

    def write_rows(file: str, force: bool) -> None:
        counts = model.counts if rows == len(model.words) else None
        write_as(formats[file], file, names, model.output, owned, claim, counts, request.dtype)

    writers: list[tuple[str | None, Callable[[str, bool], None]]] = [
        (request.output, write_output),
        (request.save_output_vectors, write_rows),
        (request.save_model, lambda file, force: save_model(file, model, force, claim)),
        (request.save_vocab, lambda file, force: counted.save(file, force, claim)),
        (request.record, lambda file, force: write_json(file, record, force, claim)),
    ]
    for file, write in sorted(writers, key=lambda writer: writer[0] == STDOUT):
        if file:
            _retried(write, file, owned, run)
    run.end_outputs()


def _retried(write: Callable[[str, bool], None], file: str, owned: Callable[[str], bool], run: Run) -> None:
    """Write a file, over one that the run owns by then; if the disk is full and the run waits for space, try again."""
    while True:
        try:
            write(file, owned(file))
            return
        except (WriteError, OutputError) as error:
            if is_stream(file) or not run.await_disk_space(error, lambda line: warn(f"warning     {line}")):
                raise


def results_bytes(request: FitRequest, vocabulary: Vocabulary, weights: Weights) -> list[tuple[Path, int]]:
    """Return the folder of each result, and about how many bytes the result takes there; streams take none.

    weights: of any moment of the training. Until a file is complete, one that it replaces keeps its space.
    """
    words, rows = vocabulary.words, len(weights.output)
    arrays = (vocabulary.counts, weights.input, weights.output, *weights.arrays.values())
    listed = vocabulary.text_size()
    whole = sum(array.nbytes for array in arrays) + listed

    def vectors(file: str, form: str, count: int) -> int:
        if form in MODELS:
            return whole
        return round(estimated_size(file, form, words, weights.input, request.dtype) * count / len(words))

    counts = (len(words), rows)
    sizes = {file: vectors(file, form, count) for (file, form), count in zip(request.vectors, counts, strict=False)}
    sizes |= {file: size for file, size in ((request.save_model, whole), (request.save_vocab, listed)) if file}
    sizes |= {file: SMALL_BYTES for file in (request.record, request.log_json) if file}
    return [(Path(os.path.realpath(file)).parent, size) for file, size in sizes.items() if not is_stream(file)]
