"""Parquet files, opened, and the sizes of their pages, found before pyarrow reserves memory for them.

The sizes in the footer are those that the writer claims; pyarrow believes the header of each page. Both are structures
in Thrift's compact protocol (parquet.thrift: FileMetaData, PageHeader). The footer is read here, too, because asking
pyarrow for the metadata of a damaged column ends the process.
"""

import struct
from collections.abc import Container, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeVar

from w2vtrain.errors import DataError
from w2vtrain.system.reading import justified

BUFFER_BYTES = 1 << 18
"""Bytes of a column that are read at a time."""
MAX_HEADER_BYTES = 1 << 16
"""Most bytes of a page's header, without its texts, which are skipped."""
MIN_PAGE_BYTES = 4
"""Fewest bytes of a page and its header, so that no file has more pages than a quarter of its bytes."""
MAX_NESTING = 16
TAIL = struct.Struct("<I4s")
EXPANDING = {6: "DELTA_LENGTH_BYTE_ARRAY", 7: "DELTA_BYTE_ARRAY"}
"""Encodings of words that a few bytes can expand without a limit, before any word is read."""
DICTIONARY = 2
HEADER_FIELDS = {0: 5, DICTIONARY: 7, 3: 8}
"""The field of a page's header that says more, by the kind of page: data, a dictionary, or data of version 2."""
FOOTER, HEADER = "the footer", "the header of a page"
Fields = dict[int, Any]
T = TypeVar("T")


class Page(NamedTuple):
    """A page: its size in bytes once decompressed, its number of values, and the number of their encoding."""

    bytes: int
    values: int
    encoding: int


class Chunk(NamedTuple):
    """A column in a row group: the numbers of both, of its values and of its bytes, and where its pages begin."""

    group: int
    column: int
    values: int
    bytes: int
    start: int


def opened(file: BinaryIO, dictionaries: Iterable[str] = (), metadata: Any = None) -> Any:
    """Return pyarrow's reader of a file, for columns whose pages `checked` has found to be of a justified size.

    dictionaries: the paths of the leaves to read as dictionaries of strings; metadata: the file's, if it is known.
    """
    from pyarrow.parquet import ParquetFile

    return ParquetFile(
        file, metadata=metadata, pre_buffer=False, buffer_size=BUFFER_BYTES, read_dictionary=[*dictionaries]
    )


def leaves(schema: Any, column: str) -> dict[int, str]:
    """Return the paths of the leaves of a column in a Parquet schema, by their numbers."""
    paths = {number: schema.column(number).path for number in range(len(schema))}
    return {number: path for number, path in paths.items() if f"{path}.".startswith(f"{column}.")}


def checked(file: BinaryIO, path: str | Path, size: int, columns: Container[int]) -> Iterator[tuple[Chunk, Page]]:
    """Yield each page of the columns with these numbers, with its chunk.

    Raise DataError if the header of a page claims more than a file of `size` bytes justifies, or if there are more
    pages than it can have; ValueError if the footer or a header is damaged.
    """
    count = 0
    for chunk in list(chunks(file, size)):
        for page in pages(file, chunk) if chunk.column in columns else ():
            count += 1
            if max(page.bytes, 4 * page.values) > justified(size):
                much = f"{page.bytes:,} decompressed bytes and {page.values:,} values"
                raise DataError(f"{path}: a page of {much} is too large for a file of {size:,} bytes")
            if count > size // MIN_PAGE_BYTES:
                raise DataError(f"{path}: more pages than a file of {size:,} bytes can have")
            yield chunk, page


def chunks(file: BinaryIO, size: int) -> Iterator[Chunk]:
    """Yield the column chunks of a file of `size` bytes. Raise ValueError if its footer is damaged."""
    file.seek(max(0, size - TAIL.size))
    tail = file.read()
    if len(tail) < TAIL.size:
        raise ValueError("the footer is cut off")
    length, _ = TAIL.unpack(tail)
    file.seek(max(0, size - TAIL.size - length))
    for place, group in enumerate(_field(_Structure(file, length).read(), 4, list, FOOTER)):
        for number, column in enumerate(_field(group, 1, list, FOOTER)):
            metadata = _field(column, 3, dict, FOOTER)
            values, taken, start = (_field(metadata, field, int, FOOTER) for field in (5, 7, 9))
            first = metadata.get(11)  # of the dictionary's page
            start = min(start, first) if isinstance(first, int) and first > 0 else start
            yield Chunk(place, number, values, taken, start)


def _field(structure: Any, field: int, kind: type[T], where: str, default: T | None = None) -> T:
    """Return a field of a structure. Raise ValueError if it is of another kind, a negative number, or missing."""
    value = structure.get(field, default) if isinstance(structure, dict) else None
    if not isinstance(value, kind) or (isinstance(value, int) and value < 0):
        raise ValueError(f"{where} is damaged")
    return value


def pages(file: BinaryIO, chunk: Chunk) -> Iterator[Page]:
    """Yield the pages of a column chunk, as pyarrow finds them. Raise ValueError if a header is damaged."""
    at, seen = chunk.start, 0
    while seen < chunk.values and at < chunk.start + chunk.bytes:
        file.seek(at)
        header = _Structure(file, MAX_HEADER_BYTES).read()
        kind, size, packed = (_field(header, field, int, HEADER) for field in (1, 2, 3))
        data_header = _field(header, HEADER_FIELDS.get(kind, 0), dict, HEADER, {})  # of others, pyarrow reads nothing
        values = _field(data_header, 1, int, HEADER, 0)
        encoding = _field(data_header, 4 if kind == 3 else 2, int, HEADER, 0)
        seen += 0 if kind == DICTIONARY else values
        at = file.tell() + packed
        yield Page(size, values, encoding)


class _Structure:
    """A reader of one structure of at most `longest` bytes in Thrift's compact protocol: {number of the field: value}.

    Values are integers, lists and structures. Texts are skipped, and do not count; their values mean nothing.
    """

    def __init__(self, file: BinaryIO, longest: int) -> None:
        self._file, self._left = file, longest

    def read(self, depth: int = 0) -> Fields:
        """Return the fields of a structure."""
        fields: Fields = {}
        last = 0
        while head := self._byte():
            last = last + (head >> 4) if head >> 4 else self._integer()
            fields[last] = head & 15 if head & 15 in (1, 2) else self._value(head & 15, depth)  # booleans have no value
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if depth > MAX_NESTING:
            raise ValueError("structures are nested too deeply")
        if kind in (1, 2, 3):
            return self._byte()
        if kind in (4, 5, 6):
            return self._integer()
        if kind == 7:
            return [self._byte() for _ in range(8)]  # not skipped, so that a list of these has an end
        if kind == 8:
            return self._file.seek(self._unsigned(), 1)
        if kind in (9, 10):
            head = self._byte()
            count = self._unsigned() if head >> 4 == 15 else head >> 4
            return [self._value(head & 15, depth + 1) for _ in range(count)]
        if kind == 12:
            return self.read(depth + 1)
        raise ValueError("a structure is damaged")

    def _integer(self) -> int:
        number = self._unsigned()
        return number >> 1 ^ -(number & 1)

    def _unsigned(self) -> int:
        number = 0
        for shift in range(0, 70, 7):
            byte = self._byte()
            number |= (byte & 127) << shift
            if byte < 128:
                return number
        raise ValueError("a number is too long")

    def _byte(self) -> int:
        self._left -= 1
        byte = self._file.read(1)
        if not byte or self._left < 0:
            raise ValueError("a structure does not end")
        return byte[0]
