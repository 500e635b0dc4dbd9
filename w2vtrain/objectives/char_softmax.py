"""Softmax over letters: a small recurrent network spells the target word (Ling et al. 2015).

It stores no output row for any word.
"""

import numpy as np

from w2vtrain.errors import shown
from w2vtrain.kernels.layers import UNITS
from w2vtrain.objectives.contract import rates
from w2vtrain.probability.characters import END, CharacterDecoder, shapes, spell
from w2vtrain.probability.dense import Workspace, log_softmax, log_sum_exp
from w2vtrain.probability.problem import Arrays, Options, Problem, bad_option, check_ranges, damaged

GROUP = "structure"
DEFAULTS = rates(skipgram=0.05, cbow=0.05, cbow_corrected=0.05, vlbl=0.07, block=64)

ADAGRAD_DAMPING = 100.0
"""Added to AdaGrad's sums of squared gradients, which are sums over a block. With less, the first steps overshoot."""
HIDDEN_VECTORS_AT_ONCE = 16
"""Hidden vectors for which all words are spelled at a time: at most HIDDEN_VECTORS_AT_ONCE *
characters.WORDS_PER_TRIE states are in memory."""
TARGETS_AT_ONCE = 256
"""Hidden vectors whose target words are spelled at a time in scoring."""
MAX_LOG_Z_STATES = 12_000_000
"""Maximum number of states computed to estimate the mean of log Z: about 15 s on one core with 128 units."""
MIN_LOG_Z_VECTORS, MAX_LOG_Z_VECTORS = 8, 512
"""Limits of the number of hidden vectors whose log Z is computed for this estimate."""


