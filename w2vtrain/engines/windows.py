"""Gather windows for both engines: read sentences, and find the context words of each target.

Nothing here knows what the words of a window are used for.
"""

from typing import NamedTuple

from numba import int64, uint32, uint64

from w2vtrain.kernels.indices import copy_indices
from w2vtrain.kernels.jit import inline
from w2vtrain.probability.sampling import draw, draw_below

MODEST = 50
"""Words on each side of a target up to which memory and work are planned for the size of the window alone. For wider
windows, they are bounded by the length of the sentences, too."""


class Windows(NamedTuple):
    """Which words around a target are its context.

    The context is up to `size` words before the target (if `left`) and after it (if `right`). If `shrink`, each window
    has a random size from 1 to `size`. end: the id of the end-of-sentence word, which is predicted, too, or -1 if
    there is none; pads: how many copies of it precede the first word of a sentence.
    """

    size: int = 5
    shrink: bool = True
    left: bool = True
    right: bool = True
    end: int = -1
    pads: int = 0

    def reach(self, longest: int) -> int:
        """Return the most context words on one side of a target. longest: the most words in a sentence."""
        return min(self.size, longest + self.pads + 1)


@inline
def read_sentence(tokens, position, end, keep, windows, rng, sentence):
    """Copy one sentence without the words that subsampling drops. Return (next position, length).

    If there is an end-of-sentence word, the copy begins with `windows.pads` of it and ends with one.
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
    """Return how many words on each side of a target are its context: a random number if windows shrink."""
    return windows.size - draw_below(rng, windows.size) if windows.shrink else windows.size


@inline
def gather_context(sentence, length, position, reach, windows, context):
    """Copy the words within `reach` of a position, except the word there, to `context`.

    Return (number of words, number of those before the position). Both arrays need ROW more elements than
    are used, because indices.py copies whole vectors.
    """
    first = max(0, position - reach) if windows.left else position
    last = min(length - 1, position + reach) if windows.right else position
    left, right = position - first, last - position
    copy_indices(context, 0, sentence, first, left)
    copy_indices(context, left, sentence, position + 1, right)
    return int64(left + right), int64(left)
