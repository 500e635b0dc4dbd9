"""Proposal distributions that mix bigrams with word frequencies: build them, draw from them, and look up Q.

Nothing is learned here, and no weight of a draw is computed.
"""

from typing import NamedTuple

import numpy as np
from numba import int64, uint64

from w2vtrain.kernels.jit import inline, kernel
from w2vtrain.probability.ngrams import Bigrams, count_at, count_bigrams, draw_followers, find_followers, followers
from w2vtrain.probability.problem import Problem
from w2vtrain.probability.sampling import alias_table, draw, draw_words, noise_distribution

DOUBT = 5
"""Weight of each distinct follower against the bigrams. On the Penn Treebank, as few draws suffice as with a λ that is
learned for each frequency class; with a weight of 1, bigrams of rare words p count too much, and a quarter more draws
are needed."""
_32 = uint64(32)


class Proposal(NamedTuple):
    """The proposal distribution Q(v|p) = λ B(v|p) + (1 - λ) U(v), where p is the word before the target.

    λ is mixture[class_of[p]], or 0 if the target is the first word of its sentence or no word ever followed p.

    accept, alias: the alias table of U. unigram (V,) float64: U. bigrams: the counts behind B. class_of (V,) int32: the
    class of each word. mixture (classes,) float64: λ of each class.
    """

    accept: np.ndarray
    alias: np.ndarray
    unigram: np.ndarray
    bigrams: Bigrams
    class_of: np.ndarray
    mixture: np.ndarray


class Scratch(NamedTuple):
    """Working memory for a batch of n draws, (n,) each.

    parts float64: λ B. q float64: Q. places int64: indices into the bigram table. least int64: cumulative counts to
    search for in that table.
    """

    parts: np.ndarray
    q: np.ndarray
    places: np.ndarray
    least: np.ndarray


def fixed_mixture(problem: Problem, exponent: float) -> Proposal:
    """Return the mixture with λ = n / (n + DOUBT t), where p is followed n times, by t distinct words.

    The more often a new word has followed p so far, the less the bigrams are trusted (Witten & Bell 1991, "The
    zero-frequency problem"; Collins 1999, "Head-driven statistical models for natural language parsing", for the
    factor). U is proportional to the counts to the power `exponent`.
    """
    proposal = class_mixture(problem, exponent, np.arange(len(problem.counts), dtype=np.int32), 0.0)
    starts, ends = proposal.bigrams.starts, proposal.bigrams.ends
    known = np.flatnonzero(np.diff(starts))
    n, t = ends[starts[known + 1] - 1].astype(np.float64), np.diff(starts)[known]
    proposal.mixture[known] = n / (n + DOUBT * t)
    return proposal


def class_mixture(problem: Problem, exponent: float, class_of: np.ndarray, share: float) -> Proposal:
    """Return the mixture with λ = share for all classes of words, class_of (V,) int32.

    U is proportional to the counts to the power `exponent`. Without a text there are no bigrams.
    """
    unigram = noise_distribution(np.maximum(problem.counts, 1), exponent)
    bigrams = count_bigrams(problem.tokens, len(problem.counts), problem.end)
    return Proposal(*alias_table(unigram), unigram, bigrams, class_of, np.full(class_of.max() + 1, share))


@inline
def mixture_at(proposal, previous):
    """Return λ for the word `previous` (-1: there is none), and how often any word followed it."""
    pairs = followers(proposal.bigrams, previous) if previous >= 0 else int64(0)
    return (proposal.mixture[proposal.class_of[previous]] if pairs else 0.0), pairs


@inline
def draw_mixed(stream, proposal, previous, share, pairs, scratch, words):
    """Fill words (n,) with draws from Q(.|previous), bigram draws first, and scratch with the words' λ B and Q."""
    table, least, places = proposal.bigrams, scratch.least, scratch.places
    size = len(words)
    n = 0
    for _ in range(size):
        n += (draw(stream) >> _32) * 2.0**-32 < share
    if n:
        draw_followers(stream, table, previous, least[:n], places[:n])
        for k in range(n):
            words[k] = table.words[places[k]]
    draw_words(stream, proposal.accept, proposal.alias, words[n:])
    if pairs:
        find_followers(table, previous, words[n:], places[n:size])
    for k in range(size):
        scratch.parts[k] = share * count_at(table, previous, places[k]) / pairs if pairs else 0.0
        scratch.q[k] = scratch.parts[k] + (1 - share) * proposal.unigram[words[k]]


@kernel()
def draw_proposal(stream, proposal, previous, scratch, words):
    """Fill words (n,) with draws from Q(.|previous)."""
    share, pairs = mixture_at(proposal, previous)
    draw_mixed(stream, proposal, previous, share, pairs, scratch, words)
