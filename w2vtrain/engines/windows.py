"""Gather windows: which words of a sentence are a target's context, for both engines.

What the words of a window are used for is not known here.
"""

from typing import NamedTuple

from numba import int64, uint32, uint64

from w2vtrain.kernels.indices import copy_indices
from w2vtrain.kernels.jit import inline
from w2vtrain.probability.sampling import draw, draw_below


class Windows(NamedTuple):
    """Which words are a target's context.

    Up to `size` words before it (if `left`) and after it (if `right`), fewer by chance if `shrink`. end: the index of
    the word that ends every sentence and is predicted, too, or -1; `pads` of it come before a sentence's first word.
    """

    size: int = 5
    shrink: bool = True
    left: bool = True
    right: bool = True
    end: int = -1
    pads: int = 0


@inline
def read_sentence(tokens, position, end, keep, windows, rng, sentence):
    """Copy one sentence without the words that subsampling drops. Return (next position, length).

    If sentences end with a word of their own, `windows.pads` of it come first and one comes last.
    """
    length = int64(0)
    if windows.end >= 0:
        while length < windows.pads:
            sentence[length] = windows.end
            length += 1
    while position < end:
        word = tokens[position]
        position += 1
        if word < 0:
            break
        sentence[length] = word
        length += int64(uint32(draw(rng) >> uint64(32)) <= keep[word])
    if windows.end >= 0:
        sentence[length] = windows.end
        length += 1
    return position, length


@inline
def reach_of(windows, rng):
    """Draw how many words on either side of a target are its context."""
    return windows.size - draw_below(rng, windows.size) if windows.shrink else windows.size


@inline
def gather_context(sentence, length, position, reach, windows, context):
    """Copy the words within `reach` of a position, without the word there. Return how many, and how many come before.

    Both arrays need the room behind their end that indices.py asks for.
    """
    first = max(0, position - reach) if windows.left else position
    last = min(length - 1, position + reach) if windows.right else position
    left, right = position - first, last - position
    copy_indices(context, 0, sentence, first, left)
    copy_indices(context, left, sentence, position + 1, right)
    return int64(left + right), int64(left)
