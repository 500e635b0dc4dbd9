"""CBOW with a sum, naively: each context row gets the gradient of the sum.

If windows may have more than 50 words on each side, those of n > 10 words learn at 10 / n of the rate.
"""

import numpy as np


class Reference:
    pairs = False

    def __init__(self, window, arrays):
        self.window, self.arrays = window, arrays

    def rate_scale(self, n):
        return 10 / n if self.window > 50 and n > 10 else 1

    def hidden(self, rows, context, left, number):
        return np.sum(rows[context], axis=0)

    def learn(self, rows, context, left, number, dh, rate):
        for word in context:
            rows[word] += rate * dh
