"""The command `tree`: write the tree of WordNet's hypernyms for a vocabulary, for hierarchical softmax.

probability/trees.py computes the paths, and formats/wordnet.py reads WordNet's files.
"""

import numpy as np

from w2vtrain.commands.console import Console
from w2vtrain.commands.inputs import check_different, readable
from w2vtrain.embeddings.model import load_model
from w2vtrain.errors import DataError
from w2vtrain.formats.model_file import MODEL
from w2vtrain.formats.sniff import sniff
from w2vtrain.formats.vectors import read_vectors
from w2vtrain.formats.wordnet import WordNet
from w2vtrain.probability.trees import taxonomy_paths
from w2vtrain.system.compression import check_suffix, packed_write
from w2vtrain.system.files import check_writable
from w2vtrain.text.vocabulary import MAX_COUNT, SENTENCE_END, Vocabulary

SENTENCE = 25
"""Assumed words per sentence, which give the count of </s> if the vocabulary lacks it."""
MISSING = "not in WordNet"


def tree(words: str, folder: str, output: str, force: bool, quiet: bool = False) -> None:
    """Write a line with each word and its path, in the order of the vocabulary; report how many words WordNet has."""
    check_different([output], [words])
    check_suffix(output)
    check_writable(output, force)
    with readable(words) as name:
        known, counts = vocabulary_of(name)
    if SENTENCE_END not in known:
        sentences = min(max(1, int(counts.sum(dtype=float)) // SENTENCE), MAX_COUNT)
        known, counts = [*known, SENTENCE_END], np.append(counts, sentences)
    wordnet = WordNet(folder)
    chains = [wordnet.chain(word) for word in known]
    paths = taxonomy_paths([chain or (MISSING,) for chain in chains], counts)
    with packed_write(output, force) as file:
        for word, path in zip(known, paths, strict=True):
            file.write(f"{word} {path}\n".encode())
    lengths, found = np.array([len(path) for path in paths]), len(chains) - chains.count(None)
    mean = float(lengths @ (counts / counts.sum(dtype=float)))
    Console(quiet).say(
        f"{len(known):,} words, {found:,} of them in WordNet; paths have {mean:.1f} turns on average, weighted by"
        f" counts, and at most {lengths.max()}"
    )


def vocabulary_of(path: str) -> tuple[list[str], np.ndarray]:
    """Return words and their counts from a vocabulary, a model or vectors; for vectors, Zipf's law gives the counts.

    Raise InputMissing or DataError if the file is none of these, is damaged, or has only one word.
    """
    kind = sniff(path).kind
    if kind == "vocabulary":
        vocabulary = Vocabulary.load(path)
        words, counts = vocabulary.words, vocabulary.counts
    elif kind == MODEL.name:
        model = load_model(path)
        words, counts = list(model.words), np.maximum(model.counts, 1)
    else:
        words = list(read_vectors(path).words)
        counts = np.maximum(100 * len(words) // np.arange(1, len(words) + 1), 1)
    if len(words) < 2:
        raise DataError(f"{path}: only one word, but a tree needs at least two")
    return words, counts
