"""The commands `plot curves`, `plot map` and `plot counts`, and `report`, which has all pictures on one page."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from w2vtrain.commands.click_classes import Catalogue
from w2vtrain.commands.input_files import (
    check_different,
    readable,
    refuse_stdin_twice,
    tag_hint,
    vectors_in,
    with_vectors,
)
from w2vtrain.commands.options import (
    CODES,
    COUNT,
    all_of,
    command,
    given,
    quiet_option,
    scored_options,
    setting_options,
    warn,
)
from w2vtrain.commands.shell import imports
from w2vtrain.config import resolve
from w2vtrain.errors import DataError, UsageError
from w2vtrain.system.files import STDOUT, atomic_write
from w2vtrain.system.locks import check_output
from w2vtrain.system.terminal import echo, one_line

if TYPE_CHECKING:
    from w2vtrain.formats.vectors import Vectors
    from w2vtrain.leaves.pictures.word_map import Chosen

picture_options: Any = all_of(
    click.option(
        "-o", "--output", required=True, metavar="FILE",
        help="Picture to write: .png, .svg, .pdf or, for a map, .html, a page that loads nothing. Needs"
        " w2vtrain[plot].",
    ),
    click.option("--title", metavar="TEXT", help="Title of the picture.  [default: the name of the input]"),
    click.option("--force", is_flag=True, help="Overwrite the output file."),
    quiet_option,
)  # fmt: skip
"""Options of all pictures."""
MAX_NAMED_WORDS = 5
"""Unknown words that a warning names."""
MAX_WORD_BYTES = 65_536
"""Longest word that is asked for, in bytes."""


@click.group(name="plot", cls=Catalogue, epilog=CODES)
def plot() -> None:
    """Draw the curves of runs, a map of words, or the counts of a vocabulary."""


@plot.command(epilog=CODES, short_help="Draw loss, learning rate, speed and perplexity of runs.")
@click.argument("logs", nargs=-1, required=True, metavar="LOG...")
@picture_options
@click.option(
    "--x", type=click.Choice(["epochs", "words", "seconds"]), default="epochs", show_default=True,
    help="Horizontal axis: epochs, words of the text, or seconds of training.",
)  # fmt: skip
def curves(logs: tuple[str, ...], output: str, title: str | None, force: bool, quiet: bool, x: str) -> None:
    """Draw the loss, the learning rate, the words per second and the held-out perplexity of runs.

    LOG is a log that `fit --log-json` wrote or is writing, the record FILE.json beside the vectors, a model, or a run
    folder. Several runs are drawn in the same pictures.
    """
    with imports():
        from w2vtrain.leaves.pictures.curves import curves_figure
        from w2vtrain.leaves.pictures.run_logs import read_run
    refuse_stdin_twice(*logs)
    _check(output, logs, force)
    runs = []
    for log in logs:
        with readable(log) as path:
            runs.append(read_run(path, _shown(log)))
    heading = title or ("Training" if len(runs) > 1 else f"Training: {runs[0].name}")
    _write(output, force, curves_figure(runs, heading, x))
    _say(quiet, output)


@plot.command(name="map", epilog=CODES, short_help="Draw words in two dimensions.")
@click.argument("vectors")
@click.argument("words", nargs=-1)
@picture_options
@click.option(
    "-n", "--count", type=COUNT, default=300, show_default=True, metavar="N",
    help="Without WORDS, --group and --words, N words of VECTORS after the first 200: frequent ones, if it has"
    " that order.",
)  # fmt: skip
@click.option(
    "--group", "groups", multiple=True, metavar="NAME=WORD,...",
    help="Words to draw in one color, with their name in a legend. Repeatable.",
)  # fmt: skip
@click.option(
    "--words", "word_file", metavar="FILE",
    help="File of the words to draw, one per line; - is stdin. A line `: NAME` begins a group.",
)  # fmt: skip
@click.option(
    "--method", type=click.Choice(["pca", "umap", "tsne"]), default="pca", show_default=True,
    help="Principal components, UMAP (needs the package umap-learn) or t-SNE (needs openTSNE).",
)  # fmt: skip
@setting_options("seed")
def map_(
    vectors: str, words: tuple[str, ...], output: str, title: str | None, force: bool, quiet: bool, count: int,
    groups: tuple[str, ...], word_file: str | None, method: str, **flags: Any,
) -> None:  # fmt: skip
    """Draw frequent words of VECTORS, or WORDS, in two dimensions: similar words are near each other.

    Words are colored by group, or by k-means cluster; a cluster is named after the words at its center. A page (.html)
    also shows the nearest neighbors of each word, and can be searched and zoomed. Labels never overlap; a word without
    room for its label is drawn as a point. With a model with subwords, such as fastText's, WORDS need not be in the
    vocabulary.
    """
    if sum(map(bool, (words, groups, word_file))) > 1:
        raise click.UsageError("give the words as arguments, with --group or with --words, not in two ways")
    refuse_stdin_twice(vectors, word_file or "")
    settings, _ = resolve(given(flags, ("seed",)))
    _check(output, [vectors, word_file or ""], force, ".html")
    with imports():
        from w2vtrain.leaves.pictures.page import page
        from w2vtrain.leaves.pictures.projection import check_method
        from w2vtrain.leaves.pictures.word_map import SCRIPT, make_map, map_facts, map_figure
    check_method(method)
    asked = _read_words(word_file) if word_file else _in_groups(groups) if groups else {_text(w): "" for w in words}
    is_page = Path(output).suffix.lower() == ".html"
    loaded = vectors_in(vectors)
    chosen = _chosen(loaded, asked, vectors) if asked else None
    word_map = make_map(
        loaded.words, loaded.matrix, chosen, count, method, settings.seed, **({} if is_page else {"neighbors": 0})
    )
    heading = title or f"Words of {_shown(vectors)}"
    if is_page:
        text = page("map.html", SCRIPT, title=heading, map=map_facts(word_map))
        with atomic_write(output, force) as file:
            file.write(text.encode())
    else:
        _write(output, force, map_figure(word_map, heading))
    _say(quiet, output, word_map.caption)


@plot.command(epilog=CODES, short_help="Draw counts of words by rank, with a Zipf-Mandelbrot law.")
@click.argument("vocab")
@picture_options
@setting_options("min_count", "sample")
def counts(vocab: str, output: str, title: str | None, force: bool, quiet: bool, **flags: Any) -> None:
    """Draw the counts of VOCAB by rank, the law of Zipf and Mandelbrot that fits them, and what --min-count and
    --sample leave.

    VOCAB is a file of words and counts, as `vocab` or `fit --save-vocab` writes it, or a model. To see what --min-count
    removes, count all words: `w2vtrain vocab CORPUS --min-count 1 -o FILE`.
    """
    settings, _ = resolve(given(flags, ("min_count", "sample")))
    _check(output, [vocab], force)
    with imports():
        from w2vtrain.leaves.pictures.counts import captions, counts_figure, read_falling_counts
    with readable(vocab) as path:
        falling = read_falling_counts(path)
    heading = title or f"Counts of {_shown(vocab)}"
    limits = settings.min_count, settings.sample
    sentences = captions(falling, *limits)
    _write(output, force, counts_figure(falling, *limits, heading, sentences))
    _say(quiet, output, *sentences)


def _shown(path: str) -> str:
    return "standard input" if path == STDOUT else one_line(path)


def _check(output: str, inputs: Sequence[str], force: bool, *more: str) -> None:
    """Refuse an output that cannot be written. more: suffixes beside those of figures."""
    from w2vtrain.leaves.pictures.figures import SUFFIXES, check_picture_file

    check_picture_file(output, force, (*SUFFIXES, *more))
    check_different([output], [path for path in inputs if path and path != STDOUT])


def _write(output: str, force: bool, figure: Any) -> None:
    from w2vtrain.leaves.pictures.figures import write_figure

    if missing := write_figure(figure, output, force):
        some = " ".join(missing[:MAX_NAMED_WORDS]) + " ..." * (len(missing) > MAX_NAMED_WORDS)
        warn(
            f"{output}: no installed font has the characters {some}, which are drawn as boxes: install a font of their"
            " script, or write .svg, which takes the reader's fonts"
        )


def _say(quiet: bool, output: str, *notes: str) -> None:
    """Print what the picture shows, and its name."""
    for line in () if quiet else (*notes, f"output      {output}"):
        echo(one_line(line), err=True)


def _text(word: str) -> str:
    return os.fsencode(word).decode(errors="surrogateescape")


def _in_groups(groups: Sequence[str]) -> dict[str, str]:
    """Return the group of each word of --group options; a word that is in two is in the first."""
    asked: dict[str, str] = {}
    for text in groups:
        name, words = (part.strip() for part in text.partition("=")[::2])
        listed = [_text(word) for word in map(str.strip, words.split(",")) if word]
        if not (name and listed):
            raise click.UsageError(f"--group {text!r}: expected NAME=WORD,WORD and so on")
        for word in listed:
            asked.setdefault(word, name)
    return asked


def _read_words(path: str) -> dict[str, str]:
    """Return the distinct words of a file, one per line, with the groups that lines `: NAME` begin, "" before any."""
    from w2vtrain.system.reading import read_lines

    asked, group = dict[str, str](), ""
    with readable(path) as file:
        lines = [line for _, line in read_lines(file, MAX_WORD_BYTES)]
    for line in lines:
        word = line.strip(b" \t\r\n").decode(errors="surrogateescape")
        if word.startswith(": "):
            group = word[2:].strip()
        elif word:
            asked.setdefault(word, group)
    if not asked:
        raise DataError(f"{_shown(path)}: has no words")
    return asked


def _chosen(loaded: Vectors, asked: Mapping[str, str], vectors: str) -> Chosen:
    """Return the words that have vectors, with their groups; warn about the others. Raise DataError if there is none.

    asked: the group of each word; without any, the words have none.
    """
    import numpy as np

    from w2vtrain.embeddings.keyed_vectors import KeyedVectors
    from w2vtrain.leaves.pictures.word_map import Chosen

    keyed = KeyedVectors.of(loaded.words, loaded.matrix, ngrams=loaded.ngrams)
    rows, missing = {}, []
    for word in asked:
        try:
            rows[word] = keyed.get_vector(word)
        except (DataError, UsageError):
            missing.append(word)
    some = ", ".join(missing[:MAX_NAMED_WORDS]) + ", ..." * (len(missing) > MAX_NAMED_WORDS)
    some += tag_hint(vectors, missing)
    if not rows:
        if any("\t" in word for word in missing):
            some += "; --words takes one word per line, and a line ': NAME' before the words of a group"
        raise DataError(f"{vectors}: has none of the {len(missing):,} words: {some}")
    if missing:
        warn(f"{vectors}: {len(missing):,} of {len(rows) + len(missing):,} words have no vector: {some}")
    groups = [asked[word] or "other words" for word in rows] if any(asked.values()) else []
    return Chosen(list(rows), np.array(list(rows.values())), groups)


@command(epilog=CODES)
@click.argument("vectors")
@click.option("-o", "--output", required=True, metavar="FILE", help="File for the page, HTML; - for stdout.")
@click.option(
    "--words",
    metavar="WORDS",
    help="Words whose neighbors to show, separated by commas or spaces.  [default: some frequent words]",
)
@click.option(
    "--map-words", type=COUNT, default=300, show_default=True, metavar="N", help="Number of words on the map."
)
@scored_options
@click.option(
    "--log-json",
    metavar="FILE",
    help="The log that `fit --log-json` wrote, for finer curves.",
)
@click.option("--force", is_flag=True, help="Overwrite the output file.")
@quiet_option
def report(
    vectors: str, output: str, words: str | None, map_words: int, questions: str | None, pairs: tuple[str, ...],
    log_json: str | None, force: bool, quiet: bool,
) -> None:  # fmt: skip
    """Write a report on VECTORS, in any format, or a model.

    For vectors that `fit` wrote, it has the settings and their origins, machine, time and curves from the record beside
    them. The page is one file: it loads nothing, works offline, and can be printed. It needs w2vtrain[plot].
    """
    with imports():
        from w2vtrain.leaves.pictures.figures import SUFFIXES, check_packages
        from w2vtrain.leaves.pictures.report import report as page_of
        from w2vtrain.leaves.pictures.report import subject_of
    if vectors == STDOUT:
        raise UsageError("-: a report needs a file, beside which it looks for the record")
    if Path(output).suffix.lower() in SUFFIXES:
        raise UsageError(f"{output}: a report is a web page, which a browser can print: use the suffix .html")
    check_different([output], [vectors, f"{vectors}.json", *filter(None, [questions, *pairs, log_json])])
    check_packages(output)
    check_output(output, force)
    asked = (words or "").replace(",", " ").split()
    with with_vectors(vectors) as path:
        text = page_of(subject_of(path, log_json), asked, [questions] if questions else [], pairs, map_words)
    with atomic_write(output, force) as file:
        file.write(text.encode())
    _say(quiet, output)
