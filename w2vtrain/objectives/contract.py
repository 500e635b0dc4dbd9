"""The interface of an objective: the attributes and methods that its class must have, and those that it may have.

There are two Protocols, one for each engine: `WindowObjective` and `BlockObjective`. The members that CONTRACTS lists
are required. Every other member is optional, and the Protocol's own body or value is its default. `verify` checks a
class against its Protocol and adds the defaults of the members that it omits. This module computes no loss and names no
objective.

Methods marked "Compiled" become part of the window kernel. Numba matches their arguments by name, so an objective must
use the argument names given here.

Notation: h (width,) is a hidden vector, o_v (width,) the output row of word v, and s_v = o_v·h its score or logit. Z is
the sum of exp(s_v) over the V words of the vocabulary. An example is one hidden vector and its target word; B is the
number of examples in a block. With biases, width is one more than the vector size.
"""

import inspect
import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import numpy as np

from w2vtrain.config import validated
from w2vtrain.errors import ConfigError, shown
from w2vtrain.kernels.jit import compile_methods
from w2vtrain.probability.dense import RowScorer, Workspace
from w2vtrain.probability.problem import Arrays, Options, Problem
from w2vtrain.registry import Contract, breach, check_names

TUNED_ARCHITECTURES = ("skipgram", "cbow", "cbow-corrected")
"""The architectures that DEFAULTS must list. Any other architecture may reuse the settings of one of these."""

MAX_CHECKED_STREAMS, MAX_CHECKED_CANDIDATES = 25, 10_000
"""Random streams from which `check_candidates` draws; it draws from no further one after so many candidates, which take
50 ms."""

NEEDED = ("alpha", "shuffle")
"""The settings that DEFAULTS must give for each architecture; `block`, the examples per step, is optional."""


def rates(block: int | None = None, **alphas: float) -> dict[str, dict[str, Any]]:
    """Return DEFAULTS with these learning rates by the architecture's name, with _ for -, and with shuffling.

    block: examples per step, for all architectures.
    """
    more = {} if block is None else {"block": block}
    return {name.replace("_", "-"): {"alpha": alpha, "shuffle": True, **more} for name, alpha in alphas.items()}


class Window(NamedTuple):
    """The context of one target word.

    context (n,) int32: the context words; the first `left` of them come before the target, the others after it. The
    array may be longer than n; the extra elements have no meaning.
    """

    context: np.ndarray
    n: int
    left: int


class Contexts(NamedTuple):
    """The context words that the hidden vectors of B examples are made from.

    Example b has the context words[starts[b] : starts[b] + sizes[b]], in the order of the text: one word with
    skip-gram, otherwise all context words of its window. words (n,) int32; starts (B,) int64; sizes (B,) int32, 1 or
    more.
    """

    words: np.ndarray
    starts: np.ndarray
    sizes: np.ndarray


class Candidates(NamedTuple):
    """The m output rows that one target is scored against, as `candidates` wrote them. All arrays are longer than m.

    rows int32: row indices. labels float32: usually 1 for the target and 0 for a noise word. shifts float32: what
    `errors` subtracts from each logit; zeros unless `candidates` sets them.
    """

    rows: np.ndarray
    labels: np.ndarray
    shifts: np.ndarray
    m: int


