"""Compiled loops over the n-grams of words: hashing them, and composing the vectors of words of their rows.

subwords.py defines what an n-gram is, and imports this module when it is needed, because it loads Numba.
"""

from numba import float32, int32, int64, uint8, uint32

from w2vtrain.kernels.jit import inline, kernel
from w2vtrain.kernels.rows import sum_rows

OFFSET = 2166136261
"""The hash of no bytes."""
MAX_GRADIENTS = 2
"""How many gradients a word's vector moves by at most if n-grams of it share rows. For nearly all words, it is 1 to 1.4
gradients, as in fastText."""


@inline
def fnv(digest, text, first, last):
    """Return fastText's hash of a text that ends with text[first:last]: 32-bit FNV-1a, whose bytes are signed.

    digest: the hash of what comes before, OFFSET if nothing does.
    """
    for k in range(first, last):
        byte = uint32(text[k])
        if byte >= uint32(128):
            byte = byte | uint32(0xFFFFFF00)
        digest = uint32((digest ^ byte) * uint32(16777619))
    return digest


@inline
def next_character(text, at, end):
    """Return where the character after the one at `at` begins; UTF-8's later bytes are 10xxxxxx."""
    at += 1
    while at < end and (text[at] & uint8(0xC0)) == uint8(0x80):
        at += 1
    return at


@kernel()
def hash_ngrams(text, ends, minn, maxn, bucket, starts, buckets):
    """Write the bucket of every n-gram of every word to `buckets`; if that is empty, the number of them to starts[1:].

    text uint8: the words, one after another, of which word i ends at ends[i].
    """
    first, written = int64(0), int64(0)
    for word in range(len(ends)):
        last, count = ends[word], int64(0)
        at = first
        while at < last:
            end, size, digest = at, 0, uint32(OFFSET)
            while end < last and size < maxn:
                begin, end = end, next_character(text, end, last)
                digest = fnv(digest, text, begin, end)
                size += 1
                if size >= minn and not (size == 1 and (at == first or end == last)):
                    if len(buckets) > 0:
                        buckets[written] = digest % uint32(bucket)
                    written += 1
                    count += 1
            at = next_character(text, at, last)
        if len(buckets) == 0:
            starts[word + 1] = count
        first = last


@kernel()
def compose(starts, rows, matrix, vectors):
    """Set vectors[i] to the mean of the rows of `matrix` that are listed in rows[starts[i] : starts[i + 1]]."""
    for word in range(len(starts) - 1):
        first, n = starts[word], starts[word + 1] - starts[word]
        sum_rows(vectors[word : word + 1], matrix, rows[first:], n, float32(1) / float32(n))


@kernel()
def measure_steps(starts, rows, times, steps):
    """Set steps[i] to MAX_GRADIENTS n / (sum of m^2), but at most 1, for the n rows of word i.

    A row that occurs m times counts once in the sum, which is n if none is repeated. times (one per row) int32: zeros,
    before and after.
    """
    for word in range(len(starts) - 1):
        squares = int64(0)
        for k in range(starts[word], starts[word + 1]):
            squares += 2 * times[rows[k]] + 1  # (m + 1)^2 - m^2
            times[rows[k]] += int32(1)
        for k in range(starts[word], starts[word + 1]):
            times[rows[k]] = int32(0)
        n = starts[word + 1] - starts[word]
        steps[word] = min(float32(1), float32(MAX_GRADIENTS * n) / float32(squares))
