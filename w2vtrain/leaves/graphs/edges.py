"""Read lists of edges: lines of two nodes and perhaps a weight, separated by white space, commas or tabs.

Files may be compressed, as text may be. The names of nodes are numbered as the words of a text are.
"""

import re
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from w2vtrain.engines.chunks import read_only
from w2vtrain.errors import DataError
from w2vtrain.leaves.graphs.graph import BAD_WEIGHT, Graph
from w2vtrain.leaves.graphs.graph_kernels import split_edges
from w2vtrain.text import word_table
from w2vtrain.text.source import MAX_TOKEN_BYTES, File
from w2vtrain.text.text_files import Corpus

COMMENTS = (b"#", b"%")
"""What lines begin with that are no edges, in the files of SNAP and KONECT."""
MATRIX_MARKET = b"%%MatrixMarket"
"""How files of that format begin. Their first line that is no comment has sizes, and would pass for an edge."""
HEADERS = ({b"source", b"target"}, {b"from", b"to"}, {b"src", b"dst"})
HEADER = "this line is a header: put # before it"
SEPARATORS = {b"\t": "tabs", b",": "commas", b" ": "white space"}
"""What separates fields: the first of these that is in the first edge of a file, or white space."""


def read_edges(corpus: Corpus, directed: bool = False) -> Graph:
    """Return the graph whose edges are the lines of text files. Nodes are numbered in the order of the text.

    With tabs or commas, names may have spaces, which become underscores, and fields may be in quotes, as in CSV. Empty
    lines, and those that begin with # or %, are skipped. An edge without a weight has the weight 1. Raise DataError,
    with the file and the line, for a line that is no edge, and the errors of reading.
    """
    table, state = word_table.empty(), np.zeros(word_table.STATES, np.int64)
    sources, targets, weights = [np.zeros(0, np.int32)], [np.zeros(0, np.int32)], [np.zeros(0)]
    for file in corpus.files:
        line, separator = 1, b""
        for block in whole_lines(corpus, file):
            if not separator and (start := first_edge(block)):
                number, edge = start
                separator = separator_of(edge)
                if is_header(fields_of(edge, separator)):
                    raise DataError(f"{file.name}:{line + number}: {HEADER}")
                if block.startswith(MATRIX_MARKET):
                    raise DataError(f"{file.name}:{line + number}: the sizes of a matrix: delete this line, and line 1")
            lines, nodes = block.count(b"\n"), np.empty(len(block), np.uint8)
            given = np.zeros(lines)
            count, size, bad = split_edges(np.frombuffer(block, np.uint8), ord(separator or b" "), nodes, given)
            if bad >= 0:
                wrong = block.split(b"\n")[bad]
                raise DataError(f"{file.name}:{line + bad}: {problem(wrong, separator)}")
            numbers = np.empty(size, np.int32)
            table = word_table.add(read_only(nodes[:size]), table, numbers, state)
            sources.append(numbers[: 3 * count : 3].copy())
            targets.append(numbers[1 : 3 * count : 3].copy())
            weights.append(given[:count].copy())
            line += lines
    names = names_in(table, corpus)
    del table
    return Graph.of(names, np.concatenate(sources), np.concatenate(targets), joined(weights), directed)


def joined(parts: list[NDArray[np.float64]]) -> NDArray[np.float64] | None:
    """Return the weights of all edges, of which 0 stands for no weight; None if none has any."""
    weights = np.concatenate(parts)
    if not weights.any():
        return None
    weights[weights == 0] = 1.0
    return weights


def whole_lines(corpus: Corpus, file: File) -> Iterator[bytes]:
    """Yield the text of a file of a corpus in blocks of whole lines."""
    rest = b""
    for block in corpus.part([file], corpus.block_bytes).read():
        lines, newline, rest = (rest + block).rpartition(b"\n")
        yield lines + newline
    if rest:
        yield rest + b"\n"


def first_edge(block: bytes) -> tuple[int, bytes] | None:
    """Return the number, from 0, of the first line that is neither empty nor a comment, and the line."""
    lines = enumerate(block.split(b"\n"))
    return next(((n, line) for n, line in lines if line.strip() and not line.startswith(COMMENTS)), None)


def separator_of(edge: bytes) -> bytes:
    """Return what separates the fields of a line."""
    return next((separator for separator in SEPARATORS if separator in edge), b" ")


def fields_of(line: bytes, separator: bytes) -> list[bytes]:
    """Return the fields of a line, as `split_edges` finds them."""
    if separator == b" ":
        return line.split()
    cells = re.findall(rb'(?:^|%b)(?: *"((?:[^"]|"")*)"[ \r]*(?=%b|$)|([^%b]*))' % ((separator,) * 3), line)
    return [b"_".join((quoted.replace(b'""', b'"') or plain).split()) for quoted, plain in cells]


def is_header(fields: list[bytes]) -> bool:
    """Return whether the fields of a line are the names of columns."""
    return {field.lower() for field in fields[:2]} in HEADERS


def problem(line: bytes, separator: bytes) -> str:
    """Return what is wrong with a line that is no edge."""
    fields = fields_of(line, separator)
    if is_header(fields):
        return HEADER
    if not 2 <= len(fields) <= 3 or not all(fields):
        return f"expected two nodes and perhaps a weight, separated by {SEPARATORS[separator]}, got {line[:80]!r}"
    if max(map(len, fields[:2])) > MAX_TOKEN_BYTES:
        return f"the name of a node has more than {MAX_TOKEN_BYTES:,} bytes: shorten it"
    try:
        weight = float(fields[2].replace(b"_", b"?"))  # which Python would skip
    except ValueError:
        return f"expected a number as the weight, got {fields[2][:80]!r}"
    return f"the weight is {weight:g}: {BAD_WEIGHT}"


def names_in(table: word_table.WordTable, corpus: Corpus) -> list[str]:
    """Return the names of nodes. Raise DataError, with the file and the line, for one that is not UTF-8."""
    for number in table.not_utf8():
        (name,) = table.words(np.array([number]))
        for file in corpus.files:
            for line, text in enumerate(b"".join(whole_lines(corpus, file)).split(b"\n"), 1):
                if name in fields_of(text, separator_of(text)):
                    raise DataError(f"{file.name}:{line}: the node {name[:80]!r} is not UTF-8: convert the file")
        raise DataError(f"{corpus.name}: the node {name[:80]!r} is not UTF-8: convert the file")
    return [name.decode() for name in table.words(np.arange(table.types))]
