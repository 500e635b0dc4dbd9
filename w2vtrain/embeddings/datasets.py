"""Read the questions and word pairs of evaluation sets, within size limits.

analogies.py and similarity.py score them.
"""

import csv
import logging
import re
from collections.abc import Iterator
from itertools import chain, dropwhile, islice
from pathlib import Path

from w2vtrain.errors import DataError, UsageError, spelled
from w2vtrain.parsers import file_number
from w2vtrain.system.reading import read_lines

logger = logging.getLogger(__name__)
# Maximum size in bytes of the text of an evaluation set and of each of its lines. The largest known set has 4 MB.
MAX_SET_BYTES, MAX_LINE_BYTES = 64 << 20, 64 << 10
SCORES = ("score", "simlex999", "humanmean", "mean", "average", "avgscore", "rating", "similarity", "relatedness")
"""Names of columns of scores, as published, in lower case and with letters and digits only."""
JUDGMENT = re.compile(r"(human|gold|expert|groundtruth|target|label)(?!.*(sd|std|stdev|var)$)")
"""How other names of human scores begin, beside which a `similarity` may be that of a model."""
WORD_COLUMNS = (("word1", "w1", "term1"), ("word2", "w2", "term2"))
"""Names of the columns of both words."""
CODE_LETTERS = 4
"""The longest code of a relation or a part of speech."""
FEW_ROWS = 5
"""Fewer rows do not show whether the cells of a column are repeated."""
LAYOUT_LINES = 1_000
"""Lines that show which columns have the words."""
QUOTED = re.compile(r'^"(.*)"$')
DECIMAL_COMMA = re.compile(r"[-+]?\d*,\d+")
UNCLEAR = re.compile(r"[^,;\t]+,[^,;\t]+, ?[-+]?\d+,\d+(,|$)")
"""A line whose score is an integer, and another number follows, unless the comma between them is a decimal comma."""


def text_lines(path: str | Path, encoding: str = "utf-8", blank: bool = False) -> Iterator[tuple[int, str]]:
    """Yield (line number, stripped text) of each line, if `blank` of blank ones, too. The file may be compressed.

    If tabs separate cells, those at the beginning stay, because the first cell may be empty.

    Lines are counted from 1. Raise InputMissing if the file cannot be opened, and DataError, naming the line, if a
    line is not in the encoding, if it has more than MAX_LINE_BYTES, or if the text has more than MAX_SET_BYTES.
    """
    for number, line in read_lines(path, MAX_LINE_BYTES, MAX_SET_BYTES):
        try:
            whole = line.decode(encoding)
            text = whole.strip()
            text = whole.rstrip().lstrip(" ") if "\t" in text else text
        except UnicodeDecodeError as error:
            name = error.encoding.upper()
            raise DataError(
                f"{path}:{number}: not {name} at byte {error.start} of the line: save the file as {name}"
            ) from error
        if "\r" in text:
            raise DataError(f"{path}:{number}: a carriage return inside the line: convert it with tr '\\r' '\\n'")
        if text or blank:
            yield number, text


def rows_of(path: str | Path) -> Iterator[tuple[int, str]]:
    """Yield what `text_lines` does, without comments: lines at the beginning that start with "# " or "//"."""
    return dropwhile(lambda line: line[1].split()[0] == "#" or line[1].startswith("//"), text_lines(path))


def fields_of(line: str) -> list[str]:
    """Return the fields of a line, which are separated by tabs or, without any, by white space.

    They are unquoted if the first two are quoted, as R writes them.
    """
    line = line.strip()
    fields = [field.strip() for field in line.split("\t")] if "\t" in line else line.split()
    return list(map(_unquoted, fields)) if all(map(QUOTED.match, fields[:2])) else fields


def read_questions(path: str | Path, strict: bool = True) -> Iterator[tuple[str, list[str] | None]]:
    """Yield (name, None) for the first line of a section, then (name, four words) for each of its questions.

    The lines are those of `rows_of`. Raise the errors of `text_lines`, and DataError for a question before the first
    section and, if `strict`, for one of another number of words; otherwise, such a line is logged and skipped.
    """
    name = None
    for number, line in rows_of(path):
        words = line.split()
        if words[0].startswith(":"):
            name = line.strip().lstrip(": ").strip()
            yield name, None
            continue
        if name is None and len(words) == 2:
            raise DataError(
                f"{path}:{number}: a pair of words, as in BATS: combine each two pairs of a file into a question of 4"
                " words, with one answer, under a line ': NAME'"
            )
        if strict and len(words) != 4:
            raise DataError(f"{path}:{number}: expected a question of 4 words, got {len(words)}")
        if name is None:
            raise DataError(f"{path}:{number}: a question before the first section; a section begins with ': NAME'")
        if len(words) == 4:
            yield name, words
        else:
            logger.info("%s:%d: skipped, because it does not have 4 words", path, number)


