"""The compiled loops of graphs: split lines of edges, take the steps of walks, write walks as text.

A step is taken in constant time for any p and q: an arc is proposed by its weight, and accepted in proportion to its
bias (KnightKing: Yang et al. 2019). Nothing here knows names as strings, or settings.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from w2vtrain.kernels.jit import kernel
from w2vtrain.kernels.rows import prefetch_element
from w2vtrain.probability.random_streams import draw, mix, seed_stream
from w2vtrain.text.scan import is_space
from w2vtrain.text.source import MAX_TOKEN_BYTES

Array = NDArray[Any]
MAX_PROPOSALS = 32
"""Proposals that may be rejected before the step is drawn from the exact distribution over all arcs of the node."""
MANY_ARCS = 256
"""Arcs of the node before, from which on a pair of nodes is looked up at the other node, if that has fewer."""
NEWLINE, SPACE, QUOTE, UNDERSCORE = 10, 32, 34, 95
MIN_WEIGHT, MAX_WEIGHT = 1e-30 * (1 - 1e-9), 1e30 * (1 + 1e-9)
"""Weights of edges, up to the rounding of `number_in`. Sums of any number, and their ratios, are finite numbers."""
_32, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)
_UNIT = 2.0**-32


class Bias(NamedTuple):
    """The biases of node2vec (Grover & Leskovec 2016) for a step from v after one from t to v.

    The weight of an arc is multiplied by `back` = 1 / p if it leads back to t, by 1 if it leads to a node that an arc
    from t leads to, too, and by `far` = 1 / q otherwise. matters: whether the three differ.
    """

    back: float
    far: float
    matters: bool


class Rounds(NamedTuple):
    """Which walks there are: one from each node per round. Chunk c has the walks from number `per_chunk` * c on.

    length: the most nodes in a walk; walks: their number; per_chunk: in a chunk.
    """

    length: int
    walks: int
    per_chunk: int


@kernel()
def split_edges(
    text: Array, separator: int, has_header: bool, names: Array, weights: Array
) -> tuple[int, int, int]:  # fmt: skip
    """Copy the nodes of each edge to `names`, with a space between them and a newline after them.

    text (n,) uint8: whole lines; separator: of fields, a space for any white space; has_header: whether a line before
    these names columns, so that # and % are letters of nodes where a line begins; names (n,) uint8; weights (lines,)
    zeros, to which the weights are written, where there are any. Return (edges, bytes of names, the number of the first
    line, from 0, that is neither an edge nor empty, or -1). A field in quotes is read as in CSV.
    """
    position, line, edges, size = 0, 0, 0, 0
    while position < len(text):
        end = position
        while text[end] != NEWLINE:
            end += 1
        first, fields, begin = position, 0, size
        if not has_header and (text[first] == 35 or text[first] == 37):  # "#" or "%"
            return edges, size, line
        while is_space(text[first]) and first < end:
            first += 1
        is_empty, first = first == end, position
        while first <= end and not is_empty:
            while first < end and is_space(text[first]) and (separator == SPACE or text[first] != separator):
                first += 1
            closing = closing_quote(text, first, end, separator)
            if closing < -1:
                return edges, size, line
            last = max(first, closing)
            while last < end and not (is_space(text[last]) if separator == SPACE else text[last] == separator):
                last += 1
            if last == first and separator == SPACE:
                break
            i, stop = (first, last) if closing < 0 else (first + 1, closing)
            if fields == 2:
                weights[edges] = number_in(text, i, stop)
            start = size
            while fields < 2 and i < stop:
                if not is_space(text[i]):
                    names[size] = text[i]
                    size, i = size + 1, i + (closing >= 0 and text[i] == QUOTE)  # quotes in quotes are doubled
                elif size > start and i + 1 < stop and not is_space(text[i + 1]):
                    names[size] = UNDERSCORE
                    size += 1
                i += 1
            if fields > 2 or (fields < 2 and not 0 < size - start <= MAX_TOKEN_BYTES):
                return edges, size, line
            if fields == 2 and not MIN_WEIGHT <= weights[edges] <= MAX_WEIGHT:
                return edges, size, line
            if fields < 2:
                names[size] = NEWLINE if fields else SPACE
                size += 1
            fields, first = fields + 1, last + 1
        if fields == 1:
            return edges, size, line
        edges += size > begin
        position, line = end + 1, line + 1
    return edges, size, -1


@kernel()
def closing_quote(text: Array, first: int, end: int, separator: int) -> int:
    """Return where the quote is that closes the field that begins at `first`, if the field is in quotes, or -1.

    It is -2 if a quote begins the field and none ends it.
    """
    if separator == SPACE or text[first] != QUOTE:
        return -1
    last = first + 1
    while last < end and (text[last] != QUOTE or text[last + 1] == QUOTE):
        last += 2 if text[last] == QUOTE else 1
    after = last + 1
    while after < end and is_space(text[after]) and text[after] != separator:
        after += 1
    return last if last < end and (after == end or text[after] == separator) else -2


@kernel()
def number_in(text: Array, first: int, last: int) -> float:
    """Return the number that text[first:last] is, with or without white space around it; NaN if it is none."""
    while first < last and is_space(text[last - 1]):
        last -= 1
    sign = -1.0 if first < last and text[first] == 45 else 1.0
    first += first < last and (text[first] == 43 or text[first] == 45)
    value, digits, scale, point = 0.0, 0, 0, False
    while first < last and (48 <= text[first] <= 57 or (text[first] == 46 and not point)):
        if text[first] == 46:
            point = True
        else:
            value, digits, scale = value * 10 + (text[first] - 48), digits + 1, scale + point
        first += 1
    if digits > 0 and first < last and (text[first] == 69 or text[first] == 101):
        first += 1
        down = first < last and text[first] == 45
        first += first < last and (text[first] == 43 or text[first] == 45)
        exponent, digits = 0, 0
        while first < last and 48 <= text[first] <= 57 and exponent < 1000:
            exponent, digits, first = exponent * 10 + (text[first] - 48), digits + 1, first + 1
        scale += exponent if down else -exponent
    if digits == 0 or first < last:
        return np.nan
    return sign * (value / 10.0**scale if scale > 0 else value * 10.0 ** (-scale))


@kernel()
def count_arcs(sources: Array, targets: Array, symmetric: bool, leaving: Array, arriving: Array) -> None:
    """Add to leaving[v + 1] and arriving[v + 1] (N + 1,) int64 the arcs that leave node v, and that arrive there.

    sources, targets (E,) int32: the nodes of edges; symmetric: whether an edge is an arc in both directions.
    """
    for e in range(len(sources)):
        leaving[sources[e] + 1] += 1
        arriving[targets[e] + 1] += 1
        if symmetric and sources[e] != targets[e]:
            leaving[targets[e] + 1] += 1
            arriving[sources[e] + 1] += 1


@kernel()
def gather_arcs(
    sources: Array, targets: Array, weights: Array, symmetric: bool, places: Array, others: Array, values: Array
) -> None:  # fmt: skip
    """Write to others (A,) the node that each arc leaves, by the node where it arrives; values (A,): their weights.

    places (N,): where the arcs of each node begin, which is changed to where they end.
    """
    for e in range(len(sources)):
        for back in range(2 if symmetric and sources[e] != targets[e] else 1):
            source, target = (targets[e], sources[e]) if back else (sources[e], targets[e])
            k = places[target]
            others[k] = source
            if len(weights):
                values[k] = weights[e]
            places[target] = k + 1


@kernel()
def sort_arcs(
    ends: Array, others: Array, values: Array, starts: Array, stops: Array, targets: Array, sums: Array
) -> int:  # fmt: skip
    """Write to targets (A,) the nodes to which the arcs of each node lead, ascending. Return how many are parallel.

    ends, others, values: from `gather_arcs`; starts (N + 1,): where the arcs of each node are to begin; stops: a copy,
    which is changed to where they end, since parallel arcs become one; sums: the sums of their weights.
    """
    parallel = 0
    for target in range(len(ends) - 1):
        for k in range(ends[target], ends[target + 1]):
            source = others[k]
            at = stops[source]
            if at > starts[source] and targets[at - 1] == target:
                parallel += 1
                if len(sums):
                    sums[at - 1] += values[k]
                continue
            targets[at] = target
            if len(sums):
                sums[at] = values[k]
            stops[source] = at + 1
    return parallel


@kernel()
def close_gaps(starts: Array, stops: Array, targets: Array, sums: Array) -> None:
    """Move the arcs of each node, from starts[v] to stops[v], to the end of those before, and change `starts`."""
    position = 0
    for node in range(len(stops)):
        first, starts[node] = starts[node], position
        for k in range(first, stops[node]):
            targets[position], sums[position] = targets[k], sums[k]
            position += 1
    starts[len(stops)] = position


@kernel()
def set_bounds(starts: Array, weights: Array, bounds: Array) -> None:
    """Write the bounds of arcs with these weights (A,): see `graph.Arcs`."""
    for node in range(len(starts) - 1):
        total, part = 0.0, 0.0
        for k in range(starts[node], starts[node + 1]):
            total += weights[k]
        for k in range(starts[node], starts[node + 1]):
            part += weights[k]
            bounds[k] = np.uint32(max(0.0, np.rint(part / total * 2.0**32) - 1.0))


@kernel()
def find_arc(values: Array, low: int, high: int, least: Any) -> Any:
    """Return the index of the first of the ascending values[low:high] that is >= least, or `high`."""
    size = high - low
    while size > 0:
        half = size >> 1
        below = values[low + half] < least
        low = low + half + 1 if below else low
        size = size - half - 1 if below else half
    return low


@kernel()
def is_linked(arcs: Any, source: int, target: int) -> Any:
    """Return whether an arc leads from a node to another.

    The arcs of `source`, where a walk has just been, are in the cache. Only if they are many, and each arc has one in
    the opposite direction, those of the other node are searched if they are fewer.
    """
    low, high = arcs.starts[source], arcs.starts[source + 1]
    if arcs.symmetric and high - low > MANY_ARCS:
        first, last = arcs.starts[target], arcs.starts[target + 1]
        if last - first < high - low:
            low, high, target = first, last, source
    k = find_arc(arcs.targets, low, high, target)
    return k < high and arcs.targets[k] == target


@kernel()
def bias_of(arcs: Any, bias: Any, before: int, target: int) -> Any:
    """Return the bias of a step to a node after one that left node `before`."""
    if target == before:
        return bias.back
    return 1.0 if is_linked(arcs, before, target) else bias.far


@kernel()
def weight_of(arcs: Any, k: int, low: int) -> Any:
    """Return the weight of arc k, of the node whose arcs begin at `low`."""
    if len(arcs.bounds) == 0:
        return 1.0
    return arcs.bounds[k] - (arcs.bounds[k - 1] if k > low else -1.0)


@kernel()
def proposed(arcs: Any, low: int, high: int, bits: Any) -> Any:
    """Return the arc, of the node whose arcs are low to high, that the upper 32 of 64 random bits draw by weight."""
    if len(arcs.bounds) == 0:
        return low + np.int64(((bits >> _32) * np.uint64(high - low)) >> _32)
    return find_arc(arcs.bounds, low, high - 1, np.uint32(bits >> _32))


@kernel()
def share_of(arcs: Any, low: int, high: int, target: int) -> Any:
    """Return the probability by weight of the arc to a node, among arcs low to high of one node; 0 if there is none."""
    k = find_arc(arcs.targets, low, high, target)
    if k == high or arcs.targets[k] != target:
        return 0.0
    return weight_of(arcs, k, low) * (_UNIT if len(arcs.bounds) else 1.0 / (high - low))


@kernel()
def biased_step(arcs: Any, bias: Any, rng: Array, before: int, low: int, high: int) -> Any:
    """Return the next node of a walk, from the node whose arcs are low to high, after node `before`.

    Proposals are accepted up to the larger bias of the arcs that do not lead back. What the bias of the arc that leads
    back has above it is an outcome of its own, so that a small p does not have nearly all proposals rejected.
    """
    if high - low == 1:
        return arcs.targets[low]
    least, most = min(1.0, bias.far), max(1.0, bias.far)
    excess = share_of(arcs, low, high, before) * (bias.back - most) if bias.back > most else 0.0
    for _ in range(MAX_PROPOSALS):
        bits = draw(rng)
        level = np.float64(bits & _LOW) * _UNIT * (most + excess)
        if level >= most:
            return before
        target = arcs.targets[proposed(arcs, low, high, bits)]
        if target == before:
            if level < bias.back:
                return target
        elif level < least or (bias.far < 1.0) == is_linked(arcs, before, target):
            return target
    total = 0.0
    for k in range(low, high):
        total += weight_of(arcs, k, low) * bias_of(arcs, bias, before, arcs.targets[k])
    left = np.float64(draw(rng) >> _32) * _UNIT * total
    for k in range(low, high - 1):
        left -= weight_of(arcs, k, low) * bias_of(arcs, bias, before, arcs.targets[k])
        if left < 0:
            return arcs.targets[k]
    return arcs.targets[high - 1]


@kernel()
def walk_chunks(
    arcs: Any, bias: Any, rounds: Any, words: Array, seed: int, epoch: int, order: Array, rng: Array, nodes: Array,
    drawn: Array, lengths: Array, tokens: Array, starts: Array,
) -> int:  # fmt: skip
    """Write the walks of the ascending chunks `order` (n,) to `tokens`, each followed by -1. Return the entries.

    words (N,) int32: what to write for each node; seed, epoch: the random numbers of a chunk depend on these and its
    number, and differ from those with which it is trained; nodes (length, per_chunk) int32, drawn and lengths
    (per_chunk,), and rng (1,) uint64: working memory. Where a chunk begins and ends is written to starts[chunk] and
    starts[chunk + 1].

    The walks of a chunk take each step together, and fetch the memory that they will need, so that they do not wait for
    it one after the other: this is four times as fast on a graph of 10 million edges. A walk ends at a node without
    arcs.
    """
    position = 0
    for chunk in order:
        seed_stream(rng, seed, epoch, chunk)
        rng[0] = mix(~rng[0])
        first = chunk * rounds.per_chunk
        count = min(rounds.per_chunk, rounds.walks - first)
        for w in range(count):
            nodes[0, w], lengths[w] = (first + w) % len(words), 1
        for step in range(1, rounds.length):
            for w in range(count):
                here = nodes[step - 1, w]
                low, high = arcs.starts[here], arcs.starts[here + 1]
                if not (bias.matters and step > 1):
                    low = proposed(arcs, low, high, draw(rng))
                drawn[w] = low
                prefetch_element(arcs.targets, low)
            for w in range(count):
                here = nodes[step - 1, w]
                low, high = arcs.starts[here], arcs.starts[here + 1]
                if lengths[w] < step or low == high:
                    nodes[step, w] = here
                    continue
                if bias.matters and step > 1:
                    nodes[step, w] = biased_step(arcs, bias, rng, nodes[step - 2, w], low, high)
                else:
                    nodes[step, w] = arcs.targets[drawn[w]]
                prefetch_element(arcs.starts, nodes[step, w])
                lengths[w] = step + 1
        starts[chunk] = position
        for w in range(count):
            for step in range(lengths[w]):
                tokens[position] = words[nodes[step, w]]
                position += 1
            tokens[position] = -1
            position += 1
        starts[chunk + 1] = position
    return position


@kernel()
def push(arcs: Any, at: Array, after: Array) -> None:
    """Write to after (N,) how many walks are at each node after an unbiased step from `at` (N,); float64."""
    for node in range(len(at)):
        after[node] = 0.0
    for node in range(len(at)):
        low, high = arcs.starts[node], arcs.starts[node + 1]
        share = at[node] * (_UNIT if len(arcs.bounds) else 1.0 / max(1, high - low))
        for k in range(low, high):
            after[arcs.targets[k]] += share * weight_of(arcs, k, low)


@kernel()
def pull(arcs: Any, values: Array, means: Array) -> None:
    """Write to means (N,) the mean of values (N,) after an unbiased step from each node, 0 without arcs; float64."""
    for node in range(len(values)):
        low, high = arcs.starts[node], arcs.starts[node + 1]
        total = 0.0
        for k in range(low, high):
            total += weight_of(arcs, k, low) * values[arcs.targets[k]]
        means[node] = total * (_UNIT if len(arcs.bounds) else 1.0 / max(1, high - low))


@kernel()
def spell(tokens: Array, ends: Array, letters: Array, out: Array) -> int:
    """Write walks as text: names with a space between them, a newline after each walk. Return the bytes written.

    letters uint8: the names of all nodes; ends (N + 1,) int64: where each begins in them.
    """
    position = 0
    for token in tokens:
        if token < 0:
            out[position - 1] = np.uint8(10)
            continue
        for i in range(ends[token], ends[token + 1]):
            out[position] = letters[i]
            position += 1
        out[position] = np.uint8(32)
        position += 1
    return position
