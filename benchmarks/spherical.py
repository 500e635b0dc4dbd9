"""Train a language model with the spherical softmax, whose step takes O(d²) operations whatever the vocabulary.

`python benchmarks/spherical.py TRAIN VALID TEST` trains the model of configs/language-model.toml (vLBL: two words of
left context, biases, 100 dimensions) with p(w) = (s_w² + ε) / Σ_v (s_v² + ε), the scores s = O h with the output rows
O (V, d) and a hidden vector h (d,) whose last element is 1. With biases, the Taylor softmax is the same with ε = 1.

The sum over all words needs only Q = OᵀO (d, d), because Σ_v s_v² = hᵀQh. Its gradient changes all rows alike: the rows
are kept as O = M U with U (d, d), so that a step multiplies U, and adds to the target's row of M (Vincent, de Brébisson
& Bouthillier 2015, "Efficient exact gradient update for training deep networks with very large sparse targets"). Here a
step is one for a block of examples, whose gradients are summed.
"""

import argparse
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from w2vtrain.probability.dense import one_thread

Array = np.ndarray[Any, Any]
DIMENSIONS, BLOCK = 100, 128
MAX_INVERSE = 10.0
"""U is multiplied into M when an element of its inverse is above this: then float32 has lost a digit."""
POSITION_RATE = 0.1
"""Position weights learn at this fraction of the learning rate, as in the package."""


class Rows:
    """Output rows O = M U (V, d), with the inverse of U, and Q = OᵀO. epsilon: of the spherical softmax."""

    def __init__(self, output: Array, epsilon: float) -> None:
        self.M, self.epsilon = output.copy(), epsilon
        d = output.shape[1]
        self.U, self.inverse, self.Q = np.eye(d), np.eye(d), output.T.astype(np.float64) @ output

    def output(self) -> Array:
        """Return O."""
        output: Array = self.M @ self.U.astype(self.M.dtype)
        return output

    def step(self, H: Array, targets: Array, rate: float, shrink: float) -> tuple[Array, Array]:
        """Train on a block, H (B, d) and targets (B,). Return its losses (B,) and -dL/dH (B, d), of the old rows.

        shrink: the factor by which weight decay multiplies all rows, without their last column, which holds biases.
        """
        H = H.astype(np.float64)
        QH = H @ self.Q
        Z = np.einsum("bd,bd->b", QH, H) + len(self.M) * self.epsilon
        words, places = np.unique(targets, return_inverse=True)
        old = self.M[words].astype(np.float64) @ self.U
        s = np.einsum("bd,bd->b", old[places], H)
        pull = 2 * s / (s**2 + self.epsilon)
        gradient = pull[:, None] * old[places] - 2 * QH / Z[:, None]
        change = np.eye(len(self.U)) - 2 * rate * (H / Z[:, None]).T @ H  # of all rows alike: O becomes O · change
        change[:, :-1] *= shrink
        added = np.zeros_like(old)
        np.add.at(added, places, rate * pull[:, None] * H)
        added[:, :-1] *= shrink
        before = old @ change
        self.Q = change.T @ self.Q @ change + (before + added).T @ (before + added) - before.T @ before
        self.U, self.inverse = self.U @ change, np.linalg.solve(change, self.inverse)
        self.M[words] += (added @ self.inverse).astype(self.M.dtype)
        if np.abs(self.inverse).max() > MAX_INVERSE:
            self.M = self.output()
            self.U, self.inverse, self.Q = np.eye(len(self.U)), np.eye(len(self.U)), self.M.T.astype(float) @ self.M
        return np.log(Z) - np.log(s**2 + self.epsilon), gradient


class Text(NamedTuple):
    """Examples of a text: targets (n,) and the two words before each (2, n), nearest first; V stands for no word."""

    targets: Array
    context: Array


def text_of(path: Path, ids: dict[str, int]) -> Text:
    """Return the examples of a text, whose lines are sentences that end with word 0; unknown words are left out."""
    lines = [[*(ids[word] for word in line.split() if word in ids), 0] for line in path.read_text("utf-8").splitlines()]
    targets = np.concatenate(lines)
    context = np.full((2, len(targets)), len(ids), np.int64)
    for back in (1, 2):
        place = np.concatenate([np.arange(len(line)) for line in lines])
        has = np.flatnonzero(place >= back)
        context[back - 1, has] = targets[has - back]
    return Text(targets, context)


