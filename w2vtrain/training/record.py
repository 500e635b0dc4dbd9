"""Build a model's record: the text that was read, each epoch, the seconds of each phase, the machine and the versions.

This module measures only the peak memory of the process, and decides nothing.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar

from w2vtrain.engines.base import Weights
from w2vtrain.system.machine import machine, peak_memory, versions
from w2vtrain.text.encoded import EncodedCorpus
from w2vtrain.training.state import Epoch, PerplexityScore, State

MAX_RECORDS = 1000
"""Maximum number of epochs that a record keeps: a run may have a million, and every checkpoint stores the record."""

T = TypeVar("T")


@dataclass
class Record:
    """The record of a run while it is being built.

    epochs: one entry per epoch in JSON types, at most MAX_RECORDS; seconds: time by phase, in order;
    init_from: what the run started from, see `WarmStart.copy_to`; empty for new weights.
    """

    epochs: list[dict[str, Any]] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    init_from: dict[str, Any] = field(default_factory=dict)

    def add(self, epoch: Epoch, spent: float, heldout: PerplexityScore | None) -> None:
        """Add an epoch. spent: seconds of training so far; heldout: the epoch's score, or None."""
        entry = {**asdict(epoch), "elapsed": spent}
        if heldout:
            entry["heldout"] = asdict(heldout)
        self.epochs = list(bounded([*self.epochs, entry]))

    def finished(
        self, ids: EncodedCorpus, state: State, parameters: int, vectors: str, share: float, best_epoch: int | None
    ) -> dict[str, Any]:
        """Return the record of a run that ended in `state`, as JSON types.

        parameters: the number of output parameters; vectors: "blend" or "in", see `Model.vectors`; share: of the
        output vectors in a blend; best_epoch: counted from 1, None without held-out text.
        """
        record = {
            "corpus": ids.stats.to_json(),
            "vocabulary": {"size": len(ids.vocabulary), "words": ids.words},
            "epochs": self.epochs,
            "seconds": self.seconds,
            "words_per_second": state.passed / max(state.spent, 1e-9),
            "words_per_cpu_second": state.timed / state.cpu if state.cpu else None,
            "output_parameters": parameters,
            "vectors": vectors,
            "blend_share": share,
            "peak_memory_bytes": peak_memory(),
            "machine": machine(),
            "versions": versions(),
        }
        if self.init_from:
            record["init_from"] = self.init_from
        return record if best_epoch is None else {**record, "best_epoch": best_epoch}


def bounded(records: Sequence[T]) -> Sequence[T]:
    """Return records or, if there are more than MAX_RECORDS, every second one and the last."""
    return records if len(records) <= MAX_RECORDS else [*records[:-1:2], records[-1]]


def output_parameters(objective: Any, weights: Weights) -> int:
    """Return the number of learned parameters in the output layer."""
    if objective.engine == "blocks":
        return sum(array.size for array in objective.parameters().values())
    return weights.output.size + (weights.arrays["bias"].size if "bias" in weights.arrays else 0)
