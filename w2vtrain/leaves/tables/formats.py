"""The formats of tables: Parquet, Arrow, JSON lines, CSV and TSV; contract.py says what each has.

A format says what type a column has, and yields its rows as text; columns.py has what those of Arrow need.
"""

from pathlib import Path

from w2vtrain.errors import W2VError
from w2vtrain.leaves.tables.arrow import ARROW, PARQUET
from w2vtrain.leaves.tables.contract import Format
from w2vtrain.leaves.tables.delimited import CSV, TSV
from w2vtrain.leaves.tables.json_lines import JSON_LINES
from w2vtrain.system.compression import decompressed, unpacked
from w2vtrain.system.foreign import refuse_foreign

FORMATS = (PARQUET, ARROW, JSON_LINES, CSV, TSV)


def by_suffix(path: str) -> Format | None:
    """Return the format of a file by its suffix, None for any other."""
    suffix = unpacked(path)[0].suffix.lower()
    return next((known for known in FORMATS if suffix in known.suffixes), None)


def format_of(path: str) -> Format | None:
    """Return the format of a file by its suffix or, failing that, by its first bytes; None for any other file.

    CSV and TSV begin like any text. Raise DataError for what is neither, such as an archive.
    """
    if known := by_suffix(path):
        return known
    try:
        with Path(path).open("rb") as file:
            pieces = decompressed(iter(lambda: file.read(1 << 12), b""), path)
            head = next(pieces, b"")
    except (OSError, W2VError):
        return None
    refuse_foreign(head, path)
    if head[:4] == b"PAR1":
        return PARQUET
    if head[:6] == b"ARROW1" or head[:4] == b"\xff\xff\xff\xff":
        return ARROW
    return JSON_LINES if head.lstrip()[:1] == b"{" else None
