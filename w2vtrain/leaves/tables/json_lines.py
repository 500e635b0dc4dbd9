"""JSON lines: a record per line, which orjson reads."""

import json
import re
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import orjson

from w2vtrain.errors import DataError, shown
from w2vtrain.leaves.tables.columns import (
    Format,
    Opened,
    Piece,
    Raw,
    at_column,
    batches,
    column_of,
    first_part,
    null_at,
    one_line_each,
)
from w2vtrain.system.reading import stream_of
from w2vtrain.text.source import File
from w2vtrain.text.token_lists import encoded, text_of

MAX_RECORD_BYTES = 1 << 28  # of one line
LONG_NUMBER = re.compile(rb"\d{19}")
"""Digits that orjson may round, as it reads integers beyond 64 bits as floating point."""
_LINES = ": write one record per line, for example with jq -c '.[]' for an array, or jq -c . for records"
_TEXTS = (
    ": write one record per line, for example with jq -c '.[] | {text: .}' for an array of texts or lists of words, or"
    " jq -c '{text: .}' if each line is one"
)
_PIPED = "; from standard input and pipes, only JSON lines are read: save other tables to files"


def _records(file: File, raw: Raw, numbers: bool = False) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the place and the record of each line that is not empty. Raise DataError unless it is a JSON object.

    numbers: whether numbers count, so that long integers must be exact.
    """
    stream, number, after = stream_of(raw(file)), 0, f" after byte {file.first:,}" if file.first else ""
    while line := stream.readline(MAX_RECORD_BYTES + 2):
        number += 1
        place = f"{file.path}:{number}{after}"
        if len(line.removesuffix(b"\n")) > MAX_RECORD_BYTES:
            raise DataError(
                f"{place}: the line has more than {MAX_RECORD_BYTES:,} bytes: write one record per line, and split"
                " long texts into several records"
            )
        piped = _PIPED * (number == 1 and file.size is None)
        if number == 1 and not file.first:
            line = line.removeprefix(b"\xef\xbb\xbf")
        if line.isspace():
            continue
        try:
            record = orjson.loads(line)
            if numbers and LONG_NUMBER.search(line):
                record = json.loads(line)
        except ValueError as error:
            if "UTF-8" in str(error):
                raise DataError(f"{place}: not UTF-8: save the file as UTF-8{piped}") from None
            if "surrogate" in str(error):
                raise DataError(
                    f"{place}: text with half of a surrogate pair, as of an emoji that was cut: write it with Python's"
                    " text.encode('utf-8', 'replace').decode()"
                ) from None
            nan = "; JSON has no NaN or Infinity: write null" if b"NaN" in line or b"Infinity" in line else ""
            problem = f"not a record of JSON on one line: {str(error)[:200]}{nan}{_LINES}{piped}"
            raise DataError(f"{place}: {problem}") from None
        if not isinstance(record, dict):
            is_array = isinstance(record, list) and isinstance(next(iter(record), None), dict)
            raise DataError(f"{place}: {shown(record)} is not a JSON object{_LINES if is_array else _TEXTS}")
        yield place, record


def cells(file: File, raw: Raw, columns: Callable[[list[str], str], list[str]]) -> Iterator[list[str]]:
    """Yield, of each record, the columns that `columns` chooses of its keys, with numbers as text, and nulls as ''.

    The second argument of `columns` is the place of the record for messages.
    """
    for place, record in _records(file, raw, numbers=True):
        row = {key: record[key] for key in columns(list(record), place)}
        for key, value in row.items():
            if type(value) not in (str, int, float, type(None)):
                raise DataError(f"{place}: column {shown(key)} is {shown(value)}, and must be a string or a number")
        yield ["" if value is None else text_of(value) for value in row.values()]


def _keys(record: dict[str, Any], column: str, path: str) -> list[str]:
    """Return the keys that lead to a column in the first record."""
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
    return keys


def _value(record: dict[str, Any], keys: list[str], place: str, numbers: bool) -> str | list[str]:
    """Return the value of a column. Raise DataError unless it is text or a list of texts, or of `numbers` and nulls."""
    value: Any = record
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    column = f"{place}{at_column('.'.join(keys))}"
    words = value if isinstance(value, list) else [value]
    if numbers:
        words = ["" if word is None else text_of(word) if type(word) in (int, float) else word for word in words]
    if None in words:
        raise null_at(column)
    if not all(isinstance(word, str) for word in words):
        kinds = f"a string or a list of strings{', or a number' * numbers}"
        raise DataError(f"{column} is {shown(value)}, and must be {kinds}")
    return words if isinstance(value, list) else words[0]


def _open(file: File, column: str, raw: Raw, whole_rows: bool, numbers: bool) -> Opened:
    records = _records(file, raw, numbers)
    first = next(records, None)
    if first is None:
        return Opened(None, iter(()))
    keys = _keys(first[1], column, file.path)
    head, value = [first], _value(first[1], keys, first[0], numbers)
    while numbers and not value and (record := next(records, None)):  # a null does not show whether the rows are lists
        head.append(record)
        value = _value(record[1], keys, record[0], numbers)
    lists = isinstance(value, list)
    rows = one_line_each(_values(chain(head, records), keys, lists, numbers), whole_rows and not lists)
    values = batches(rows, _characters if lists else len)
    return Opened(None if numbers and not value else lists, (_piece(batch, lists) for batch in values))


def _values(
    records: Iterator[tuple[str, dict[str, Any]]], keys: list[str], lists: bool, numbers: bool
) -> Iterator[Any]:
    """Yield the value of each record. Raise DataError for a list among texts or a text among lists."""
    for place, record in records:
        value = _value(record, keys, place, numbers)
        if numbers and not value:
            value = [] if lists else ""
        if isinstance(value, list) != lists:
            kinds = "a list" if lists else "a string"
            raise DataError(
                f"{place}: column {shown('.'.join(keys))} is {shown(value)}, and {kinds} in the first record"
            )
        yield value


def _characters(words: list[str]) -> int:
    return sum(map(len, words))


def _piece(values: list[Any], lists: bool) -> Piece:
    return Piece(encoded(values) if lists else "\n".join([*values, ""]).encode())


def _names(file: File, raw: Raw) -> list[str]:
    """Return the keys of the first record."""
    return list(next(_records(file, raw), ("", {}))[1])


JSON_LINES = Format("JSON lines", (".jsonl", ".ndjson", ".json"), _open, _names)
