"""The outputs of `fit`: locked while it runs, and written when training is done.

Which files these are is in request.py, whether they may be written in preflight.py.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from w2vtrain.commands.request import FitRequest, all_outputs, is_stream, lock_path, record_file, regular
from w2vtrain.errors import OutputError, W2VError, WriteError
from w2vtrain.formats.model import Model, save_model
from w2vtrain.formats.vectors import write_vectors
from w2vtrain.system.files import STDOUT, Claim, atomic_write
from w2vtrain.system.json_text import json_text
from w2vtrain.system.locks import Lock
from w2vtrain.system.trust import new_files_in
from w2vtrain.text.vocab import Vocabulary


@contextmanager
def locked_outputs(
    request: FitRequest, run: str, needed: Callable[[], bool] = lambda: False
) -> Iterator[dict[str, int]]:
    """Hold a lock beside each output, so that two runs never write the same file; yield their paths and inodes.

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
                if is_stream(file) or not again(error):
                    raise
            else:
                break


def write_json(path: str, about: dict[str, Any], force: bool, claim: Claim | None = None) -> None:
    """Write one JSON object, indented for people."""
    with atomic_write(path, force, claim=claim) as file:
        file.write(json_text(about, indent=True).encode() + b"\n")
