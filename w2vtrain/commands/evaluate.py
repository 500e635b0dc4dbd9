"""The commands of `eval`: print how well vectors do on one evaluation set, or on all of them in one table.

The scores are computed in the modules of embeddings/ that are named after the evaluations.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click
from click.core import ParameterSource

from w2vtrain.commands.click_classes import Catalogue
from w2vtrain.commands.input_files import readable, refuse_stdin_twice, vectors_in
from w2vtrain.commands.options import (
    CODES,
    Within,
    all_of,
    case_option,
    json_option,
    method_option,
    restrict_option,
    scoring_options,
)
from w2vtrain.commands.shell import echo_json, imports
from w2vtrain.embeddings.bundled import Kind
from w2vtrain.embeddings.evaluation_rules import ANALOGY_WORDS
from w2vtrain.errors import BelowThreshold
from w2vtrain.parsers import Whole
from w2vtrain.system.terminal import echo

if TYPE_CHECKING:
    from w2vtrain.embeddings.evaluation_table import Row
    from w2vtrain.formats.vectors import Vectors

KINDS = get_args(Kind)
WITH_PROTOCOLS: dict[Kind, str] = {
    "analogies": "questions with an unknown word count as wrong",
    "similarity": "pairs with an unknown word count with the cosine 0",
}
"""Kinds of sets that may be bundled and follow protocols, and how these count what has an unknown word."""
SEED = Within(Whole(0, 2**63 - 1))
set_options = all_of(
    *(
        click.option(f"--{kind}", multiple=True, metavar="FILE", help=f"Also use this set of {kind}; repeatable.")
        for kind in KINDS
    )
)
"""Options of `eval all` that name more evaluation sets."""
unseen_option: Any = click.option(
    "--unseen", is_flag=True,
    help="Also use words that are not in the vocabulary or are beyond --restrict-vocab, in questions and as answers."
    " VECTORS must be a model with subwords, whose n-grams give vectors to such words.",
)  # fmt: skip


def protocol_option(*names: str) -> Any:
    """Return --protocol with these names of protocols."""
    return click.option(
        "--protocol", type=click.Choice(names),
        help="Follow the rules of a program, unless --restrict-vocab is given: gensim ignores words beyond the first"
        " 300,000"
        + ", word2vec those beyond 30,000 as word2vec.c's compute-accuracy does" * ("word2vec" in names)
        + "; full uses all words and counts every question and pair; one with an unknown word counts as wrong, or as"
        " cosine 0.",
    )  # fmt: skip


@click.group(name="eval", cls=Catalogue, epilog=CODES)
def evaluate() -> None:
    """Score vectors on analogies, word similarity, outliers or categories."""


@evaluate.command(name="all", epilog=CODES, short_help="Score vectors on all bundled sets, in one table.")
@click.argument("vectors")
@set_options
@click.option("--no-bundled", is_flag=True, help="Use only the sets that you name.")
@restrict_option(0, shown="30,000 for analogies, otherwise 0")
@protocol_option("gensim", "full")
@method_option
@case_option
@json_option
def everything(vectors: str, no_bundled: bool, protocol: str | None, **options: Any) -> None:
    """Score VECTORS on every evaluation set that comes with the package, and on the sets that you name, and print one
    table: the score of each set, its 95% interval, and how many of its questions, pairs or words were answered.
    """
    with imports():
        from w2vtrain.embeddings.bundled import EvaluationSet, bundled_sets
        from w2vtrain.embeddings.evaluation_rules import PLAIN, PROTOCOLS
        from w2vtrain.embeddings.evaluation_table import evaluate_all
    sets = [] if no_bundled else bundled_sets()
    for kind in KINDS:
        sets += [EvaluationSet(Path(file).stem, kind, Path(file)) for file in options.pop(kind)]
    if not sets:
        raise click.UsageError("--no-bundled leaves no evaluation set: name one, for example with --similarity FILE")
    loaded = vectors_in(vectors)
    rules, limit = PROTOCOLS[protocol] if protocol else PLAIN, options["restrict_vocab"] or None
    among: int | None = ANALOGY_WORDS
    if _is_given("restrict_vocab"):
        among = limit
    elif protocol:
        limit = among = rules.restrict_vocab
    rows = evaluate_all(
        loaded, sets, restrict_vocab=limit, analogy_words=among, case_insensitive=not options["case_sensitive"],
        method=options["method"], protocol=rules,
    )  # fmt: skip
    if options["as_json"]:
        facts = {"restrict_vocab": limit, "analogy_words": among, "method": options["method"], "protocol": protocol}
        echo_json({"task": "all", "file": vectors, **facts, "sets": [row._asdict() for row in rows]})
        return
    _print_table(rows)
    echo(f"analogies: {options['method']} among {_among(among)}; the others: {_among(limit)}")


@evaluate.command(epilog=CODES, short_help="Score vectors on analogy questions.")
@click.argument("vectors")
@click.argument("questions", default="questions-words")
@restrict_option(ANALOGY_WORDS)
@protocol_option("word2vec", "gensim", "full")
@method_option
@unseen_option
@scoring_options
def analogies(vectors: str, questions: str, **options: Any) -> None:
    """Answer the analogy questions in the file QUESTIONS with VECTORS, and print the accuracy by section. Without
    QUESTIONS, use Google's 19,544 questions, which come with the package.

    Each line of QUESTIONS has four words, `a b c d`; `: name` begins a section. An answer is correct if d is the word
    nearest to b - a + c or, with --method 3cosmul, the one with the largest cos(b) cos(c) / cos(a).
    """

    def lines(report: Any) -> Iterator[str]:
        for score in (*report.sections, report.semantic, report.syntactic, report.total):
            accuracy = "    -" if score.accuracy is None else f"{score.accuracy:5.1%}"
            counts = f"{score.correct:6,} correct of {score.answered:6,} answered, {score.asked:6,} asked"
            yield f"{score.name:<30} {accuracy}  {counts}"
        total = report.total.to_dict()
        low, high = total["interval"]
        yield (
            f"accuracy {total['accuracy']:.4f} (95% interval {low:.4f} to {high:.4f}, by {total['pairs']:,} word pairs)"
            f" of those answered, {total['accuracy_of_all']:.4f} of all; coverage {total['coverage']:.1%}"
        )

    _print_score("analogies", vectors, questions, lines, **options)


@evaluate.command(epilog=CODES, short_help="Score vectors on human similarity judgments.")
@click.argument("vectors")
@click.argument("pairs", default="wordsim353")
@click.option(
    "--columns", metavar="WORD,WORD,SCORE",
    help="Columns of the two words and the score, by their numbers from 1 or their names in the header.  [default: the"
    " first two, or those that a header calls word1 and word2; the one that it calls score, mean or the like, or the"
    " only one that has numbers, or without a header the first of these]",
)  # fmt: skip
@restrict_option(0)
@protocol_option("gensim", "full")
@unseen_option
@scoring_options
def similarity(vectors: str, pairs: str, **options: Any) -> None:
    """Correlate cosines of VECTORS with the human scores in the file PAIRS. The names wordsim353, the default, and
    simlex999 stand for the sets that come with the package.

    Each line of PAIRS has two words and a score, as evaluation sets are published: separated by tabs, semicolons,
    commas or spaces, quoted or not, with or without a header, possibly with more columns.
    """

    def lines(report: Any) -> Iterator[str]:
        low, high = report.interval
        yield (
            f"Spearman {report.spearman:.4f} (95% interval {low:.4f} to {high:.4f}), Pearson {report.pearson:.4f};"
            f" {report.answered} of {report.asked} pairs covered"
        )

    _print_score("similarity", vectors, pairs, lines, **options)


@evaluate.command(epilog=CODES, short_help="Score vectors on words that do not belong to a group.")
@click.argument("vectors")
@click.argument("topics")
@restrict_option(0)
@scoring_options
def outliers(vectors: str, topics: str, **options: Any) -> None:
    """Find the outliers of the groups of words in TOPICS with VECTORS, and print the accuracy and the OPP, the mean
    position of the outliers (Camacho-Collados and Navigli 2016).

    TOPICS is a file, or a folder of .txt files, one per topic: its words, one per line, a blank line, and the outliers.
    """

    def lines(report: Any) -> Iterator[str]:
        low, high = report.interval
        yield (
            f"accuracy {report.accuracy:.4f} (95% interval {low:.4f} to {high:.4f}, by topic), OPP"
            f" {report.opp:.4f}, compactness {report.compactness:.4f}; {report.found:,} of {report.answered:,} outliers"
            f" found, {report.asked:,} asked, topics {report.topics:,}"
        )

    _print_score("outliers", vectors, topics, lines, **options)


@evaluate.command(epilog=CODES, short_help="Score clusters of vectors on categories.")
@click.argument("vectors")
@click.argument("categories")
@click.option("--seed", type=SEED, default=1, show_default=True, metavar="N", help="Seed of the random starts.")
@restrict_option(0)
@scoring_options
def categories(vectors: str, categories: str, **options: Any) -> None:
    """Cluster the words of the file CATEGORIES by VECTORS, and print the purity of the clusters.

    Each line of CATEGORIES has a word, a tab and its category. Spherical k-means finds as many clusters as there are
    categories; the purity is the share of words that belong to the most frequent category of their cluster.
    """

    def lines(report: Any) -> Iterator[str]:
        low, high = report.interval
        yield (
            f"purity {report.purity:.4f} (95% interval {low:.4f} to {high:.4f}, as if words were independent);"
            f" {report.categories:,} categories, {report.answered:,} of {report.asked:,} words"
        )

    _print_score("categories", vectors, categories, lines, **options)


def _print_table(rows: list["Row"]) -> None:
    """Print one line for each evaluation set, under a headline."""
    width = max(3, *(len(row.name) for row in rows))
    echo(f"{'set':<{width}}  {'kind':<10}  {'measure':<8}   score  {'95% interval':<16}  answered of asked")
    for row in rows:
        start = f"{row.name:<{width}}  {row.kind:<10}  {row.measure:<8}"
        if row.score is None or row.interval is None:
            echo(f"{start}       -  {row.note}")
        else:
            interval = f"{row.interval[0]:.3f} to {row.interval[1]:.3f}"
            echo(f"{start}  {row.score:6.3f}  {interval:<16}  {row.answered:,} of {row.asked:,}")


def _is_given(option: str) -> bool:
    return click.get_current_context().get_parameter_source(option) is not ParameterSource.DEFAULT


def _among(limit: int | None) -> str:
    return f"the {limit:,} most frequent words" if limit else "all words"


def _print_score(
    kind: Kind, vectors: str, dataset: str, lines: Callable[[Any], Iterator[str]], *, as_json: bool,
    fail_under: float | None, restrict_vocab: int, case_sensitive: bool, unseen: bool = False,
    protocol: str | None = None, **options: Any,
) -> None:  # fmt: skip
    """Score a file of vectors on a data set, of which one may be stdin. Raise BelowThreshold if the score is too low.

    lines: returns the text about a report; unseen: compose the vectors of words that are not in the vocabulary.
    """
    with imports():
        from w2vtrain.embeddings.bundled import located
        from w2vtrain.embeddings.evaluation_rules import PLAIN, PROTOCOLS
        from w2vtrain.embeddings.evaluation_table import EVALUATIONS
    if unseen and protocol:
        raise click.UsageError("--unseen and --protocol: give only one of them, because these programs know no n-grams")
    evaluate, measure, attribute = EVALUATIONS[kind]
    limit, facts = restrict_vocab or None, {}  # type: int | None, dict[str, Any]
    if kind in WITH_PROTOCOLS:
        dataset, rules = located(dataset), PROTOCOLS[protocol] if protocol else PLAIN
        facts, options = {"protocol": protocol}, {**options, "protocol": rules}
        if protocol and not _is_given("restrict_vocab"):
            limit = rules.restrict_vocab
    refuse_stdin_twice(vectors, dataset)
    loaded = vectors_in(vectors)
    with readable(dataset) as path:
        if unseen:
            words = _words_of_rows(kind, path, options.get("columns"))
            loaded, counts = _extended(loaded, words, limit, not case_sensitive)
            facts, limit = {**facts, "restrict_vocab": limit, **counts}, None
        report = evaluate(loaded, path, restrict_vocab=limit, case_insensitive=not case_sensitive, **options)
    if as_json:
        echo_json({**report.to_dict(), "file": dataset, **facts})
    else:
        for line in lines(report):
            echo(line)
        if protocol == "full" and report.unknown:
            echo(f"{report.unknown:,} {WITH_PROTOCOLS[kind]}")
    score = getattr(report.total if kind == "analogies" else report, attribute) or 0.0
    if fail_under is not None and score < fail_under:
        name = "Spearman's correlation" if measure == "Spearman" else measure
        raise BelowThreshold(f"{name} {score:.4f} is below --fail-under {fail_under:g}")


def _words_of_rows(kind: Kind, path: str, columns: str | None) -> list[Sequence[str]]:
    """Return the words of each question or pair in a file; columns: see `read_pairs`."""
    from w2vtrain.embeddings.datasets import read_pairs, read_questions

    if kind == "analogies":
        return [question for _, question in read_questions(path) if question]
    return [(left, right) for left, right, _ in read_pairs(path, columns)]


def _extended(
    loaded: "Vectors", questions: list[Sequence[str]], limit: int | None, case_insensitive: bool
) -> tuple["Vectors", dict[str, int]]:
    """Return vectors with those that n-grams give to unseen words, and how many words and answers this adds."""
    from w2vtrain.embeddings.unseen import count_unseen, with_unseen

    extended = with_unseen(loaded, chain.from_iterable(questions), limit, case_insensitive)
    words, count = count_unseen(loaded, extended, questions, case_insensitive)
    echo(
        f"{words:,} words are not in the vocabulary: their n-grams give vectors; {count:,} of the questions or pairs"
        " that are answered have such a word", err=True,
    )  # fmt: skip
    return extended, {"unseen_words": words, "answered_with_unseen_words": count}
