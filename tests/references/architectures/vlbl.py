"""vLBL, naively: the sum of the context rows, each times the weights of its position.

These weights learn at a tenth of the learning rate. If windows may have more than 50 words on each side, those of
n > 10 words learn at 10 / n of the rate.
"""


class Reference:
    pairs = False

    def __init__(self, window, arrays):
        self.window, self.arrays = window, arrays
        self.factors = {"context_weights": lambda context: 0.1}

    def rate_scale(self, n):
        return 10 / n if self.window > 50 and n > 10 else 1

    def positions(self, context, left):
        """Return (word, row of its position's weights) of each context word.

        The positions before the target have the first rows, nearest first.
        """
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