class Model:
    """The input side of vLBL, R (V + 1, d) and position weights (2, d), with output rows. All float32."""

    def __init__(self, counts: Array, epsilon: float, seed: int) -> None:
        rng, V = np.random.default_rng(seed), len(counts)
        self.R = rng.uniform(-0.1, 0.1, (V + 1, DIMENSIONS)).astype(np.float32)
        self.R[V] = 0
        self.positions = np.ones((2, DIMENSIONS), np.float32)
        output = rng.uniform(-0.1, 0.1, (V, DIMENSIONS + 1)).astype(np.float32)
        output[:, -1] = np.sqrt(counts / counts.mean())  # then Σ s² starts near V, and p(w) near the frequency
        self.rows = Rows(output, epsilon)

    def hidden(self, context: Array) -> Array:
        """Return hidden vectors and their 1 (B, d + 1) of context words (2, B)."""
        return np.column_stack([(self.positions[:, None] * self.R[context]).sum(axis=0), np.ones(context.shape[1])])

    def learn(self, part: Text, rate: float, decay: float) -> float:
        """Train on a block, and return the sum of its losses."""
        shrink = (1 - rate * decay) ** len(part.targets)
        losses, gradient = self.rows.step(self.hidden(part.context), part.targets, rate, shrink)
        gradient = (rate * gradient[:, :-1]).astype(np.float32)
        inputs = self.R[part.context]
        self.R *= np.float32(shrink)
        for i in (0, 1):
            np.add.at(self.R, part.context[i], gradient * self.positions[i])
        self.R[-1] = 0
        self.positions += POSITION_RATE * (gradient * inputs).sum(axis=1)
        return float(losses.sum())

    def score(self, text: Text) -> tuple[float, float, float]:
        """Return the perplexity, and the shares of targets that rank first and among the first 10."""
        output, total, first, ten = self.rows.output(), 0.0, 0, 0
        for at in range(0, len(text.targets), 1024):
            targets = text.targets[at : at + 1024]
            p = (self.hidden(text.context[:, at : at + 1024]).astype(np.float32) @ output.T) ** 2 + self.rows.epsilon
            own = p[np.arange(len(targets)), targets]
            total -= float(np.log(own / p.sum(axis=1)).sum())
            rank = (p > own[:, None]).sum(axis=1)
            first, ten = first + int((rank == 0).sum()), ten + int((rank < 10).sum())
        n = len(text.targets)
        return float(np.exp(total / n)), first / n, ten / n


def train(model: Model, text: Text, epochs: int, rate: float, decay: float) -> None:
    """Train for epochs, with a rate that falls linearly, in blocks of consecutive examples in a random order."""
    starts, rng = np.arange(0, len(text.targets), BLOCK), np.random.default_rng(1)
    for epoch in range(epochs):
        for i, at in enumerate(rng.permutation(starts)):
            left = 1 - (epoch + i / len(starts)) / epochs
            part = Text(text.targets[at : at + BLOCK], text.context[:, at : at + BLOCK])
            model.learn(part, rate * max(left, 1e-4), decay)


def main() -> None:
    """Train and print scores of the validation and test text, and the CPU time."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("train", "valid", "test"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--alpha", type=float, default=0.08)
    parser.add_argument("--epsilon", type=float, default=0.3)
    parser.add_argument("--decay", type=float, default=1.5e-5)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    lines = given.train.read_text("utf-8").splitlines()
    counts = Counter(word for line in lines for word in line.split())
    ids = {"</s>": 0} | {word: i for i, (word, _) in enumerate(counts.most_common(), 1)}
    occurrences = np.array([len(lines), *(counts[word] for word in ids if word != "</s>")], np.float64)
    train_text, valid, test = (text_of(path, ids) for path in (given.train, given.valid, given.test))
    with one_thread():
        model = Model(occurrences, given.epsilon, given.seed)
        start = time.process_time()
        train(model, train_text, given.epochs, given.alpha, given.decay)
        seconds = time.process_time() - start
        for name, text in (("validation", valid), ("test", test)):
            perplexity, first, ten = model.score(text)
            print(f"{name}: perplexity {perplexity:.1f}, target first {first:.1%}, among 10 {ten:.1%}")
    n = given.epochs * len(train_text.targets)
    print(f"{seconds:.1f} CPU s of training, {1e6 * seconds / n:.1f} microseconds per example")


if __name__ == "__main__":
    main()
