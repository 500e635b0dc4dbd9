"""Read lists of edges: lines of two nodes and perhaps a weight, separated by white space, commas or tabs; or tables.

Files may be compressed, as text may be. The names of nodes are numbered as the words of a text are. The columns of a
table are joined to lines of text.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice

import numpy as np
from numpy.typing import NDArray

from w2vtrain.config import Settings
from w2vtrain.doors import TABLES, leaf
from w2vtrain.engines.chunks import read_only
from w2vtrain.errors import DataError, UsageError
from w2vtrain.leaves.graphs.graph import BAD_WEIGHT, NO_EDGES, Graph
from w2vtrain.leaves.graphs.graph_kernels import split_edges
from w2vtrain.leaves.graphs.objects import COLUMNS, columns_of_edges
from w2vtrain.system.compression import unpacked
from w2vtrain.text import word_table
from w2vtrain.text.source import MAX_TOKEN_BYTES, File
from w2vtrain.text.text_files import Corpus
from w2vtrain.training.inputs import corpus_of

COMMENTS = (b"#", b"%")
"""What lines before the first edge begin with, in the files of SNAP and KONECT."""
LATE_COMMENT = (
    "comments end at the first edge: delete this line; or, if it is an edge, write source and target as the first line,"
    " separated as the nodes are"
)
COMMA = re.compile(rb"\s*[^\s,;]+[\s;]+[^\s,;]+[\s;]+([-+]?\d+(?:,\d+)+(\.\d+)?)\s*")
"""An edge whose weight has commas, which would otherwise separate two nodes."""
SPACED_NUMBERS = re.compile(rb" *\d+(?: +\d+)+ *")
"""A name that is more than one number, as in the files of KONECT that separate nodes by spaces and the rest by tabs."""
SPACED_WEIGHT = re.compile(rb" *\S+ +[-+]?(?:\d+\.\d*|\.\d+|\d+(?=e))(?:e[-+]?\d+)? *", re.IGNORECASE)
"""A node and a number that is no integer, as the last of two fields."""
NAMES_WITH_COMMAS = re.compile(rb"\s*[^\s,]+,[-+.\d]+\s+[^\s,]+,[-+.\d]+(\s+[^\s,]+)?\s*")
"""An edge between coordinates or other names that end with a comma and a number, if white space separates it."""
MATRIX_MARKET = b"%%MatrixMarket"
"""How files of that format begin. Their first line that is no comment has sizes, and would pass for an edge."""
NO_EDGE_LIST = re.compile(
    rb"(?P<Pajek>\*(?:vertices|network|arcs|edges)\b)|(?P<XML><[?!]?[a-z][\w-]*(?::[\w-]+)?(?:[\s/>]|$))|(?P<GML>graph\s*\[)"
    rb"|(?P<DOT>(?:strict\s+)?(?:di)?graph\b.*\{)|(?P<JSON>\{\s*(\"|$))", re.IGNORECASE
)  # fmt: skip
"""How files of other formats begin."""
SAVE = "save the graph with networkx.write_weighted_edgelist"
PRINTED = re.compile(rb"\s*[(\[][^()\[\]{}\t]*, [^()\[\]{}\t]*[)\]]\s*")
"""A tuple or a list, as print writes it."""
IN_QUOTES = re.compile(rb'\s*"[^"]+"\s+"[^"]+"(\s.*)?')
"""Two nodes as write.table of R writes them."""
ARROWS = (b"->", b"-->", b"--", b"<->", b"=>")
ADJACENCY = b"# GMT "
"""How a comment begins in the adjacency lists of NetworkX, whose lines would pass for weighted edges."""
HEADERS = (
    {"source", "target"}, {"from", "to"}, {"src", "dst"}, {"node1", "node2"}, {"node_1", "node_2"}
)  # fmt: skip
HEADER = "this line names columns: name them source, target and perhaps weight, in this order, or put # before it"
LIKE_HEADER = (
    "this line seems to name columns, because all other nodes are numbers: put # before it; or, if it is an edge, write"
    " source and target as the first line, separated as the nodes are"
)
LIKE_COUNTS = (
    "this line seems to count nodes and edges, because only it has no weight: put # before it; or, if it is an edge,"
    " add its weight"
)
SAMPLE_LINES = 1 << 12
"""Lines in which all nodes are numbers, if the first line of a file is taken for names of columns."""
MAYBE_PLAIN = (".csv", ".tsv")
"""Suffixes of tables that may also be lines of edges, without the names of columns."""
BATCH_ROWS = 1 << 12
SEPARATORS = {b"\t": "tabs", b",": "commas", b" ": "white space"}
"""What separates fields: the first of these that is in the first edge of a file, or white space."""


def read_edges(corpus: Corpus, directed: bool = False) -> Graph:
    """Return the graph whose edges are the lines of text files. Nodes are numbered in the order of the text.

    With tabs or commas, names may have spaces, which become underscores, and fields may be in quotes, as in CSV. Empty
    lines, comments before the first edge (lines that begin with # or %), and a first line `source target weight` are
    skipped. An edge without a weight has the weight 1. Files may also be tables with these columns. Raise DataError,
    with the file and the line, for a line that is no edge, and the errors of reading.
    """
    table, state = word_table.empty(), np.zeros(word_table.STATES, np.int64)
    sources, targets, weights = [np.zeros(0, np.int32)], [np.zeros(0, np.int32)], [np.zeros(0)]
    for file in corpus.files:
        line, separator, has_header, blocks = edges_in(corpus, file)
        for block in blocks:
            lines, nodes = block.count(b"\n"), np.empty(len(block), np.uint8)
            given = np.zeros(lines)
            count, size, bad = split_edges(np.frombuffer(block, np.uint8), ord(separator), has_header, nodes, given)
            if bad >= 0:
                wrong = block.split(b"\n")[bad]
                is_late = wrong.startswith(COMMENTS) and not has_header
                said = LATE_COMMENT if is_late else problem(wrong, separator)
                raise DataError(f"{file.name}:{line + bad}: {said}")
            numbers = np.empty(size, np.int32)
            table = word_table.add(read_only(nodes[:size]), table, numbers, state)
            sources.append(numbers[: 3 * count : 3].copy())
            targets.append(numbers[1 : 3 * count : 3].copy())
            weights.append(given[:count].copy())
            line += lines
    names = names_in(table, corpus)
    del table
    ends = np.concatenate(sources), np.concatenate(targets)
    if not np.any(ends[0] != ends[1]):
        raise DataError(f"{corpus.name}: {NO_EDGES}")
    return Graph.of(names, *ends, joined(weights), directed)


def joined(parts: list[NDArray[np.float64]]) -> NDArray[np.float64] | None:
    """Return the weights of all edges, of which 0 stands for no weight; None if none has any."""
    weights = np.concatenate(parts)
    if not weights.any():
        return None
    weights[weights == 0] = 1.0
    return weights


def edges_in(corpus: Corpus, file: File) -> tuple[int, bytes, bool, Iterator[bytes]]:
    """Return the edges of a file as text: the number of the first line, what separates fields, and whole lines.

    The third value is whether a line before these names the columns.
    """
    suffix, line = unpacked(file.path)[0].suffix.lower(), 1
    if suffix in TABLES and suffix not in MAYBE_PLAIN:
        return line, b"\t", True, rows_of(corpus, file)
    is_table, blocks = suffix in TABLES and file.size is not None, lines_in(corpus, file)
    for block in blocks:
        if start := first_edge(block):
            number, edge = start
            line, separator = line + number, separator_of(edge)
            if said := misread(edge, separator, block.split(b"\n", number)[:-1]):
                raise DataError(f"{file.name}:{line}: {said}")
            names = header_in(fields_of(edge, separator), is_table)
            if not names:
                if said := no_edge(block.split(b"\n", number + SAMPLE_LINES)[number:-1], separator):
                    raise DataError(f"{file.name}:{line}: {said}")
                return line, separator, False, chain([block.split(b"\n", number)[-1]], blocks)
            is_plain = names in (COLUMNS, COLUMNS[:2])
            if is_table and not (is_plain and all(b'"' not in block for block in lines_in(corpus, file))):
                return line + 1, b"\t", True, rows_of(corpus, file)
            if not is_plain:
                raise DataError(f"{file.name}:{line}: {HEADER}")
            rest = block.split(b"\n", number + 1)[-1]
            return line + 1, separator, True, chain([rest] if rest else [], blocks)
        line += block.count(b"\n")
    return line, b" ", False, blocks


def lines_in(corpus: Corpus, file: File) -> Iterator[bytes]:
    """Yield a text file in blocks of whole lines. Raise DataError if it grew meanwhile: a line may be cut off."""
    reader = corpus.read()
    for block in whole_lines(reader.pieces(file)):
        if reader.grown:
            raise DataError(f"{file.path}: grew while it was read: start again when it is complete")
        yield block


def rows_of(corpus: Corpus, file: File) -> Iterator[bytes]:
    """Yield the edges of a table as lines: the cells of their columns, separated by tabs."""
    if file.size is None:
        raise UsageError(f"{file.name}: a table of edges is read once for each column: save it")
    tables = leaf("tables")
    rows: Iterator[Iterable[bytes]]
    if records := tables.records_of(corpus, file, columns_of_edges):  # of which each may have a weight or not
        rows = ([cell.encode() for cell in record] for record in records)
    else:
        names = columns_of_edges(tables.columns_of(corpus, file), file.path)
        columns = [corpus_of([file.path], Settings(column=name), whole_rows=True, numbers=True) for name in names]
        rows = zip(*(cells_of(column.read()) for column in columns), strict=True)
    while batch := list(islice(rows, BATCH_ROWS)):
        yield b"".join(b"\t".join(map(field_of, row)) + b"\n" for row in batch)


def cells_of(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the cells of a column."""
    for block in whole_lines(blocks):
        yield from block.split(b"\n")[:-1]


def field_of(cell: bytes) -> bytes:
    """Return a cell as a field of a line: without tabs and newlines, and in quotes if it is empty or has any."""
    text = b" ".join(cell.split())
    return b'"%b"' % text.replace(b'"', b'""') if b'"' in text or not text else text


def whole_lines(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield text in blocks of whole lines."""
    rest = list[bytes]()
    for block in blocks:
        lines, newline, end = block.rpartition(b"\n")
        if newline:
            yield b"".join([*rest, lines, newline])
            rest = []
        rest.append(end)
    if any(rest):
        yield b"".join(rest) + b"\n"


def first_edge(block: bytes) -> tuple[int, bytes] | None:
    """Return the number, from 0, of the first line that is neither empty nor a comment, and the line."""
    lines = enumerate(block.split(b"\n"))
    return next(((n, line) for n, line in lines if line.strip() and not line.startswith(COMMENTS)), None)


def separator_of(edge: bytes) -> bytes:
    """Return what separates the fields of a line."""
    return next((separator for separator in SEPARATORS if separator in edge), b" ")


def misread(edge: bytes, separator: bytes, comments: list[bytes]) -> str | None:
    """Return what is wrong with the first edge of a file if it would be read as another one, else None."""
    if other := NO_EDGE_LIST.match(edge.lstrip()):
        if other.lastgroup == "JSON":
            return "JSON lines: save them in a file with the suffix .jsonl"
        return f"this is {other.lastgroup}, not a list of edges: {SAVE}"
    if PRINTED.fullmatch(edge):
        return f"an edge as Python prints it: {SAVE}"
    fields = fields_of(edge, separator)
    if len(fields) > 2 and fields[1] in ARROWS and (fields[0].isdigit() or not is_number(fields[2])):
        return f"{fields[1].decode()} stands between the nodes: delete it"
    if separator == b" " and IN_QUOTES.fullmatch(edge):
        return "nodes in quotes, which would be part of their names: remove all quotes, or separate fields by tabs"
    if comments and comments[0].startswith(MATRIX_MARKET):
        return "the sizes of a matrix: delete this line, and line 1"
    if any(line.startswith(ADJACENCY) for line in comments):
        return f"this is an adjacency list, not a list of edges: {SAVE}"
    if comma := COMMA.fullmatch(edge):
        whole, point = (comma[1].replace(b",", mark).decode() for mark in (b"", b"."))
        if comma[2] or comma[1].count(b",") > 1:
            return f"the weight has commas between its digits: write {whole}"
        is_either = re.fullmatch(r"[-+]?[1-9]\d{0,2}\.\d{3}", point) is not None
        return f"the weight has a decimal comma: write {point}{f', or {whole} if it means that' * is_either}"
    if separator == b"," and NAMES_WITH_COMMAS.fullmatch(edge):
        return "commas separate fields, and these nodes seem to have commas in them: separate fields by tabs"
    cells = [plain for _, plain in cells_in(edge, separator)] if separator != b" " else []
    spaced = next(filter(SPACED_NUMBERS.fullmatch, cells[:2]), None)
    if spaced is None and len(cells) == 2 and SPACED_WEIGHT.fullmatch(cells[1]):
        spaced = cells[1]
    if spaced is not None:
        one, separators = b"_".join(spaced.split()).decode(), SEPARATORS[separator]
        return f"{separators} separate fields, so {one} would be one name: separate all by {separators}, or write {one}"
    return None


def fields_of(line: bytes, separator: bytes) -> list[bytes]:
    """Return the fields of a line, as `split_edges` finds them."""
    if separator == b" ":
        return line.split()
    return [b"_".join((quoted.replace(b'""', b'"') or plain).split()) for quoted, plain in cells_in(line, separator)]


def cells_in(line: bytes, separator: bytes) -> list[tuple[bytes, bytes]]:
    """Return what each field of a line has in quotes, or else all of the field."""
    return re.findall(rb'(?:^|%b)(?: *"((?:[^"]|"")*)"[ \r]*(?=%b|$)|([^%b]*))' % ((separator,) * 3), line)


def header_in(fields: list[bytes], is_table: bool) -> tuple[str, ...]:
    """Return the names of columns that the first line of a file has; none if it is an edge.

    is_table: whether any line without a number as its third field has names.
    """
    names = tuple(field.decode(errors="replace").lower() for field in fields)
    plain = [name.strip('"') for name in names]
    has_names = {*COLUMNS[:2]} <= {*plain} or {*plain[:2]} in HEADERS
    return names if has_names or (is_table and len(names) > 2 and not is_number(fields[2])) else ()


def no_edge(lines: list[bytes], separator: bytes) -> str | None:
    """Return what the first line seems to be if it seems to be no edge, by the other lines."""
    edges = [line for line in lines if line.strip() and not line.startswith(COMMENTS)]
    first, *others = (fields_of(edge, separator) for edge in edges)
    are_weighted = [len(fields) == 3 and is_number(fields[2]) for fields in others]
    if [field.isdigit() for field in first] == [True, True] and others and all(are_weighted):
        return LIKE_COUNTS
    are_numbers = [field.isdigit() for fields in others for field in fields[:2]]
    return LIKE_HEADER if all(are_numbers) and others and not any(field.isdigit() for field in first[:2]) else None


def is_number(field: bytes) -> bool:
    """Return whether a field is a number."""
    try:
        float(field.replace(b"_", b"?"))  # which Python would skip
    except ValueError:
        return False
    return True


def problem(line: bytes, separator: bytes) -> str:
    """Return what is wrong with a line that is no edge."""
    fields = fields_of(line, separator)
    if header_in(fields, False):
        return HEADER
    if line.count(b";") > line.count(separator) and (separator == b"," or not 2 <= len(fields) <= 3):
        return "the fields seem to be separated by semicolons: replace these by tabs, and decimal commas by points"
    if separator != b" " and any(plain.lstrip().startswith(b'"') for _, plain in cells_in(line, separator)):
        return "a field begins with a quote that does not end it: put the field in quotes, and double those in it"
    if len(fields) > 2 and fields[2].startswith(b"{"):
        return f"attributes of NetworkX in place of a weight: {SAVE}"
    if 2 <= len(fields) <= 3 and not all(fields):
        return f"the {COLUMNS[fields.index(b'')]} is empty or null: fill it in, or delete this edge"
    if not 2 <= len(fields) <= 3:
        return f"expected two nodes and perhaps a weight, separated by {SEPARATORS[separator]}, got {line[:80]!r}"
    if max(map(len, fields[:2])) > MAX_TOKEN_BYTES:
        return f"the name of a node has more than {MAX_TOKEN_BYTES:,} bytes: shorten it"
    if not is_number(fields[2]):
        return f"expected a number as the weight, got {fields[2][:80]!r}"
    return f"the weight is {float(fields[2]):g}: {BAD_WEIGHT}"


def names_in(table: word_table.WordTable, corpus: Corpus) -> list[str]:
    """Return the names of nodes. Raise DataError, with the file and the line, for one that is not UTF-8."""
    for number in table.not_utf8():
        (name,) = table.words(np.array([number]))
        for file in (file for file in corpus.files if file.size is not None):  # pipes are read only once
            first, separator, _, blocks = edges_in(corpus, file)
            for line, text in enumerate(b"".join(blocks).split(b"\n"), first):
                if name in fields_of(text, separator):
                    raise DataError(f"{file.name}:{line}: the node {name[:80]!r} is not UTF-8: convert the file")
        raise DataError(f"{corpus.name}: the node {name[:80]!r} is not UTF-8: convert the file")
    return [name.decode() for name in table.words(np.arange(table.types))]