def read_pairs(path: str | Path, columns: str | None = None) -> Iterator[tuple[str, str, float]]:
    """Yield the two words and the score of each line, in the layouts in which evaluation sets are published.

    The lines are those of `rows_of`, of which the first may be a header; one without a known name is logged. The words
    are in the columns that a header names as in WORD_COLUMNS, otherwise in the first two, unless `_have_words` says
    that these may be codes, or others words; the score is in the one whose name is among SCORES, otherwise in the only
    one after the words that has a number, or, without a header, in the first. Two columns of numbers whose names are
    among SCORES, or those of a JUDGMENT, are not clear.

    columns: other columns, "WORD,WORD,SCORE", by their names in the header or by their numbers from 1; with numbers,
    lines at the beginning that start with "#" and have no number are comments, too. Raise DataError, naming the line,
    for any other line, and UsageError for columns that do not exist or are not clear.
    """
    rows = rows_of(path)
    if columns and columns.replace(",", "").replace(" ", "").isdecimal():  # as for WordSim353 with relations
        rows = dropwhile(lambda row: row[1].startswith("#") and not any(map(_is_number, _cells(row[1]))), rows)
    lines = ((number, line, _cells(line)) for number, line in rows)
    start = list(islice(lines, LAYOUT_LINES))
    if not start:
        return
    first = start[0][2]
    places, has_header = _layout([cells for _, _, cells in start], columns, path)
    for number, line, cells in chain(start[has_header:], lines):
        left, right, score = (cells[place] if place < len(cells) else "" for place in places)
        if DECIMAL_COMMA.fullmatch(score):
            problem = f"the score {score} has a decimal comma: write {score.replace(',', '.')}"
        elif not columns and (len(cells) > len(first) if has_header else UNCLEAR.match(line)):
            problem = f"a decimal comma, or a cell too many, in {line[:60]!r}: write a point, or add {columns_option()}"
        elif left and right and (rating := file_number(score)) is not None:
            yield left, right, rating
            continue
        else:
            problem = f"expected two words and a score, got {line[:60]!r}; {columns_option()} names the columns"
        raise DataError(f"{path}:{number}: {problem}")


def columns_option() -> str:
    """Return the name of the option for the columns, and the one command that has it, for commands that do not."""
    name = spelled("columns")
    return f"{name} of `eval similarity`" if name.startswith("--") else name


def _cells(line: str) -> list[str]:
    """Return the cells of a line, which may be quoted.

    Tabs separate them or, without any, semicolons or commas if there are two or more, otherwise white space, as if all
    commas are decimal commas. Tabs are never quoted: a cell may begin with a single quotation mark, as contexts of
    words do.
    """
    fields = line.split()
    are_decimal = len(fields) > 2 and all(map(DECIMAL_COMMA.fullmatch, (field for field in fields if "," in field)))
    marks = ";" if are_decimal else ";,"
    delimiter = "\t" if "\t" in line else next((mark for mark in marks if line.count(mark) > 1), None)
    if '"' in line and delimiter != "\t":
        quoted = csv.reader([line], delimiter=delimiter or " ", skipinitialspace=True)
        return [cell.strip() for cell in next(quoted)]
    return list(map(_unquoted, line.split(delimiter)))


def _unquoted(cell: str) -> str:
    return QUOTED.sub(lambda quoted: quoted[1].replace('""', '"').strip(), cell.strip())