class Objective(Protocol):
    """The members that both kinds of objective share. The keyword arguments of `build` are the objective's options."""

    engine: str = "windows"
    rowless: bool = False  # True if there are no output rows
    needs_text: bool = False  # True if `build` needs the text, which walks over a graph do not store

    check: Callable[[Options], None] | None = None
    """Class method (options): raise ConfigError for invalid options. It must not open files or allocate memory in
    proportion to an option, because a model file from an untrusted source names its own options. It is called before
    `build`. If this is None, options are checked by building the objective for a vocabulary of two words."""
    check_files: Callable[[Options], None] | None = None
    """Class method (options): read the files that options name; raise InputMissing or DataError if that fails."""

    @staticmethod
    def blends(architecture: str) -> bool:
        """Return True if blends of input and output vectors are better word vectors, trained on a large text.

        architecture: its name. See architectures.contract, `Blend`. There must be one output row per word.
        """
        return False

    @staticmethod
    def is_language_model() -> bool:
        """Return whether it learns probabilities: its scores are their logarithms, up to log Z. Default: True."""
        return True

    @classmethod
    def build(cls, problem: Problem, **options: Any) -> Any:
        """Return an instance for a problem. Raise ConfigError for an option that is out of range."""
        raise NotImplementedError

    @classmethod
    def scorer(cls, problem: Problem, options: Options, output: np.ndarray, arrays: Arrays) -> Any:
        """Return a `Scorer` for a trained model.

        output (rows, width): the model's output rows. arrays: its other arrays, among them those that `arrays`
        returned in training. Raise DataError if the arrays do not fit each other, the words or the options: the file is
        damaged. By default each word has one output row, and s_w = o_w·h.
        """
        return RowScorer(output)

    def arrays(self) -> Arrays:
        """Return the arrays that the model file stores besides the output rows, by name. Default: none.

        A learned array has the same name as in `learned` or `parameters`, and is the same object.
        """
        return {}

    def structure(self) -> tuple[str, ...]:
        """Return the names of those of `arrays` that say what output rows stand for, such as a tree. Default: none.

        They follow from the words and counts, and what was learned fits no others.
        """
        return ()

    def network_arrays(self) -> tuple[str, ...]:
        """Return the names of learned arrays whose rows belong to letters, not to words. Default: none.

        If there are any, a run can start only from a model whose words have the same letters. In all other learned
        arrays with as many rows as there are words, row i belongs to word i.
        """
        return ()

    @classmethod
    def can_grow(cls, options: Options) -> bool:
        """Return True if what was learned fits a vocabulary to which words are added, and whose order has changed.

        Each learned array must have one row per word, or no row that belongs to a word: see `network_arrays`. Default:
        True if there is one output row per word.
        """
        return has_word_rows(cls)

    def untrained_loss(self) -> float:
        """Return the most that the mean loss per example can be if all scores are 0. Default: inf, if it is unknown.

        A run that ends with a higher loss is reported: it has learned less than nothing.
        """
        return math.inf

    def optimum(self, P: np.ndarray) -> np.ndarray | None:
        """Return the probabilities that training converges to, (C, V), or None if they are unknown. Default: P itself.

        P (C, V): P(w|h) in C contexts of a text, positive. The result is compared with the scorer's `log_probs` by
        `objectives check`. An objective whose scores are not log-probabilities, or are smoothed, returns what theory
        gives.
        """
        return P


class WindowObjective(Objective, Protocol):
    """An objective that scores a handful of output rows per target: a NamedTuple of arrays and numbers.

    Its type determines what is compiled, so the loop over windows does not branch on the objective. Threads share its
    arrays, so its methods must change only those that `learned` returns and those that `for_threads` makes anew.
    """

    @property
    def candidate_limit(self) -> int:
        """The largest number of candidates that a target can have."""
        raise NotImplementedError

    @staticmethod
    def shares_noise() -> bool:
        """Return True if the candidates after the target are noise words that suit other targets, too.

        With pv-dbow, some consecutive words of a document then share them. They need the label 0, and all shifts must
        be 0. Default: False.
        """
        return False

    def output_rows(self, size: int) -> int:
        """Return the number of output rows for a vocabulary of `size` words. Default: one per word."""
        return size

    def learned(self) -> Arrays:
        """Return the arrays that `errors` changes, by name. Default: none."""
        return {}

    def initial_bias(self, problem: Problem) -> np.ndarray | None:
        """Return the initial biases (rows,), or None for zeros."""
        return None

    def hot_rows(self, rows: int) -> range:
        """Return the hot rows: the output rows that change most often, as a range with the hottest first.

        Each thread gets its own replicas of them. The rows must be consecutive (step 1 or -1). Default: none.
        """
        return range(0)

    def draws(self, targets: np.ndarray) -> np.ndarray:
        """Return how often each output row is a candidate of a target on average, (rows,) float64.

        targets (V,): the probability that a target is each word. The ranks of a distributed run exchange rows by it,
        the most frequent ones most often. Default: one row per word, which is a candidate if it is the target.
        """
        return targets

    def for_threads(self, threads: int) -> list[Any]:
        """Return an instance for each thread, with its own copies of the arrays that `begin` and `candidates` change.

        Default: the same instance for all.
        """
        return [self] * threads

    def candidates(self, sentence, position, rng, rows, labels, shifts):
        """Compiled. Write the candidates of the target sentence[position]; return their number m.

        rows int32, labels float32 and shifts float32 have at least candidate_limit elements each; shifts are zeros at
        first. rng[0] is the state of the random stream; rng[1] is for the objective's own use within a chunk.
        """
        raise NotImplementedError

    def errors(self, logits, window, candidates, lr):
        """Compiled. Replace each logit by lr times its coefficient, in place; return the summed loss.

        logits float32 has one row per hidden vector and more than m columns. With skip-gram, row i belongs to the
        context word window.context[i]; with CBOW, the only row belongs to all window.n context words. The coefficient
        of output row r is -dL/ds_r.
        """
        raise NotImplementedError

    def distinct(self):
        """Compiled. Return True if a target's candidates never contain a row twice. Default: False."""
        return False

    def in_turn(self):
        """Compiled. Return True to update a window's hidden vectors in sequence rather than all at once.

        In sequence, each hidden vector is updated from the output rows that the previous one has changed. Default:
        False, which updates all of them from the old values.
        """
        return False

    def prefetched(self, rows, m):
        """Compiled. Return (first, end): rows[first:end] of the candidates' rows (m,) are worth prefetching.

        Default: all of them.
        """
        return 0, m

    def begin(self, rng):
        """Compiled. Draw what the targets of a chunk share. rng: as for `candidates`. Default: nothing."""


