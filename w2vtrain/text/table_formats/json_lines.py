"""JSON lines: a record per line, of which msgspec decodes only the value of the column."""

import json
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import msgspec
import orjson

from w2vtrain.errors import DataError, shown
from w2vtrain.system.reading import stream_of
from w2vtrain.text.columns import column_of, first_part, null_at
from w2vtrain.text.sentences import encoded
from w2vtrain.text.source import File
from w2vtrain.text.table_formats.contract import Format, Opened, Piece, Raw

BLOCK_BYTES = 1 << 20  # read at a time; a block also has the rest of its last line
MAX_RECORD_BYTES = 1 << 28  # of one line
NEWLINE = b"\n"


def _record_blocks(pieces: Iterator[bytes], path: str) -> Iterator[bytes]:
    """Join pieces into blocks of whole lines."""
    stream, line = stream_of(pieces), 1
    while block := stream.read(BLOCK_BYTES):
        # The length of the last line; one that is too long is refused before its parts are joined.
        parts, length = [block], len(block) - block.rfind(NEWLINE) - 1
        while length <= MAX_RECORD_BYTES and not parts[-1].endswith(NEWLINE) and (part := stream.readline(BLOCK_BYTES)):
            parts.append(part)
            length += len(part.removesuffix(NEWLINE))
        if length > MAX_RECORD_BYTES:
            line += block.count(NEWLINE)
            raise DataError(
                f"{path}:{line}: the line has more than {MAX_RECORD_BYTES:,} bytes: write one record per line, and"
                " split long texts into several records"
            )
        block = b"".join(parts)
        yield block
        line += block.count(NEWLINE)


_LINES = ": write one record per line, for example with jq -c '.[]' for an array, or jq -c . for records"


def _record(block: bytes, place: str) -> dict[str, Any]:
    """Return the first record of a block. Raise DataError unless it is a JSON object."""
    line = next((line for line in block.split(b"\n") if line.strip()), b"{}")
    try:
        record = orjson.loads(line.decode("utf-8", "replace"))
    except ValueError as error:
        raise _nan_in(line, place) or DataError(
            f"{place}: not a record of JSON on one line: {str(error)[:200]}{_LINES}"
        ) from None
    if not isinstance(record, dict):
        raise DataError(f"{place}: {shown(record)} is not a JSON object{_LINES}")
    return record


def _json_path(record: dict[str, Any], column: str, path: str) -> tuple[list[str], Any]:
    """Return the keys that lead to a column in the first record, and its value there."""
    keys, value, rest = list[str](), record, column
    while rest:
        if not isinstance(value, dict):
            raise DataError(f"{path}: no column {shown(column)}: {shown('.'.join(keys))} is {shown(value)}, no object")
        here = first_part(value, rest)
        if here not in value:
            raise DataError(
                f"{path}: no column {shown(column)} in the first record, which has: {column_of(list(record))}"
            )
        keys, value, rest = [*keys, here], value[here], rest[len(here) + 1 :]
    return keys, value


def _json_open(file: File, column: str, raw: Raw) -> Opened:
    blocks = _record_blocks(raw(file), file.path)
    first = next(blocks, b"").removeprefix(b"\xef\xbb\xbf")
    if not first.strip():
        return Opened(None, iter(()))
    place = _lines(file, 1)(0)
    keys, value = _json_path(_record(first, place), column, file.path)
    if value is None:
        raise null_at(f"{place}: column {shown(column)}")
    if not isinstance(value, str | list):
        raise DataError(f"{place}: column {shown(column)} is {shown(value)}, and must be a string or a list of strings")
    lists = isinstance(value, list)
    return Opened(lists, _json_pieces(file, chain([first], blocks), keys, lists))


def _lines(file: File, first: int) -> Callable[[int], str]:
    after = f" after byte {file.first:,}" if file.first else ""
    return lambda index: f"{file.path}:{first + index}{after}"


def _decoder(keys: list[str], lists: bool) -> Any:
    """Return a decoder of records that keeps only the value under these keys, and skips all others."""
    kind: Any = list[str] if lists else str
    for key in reversed(keys):
        kind = msgspec.defstruct("Record", [("value", kind)], rename={"value": key}, gc=False)
    return msgspec.json.Decoder(kind)


def _json_pieces(file: File, blocks: Iterator[bytes], keys: list[str], lists: bool) -> Iterator[Piece]:
    try:
        decoder = _decoder(keys, lists)
    except ValueError as error:
        raise DataError(f"{file.path}: the column has a name that is not supported: {error}") from None
    line = 1
    for block in blocks:
        place = _lines(file, line)
        try:
            values = decoder.decode_lines(block)
        except (ValueError, RecursionError):
            values = [_decoded(decoder, text, place(i)) for i, text in enumerate(block.split(b"\n")) if text.strip()]
        for _ in keys:
            values = [record.value for record in values]
        yield Piece(encoded(values) if lists else "\n".join([*values, ""]).encode())
        line += block.count(b"\n")


def _decoded(decoder: Any, line: bytes, place: str) -> Any:
    """Return a record. Raise DataError with its place if it has another type, or is not JSON in UTF-8."""
    try:
        return decoder.decode(line)
    except (ValueError, RecursionError) as error:
        text = str(error).replace("`", "")
    if "got null" in text or "missing required" in text:
        raise null_at(f"{place}: {text}")
    raise _nan_in(line, place) or DataError(f"{place}: {text[:300]}")


def _nan_in(line: bytes, place: str) -> DataError | None:
    """Return the error for a line that is JSON but for NaN or an infinity, as Python's json writes them, else None."""
    constants: list[str] = []
    try:
        json.loads(line, parse_constant=constants.append)
    except (ValueError, RecursionError):
        return None
    if not constants:
        return None
    return DataError(
        f'{place}: {constants[0]}, which JSON does not have: drop such rows, or write null for numbers and "" for text'
    )


JSON_LINES = Format("JSON lines", (".jsonl", ".ndjson", ".json"), _json_open)
