"""Provide the input files of commands, with `-` for standard input.

Outputs are handled in fit_outputs.py, and here only compared with inputs.
"""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from w2vtrain.commands.options import warn
from w2vtrain.commands.shell import imports
from w2vtrain.errors import DataError, InputMissing, UsageError, W2VError, WriteError
from w2vtrain.system.compression import check_suffix
from w2vtrain.system.files import OPEN_FILE, STDOUT, STDOUT_NAMES, among, is_stream
from w2vtrain.system.locks import check_output
from w2vtrain.system.spinner import SPINNER

if TYPE_CHECKING:
    from w2vtrain.embeddings.model import Model
    from w2vtrain.formats.vectors import Vectors

COPIED_BYTES = 1 << 20
"""Bytes of standard input copied at a time."""


@contextmanager
def readable(path: str) -> Iterator[str]:
    """Yield the name of a file that can be read repeatedly and in parts, as vectors are.

    That is a copy for `-`, and for a pipe that a shell has opened, as for <(...). Opening a named pipe could wait
    forever.
    Raise InputMissing if standard input cannot be read, and WriteError if the copy cannot be written.
    """
    is_pipe = OPEN_FILE.fullmatch(path) is not None and Path(path).is_fifo()
    if path != STDOUT and not is_pipe:
        yield path
        return
    with ExitStack() as stack:
        source = stack.enter_context(Path(path).open("rb")) if is_pipe else sys.stdin.buffer
        try:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="w2vtrain-", ignore_cleanup_errors=True))
            name = str(Path(folder, "stdin"))
            with Path(name).open("wb") as file:
                for block in from_stdin(lambda: source.read(COPIED_BYTES)):
                    file.write(block)
        except OSError as error:
            raise WriteError(
                f"{tempfile.tempdir or 'the folder for temporary files'} cannot be written: {error.strerror}; the input"
                " is copied there: set TMPDIR to a folder with enough space"
            ) from error
        try:
            yield name
        except W2VError as error:
            raise type(error)(str(error).replace(name, path if is_pipe else "standard input")) from error


@contextmanager
def with_vectors(file: str, is_model: bool = False) -> Iterator[str]:
    """Yield the name of a file of vectors or of a model, as `readable` does. is_model: only a model will do.

    The error for arguments in the wrong order says what to write.
    """
    with imports():
        from w2vtrain.formats.sniff import MODEL_READERS, readers
    try:
        with readable(file) as path:
            yield path
    except (InputMissing, DataError) as error:
        kinds, what = (MODEL_READERS, "model comes") if is_model else (readers(), "vectors come")
        if line := _in_order(file, kinds):
            raise type(error)(f"{error}; the {what} first: {line}") from error
        raise


def _in_order(wrong: str, kinds: Container[str]) -> str:
    """Return the command with the file of one of these kinds first, if the only one that it takes is the wrong file.

    `...` stands for its options.
    """
    from w2vtrain.formats.sniff import sniff

    context = click.get_current_context()
    given = [context.params[str(part.name)] for part in context.command.params if isinstance(part, click.Argument)]
    options = [str(part.name) for part in context.command.params if isinstance(part, click.Option)]
    more = " ..." * any(context.get_parameter_source(name) is ParameterSource.COMMANDLINE for name in options)
    if given[0] != wrong:  # several files of vectors are one argument
        return ""
    words = [word for value in given for word in (value if isinstance(value, tuple) else [value])]
    for word in words:
        if word != wrong and os.path.isfile(word) and sniff(word).kind in kinds:  # noqa: PTH113 - any length
            others = [other for other in words if other != word]
            return shlex.join([*context.command_path.split(), word, *others]) + more
    return ""


def vectors_in(file: str) -> Vectors:
    """Return the vectors of a file, or of stdin for `-`. Raise the errors of `read_vectors` and `with_vectors`."""
    with imports():
        from w2vtrain.formats.vectors import read_vectors
    with with_vectors(file) as path:
        return read_vectors(path)


