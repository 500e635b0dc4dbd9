"""Convolution over the letters of words with max pooling, and its gradients. Nothing here learns.

A convolution adds up rows of a table: the products of each letter's embedding with each position of each filter. This
saves a factor of the embedding's dimensions over multiplying gathered embeddings by all filters.
"""

from w2vtrain.kernels.jit import kernel


@kernel()
def pool(words, letters, lengths, widths, sizes, table, offsets, line, pooled, places):
    """Set pooled (n, filters) to the maximum of ReLU(convolution) over the positions in each word.

    places (n, filters): the position of each maximum, or -1 if the maximum is 0. line (filters,) is working memory.
    """
    for i in range(len(words)):
        spelled, length = letters[words[i]], lengths[words[i]]
        first = column = 0
        for k in range(len(widths)):
            width, size = widths[k], sizes[k]
            best, where = pooled[i, first : first + size], places[i, first : first + size]
            z = line[:size]
            best[:] = 0
            where[:] = -1
            for t in range(max(length - width, 0) + 1):
                for f in range(size):
                    z[f] = offsets[first + f]
                for j in range(width):
                    part = table[spelled[t + j], column + j * size : column + (j + 1) * size]
                    for f in range(size):
                        z[f] += part[f]
                for f in range(size):
                    better = z[f] > best[f] or z[f] != z[f]  # NaN must not be ignored
                    best[f] = z[f] if better else best[f]
                    where[f] = t if better else where[f]
            first += size
            column += width * size


@kernel()
def unpool(words, letters, widths, sizes, places, by_pooled, by_table, by_offsets):
    """Compute the gradients of the table and the offsets from by_pooled (n, filters), those of the pooled features.

    by_table (alphabet, columns) is overwritten; by_offsets (filters,) is added to.
    """
    by_table[:] = 0
    for i in range(len(words)):
        spelled = letters[words[i]]
        first = column = 0
        for k in range(len(widths)):
            width, size = widths[k], sizes[k]
            for f in range(size):
                t = places[i, first + f]
                if t >= 0:
                    slope = by_pooled[i, first + f]
                    by_offsets[first + f] += slope
                    for j in range(width):
                        by_table[spelled[t + j], column + j * size + f] += slope
            first += size
            column += width * size
