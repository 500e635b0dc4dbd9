"""The sizes of the pages of a Parquet file, found before pyarrow reserves memory for them.

The sizes in the footer are those that the writer claims; pyarrow believes the header of each page, which is in Thrift's
compact protocol ("Apache Parquet: PageHeader"). Only the numbers are read here.
"""

from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

LONGEST_HEADER = 1 << 16
"""Most bytes of a page's header, without its texts, which are skipped."""
DEEPEST = 16
EXPANDING = {6: "DELTA_LENGTH_BYTE_ARRAY", 7: "DELTA_BYTE_ARRAY"}
"""Encodings of words that a few bytes can expand without a limit, before any word is read."""
DICTIONARY = 2
ABOUT = {0: 5, DICTIONARY: 7, 3: 8}
"""The field of a page's header that says more, by the kind of page: data, a dictionary, or data of version 2."""
Fields = dict[int, Any]


class Page(NamedTuple):
    """A page: its size in bytes once decompressed, its number of values, and the number of their encoding."""

    bytes: int
    values: int
    encoding: int


def pages(file: BinaryIO, chunk: Any) -> Iterator[Page]:
    """Yield the pages of a column chunk, given by pyarrow's metadata, as pyarrow finds them.

    Raise ValueError if a header is damaged.
    """
    starts = [chunk.data_page_offset]
    if chunk.has_dictionary_page and (chunk.dictionary_page_offset or 0) > 0:
        starts.append(chunk.dictionary_page_offset)
    at, seen = min(starts), 0
    end = at + chunk.total_compressed_size
    while seen < chunk.num_values and at < end:
        if at < 0:
            raise ValueError("a page begins before the file")
        file.seek(at)
        header = _Header(file).read()
        size, packed = header.get(2), header.get(3)
        kind = header.get(1)
        about = header.get(ABOUT.get(kind, 0), {})  # of other kinds, pyarrow reads nothing
        if not isinstance(about, dict):
            raise ValueError("the header of a page is damaged")
        values, encoding = about.get(1, 0), about.get(4 if kind == 3 else 2, 0)
        if not all(isinstance(number, int) and number >= 0 for number in (size, packed, values, encoding)):
            raise ValueError("the header of a page is damaged")
        seen += 0 if kind == DICTIONARY else values
        at = file.tell() + packed  # type: ignore[operator]
        yield Page(size, values, encoding)  # type: ignore[arg-type]


class _Header:
    """A reader of one structure in Thrift's compact protocol: {number of the field: its integer or structure}."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._left = file, LONGEST_HEADER

    def read(self, depth: int = 0) -> Fields:
        """Return the fields of a structure; what is neither an integer nor a structure is None."""
        if depth > DEEPEST:
            raise ValueError("the header of a page is nested too deeply")
        fields: Fields = {}
        last = 0
        while head := self._byte():
            last = last + (head >> 4) if head >> 4 else self._integer()
            fields[last] = head & 15 if head & 15 in (1, 2) else self._value(head & 15, depth)  # booleans have no value
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (1, 2, 3):
            return self._byte()
        if kind in (4, 5, 6):
            return self._integer()
        if kind in (7, 8):
            self._file.seek(8 if kind == 7 else self._unsigned(), 1)
        elif kind in (9, 10):
            head = self._byte()
            for _ in range(self._unsigned() if head >> 4 == 15 else head >> 4):
                self._value(head & 15, depth)
        elif kind == 12:
            return self.read(depth + 1)
        else:
            raise ValueError("the header of a page is damaged")
        return None

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
        raise ValueError("a number in the header of a page is too long")

    def _byte(self) -> int:
        self._left -= 1
        byte = self._file.read(1)
        if not byte or self._left < 0:
            raise ValueError("the header of a page does not end")
        return byte[0]
