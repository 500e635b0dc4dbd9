"""What an objective must have and may have, as two Protocols whose bodies are the defaults.

`verify` checks a class against its Protocol and gives it the defaults of the members that it leaves out. Nothing here
computes a loss, and no objective is named here.

Methods that are marked "compiled" become part of the window kernel. Numba matches their arguments by name, so an
objective must name them as the Protocol does.
"""

import inspect
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import numpy as np

from w2vtrain.config import validated
from w2vtrain.errors import ConfigError, shown
from w2vtrain.kernels.jit import compile_methods
from w2vtrain.probability.dense import RowScorer, Workspace
from w2vtrain.probability.problem import Problem
from w2vtrain.registry import Contract, check_names, described

ARCHITECTURES = ("skipgram", "cbow", "cbow-corrected")
"""The architectures for which every objective names its rate in DEFAULTS; others may take one of theirs."""

NEEDED = ("alpha", "shuffle")
"""The settings that every objective names for each of them; `block` is optional."""


class Window(NamedTuple):
    """The context of one target: the words context (n,) int32, of which the first `left` come before the target.

    More elements than n may follow in the array; they have no meaning.
    """

    context: np.ndarray
    n: int
    left: int


class Candidates(NamedTuple):
    """The output rows that one target is scored against, m of them; all arrays are longer than m.

    rows int32: row numbers; labels float32; shifts float32: what is subtracted from each logit, zeros unless the
    objective's `candidates` sets them.
    """

    rows: np.ndarray
    labels: np.ndarray
    shifts: np.ndarray
    m: int


class Objective(Protocol):
    """What both kinds of objective have. Options are the keyword arguments of `build`, with their defaults."""

    engine: str = "windows"
    rowless: bool = False  # True if there are no output rows

    check: Callable[[dict[str, Any]], None] | None = None
    """Class method (options): raise ConfigError for wrong options. It opens no file and takes no memory, since models
    may come from anywhere. By default options are checked by building for a vocabulary of two words."""
    check_files: Callable[[dict[str, Any]], None] | None = None
    """Class method (options): read the files that options name; InputMissing or DataError."""

    @classmethod
    def build(cls, problem: Problem, **options: Any) -> Any:
        """Return an instance for a problem; ConfigError for an option that is out of its range."""
        raise NotImplementedError

    @classmethod
    def scorer(
        cls, problem: Problem, options: dict[str, Any], output: np.ndarray, arrays: dict[str, np.ndarray]
    ) -> Any:
        """Return what scores targets with a trained model: see training.perplexity.score.

        output (rows, width) and arrays are the model's. By default each word has one output row: s_w = o_w·h.
        """
        return RowScorer(output)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays that the model file keeps beside the output rows, by name; by default none."""
        return {}


class WindowObjective(Objective, Protocol):
    """An objective that scores a handful of output rows per target; a NamedTuple of arrays and numbers.

    Its type decides what is compiled, so that the loop over windows has no branch. `self` must not keep state that
    threads would share, except in the arrays that `learned` names.
    """

    @property
    def candidate_limit(self) -> int:
        """The largest number of candidates that a target can have."""
        raise NotImplementedError

    def output_rows(self, size: int) -> int:
        """Return the number of output rows for a vocabulary of `size` words; by default one per word."""
        return size

    def learned(self) -> dict[str, np.ndarray]:
        """Return the arrays that `errors` changes, by name; by default none."""
        return {}

    def initial_bias(self, problem: Problem) -> np.ndarray | None:
        """Return what biases start from, (rows,), or None for zeros."""
        return None

    def hot_rows(self, rows: int) -> range:
        """Return the output rows that change all the time, the hottest first; each thread gets replicas of them."""
        return range(0)

    def candidates(self, sentence, position, rng, rows, labels, shifts):
        """Compiled. Write the candidates of the target sentence[position], and return their number m.

        rows int32, labels float32, shifts float32 (they start as zeros): at least candidate_limit elements each. rng:
        rng[0] is the state of the random stream, rng[1] is for the objective's own use within a chunk.
        """
        raise NotImplementedError

    def errors(self, logits, window, candidates, lr):
        """Compiled. Replace each logit by lr times its coefficient, in place; return the summed loss.

        logits (lines, more than m) float32, one line per hidden vector: with skip-gram line i is that of the context
        word window.context[i], with CBOW the one line is that of all window.n. The coefficient of row r is -dL/ds_r.
        """
        raise NotImplementedError

    def distinct(self):
        """Compiled. Return True if no row appears twice among a target's candidates; by default False."""
        return False

    def in_turn(self):
        """Compiled. Return True to learn the hidden vectors of a window one after the other.

        By default False: all of them learn from the old values.
        """
        return False

    def prefetch_from(self, rows, m):
        """Compiled. Return the first of the candidates rows (m,) whose row is hardly in the cache; by default 0."""
        return 0