def _layout(rows: list[list[str]], columns: str | None, path: str | Path) -> tuple[list[int], bool]:
    """Return the places of two words and a score, by the cells of the first lines, and whether one is a header."""
    first, second = rows[0], rows[:2][-1]
    names = [re.sub(r"[\W_]", "", cell).lower() for cell in first]
    above_numbers = (cell for cell, below in zip(first, second, strict=False) if _is_number(below))
    has_score = bool(set(names) & {*SCORES}) or not all(map(_is_number, above_numbers))
    is_header = has_score and all(set(names) & {*known} for known in WORD_COLUMNS)
    is_data = not is_header and any(map(_is_number, first[2:]))
    names = [] if is_data else names
    if columns:
        chosen = [column.strip() for column in columns.split(",")]
        if len(chosen) != 3 or not all(int(column) if column.isdecimal() else column in first for column in chosen):
            raise UsageError(
                f"{path}: {spelled('columns', columns)}: expected two words and a score, by number or by the names of"
                f" the header, {', '.join(first)[:200]}"
            )
        places = [int(column) - 1 if column.isdecimal() else first.index(column) for column in chosen]
    else:
        places = [
            next((names.index(name) for name in known if name in names), place)
            for place, known in enumerate(WORD_COLUMNS)
        ]
        after = max(places) + 1
        named = [names.index(name) for name in SCORES if name in names]
        numbers = [place for place, cell in enumerate(second) if place >= after and _is_number(cell)]
        places.append((named + numbers + [after])[0])
        are_words_clear = is_header or _have_words(rows[1:] or rows, places)
        named_numbers = [names[place] for place in numbers if place < len(names)]
        rivals = [name for name in named_numbers if name in SCORES or JUDGMENT.match(name)]
        if not are_words_clear or len(rivals) > 1 or (not (is_data or named) and len(numbers) > 1):
            raise UsageError(
                f"{path}: it is not clear which columns have the words and the score: name them as"
                f" WORD,WORD,SCORE in {columns_option()}; the columns are {', '.join(first)[:200]}"
            )
    name = first[places[2]] if places[2] < len(first) else ""
    has_header = is_header or (name[:1].isalpha() and not _is_number(name))
    if has_header and not columns and not set(names) & {*SCORES, *chain(*WORD_COLUMNS)}:
        logger.warning("%s: the line %r is taken for the names of columns: it has no score", path, " ".join(first)[:60])
    return places, has_header


def _have_words(rows: list[list[str]], places: list[int]) -> bool:
    """Return whether, of the columns before the score, only the first two of three places can have words.

    Others may have numbers, or codes and categories, such as `N`, `noun` or `hypernym`: most of these are repeated.
    """
    columns = [
        {row[place] for row in rows if place < len(row) and not _is_number(row[place])}
        for place in range(max(places) + 1)
    ]
    others = [cells for place, cells in enumerate(columns) if place not in places and cells]

    def longest(cells: set[str]) -> int:
        return max(map(len, cells), default=0)

    def are_codes(cells: set[str]) -> bool:
        longer = (other for other in others if longest(other) > longest(cells))
        return longest(cells) <= CODE_LETTERS and any(len(cells) <= len(other) for other in longer)

    def are_categories(cells: set[str]) -> bool:
        are_few = len(rows) < FEW_ROWS and longest(cells) <= CODE_LETTERS and all(map(str.isascii, cells))
        return are_few or 2 * len(cells) <= len(rows)

    are_words = len(set(places)) == 3 and not any(are_codes(columns[place]) for place in places[:2])
    return are_words and all(map(are_categories, others))


def _is_number(cell: str) -> bool:
    """Return whether a cell has a number, also one that will be refused."""
    try:
        float(cell.replace(",", "."))
    except ValueError:
        return False
    return True


def read_translations(path: str | Path) -> list[tuple[str, str]]:
    """Return the two words of each line, separated by white space, or the first two cells if there are tabs.

    The lines are those of `rows_of`. Raise the errors of `text_lines`, and DataError for any other line.
    """
    pairs = []
    for number, line in rows_of(path):
        words = fields_of(line)
        if len(words) < 2 or not all(words[:2]) or (len(words) > 2 and "\t" not in line):
            raise DataError(
                f"{path}:{number}: expected two words, got {line[:60]!r}; a tab separates words that have spaces"
            )
        pairs.append((words[0], words[1]))
    return pairs


def read_plain_pairs(path: str | Path, delimiter: str | None, encoding: str) -> Iterator[tuple[str, str, float]]:
    """Yield the two words and the rating of each line of two words and a number, as gensim does.

    Other lines are logged and skipped, except for those that begin with "#".
    """
    for number, line in text_lines(path, encoding):
        fields = line.split(delimiter)
        rating = file_number(fields[2].strip()) if len(fields) == 3 else None
        if rating is not None and not line.startswith("#"):
            yield fields[0], fields[1], rating
        elif not line.startswith("#"):
            logger.info("%s:%d: skipped, because it is not two words and a number", path, number)