def tag_hint(file: str, unknown: Iterable[str]) -> str:
    """Return the end of a message about unknown words of which one is a tag of the documents of a model, or ""."""
    tags = _tags_in(os.path.abspath(file))  # noqa: PTH100 - names of any length
    tag = next((word for word in unknown if word in tags), None)
    if tag is None:
        return ""
    repair = " --repair" * any(name.split() != [name] for name in tags)  # most formats have no words with spaces
    command = f"w2vtrain convert {shlex.quote(file)} -o FILE --export documents{repair}"
    return f"; {tag!r} is the tag of a document: `{command}` writes the vectors of documents"


@cache
def _tags_in(file: str) -> frozenset[str]:
    from w2vtrain.formats.model_file import document_tags

    return frozenset(document_tags(file))


def model_in(file: str, named: Mapping[str, str | None]) -> Model:
    """Return the model of a file, or of stdin for `-`, and let its code run if --objective or --architecture names it.

    named: their values. Raise CodeNotAllowed for other code, and the errors of `load_model` and `with_vectors`.
    """
    with imports():
        from w2vtrain.embeddings.model import load_model
        from w2vtrain.user_code import Named, require
    with with_vectors(file, is_model=True) as path:
        permission = Named(**named)
        model = load_model(path)
    permission.allow()
    settings = permission.in_place_of(model.settings)
    require(*(str(settings.get(kind)) for kind in ("objective", "architecture")))
    return replace(model, settings=settings, name="standard input" if file == STDOUT else file)


def from_stdin(read: Callable[[], bytes]) -> Iterator[bytes]:
    """Yield what `read` returns from standard input, until its end; InputMissing if it cannot be read."""
    SPINNER.make_way()
    try:
        yield from iter(read, b"")
    except OSError as error:
        raise InputMissing(f"standard input cannot be read: {error.strerror}") from error


def check_different(outputs: Sequence[str], inputs: Sequence[str]) -> None:
    """Raise UsageError if two outputs, or an output and an input, are the same file; `-` may be an input and an output.

    What is the same file is defined in files.py.
    """
    named = [STDOUT if file in STDOUT_NAMES else file for file in outputs]
    for number, file in enumerate(outputs):
        if among(named[number], named[:number]):
            raise UsageError(f"{file}: given for two outputs")
        if file != STDOUT and among(file, inputs):
            raise UsageError(f"{file}: is both input and output; choose another name")


def check_repeatable(inputs: Sequence[str]) -> None:
    """Raise UsageError for standard input, pipes and open files, as for <(...), which several runs cannot read."""
    for file in inputs:
        if is_stream(file):
            raise UsageError(f"{file}: each run opens it again, which fails for stdin and pipes: write it to a file")


def check_outside(outputs: Sequence[str], sources: Sequence[str]) -> None:
    """Raise UsageError for an output file or folder that the next command would read as text."""
    from w2vtrain.text.text_files import would_read  # not needed for queries

    files = [file for file in outputs if file != STDOUT]
    for source in sources:
        if file := would_read(source, files):
            place = "is inside" if os.path.isdir(source) else "matches"  # noqa: PTH112 - any length
            raise UsageError(f"{file}: {place} {source}, whose files are read as text; choose another folder")


def warn_repeated(files: Sequence[str]) -> None:
    """Warn of files that are read twice, as if they and their folder are named; this may be a slip."""
    paths = [os.path.realpath(file) for file in files]
    repeated = [(path, count) for path, count in Counter(paths).items() if count > 1]
    if repeated:
        path, count = repeated[0]
        first, more = files[paths.index(path)], len(repeated) - 1
        warn(f"{first} and {more:,} more: read more than once" if more else f"{first}: read {count} times")


def check_texts(outputs: Sequence[str], sources: Sequence[str], inputs: Sequence[str], force: bool) -> None:
    """Raise UsageError or OutputError for an output that cannot be written, or not with its suffix's compression."""
    check_different(outputs, inputs)
    check_outside(outputs, sources)
    warn_repeated(inputs)
    for file in outputs:
        check_suffix(file)
        check_output(file, force)


def refuse_stdin_twice(*paths: str) -> None:
    """Raise UsageError if standard input is named twice."""
    if paths.count(STDOUT) > 1:
        raise UsageError("-: stdin cannot be used for two inputs")