class BlockObjective(Objective, Protocol):
    """An objective that scores many output rows or all of them; it learns blocks of examples as matrix products.

    Threads share an instance: `step` keeps nothing on `self` but parameters and `state`.
    """

    engine: str = "blocks"
    state: Mapping[str, np.ndarray] = MappingProxyType({})  # what learning adds up beside parameters (accumulators)
    gradients: Callable[..., Any] | None = None
    """(H, targets, work) -> (loss, -dL/dH, -dL/dparameter by name), if a step is not -lr times the slope (AdaGrad)."""

    @property
    def output(self) -> np.ndarray:
        """The output rows for the model file, (rows, width); no rows if it has none."""
        raise NotImplementedError

    def step(self, H: np.ndarray, targets: np.ndarray, lr: float, work: Workspace) -> tuple[float, np.ndarray]:
        """Learn a block; return its summed loss and -dL/dH (B, width), by the old parameters.

        H (B, width) are the hidden vectors, targets (B,) the words. Parameters change by -lr dL/dparameter. `work`
        has the random stream, the words before the targets, and memory to use again.
        """
        raise NotImplementedError

    def parameters(self) -> dict[str, np.ndarray]:
        """Return everything that is learned, by name: the arrays themselves."""
        raise NotImplementedError

    def decayed(self) -> list[np.ndarray]:
        """Return the matrices that weight decay shrinks, but for a last column of biases; by default "output"."""
        return [array for name, array in self.parameters().items() if name == "output"]


class Scorer(Protocol):
    """What scores targets with a trained model: training.perplexity.score."""

    raw: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None
    """(H, targets) -> log-scores (B,) alone. With it, text is scored much faster if log Z is known by context word."""
    affordable: int = 0
    """If log Z is dear: the number of examples for which it is computed in reasonable time. 0: it is not dear."""

    def scores(self, H: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return unnormalized log-scores (B,) and log Z (B,) of hidden vectors H (B, width) and targets (B,)."""
        raise NotImplementedError

    def log_prob(self, H: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Return log P(target|h), (B,), in the cheapest way that the objective has."""
        raise NotImplementedError

    def log_probs(self, H: np.ndarray) -> np.ndarray:
        """Return log P(w|h) of all words, (B, V), exactly normalized."""
        raise NotImplementedError


SCORER = Contract(Scorer)
COMPILED = ("candidates", "errors", "distinct", "in_turn", "prefetch_from")
CONTRACTS = {
    "windows": Contract(WindowObjective, COMPILED, named_tuple=True),
    "blocks": Contract(BlockObjective),
}
compile_methods(WindowObjective, COMPILED)


def verify(module: Any, what: str) -> None:
    """ConfigError for a module whose OBJECTIVE or DEFAULTS are not as this contract says."""
    cls, defaults = module.OBJECTIVE, module.DEFAULTS
    engine = getattr(cls, "engine", "windows")
    if engine not in tuple(CONTRACTS):
        raise ConfigError(f"{described(cls, what)} has engine {shown(engine)}; it can be {' or '.join(CONTRACTS)}")
    CONTRACTS[engine].verify(cls, what)
    for option in list(inspect.signature(cls.build).parameters.values())[1:]:
        if option.kind is not option.KEYWORD_ONLY or type(option.default) not in (bool, int, float, str):
            raise ConfigError(
                f"{described(cls, what)} needs build(cls, problem, *, ...) with a number, a text, True or False as the"
                f" default of {option.name}"
            )
    _verify_defaults(defaults, what)


def _verify_defaults(defaults: Any, what: str) -> None:
    """ConfigError for a table that lacks a setting, or has one that no settings file could have."""
    if not (isinstance(defaults, Mapping) and all(isinstance(chosen, Mapping) for chosen in defaults.values())):
        raise ConfigError(f"{what}: DEFAULTS must be a table of settings by architecture")
    for name in dict.fromkeys([*ARCHITECTURES, *defaults]):
        chosen = defaults.get(name, {})
        if missing := [key for key in NEEDED if key not in chosen]:
            raise ConfigError(f"{what}: DEFAULTS[{name!r}] has no {missing[0]!r}")
        if unknown := chosen.keys() - {*NEEDED, "block"}:
            raise ConfigError(f"{what}: DEFAULTS[{name!r}] has {min(unknown)!r}; it can have alpha, shuffle and block")
        try:
            validated(chosen)
        except ConfigError as error:
            raise ConfigError(f"{what}: DEFAULTS[{name!r}]: {error}") from None


def verify_built(instance: Any, engine: str, what: str) -> None:
    """ConfigError for an instance that is not as this contract says."""
    CONTRACTS[engine].verify_built(instance, what)
    limit = getattr(instance, "candidate_limit", 1)
    if not (isinstance(limit, (int, np.integer)) and limit > 0):
        raise ConfigError(f"{described(type(instance), what)} has candidate_limit {shown(limit)}, not a number from 1")
    check_names([*instance.arrays(), *getattr(instance, "learned", dict)()], what)
