"""The outputs of `fit`: check that they can be written, lock them while it runs, and write them when it is done.

fit_request.py lists these files. Their sizes are estimated here, too.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from w2vtrain.commands.fit_request import FitRequest
from w2vtrain.embeddings.model import Model, save_as, save_model
from w2vtrain.engines.base import Weights
from w2vtrain.errors import OutputError, WriteError
from w2vtrain.formats.fasttext_file import NAME as FASTTEXT
from w2vtrain.formats.model_file import DOCUMENTS, choose_vectors
from w2vtrain.formats.transforms import exported
from w2vtrain.formats.vectors import Output
from w2vtrain.system.files import STDERR_NAMES, STDOUT, STDOUT_NAMES, answering, is_stream, resolved, sweep, write_json
from w2vtrain.system.locks import Lock, check_output, lock_path, run_of
from w2vtrain.system.terminal import STANDARD_OUTPUT
from w2vtrain.text.vocabulary import Vocabulary
from w2vtrain.training.checkpointing import CheckpointedRun
from w2vtrain.training.memory_and_disk import SMALL_BYTES
from w2vtrain.training.run import Run

if TYPE_CHECKING:
    from w2vtrain.training.warm_start import WarmStart

HARMLESS = (*STDOUT_NAMES, *STDERR_NAMES, os.devnull)
"""Outputs that a run folder may name without evidence that the run began them."""


def check_outputs(request: FitRequest, owned: Callable[[str], bool]) -> None:
    """Raise OutputError for an output that cannot be written. owned: whether a file is the run's own."""

    def overwrite(file: str) -> bool:
        return request.force or owned(file)

    for output in request.vectors:
        output.check_writable(overwrite)
    for file in filter(None, [*request.others, request.log_json]):
        check_output(file, overwrite(file))


def check_begun(request: FitRequest, run: Run) -> None:
    """Raise OutputError for an output that a run folder names but the run did not begin, unless forced.

    The folder may come from anyone. An output is accepted if its lock file names this run, or if the folder is named
    after the output. Raise ReadError if the storage does not answer.
    """
    assert isinstance(run, CheckpointedRun)
    folder, config = run.folder, run.config
    named = str(resolved(folder))
    vectors = named.removesuffix(".run") if named.endswith(".run") else ""
    for file in [] if request.force else request.files:
        path = str(resolved(file))
        with answering(Path(file)):
            own = vectors and path in (vectors, f"{vectors}.json") and not Path(file).is_symlink()
        if file in HARMLESS or own or run_of(lock_path(file)) == config.run:
            continue
        why = "it is a pipe or a device" if is_stream(file) else "no lock file shows that the run began it here"
        raise OutputError(f"{file}: {folder} names this output, but {why}: use --force to write it")


@contextmanager
def locked_outputs(request: FitRequest, run: Run, complete: bool) -> Iterator[None]:
    """Hold a lock beside each output, so that two runs never write the same file, and record them in the run.

    The lock files contain the id of the run. If the block fails and the run folder is still needed, they stay as
    evidence that this run began these outputs. OutputError names the process that already writes one.
    """
    held: list[Lock] = []
    done, before = False, {path: run_of(path) for path in request.locks.values()}
    try:
        for file, path in request.locks.items():
            held.append(Lock(path, file, run.id))
            sweep(resolved(file))  # before training, which needs the space
        run.begin_outputs(complete)
        yield
        done = True
    finally:
        given_way = not done and run.give_way()
        remove = done or given_way or not run.is_needed()
        for lock in held:
            lock.release(remove)
            if given_way and (other := before[lock.path]):
                with suppress(OutputError):  # somebody else has locked it meanwhile
                    Lock(lock.path, lock.protected, other).release()


def write_results(
    request: FitRequest, model: Model, run: Run, warnings: Sequence[str] = (), kept: "WarmStart | None" = None
) -> str:
    """Write the vectors first, then the other requested outputs; standard output last, as its reader may close it.

    Return which vectors of the model were written: see formats.transforms.exported.

    warnings: that were reported, for the record; kept: what has other words to write.
    """
    rows = len(model.output)
    names = model.words if rows == len(model.words) else [f"node_{i}" for i in range(rows)]
    outputs = {output.path: output for output in request.vectors}
    chosen = outputs[request.output]
    export, share = choose_vectors(model.record, request.export)
    facts = {"vectors": export, "origins": request.origins, "warnings": list(warnings)}
    model = replace(model, record={**model.record, **facts})
    record = {"command": request.command, "settings": model.settings, "record": model.record}
    claim = run.claim

    def owned(file: str) -> bool:
        return request.force or run.owns(file)

    def write_output(file: str, force: bool) -> None:
        if chosen.is_model and file == request.output:
            save_as(chosen.form, file, model, force, claim)
            return
        vectors = exported(model.input, model.output, export, share, file)
        if DOCUMENTS in model.arrays and file == request.output:
            chosen.write(*model.documents, owned, claim)
        elif kept:
            chosen.write(*kept.with_others(model.words, vectors), owned, claim)
        else:
            outputs[file].write(model.words, vectors, owned, claim, model.counts)

    def write_rows(file: str, _: bool) -> None:
        counts = model.counts if rows == len(model.words) else None
        outputs[file].write(names, model.output, owned, claim, counts)

    writers: dict[str | None, Callable[[str, bool], None]] = {  # None: outputs that were not requested
        request.output: write_output,
        request.save_output_vectors: write_rows,
        request.save_word_vectors: write_output,
        request.save_model: lambda file, force: save_model(file, model, force, claim),
        request.save_vocab: lambda file, force: Vocabulary(model.words, model.counts).save(file, force, claim),
        request.record: lambda file, force: write_json(file, record, force, claim),
    }
    for file in sorted(filter(None, writers), key=lambda file: file == STDOUT):
        try:
            writers[file](file, owned(file))
        except BrokenPipeError as error:  # to other commands no error, but here what was learned is lost
            raise WriteError(f"{STANDARD_OUTPUT} cannot be written: its reader has closed it") from error
    run.end_outputs()
    return export


def results_bytes(
    request: FitRequest, kept: "WarmStart | None", buckets: int, vocabulary: Vocabulary, weights: Weights
) -> list[tuple[Path, int]]:
    """Return the folder of each result, and about how many bytes the result takes there; streams take none.

    kept: see `write_results`; buckets: of n-grams, 0 without subwords; weights: of any moment of the training. Until a
    file is complete, one that it replaces keeps its space.
    """
    words, rows = vocabulary.words, len(weights.output)
    arrays = (vocabulary.counts, weights.input, weights.output, *weights.arrays.values())
    listed = vocabulary.text_size()
    whole = sum(array.nbytes for array in arrays) + listed

    def vectors(output: Output, count: int) -> int:
        if output.form == FASTTEXT:  # also the rows of n-grams that do not occur
            return int(listed + 4 * weights.input.shape[1] * (2 * len(words) + buckets))
        return whole if output.is_model else round(output.estimated_size(words, weights.input) * count / len(words))

    documents = len(weights.arrays.get(DOCUMENTS, ()))
    counts = {request.output: documents or len(words) + (len(kept.words) if kept else 0)}
    counts |= {file: rows for file in (request.save_output_vectors,) if file}
    sizes = {output.path: vectors(output, counts.get(output.path, len(words))) for output in request.vectors}
    sizes |= {file: size for file, size in ((request.save_model, whole), (request.save_vocab, listed)) if file}
    sizes |= {file: SMALL_BYTES for file in (request.record, request.log_json) if file}
    return [(resolved(file).parent, size) for file, size in sizes.items() if not is_stream(file)]
