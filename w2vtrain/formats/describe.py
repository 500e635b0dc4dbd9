"""Descriptions of files for people: what a file of vectors, a model or a vocabulary is, its size, and its origin.

This module reads headers and at most part of the rest, so it validates less than the readers do.
"""

from pathlib import Path
from typing import Any

from w2vtrain.errors import DataError
from w2vtrain.formats import fasttext_file
from w2vtrain.formats.model_file import KIND, MODEL, MODEL_TENSORS, settings_and_record
from w2vtrain.formats.safetensors import FORMAT, SafetensorsFile, open_safetensors
from w2vtrain.formats.sniff import sniff
from w2vtrain.formats.vector_formats import formats
from w2vtrain.formats.vector_formats.contract import Sniff
from w2vtrain.formats.vector_formats.rows import REPAIR, check_promise
from w2vtrain.system.reading import open_input

COUNTED_BYTES = 1 << 26
"""Number of bytes in which lines are counted; for a larger file, the number of lines is estimated from these."""


def describe(path: str | Path) -> dict[str, Any]:
    """Return a description of a file. Only headers and part of the data are read, so this is fast for large files, too.

    Keys: path, kind ("text vectors", "binary vectors", ..., "model", "vocabulary" or "unknown"), bytes (int), and if
    known: compression, words (V), words_exact (False if V is an estimate from the file's size), dim, header (bool),
    note; for a model also format, output_rows, arrays (name to shape), settings and record.

    Raise InputMissing if the file cannot be opened, and DataError if it is damaged, or too small for its header.
    """
    sniffed = sniff(path)
    description: dict[str, Any] = {"path": str(path), "kind": sniffed.kind, "bytes": sniffed.size}
    if sniffed.compression:
        description["compression"] = sniffed.compression
    if sniffed.kind in (MODEL.name, KIND):
        return description | _describe_model(path)
    if sniffed.kind == fasttext_file.NAME:
        return description | _describe_fasttext(path)
    if known := formats().get(sniffed.kind):
        description["kind"] += " vectors"
        description |= {"words": sniffed.rows, "dim": sniffed.dim, "words_exact": True}
        if known.compressible:  # a format of rows, after a first line or without one
            description["header"] = sniffed.rows is not None
            check_promise(path, sniffed)
        elif sniffed.dim is None:
            raise DataError(f"{path}: the {sniffed.kind} vectors are damaged: they do not have a row per word")
    if sniffed.kind != "unknown" and sniffed.rows is None:
        description["words"], description["words_exact"] = _count_lines(path, sniffed)
    if note := sniffed.note or _wrong_header(path, sniffed):
        description["note"] = note
    return description


def _describe_model(path: str | Path) -> dict[str, Any]:
    with open_safetensors(path) as box:
        if "w2vtrain" not in box.metadata:
            shapes = {name: list(box.shape(name)) for name in box.names}
            return {"kind": "unknown", "note": "a safetensors file from another program", "arrays": shapes}
        if box.metadata.get("kind") == KIND:
            return {"kind": KIND, **_sizes(box, "vectors"), "note": "written by KeyedVectors.save"}
        settings, record = settings_and_record(box)
        return {
            "format": FORMAT,
            **_sizes(box, "input"),
            "output_rows": box.shape("output")[0] if box.shape("output") else 0,
            "arrays": {name: list(box.shape(name)) for name in box.names if name not in MODEL_TENSORS},
            "settings": settings,
            "record": record,
        }


def _sizes(box: SafetensorsFile, name: str) -> dict[str, Any]:
    shape = box.shape(name)
    if len(shape) != 2:
        raise DataError(f"{box.path}: the tensor {name} has shape {list(shape)}, expected 2 dimensions")
    return {"words": shape[0], "words_exact": True, "dim": shape[1]}


def _describe_fasttext(path: str | Path) -> dict[str, Any]:
    model = fasttext_file.read_fasttext(path, values=False)
    return {
        "kind": "model of fastText",
        "words": len(model.words),
        "words_exact": True,
        "dim": model.arguments.dim,
        "settings": model.settings(),
        "record": {"fasttext": model.arguments._asdict()},
    }


def _wrong_header(path: str | Path, sniffed: Sniff) -> str:
    """Return a note if the first line of text promises more or fewer rows than the file has, as far as it is read."""
    if sniffed.kind != "text" or sniffed.rows is None:
        return ""
    lines, is_exact = _count_lines(path, sniffed)
    if not is_exact or lines - 1 == sniffed.rows:
        return ""
    return f"the header promises {sniffed.rows:,} vectors, the file has {lines - 1:,}; {REPAIR}"


def _count_lines(path: str | Path, sniffed: Sniff) -> tuple[int, bool]:
    """Return the number of lines and whether it is exact; for a large file, it is estimated from the file's start.

    Blank lines at the end do not count.
    """
    lines = blank = read = 0
    with open_input(path) as (file, compression):
        while read < COUNTED_BYTES and (block := file.read(1 << 20)):
            end = len(block.rstrip())
            if end:
                lines, blank = lines + blank + block.count(b"\n", 0, end), 0
            blank += block.count(b"\n", end)
            read += len(block)
        if not file.read(1):
            return lines + 1, True
        if compression:
            return lines, False  # a lower bound: the decompressed size is unknown
    return round(lines * sniffed.size / read), False
