"""The commands `stability` and `diff`: compare files of vectors with each other.

The measures are computed in embeddings/stability.py and embeddings/alignment.py.
"""

import click

from w2vtrain.commands.convert import files_read
from w2vtrain.commands.input_files import check_different, readable, refuse_stdin_twice, vectors_in
from w2vtrain.commands.options import CODES, COUNT, COUNT_OR_NONE, command, json_option, restrict_option
from w2vtrain.commands.records import remove_record
from w2vtrain.commands.shell import echo_json, imports
from w2vtrain.system.files import STDOUT_NAMES
from w2vtrain.system.terminal import echo, warning

SHOWN_NEIGHBORS = 5
"""Neighbors of each kind in a line of `diff`."""
neighbors_option = click.option(
    "-k", "--neighbors", "k", type=COUNT, default=10, show_default=True, metavar="N",
    help="Number of nearest neighbors of each word.",
)  # fmt: skip
topn_option = click.option(
    "-n", "--topn", type=COUNT, default=10, show_default=True, metavar="N", help="Number of words that are listed."
)


@command(epilog=CODES)
@click.argument("vectors", nargs=-1, required=True, metavar="VECTORS VECTORS...")
@neighbors_option
@click.option(
    "--words", type=COUNT_OR_NONE, default=10_000, show_default=True, metavar="N",
    help="Compare the neighbors of the N most frequent words that all files have; 0 compares all.",
)  # fmt: skip
@topn_option
@restrict_option(0)
@json_option
def stability(vectors: tuple[str, ...], k: int, words: int, topn: int, restrict_vocab: int, as_json: bool) -> None:
    """Print how many of the nearest neighbors of words are the same in two or more files of VECTORS, such as those of
    several seeds, and which words are the least and the most stable.
    """
    with imports():
        from w2vtrain.embeddings.stability import stability as measured
    if len(vectors) < 2:
        raise click.UsageError("expected two files of vectors or more")
    refuse_stdin_twice(*vectors)
    loaded = [vectors_in(file) for file in vectors]
    report = measured(loaded, k=k, words=words or None, restrict_vocab=restrict_vocab or None)
    if as_json:
        echo_json({"files": list(vectors)} | report.to_dict(topn))
        return
    low, high = report.interval
    echo(
        f"overlap {report.mean:.4f} of {k:,} neighbors (95% interval {low:.4f} to {high:.4f}, for other words), Jaccard"
        f" {report.jaccard.mean():.4f}; {len(report.words):,} words, {report.shared:,} shared, {len(vectors)} files"
    )
    if len(report.pairs) > 1:
        echo(f"pairs of files: overlap {min(report.pairs):.4f} to {max(report.pairs):.4f}")
    for name, ranked in zip(("least stable", "most stable"), report.ranked(topn), strict=True):
        echo(f"{name:<12}  " + " ".join(f"{word} {value:.2f}" for word, value in ranked))


@command(epilog=CODES)
@click.argument("files", nargs=2, metavar="FIRST SECOND")
@click.option(
    "--pairs", metavar="FILE",
    help="Compare these words, a word of FIRST and one of SECOND per line, separated by a tab or spaces, such as a"
    " dictionary of two languages. A word may be in several pairs.",
)  # fmt: skip
@click.option(
    "--min-count", type=COUNT, metavar="N",
    help="Compare only words that occur at least N times in both texts; this needs files with counts, such as models.",
)  # fmt: skip
@topn_option
@neighbors_option
@restrict_option(0)
@click.option("-o", "--output", metavar="FILE", help="Write all vectors of SECOND, after the same rotation, to FILE.")
@click.option("--force", is_flag=True, help="Overwrite the output file, and remove the record of its run.")
@json_option
def diff(
    files: tuple[str, str], pairs: str | None, min_count: int | None, topn: int, k: int, restrict_vocab: int,
    output: str | None, force: bool, as_json: bool,
) -> None:  # fmt: skip
    """Rotate the vectors of the file SECOND onto those of FIRST, and print the words that moved most. The rotation is
    that of orthogonal Procrustes on the words that both have, or on the pairs of --pairs, scaled to length 1 and not
    centered.

    Each line has a word or a pair, a tab, the cosine of the two vectors after the rotation, a tab, up to 5 words that
    are neighbors only in FIRST, each after a minus sign, and up to 5 that are neighbors only in SECOND, each after a
    plus sign. --json prints all of them.
    """
    with imports():
        from w2vtrain.embeddings.alignment import difference
        from w2vtrain.embeddings.datasets import read_translations
        from w2vtrain.formats.vectors import Output, check_words, format_of
    first, second = files
    refuse_stdin_twice(first, second, *filter(None, [pairs]))
    written = Output(output, format_of(output)) if output else None
    if written:
        if output in STDOUT_NAMES:
            raise click.UsageError(f"-o {output}: the words are printed to stdout: name a file for the vectors")
        written.check()
        check_different(written.names, [*files_read(first), *files_read(second), *filter(None, [pairs])])
        written.check_writable(lambda _: force)
    given = None
    if pairs:
        with readable(pairs) as path:
            given = list(dict.fromkeys(read_translations(path)))
    one, two, limit = vectors_in(first), vectors_in(second), restrict_vocab or None
    if written:
        check_words(two.words, second)
    changes = difference(one, two, count=topn, k=k, restrict_vocab=limit, min_count=min_count, pairs=given)
    if written:
        written.write(two.words, changes.rotated(two.matrix), lambda _: force, counts=two.counts)
        remove_record(written.path, force)
    if as_json:
        echo_json({"files": [first, second]} | changes.to_dict())
        return
    for word in changes.moved:
        left, came = word.left[:SHOWN_NEIGHBORS], word.came[:SHOWN_NEIGHBORS]
        changed = [f"-{other}" for other in left] + [f"+{other}" for other in came]
        name = word.word if given is None else f"{word.word} {word.second}"
        echo(f"{name}\t{word.cosine:.3f}\t{' '.join(changed)}")
    what = "shared words" if given is None else f"of {len(given):,} pairs"
    alone = "only in" if given is None else "not paired in"
    echo(
        f"mean cosine {changes.mean:.4f} after rotation; {len(changes.words):,} {what},"
        f" {changes.only_first:,} {alone} {first}, {changes.only_second:,} {alone} {second}",
        err=True,
    )  # fmt: skip
    distinct = min(len(set(changes.words)), len(set(changes.others)))
    if distinct < (size := one.matrix.shape[1]):
        warning(f"{distinct:,} words do not determine a rotation of {size:,} dimensions")