class CharScorer:
    """Probabilities of spelled words, computed by a trained network."""

    def __init__(self, network: CharacterDecoder) -> None:
        self.network = network

    @property
    def affordable(self) -> int:
        """The number of hidden vectors whose log Z can be computed in reasonable time.

        For each log Z, the network must spell the whole vocabulary. The larger that is, the fewer are affordable.
        """
        return max(MIN_LOG_Z_VECTORS, min(MAX_LOG_Z_VECTORS, MAX_LOG_Z_STATES // self.network.prefixes))

    def scores(self, H: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return log P(spelling of the target|h), (B,), and log Σ_v P(spelling of v|h) over the V words, (B,)."""
        raw, log_z = np.empty(len(H), H.dtype), np.empty(len(H), H.dtype)
        for first in range(0, len(H), HIDDEN_VECTORS_AT_ONCE):
            block = slice(first, first + HIDDEN_VECTORS_AT_ONCE)
            spelled = self.network.all_words(H[block])
            raw[block] = spelled[np.arange(len(spelled)), targets[block]]
            log_z[block] = log_sum_exp(spelled)
        return raw, log_z

    def log_prob(self, H: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Return log P(spelling of the target|h), (B,), which is normalized over all strings, not the vocabulary."""
        result, work = np.empty(len(H), H.dtype), Workspace()
        for first in range(0, len(H), TARGETS_AT_ONCE):
            block = slice(first, first + TARGETS_AT_ONCE)
            result[block] = self.network.log_prob(H[block], targets[block], work)
        return result

    raw = log_prob

    def log_probs(self, H: np.ndarray) -> np.ndarray:
        result = np.empty((len(H), len(self.network.lengths)), H.dtype)
        for first in range(0, len(H), HIDDEN_VECTORS_AT_ONCE):
            block = slice(first, first + HIDDEN_VECTORS_AT_ONCE)
            result[block] = log_softmax(self.network.all_words(H[block]))
        return result


class CharSoftmax(CharScorer):
    """L = -log P(w|h), P(w|h) = Π_t P(c_t|c_<t, h) over the letters c_1 ... c_T of w, the last of which is its end.

    Ling, Trancoso, Dyer & Black 2015, "Character-based neural machine translation", which spells words with a recurrent
    network; Ling et al. 2016, "Latent predictor networks for code generation"; Ruder 2016, "Approximating the softmax".

    Letters are bytes of UTF-8. The network is a gated recurrent unit (Cho et al. 2014) or an LSTM (Hochreiter &
    Schmidhuber 1997) with forget gates: s_1 = tanh(W h), s_t+1 = unit(s_t, c_t), P(c_t|...) = softmax(U s_t + b). The
    LSTM's memory starts as W h, and its forget gates are biased by 1. The reset gate of the gated unit is applied after
    the matrix product rather than before, so that each step needs only one product. Feeding h into every step was tried
    and did not help.

    cell: gru or lstm. units: the number of units. char_dim: dimensions of a letter. net_rate: AdaGrad's learning rate
    for the network, as a multiple of the learning rate.

    P is normalized over all strings, so strings outside the vocabulary have some of the probability. `log_prob` does
    not correct for this; `log_probs` and the log Z of `scores` normalize exactly over the vocabulary, which takes one
    step of the network for every distinct prefix of the words: 28,000 per hidden vector for 10,000 English words.

    Words with the same first 32 bytes share a spelling. Each has the full probability of the
    spelling, which is not divided among them, and log Z counts it once for each.
    """

    engine, rowless = "blocks", True

    def __init__(self, network: CharacterDecoder, net_rate: float) -> None:
        super().__init__(network)
        self.theta, self.net_rate = network.theta, net_rate
        self.state = {name: np.zeros_like(array) for name, array in self.theta.items()}
        self.output = np.zeros((0, len(self.theta["start"])), self.theta["start"].dtype)

    @classmethod
    def build(
        cls, problem: Problem, *, cell: str = "gru", units: int = 128, char_dim: int = 32, net_rate: float = 4.0
    ) -> "CharSoftmax":
        """Start the weights of h near 0, so that the network first learns to spell words in general."""
        unit, spelling = UNITS[cell], spell(problem.words)
        rng = np.random.default_rng([problem.seed, 1])
        inverse_root = units**-0.5
        deviations = {
            "start": 0.1,
            "embeddings": 1.0,
            "inputs": char_dim**-0.5,
            "recurrent": inverse_root,
            "readout": inverse_root,
        }
        theta: Arrays = {}
        for name, shape in shapes(unit, units, problem.width, char_dim, spelling.size - END).items():
            start = rng.standard_normal(shape) * deviations[name] if name in deviations else np.zeros(shape)
            theta[name] = np.asarray(start, problem.dtype)
        theta["offsets"][:] = np.repeat(unit.offsets, units)
        return cls(CharacterDecoder(unit, theta, spelling), net_rate)

    @classmethod
    def check(cls, options: Options) -> None:
        if (cell := options["cell"]) not in UNITS:
            raise bad_option("char-softmax", "cell", f"expected {' or '.join(UNITS)}, got {shown(cell)}")
        check_ranges("char-softmax", units=(options["units"], 1, 4096), char_dim=(options["char_dim"], 1, 4096))
        check_ranges("char-softmax", "{:g} is not between {} and {}", net_rate=(options["net_rate"], 0, 1000))

    def parameters(self) -> Arrays:
        """Return the network for the model file. Its letters need not be stored, because the words determine them."""
        return {f"char.{name}": array for name, array in self.theta.items()}

    arrays = parameters

    def network_arrays(self) -> tuple[str, ...]:
        return tuple(self.parameters())

    @classmethod
    def can_grow(cls, options: Options) -> bool:
        """Return True: the network belongs to letters, not to words."""
        return True

    @classmethod
    def scorer(cls, problem: Problem, options: Options, output: np.ndarray, arrays: Arrays) -> CharScorer:
        theta = {name[5:]: array for name, array in arrays.items() if name.startswith("char.")}
        spelling, unit = spell(problem.words), UNITS[options["cell"]]
        expected = shapes(unit, options["units"], problem.width, options["char_dim"], spelling.size - END)
        actual = {name: array.shape for name, array in theta.items()}
        if actual != expected or len({array.dtype for array in theta.values()} | {output.dtype}) > 1:
            raise damaged("network does not fit its options")
        return CharScorer(CharacterDecoder(unit, theta, spelling))

    def step(self, H: np.ndarray, targets: np.ndarray, lr: float, work: Workspace) -> tuple[float, np.ndarray]:
        loss, dH, slopes = self.network.gradients(H, targets, work)
        if lr:
            for name, slope in slopes.items():
                self.state[name] += slope**2
                self.theta[name] += lr * self.net_rate * slope / np.sqrt(self.state[name] + ADAGRAD_DAMPING)
        return loss, dH

    def gradients(self, H: np.ndarray, targets: np.ndarray, work: Workspace) -> tuple[float, np.ndarray, Arrays]:
        loss, dH, slopes = self.network.gradients(H, targets, work)
        return loss, dH, {f"char.{name}": slope for name, slope in slopes.items()}


OBJECTIVE = CharSoftmax
