"""Skip-gram: an example per context word, its hidden vector is the word's row."""


class Twin:
    """arrays: what the architecture learns beside rows, by name, float64.

    hidden: the vector (d,) of one example of a window, from rows (V, d), the context words and how many of them come
    first. learn: what the rows and arrays become, from dh = -dL/dhidden (d,).
    factors, which a twin may leave out: name -> function of the context words, for "rows" or an array that learns by
    this factor times minus the slope.
    """

    pairs = True

    def __init__(self, window, arrays):
        self.arrays = arrays

    def hidden(self, rows, context, left, number):
        return rows[context[number]].copy()

    def learn(self, rows, context, left, number, dh, rate):
        rows[context[number]] += rate * dh