class BlockObjective(Objective, Protocol):
    """An objective that scores many output rows, or all of them, with matrix products over blocks of examples.

    All threads share one instance, so `step` must not change anything on `self` except parameters and `state`.
    """

    engine: str = "blocks"
    state: Mapping[str, np.ndarray] = MappingProxyType({})  # what `step` accumulates besides parameters
    gradients: Callable[..., Any] | None = None
    """Method (H, targets, work) -> (loss, -dL/dH, -dL/dparameter by name), for checking gradients. It is needed only if
    a step is not -lr dL/dparameter, as with AdaGrad."""

    @property
    def output(self) -> np.ndarray:
        """The output rows for the model file, (rows, width); zero rows if there are none. May be a plain attribute."""
        raise NotImplementedError

    def refresh(self) -> None:
        """Recompute what depends on the parameters, after they were replaced by those of a model. Default: nothing."""

    def step(self, H: np.ndarray, targets: np.ndarray, lr: float, work: Workspace) -> tuple[float, np.ndarray]:
        """Train on one block; return its summed loss and -dL/dH (B, width), both computed from the old parameters.

        H (B, width): hidden vectors. targets (B,): target words. Each parameter changes in place by -lr dL/dparameter.
        NaN in H must make the loss NaN, so that divergence is noticed. work: the thread's random stream, the word
        before each target, and reusable memory.
        """
        raise NotImplementedError

    def parameters(self) -> Arrays:
        """Return all learned arrays by name: the arrays themselves, not copies."""
        raise NotImplementedError

    def decayed(self) -> list[np.ndarray]:
        """Return the matrices that weight decay shrinks, except for a last column of biases. Default: "output"."""
        return [array for name, array in self.parameters().items() if name == "output"]


