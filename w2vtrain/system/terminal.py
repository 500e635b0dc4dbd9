"""Output to the standard streams, made safe for terminals.

Words, file names and model records may come from untrusted sources. A terminal obeys control characters, and
bidirectional characters reorder the text that it shows, so both are shown as escapes there. Pipes and files get every
byte unchanged.

This module imports only a few modules of the standard library, because it is loaded before anything else.
"""

import codecs
import errno
import io
import os
import re
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import Any, BinaryIO, TextIO, cast

from w2vtrain.system.spinner import SPINNER
from w2vtrain.system.stopping import NAME

STANDARD_OUTPUT = "standard output"
MAX_MESSAGE_LENGTH = 2000  # characters
# C0 except for tab and newline, DEL, C1, lone surrogates, bidirectional controls, byte-order marks.
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069\ufeff\ufffe\uffff]")
UNSAFE = re.compile(CONTROL.pattern.replace("\ud800-\udfff", ""))
"""The same without surrogates, in messages: a name that is not UTF-8 passes through pipes as it is."""
LINE_END = re.compile("[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
ENCODING_ERRORS = "w2vtrain-bytes-or-escapes"


def echo(text: str = "", err: bool = False, end: str = "\n", is_result: bool = False) -> None:
    """Print to standard output, or to standard error if `err`, and flush. On a terminal, the text is `escaped`.

    Raise OSError if standard output cannot be written. A message that cannot be written to standard error is lost,
    because no result depends on it, unless it is one.
    """
    stream = sys.stderr if err else sys.stdout
    text += end
    with SPINNER.cleared(), suppress(OSError) if err and not is_result else nullcontext():
        stream.write(escaped(text) if stream.isatty() else text)
        stream.flush()


def warning(text: str) -> None:
    """Print a one-line warning on standard error."""
    echo(f"{NAME}: warning: {one_line(text)}", err=True)


def one_line(message: str) -> str:
    """Return a message as one line, cut to MAX_MESSAGE_LENGTH: a damaged file may have made it very long.

    Line ends and control characters, as in names of files, are escapes. Bytes that are not UTF-8 stay as they are.
    """
    line = UNSAFE.sub(_escape, escaped_line(message))
    return line if len(line) <= MAX_MESSAGE_LENGTH else f"{line[:MAX_MESSAGE_LENGTH]}..."


def escaped(text: str) -> str:
    r"""Return the text with control characters as escapes (\x1b, \u202e), and bytes that are not UTF-8 as \xff.

    U+FFFE and U+FFFF, which no XML may have, are escaped, too, and so is U+FEFF, for which a PDF has no glyph.
    """
    return CONTROL.sub(_escape, text)


def escaped_line(text: str) -> str:
    """Return the text with line ends as escapes, so that it cannot forge a line of output."""
    return LINE_END.sub(_escape, text)


def _escape(character: re.Match[str]) -> str:
    code = ord(character[0])
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is not UTF-8, as Python's surrogateescape decodes it
        code -= 0xDC00
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


@contextmanager
def binary_output() -> Iterator[BinaryIO]:
    """Yield a file that writes bytes to standard output: `escaped` on a terminal, unchanged elsewhere."""
    sys.stdout.flush()
    with SPINNER.cleared():
        pass
    if sys.stdout.isatty():
        stream = _EscapedBytes(sys.stdout)
        yield cast(BinaryIO, stream)
        stream.finish()
        sys.stdout.flush()
    else:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()


class _EscapedBytes(io.RawIOBase):
    """A stream that writes UTF-8 to a terminal; a character may be split between two writes."""

    def __init__(self, terminal: TextIO) -> None:
        self._terminal = terminal
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        view = memoryview(data)
        self._terminal.write(escaped(self._decoder.decode(view.tobytes())))
        return view.nbytes

    def finish(self) -> None:
        """Write the bytes of an incomplete last character."""
        self._terminal.write(escaped(self._decoder.decode(b"", final=True)))


def prepare_streams() -> None:
    """Make the three standard streams usable, even if the shell has closed or redirected them.

    They use UTF-8 in every locale, and bytes that are not UTF-8 pass through unchanged. A line ends with a newline on
    every system, so that results do not depend on it. Using a closed standard input or output fails with EBADF, and
    messages to a closed standard error are discarded.
    """
    _fill_descriptors()
    codecs.register_error(ENCODING_ERRORS, _bytes_or_escapes)
    sys.stdin = sys.stdin or open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if sys.stdout is None or (sys.stdout is sys.__stdout__ and _is_plain_file(sys.stdout)):
        terminal = os.isatty(1)
        raw = _StandardOutput(1, "wb", closefd=False)
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(raw), encoding="utf-8", line_buffering=terminal)
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8", errors="surrogateescape")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors=ENCODING_ERRORS, newline="\n")


def _fill_descriptors() -> None:
    """Open the null device on each of the descriptors 0, 1 and 2 that is closed, so that no other file gets its number.

    Reading 0 and writing 1 still fail, so that a closed stream is never taken for an empty corpus, and vectors are
    never silently discarded. The order matters, because the system assigns the lowest free number.
    """
    for number, mode in enumerate((os.O_WRONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            opened = os.open(os.devnull, mode)
            os.set_inheritable(opened, True)  # as the standard streams are; otherwise it would be closed in children


def _is_plain_file(stream: Any) -> bool:
    """Return whether a stream writes to a file descriptor; the Windows console does not."""
    binary = getattr(stream, "buffer", None)
    return type(getattr(binary, "raw", binary)) is io.FileIO


class _StandardOutput(io.FileIO):
    """Descriptor 1, with errors whose `filename` is STANDARD_OUTPUT, so that messages can name it."""

    def write(self, data: Any) -> Any:
        try:
            return super().write(data)
        except OSError as error:
            # For a pipe whose reader is gone, Windows reports EINVAL, which no system reports for an open pipe.
            if error.errno == errno.EINVAL and stat.S_ISFIFO(os.fstat(self.fileno()).st_mode):
                raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE), STANDARD_OUTPUT) from error
            error.filename = STANDARD_OUTPUT
            raise


def _bytes_or_escapes(error: UnicodeError) -> Any:
    r"""Encode surrogates as the bytes that they represent, and others, such as those from JSON, as \ud800."""
    try:
        return codecs.lookup_error("surrogateescape")(error)
    except UnicodeError:
        return codecs.lookup_error("backslashreplace")(error)


def drop_output() -> None:
    """Discard buffered output that cannot be written; Python would try again at exit and print an error."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            with suppress(OSError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
