"""vLBL: the sum of the context's rows, each times the weights of its position, which learn at a tenth of the rate."""


class Twin:
    pairs = False

    def __init__(self, window, arrays):
        self.window, self.arrays = window, arrays
        self.factors = {"context_weights": lambda context: 0.1}

    def positions(self, context, left):
        """(word, row of its position's weights): positions before the target come first, nearest first."""
        return [(word, left - 1 - i if i < left else self.window + i - left) for i, word in enumerate(context)]

    def hidden(self, rows, context, left, number):
        weights = self.arrays["context_weights"]
        return sum(weights[place] * rows[word] for word, place in self.positions(context, left))

    def learn(self, rows, context, left, number, dh, rate):
        weights = self.arrays["context_weights"]
        for word, place in self.positions(context, left):
            old = rows[word].copy()
            rows[word] += rate * dh * weights[place]
            weights[place] += 0.1 * rate * dh * old