class Scorer(Protocol):
    """An object that scores targets with a trained model; training.perplexity.score uses it."""

    raw: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None
    """Method (H, targets) -> unnormalized log-scores (B,) without log Z. It makes scoring with skip-gram much faster,
    because log Z is then computed only once per context word."""
    affordable: int = 0
    """If log Z is expensive: the number of examples for which it can be computed in reasonable time. Its mean over a
    text is then estimated from a random sample of that size. 0 means that log Z is cheap."""
    given: Callable[[Contexts], Any] | None = None
    """Method (contexts) -> a `Scorer` with the same members for B examples with these contexts, which is then called
    with H and targets of these examples only. Needed only if the scores depend on the context words in more ways than
    through H: `nce` may learn one log Z per context."""

    def scores(self, H: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the unnormalized log-scores (B,) of targets (B,) and log Z (B,), for hidden vectors H (B, width)."""
        raise NotImplementedError

    def log_prob(self, H: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Return log P(target|h), (B,), computed in the cheapest way that the objective has."""
        raise NotImplementedError

    def log_probs(self, H: np.ndarray) -> np.ndarray:
        """Return log P(w|h) for all words, (B, V), exactly normalized."""
        raise NotImplementedError


SCORER = Contract(Scorer, ("scores", "log_prob", "log_probs"))
COMPILED = ("candidates", "errors", "distinct", "in_turn", "prefetched", "begin")
CONTRACTS = {
    "windows": Contract(
        WindowObjective, ("build", "candidate_limit", "candidates", "errors"), COMPILED, named_tuple=True
    ),
    "blocks": Contract(BlockObjective, ("build", "output", "step", "parameters")),
}
compile_methods(WindowObjective, COMPILED)


def verify(module: Any, subject: str) -> None:
    """Check a module's OBJECTIVE and DEFAULTS, and add defaults to the class. Raise ConfigError for a violation.

    subject: how messages name the module.
    """
    cls, defaults = module.OBJECTIVE, module.DEFAULTS
    engine = getattr(cls, "engine", "windows")
    if engine not in tuple(CONTRACTS):
        raise breach(cls, subject, f"has engine {shown(engine)}; expected {' or '.join(CONTRACTS)}")
    CONTRACTS[engine].verify(cls, subject)
    if any(map(cls.blends, TUNED_ARCHITECTURES)) and not has_word_rows(cls):
        raise breach(cls, subject, "returns True from blends, but does not have one output row per word")
    for option in list(inspect.signature(cls.build).parameters.values())[1:]:
        if option.kind is not option.KEYWORD_ONLY or type(option.default) not in (bool, int, float, str):
            need = "needs build(cls, problem, *, ...) with a number, a string, True or False as the default of"
            raise breach(cls, subject, f"{need} {option.name}")
    _verify_defaults(defaults, subject)


def has_word_rows(cls: Any) -> bool:
    """Return whether an objective's class has one output row per word, as `rowless` and `output_rows` tell."""
    default = WindowObjective.output_rows
    return not cls.rowless and getattr(cls, "output_rows", default) is default


def _verify_defaults(defaults: Any, subject: str) -> None:
    """Raise ConfigError if a required setting is missing, unknown or invalid."""
    if not (isinstance(defaults, Mapping) and all(isinstance(chosen, Mapping) for chosen in defaults.values())):
        raise ConfigError(f"{subject}: DEFAULTS must map each architecture to its settings")
    for name in dict.fromkeys([*TUNED_ARCHITECTURES, *defaults]):
        chosen = defaults.get(name, {})
        if missing := [key for key in NEEDED if key not in chosen]:
            raise ConfigError(f"{subject}: DEFAULTS[{name!r}] has no {missing[0]!r}")
        if unknown := chosen.keys() - {*NEEDED, "block"}:
            raise ConfigError(f"{subject}: DEFAULTS[{name!r}] has {min(unknown)!r}; expected alpha, shuffle or block")
        try:
            validated(chosen)
        except ConfigError as error:
            raise ConfigError(f"{subject}: DEFAULTS[{name!r}]: {error}") from None


def check_candidates(objective: Any, size: int) -> int:
    """Draw candidates for 16 words of a vocabulary of `size` words. Return the most that one of them has.

    Raise ConfigError if they are not rows of the output matrix: kernels would read and write memory outside of it. One
    draw would rarely contain a row that is only just outside.
    """
    objective = objective.for_threads(1)[0]
    limit, end = objective.candidate_limit, objective.output_rows(size)
    rows, spare = np.zeros(limit + 16, np.int32), np.zeros((2, limit + 16))
    sentence, most, drawn = np.linspace(0, size - 1, 16).astype(np.int32), 0, 0
    for seed in range(1, MAX_CHECKED_STREAMS + 1):
        stream = np.array([seed, 7], np.uint64)
        with np.errstate(over="ignore"):  # the random stream wraps around
            objective.begin(stream)
            stream[1] = stream[0]
            for position in range(len(sentence)):
                spare[1] = 0
                try:
                    m = objective.candidates(sentence, position, stream, rows, *spare)
                except Exception as error:  # such as an index beyond candidate_limit, which kernels do not notice
                    raise ConfigError(f"`candidates` fails: {type(error).__name__}: {error}") from error
                if not 0 <= m <= limit:
                    raise ConfigError(f"`candidates` returns {m}; its candidate_limit is {limit}")
                outside = rows[:m][(rows[:m] < 0) | (rows[:m] >= end)]
                if len(outside):
                    raise ConfigError(f"`candidates` writes row {outside[0]}; the output rows are 0 to {end - 1}")
                most, drawn = max(most, m), drawn + m
        if drawn > MAX_CHECKED_CANDIDATES:
            break
    return most


def _changing(instance: Any) -> Arrays:
    """Return the arrays that training changes."""
    return {
        name: array for method in ("learned", "parameters") for name, array in getattr(instance, method, dict)().items()
    }


def verify_built(instance: Any, engine: str, subject: str) -> None:
    """Raise ConfigError if an instance that `build` returned violates the contract of its engine."""
    CONTRACTS[engine].verify_built(instance, subject)
    limit = getattr(instance, "candidate_limit", 1)
    if not (isinstance(limit, (int, np.integer)) and limit > 0):
        raise breach(type(instance), subject, f"has candidate_limit {shown(limit)}; expected 1 or more")
    arrays, changing, again = instance.arrays(), _changing(instance), _changing(instance)
    check_names([*arrays, *getattr(instance, "learned", dict)()], subject)
    names = {id(array): name for name, array in arrays.items()}
    for name, array in changing.items():
        if array.size and not np.may_share_memory(array, again[name]):  # training would change another copy
            raise breach(type(instance), subject, f"returns a copy of the learned array {name!r}, not the array itself")
        if (other := names.get(id(array), name)) != name:  # checkpoints and ranks would take it for two arrays
            raise breach(type(instance), subject, f"names an array both {name!r} and {other!r}; use one name")
