"""Skip-gram, naively: each context word makes an example, and its row is the hidden vector."""


class Reference:
    """A reference implementation of an architecture in float64, which tests compare with the compiled one.

    pairs: true if each context word makes an example. arrays: what the architecture learns besides rows, by name.
    hidden: returns the vector (d,) of example `number` of a window, given rows (V, d), the context words, and how many
    of them come before the target. learn: updates the rows and arrays from dh = -dL/dhidden (d,).
    factors (optional): name -> function of the context words, for "rows" or an array whose update is this factor times
    the gradient step.
    """

    pairs = True

    def __init__(self, window, arrays):
        self.arrays = arrays

    def hidden(self, rows, context, left, number):
        return rows[context[number]].copy()

    def learn(self, rows, context, left, number, dh, rate):
        rows[context[number]] += rate * dh
